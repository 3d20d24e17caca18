"""Shape-value folding: StableHLO ops on small integer values, evaluated to dims.

Truth values are the dims 0 and 1. A comparison that the facts do not decide becomes a formula (`a >= b` is
`max(0, min(1, a - b + 1))`), and so does a division by a divisor of unknown sign; both are recorded, so that an
assertion recovers its two sides, and JAX's expansions of floor division and modulo become one `//` or `%`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product as points
from math import prod

from shlo_disc.dynamic_ops.program import Relation
from shlo_disc.dynamic_ops.size_values import KnownElements, Step
from shlo_disc.expr.dim import ONE, ZERO, Dim, as_dim, const, maximum, minimum
from shlo_disc.expr.naming import is_huge
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import DenseAttr, QuantizedTensorType
from shlo_disc.legalize.attribute_values import integer, integers, literal, string
from shlo_disc.legalize.builder import OpBuilder, tensor_type

MOST_ELEMENTS = 64
_WITHIN_OPERANDS = frozenset(  # what these compute is no larger than an operand
    f"stablehlo.{name}" for name in ("clamp", "maximum", "minimum", "remainder", "select", "sign")
)


class ShapeArithmetic:
    """Evaluates ops whose operands are all known as dims."""

    def __init__(self, builder: OpBuilder) -> None:
        self._builder = builder
        self._comparisons: dict[Dim, tuple[Relation, Dim, Dim]] = {}
        self._quotients: dict[Dim, tuple[Dim, Dim]] = {}
        self._remainders: dict[Dim, tuple[Dim, Dim]] = {}

    def evaluate(self, op: ir.Op, operands: Sequence[KnownElements]) -> KnownElements | None:
        """The result of an op, or None if it is not one of shape arithmetic."""
        if op.name == "stablehlo.constant":
            return _constant(op)
        if len(op.results) != 1 or not operands:
            return None
        taken = tuple(dict.fromkeys(step for x in operands for step in x.steps))
        if (move := _MOVES.get(op.name)) is not None:
            moved = move(op, operands)
            return None if moved is None else replace(moved, steps=taken)
        if any(isinstance(x.type, QuantizedTensorType) for x in (*op.operands, *op.results)):
            return None
        type_ = tensor_type(op.results[0].type, op.span)
        function = self._function(op)
        if function is None or not (type_.dtype.is_integer or type_.dtype.is_bool):
            return None
        whole = max(operands, key=lambda x: len(x.shape))  # scalar operands of clamp and select are broadcast
        shape = whole.shape
        columns = [x.dims if x.shape else x.dims * len(whole.dims) for x in operands]
        dims = [function(*row) for row in zip(*columns, strict=True)]
        if type_.dtype.is_bool or op.name in _WITHIN_OPERANDS:
            return KnownElements(tuple(dims), shape, type_.dtype, steps=taken)
        return self._typed(op, dims, KnownElements((), shape, type_.dtype, steps=taken))

    def _typed(self, op: ir.Op, dims: list[Dim], result: KnownElements) -> KnownElements | None:
        """Wrap constants around, record a step for what may wrap around; None if something always does."""
        facts, dtype, steps = self._builder.facts, result.dtype, list(result.steps)
        least, greatest = map(const, dtype.integer_bounds)
        for k, dim in enumerate(dims):
            if (value := dim.constant) is not None:
                dims[k] = const(dtype.wrapped(value))
            elif facts.at_least(dim, least).is_false or facts.at_least(greatest, dim).is_false:
                return None
            elif not facts.fits(dim, dtype):
                steps.append(Step(dim, dtype, op))
            if is_huge(dim):
                dims[k] = self._builder.size(dim)
        return replace(result, dims=tuple(dims), steps=tuple(dict.fromkeys(steps)))

    def relation(self, condition: Dim) -> tuple[Relation, Dim, Dim]:
        """The relation of two dims that a truth value stands for."""
        return self._comparisons.get(condition, (Relation.EQ, condition, ONE))

    def _function(self, op: ir.Op) -> Callable[..., Dim] | None:
        boolean = tensor_type(op.operands[-1].type, op.span).dtype.is_bool
        match op.name:
            case "stablehlo.compare":
                return self._compare(string(op, "comparison_direction"))
            case "stablehlo.convert":
                made_bool = tensor_type(op.results[0].type, op.span).dtype.is_bool
                return self._truth if made_bool and not boolean else as_dim
            case "stablehlo.and" | "stablehlo.or" | "stablehlo.not" if boolean:
                return _LOGIC[op.name]
            case _:
                return _ARITHMETIC.get(op.name) or self._decided().get(op.name)

    def _decided(self) -> Mapping[str, Callable[..., Dim]]:
        return {
            "stablehlo.abs": self._abs,
            "stablehlo.sign": self._sign,
            "stablehlo.divide": self._divide,
            "stablehlo.remainder": self._remainder,
            "stablehlo.select": self._select,
        }

    # comparisons

    def _compare(self, direction: str) -> Callable[[Dim, Dim], Dim]:
        at_least, equal = self._at_least, self._equal
        functions: dict[str, Callable[[Dim, Dim], Dim]] = {
            "EQ": equal,
            "NE": self._differs,
            "GE": at_least,
            "LE": lambda a, b: at_least(b, a),
            "GT": lambda a, b: at_least(a, b + 1),
            "LT": lambda a, b: at_least(b, a + 1),
        }
        return functions[direction]

    def _at_least(self, a: Dim, b: Dim) -> Dim:
        truth = self._builder.facts.at_least(a, b)
        if truth.known:
            return ONE if truth.is_true else ZERO
        found = maximum(0, minimum(1, a - b + 1))
        self._comparisons[found] = (Relation.GE, a, b)
        return found

    def _equal(self, a: Dim, b: Dim) -> Dim:
        truth = self._builder.facts.equal(a, b)
        if truth.known:
            return ONE if truth.is_true else ZERO
        found = maximum(0, minimum(1 - (a - b), 1 + (a - b)))
        self._comparisons[found] = (Relation.EQ, a, b)
        return found

    def _differs(self, a: Dim, b: Dim) -> Dim:
        found = 1 - self._equal(a, b)
        self._comparisons[found] = (Relation.NE, a, b)
        return found

    def _truth(self, a: Dim) -> Dim:
        return self._differs(a, ZERO)

    # what depends on signs

    def _nonnegative(self, a: Dim) -> bool:
        return self._builder.facts.at_least(a, 0).is_true

    def _abs(self, a: Dim) -> Dim:
        if self._nonnegative(a):
            return a
        return -a if self._nonnegative(-a) else maximum(a, -a)

    def _sign(self, a: Dim) -> Dim:
        if self._nonnegative(a - 1):
            return ONE
        return const(-1) if self._nonnegative(-a - 1) else minimum(1, maximum(-1, a))

    def _divide(self, a: Dim, b: Dim) -> Dim:
        """Divide and truncate towards zero, as StableHLO does: the sign of a decides the direction of rounding."""
        if b.constant == 0:
            return const(-1)
        if self._nonnegative(a) and self._nonnegative(b):
            found = a // b
        else:
            size = self._abs(b)
            found = self._sign(b) * (maximum(a, 0) // size - maximum(-a, 0) // size)
        self._quotients[found] = (a, b)
        return found

    def _remainder(self, a: Dim, b: Dim) -> Dim:
        """The remainder of truncating division, which has the sign of a."""
        if b.constant == 0:
            return a
        if self._nonnegative(a) and self._nonnegative(b):
            found = a % b
        else:
            size = self._abs(b)
            found = maximum(a, 0) % size - maximum(-a, 0) % size
        self._remainders[found] = (a, b)
        return found

    def _select(self, condition: Dim, then: Dim, other: Dim) -> Dim:
        if (known := condition.constant) is not None:
            return then if known else other
        if then == other:
            return then
        return self._floor(condition, then, other) or other + condition * (then - other)

    def _floor(self, condition: Dim, then: Dim, other: Dim) -> Dim | None:
        """Recognize JAX's floor_divide and remainder: the truncated result, corrected if the signs differ.

        So is its mirror image, which rounds up: corrected if the signs are the same.
        """
        if (pair := self._quotients.get(other)) is not None and then in (other - 1, other + 1):
            a, b = pair
            is_inexact = self._differs(self._remainder(a, b), ZERO)
            if then == other - 1 and condition == minimum(self._differs(self._sign(a), self._sign(b)), is_inexact):
                return a // b
            if then == other + 1 and condition == minimum(self._equal(self._sign(a), self._sign(b)), is_inexact):
                return -(-a // b)
        if (pair := self._remainders.get(other)) is not None and then == other + pair[1]:
            a, b = pair
            negative = self._compare("LT")
            mixed = self._differs(negative(other, ZERO), negative(b, ZERO))
            if condition == minimum(mixed, self._differs(other, ZERO)):
                return a % b
        return None


def _clamp(low: Dim, x: Dim, high: Dim) -> Dim:
    return minimum(maximum(low, x), high)


def _not(a: Dim) -> Dim:
    return 1 - a


_LOGIC: Mapping[str, Callable[..., Dim]] = {
    "stablehlo.and": minimum,
    "stablehlo.or": maximum,
    "stablehlo.not": _not,
}
_ARITHMETIC: Mapping[str, Callable[..., Dim]] = {
    "stablehlo.add": Dim.__add__,
    "stablehlo.subtract": Dim.__sub__,
    "stablehlo.multiply": Dim.__mul__,
    "stablehlo.negate": Dim.__neg__,
    "stablehlo.minimum": minimum,
    "stablehlo.maximum": maximum,
    "stablehlo.clamp": _clamp,
}


def _constant(op: ir.Op) -> KnownElements | None:
    value = op.attributes.get("value")
    if not isinstance(value, DenseAttr):
        return None
    dtype = value.type.dtype
    shape = tuple(size for size in value.type.shape if size is not None)
    if not (dtype.is_integer or dtype.is_bool) or prod(shape) > MOST_ELEMENTS:
        return None
    return KnownElements(tuple(const(int(x)) for x in literal(value, op.span).reshape(-1)), shape, dtype)


def _static(op: ir.Op) -> tuple[int, ...] | None:
    """The result's shape, if it is static and small."""
    sizes = tensor_type(op.results[0].type, op.span).shape
    shape = tuple(size for size in sizes if size is not None)
    if len(shape) < len(sizes) or prod(shape) > MOST_ELEMENTS:
        return None
    return shape


def is_arithmetic(op: ir.Op) -> bool:
    """Whether an op computes sizes, rather than rearranging them."""
    return op.name not in _MOVES and op.name not in _IN_ORDER


def moved_from(op: ir.Op, operands: Sequence[KnownElements], element: int) -> tuple[int, int] | None:
    """The source of a result's element, as (operand, element), if the op only rearranges or converts."""
    if op.name in _IN_ORDER:
        return 0, element
    if (move := _MOVES.get(op.name)) is None:
        return None
    if move is _concatenate and all(len(x.shape) == 1 for x in operands):  # the usual shape operand
        number = 0
        while element >= len(operands[number].dims):
            element -= len(operands[number].dims)
            number += 1
        return number, element
    places = [(k, at) for k, x in enumerate(operands) for at in range(len(x.dims))]
    numbers = iter(range(len(places)))
    found = move(op, [KnownElements(tuple(const(next(numbers)) for _ in x.dims), x.shape, x.dtype) for x in operands])
    number = None if found is None else found.dims[element].constant
    return None if number is None else places[number]


def _arranged(x: Sequence[KnownElements], shape: tuple[int, ...], dims: Sequence[Dim]) -> KnownElements:
    return KnownElements(tuple(dims), shape, x[0].dtype)


def _reshape(op: ir.Op, operands: Sequence[KnownElements]) -> KnownElements | None:
    shape = _static(op)
    return None if shape is None else _arranged(operands, shape, operands[0].dims)


def _broadcast(op: ir.Op, operands: Sequence[KnownElements]) -> KnownElements | None:
    shape, (x, *_) = _static(op), operands
    if shape is None:
        return None
    positions = integers(op, "broadcast_dimensions")
    grid = _grid(x)
    found = [
        grid[tuple(at[k] if n != 1 else 0 for k, n in zip(positions, x.shape, strict=True))]
        for at in points(*map(range, shape))
    ]
    return _arranged(operands, shape, found)


def _grid(x: KnownElements) -> Mapping[tuple[int, ...], Dim]:
    return dict(zip(points(*map(range, x.shape)), x.dims, strict=True))


def _concatenate(op: ir.Op, operands: Sequence[KnownElements]) -> KnownElements | None:
    shape, dim = _static(op), integer(op, "dimension")
    if shape is None:
        return None
    if dim == 0:  # the usual case
        return _arranged(operands, shape, [each for x in operands for each in x.dims])
    found, start = dict[tuple[int, ...], Dim](), 0
    for x in operands:
        for at, value in _grid(x).items():
            found[(*at[:dim], at[dim] + start, *at[dim + 1 :])] = value
        start += x.shape[dim]
    return _arranged(operands, shape, [found[at] for at in points(*map(range, shape))])


def _slice(op: ir.Op, operands: Sequence[KnownElements]) -> KnownElements | None:
    (x,), shape = operands, _static(op)
    if shape is None:
        return None
    starts = integers(op, "start_indices")
    strides = integers(op, "strides", (1,) * len(starts))
    grid = _grid(x)
    found = [
        grid[tuple(a + k * d for a, k, d in zip(starts, at, strides, strict=True))] for at in points(*map(range, shape))
    ]
    return _arranged(operands, shape, found)


_IN_ORDER = ("stablehlo.convert", "stablehlo.reshape", "stablehlo.dynamic_reshape")  # element by element
_MOVES: Mapping[str, Callable[[ir.Op, Sequence[KnownElements]], KnownElements | None]] = {
    "stablehlo.reshape": _reshape,
    "stablehlo.dynamic_reshape": _reshape,
    "stablehlo.broadcast_in_dim": _broadcast,
    "stablehlo.dynamic_broadcast_in_dim": _broadcast,
    "stablehlo.concatenate": _concatenate,
    "stablehlo.slice": _slice,
}
