"""Op families that combine many elements: reductions, products, convolutions, sorts."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType

_PADDING = (const(1), const(2))  # of a convolution of one dim


def is_number(v: ProgramValue) -> bool:
    """Whether a value holds integers or floats of usual types."""
    return v.dtype.bits >= (16 if v.dtype.is_float else 8) and _can_be_folded(v)


def _can_be_folded(v: ProgramValue) -> bool:
    """Whether a value holds integers of any width, or floats of usual types."""
    return v.dtype.is_integer or (v.dtype.is_float and v.dtype.bits >= 16)


def _extreme(dtype: DType, *, least: bool) -> str:
    """The initial value of a maximum (the least number) or of a minimum (the greatest)."""
    if dtype.is_float:
        digits = {DType.F64: ("0xFFF0000000000000", "0x7FF0000000000000"), DType.F16: ("0xFC00", "0x7C00")}
        digits |= {DType.BF16: ("0xFF80", "0x7F80"), DType.F32: ("0xFF800000", "0x7F800000")}
        return digits[dtype][not least]
    return str(dtype.integer_bounds[not least])


def _start_of(b: ProgramBuilder, combine: str, dtype: DType) -> ProgramValue:
    """A reduction's initial value: its identity, as results for other values are implementation-defined."""
    if combine in ("maximum", "minimum"):
        plain = _extreme(dtype, least=combine == "maximum")
    elif dtype.is_bool:
        plain = "true" if combine == "and" else "false"
    elif dtype.is_complex:
        plain = "(0.000000e+00, 0.000000e+00)"
    else:
        plain = {"add": "0", "multiply": "1"}[combine] if dtype.is_integer else f"{float(combine == 'multiply'):e}"
    return b.splat(plain, dtype)


def reduced(b: ProgramBuilder, x: ProgramValue, dims: list[int], combine: str) -> ProgramValue:
    """Reduce dims by an op."""
    shape = tuple([dim for k, dim in enumerate(x.shape) if k not in dims])
    start = _start_of(b, combine, x.dtype)
    text = (
        f"stablehlo.reduce({x.name} init: {start.name}) applies stablehlo.{combine} across dimensions = {dims} : "
        f"({x.type}, {start.type}) -> {spell(shape, x.dtype)}"
    )
    return b.op(text, shape, x.dtype)


def combined(b: ProgramBuilder, x: ProgramValue) -> str:
    """The combiner of a reduction; not a product of floats, which may overflow depending on the order."""
    if x.dtype.is_complex:
        return "add"
    if x.dtype.is_bool:
        return pick(b.choices, ("and", "or"))
    names = ("add", "maximum", "minimum", "add", *(() if x.dtype.is_float else ("multiply",)))
    return pick(b.choices, names)


def reduce(b: ProgramBuilder) -> bool:
    """Some dims reduced, and often broadcast back."""
    x = b.pick(lambda v: len(v.shape) >= 1 and (_can_be_folded(v) or v.dtype.is_complex or v.dtype.is_bool))
    if x is None:
        return False
    dims = [k for k in range(len(x.shape)) if b.choices.below(2)] or [len(x.shape) - 1]
    made = reduced(b, x, dims, combined(b, x))
    if not chance(b.choices, 3):
        back = b.broadcast(made, [k for k in range(len(x.shape)) if k not in dims], x.shape)
        number = ("subtract", "multiply") if x.dtype.is_complex else ("subtract", "multiply", "maximum")
        name = pick(b.choices, ("and", "xor") if x.dtype.is_bool else number)
        b.op(f"stablehlo.{name} {x.name}, {back.name} : {x.type}", x.shape, x.dtype)
    return True


def normalize(b: ProgramBuilder) -> bool:
    """A softmax, or squares divided by their sum, along one dim."""
    x = b.pick(lambda v: len(v.shape) >= 1 and v.dtype.is_float and is_number(v))
    if x is None:
        return False
    axis = len(x.shape) - 1 - b.choices.below(len(x.shape))
    kept = [k for k in range(len(x.shape)) if k != axis]
    if chance(b.choices, 2):
        top = b.broadcast(reduced(b, x, [axis], "maximum"), kept, x.shape)
        x = b.op(f"stablehlo.subtract {x.name}, {top.name} : {x.type}", x.shape, x.dtype)
        y = b.op(f"stablehlo.exponential {x.name} : {x.type}", x.shape, x.dtype)
    else:
        y = b.op(f"stablehlo.multiply {x.name}, {x.name} : {x.type}", x.shape, x.dtype)
    total = b.broadcast(reduced(b, y, [axis], "add"), kept, x.shape)
    b.op(f"stablehlo.divide {y.name}, {total.name} : {x.type}", x.shape, x.dtype)
    return True


def argmax(b: ProgramBuilder) -> bool:
    """The first largest element of the last dim and its index, as JAX emits it."""
    x = b.pick(lambda v: len(v.shape) >= 1 and v.dtype in (DType.F32, DType.I32) and v.shape[-1].constant is not None)
    if x is None or not x.shape[-1].constant:
        return False
    axis = len(x.shape) - 1
    shape, scalar = x.shape[:-1], spell((), x.dtype)
    positions = b.quiet(f"stablehlo.iota dim = 0 : {spell(x.shape[-1:], DType.I32)}", x.shape[-1:], DType.I32)
    positions = b.broadcast(positions, [axis], x.shape)
    least, zero = b.splat(_extreme(x.dtype, least=True), x.dtype), b.splat("0", DType.I32)
    made = b.fresh()
    n = {name: b.fresh() for name in ("a", "c", "i", "j", "gt", "ne", "or", "eq", "lt", "and", "ior", "v", "k")}
    results = f"({spell(shape, x.dtype)}, {spell(shape, DType.I32)})"
    b.line(f"""\
{made}:2 = stablehlo.reduce({x.name} init: {least.name}), ({positions.name} init: {zero.name})\
 across dimensions = [{axis}] : ({x.type}, {positions.type}, {scalar}, tensor<i32>) -> {results}
 reducer({n["a"]}: {scalar}, {n["c"]}: {scalar}) ({n["i"]}: tensor<i32>, {n["j"]}: tensor<i32>) {{
  {n["gt"]} = stablehlo.compare GT, {n["a"]}, {n["c"]} : ({scalar}, {scalar}) -> tensor<i1>
  {n["ne"]} = stablehlo.compare NE, {n["a"]}, {n["a"]} : ({scalar}, {scalar}) -> tensor<i1>
  {n["or"]} = stablehlo.or {n["gt"]}, {n["ne"]} : tensor<i1>
  {n["eq"]} = stablehlo.compare EQ, {n["a"]}, {n["c"]} : ({scalar}, {scalar}) -> tensor<i1>
  {n["lt"]} = stablehlo.compare LT, {n["i"]}, {n["j"]} : (tensor<i32>, tensor<i32>) -> tensor<i1>
  {n["and"]} = stablehlo.and {n["eq"]}, {n["lt"]} : tensor<i1>
  {n["ior"]} = stablehlo.or {n["or"]}, {n["and"]} : tensor<i1>
  {n["v"]} = stablehlo.select {n["or"]}, {n["a"]}, {n["c"]} : tensor<i1>, {scalar}
  {n["k"]} = stablehlo.select {n["ior"]}, {n["i"]}, {n["j"]} : tensor<i1>, tensor<i32>
  stablehlo.return {n["v"]}, {n["k"]} : {scalar}, tensor<i32>
}}""")
    b.values.append(ProgramValue(f"{made}#0", shape, x.dtype))
    b.values.append(ProgramValue(f"{made}#1", shape, DType.I32))
    return True


def reduce_window(b: ProgramBuilder) -> bool:
    """Windows along one dim: pooling, or a cumulative sum."""
    x = b.pick(lambda v: len(v.shape) >= 1 and (_can_be_folded(v) or v.dtype.is_complex or v.dtype.is_bool))
    if x is None:
        return False
    axis, rank = b.choices.below(len(x.shape)), len(x.shape)
    size = x.shape[axis].constant
    combine = combined(b, x)
    window, strides, low, high = [1] * rank, [1] * rank, [0] * rank, [0] * rank
    out = x.shape[axis]
    if size is not None and size > 1 and chance(b.choices, 2):  # cumulative
        window[axis], low[axis] = size, size - 1
    elif size is not None and size > 2 and chance(b.choices, 2):
        window[axis], strides[axis] = 2, 2
        out = const((size - 2) // 2 + 1)
    else:
        window[axis] = 2 + b.choices.below(2)
        low[axis] = b.choices.below(window[axis])
        high[axis] = window[axis] - 1 - low[axis]
    shape = (*x.shape[:axis], out, *x.shape[axis + 1 :])
    start = _start_of(b, combine, x.dtype)
    scalar, one, other, both = spell((), x.dtype), b.fresh(), b.fresh(), b.fresh()
    pairs = ", ".join(f"[{p}, {q}]" for p, q in zip(low, high, strict=True))
    text = (
        f'"stablehlo.reduce_window"({x.name}, {start.name}) <{{padding = dense<[{pairs}]> : tensor<{rank}x2xi64>, '
        f"window_dimensions = array<i64: {', '.join(map(str, window))}>, "
        f"window_strides = array<i64: {', '.join(map(str, strides))}>}}> ({{\n"
        f"^bb0({one}: {scalar}, {other}: {scalar}):\n"
        f"  {both} = stablehlo.{combine} {one}, {other} : {scalar}\n"
        f"  stablehlo.return {both} : {scalar}\n"
        f"}}) : ({x.type}, {start.type}) -> {spell(shape, x.dtype)}"
    )
    b.op(text, shape, x.dtype)
    return True


def dot(b: ProgramBuilder) -> bool:
    """A product of two values over dims of equal size, sometimes with batch dims."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 4 and v.dtype in (DType.F32, DType.F64, DType.BF16, DType.F16, DType.I32))
    if x is None:
        return False
    y = b.pick(lambda v: v.dtype is x.dtype and len(v.shape) >= 1 and bool(set(v.shape) & set(x.shape))) or x
    pairs = [(i, j) for i, p in enumerate(x.shape) for j, q in enumerate(y.shape) if p == q]
    i, j = pick(b.choices, pairs[::-1])
    batch = list[tuple[int, int]]()
    for p, q in pairs:
        if p != i and q != j and all(p != k and q != m for k, m in batch) and not chance(b.choices, 3):
            batch.append((p, q))
    left = [k for k in range(len(x.shape)) if k != i and k not in [p for p, _ in batch]]
    right = [k for k in range(len(y.shape)) if k != j and k not in [q for _, q in batch]]
    shape = (*[x.shape[p] for p, _ in batch], *[x.shape[k] for k in left], *[y.shape[k] for k in right])
    if len(shape) > 4:
        return False
    where = f"batching_dims = {[p for p, _ in batch]} x {[q for _, q in batch]}, " if batch else ""
    text = (
        f"stablehlo.dot_general {x.name}, {y.name}, {where}contracting_dims = [{i}] x [{j}] : "
        f"({x.type}, {y.type}) -> {spell(shape, x.dtype)}"
    )
    b.op(text, shape, x.dtype)
    return True


def convolution(b: ProgramBuilder) -> bool:
    """A convolution of dims [batch, space, features] that keeps its size, over the two last dims of a value."""
    x = b.pick(lambda v: len(v.shape) >= 2 and v.dtype in (DType.F32, DType.F64) and bool(v.shape[-1].constant))
    if x is None:
        return False
    features = x.shape[-1]
    if len(x.shape) == 2:
        x = b.reshape(x, (const(1), *x.shape))
    while len(x.shape) > 3:
        x = b.reshape(x, (b.computed("multiply", x.shape[0], x.shape[1]), *x.shape[2:]))
    out, width = const(1 + b.choices.below(5)), const(1 + b.choices.below(3))
    kernel_shape = (width, features, out)
    numbers = b.quiet(
        f"stablehlo.iota dim = {b.choices.below(3)} : {spell(kernel_shape, x.dtype)}", kernel_shape, x.dtype
    )
    small = b.splat("1.250000e-01", x.dtype, kernel_shape)
    kernel = b.quiet(f"stablehlo.multiply {numbers.name}, {small.name} : {small.type}", kernel_shape, x.dtype)
    low = b.choices.below(width.constant or 1)
    high = (width.constant or 1) - 1 - low
    shape = (*x.shape[:-1], out)
    if chance(b.choices, 3):
        padding = b.quiet(f"stablehlo.constant dense<[[{low}, {high}]]> : tensor<1x2xi32>", _PADDING, DType.I32)
        text = (
            f'"stablehlo.dynamic_conv"({x.name}, {kernel.name}, {padding.name}) <{{batch_group_count = 1 : i64, '
            f"dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}}> : "
            f"({x.type}, {kernel.type}, {padding.type}) -> {spell(shape, x.dtype)}"
        )
        b.op(text, shape, x.dtype)
        return True
    text = (
        f"stablehlo.convolution({x.name}, {kernel.name}) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
        f"window = {{pad = [[{low}, {high}]]}} {{batch_group_count = 1 : i64, feature_group_count = 1 : i64}} : "
        f"({x.type}, {kernel.type}) -> {spell(shape, x.dtype)}"
    )
    b.op(text, shape, x.dtype)
    return True


def sort(b: ProgramBuilder) -> bool:
    """A stable sort along one dim, sometimes with a second value that breaks ties."""
    x = b.pick(lambda v: len(v.shape) >= 1 and _can_be_folded(v))
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    if x.dtype.is_float:  # the sign of a NaN is unspecified, but decides its place in total order
        x = b.op(f"stablehlo.abs {x.name} : {x.type}", x.shape, x.dtype)
    y = b.pick(lambda v: v.shape == x.shape and v is not x)
    everyone = [x] if y is None or not chance(b.choices, 2) else [x, y]
    made, direction = b.fresh(), pick(b.choices, ("LT", "GT"))
    pairs = [(b.fresh(), b.fresh(), spell((), v.dtype)) for v in everyone]
    places = ", ".join(f"{p}: {t}, {q}: {t}" for p, q, t in pairs)
    p, q, t = pairs[0]
    order = ", TOTALORDER" if x.dtype.is_float else ""
    before = b.fresh()
    lines = [f"{before} = stablehlo.compare {direction}, {p}, {q}{order} : ({t}, {t}) -> tensor<i1>"]
    if len(everyone) == 2 and everyone[1].dtype.is_integer:
        tie, less, both, either = (b.fresh() for _ in range(4))
        r, s, u = pairs[1]
        lines += [
            f"{tie} = stablehlo.compare EQ, {p}, {q}{order} : ({t}, {t}) -> tensor<i1>",
            f"{less} = stablehlo.compare LT, {r}, {s} : ({u}, {u}) -> tensor<i1>",
            f"{both} = stablehlo.and {tie}, {less} : tensor<i1>",
            f"{either} = stablehlo.or {before}, {both} : tensor<i1>",
        ]
        before = either
    types = ", ".join(v.type for v in everyone)
    several = len(everyone) > 1
    body = "\n".join(f"  {line}" for line in lines)
    b.line(
        f'{made}{":2" if several else ""} = "stablehlo.sort"({", ".join(v.name for v in everyone)}) '
        f"<{{dimension = {axis} : i64, is_stable = true}}> ({{\n"
        f"^bb0({places}):\n{body}\n"
        f"  stablehlo.return {before} : tensor<i1>\n"
        f"}}) : ({types}) -> {f'({types})' if several else types}"
    )
    for number, v in enumerate(everyone):
        b.values.append(ProgramValue(f"{made}#{number}" if several else made, v.shape, v.dtype))
    return True


FAMILIES = (reduce, reduce, reduce, normalize, dot, dot, reduce_window, argmax, sort, convolution)
