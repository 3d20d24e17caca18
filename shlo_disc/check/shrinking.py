"""Shrink a failing case: delta debugging on ops, sizes and values.

Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input" (2002), extended for programs: a value that
the reference computed can replace all ops that it is computed by.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from shlo_disc.check.case import Array, Change, CheckedCall, changed, observable
from shlo_disc.check.judging import Failure, Judge
from shlo_disc.check.names import REFERENCE
from shlo_disc.check.resizing import smaller_sizes, static
from shlo_disc.check.running import Stop
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.ir.attributes import DenseAttr, TensorType
from shlo_disc.ir.core import Op, Value
from shlo_disc.parse.printer import print_module
from shlo_disc.records import record
from shlo_disc.verify.ops import verify

Progress: TypeAlias = Callable[[CheckedCall, int], None]  # the smallest case so far, and how many were tried


_FEW = 8  # remaining values that are tried one by one, not by bisection


@record
class Shrunk:
    """The smallest failing case found, its failure, and how many were tried; `complete` if nothing was left to try."""

    case: CheckedCall
    failure: Failure
    tried: int
    complete: bool


class _OutOfTimeError(Exception):
    """The time limit of shrinking is exceeded."""


def shrink(case: CheckedCall, failure: Failure, judge: Judge, seconds: float, progress: Progress) -> Shrunk:
    """Make a failing case small, until no change helps or the time is up."""
    ways = {failure.way, failure.against} - {REFERENCE}
    narrow = replace(judge, others=tuple([way for way in judge.others if way in ways]) or judge.others)
    shrinker = _Shrinker(case, failure, narrow, time.monotonic() + seconds, progress)
    complete = True
    try:
        shrinker.run()
    except _OutOfTimeError:
        complete = False
    return Shrunk(shrinker.case, shrinker.failure, shrinker.tried, complete)


class _Shrinker:
    """Holds the smallest case so far."""

    def __init__(self, case: CheckedCall, failure: Failure, judge: Judge, deadline: float, progress: Progress) -> None:
        self.case = case
        self.failure = failure
        self.tried = 0
        self._judge = judge
        self._deadline = deadline
        self._progress = progress
        self._refused = set[int]()  # hashes of all candidates tried

    def run(self) -> None:
        """Repeat all passes until none of them changes the case."""
        self._try(Change(inline=True))
        self._one_result()
        while True:
            before = self.case
            self._first_wrong_value()
            self._fewer_ops()
            self._shorter_ways()
            self._smaller_sizes()
            self._simpler_values()
            self._static()
            if self.case is before:
                return

    def _accepts(self, candidate: CheckedCall) -> bool:
        """Whether a candidate is valid and fails alike; if so, it becomes the smallest case."""
        if time.monotonic() > self._deadline:
            raise _OutOfTimeError
        key = hash((print_module(candidate.module), *[x.tobytes() for x in candidate.inputs]))
        if key in self._refused:
            return False
        self._refused.add(key)
        try:
            verify(candidate.module)
        except ShloDiscError:
            return False
        self.tried += 1
        failure = self._judge.verdict(candidate).failure
        if failure is None or not failure.is_like(self.failure):
            return False
        self.case, self.failure = candidate, failure
        self._progress(candidate, self.tried)
        return True

    def _try(self, change: Change) -> bool:
        try:
            candidate = changed(self.case, change)
        except RecursionError:
            return False
        return self._accepts(candidate)

    def _one_result(self) -> None:
        results = self.case.results
        worst = self.failure.difference.result if self.failure.difference is not None else 0
        if self.failure.difference is None or not self._try(Change(results=[results[worst]])):
            self._fewer_results()

    def _fewer_results(self) -> None:
        """Drop ranges of the results, of half the length in each round."""
        piece = len(self.case.results) // 2
        while piece:
            start = 0
            while start < len(self.case.results) > 1:
                results = self.case.results
                kept = [*results[:start], *results[start + piece :]]
                if not kept or not self._try(Change(results=kept)):
                    start += piece
            piece //= 2

    def _seen(self, values: Sequence[Value]) -> dict[Value, Array]:
        """The reference's arrays for values of the case; empty if the reference stops."""
        watched = changed(self.case, Change(results=values))
        found = self._judge.ways.run(REFERENCE, watched.module, watched.inputs)
        return {} if isinstance(found, Stop) else dict(zip(values, found, strict=True))

    def _first_wrong_value(self) -> None:
        """Return the earliest value that fails by itself, so that all later ops are removed."""
        values, low = self._inner_values(), 0
        while low < len(values):
            middle = (low + len(values)) // 2 if len(values) - low > _FEW else low
            if self._try(Change(results=[values[middle]])):
                values = self._inner_values()
            else:
                low = middle + 1

    def _inner_values(self) -> list[Value]:
        """Values that could be returned instead of the results."""
        values = [value for value in observable(self.case) if value not in self.case.results]
        return [value for value in values if not _is_cheap(self._producer(value))]

    def _fewer_ops(self) -> None:
        """Delta debugging: replace as many ops as possible by arguments with the reference's values."""
        values = [v for v in observable(self.case) if not _is_cheap(self._producer(v))]
        parts = 2
        while values and parts <= 2 * len(values):
            size = max(1, len(values) // parts)
            chunks = [values[k : k + size] for k in range(0, len(values), size)]
            names = [[value.name for value in chunk] for chunk in chunks]
            worked = False
            for chunk in names:
                present = {value.name: value for value in observable(self.case)}
                picked = [present[name] for name in chunk if name in present]
                if picked and self._cut(picked):
                    worked = True
                    break
            values = [v for v in observable(self.case) if not _is_cheap(self._producer(v))]
            parts = max(2, parts - 1) if worked else parts * 2

    def _cut(self, values: Sequence[Value]) -> bool:
        """Turn values into arguments, with the reference's arrays."""
        seen = self._seen(values)
        free = [v for v in self.case.results if v not in seen]
        return bool(seen) and bool(free) and self._try(Change(given=seen))

    def _producer(self, value: Value) -> Op | None:
        return next((op for op in self.case.ops if value in op.results), None)

    def _shorter_ways(self) -> None:
        """Enter regions, and replace values by operands, other arguments, constants or new arguments."""
        while any(self._try(change) for change in self._detours()):
            pass

    def _detours(self) -> Iterator[Change]:
        """Changes that shorten the program, the largest first."""
        case = self.case
        for op in case.main.walk():
            numbers = {"stablehlo.case": range(len(op.regions)), "stablehlo.if": range(2), "stablehlo.while": (1,)}
            for number in numbers.get(op.name, ()):
                yield Change(entered={op: number})
        for op in _outside_of_folds(case.ops):
            for result, value in itertools.product(op.results, dict.fromkeys(op.operands)):
                if value.type == result.type:
                    yield Change(replaced={result: value})
        for one, other in itertools.combinations(case.main.body.arguments, 2):
            if one.type == other.type:
                yield Change(replaced={other: one})
        for op in case.ops:  # shape arithmetic, which the other passes leave
            if _is_cheap(op) and op.name != "stablehlo.constant" and not set(op.results) & set(case.results):
                seen = self._seen(op.results)
                yield Change(folded=seen)
                yield Change(given=seen)

    def _smaller_sizes(self) -> None:
        """Crop the inputs to smaller sizes, and change sizes that the text fixes."""
        while any(self._accepts(candidate) for candidate in smaller_sizes(self.case)):
            pass

    def _simpler_values(self) -> None:
        """Simplify inputs: all zeros or ones, else whole numbers, else as many zeros as possible."""
        for number in range(len(self.case.inputs)):
            self._simpler_input(number)

    def _simpler_input(self, number: int) -> None:
        array = self.case.inputs[number]
        if not array.size or not array.any():
            return
        zeros, ones = np.zeros_like(array), np.ones_like(array)
        with np.errstate(all="ignore"):
            plain = [zeros, ones]
            if array.dtype.kind in "fc":
                plain.append(np.where(np.isfinite(array), np.rint(array), array).astype(array.dtype))
            plain.append(np.arange(array.size).reshape(array.shape).astype(array.dtype))
        current = array
        for simple in plain[: 2 if np.array_equal(array, ones) else 4]:
            if not _same(simple, current) and not np.array_equal(array, ones) and self._with_input(number, simple):
                current = simple
                break
        if _same(current, ones) or _same(current, zeros) or current.size > 4096:
            return
        self._zeroed(number)

    def _zeroed(self, number: int) -> None:
        """Set ranges of an input to zero, of half the length in each round."""
        size = self.case.inputs[number].size
        piece = size // 2
        while piece >= max(1, size // 16):
            for start in range(0, size, piece):
                array = self.case.inputs[number].copy()
                flat = array.reshape(-1)
                if flat[start : start + piece].any():
                    flat[start : start + piece] = 0
                    self._with_input(number, array)
            piece //= 2

    def _with_input(self, number: int, array: Array) -> bool:
        inputs = [*self.case.inputs]
        inputs[number] = array
        return self._accepts(replace(self.case, inputs=tuple(inputs)))

    def _static(self) -> None:
        """Make all shapes static, if the case still fails then."""
        candidate = static(self.case, self._seen)
        if candidate is not None:
            self._accepts(candidate)


def _same(one: Array, other: Array) -> bool:
    return one.tobytes() == other.tobytes()


_GLUE = frozenset({
    "add", "broadcast_in_dim", "compare", "concatenate", "constant", "convert", "divide", "get_dimension_size",
    "maximum", "minimum", "multiply", "remainder", "reshape", "select", "sign", "slice", "subtract",
})  # fmt: skip


# Ops whose regions have to stay associative, or an order; with other regions, results are implementation-defined.
_FOLDS = frozenset({
    "stablehlo.all_reduce", "stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.scatter",
    "stablehlo.select_and_scatter", "stablehlo.sort",
})  # fmt: skip


def _outside_of_folds(ops: Sequence[Op]) -> Iterator[Op]:
    for op in ops:
        if op.results:
            yield op
        if op.name not in _FOLDS:
            for region in op.regions:
                yield from _outside_of_folds(region.block.ops)


def _is_cheap(op: Op | None) -> bool:
    """Whether an op is a small constant, or shape arithmetic."""
    if op is None:
        return True
    if not op.results:  # a check
        return False
    (result, *_) = op.results
    kind, _, name = op.name.partition(".")
    if kind != "stablehlo" or name not in _GLUE or not isinstance(result.type, TensorType):
        return False
    if name == "constant":
        literal = op.attributes.get("value")
        return isinstance(literal, DenseAttr) and (literal.splat or len(literal.data) <= 256)
    small = len(result.type.shape) <= 1 and None not in result.type.shape
    return small and (result.type.dtype.is_integer or result.type.dtype.is_bool)
