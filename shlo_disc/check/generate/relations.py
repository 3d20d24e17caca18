"""Op families of related operands: one value in several operands, one size on several axes, moves and reductions.

Bugs of fusion and of memory planning need such relations, which are rare among ops that are drawn one by one.
"""

from __future__ import annotations

import math

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, is_fixed, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.check.generate.elements import partner
from shlo_disc.check.generate.folds import combined, is_number, reduced
from shlo_disc.check.generate.movement import gathered, scatter_into
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType

_FLOATS = (DType.F32, DType.F64, DType.F16, DType.BF16)
_FUNCTIONS = ("exponential", "tanh", "logistic", "negate", "abs", "sine", "cosine")
_INTEGER_FUNCTIONS = ("negate", "not", "abs")
_NARROW = (DType.I8, DType.UI8, DType.I16, DType.UI16, DType.I32, DType.UI32)
_CONVERTED = (DType.I32, DType.I64, DType.I8, DType.UI8, DType.I16, DType.UI32, DType.F32)
_MOST_RANK = 4
_ONE = const(1)


def _function(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """An elementwise function."""
    if x.dtype.is_float:
        name = pick(b.choices, _FUNCTIONS)
    elif x.dtype.is_signed:
        name = pick(b.choices, _INTEGER_FUNCTIONS)
    else:
        name = "not"
    return b.op(f"stablehlo.{name} {x.name} : {x.type}", x.shape, x.dtype)


def _with(b: ProgramBuilder, name: str, x: ProgramValue, y: ProgramValue) -> ProgramValue:
    return b.op(f"stablehlo.{name} {x.name}, {y.name} : {x.type}", x.shape, x.dtype)


def _joined(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """A value concatenated with itself, or with a function of itself."""
    return _joined_along(b, x, len(x.shape) - 1 - b.choices.below(len(x.shape)))


def _joined_along(b: ProgramBuilder, x: ProgramValue, axis: int) -> ProgramValue:
    other = x if chance(b.choices, 3) else _function(b, x)
    pair = [x, other] if b.choices.below(2) else [other, x]
    size = b.computed("add", x.shape[axis], x.shape[axis])
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    names = ", ".join(v.name for v in pair)
    text = f"stablehlo.concatenate {names}, dim = {axis} : ({x.type}, {other.type}) -> {spell(shape, x.dtype)}"
    return b.op(text, shape, x.dtype)


def _transposed(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    order = list(range(len(x.shape)))
    order.append(order.pop(b.choices.below(len(order))))
    shape = tuple([x.shape[axis] for axis in order])
    text = f"stablehlo.transpose {x.name}, dims = {order} : ({x.type}) -> {spell(shape, x.dtype)}"
    return b.op(text, shape, x.dtype)


def _reversed(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    axis = b.choices.below(len(x.shape))
    return b.op(f"stablehlo.reverse {x.name}, dims = [{axis}] : {x.type}", x.shape, x.dtype)


def _longer(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    return _padded(b, x, b.choices.below(len(x.shape)), b.choices.below(4))


def _padded(b: ProgramBuilder, x: ProgramValue, axis: int, most: int) -> ProgramValue:
    """A value padded by `most` elements behind an axis, and by at most as many before it."""
    return _surrounded(b, x, axis, b.choices.below(1 + most), most)


def _surrounded(b: ProgramBuilder, x: ProgramValue, axis: int, before: int, behind: int) -> ProgramValue:
    low, high, inner = ([0] * len(x.shape) for _ in range(3))
    low[axis], high[axis] = before, behind
    grown = b.computed("add", x.shape[axis], const(low[axis] + high[axis]))
    shape = (*x.shape[:axis], grown if low[axis] + high[axis] else x.shape[axis], *x.shape[axis + 1 :])
    number = b.splat("1.000000e+00" if x.dtype.is_float else "1", x.dtype)
    text = f"stablehlo.pad {x.name}, {number.name}, low = {low}, high = {high}, interior = {inner} : "
    return b.op(f"{text}({x.type}, {number.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)


def _merged(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """Two axes merged into one; a vector gets an axis of size 1."""
    if len(x.shape) == 1:
        return b.reshape(x, (*x.shape, _ONE))
    axis = b.choices.below(len(x.shape) - 1)
    size = b.computed("multiply", x.shape[axis], x.shape[axis + 1])
    return b.reshape(x, (*x.shape[:axis], size, *x.shape[axis + 2 :]))


def _repeated(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """A value broadcast along a new axis, of a size that it has already."""
    if len(x.shape) == _MOST_RANK:
        return _transposed(b, x)
    axis = b.choices.below(len(x.shape) + 1)
    shape = (*x.shape[:axis], pick(b.choices, x.shape), *x.shape[axis:])
    made = b.broadcast(x, [k for k in range(len(shape)) if k != axis], shape)
    b.values.append(made)
    return made


def _cut(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """An axis padded to a multiple of a width, or joined to itself, and cut into rows."""
    if len(x.shape) == _MOST_RANK:
        return _transposed(b, x)
    return _cut_along(b, x, b.choices.below(len(x.shape)))


def _cut_along(b: ProgramBuilder, x: ProgramValue, axis: int) -> ProgramValue:
    size, before, after = x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]
    if size.constant is None:
        return b.reshape(_joined_along(b, x, axis), (*before, const(2), size, *after))
    width = pick(b.choices, (8, 16, 3, size.constant // 2 + 1))
    rows = size.constant // width + 1
    padding = rows * width - size.constant
    front = b.choices.below(1 + padding) if b.choices.below(2) else 0
    padded = _surrounded(b, x, axis, front, padding - front)
    return b.reshape(padded, (*before, const(rows), const(width), *after))


_MOVES = (_joined, _transposed, _joined, _reversed, _longer, _merged, _repeated, _cut, _cut)


def moved_and_reduced(b: ProgramBuilder) -> bool:
    """A value joined, transposed, reversed, padded or reshaped, a function of it, reduced along any axes."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= _MOST_RANK and is_number(v))
    if x is None:
        return False
    for _ in range(b.choices.below(3)):
        x = pick(b.choices, _MOVES)(b, x)
    for _ in range(b.choices.below(3)):
        x = _function(b, x)
    axis = len(x.shape) - 1 - b.choices.below(len(x.shape))
    dims = [axis] if not chance(b.choices, 4) else [k for k in range(len(x.shape)) if k != axis]
    y = reduced(b, x, dims, combined(b, x))
    if chance(b.choices, 2):
        y = _function(b, y)
        one = b.splat("1.500000e+00" if y.dtype.is_float else "3", y.dtype, y.shape)
        y = _with(b, pick(b.choices, ("add", "multiply")), y, one)
    if chance(b.choices, 2):
        back = b.broadcast(y, [k for k in range(len(x.shape)) if k not in dims], x.shape)
        _with(b, pick(b.choices, ("subtract", "multiply", "maximum")), x, back)
    return True


def rows_of_padding(b: ProgramBuilder) -> bool:
    """Sums over rows that an axis of known size was cut into, of which the last ones are padding in part."""
    x = b.pick(lambda v: len(v.shape) < _MOST_RANK and is_number(v) and any((d.constant or 0) > 4 for d in v.shape))
    if x is None:
        return False
    axis = next(k for k, size in enumerate(x.shape) if (size.constant or 0) > 4)
    if is_fixed(x.shape) and b.choices.below(2):
        x, axis = b.reshape(x, (const(math.prod(size.constant or 0 for size in x.shape)),)), 0
    rows = _cut_along(b, x, axis)
    if b.choices.below(2):
        rows = _function(b, rows)
    y = reduced(b, rows, [axis + 1], combined(b, rows))
    if y.shape and b.choices.below(2):
        _function(b, y)
    return True


def chain(b: ProgramBuilder) -> bool:
    """Several reductions over different axes, each broadcast back or reduced further."""
    x = b.pick(lambda v: 2 <= len(v.shape) <= _MOST_RANK and is_number(v))
    if x is None:
        return False
    for _ in range(2 + b.choices.below(2)):
        axis = b.choices.below(len(x.shape))
        y = reduced(b, x, [axis], combined(b, x))
        if chance(b.choices, 3) and y.shape:
            x = _function(b, y)
        else:
            back = b.broadcast(y, [k for k in range(len(x.shape)) if k != axis], x.shape)
            x = _with(b, pick(b.choices, ("subtract", "add", "maximum")), x, back)
            if chance(b.choices, 2):
                x = _function(b, x)
        if not x.shape:
            break
    return True


def _product(b: ProgramBuilder, x: ProgramValue, y: ProgramValue, batch: int, axes: tuple[int, int]) -> ProgramValue:
    """A product over one axis of each, the first `batch` dims being batches."""
    i, j = axes
    left, right = ([d for k, d in enumerate(v.shape) if k >= batch and k != axis] for v, axis in ((x, i), (y, j)))
    shape = (*x.shape[:batch], *left, *right)
    leading = list(range(batch))
    where = f"batching_dims = {leading} x {leading}, " if batch else ""
    text = f"stablehlo.dot_general {x.name}, {y.name}, {where}contracting_dims = [{i}] x [{j}] : "
    return b.op(f"{text}({x.type}, {y.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)


def product_with_itself(b: ProgramBuilder) -> bool:
    """A product of a value with itself, over one axis or over two axes of equal size."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 3 and v.dtype in (*_FLOATS, DType.I32))
    if x is None:
        return False
    batch = max(0, len(x.shape) - 2) if b.choices.below(2) else 0
    axes = [(i, j) for i in range(batch, len(x.shape)) for j in range(batch, len(x.shape)) if x.shape[i] == x.shape[j]]
    if 2 * len(x.shape) - 2 - batch > _MOST_RANK:
        return False
    _product(b, x, x, batch, pick(b.choices, axes))
    return True


def twisted(b: ProgramBuilder) -> bool:
    """A binary op of a value and its transpose, if it is square, or its reverse."""
    x = b.pick(lambda v: len(v.shape) >= 1 and is_number(v))
    if x is None:
        return False
    y = _transposed(b, x)
    if y.shape != x.shape or len(x.shape) == 1:
        y = _reversed(b, x)
    _with(b, pick(b.choices, ("add", "subtract", "maximum", "multiply")), x, y)
    return True


def into_itself(b: ProgramBuilder) -> bool:
    """A gather at indices computed from the value itself, scattered into it; or a slice of it moved within it."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 2 and is_number(v) and bool(v.shape[0].constant))
    if x is None:
        return False
    if is_fixed(x.shape) and not chance(b.choices, 2):
        start = b.splat(pick(b.choices, ("1", "0", "2")), DType.I32)
        zeros = [b.splat("0", DType.I32) for _ in x.shape[1:]]
        window = (const(max(1, (x.shape[0].constant or 1) - 1)), *x.shape[1:])
        names, types = ", ".join(s.name for s in (start, *zeros)), ", ".join(["tensor<i32>"] * len(x.shape))
        sizes = [dim.constant for dim in window]
        part = b.op(
            f"stablehlo.dynamic_slice {x.name}, {names}, sizes = {sizes} : ({x.type}, {types}) -> "
            f"{spell(window, x.dtype)}",
            window,
            x.dtype,
        )
        part = _function(b, part) if chance(b.choices, 2) else part
        where = f"{zeros[0].name}, {start.name}" if zeros else b.splat("0", DType.I32).name
        text = f"stablehlo.dynamic_update_slice {x.name}, {part.name}, {where} : "
        b.op(f"{text}({x.type}, {part.type}, {types}) -> {x.type}", x.shape, x.dtype)
        return True
    rows = _converted(b, x, pick(b.choices, (DType.I32, DType.I64, DType.I8)))
    if len(rows.shape) == 2:
        rows = reduced(b, rows, [1], "maximum")
    updates = gathered(b, x, rows, 0)
    scatter_into(b, x, rows, updates, 0)
    return True


def _converted(b: ProgramBuilder, x: ProgramValue, dtype: DType) -> ProgramValue:
    if x.dtype is dtype:
        return x
    return b.op(f"stablehlo.convert {x.name} : ({x.type}) -> {spell(x.shape, dtype)}", x.shape, dtype)


def wrapping(b: ProgramBuilder) -> bool:
    """Positions or sizes in narrow integers, with arithmetic that wraps, used as numbers or indices."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 3 and is_number(v))
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    shape = (x.shape[axis],)
    dtype = pick(b.choices, _NARROW)
    made = _positions(b, shape, dtype)
    for _ in range(b.choices.below(3)):
        number = b.splat(pick(b.choices, ("3", "100", "7", "1")), dtype, shape)
        other = number if not chance(b.choices, 4) else made
        made = _with(b, pick(b.choices, ("multiply", "add", "subtract")), made, other)
    found = _converted(b, made, pick(b.choices, _CONVERTED))
    if found.dtype.is_integer and chance(b.choices, 3):
        factor = b.splat(pick(b.choices, ("5", "100")), found.dtype, shape)
        found = _converted(b, _with(b, "multiply", found, factor), DType.I64)
    if found.dtype.is_integer and not chance(b.choices, 3):
        gathered(b, x if x.shape[axis].constant else _padded(b, x, axis, 1), found, axis)  # not of an empty axis
        return True
    spread = b.broadcast(_converted(b, found, x.dtype), [axis], x.shape)
    if chance(b.choices, 2):
        truth = spell(x.shape, DType.I1)
        less = b.op(
            f"stablehlo.compare LT, {spread.name}, {x.name} : ({x.type}, {x.type}) -> {truth}", x.shape, DType.I1
        )
        b.op(f"stablehlo.select {less.name}, {x.name}, {spread.name} : {truth}, {x.type}", x.shape, x.dtype)
    else:
        _with(b, pick(b.choices, ("add", "multiply")), x, spread)
    return True


def _positions(b: ProgramBuilder, shape: Shape, dtype: DType) -> ProgramValue:
    """0, 1, … along an axis, or its size everywhere, in a narrow type."""
    if chance(b.choices, 4):
        size = b.size(shape[0])
        return b.broadcast(_converted(b, size, dtype), [], shape)
    given = dtype if not chance(b.choices, 3) else DType.I32
    if is_fixed(shape):
        made = b.op(f"stablehlo.iota dim = 0 : {spell(shape, given)}", shape, given)
    else:
        sizes = b.sizes(shape)
        made = b.op(
            f"stablehlo.dynamic_iota {sizes.name}, dim = 0 : ({sizes.type}) -> {spell(shape, given)}", shape, given
        )
    return _converted(b, made, dtype)


def attention(b: ProgramBuilder) -> bool:
    """Attention, whose queries, keys and values may be one value."""
    q = b.pick(lambda v: 2 <= len(v.shape) <= 3 and v.dtype in _FLOATS)
    if q is None:
        return False
    batch = len(q.shape) - 2

    def fits(v: ProgramValue) -> bool:
        return v.dtype is q.dtype and len(v.shape) == len(q.shape) and (*v.shape[:batch], v.shape[-1]) == alike

    alike = (*q.shape[:batch], q.shape[-1])
    k = q if chance(b.choices, 2) else (b.pick(fits) or q)
    v = k if chance(b.choices, 2) else (b.pick(lambda v: fits(v) and v.shape == k.shape) or k)
    if chance(b.choices, 2):
        k = _function(b, k)
    last = batch + 1
    scores = _product(b, q, k, batch, (last, last))
    small = b.splat("2.500000e-01", q.dtype, scores.shape)
    scores = _with(b, "multiply", scores, small)
    if chance(b.choices, 3):
        scores = _masked(b, scores)
    kept = list(range(last))
    top = b.broadcast(reduced(b, scores, [last], "maximum"), kept, scores.shape)
    powers = b.op(
        f"stablehlo.exponential {_with(b, 'subtract', scores, top).name} : {scores.type}", scores.shape, q.dtype
    )
    total = b.broadcast(reduced(b, powers, [last], "add"), kept, scores.shape)
    weights = _with(b, "divide", powers, total)
    found = _product(b, weights, v, batch, (last, batch))
    if chance(b.choices, 2) and found.shape == q.shape:
        _with(b, "add", q, found)
    return True


def _masked(b: ProgramBuilder, scores: ProgramValue) -> ProgramValue:
    """Scores under a causal mask: tiny where the key comes later than the row."""
    shape, truth = scores.shape, spell(scores.shape, DType.I1)
    rank = len(shape)
    numbers = list[ProgramValue]()
    for axis in (rank - 2, rank - 1):
        numbers.append(b.broadcast(_positions(b, (shape[axis],), DType.I32), [axis], shape))
    row, key = numbers
    seen = b.op(f"stablehlo.compare GE, {row.name}, {key.name} : ({row.type}, {key.type}) -> {truth}", shape, DType.I1)
    tiny = b.splat("-1.000000e+04", scores.dtype, shape)
    return b.op(
        f"stablehlo.select {seen.name}, {scores.name}, {tiny.name} : {truth}, {scores.type}", shape, scores.dtype
    )


def shared(b: ProgramBuilder) -> bool:
    """A value that several ops read, whose results may be combined again."""
    x = b.pick(lambda v: len(v.shape) >= 1 and is_number(v))
    if x is None:
        return False
    one, other = (_function(b, x) for _ in range(2))
    sum_ = reduced(b, other, [b.choices.below(len(x.shape))], combined(b, other))
    _function(b, sum_)
    _with(b, pick(b.choices, ("add", "multiply", "maximum")), one, partner(b, x))
    return True


FAMILIES = (
    moved_and_reduced, moved_and_reduced, moved_and_reduced, chain, chain, wrapping, wrapping, attention,
    rows_of_padding, rows_of_padding, product_with_itself, twisted, into_itself, shared,
)  # fmt: skip
