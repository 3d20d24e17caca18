"""The programs of one function for arguments of one structure, and which of them serves a call.

A call with new sizes is served by the first program that fits (`Abstraction.solve`), whose constraints hold, and whose
trace is valid at these sizes. If it assumed something that is not true there (`comparisons.py`), the function is traced
at the very sizes, which compiles nothing, and the program serves if both traces are the same (`same_trace.py`). If no
program serves, one more is compiled, for all sizes that were seen so far: traced with symbolic sizes, else from what
traces at several sizes have in common (`generalized.py`), else with as few numbers in the places of sizes as possible.
"""

from __future__ import annotations

import functools
import itertools
import logging
import threading
import time
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError
from shlo_disc.expr.dim import Dim
from shlo_disc.jit.abstraction import Abstraction, Shapes, SizeHistory, Sizes, fixed
from shlo_disc.jit.constraint_text import first_broken, names_in
from shlo_disc.jit.flat import Results
from shlo_disc.jit.generalized.derivations import DerivedAlike, OriginAtSizes, latest
from shlo_disc.jit.generalized.general_program import GeneralProgram
from shlo_disc.jit.generalized.generalization import KeptArrays, generalize
from shlo_disc.jit.leaves import LeafType
from shlo_disc.jit.program import TracedProgram
from shlo_disc.jit.same_trace import same_trace
from shlo_disc.jit.tracing import FunctionError, Trace, Untraceable, trace

log = logging.getLogger("shlo_disc")

_MOST_TRIALS = 64  # of pinned sizes
_SEEN_KEPT = 4096
# Derivatives at given sizes that are compiled before one for many sizes is tried, if symbols serve others.
_PATIENCE = 2


@dataclass
class SizeVariant:
    """One program of a function: its shapes, why it exists, and the calls that it serves.

    `pinned` are sizes that are numbers because JAX cannot trace them as symbols; `reason` is in words. A `general`
    program takes further arguments, after those of the function. `serve` is the function of C that serves calls; None
    if there is none.
    """

    program: TracedProgram
    results: Results
    reason: str
    pinned: tuple[str, ...] = ()
    general: GeneralProgram | None = None
    signatures: int = 0
    compared: int = 0  # of these, those whose trace was compared with one at their sizes
    compiled: Compiled | None = None
    serve: Callable[..., Any] | None = None

    @property
    def shapes(self) -> Abstraction:
        """The shapes of the function's arguments."""
        every, further = self.program.trace.abstraction, len(self.further_names)
        return Abstraction(every.shapes[:-further]) if further else every

    @property
    def further_names(self) -> tuple[str, ...]:
        """Names of the arguments that are not the function's."""
        count = 0 if self.general is None else self.general.further
        return tuple([f"value {k} of the sizes" for k in range(count)])


@dataclass
class CallStructure:
    """What all calls of a family have in common: the function on flat arrays, and the types of these.

    `names` are those of the leaves; `declared` their shapes as far as they are declared. `constraints` are on declared
    sizes, and on names that they define. `compile` makes a program that is traced callable.
    """

    name: str
    flat: Callable[[], Callable[..., list[Any]]]  # a new function for every trace
    results: Callable[[Callable[..., list[Any]]], Results]  # of such a function
    types: Sequence[LeafType]
    names: Sequence[str]
    declared: Sequence[tuple[Dim, ...] | None]
    constraints: Sequence[str]
    compile: Callable[[TracedProgram], Any]


class Family:
    """All programs of one function for arguments of one structure."""

    def __init__(self, structure: CallStructure) -> None:
        self.structure = structure
        self.variants = list[SizeVariant]()
        self._served = dict[Shapes, SizeVariant]()
        self._history = SizeHistory(structure.names, structure.declared)
        self._declared_names = {one.name for dims in structure.declared for dim in dims or () for one in dim.symbols()}
        self._lock = threading.RLock()
        self._concrete = dict[Shapes, Trace]()
        self._given = KeptArrays()

    @property
    def signatures(self) -> int:
        """How many different shapes were served."""
        return sum(one.signatures for one in self.variants)

    def served(self) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
        """The names of the sizes that differ between the shapes served last, or are declared, and their values."""
        with self._lock:
            served = tuple(self._served)
        history = SizeHistory(self.structure.names, self.structure.declared)
        for shapes in served:
            history.add(shapes)
        if not served:
            return (), ()
        wanted = history.abstraction()
        found = [sizes for sizes in map(wanted.solve, served) if sizes is not None]
        return wanted.names, tuple([tuple([sizes[one] for one in wanted.symbols]) for sizes in found])

    def variant(self, shapes: Shapes) -> SizeVariant:
        """The program that serves a call; it is traced if there is none. Raises the function's own errors."""
        if (found := self._served.get(shapes)) is not None:
            return found
        self._check_declared(shapes)
        with self._lock:
            found = self._served.get(shapes) or self._find(shapes) or self._new(shapes)
            found.signatures += 1
            if len(self._served) >= _SEEN_KEPT:
                self._served.clear()
            self._served[shapes] = found
            return found

    def given(self, variant: SizeVariant, shapes: Shapes) -> Sequence[Any]:
        """The further arguments of a program for a call that it serves."""
        one = variant.general
        if one is None or not one.further:
            return ()
        if (found := self._given.get(shapes)) is None:
            with self._lock:
                sizes = variant.shapes.solve(shapes)
                assert sizes is not None, "a call fits the program that serves it"
                found = one.further_arguments(sizes, self._concrete_trace(shapes))
                if found is None:
                    raise ShloDiscError(
                        f"{self.structure.name}: the function is not the one that it was when it was first traced with "
                        f"shapes {list(shapes)}\n  help: results of a function depend on its arguments alone"
                    )
                self._given.keep(shapes, found)
        return found

    def _find(self, shapes: Shapes) -> SizeVariant | None:
        return next((one for one in self.variants if self._serves(one, shapes)), None)

    def _serves(self, variant: SizeVariant, shapes: Shapes) -> bool:
        found = variant.program.trace
        sizes = variant.shapes.solve(shapes)
        if sizes is None or not found.allows(sizes):
            return False
        one = variant.general
        variant.compared += one is not None or bool(found.broken(sizes))
        if one is None:
            return self._is_valid(variant.program, variant.results, sizes, shapes)
        if variant.results != self._results(shapes):
            return False
        given = one.further_arguments(sizes, self._concrete_trace(shapes))
        if given is not None:
            self._given.keep(shapes, given)
        return given is not None

    def _is_valid(self, program: TracedProgram, results: Results, sizes: Sizes, shapes: Shapes) -> bool:
        """Whether a symbolic trace is what a trace at the very sizes would be."""
        found = program.trace
        broken = found.broken(sizes)
        if not broken:
            return True
        if results != self._results(shapes):
            return False
        if all(one.by_library for one in broken):
            return program.agrees(sizes, self._concrete_trace(shapes))
        return same_trace(found.jaxpr, sizes, self._concrete_trace(shapes).jaxpr)

    def _results(self, shapes: Shapes) -> Results:
        """What the function returns at these very sizes."""
        return self.structure.results(self._concrete_trace(shapes).flat)

    def _concrete_trace(self, shapes: Shapes) -> Trace:
        """The function at these very sizes: traced, not compiled."""
        if shapes not in self._concrete:
            self._concrete.clear()
            self._concrete[shapes] = self._trace(fixed(shapes))
        return self._concrete[shapes]

    def _trace(self, shapes: Abstraction, seen: Sequence[Sizes] = ()) -> Trace:
        one = self.structure
        return trace(one.flat(), one.types, shapes, self._constraints(shapes), seen)

    def _constraints(self, shapes: Abstraction) -> list[str]:
        """Those on symbols of the shapes."""
        pinned = self._declared_names - set(shapes.names)
        return [text for text in self.structure.constraints if not names_in(text) & pinned]

    def _new(self, shapes: Shapes) -> SizeVariant:
        learned = copy(self._history)
        learned.add(shapes)
        started = time.perf_counter()
        variant = self._traced(learned, shapes)
        self._history = learned  # a call that fails teaches nothing
        self.variants.append(variant)
        log.info(
            "%s: program %d for %s (%s), traced in %.2f s",
            self.structure.name, len(self.variants), variant.shapes, variant.reason, time.perf_counter() - started,
        )  # fmt: skip
        return variant

    def _program(self, found: Trace, further: int = 0, *, is_general: bool = False) -> TracedProgram:
        """The program of a trace; the last `further` arguments are not the function's.

        `is_general`: it is that of a generalization.
        """

        def at(sizes: Sizes) -> TracedProgram:
            own = found.abstraction.substitute(sizes).shapes[: len(found.specs) - further]
            with self._lock:
                trace = self._concrete_trace(tuple([tuple([x.evaluate({}) for x in one]) for one in own]))
            fixed = self._program(trace)
            fixed.origin = OriginAtSizes(alike, sizes)
            return fixed

        is_symbolic = bool(found.abstraction.symbols)
        program = TracedProgram(self.structure.name, found, self.structure.compile, at if is_symbolic else None)
        program.is_differentiable = not is_general
        alike = DerivedAlike(latest(program.traced_at), patience=0 if is_general else _PATIENCE)
        return program

    def _check_declared(self, shapes: Shapes) -> None:
        """Raise if a call breaks the declared shapes."""
        numbers = fixed(shapes).shapes
        pairs = zip(self.structure.declared, numbers, strict=True)
        found = Abstraction(tuple([number if one is None else one for one, number in pairs]))
        sizes = found.solve(shapes)
        if sizes is None:
            raise RuntimeShapeError(_misfit(self.structure, shapes, found))
        values = {one.name: size for one, size in sizes.items()}
        if (text := first_broken(self.structure.constraints, values)) is not None:
            known = ", ".join(f"{name} = {values[name]}" for name in sorted(names_in(text) & values.keys() or values))
            raise RuntimeShapeError(f"{self.structure.name}: found {known}, expected {text}")

    def _traced(self, learned: SizeHistory, shapes: Shapes) -> SizeVariant:
        """A program for the widest shapes that can be traced and this call fits."""
        wanted = learned.abstraction()
        if not wanted.symbols:
            return self._of_trace(self._concrete_trace(shapes), "the sizes of the first call")
        doubtful = self._attempt(wanted, shapes)
        if isinstance(doubtful, Trace):
            return self._of_trace(doubtful, _reason(doubtful, ()))
        self._concrete_trace(shapes)  # raises if the error is the function's own
        sizes = wanted.solve(shapes)
        assert sizes is not None, "what was learned from a call fits it"
        for narrower in (learned.abstraction(related=True), wanted.with_equal(sizes)):
            found = self._attempt(narrower, shapes) if narrower != wanted else None
            if isinstance(found, Trace):
                return self._of_trace(found, _reason(found, ()))
        if (general := self._generalized(wanted, shapes, doubtful)) is not None:
            return general
        symbols = _likely_causes(doubtful, wanted)
        trials = (some for count in range(1, len(symbols)) for some in itertools.combinations(symbols, count))
        for pinned in itertools.islice(trials, _MOST_TRIALS):
            narrower = wanted.substitute({one: sizes[one] for one in pinned})
            found = self._attempt(narrower, shapes)
            if isinstance(found, Trace):
                names = tuple([one.name for one in pinned])
                return self._of_trace(found, _reason(found, names, doubtful), names)
        names = tuple([one.name for one in symbols])
        return self._of_trace(self._concrete_trace(shapes), _reason(None, names, doubtful), names)

    def _of_trace(self, found: Trace, reason: str, pinned: tuple[str, ...] = ()) -> SizeVariant:
        return SizeVariant(self._program(found), self.structure.results(found.flat), reason, pinned)

    def _generalized(self, wanted: Abstraction, shapes: Shapes, why: Untraceable) -> SizeVariant | None:
        """A program from what traces at several sizes have in common."""
        seen = self._seen(wanted, shapes)
        general = generalize(wanted.symbols, seen, functools.partial(self._jaxpr_at, wanted))
        if general is None:
            return None
        one = self.structure
        every = Abstraction((*wanted.shapes, *general.shapes))
        try:
            found = trace(general.flat(), (*one.types, *general.types), every, self._constraints(every), seen)
        except Untraceable as error:
            log.info("%s: no program for all sizes: %s", one.name, error)
            return None
        first = str(why).strip().partition("\n")[0]
        reason = f"each new shape is traced and compared, as JAX cannot trace it with symbols: {first}"
        program = self._program(found, len(general.given), is_general=True)
        variant = SizeVariant(program, self._results(shapes), reason, general=GeneralProgram(general, program))
        return variant if self._serves(variant, shapes) else None

    def _jaxpr_at(self, wanted: Abstraction, sizes: Sizes) -> Any:
        """The function at these sizes; None if it refuses them."""
        shapes = tuple([tuple([x.evaluate({}) for x in one]) for one in wanted.substitute(sizes).shapes])
        try:
            return self._trace(fixed(shapes)).jaxpr
        except FunctionError:
            return None

    def _seen(self, wanted: Abstraction, shapes: Shapes) -> list[Sizes]:
        """The sizes of a call, and those of earlier ones."""
        sizes = wanted.solve(shapes)
        assert sizes is not None, "what was learned from a call fits it"
        return [sizes, *[one for one in map(wanted.solve, self._served) if one is not None]]

    def _attempt(self, wanted: Abstraction, shapes: Shapes) -> Trace | Untraceable:
        """A trace that serves a call; else why there is none."""
        seen = self._seen(wanted, shapes)
        try:
            found = self._trace(wanted, seen)
        except Untraceable as error:
            return error
        if self._is_valid(self._program(found), self.structure.results(found.flat), seen[0], shapes):
            return found
        return Untraceable(ValueError("at these sizes the function takes another path than at others"))


def _likely_causes(error: Untraceable, wanted: Abstraction) -> list[Any]:
    """All symbols, those first that the error names."""
    text = str(error)
    return sorted(wanted.symbols, key=lambda one: one.name not in text)


def _reason(found: Trace | None, pinned: Sequence[str], why: Untraceable | None = None) -> str:
    words = list[str]()
    if pinned and why is not None:
        first = str(why).strip().partition("\n")[0]
        words.append(f"{', '.join(pinned)} cannot be symbolic: {type(why.cause).__name__}: {first}")
    elif found is not None:
        words.append("sizes that were seen to change, or are declared")
    if found is not None and found.constraints:
        words.append(f"needs {', '.join(found.constraints)}")
    return "; ".join(words)


def _misfit(structure: CallStructure, shapes: Shapes, declared: Abstraction) -> str:
    lines = [f"the sizes of a call of {structure.name} do not fit the declared shapes"]
    shown = zip(structure.names, shapes, declared.shapes, structure.declared, strict=True)
    for name, shape, dims, is_declared in shown:
        if is_declared is not None:
            lines.append(f"  {name}: found {list(shape)}, declared [{', '.join(map(str, dims))}]")
    return "\n".join(lines)
