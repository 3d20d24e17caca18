"""Programs for all sizes of functions that JAX cannot trace with symbolic sizes.

Reflected padding, `associative_scan`, Python code that calls `int(x.shape[0])`: JAX traces such a function at given
sizes only. Traces at several sizes are read (`trace_template.py`), and where their numbers differ, formulas of
the sizes are found that explain them (`size_formulas.py`). From these the function is traced once more with symbolic
sizes (`replay.py`), and compiled. A call with new sizes is traced at these very sizes, which compiles nothing. If all
numbers are those of the formulas, the program is what would be compiled; if not, it does not serve the call.

Constants that change (an array that NumPy computed from a size) are further arguments: a call passes those that its own
trace has.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shlo_disc.expr.dim import Dim, as_dim, symbol
from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.jit.abstraction import Shapes, Sizes
from shlo_disc.jit.generalized.replay import PlaceFormulas, replay
from shlo_disc.jit.generalized.size_formulas import SizeFormula, fit
from shlo_disc.jit.generalized.trace_template import (
    ArgumentType,
    NotReadable,
    Reading,
    TracedBody,
    ValuePlace,
    places,
    read,
)
from shlo_disc.jit.leaves import LeafType
from shlo_disc.jit.tracing import sizes_in_scope

_MOST_SYMBOLS = 6
MOST_BYTES = 256 << 20
_SECONDS = 5.0
_SPARE = 2  # traces that check the formulas which the others determine
_MORE = 8  # further ones, which tell apart what rounds alike


@dataclass(frozen=True)
class Generalization:
    """What traces at all sizes of `symbols` have in common. `given` are the changing values that are arguments."""

    symbols: tuple[Symbol, ...]
    template: TracedBody
    formulas: PlaceFormulas
    given: tuple[ValuePlace, ...]

    @property
    def argument_types(self) -> list[LeafType]:
        """The types of the function's own arguments."""
        return [LeafType(np.dtype(one.dtype), len(one.shape), one.weak) for one in self.template.arguments]

    @property
    def argument_shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """The shapes of the function's own arguments."""
        return tuple([self._dims(one) for one in self.template.arguments])

    @property
    def types(self) -> list[LeafType]:
        """The types of the further arguments."""
        return [LeafType(np.dtype(one.dtype), len(one.shape), one.weak) for one in self.given]

    @property
    def shapes(self) -> tuple[tuple[Dim, ...], ...]:
        """The shapes of the further arguments."""
        return tuple([self._dims(one) for one in self.given])

    def _dims(self, one: ValuePlace | ArgumentType) -> tuple[Dim, ...]:
        dims = [symbol(one.name) for one in self.symbols]
        return tuple([as_dim(self.formulas.sizes[x.number].at(dims)) for x in one.shape])

    def flat(self) -> Callable[..., list[Any]]:
        """The function on flat arrays, to be traced with symbolic sizes."""

        def function(*arrays: Any) -> list[Any]:
            symbols = sizes_in_scope(arrays, [one.name for one in self.symbols])
            return replay(self.template, self.formulas, symbols, arrays)

        return function

    def explains(self, found: Reading, row: Sequence[int]) -> bool:
        """Whether the numbers of a trace that has the template are those of the formulas."""
        formulas = self.formulas
        if not (found.parts <= formulas.parts and found.extended <= formulas.extended):
            return False
        if any(formula.at(row) != size for formula, size in zip(formulas.sizes, found.sizes, strict=True)):
            return False
        for number, (known, value) in enumerate(zip(formulas.values, found.values, strict=True)):
            formula = formulas.changing.get(number, _CONSTANT)
            if formula is _CONSTANT and not _same(known, value):
                return False
            if isinstance(formula, SizeFormula) and _as_integer(value) != formula.at(row):
                return False
        return True

    def match(self, jaxpr: Any, sizes: Sizes) -> list[Any] | None:
        """The further arguments for a call, given the trace at its sizes; None if the trace is another one."""
        try:
            found = read(jaxpr)
        except NotReadable:
            return None
        if found.template != self.template or not self.explains(found, [sizes[one] for one in self.symbols]):
            return None
        # Constants may be views, and of types that JAX does not compute in.
        return [np.asarray(found.values[one.number], np.dtype(one.dtype), order="C") for one in self.given]


def generalize(
    symbols: Sequence[Symbol], sizes: Sequence[Sizes], trace: Callable[[Sizes], Any]
) -> Generalization | None:
    """What the traces at these sizes and at others have in common; None if that is too little.

    The first of `sizes` are those of a call, which must be served. `trace` gives the closed jaxpr at given sizes, or
    None if the function refuses them.
    """
    symbols = tuple(symbols)
    if not 1 <= len(symbols) <= _MOST_SYMBOLS:
        return None
    samples = _Samples(symbols, trace)
    base = tuple([sizes[0][one] for one in symbols])
    seen = [tuple([one[x] for x in symbols]) for one in sizes]
    enough = len(symbols) + 1 + _SPARE
    rows = iter(dict.fromkeys([*seen, *_probes(base)]))
    if not samples.add(next(rows)):
        return None
    for row in rows:
        samples.add(row)
        if len(samples.rows) >= enough + (0 if samples.takes_long else _MORE):
            break
    if len(samples.rows) < enough:
        return None
    found = _explained(symbols, samples.rows, samples.readings)
    if found is None:
        return _explained(symbols, *_near(samples.rows, samples.readings, enough))
    for row in rows:  # the other sizes are a test
        if samples.takes_long:
            break
        if samples.add(row) and not found.explains(samples.readings[-1], row):
            found = _explained(symbols, samples.rows, samples.readings)
            if found is None:
                return None
    return found


class _Samples:
    """Traces at several sizes that have one template."""

    def __init__(self, symbols: Sequence[Symbol], trace: Callable[[Sizes], Any]) -> None:
        self._symbols, self._trace = symbols, trace
        self.rows, self.readings = list[tuple[int, ...]](), list[Reading]()
        self._started = time.perf_counter()

    @property
    def takes_long(self) -> bool:
        """Whether the traces take so long that a wrong guess, one program more, is cheaper than many of them."""
        return time.perf_counter() - self._started > _SECONDS

    def add(self, row: tuple[int, ...]) -> bool:
        """Trace at these sizes; whether the trace has the template of the others."""
        jaxpr = self._trace(dict(zip(self._symbols, row, strict=True)))
        try:
            found = None if jaxpr is None else read(jaxpr)
        except NotReadable:
            return False
        if found is None or (self.readings and found.template != self.readings[0].template):
            return False
        self.rows.append(row)
        self.readings.append(found)
        return True


def _probes(base: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Sizes near those of a call, and some that are up to three times as large: each size in an order of its own."""
    columns = [[max(1, size + step) for step in _steps(size)] for size in base]
    count = len(columns[0])  # a prime, so that every factor gives an order
    for turn in range(count):
        yield tuple([column[(turn * (k + 1)) % count] for k, column in enumerate(columns)])


def _steps(size: int) -> list[int]:
    near = [1, 2, 3, -1, 4, -2, 5, -3, 7, -5, 11]
    far = [size // 2, -size // 4, size // 4, -size // 3, 3 * size // 4, -size // 2, -size // 8, size, -3 * size // 8]
    return [*near[:4], *far[:4], *near[4:6], *far[4:], *near[6:], size // 8, 2 * size, -7]


def _near(
    rows: Sequence[tuple[int, ...]], readings: Sequence[Reading], count: int
) -> tuple[list[tuple[int, ...]], list[Reading]]:
    """The traces at sizes near those of the call."""
    order = sorted(range(len(rows)), key=lambda k: max(abs(x - y) for x, y in zip(rows[k], rows[0], strict=True)))
    return [rows[k] for k in order[:count]], [readings[k] for k in order[:count]]


def _explained(
    symbols: tuple[Symbol, ...], rows: Sequence[tuple[int, ...]], readings: Sequence[Reading]
) -> Generalization | None:
    known = dict[tuple[int, ...], SizeFormula | None]()

    def formula(column: tuple[int, ...]) -> SizeFormula | None:
        if column not in known:
            known[column] = fit(column, rows)
        return known[column]

    sizes = [formula(column) for column in zip(*[one.sizes for one in readings], strict=True)]
    first = readings[0]
    changing = dict[int, SizeFormula | None]()
    for number, column in enumerate(zip(*[one.values for one in readings], strict=True)):
        if not all(_same(column[0], value) for value in column[1:]):
            numbers = [_as_integer(value) for value in column]
            found = None if None in numbers else formula(tuple([one for one in numbers if one is not None]))
            changing[number] = found
    places_of_values = {one.number: one for one in places(first.template) if isinstance(one, ValuePlace)}
    if any(one is None for one in sizes):
        return None
    parts = frozenset[int]().union(*[one.parts for one in readings])
    extended = frozenset[int]().union(*[one.extended for one in readings])
    if parts & extended:
        return None
    found = PlaceFormulas([one for one in sizes if one is not None], first.values, changing, parts, extended)
    given = tuple([places_of_values[number] for number, one in changing.items() if one is None])
    return Generalization(symbols, first.template, found, given)


def _same(one: Any, other: Any) -> bool:
    """Whether two constants have the same bits. Types and ranks are those of the template."""
    if one is other:
        return True
    x, y = np.asarray(one), np.asarray(other)
    return (x.shape, x.dtype) == (y.shape, y.dtype) and x.tobytes() == y.tobytes()


def _as_integer(value: Any) -> int | None:
    """A number that stands for a size; None for arrays, truth values, and numbers with fractions."""
    array = np.asarray(value)
    if array.shape or array.dtype.kind not in "iuf" or not np.isfinite(array) or array != np.trunc(array):
        return None
    return None if array == 0 and np.signbit(array) else int(array)


_CONSTANT = object()


class KeptArrays:
    """The further arguments of calls by their shapes: those of the last calls, up to a number of bytes."""

    def __init__(self) -> None:
        self._kept = OrderedDict[Shapes, Sequence[Any]]()
        self._bytes = 0
        self._lock = threading.Lock()

    def keep(self, shapes: Shapes, arrays: Sequence[Any]) -> None:
        """Keep arrays, and forget the oldest ones if these are too many."""
        with self._lock:
            self._bytes -= _bytes(self._kept.pop(shapes, ()))
            self._kept[shapes] = arrays
            self._bytes += _bytes(arrays)
            while self._bytes > MOST_BYTES and len(self._kept) > 1:
                self._bytes -= _bytes(self._kept.popitem(last=False)[1])

    def get(self, shapes: Shapes) -> Sequence[Any] | None:
        """The arrays of a call, unless they are forgotten."""
        with self._lock:
            if (found := self._kept.get(shapes)) is not None:
                self._kept.move_to_end(shapes)
            return found


def _bytes(arrays: Sequence[Any]) -> int:
    return sum(one.nbytes for one in arrays)
