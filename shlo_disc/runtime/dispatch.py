"""The schedule that each matrix product takes: at sizes that a user names, or logged call by call."""

from __future__ import annotations

import ctypes
import math
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Literal

from shlo_disc.artifact import Artifact
from shlo_disc.host_ir import Launch, Selection
from shlo_disc.records import record
from shlo_disc.runtime.driver import CallPlan, Driver
from shlo_disc.runtime.entry import NativeProgram
from shlo_disc.runtime.library import LoadedProgram, Pointers, Runtime, pointers, words
from shlo_disc.runtime.memory import aligned
from shlo_disc.runtime.peak import symbols_at
from shlo_disc.runtime.selection import Option, SelectionTrace
from shlo_disc.runtime.steps import leaves
from shlo_disc.schedules.candidates import Candidate
from shlo_disc.schedules.model import Shape, cost, occupancy, seconds, waste
from shlo_disc.size_expr import evaluate

_LEAST_RUNS, _PATIENCE = 5, 0.05  # at least, of a launch that is measured: runs, seconds
_CALLS_KEPT = 1 << 16
_ABSENT = ("packed", "null")  # kinds of buffers that exist only for bound arguments


@record
class ScheduleChoice:
    """The schedule that a product took: `candidate` is its name, empty if the prelude chose."""

    product: str
    m: int
    n: int
    k: int
    batch: int
    candidate: str


class Log(deque[tuple[ScheduleChoice, ...]]):
    """The choices of the last calls, oldest first."""

    def __init__(self) -> None:
        super().__init__(maxlen=_CALLS_KEPT)


class TracingDriver:
    """A driver that logs the choices of each call. It has no entry in C, so that every call passes through it."""

    def __init__(self, artifact: Artifact, driver: Driver, log: Log) -> None:
        self.kind: Literal["c", "vm"] = driver.kind
        self.entry_point: NativeProgram | None = None
        self.constants = driver.constants
        self._artifact, self._driver, self._log = artifact, driver, log

    def plan(self, raw: tuple[int, ...]) -> CallPlan:
        """As without tracing."""
        return self._driver.plan(raw)

    def run(
        self, arguments: Pointers, results: Pointers, plan: CallPlan, arena: ctypes.c_void_p, owner: object = None
    ) -> None:
        """As without tracing, and log the choices."""
        symbols = dict(zip(self._artifact.symbols, plan.registers, strict=False))
        self._log.append(tuple(_choice(one, symbols) for one in selections(self._artifact)))
        self._driver.run(arguments, results, plan, arena, owner)


def selections(artifact: Artifact) -> Iterator[Selection]:
    """The selections of all products that the artifact's steps launch, in the order of the text."""
    for step in leaves(artifact.steps):
        if isinstance(step, Launch):
            yield from step.selections


def _choice(selection: Selection, symbols: Mapping[str, int]) -> ScheduleChoice:
    chosen = candidate_of(selection, symbols)
    shape = shape_of(selection, symbols)
    return ScheduleChoice(
        selection.product, shape.m, shape.n, shape.k, shape.batch, "" if chosen is None else chosen.name
    )


def shape_of(selection: Selection, symbols: Mapping[str, int]) -> Shape:
    """The sizes of a product in one call."""
    return Shape(*(evaluate(size, symbols) for size in (selection.m, selection.n, selection.k, selection.batch)))


def candidate_of(selection: Selection, symbols: Mapping[str, int]) -> Candidate | None:
    """The candidate that a product takes in one call; None if the prelude chooses."""
    return selection.candidates[evaluate(selection.number, symbols)] if selection.candidates else None


def explain_dispatch(artifact: Artifact, program: LoadedProgram, runtime: Runtime, sizes: Mapping[str, int]) -> str:
    """Text about each product at these sizes: its schedule, the reason, and predicted and measured time.

    The whole launch is measured, on arrays of its own, with the prologue and epilogue of the product.
    """
    symbols = symbols_at(artifact, sizes)
    lines = [f"products at {', '.join(f'{name}={value}' for name, value in sizes.items()) or 'all sizes'}"]
    measured = dict[tuple[object, ...], float]()
    for step in leaves(artifact.steps):
        if not isinstance(step, Launch) or not step.selections:
            continue
        key = (step.kernel, *(evaluate(size, symbols) for size in step.symbols))
        if key not in measured:
            measured[key] = _measure(artifact, program, runtime, step, symbols)
        for selection in step.selections:
            lines += _product(selection, symbols)
        several = f", with the {len(step.selections)} products of its launch" if len(step.selections) > 1 else ""
        lines.append(f"  measured {_duration(measured[key])} as {step.kernel}{several}")
    return "\n".join(lines if len(lines) > 1 else [*lines, "  none: no launch multiplies matrices"])


def _product(selection: Selection, symbols: Mapping[str, int]) -> Iterator[str]:
    found = selection_trace(selection, symbols)
    m, n, k, count = found.sizes
    batch = f"{count} times " if selection.batch != 1 else ""
    yield f"{found.what}: {batch}{m} x {n} x {k}"
    if found.predicted is None:
        yield f"  {found.why}"
        return
    yield f"  {found.chosen}, one of {len(found.options)} that some sizes take, {found.why}"
    yield (
        f"  padding {found.padding:.1%}, occupancy {found.occupancy:.0%} of {selection.threads} threads,"
        f" predicted {_duration(found.predicted)}"
    )


def selection_trace(selection: Selection, symbols: Mapping[str, int]) -> SelectionTrace:
    """How a product is computed in one call, and what was predicted of each candidate."""
    shape, chosen = shape_of(selection, symbols), candidate_of(selection, symbols)
    sizes = (shape.m, shape.n, shape.k, shape.batch)
    if chosen is None:
        return SelectionTrace(selection.product, sizes, "", selection.how, "s", None, None, None, ())
    options = [
        Option(one.name, seconds(cost(one, rates, shape, selection.threads)))
        for one, rates in zip(selection.candidates, selection.rates, strict=True)
    ]
    predicted = options[selection.candidates.index(chosen)].predicted
    padding, busy = waste(chosen, shape), occupancy(chosen, shape, selection.threads)
    return SelectionTrace(
        selection.product, sizes, chosen.name, selection.how, "s", predicted, padding, busy, tuple(options)
    )


def _duration(value: float) -> str:
    """Format seconds.

    >>> _duration(2.5e-6), _duration(0.0123)
    ('2.5 us', '12.3 ms')
    """
    return f"{value * 1e6:.1f} us" if value < 1e-3 else f"{value * 1e3:.1f} ms"


def _measure(
    artifact: Artifact, program: LoadedProgram, runtime: Runtime, step: Launch, symbols: Mapping[str, int]
) -> float:
    """The seconds of a launch on zeros: the least of several runs."""
    buffers = [artifact.buffers[slot] for slot in step.buffers]
    arrays = [None if one.kind in _ABSENT else aligned(max(1, evaluate(one.size, symbols))) for one in buffers]
    for array in arrays:
        if array is not None:
            array[:] = 0
    extent, grain, scratch = (evaluate(size, symbols) for size in (step.extent, step.grain, step.scratch))
    if extent <= 0:
        return 0.0
    arguments = (
        ctypes.c_void_p(runtime.address), ctypes.c_void_p(program.address(step.kernel)),
        pointers([0 if array is None else array.ctypes.data for array in arrays]),
        words([evaluate(size, symbols) for size in step.symbols]),
        ctypes.c_int64(extent), ctypes.c_int64(grain), ctypes.c_int64(scratch),
    )  # fmt: skip
    least, runs, begun = math.inf, 0, time.perf_counter()
    while runs < _LEAST_RUNS or time.perf_counter() - begun < _PATIENCE:
        started = time.perf_counter()
        runtime.parallel(*arguments)
        least = min(least, time.perf_counter() - started)
        runs += 1
    return least
