"""Differential testing of one program: many calls, and the smallest program that fails, if any."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np

from shlo_disc.check.case import Array, CheckedCall
from shlo_disc.check.costs import affordable
from shlo_disc.check.generate.programs import generate_at
from shlo_disc.check.judging import Failure, Judge, Verdict
from shlo_disc.check.locating import WrongValue, first_wrong
from shlo_disc.check.running import BuildConfig, program_of
from shlo_disc.check.sampling import (
    DISTRIBUTIONS,
    draw_inputs,
    given_points,
    varied_points,
)
from shlo_disc.check.shrinking import Shrunk, shrink
from shlo_disc.check.thresholds import threshold_points
from shlo_disc.diagnostics import ShloDiscError, counted
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.ir.core import Module
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.records import record
from shlo_disc.target_names import HOST
from shlo_disc.verify.ops import verify

TOGETHER = 10  # random programs in one module

Progress: TypeAlias = Callable[[str, int, int], None]  # what is done, how far, of how much (0: unknown)


@record
class CheckPlan:
    """What to try: named sizes, or `random` points; inputs drawn from these distributions, or given."""

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    random: int = 6
    largest: int = 40  # of random sizes
    thresholds: bool = False  # instead of random sizes, those around the compiler's thresholds
    seed: int = 0
    distributions: tuple[str, ...] = tuple(DISTRIBUTIONS)
    inputs: tuple[Array, ...] | None = None
    seconds: float = 180.0  # for shrinking
    dearest: float | None = None  # estimated seconds of one legal run, which leave random sizes out; None: no limit
    xla_calls: int | None = None  # calls that XLA, which compiles for each, runs as well; None: all


@record
class Trial:
    """One call."""

    sizes: Mapping[str, int]
    distribution: str
    case: CheckedCall


@record
class Finding:
    """A failing call, its first wrong value, and the smallest program that fails alike."""

    trial: Trial
    failure: Failure
    place: WrongValue | None
    shrunk: Shrunk

    def __str__(self) -> str:
        """Describe a failure: the call, the difference, the first wrong op, the smallest program."""
        trial, shrunk = self.trial, self.shrunk
        sizes = ", ".join(f"{name}={value}" for name, value in trial.sizes.items()) or "fixed sizes"
        lines = [f"{self.failure}", f"  sizes: {sizes}; inputs: {trial.distribution}"]
        if self.place is not None:
            lines.append(f"  first wrong in memory: {self.place}")
        before, after = trial.case.size, shrunk.case.size
        lines.append(
            f"shrunk from {counted(before, 'op')} to {after} in {counted(shrunk.tried, 'try', 'tries')}"
            + ("" if shrunk.complete else "; the time was up, --shrink gives more")
        )
        lines.append(print_module(shrunk.case.module).rstrip())
        lines += [f"  arg{k} = {_shown(x)}" for k, x in enumerate(shrunk.case.inputs)]
        lines.append(f"there {shrunk.failure}")
        return "\n".join(lines) + "\n"


@record
class CheckReport:
    """The outcome of all calls: how many agreed, were refused by all, could not be compared; the first failure."""

    agreed: int
    refused: int
    nothing: int
    notes: tuple[str, ...]
    finding: Finding | None


def check(module: Module, judge: Judge, plan: CheckPlan, config: BuildConfig, progress: Progress) -> CheckReport:
    """Run a program in several ways until one call fails, and shrink that.

    Raises `CompileError` for an invalid program, and `ShloDiscError` for sizes or inputs that do not fit it.
    """
    program = program_of(module)
    trials = list(_trials(module, program, plan))
    counts, notes = {"agree": 0, "refused": 0, "nothing": 0}, dict[str, None]()
    for number, trial in enumerate(trials):
        progress(f"{_spell(trial)}", number, len(trials))
        by_xla = plan.xla_calls is None or number < plan.xla_calls
        verdict = (judge if by_xla else judge.without("xla")).verdict(trial.case)
        notes.update(dict.fromkeys(verdict.notes))
        if verdict.failure is not None:
            finding = _finding(trial, verdict, judge, plan, config, progress)
            return CheckReport(counts["agree"], counts["refused"], counts["nothing"], tuple(notes), finding)
        counts[verdict.kind] += 1
    return CheckReport(counts["agree"], counts["refused"], counts["nothing"], tuple(notes), None)


def fuzz(judge: Judge, plan: CheckPlan, count: int, config: BuildConfig, progress: Progress) -> CheckReport:
    """Check `count` random programs, `TOGETHER` in each module, until one fails; seeds count up from the plan's.

    Every module has to pass the verifier.
    """
    agreed = refused = nothing = 0
    notes = dict[str, None]()
    for number in range(-(-count // TOGETHER)):
        seed = plan.seed + number
        together = min(TOGETHER, count - number * TOGETHER)

        def shown(what: str, done: int, total: int, number: int = number) -> None:
            progress(f"{number * TOGETHER} programs; {what}", done, total)

        report = check_random(generate_at(seed, together), judge, replace(plan, seed=seed), config, shown)
        agreed, refused, nothing = agreed + report.agreed, refused + report.refused, nothing + report.nothing
        notes.update(dict.fromkeys([f"seed {seed}: {note}" for note in report.notes]))
        if report.finding is not None:
            return CheckReport(agreed, refused, nothing, tuple(notes), report.finding)
    return CheckReport(agreed, refused, nothing, tuple(notes), None)


def check_random(text: str, judge: Judge, plan: CheckPlan, config: BuildConfig, progress: Progress) -> CheckReport:
    """Check programs generated from the plan's seed, on one distribution. They have to pass the verifier."""
    module = parse_module(text, f"<programs of seed {plan.seed}>")
    verify(module)
    kinds = plan.distributions
    return check(module, judge, replace(plan, distributions=(kinds[plan.seed % len(kinds)],)), config, progress)


def _spell(trial: Trial) -> str:
    sizes = ", ".join(f"{name}={value}" for name, value in trial.sizes.items())
    return f"{sizes or 'fixed sizes'}, {trial.distribution} numbers"


def _trials(module: Module, program: Program, plan: CheckPlan) -> Iterator[Trial]:
    if plan.inputs is not None:
        yield Trial({}, "given", CheckedCall(module, plan.inputs))
        return
    if plan.shapes:
        points = list(given_points(program, plan.shapes, plan.seed))
    else:
        points = threshold_points(program, plan.random, plan.seed) if plan.thresholds else []
        points = points or varied_points(program, plan.random, plan.seed, plan.largest)
        points = affordable(program, points, plan.dearest) if plan.dearest is not None else points
    if not points:
        raise ShloDiscError("found no sizes that pass the program's checks; name some by --shapes")
    for number, point in enumerate(points):
        sizes = {name: dim.evaluate(point) for name, dim in program.sizes.items()}
        for rank, distribution in enumerate(plan.distributions):
            inputs = draw_inputs(program, point, distribution, (plan.seed, number, rank))
            yield Trial(sizes, distribution, CheckedCall(module, inputs))


def _finding(
    trial: Trial, verdict: Verdict, judge: Judge, plan: CheckPlan, config: BuildConfig, progress: Progress
) -> Finding:
    failure = verdict.failure
    assert failure is not None, "there is something to shrink"
    differs = failure.kind == "differs" and failure.way in ("compiled", "vm")
    place = first_wrong(trial.case.module, trial.case.inputs, config) if differs else None

    def watched(smallest: CheckedCall, tried: int) -> None:
        numbers = sum(x.size for x in smallest.inputs)
        progress(f"shrinking: {counted(smallest.size, 'op')}, {counted(numbers, 'number')}", tried, 0)

    return Finding(trial, failure, place, shrink(trial.case, failure, judge, plan.seconds, watched))


def read_inputs(path: Path, program: Program) -> tuple[Array, ...]:
    """Read the arrays of a call from an .npz, in their order there. Raises `ShloDiscError` if they do not fit."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            found = [arrays[name] for name in arrays.files]
    except Exception as error:  # for damaged files NumPy, zipfile and zlib raise many types
        raise ShloDiscError(f"{path}: expected arrays in NumPy's .npz format, found none ({error})") from error
    if len(found) != len(program.parameters):
        raise ShloDiscError(f"{path}: found {counted(len(found), 'array')}, expected {len(program.parameters)}")
    wanted = [numpy_dtype(parameter.tensor.dtype) for parameter in program.parameters]
    # NumPy stores types that it does not know as raw bytes.
    is_raw = [
        x.dtype.kind == "V" and x.dtype.itemsize == dtype.itemsize for x, dtype in zip(found, wanted, strict=True)
    ]
    return tuple([x.view(dtype) if raw else x for x, dtype, raw in zip(found, wanted, is_raw, strict=True)])


def save(shrunk: Shrunk, folder: Path, judge: Judge, config: BuildConfig) -> str:
    """Write the smallest failing program and its inputs; give the command that shows the failure."""
    folder.mkdir(parents=True, exist_ok=True)
    program, inputs = folder / "minimal.mlir", folder / "inputs.npz"
    program.write_text(print_module(shrunk.case.module))
    np.savez(inputs, allow_pickle=False, **{f"arg{number}": x for number, x in enumerate(shrunk.case.inputs)})
    how = () if config.device == HOST else ("--device", config.device)
    how += () if config.options.compiler is None else ("--compiler", config.options.compiler)
    against = ",".join(dict.fromkeys([shrunk.failure.way, *judge.others, "interpreter"]))
    return shlex.join([
        "python", "-m", "shlo_disc", "check", str(program), "--inputs", str(inputs), "--against", against, *how,
    ])  # fmt: skip


def _shown(array: object) -> str:
    text = " ".join(str(array).split())
    return text if len(text) <= 200 else text[:200] + " …"
