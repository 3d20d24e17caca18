"""Judge whether the ways to run a program agree on one call."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from shlo_disc.check.case import Array, CheckedCall, taken
from shlo_disc.check.comparing import FEW_RUNS, MANY_RUNS, Difference, Tolerance, compare, identical
from shlo_disc.check.names import ALIKE, OPTIMIZED_XLA, REFERENCE
from shlo_disc.check.rounding import NAN_SIGNS
from shlo_disc.check.running import Stop, Ways
from shlo_disc.ir.attributes import StringAttr, SymbolAttr
from shlo_disc.ir.core import Module, Op, Value
from shlo_disc.records import record

# Decompositions that are not unique: values have any order. (Legal runs vary the signs of vectors.)
_AMBIGUOUS = ("geev", "gees")
_DESTROYING = ("gesdd", "gesvd")  # their first result is the overwritten matrix
# Legal runs vary the signs of single vectors, which does not cover what is computed from several of them, and equal
# values leave more than signs open. Only the second results, the values, are unique.
_OF_VECTORS = ("syevd", "heevd", *_DESTROYING)


_AS_COMPUTED = Tolerance()
_ENOUGH = 128  # legal runs after which a difference is reported, even if more would take too long


@record
class Failure:
    """One way differs from another, or stops.

    `kind`: "differs", or the kind of the stop of `way`.
    """

    way: str
    against: str
    kind: str
    difference: Difference | None = None
    stop: Stop | None = None

    def is_like(self, other: Failure) -> bool:
        """Whether this is probably the same bug: the same ways, and the same type of error."""
        if (self.way, self.against, self.kind) != (other.way, other.against, other.kind):
            return False
        return self.stop is None or other.stop is None or _type_of(self.stop) == _type_of(other.stop)

    def __str__(self) -> str:
        if self.difference is not None:
            return f"{self.way} differs from {self.against}: {self.difference}"
        message = "" if self.stop is None else self.stop.message
        return f"{self.way} stops ({self.kind}), {self.against} does not: {message}"


def _type_of(stop: Stop) -> str:
    return stop.first_line.partition(":")[0] if stop.kind == "error" else ""


@record
class Verdict:
    """The outcome of one call. `kind`: all agree, one fails, all refuse these sizes, or nothing could be compared."""

    kind: Literal["agree", "fail", "refused", "nothing"]
    failure: Failure | None = None
    notes: tuple[str, ...] = ()


@dataclass(slots=True)
class _LegalRuns:
    """Legal runs for one call, as long as they are expected to end within `seconds` together."""

    ways: Ways
    case: CheckedCall
    seconds: float
    clock: Callable[[], float]
    spent: float = 0.0
    slowest: dict[int, float] = field(default_factory=dict[int, float])  # seconds of a run, for each result

    def of(self, way: str, result: int, numbers: range) -> Sequence[Array]:
        """Give one result of these runs; none if they take too long and there are enough without them.

        Raises `TimeoutError` if they take too long, and those before are too few to decide.
        """
        slowest = self.slowest.get(result, 0.0)
        expected = slowest * len(numbers)
        if self.spent + expected > self.seconds:
            if numbers.start >= _ENOUGH:
                return []
            raise TimeoutError(
                f"result {result} still differs after {numbers.start} legal runs of the interpreter, {_ENOUGH} were "
                f"expected before it is wrong; one takes {slowest:.2g} s, and all may take {self.seconds:g} s"
            )
        before = self.clock()
        found = self.ways.samples(way, self.case.module, self.case.inputs, result, numbers)
        taken = self.clock() - before
        self.spent += taken
        self.slowest[result] = max(slowest, taken / max(1, len(numbers)))  # the mean of those of one request
        return found


@record
class Judge:
    """Runs cases in several ways, and compares `others` with the reference.

    `seconds`: for all legal runs of a call, by `clock`. A way that differs where this is too short is not judged.
    """

    ways: Ways
    others: tuple[str, ...]
    tolerance: Tolerance = _AS_COMPUTED
    seconds: float = 600.0
    clock: Callable[[], float] = time.monotonic

    def without(self, way: str) -> Judge:
        """The same judge without one of the ways."""
        return replace(self, others=tuple([one for one in self.others if one != way]))

    def verdict(self, case: CheckedCall) -> Verdict:
        """Run a case in all ways."""
        module, inputs = case.module, case.inputs
        expected = self.ways.run(REFERENCE, module, inputs)
        if isinstance(expected, Stop):
            return self._without_reference(case, expected)
        skipped = undefined_results(module)
        notes = list[str]()
        if skipped:
            notes.append(f"results {sorted(skipped)} are random or not unique: only their shapes are compared")
        alike: tuple[str, tuple[Array, ...]] | None = None  # the first of the ways that have to be bit-identical
        compared, undecided = False, False
        legal = _LegalRuns(self.ways, case, self.seconds, self.clock)
        for way in self.others:
            outcome = self.ways.run(way, module, inputs)
            if isinstance(outcome, Stop):
                if way == "xla" or outcome.kind == "unsupported":
                    notes.append(f"{way}: {outcome.first_line}")
                    continue
                return Verdict("fail", Failure(way, REFERENCE, outcome.kind, stop=outcome))
            before = alike if way in ALIKE else None
            try:
                if before is not None:
                    failure = self._identical(way, case, outcome, *before)
                else:
                    alike = (way, outcome) if way in ALIKE else alike
                    failure = self._compared(way, legal, outcome, expected, skipped, FEW_RUNS)
                compared = True
                if failure is None:
                    continue
                if known := self.ways.deviation(way, module, inputs):  # one run; the many below may take minutes
                    notes.append(known)
                    continue
                if before is None:
                    failure = self._compared(way, legal, outcome, expected, skipped, MANY_RUNS)
                if failure is not None and way == "xla" and self._agrees_if_optimized(legal, expected, skipped):
                    notes.append("xla computes a value twice with other rounding if it optimizes little: not compared")
                    continue
            except TimeoutError as error:
                notes.append(f"{way}: what rounding explains is not known: {error}")
                undecided = True
                continue
            if failure is not None:
                return Verdict("fail", failure)
        return Verdict("agree" if compared and not undecided else "nothing", notes=tuple(notes))

    def _agrees_if_optimized(self, legal: _LegalRuns, expected: Sequence[Array], skipped: frozenset[int]) -> bool:
        """Whether XLA agrees with the reference if it optimizes.

        In a maximum of values, and a comparison that looks for it, XLA may compute these twice, rounded otherwise: then
        no value is the maximum, and 0 / 0 the gradient.
        """
        outcome = self.ways.run(OPTIMIZED_XLA, legal.case.module, legal.case.inputs)
        if isinstance(outcome, Stop):
            return False
        return self._compared("xla", legal, outcome, expected, skipped, MANY_RUNS) is None

    def _compared(
        self,
        way: str,
        legal: _LegalRuns,
        found: Sequence[Array],
        expected: Sequence[Array],
        skipped: frozenset[int],
        rounds: Sequence[int],
    ) -> Failure | None:
        difference = compare(
            found,
            expected,
            lambda result, numbers: legal.of(way, result, numbers),
            self.tolerance,
            skipped,
            rounds,
        )
        return None if difference is None else Failure(way, REFERENCE, "differs", difference)

    def _identical(
        self, way: str, case: CheckedCall, found: Sequence[Array], against: str, expected: Sequence[Array]
    ) -> Failure | None:
        """Compare bit by bit: both ways use the same arithmetic, so only bits that depend on NaNs may differ."""
        difference = identical(
            found, expected, lambda result: self.ways.samples(way, case.module, case.inputs, result, NAN_SIGNS)
        )
        return None if difference is None else Failure(way, against, "differs", difference)

    def _without_reference(self, case: CheckedCall, stop: Stop) -> Verdict:
        """Judge a call that the reference does not finish: the others have to stop, too."""
        if stop.kind in ("unsupported", "rejected", "timeout"):
            return Verdict("nothing", notes=(f"{REFERENCE}: {stop.message}",))
        if stop.kind != "refused":
            return Verdict("fail", Failure(REFERENCE, "the others", stop.kind, stop=stop))
        for way in self.others:
            if way == "xla":  # does not check sizes
                continue
            outcome = self.ways.run(way, case.module, case.inputs)
            if not isinstance(outcome, Stop):
                return Verdict("fail", Failure(REFERENCE, way, stop.kind, stop=stop))
        return Verdict("refused", notes=(stop.first_line,))


def undefined_results(module: Module) -> frozenset[int]:
    """The numbers of results on which implementations may differ: random or not unique, or computed from such."""
    main = module.functions["main"]
    tainted, vectors = set[Value](), set[Value]()
    for op in main.body.ops[:-1]:
        if op.name != "stablehlo.get_dimension_size" and not vectors.isdisjoint(taken(op)):
            tainted.update(op.results)
        if _calls(op, _OF_VECTORS):
            vectors.update(x for number, x in enumerate(op.results) if number != 1)
        if _is_undefined(op, module, frozenset()) or not tainted.isdisjoint(taken(op)):
            tainted.update(op.results)
        elif _calls(op, _DESTROYING):
            tainted.add(op.results[0])
    returned = main.body.ops[-1].operands
    return frozenset(number for number, value in enumerate(returned) if value in tainted)


def _calls(op: Op, routines: Sequence[str]) -> bool:
    """Whether an op is a custom call of one of these LAPACK routines, under any platform's name."""
    target = op.attributes.get("call_target_name")
    return isinstance(target, StringAttr) and any(name in target.value.lower() for name in routines)


def _is_undefined(op: Op, module: Module, callers: frozenset[str]) -> bool:
    if op.name == "stablehlo.rng":
        return True
    if _calls(op, _AMBIGUOUS):
        return True
    inside = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    if any(_is_undefined(inner, module, callers) for inner in inside):
        return True
    called = [one.name for one in op.attributes.values() if isinstance(one, SymbolAttr)]
    return any(
        _is_undefined(inner, module, callers | {name})
        for name in called
        if name in module.functions and name not in callers
        for inner in module.functions[name].body.ops
    )
