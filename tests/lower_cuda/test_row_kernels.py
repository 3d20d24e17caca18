"""Row kernels on the emulated GPU: every variant of every template, next to `jax.jit`."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.host_ir import Choice
from shlo_disc.lower_cuda.rows import schedules as row_schedules
from shlo_disc.runtime.cuda.launch_table import Chooser, Estimate, cheapest
from tests.emulator.device import SCHEDULES, Schedule
from tests.emulator.recording import Recording, record
from tests.emulator.run import OPTIONS, EmulatedDevice, compiled, variants
from tests.emulator.sanitize import needless_barriers, races
from tests.pipeline.exports import BF16, F16, In, Program, by_jax, check, exported, infinite, program, special
from tests.pipeline.programs import chain, layer_norm, rms_norm, softmax

pytestmark = pytest.mark.slow

X, BOX, BOXES = In("b, s"), In("b, s, t"), In("b, s, 3, t")
VECTOR = In("s")


def pick_last(a: Any, b: Any) -> Any:
    """An associative function that is not commutative: the last element counts; place -1 means none."""
    none = b[1] < 0
    return jnp.where(none, a[0], b[0]), jnp.where(none, a[1], b[1])


def last_of(x: Any, axes: tuple[int, ...]) -> Any:
    places = lax.broadcasted_iota(np.int32, x.shape, x.ndim - 1)
    return lax.reduce((x, places), (np.float32(0), np.int32(-1)), pick_last, axes)


def beside_the_last(x: Any) -> Any:
    """All threads of a row need what they reduced together."""
    last, place = last_of(x, (1,))
    return x + last[:, None], place


def standardize(x: Any) -> Any:
    """Two stages over two axes, then a third."""
    return (x - x.mean((1, 2), keepdims=True)) / jnp.sqrt(x.var((1, 2), keepdims=True) + 1e-3)


def normalized_columns(x: Any) -> Any:
    """The middle axis is reduced, so results wait in scratch; then a reduction of the whole row."""
    return x / (jnp.abs(x).sum(1, keepdims=True) + 1) + x.max((1, 2), keepdims=True)


def attend(x: Any) -> Any:
    weights = jnp.exp(x - x.max(2, keepdims=True))
    weights = weights / weights.sum(2, keepdims=True)
    return weights * weights.sum(1, keepdims=True), weights.max(1)


def weighted_parts(x: Any) -> Any:
    parts = jnp.concatenate([x, -x], 1)
    return softmax(parts) * parts


def longest(x: Any) -> Any:
    return jnp.argmax(x, 1), x.max(1)


PROGRAMS: dict[str, Program] = {
    p.name: p
    for p in (
        program("softmax", softmax, X),
        program("log softmax with infinities", jax.nn.log_softmax, In("b, s", draw=infinite)),
        program("layer norm", layer_norm, X, VECTOR, VECTOR, scale=4),
        program("layer norm of 64", layer_norm, In("b, 64"), In("64"), In("64"), scale=4),
        program("rms norm of 4096", rms_norm, In("b, 4096"), In("4096")),
        program("chain", chain, X, VECTOR, VECTOR, scale=8),
        program("sum", lambda x: x.sum(1), X),
        program("beside the last", beside_the_last, X),
        program("sum and sum of squares", lambda x: (x.sum(1), (x * x).sum(1)), X, scale=4),
        program("product", lambda x: (x * 0.1 + 1).prod(1), X),
        program("maximum with NaN", lambda x: (x.max(1), x.min(1)), In("b, s", draw=special)),
        program("argmax with NaN", longest, In("b, s", draw=special)),
        program("argmin", lambda x: jnp.argmin(x, 1), In("b, s", F16, special)),
        program("argmax of integers", lambda x: jnp.argmax(x, 1), In("b, s", np.int16)),
        program("not commutative", lambda x: last_of(x, (1,)), X),
        program("not commutative, one axis kept", lambda x: last_of(x, (1, 3)), BOXES),
        program("any, all", lambda x: ((x > 2).any(1), (x < 2).all(1)), X),
        program("and, or, xor", lambda x: lax.reduce_xor(x, (1,)) ^ lax.reduce_or(x, (1,)), In("b, s", np.uint8)),
        program("integers", lambda x: (x.sum(1), x - x.max(1, keepdims=True)), In("b, s", np.int32)),
        program("bytes", lambda x: x - x.max(1, keepdims=True), In("b, s", np.int8)),
        program("bf16", softmax, In("b, s", BF16)),
        program("f16", lambda x: x * lax.rsqrt((x * x).mean(1, keepdims=True) + 1), In("b, s", F16)),
        program("f64", softmax, In("b, s", np.float64), wide=True),
        program("complex", lambda x: x - x.mean(1, keepdims=True), In("b, s", np.complex64)),
        program("two axes at once", standardize, BOX, scale=4),
        program("columns within a row", normalized_columns, BOX),
        program("rows and columns", attend, BOX),
        program("a kept axis between reduced ones", lambda x: x * jnp.exp(x).sum((1, 3), keepdims=True), BOXES),
        program("empty rows", lambda x: x[:, 1:].sum(1) + 1, In("b, s")),
        program("no rows", lambda x: x[1:] - x[1:].max(1, keepdims=True), In("b, s")),
        program("columns of a square", lambda x: (x.max(0) + 1, jnp.tanh(x.sum(0))), In("s, s")),
        program("a square against its own sums", lambda x: x - x.mean(0) + x.max(1), In("s, s")),
        program("squares", lambda x: jnp.exp(x.max(1)) + x.sum(2), In("b, s, s")),
        program("sums of parts", lambda x: jnp.exp(jnp.concatenate([x, x * 0.5], 1)).sum(1), X),
        program("parts in every stage", weighted_parts, X),
        program("columns of parts", lambda x: jnp.tanh(jnp.concatenate([x, x + 1]).sum(0)) * 2, In("s, s")),
        program("scalars of a row", lambda x: (x.sum(1) * 2, x / (1 + jnp.abs(x).sum(1, keepdims=True))), X),
    )
}
LINES: tuple[Mapping[str, int], ...] = tuple(
    {"b": b, "s": s} for b, s in ((1, 1), (5, 31), (3, 32), (18, 33), (2, 257), (1, 1024), (1, 1025))
)
PLANES: tuple[Mapping[str, int], ...] = tuple(
    {"b": b, "s": s, "t": t} for b, s, t in ((1, 1, 1), (5, 3, 31), (2, 33, 8), (9, 2, 4), (1, 65, 3), (1, 3, 260))
)


def runs(one: Program, source: Any, **options: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every variant, each with a schedule of its own."""
    for number in variants(source):
        schedule: Schedule = list(SCHEDULES)[number % len(SCHEDULES)]
        device = EmulatedDevice(schedule=schedule, seed=number)
        yield (
            f"{one.name}, variant {number}, {schedule}",
            compiled(source, device, variant=number, **options).executable,
        )


def verify(one: Program, sizes: Iterable[Mapping[str, int]], **options: Any) -> None:
    """Run every variant at every size."""
    with jax.enable_x64(one.wide):
        source = exported(one.function, one.inputs)
        found = list(runs(one, source, **options))
        for at in sizes:
            rng = np.random.default_rng([*at.values()])
            arrays = [i.array(rng, at) for i in one.inputs]
            wanted = by_jax(one.function, arrays)
            for what, run in found:
                check([np.asarray(x) for x in run(arrays)], wanted, f"{what}, {at}", one.scale, inside=1)


@pytest.mark.parametrize("name", PROGRAMS)
def test_variants(name: str) -> None:
    one = PROGRAMS[name]
    verify(one, PLANES if "t" in one.symbols() else LINES)


@pytest.mark.parametrize("name", ["softmax", "columns within a row", "chain", "argmax with NaN"])
def test_fewer_teams_than_rows(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Teams take several rows, one after the other, over the same shared memory."""
    monkeypatch.setattr(row_schedules, "MOST_BLOCKS", 2)
    sizes = ({"b": 67, "s": 5, "t": 8}, {"b": 7, "s": 264, "t": 2})
    verify(PROGRAMS[name], sizes, options=replace(OPTIONS, cache_dir=tmp_path))


@pytest.mark.parametrize("name", ["softmax", "columns within a row"])
def test_rows_that_do_not_fit(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Row scratch in global memory, with more rows than regions."""
    monkeypatch.setattr(row_schedules, "EVERY_SHARED", 64)
    monkeypatch.setattr(row_schedules, "MOST_SHARED", 64)
    monkeypatch.setattr(row_schedules, "SPILL_BLOCKS", 3)
    sizes = ({"b": 7, "s": 300, "t": 1}, {"b": 2, "s": 1, "t": 40}, {"b": 4, "s": 17, "t": 33})
    verify(PROGRAMS[name], sizes, options=replace(OPTIONS, cache_dir=tmp_path), index="int64_t")


def labelled(label: str) -> Chooser:
    """Take the variant of this label where there is one."""

    def choose(choice: Choice, legal: Sequence[Estimate]) -> int:
        found = [e.number for e in legal if choice.variants[e.number].label == label]
        return found[0] if found else cheapest(choice, legal)

    return choose


def recorded(name: str, label: str, folder: Path) -> Recording:
    """The launch of a row kernel by one kind of team; rows are more than teams."""
    one = PROGRAMS[name]
    program = compiled(exported(one.function, one.inputs), EmulatedDevice(), options=replace(OPTIONS, cache_dir=folder))
    rng = np.random.default_rng(0)
    arrays = [i.array(rng, {"b": 35, "s": 12, "t": 4}) for i in one.inputs]
    recording = record(program, arrays, chooser=labelled(label))
    launches = tuple(launch for launch in recording.launches if launch.label == label)
    assert launches, f"no launch by a {label}"
    return replace(recording, launches=launches)


@pytest.mark.parametrize("label", ["warp", "block, packs", "octet, packs"])
@pytest.mark.parametrize("name", ["softmax", "sum", "columns within a row"])
def test_no_races(name: str, label: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Threads that share memory wait for each other, and a block nowhere without need.

    Each reduction of a kernel has partial results of its own: those of `sum` are written again in the next row, one
    barrier later.
    """
    monkeypatch.setattr(row_schedules, "MOST_BLOCKS", 2)
    recording = recorded(name, label, tmp_path)
    outcome = races(recording)
    assert outcome.clean, (outcome.launches, outcome.report)
    # The emulator's shuffles order memory, those of a GPU do not: what a warp waits for is not seen there.
    assert label != "block, packs" or not needless_barriers(recording)
