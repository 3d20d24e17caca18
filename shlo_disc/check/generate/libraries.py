"""Op families that libraries compute, or whose text is long: transforms, matrices, random bits, windows."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.check.generate.matrices import bounded
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType

_LARGEST_MATRIX = 6


def transform(b: ProgramBuilder) -> bool:
    """A Fourier transform of the last dim; one of floats is mostly followed by its inverse."""
    x = b.pick(lambda v: v.dtype in (DType.F32, DType.C64) and len(v.shape) >= 1 and (v.shape[-1].constant or 0) > 1)
    if x is None:
        return False
    size = x.shape[-1].constant or 0
    if x.dtype is DType.F32:
        half = (*x.shape[:-1], const(size // 2 + 1))
        made = _transformed(b, x, "RFFT", size, half, DType.C64)
        if not chance(b.choices, 3):
            _transformed(b, made, "IRFFT", size, x.shape, DType.F32)
    else:
        _transformed(b, x, pick(b.choices, ("FFT", "IFFT")), size, x.shape, DType.C64)
    return True


def _transformed(b: ProgramBuilder, x: ProgramValue, kind: str, size: int, shape: Shape, dtype: DType) -> ProgramValue:
    text = f"stablehlo.fft {x.name}, type = {kind}, length = [{size}] : ({x.type}) -> {spell(shape, dtype)}"
    return b.op(text, shape, dtype)


def factors(b: ProgramBuilder) -> bool:
    """The Cholesky factor of matrices made of vectors, and mostly a triangular solve with it."""

    def fits(v: ProgramValue) -> bool:
        is_small = bool(v.shape) and 0 < (v.shape[-1].constant or 0) <= _LARGEST_MATRIX
        return is_small and len(v.shape) <= 3 and v.dtype in (DType.F32, DType.F64)

    x = b.pick(fits)
    if x is None:
        return False
    rank, size = len(x.shape), x.shape[-1]
    square: Shape = (*x.shape, size)
    # x x^T + 1.5 I with numbers from -1 to 1 in x: positive definite.
    vector = bounded(b, x)
    batch = list(range(rank - 1))
    sides = [b.broadcast(vector, [*batch, axis], square) for axis in (rank - 1, rank)]
    outer = b.quiet(f"stablehlo.multiply {sides[0].name}, {sides[1].name} : {sides[0].type}", square, x.dtype)
    places = [b.quiet(f"stablehlo.iota dim = {k} : {spell((size, size), DType.I32)}", (size, size), DType.I32)
              for k in (0, 1)]  # fmt: skip
    p, q = places
    plane = spell((size, size), DType.I1)
    text = f"stablehlo.compare EQ, {p.name}, {q.name} : ({p.type}, {q.type}) -> {plane}"
    equal = b.quiet(text, (size, size), DType.I1)
    text = f"stablehlo.convert {equal.name} : ({plane}) -> {spell((size, size), x.dtype)}"
    one = b.broadcast(b.quiet(text, (size, size), x.dtype), [rank - 1, rank], square)
    scaled = b.quiet(
        f"stablehlo.multiply {one.name}, {b.splat('1.500000e+00', x.dtype, square).name} : {one.type}", square, x.dtype
    )
    matrix = b.quiet(f"stablehlo.add {outer.name}, {scaled.name} : {outer.type}", square, x.dtype)
    factor = b.op(f"stablehlo.cholesky {matrix.name}, lower = true : {matrix.type}", square, x.dtype)
    if not chance(b.choices, 3):
        left = pick(b.choices, ("true", "false"))
        transposed = pick(b.choices, ("NO_TRANSPOSE", "TRANSPOSE"))
        b.op(
            f'"stablehlo.triangular_solve"({factor.name}, {matrix.name}) <{{left_side = {left}, lower = true, '
            f"transpose_a = #stablehlo<transpose {transposed}>, unit_diagonal = false}}> : "
            f"({factor.type}, {matrix.type}) -> {matrix.type}",
            square,
            x.dtype,
        )
    return True


def random_bits(b: ProgramBuilder) -> bool:
    """Random bits from a constant key."""
    shape = tuple([const(pick(b.choices, (3, 1, 8, 5))) for _ in range(1 + b.choices.below(2))])
    dtype = pick(b.choices, (DType.UI32, DType.UI64))  # XLA's results are always unsigned
    key = b.quiet(f"stablehlo.constant dense<[{b.choices.below(99)}, 7]> : tensor<2xui64>", (const(2),), DType.UI64)
    made, kind = b.fresh(), pick(b.choices, ("THREE_FRY", "PHILOX"))
    b.line(
        f"{made}:2 = stablehlo.rng_bit_generator {key.name}, algorithm = {kind} : ({key.type}) -> "
        f"({key.type}, {spell(shape, dtype)})"
    )
    b.values.append(ProgramValue(f"{made}#1", shape, dtype))
    return True


def select_and_scatter(b: ProgramBuilder) -> bool:
    """A select_and_scatter with windows along one dim, as in the gradient of a pooling."""

    def fits(v: ProgramValue) -> bool:
        return v.dtype in (DType.F32, DType.F64, DType.I32) and any((dim.constant or 0) >= 2 for dim in v.shape)

    x = b.pick(fits)
    if x is None:
        return False
    rank = len(x.shape)
    axis = next(k for k, dim in enumerate(x.shape) if (dim.constant or 0) >= 2)
    size, width = x.shape[axis].constant or 0, 2
    stride = pick(b.choices, (2, 1))
    shape = (*x.shape[:axis], const((size - width) // stride + 1), *x.shape[axis + 1 :])
    source = b.splat("2" if x.dtype.is_integer else "1.500000e+00", x.dtype, shape)
    start = b.splat("0" if x.dtype.is_integer else "0.000000e+00", x.dtype)
    windows, strides = ([n if k == axis else 1 for k in range(rank)] for n in (width, stride))
    scalar, n = spell((), x.dtype), [b.fresh() for _ in range(6)]
    b.op(
        f'"stablehlo.select_and_scatter"({x.name}, {source.name}, {start.name}) <{{'
        f"window_dimensions = array<i64: {', '.join(map(str, windows))}>, "
        f"window_strides = array<i64: {', '.join(map(str, strides))}>}}> ({{\n"
        f"^bb0({n[0]}: {scalar}, {n[1]}: {scalar}):\n"
        f"  {n[2]} = stablehlo.compare {pick(b.choices, ('GE', 'LE'))}, {n[0]}, {n[1]} : ({scalar}, {scalar})"
        f" -> tensor<i1>\n"
        f"  stablehlo.return {n[2]} : tensor<i1>\n"
        f"}}, {{\n"
        f"^bb0({n[3]}: {scalar}, {n[4]}: {scalar}):\n"
        f"  {n[5]} = stablehlo.add {n[3]}, {n[4]} : {scalar}\n"
        f"  stablehlo.return {n[5]} : {scalar}\n"
        f"}}) : ({x.type}, {source.type}, {start.type}) -> {x.type}",
        x.shape,
        x.dtype,
    )
    return True


def mapped(b: ProgramBuilder) -> bool:
    """A map with a scalar formula."""
    x = b.pick(lambda v: v.dtype in (DType.F32, DType.I32) and len(v.shape) >= 1)
    if x is None:
        return False
    scalar, n = spell((), x.dtype), [b.fresh() for _ in range(4)]
    dims = ", ".join(str(k) for k in range(len(x.shape)))
    b.op(
        f'"stablehlo.map"({x.name}, {x.name}) <{{dimensions = array<i64: {dims}>}}> ({{\n'
        f"^bb0({n[0]}: {scalar}, {n[1]}: {scalar}):\n"
        f"  {n[2]} = stablehlo.negate {n[0]} : {scalar}\n"
        f"  {n[3]} = stablehlo.{pick(b.choices, ('maximum', 'add'))} {n[2]}, {n[1]} : {scalar}\n"
        f"  stablehlo.return {n[3]} : {scalar}\n"
        f"}}) : ({x.type}, {x.type}) -> {x.type}",
        x.shape,
        x.dtype,
    )
    return True


def largest(b: ProgramBuilder) -> bool:
    """The largest elements of the last dim, and their indices (top-k)."""
    x = b.pick(lambda v: v.dtype in (DType.F32, DType.I32) and bool(v.shape) and (v.shape[-1].constant or 0) >= 1)
    if x is None:
        return False
    if x.dtype.is_float:  # the sign of a NaN is unspecified
        x = b.op(f"stablehlo.abs {x.name} : {x.type}", x.shape, x.dtype)
    count = 1 + b.choices.below(x.shape[-1].constant or 1)
    shape, made = (*x.shape[:-1], const(count)), b.fresh()
    types = f"({spell(shape, x.dtype)}, {spell(shape, DType.I32)})"
    if chance(b.choices, 3):
        k = b.splat(str(count), DType.I32)
        b.line(
            f"{made}:2 = stablehlo.custom_call @stablehlo.dynamic_top_k({x.name}, {k.name}) "
            f"{{api_version = 2 : i32}} : ({x.type}, {k.type}) -> {types}"
        )
    else:
        b.line(f"{made}:2 = chlo.top_k({x.name}, k = {count}) : {x.type} -> {types}")
    b.values += [ProgramValue(f"{made}#0", shape, x.dtype), ProgramValue(f"{made}#1", shape, DType.I32)]
    return True


def quantized(b: ProgramBuilder) -> bool:
    """A value quantized, added to itself, and dequantized."""
    x = b.pick(lambda v: v.dtype is DType.F32)
    if x is None:
        return False
    plain = spell(x.shape, x.dtype)
    type_ = f"{plain.removesuffix('f32>')}!quant.uniform<i8:f32, {pick(b.choices, ('0.125', '0.1'))}:3>>"
    first, second = b.fresh(), b.fresh()
    b.line(f"{first} = stablehlo.uniform_quantize {x.name} : ({plain}) -> {type_}")
    b.line(f"{second} = stablehlo.add {first}, {first} : {type_}")
    b.op(f"stablehlo.uniform_dequantize {second} : ({type_}) -> {plain}", x.shape, x.dtype)
    return True


FAMILIES = (transform, factors, random_bits, select_and_scatter, mapped, largest)
BEYOND_XLA = (quantized,)
