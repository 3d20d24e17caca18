"""Op families of further products: mixed types, ragged groups, convolutions of two dims."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ir.dtypes import DType

_NARROW = (DType.F8E4M3FN, DType.F8E5M2, DType.F8E4M3FNUZ, DType.F8E5M2FNUZ)
# Types of the factors, and of the product.
_PAIRS = (
    (DType.BF16, DType.BF16, DType.F32), (DType.F16, DType.F16, DType.F32), (DType.I8, DType.I8, DType.I32),
    (DType.UI8, DType.UI8, DType.UI32), (DType.I16, DType.I16, DType.I32), (DType.I32, DType.I32, DType.I64),
    (DType.F32, DType.F32, DType.F64), (DType.C64, DType.C64, DType.C64), (DType.C128, DType.C128, DType.C128),
    *[(left, right, DType.F32) for left in _NARROW[:2] for right in _NARROW[:2]],
    *[(dtype, dtype, DType.F32) for dtype in _NARROW[2:]],
)  # fmt: skip
_PAIRS_BEYOND_XLA = ((DType.I4, DType.I4, DType.I32), *_PAIRS)
_CONVOLVED = (DType.F32, DType.F32, DType.F64, DType.F16, DType.BF16, DType.I32, DType.C64)
_LARGEST_KERNEL = 64


def converted(b: ProgramBuilder, x: ProgramValue, dtype: DType) -> ProgramValue:
    """A value converted to a type, or itself if it has that type."""
    if x.dtype is dtype:
        return x
    return b.quiet(f"stablehlo.convert {x.name} : ({x.type}) -> {spell(x.shape, dtype)}", x.shape, dtype)


def typed(b: ProgramBuilder) -> bool:
    """A product of two values, whose types and the result's may differ."""
    left, right, given = pick(b.choices, _PAIRS_BEYOND_XLA if b.beyond_xla else _PAIRS)

    def fits(v: ProgramValue) -> bool:
        if left.is_complex:
            return v.dtype is left and 1 <= len(v.shape) <= 3
        return not v.dtype.is_complex and not v.dtype.is_bool and 1 <= len(v.shape) <= 3

    x = b.pick(fits)
    if x is None:
        return False
    sizes = set(x.shape)
    y = b.pick(lambda v: fits(v) and not sizes.isdisjoint(v.shape)) or x
    i, j = pick(b.choices, [(i, j) for i, p in enumerate(x.shape) for j, q in enumerate(y.shape) if p == q])
    shape = (*x.shape[:i], *x.shape[i + 1 :], *y.shape[:j], *y.shape[j + 1 :])
    if not left.is_complex:
        x, y = converted(b, x, left), converted(b, y, right)
    precision = pick(b.choices, ("", ", precision = [HIGHEST, DEFAULT]"))
    text = f"stablehlo.dot_general {x.name}, {y.name}, contracting_dims = [{i}] x [{j}]{precision} : "
    b.op(f"{text}({x.type}, {y.type}) -> {spell(shape, given)}", shape, given)
    return True


def ragged(b: ProgramBuilder) -> bool:
    """A ragged_dot: groups of rows, each with a matrix of its own, or summed for itself; sizes may be negative."""
    x = b.pick(lambda v: len(v.shape) == 2 and v.dtype in (DType.F32, DType.F64, DType.BF16))
    if x is None:
        return False
    rows, depth = x.shape
    sizes = pick(b.choices, ((0, 2, 1), (2, 0), (1,), (3, -1, 9)))
    groups, columns = const(len(sizes)), const(pick(b.choices, (4, 1, 5)))
    by_rows = not chance(b.choices, 3)
    shape = (groups, depth, columns) if by_rows else (rows, columns)
    base = b.pick(lambda v: v.dtype is x.dtype and v.shape == (shape[-2],))
    right = b.splat("5.000000e-01", x.dtype, shape) if base is None else b.broadcast(base, [len(shape) - 2], shape)
    spelled = ", ".join(map(str, sizes))
    vector = b.quiet(f"stablehlo.constant dense<[{spelled}]> : {spell((groups,), DType.I32)}", (groups,), DType.I32)
    contracted, numbered = (1, "0") if by_rows else (0, "")
    numbers = (
        f"lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [{contracted}], "
        f"rhs_contracting_dimensions = [{contracted}], lhs_ragged_dimensions = [0], rhs_group_dimensions = [{numbered}]"
    )
    result = (rows, columns) if by_rows else (groups, depth, columns)
    b.op(
        f'"chlo.ragged_dot"({x.name}, {right.name}, {vector.name}) <{{ragged_dot_dimension_numbers = '
        f"#chlo.ragged_dot<{numbers}>}}> : ({x.type}, {right.type}, {vector.type}) -> "
        f"{spell(result, x.dtype)}",
        result,
        x.dtype,
    )
    return True


def plane(b: ProgramBuilder) -> bool:
    """A convolution of two dims: with strides, dilation, feature or batch groups, reversed or not."""

    def fits(v: ProgramValue) -> bool:
        fixed = all(dim.constant for dim in v.shape[1:])
        return len(v.shape) == 4 and fixed and v.dtype in _CONVOLVED and (v.shape[3].constant or 0) <= 8

    x = b.pick(fits)
    if x is None:
        return False
    batch, *space = x.shape[:3]
    features = x.shape[3].constant or 1
    groups = pick(b.choices, [n for n in (1, 2, features) if features % n == 0])
    batch_groups = 2 if groups == 1 and batch.constant and batch.constant % 2 == 0 and chance(b.choices, 3) else 1
    out = max(groups, batch_groups) * (1 + b.choices.below(2))
    width = [1 + b.choices.below(3) for _ in space]
    strides, holes, spread = ([1 + chance(b.choices, 4) for _ in space] for _ in range(3))
    padding = [(b.choices.below(2), b.choices.below(3)) for _ in space]
    reach = [(w - 1) * h + 1 for w, h in zip(width, holes, strict=True)]
    sizes = [
        ((dim.constant or 0) - 1) * s + 1 + low + high - r
        for dim, s, (low, high), r in zip(space, spread, padding, reach, strict=True)
    ]
    if min(sizes) < 0 or width[0] * width[1] * features > _LARGEST_KERNEL:
        return False
    kernel_shape = (*map(const, width), const(features // groups), const(out))
    kernel = _kernel(b, kernel_shape, x.dtype)
    shape: list[Dim] = [const((batch.constant or 0) // batch_groups) if batch_groups > 1 else batch]
    shape += [const(size // stride + 1) for size, stride in zip(sizes, strides, strict=True)]
    shape.append(const(out))
    reverse = [pick(b.choices, ("false", "true")) for _ in space]
    window = (
        f"stride = {strides}, pad = {[list(pair) for pair in padding]}, lhs_dilate = {spread}, rhs_dilate = {holes}, "
        f"reverse = [{', '.join(reverse)}]"
    )
    b.op(
        f"stablehlo.convolution({x.name}, {kernel.name}) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], "
        f"window = {{{window}}} {{batch_group_count = {batch_groups} : i64, feature_group_count = {groups} : i64}} : "
        f"({x.type}, {kernel.type}) -> {spell(shape, x.dtype)}",
        tuple(shape),
        x.dtype,
    )
    return True


def _kernel(b: ProgramBuilder, shape: Shape, dtype: DType) -> ProgramValue:
    """Some small numbers of a shape."""
    numbers = b.quiet(f"stablehlo.iota dim = {b.choices.below(4)} : {spell(shape, dtype)}", shape, dtype)
    if dtype.is_integer:
        return numbers
    plain = "(-5.000000e-01, 2.500000e-01)" if dtype.is_complex else "-3.750000e-01"
    small = b.splat(plain, dtype, shape)
    return b.quiet(f"stablehlo.multiply {numbers.name}, {small.name} : {small.type}", shape, dtype)


FAMILIES = (typed, typed, plane)
BEYOND_XLA = (ragged,)
