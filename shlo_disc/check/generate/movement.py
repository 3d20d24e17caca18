"""Op families that move data."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, is_fixed, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.check.generate.elements import literal, partner
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ir.dtypes import DType

_MOST_RANK = 4
_ONE = const(1)
_GATHERED = (DType.F32, DType.I32, DType.F64, DType.I64, DType.C64)
_COUNTED = (DType.F32, DType.I32, DType.I64, DType.I8, DType.UI8, DType.I16, DType.UI16, DType.F64)
_INDICES = (DType.I32, DType.I64, DType.I32, DType.I8, DType.UI8, DType.I16, DType.UI32)
_NOT_COMBINED = (DType.I1, DType.F8E8M0FNU)


def _vector(numbers: list[int]) -> str:
    return f"stablehlo.constant dense<[{', '.join(map(str, numbers))}]> : tensor<{len(numbers)}xi32>"


def transpose(b: ProgramBuilder) -> bool:
    """A transposition."""
    x = b.pick(lambda v: len(v.shape) >= 2)
    if x is None:
        return False
    order = list(range(len(x.shape)))
    rest = order.copy()
    order = [rest.pop(-1 - b.choices.below(len(rest))) for _ in order]
    shape = tuple([x.shape[axis] for axis in order])
    text = f"stablehlo.transpose {x.name}, dims = {order} : ({x.type}) -> {spell(shape, x.dtype)}"
    b.op(text, shape, x.dtype)
    return True


def reverse(b: ProgramBuilder) -> bool:
    """A reversed axis."""
    x = b.pick(lambda v: len(v.shape) >= 1)
    if x is None:
        return False
    b.op(f"stablehlo.reverse {x.name}, dims = [{b.choices.below(len(x.shape))}] : {x.type}", x.shape, x.dtype)
    return True


def reshape(b: ProgramBuilder) -> bool:
    """Axes merged, split, added or dropped."""
    x = b.pick(lambda v: len(v.shape) >= 1)
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    size, before, after = x.shape[axis], x.shape[:axis], x.shape[axis + 1 :]
    ways = list[Shape]()
    if after:
        ways += [(*before, b.computed("multiply", size, after[0]), *after[1:])] * 2
    if size.constant is not None and len(x.shape) < _MOST_RANK:
        ways += [(*before, const(size.constant // n), const(n), *after) for n in (2, 4, 3) if size.constant % n == 0]
    if size == _ONE:
        ways.append((*before, *after))
    if len(x.shape) < _MOST_RANK:
        ways.append((*before, _ONE, size, *after))
        ways += [(*before, *pair, *after) for pair in _factors(b, size)] * 2
    if not ways:
        return False
    b.reshape(x, pick(b.choices, ways))
    return True


def _factors(b: ProgramBuilder, size: Dim) -> list[Shape]:
    """Pairs of sizes of the program whose product is a given dynamic size."""
    known = {dim for value in b.values for dim in value.shape if dim != _ONE}
    ordered = sorted(known, key=str)
    return [(p, q) for p in ordered for q in ordered if size.constant is None and p * q == size]


def broadcast(b: ProgramBuilder) -> bool:
    """A new axis."""
    x = b.pick(lambda v: len(v.shape) < _MOST_RANK)
    if x is None:
        return False
    sizes = sorted({dim for value in b.values for dim in value.shape}, key=str) or [const(3)]
    axis = b.choices.below(len(x.shape) + 1)
    shape = (*x.shape[:axis], pick(b.choices, sizes), *x.shape[axis:])
    b.values.append(b.broadcast(x, [k for k in range(len(shape)) if k != axis], shape))
    return True


def cut(b: ProgramBuilder) -> bool:
    """A slice of an axis: of a dynamic one the first half, the second half, or every other element."""
    x = b.pick(lambda v: len(v.shape) >= 1)
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    if is_fixed(x.shape):
        sizes = [dim.constant or 0 for dim in x.shape]
        parts = [(0, n, 1) for n in sizes]
        n = sizes[axis]
        parts[axis] = pick(b.choices, [(0, n, 2), (n // 2, n, 1), (0, max(1, n - 1), 1), (min(1, n), n, 3)])
        spans = ", ".join(f"{low}:{high}:{step}" if step > 1 else f"{low}:{high}" for low, high, step in parts)
        shape = tuple([const(-(-(high - low) // step)) for low, high, step in parts])
        b.op(f"stablehlo.slice {x.name} [{spans}] : ({x.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)
        return True
    size = x.shape[axis]
    half = b.computed("divide", size, const(2))
    upper = b.computed("divide", b.computed("add", size, _ONE), const(2))
    start, limit, step, length = pick(
        b.choices, [(const(0), half, 1, half), (half, size, 1, upper), (const(0), size, 2, upper)]
    )
    zeros = [const(0)] * len(x.shape)
    starts, limits, steps = [*zeros], [*x.shape], [_ONE] * len(x.shape)
    starts[axis], limits[axis], steps[axis] = start, limit, const(step)
    vectors = [b.sizes(tuple(sizes)) for sizes in (starts, limits, steps)]
    shape = (*x.shape[:axis], length, *x.shape[axis + 1 :])
    types = ", ".join([x.type, *[v.type for v in vectors]])
    names = ", ".join([x.name, *[v.name for v in vectors]])
    b.op(f"stablehlo.real_dynamic_slice {names} : ({types}) -> {spell(shape, x.dtype)}", shape, x.dtype)
    return True


def pad(b: ProgramBuilder) -> bool:
    """A padded axis."""
    x = b.pick(lambda v: len(v.shape) >= 1)
    if x is None:
        return False
    axis, rank = b.choices.below(len(x.shape)), len(x.shape)
    low, high = [0] * rank, [0] * rank
    low[axis], high[axis] = b.choices.below(3), b.choices.below(3)
    inner = [0] * rank
    size = x.shape[axis]
    if size.constant is not None and chance(b.choices, 3):
        inner[axis] = 1 + b.choices.below(3)
        between = max(0, size.constant - 1) * inner[axis]
        grown = const(size.constant + between + low[axis] + high[axis])
    else:
        grown = b.computed("add", size, const(low[axis] + high[axis])) if low[axis] + high[axis] else size
    shape = (*x.shape[:axis], grown, *x.shape[axis + 1 :])
    value = b.splat(literal(b, x.dtype), x.dtype)
    if is_fixed(x.shape) or not chance(b.choices, 2):
        text = f"stablehlo.pad {x.name}, {value.name}, low = {low}, high = {high}, interior = {inner} : "
        b.op(f"{text}({x.type}, {value.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)
        return True
    vectors = [b.quiet(_vector(v), (const(rank),), DType.I32) for v in (low, high, inner)]
    names = ", ".join([x.name, value.name, *[v.name for v in vectors]])
    types = ", ".join([x.type, value.type, *[v.type for v in vectors]])
    b.op(f"stablehlo.dynamic_pad {names} : ({types}) -> {spell(shape, x.dtype)}", shape, x.dtype)
    return True


def concatenate(b: ProgramBuilder) -> bool:
    """Two values concatenated."""
    x = b.pick(lambda v: len(v.shape) >= 1)
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))

    def fits(v: ProgramValue) -> bool:
        others = [v.shape[:axis], v.shape[axis + 1 :]]
        return v.dtype is x.dtype and len(v.shape) == len(x.shape) and others == [x.shape[:axis], x.shape[axis + 1 :]]

    y = b.pick(fits) or x
    size = b.computed("add", x.shape[axis], y.shape[axis])
    shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
    text = f"stablehlo.concatenate {x.name}, {y.name}, dim = {axis} : ({x.type}, {y.type}) -> {spell(shape, x.dtype)}"
    b.op(text, shape, x.dtype)
    return True


def iota(b: ProgramBuilder) -> bool:
    """An iota of the shape of another value."""
    x = b.pick(lambda v: len(v.shape) >= 1 and not v.dtype.is_bool and not v.dtype.is_complex)
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    dtype = x.dtype if x.dtype in _COUNTED else DType.I32
    if is_fixed(x.shape):
        b.op(f"stablehlo.iota dim = {axis} : {spell(x.shape, dtype)}", x.shape, dtype)
        return True
    sizes = b.sizes(x.shape)
    text = f"stablehlo.dynamic_iota {sizes.name}, dim = {axis} : ({sizes.type}) -> {spell(x.shape, dtype)}"
    b.op(text, x.shape, dtype)
    return True


def indices(b: ProgramBuilder, most_rank: int) -> ProgramValue:
    """Integers to be used as indices, in range or not."""
    found = b.pick(lambda v: v.dtype in _INDICES and 1 <= len(v.shape) <= most_rank)
    if found is not None:
        return found
    return b.op("stablehlo.constant dense<[2, 0, -1, 1, 9]> : tensor<5xi32>", (const(5),), DType.I32)


def gather(b: ProgramBuilder) -> bool:
    """Slices of a value at indices."""
    made = _gathered(b)
    return made is not None


def _gathered(b: ProgramBuilder) -> tuple[ProgramValue, ProgramValue, ProgramValue, int] | None:
    """Take whole slices along an axis; gives the operand, the indices, the result, the axis."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 3 and v.shape[0].constant != 0)
    if x is None:
        return None
    rows = indices(b, 4 - len(x.shape) + 1)
    axis = b.choices.below(len(x.shape))
    if not x.shape[axis].constant:  # a dynamic axis may be empty at run time: then there is nothing to gather
        return None
    return x, rows, gathered(b, x, rows, axis), axis


def gathered(b: ProgramBuilder, x: ProgramValue, rows: ProgramValue, axis: int) -> ProgramValue:
    """Whole slices of a value along an axis, at indices; the result has the dims of the indices first."""
    others = [k for k in range(len(x.shape)) if k != axis]
    shape = (*rows.shape, *[x.shape[k] for k in others])
    offsets = list(range(len(rows.shape), len(shape)))
    numbers = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = [{axis}], "
        f"start_index_map = [{axis}], index_vector_dim = {len(rows.shape)}>"
    )
    window = tuple([_ONE if k == axis else x.shape[k] for k in range(len(x.shape))])
    return _take(b, x, rows, numbers, window, shape)


def _take(
    b: ProgramBuilder, x: ProgramValue, rows: ProgramValue, numbers: str, window: Shape, shape: Shape
) -> ProgramValue:
    """A gather of windows, dynamic if their sizes are; `shape` is the result's."""
    head, result = f"({x.name}, {rows.name}", spell(shape, x.dtype)
    if is_fixed(window):
        sizes = ", ".join(str(dim.constant) for dim in window)
        text = (
            f'"stablehlo.gather"{head}) <{{dimension_numbers = {numbers}, indices_are_sorted = false, '
            f"slice_sizes = array<i64: {sizes}>}}> : ({x.type}, {rows.type}) -> {result}"
        )
    else:
        sizes = b.sizes(window)
        text = (
            f'"stablehlo.dynamic_gather"{head}, {sizes.name}) <{{dimension_numbers = {numbers}, '
            f"indices_are_sorted = false}}> : ({x.type}, {rows.type}, {sizes.type}) -> {result}"
        )
    return b.op(text, shape, x.dtype)


def scatter(b: ProgramBuilder) -> bool:
    """A gather whose result is scattered back: added, or the larger or smaller one kept."""
    found = _gathered(b)
    if found is None or found[0].dtype in _NOT_COMBINED:
        return found is not None
    scatter_into(b, *found)
    return True


def scatter_into(b: ProgramBuilder, x: ProgramValue, rows: ProgramValue, updates: ProgramValue, axis: int) -> None:
    """Combine a value with slices along an axis, at indices."""
    windows = list(range(len(rows.shape), len(updates.shape)))
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {windows}, inserted_window_dims = [{axis}], "
        f"scatter_dims_to_operand_dims = [{axis}], index_vector_dim = {len(rows.shape)}>"
    )
    _scattered(b, x, rows, updates, numbers)


def _scattered(b: ProgramBuilder, x: ProgramValue, rows: ProgramValue, updates: ProgramValue, numbers: str) -> None:
    combine = pick(b.choices, ("add",) if x.dtype.is_complex else ("add", "maximum", "minimum"))
    scalar, one, other, both = spell((), x.dtype), b.fresh(), b.fresh(), b.fresh()
    text = (
        f'"stablehlo.scatter"({x.name}, {rows.name}, {updates.name}) <{{indices_are_sorted = false, '
        f"scatter_dimension_numbers = {numbers}, unique_indices = false}}> ({{\n"
        f"^bb0({one}: {scalar}, {other}: {scalar}):\n"
        f"  {both} = stablehlo.{combine} {one}, {other} : {scalar}\n"
        f"  stablehlo.return {both} : {scalar}\n"
        f"}}) : ({x.type}, {rows.type}, {updates.type}) -> {x.type}"
    )
    b.op(text, x.shape, x.dtype)


def batched(b: ProgramBuilder) -> bool:
    """A gather with batch dims along the second dim, sometimes scattered back."""
    x = b.pick(lambda v: 2 <= len(v.shape) <= 3 and bool(v.shape[1].constant) and v.dtype in _GATHERED)
    if x is None:
        return False
    shape = (x.shape[0], const(3))
    rows = b.pick(lambda v: v.dtype is DType.I32 and len(v.shape) == 2 and v.shape[0] == x.shape[0])
    if rows is None:
        rows = b.broadcast(b.quiet(_vector([2, 0, 7]), shape[1:], DType.I32), [1], shape)
    window, rest = (_ONE, _ONE, *x.shape[2:]), x.shape[2:]
    result = (*rows.shape, *rest)
    offsets = [2] if rest else []
    taken = (
        f"#stablehlo.gather<offset_dims = {offsets}, collapsed_slice_dims = [1], operand_batching_dims = [0], "
        f"start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>"
    )
    updates = _take(b, x, rows, taken, window, result)
    if chance(b.choices, 2):
        numbers = (
            f"#stablehlo.scatter<update_window_dims = {offsets}, inserted_window_dims = [1], "
            f"input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
            f"index_vector_dim = 2>"
        )
        _scattered(b, x, rows, updates, numbers)
    return True


def windows(b: ProgramBuilder) -> bool:
    """A gather of windows at places along all dims, wholly, partly or not in range, which are scattered back."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 3)
    if x is None:
        return False
    rank, count = len(x.shape), 1 + b.choices.below(5)
    window = tuple([_part(b, size) for size in x.shape])
    places = [[b.choices.below(12) - 2 for _ in range(rank)] for _ in range(count)]
    rows_shape = (const(count), const(rank))
    rows = b.quiet(f"stablehlo.constant dense<{places}> : {spell(rows_shape, DType.I32)}", rows_shape, DType.I32)
    along, inside = list(range(rank)), list(range(1, rank + 1))
    taken = f"#stablehlo.gather<offset_dims = {inside}, start_index_map = {along}, index_vector_dim = 1>"
    updates = _take(b, x, rows, taken, window, (const(count), *window))
    if x.dtype not in _NOT_COMBINED:
        numbers = (
            f"#stablehlo.scatter<update_window_dims = {inside}, scatter_dims_to_operand_dims = {along}, "
            f"index_vector_dim = 1>"
        )
        _scattered(b, x, rows, updates, numbers)
    return True


def _part(b: ProgramBuilder, size: Dim) -> Dim:
    """The size of a part of an axis, valid for any size at run time."""
    if size.constant is None:
        return b.computed("divide", size, const(2)) if chance(b.choices, 2) else size
    return const(max(0, size.constant - b.choices.below(3)))


def _start(b: ProgramBuilder) -> ProgramValue:
    """A scalar index: an argument's, or a constant, in range or not."""
    found = b.pick(lambda v: v.dtype is DType.I32 and not v.shape)
    return found or b.splat(pick(b.choices, ("1", "0", "-3", "100")), DType.I32)


def dynamic_slice(b: ProgramBuilder) -> bool:
    """A slice at an index that is clamped."""
    x = b.pick(lambda v: len(v.shape) >= 1 and is_fixed(v.shape))
    if x is None:
        return False
    starts = [_start(b) for _ in x.shape]
    window = [max(0, (dim.constant or 0) - b.choices.below(3)) for dim in x.shape]
    shape = tuple(map(const, window))
    names = ", ".join([x.name, *[s.name for s in starts]])
    types = ", ".join([x.type, *[s.type for s in starts]])
    text = f"stablehlo.dynamic_slice {names}, sizes = {window} : ({types}) -> {spell(shape, x.dtype)}"
    b.op(text, shape, x.dtype)
    return True


def dynamic_update_slice(b: ProgramBuilder) -> bool:
    """A value updated with another one at an index that is clamped."""
    x = b.pick(lambda v: len(v.shape) >= 1)
    if x is None:
        return False

    def smaller(v: ProgramValue) -> bool:
        pairs = list(zip(v.shape, x.shape, strict=False))
        fits = all(p == q or (p.constant is not None and (q.constant or 0) >= p.constant) for p, q in pairs)
        return v is not x and v.dtype is x.dtype and len(v.shape) == len(x.shape) and fits

    update = b.pick(smaller) or partner(b, x)
    starts = [_start(b) for _ in x.shape]
    names = ", ".join([x.name, update.name, *[s.name for s in starts]])
    types = ", ".join([x.type, update.type, *[s.type for s in starts]])
    b.op(f"stablehlo.dynamic_update_slice {names} : ({types}) -> {x.type}", x.shape, x.dtype)
    return True


FAMILIES = (
    transpose, transpose, reshape, reshape, broadcast, cut, pad, concatenate, iota, gather, scatter, batched,
    windows, dynamic_slice, dynamic_update_slice, reverse,
)  # fmt: skip
