"""Batches without padding, `compile(..., ragged=...)`, beside our padded program and XLA, on lengths of real sets.

    python -m benchmarks.ragged [--quick] [--sets CoLA,MNLI] [--cases encoder] [--lengths FILE] [--out FILE]

Seconds are processor seconds of a call on one thread, the least of several in turns: `padded` is our program without
`ragged`, at the longest sample of the batch, and takes turns with `ragged`; then follow `xla`, `jax.jit` there, and
`xla, power of two`, at the next power of two, if that is another size: a call right after one of XLA's takes longer,
by system time. What XLA takes to compile for that size is apart, in `compilation`.
`needed` and `padded_flops` are FLOPs as `analyse_ragged(...).report` counts them. `prelude`: seconds of what is
computed of the lengths, once in a call. All layers of an encoder have the same shapes; `layers` says how many are
measured.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import Progress

import shlo_disc
from benchmarks.gpu_check import commit
from benchmarks.measure import relative_error, wait_for
from benchmarks.seeds.programs import Block, attend, block_params, encode
from benchmarks.timing import ROOT, Call, time_in_turns
from shlo_disc import CompileOptions, Profile
from shlo_disc.runtime.building.machines import cpu_title

LENGTHS = ROOT.parent / "shared" / "lengths" / "lengths.json"
SHORT, LONG = ("CoLA", "MRPC", "MNLI", "XNLI", "Wiki128"), ("SQuADv2", "RACE", "Wiki512")  # up to 128, and up to 512
SETS = ("CoLA", "MRPC", "MNLI", "XNLI", "SQuADv2", "RACE", "Wiki512", "Wiki128")
SEED = 1
TOLERANCE = 1e-4  # of results within the lengths, relative to the largest: sums of f32 in other orders
_SECONDS, _FEWEST, _MOST, _TURN = 5.0, 3, 9, 0.05  # of turns at a batch; rounds; seconds of a turn

Array = NDArray[Any]
Blocks = tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """The sizes of an encoder, whose hidden width is four times its width."""

    name: str
    layers: int
    width: int
    heads: int


CORA, BERT = Model("CoRa's encoder", 6, 512, 8), Model("BERT-base", 12, 768, 12)
TINY = Model("tiny encoder", 2, 64, 2)


@dataclass(frozen=True, slots=True)
class Case:
    """A program and the batches that it runs on. `layers`: how many of the model's are measured."""

    what: str
    model: Model
    layers: int
    batch: int
    sets: Sequence[str]


CASES = (
    Case("encoder", CORA, CORA.layers, 32, SHORT),
    Case("encoder", CORA, 2, 32, LONG),  # layers share masks
    Case("encoder", CORA, 1, 128, SHORT),
    Case("encoder", BERT, 1, 32, SETS),
    Case("attention", CORA, 1, 32, SETS),
    Case("training step", CORA, 2, 32, ("CoLA", "MNLI", "XNLI")),
)


@dataclass(frozen=True, slots=True)
class Result:
    """What was measured at one batch. `reached`: the speed over the padded program's, over the ratio of FLOPs."""

    what: str
    model: str
    layers: int
    batch: int
    lengths: str
    longest: int
    total: int
    needed: int
    padded_flops: int
    seconds: Mapping[str, float]
    compilation: Mapping[str, float]
    prelude: float
    error: float

    @property
    def flop_ratio(self) -> float:
        """The FLOPs of the padded program over those that are needed."""
        return self.padded_flops / self.needed

    @property
    def reached(self) -> float:
        """How much of the ratio of FLOPs the time is less by than the padded program's; 1 if as much."""
        return self.seconds["padded"] / self.seconds["ragged"] / self.flop_ratio


def drawn_lengths(histogram: Mapping[str, int], count: int) -> Array:
    """Draw lengths, i32, from how often each one is in a set."""
    every = np.repeat(np.array(list(map(int, histogram)), np.int32), list(histogram.values()))
    return np.random.default_rng(SEED).choice(every, count)


def power_of_two(size: int) -> int:
    """The least power of two that is not below a size."""
    return 1 << (size - 1).bit_length()


def rounds_within(budget: float, one: float) -> int:
    """How many rounds of `one` second are measured in `budget` seconds."""
    return min(_MOST, max(_FEWEST, int(budget / one)))


def prelude_of(profile: Profile) -> float:
    """Seconds of what is computed of the lengths before the first layer: it is of no line of the model."""

    def is_prelude(lines: Sequence[str]) -> bool:
        return all(line.startswith("line ") for line in lines)

    found = 0.0
    for step in profile.steps:
        alone = sum(member.seconds for member in step.members)
        if not step.members and is_prelude(step.lines):
            found += step.seconds.least
        for member in step.members:
            if is_prelude(member.lines):
                found += step.seconds.least * member.seconds / alone
    return found


def _mask(x: Any, lengths: Any) -> Any:
    return jnp.arange(x.shape[1]) < lengths[:, None]


def encoder(blocks: Blocks, x: Any, lengths: Any) -> Any:
    """Encode x [b, s, width]."""
    return encode(blocks, x, _mask(x, lengths))


def attention(q: Any, k: Any, v: Any, lengths: Any) -> Any:
    """Attention alone, of [b, s, heads, width of a head]."""
    return attend(q, k, v, _mask(q, lengths))


def training_step(blocks: Blocks, x: Any, lengths: Any) -> Any:
    """How far the encoder is from its input, squared, the mean within the lengths; and the gradients of its weights."""

    def loss(blocks: Blocks) -> Any:
        mask = _mask(x, lengths)
        apart = ((encode(blocks, x, mask) - x) ** 2).mean(-1)
        return jnp.where(mask, apart, 0).sum() / lengths.sum()

    return jax.value_and_grad(loss)(blocks)


class Program:
    """A case's function, compiled with and without `ragged`, and arguments for it."""

    def __init__(self, case: Case, options: CompileOptions) -> None:
        self._case, self._rng, model = case, np.random.default_rng(0), case.model
        blocks = tuple(block_params(self._rng, model.width, model.heads) for _ in range(case.layers))
        self._blocks: Blocks = jax.tree.map(np.asarray, blocks)
        self.function: Callable[..., Any] = {"encoder": encoder, "training step": training_step}.get(
            case.what, attention
        )
        if case.what == "attention":
            one = f"f32[b, s, {model.heads}, {model.width // model.heads}]"
            shapes: Any = (one, one, one, "i32[b]")
        else:
            types = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype), self._blocks)
            shapes = types, f"f32[b, s, {model.width}]", "i32[b]"
        make = partial(shlo_disc.compile, self.function, shapes=shapes, device="cpu", options=options)
        self.padded, self.ragged = make(), make(ragged={"s": "lengths"})
        self.analysis = shlo_disc.analyse_ragged(self.function, {"s": "lengths"}, shapes=shapes)

    def arguments(self, lengths: Array) -> tuple[Any, ...]:
        """Arguments as long as the longest sample."""
        model, sizes = self._case.model, (len(lengths), int(lengths.max()))
        if self._case.what == "attention":
            drawn = self._rng.standard_normal((3, *sizes, model.heads, model.width // model.heads), np.float32)
            return (*drawn, lengths)
        return self._blocks, self._rng.standard_normal((*sizes, model.width), np.float32), lengths

    def widened(self, arguments: Sequence[Any], size: int) -> tuple[Any, ...]:
        """The same arguments, padded to a size."""

        def wider(x: Array) -> Array:
            return np.pad(x, [(0, 0), (0, size - x.shape[1]), *[(0, 0)] * (x.ndim - 2)])

        return tuple(wider(x) if isinstance(x, np.ndarray) and x.ndim > 1 else x for x in arguments)

    def within(self, results: Any, lengths: Array) -> Any:
        """Results without what is beyond the lengths."""
        if self._case.what == "training step":
            return results
        found = np.asarray(results)
        return found[np.arange(found.shape[1]) < lengths[:, None]]


def _by_xla(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Call, float]:
    """A call, and the seconds of its compilation."""
    there: Any = jax.device_put(arguments)
    start = time.process_time()
    compiled = jax.jit(function).lower(*there).compile()
    return partial(wait_for, compiled, *there), time.process_time() - start


def _measured(program: Program, case: Case, name: str, lengths: Array) -> Result:
    """One batch: results are compared first, then sides take turns, ours before XLA's."""
    arguments, longest = program.arguments(lengths), int(lengths.max())
    ours: dict[str, Call] = {
        "padded": partial(program.padded, *arguments),
        "ragged": partial(program.ragged, *arguments),
    }
    theirs, compilation = dict[str, Call](), dict[str, float]()
    for side, size in {"xla": longest, "xla, power of two": power_of_two(longest)}.items():
        if side == "xla" or size > longest:
            theirs[side], compilation[side] = _by_xla(program.function, program.widened(arguments, size))
    expected = program.within(theirs["xla"](), lengths)
    seconds, errors = dict[str, float](), dict[str, float]()
    for calls in (ours, theirs):
        start = time.process_time()
        for side, call in calls.items():
            errors[side] = relative_error(program.within(call(), lengths), expected)
            if not errors[side] <= TOLERANCE:
                where = f"{case.what} on {name}, {side}"
                raise SystemExit(f"{where}: found an error of {errors[side]:.2g}, expected at most {TOLERANCE}")
        rounds = rounds_within(_SECONDS / 2, time.process_time() - start)
        times = time_in_turns([*calls.values()], rounds, _TURN, 0, time.process_time)
        seconds |= dict(zip(calls, map(min, times), strict=True))
    counted = program.analysis.report(lengths)
    return Result(
        case.what, case.model.name, case.layers, case.batch, name, longest, int(lengths.sum()),
        counted.needed, counted.padded, seconds,
        compilation, prelude_of(program.ragged.profile(*arguments, repeat=1)), errors["ragged"],
    )  # fmt: skip


def _line(one: Result) -> str:
    ragged = one.seconds["ragged"]
    others = ", ".join(f"{side} {time / ragged:.2f}" for side, time in one.seconds.items() if side != "ragged")
    return (
        f"{one.what}, {one.model}, {one.layers} of its layers, {one.batch} of {one.lengths}: {1e3 * ragged:.2f} ms, "
        f"over that: {others}; FLOPs {one.flop_ratio:.2f}, reached {one.reached:.2f}, "
        f"prelude {100 * one.prelude / ragged:.2f} %"
    )


def measure(cases: Sequence[Case], lengths: Path, options: CompileOptions) -> list[Result]:
    """Measure all cases."""
    sets, found, console = json.loads(lengths.read_text()), list[Result](), Console()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=sum(len(case.sets) for case in cases))
        for case in cases:
            progress.update(task, description=f"{case.what}, {case.model.name}: compile")
            program = Program(case, options)
            for name in case.sets:
                progress.update(task, description=f"{case.what}, {case.model.name}, {case.batch} of {name}")
                drawn = drawn_lengths(sets[name]["histogram"], case.batch)
                found.append(_measured(program, case, name, drawn))
                console.print(_line(found[-1]), soft_wrap=True)
                progress.advance(task)
                jax.clear_caches()
    return found


def _chosen(cases: Sequence[Case], what: str | None, sets: str | None) -> list[Case]:
    """The cases of these kinds, on these sets alone."""
    kinds, names = what and what.split(","), sets and sets.split(",")
    for found, known in ((kinds, {case.what for case in cases}), (names, SETS)):
        if unknown := [one for one in found or () if one not in known]:
            raise SystemExit(f"found {unknown[0]!r}, expected some of {', '.join(sorted(known))}")
    kept = [case for case in cases if not kinds or case.what in kinds]
    chosen = [replace(case, sets=[name for name in case.sets if not names or name in names]) for case in kept]
    return [case for case in chosen if case.sets]


def main() -> None:
    """Measure, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tiny encoder on one set: to see that all of it runs")
    parser.add_argument("--sets", metavar="SET,...", help=f"some of {', '.join(SETS)} (default: as each case says)")
    parser.add_argument("--cases", metavar="CASE,...", help="some of encoder, attention, training step (default: all)")
    parser.add_argument("--lengths", type=Path, default=LENGTHS, help="histograms of real lengths")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    cases, options = _chosen(CASES, given.cases, given.sets), CompileOptions(threads=1)
    os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"  # it is read with the first array
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    if given.quick:
        cases = [replace(case, model=TINY, layers=min(case.layers, 2), sets=case.sets[:1]) for case in cases]
        options = CompileOptions(threads=1, optimize=0)
    rows = [{**asdict(one), "reached": one.reached} for one in measure(cases, given.lengths, options)]
    if given.out is not None:
        about = {
            "date": datetime.now(UTC).date().isoformat(), "commit": commit(), "jax": jax.__version__,
            "processor": cpu_title(), "seed": f"{SEED}",
        }  # fmt: skip
        given.out.write_text(json.dumps({**about, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
