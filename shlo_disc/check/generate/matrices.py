"""LAPACK's custom calls, as JAX emits them: factorizations of small matrices, and products of the factors."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, spell
from shlo_disc.check.generate.choices import pick
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType

_LARGEST = 6
_LETTERS = {DType.F32: "s", DType.F64: "d", DType.C64: "c", DType.C128: "z"}


def factored(b: ProgramBuilder) -> bool:
    """An LU factorization of matrices, with pivots."""
    x = _matrices(b)
    if x is None:
        return False
    x = _regular(b, x)
    *batch, m, n = x.shape
    pivots = (*batch, const(min(m.constant or 0, n.constant or 0)))
    lu, found, _ = _called(b, "getrf", "", [x], [(x.shape, x.dtype), (pivots, DType.I32), (tuple(batch), DType.I32)])
    b.values += [lu, found]
    return True


def orthogonal(b: ProgramBuilder) -> bool:
    """A QR factorization; the orthogonal factor is formed if there are no fewer rows than columns."""
    x = _matrices(b)
    if x is None:
        return False
    x = _regular(b, x)
    *batch, m, n = x.shape
    rank = const(min(m.constant or 0, n.constant or 0))
    packed, tau = _called(b, "geqrf", "", [x], [(x.shape, x.dtype), ((*batch, rank), x.dtype)])
    b.values.append(packed)
    if (m.constant or 0) >= (n.constant or 0):
        name = "ungqr" if x.dtype.is_complex else "orgqr"
        b.values += _called(b, name, "", [packed, tau], [(x.shape, x.dtype)])
    return True


def spectral(b: ProgramBuilder) -> bool:
    """An eigendecomposition of symmetric matrices, read from one triangle, and the product of its factors."""
    x = _matrices(b, is_square=True)
    if x is None:
        return False
    *batch, n, _ = x.shape
    name = "heevd" if x.dtype.is_complex else "syevd"
    options = f"mode = 86 : ui8, uplo = {ord(pick(b.choices, 'LU'))} : ui8"
    results: list[tuple[Shape, DType]] = [(x.shape, x.dtype), ((*batch, n), x.dtype.part), (tuple(batch), DType.I32)]
    vectors, values, _ = _called(b, name, options, [x], results)
    b.values.append(values)
    _product(b, vectors, values, vectors, adjoint=True)
    return True


def singular(b: ProgramBuilder) -> bool:
    """A singular value decomposition, and the product of its factors."""
    x = _matrices(b)
    if x is None:
        return False
    *batch, m, n = x.shape
    rank = const(min(m.constant or 0, n.constant or 0))
    results: list[tuple[Shape, DType]] = [(x.shape, x.dtype), ((*batch, rank), x.dtype.part)]
    results += [((*batch, m, rank), x.dtype), ((*batch, rank, n), x.dtype), (tuple(batch), DType.I32)]
    _, values, left, right, _ = _called(b, "gesdd", f"mode = {ord('S')} : ui8", [x], results)
    b.values.append(values)
    _product(b, left, values, right, adjoint=False)
    return True


def _product(
    b: ProgramBuilder, left: ProgramValue, values: ProgramValue, right: ProgramValue, *, adjoint: bool
) -> None:
    """Multiply `left * diag(values) * right`; `adjoint`: right is conjugated and transposed.

    The vectors are implementation-defined; this product is not.
    """
    rank = len(left.shape)
    batch = list(range(rank - 2))
    if left.dtype.is_complex:
        nothing = b.splat("0.000000e+00", values.dtype, values.shape)
        types = f"({values.type}, {nothing.type}) -> {spell(values.shape, left.dtype)}"
        values = b.quiet(f"stablehlo.complex {values.name}, {nothing.name} : {types}", values.shape, left.dtype)
        if adjoint:
            types = f"{right.type} -> {right.type}"
            right = b.quiet(f"chlo.conj {right.name} : {types}", right.shape, right.dtype)
    wide = b.broadcast(values, [*batch, rank - 1], left.shape)
    scaled = b.quiet(f"stablehlo.multiply {left.name}, {wide.name} : {left.type}", left.shape, left.dtype)
    shape = (*left.shape[:-1], right.shape[-2 if adjoint else -1])
    where = f"batching_dims = {batch} x {batch}, " if batch else ""
    b.op(
        f"stablehlo.dot_general {scaled.name}, {right.name}, {where}contracting_dims = [{rank - 1}] x "
        f"[{rank - 1 if adjoint else rank - 2}] : ({scaled.type}, {right.type}) -> {spell(shape, left.dtype)}",
        shape,
        left.dtype,
    )


def _matrices(b: ProgramBuilder, *, is_square: bool = False) -> ProgramValue | None:
    """A batch of small matrices of bounded numbers, as NaN and infinity have no factorization."""

    def fits(v: ProgramValue) -> bool:
        sizes = [dim.constant or 0 for dim in v.shape[-2:]]
        small = len(sizes) == 2 and all(0 < n <= _LARGEST for n in sizes)
        return small and v.dtype in _LETTERS and (not is_square or sizes[0] == sizes[1])

    x = b.pick(fits)
    if x is None:
        return None
    if x.dtype.is_complex:
        part = x.dtype.part
        parts = [
            bounded(b, b.quiet(f"stablehlo.{name} {x.name} : ({x.type}) -> {spell(x.shape, part)}", x.shape, part))
            for name in ("real", "imag")
        ]
        types = f"({parts[0].type}, {parts[1].type}) -> {x.type}"
        return b.quiet(f"stablehlo.complex {parts[0].name}, {parts[1].name} : {types}", x.shape, x.dtype)
    return bounded(b, x)


def _regular(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """Add large numbers on the antidiagonal to bounded matrices: factors of singular ones are not unique."""
    plane = x.shape[-2:]
    rows, columns = (
        b.quiet(f"stablehlo.iota dim = {k} : {spell(plane, DType.I32)}", plane, DType.I32) for k in range(2)
    )
    number = b.quiet(f"stablehlo.add {rows.name}, {columns.name} : {rows.type}", plane, DType.I32)
    last = b.splat(str(min(dim.constant or 1 for dim in plane) - 1), DType.I32, plane)
    types = f"({last.type}, {last.type}) -> {spell(plane, DType.I1)}"
    other = b.quiet(f"stablehlo.compare EQ, {number.name}, {last.name} : {types}", plane, DType.I1)
    large = b.splat("(6.000000e+00, 0.000000e+00)" if x.dtype.is_complex else "6.000000e+00", x.dtype, plane)
    text = f"stablehlo.convert {other.name} : ({other.type}) -> {spell(plane, x.dtype)}"
    ones = b.quiet(text, plane, x.dtype)
    added = b.quiet(f"stablehlo.multiply {ones.name}, {large.name} : {ones.type}", plane, x.dtype)
    spread = b.broadcast(added, [len(x.shape) - 2, len(x.shape) - 1], x.shape)
    return b.quiet(f"stablehlo.add {x.name}, {spread.name} : {x.type}", x.shape, x.dtype)


def bounded(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    """Map any floats to numbers from -1 to 1."""
    tanh = b.quiet(f"stablehlo.tanh {x.name} : {x.type}", x.shape, x.dtype)
    truth = spell(x.shape, DType.I1)
    known = b.quiet(f"stablehlo.compare EQ, {x.name}, {x.name} : ({x.type}, {x.type}) -> {truth}", x.shape, DType.I1)
    half = b.splat("5.000000e-01", x.dtype, x.shape)
    text = f"stablehlo.select {known.name}, {tanh.name}, {half.name} : {truth}, {x.type}"
    return b.quiet(text, x.shape, x.dtype)


def _called(
    b: ProgramBuilder,
    routine: str,
    options: str,
    operands: Sequence[ProgramValue],
    results: Sequence[tuple[Shape, DType]],
) -> list[ProgramValue]:
    """Call a routine; operands give the shapes of results if one is dynamic."""
    shapes = [shape for shape, _ in results]
    is_open = any(dim.constant is None for shape in shapes for dim in shape)
    sizes = [b.sizes(shape) for shape in shapes] if is_open else []
    places = f"dense<{[len(operands) + k for k in range(len(sizes))]}> : tensor<{len(sizes)}xi64>"
    stated = f"indices_of_shape_operands = {places}, " if is_open else ""
    given, made = [*operands, *sizes], b.fresh()
    most = len(operands[0].shape)  # the rank of matrices
    layouts = [", ".join(_layout(len(shape), most) for shape in all_) for all_ in ([v.shape for v in given], shapes)]
    several = len(results) > 1
    types = ", ".join(spell(shape, dtype) for shape, dtype in results)
    b.line(
        f"{made}{f':{len(results)}' if several else ''} = stablehlo.custom_call "
        f"@lapack_{_LETTERS[operands[0].dtype]}{routine}_ffi({', '.join(v.name for v in given)}) {{{stated}"
        f"mhlo.backend_config = {{{options}}}, operand_layouts = [{layouts[0]}], result_layouts = [{layouts[1]}]}} : "
        f"({', '.join(v.type for v in given)}) -> {f'({types})' if several else types}"
    )
    names = [f"{made}#{k}" if several else made for k in range(len(results))]
    return [ProgramValue(name, shape, dtype) for name, (shape, dtype) in zip(names, results, strict=True)]


def _layout(rank: int, of_matrices: int) -> str:
    """The layout of a value in memory: matrices are column-major."""
    order = list(range(rank))[::-1]
    if rank == of_matrices:
        order[:2] = order[1::-1]
    return f"dense<{order if rank else ''}> : tensor<{rank}xindex>"


FAMILIES = (factored, orthogonal, spectral, singular)
