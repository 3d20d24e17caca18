"""StableHLO to DHLO: linear algebra by the custom calls that JAX exports for other platforms than the CPU.

jaxlib's handlers for GPUs take LAPACK's operands in the same order; the spelling of options and a few results differ.
`Qr`, `Eigh` and similar are XLA's own names, which JAX exports for TPUs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dynamic_ops.contract import DotAttrs, Precision
from shlo_disc.dynamic_ops.linear_algebra import LapackAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import const, minimum
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import string
from shlo_disc.legalize.builder import tensor_type
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Rule
from shlo_disc.legalize.known_calls import demand_types
from shlo_disc.legalize.library_calls import LibraryCall, as_rule
from shlo_disc.legalize.rules_compute import contracted
from shlo_disc.legalize.rules_linear_algebra import (
    PERTURBED,
    ROUTINES,
    eigen,
    symmetric,
    with_undefined,
)

_INFO = DType.I32


def _composer(call: LibraryCall) -> Composer:
    return Composer(call.frame, call.op.span)


def _jacobi(call: LibraryCall) -> Sequence[Tensor]:
    """Return v instead of v^H, and vectors even if they are not requested, as cuSOLVER's gesvdj and gesvdp do."""
    (a,), (m, n) = call.operands, call.sizes
    job, rank, batch = "A" if call.flag("full_matrices") else "S", minimum(*call.sizes), call.batch
    columns, rows = (m, n) if job == "A" else (rank, rank)
    results = [((*batch, rank), a.dtype.part), ((*batch, m, columns), a.dtype), ((*batch, rows, n), a.dtype)]
    s, u, v, info = call.emit("d_gesdd", LapackAttrs(job), [*results, (batch, _INFO)])
    compose, dims = _composer(call), len(batch)
    v = compose.transpose(v, (*range(dims), dims + 1, dims))
    if v.dtype.is_complex:
        real, imag = compose.parts(v)
        v = compose.complex(real, compose.unary(UnaryFn.NEGATE, imag))
    return call.undefined(0), s, u, v, info


def _sides(call: LibraryCall) -> str:
    return "".join("V" if call.flag(side) else "N" for side in ("left", "right"))


def _geev(call: LibraryCall) -> Sequence[Tensor]:
    """Return complex eigenvalues, and vectors of the matrix's own type: real ones are packed as LAPACK packs them."""
    jobs = _sides(call)
    values, vectors, info = eigen(call, jobs)
    if not call.dtype.is_complex:
        vectors = [_packed(call, v, values[1]) for v in vectors]
        values = [_composer(call).complex(*values)]
    return (call.undefined(0), *values, *with_undefined(call, 2, jobs, vectors), info)


def _hybrid_eigen(call: LibraryCall) -> Sequence[Tensor]:
    """The same results as LAPACK's: jaxlib computes these on the host."""
    jobs = _sides(call)
    values, vectors, info = eigen(call, jobs)
    return (*values, *with_undefined(call, len(values), jobs, vectors), info)


def _packed(call: LibraryCall, v: Tensor, imaginary: Tensor) -> Tensor:
    """Pack conjugate eigenvectors: the real parts, then the imaginary parts of the first (eigenvalue imag > 0)."""
    compose, rank = _composer(call), len(v.shape)
    real, imag = compose.parts(v)
    below = compose.compare(Direction.LT, imaginary, 0)
    is_second = compose.broadcast(below, (*range(rank - 2), rank - 1), v.shape)
    return compose.select(is_second, compose.unary(UnaryFn.NEGATE, imag), real)


def _gtsv2(call: LibraryCall) -> Sequence[Tensor]:
    """Return the solution alone."""
    solve, _ = ROUTINES["gtsv"]
    return solve(call)[3:4]


def _pivots_to_permutation(call: LibraryCall) -> Sequence[Tensor]:
    (pivots,) = call.operands
    if not call.shapes:
        shape = tensor_type(call.op.results[0].type, call.op.span).shape
        n = const(shape[-1] or 0)
    else:
        n = call.frame.dims(call.op.operands[call.shapes[0]], call.op)[-1]
    call.frame.build.demand_at_least(n, pivots.shape[-1], "interchanges are at most as many as rows", call.op.span)
    return call.emit("d_pivots_to_permutation", NoAttrs(), [((*pivots.shape[:-1], n), _INFO)])


def _syrk(call: LibraryCall) -> Sequence[Tensor]:
    """`alpha a a^T + beta c`, or of the transposed `a`. cuBLAS writes the lower triangle only; here both are right."""
    a, c, alpha, beta = call.operands
    demand_types((c,), call.op)
    (m, k), compose, rank = call.sizes, _composer(call), len(a.shape)
    n, summed = (k, rank - 2) if call.flag("transpose") else (m, rank - 1)
    call.frame.build.same_shape((c.shape, (*call.batch, n, n)), "c has the shape of the product", call.op.span)
    batch = tuple(range(rank - 2))
    attrs = DotAttrs(batch, batch, (summed,), (summed,), Precision.HIGHEST)
    product = contracted(call.frame, call.op, attrs, a, a)
    scaled = [compose.multiply(x, compose.broadcast(by, (), x.shape)) for x, by in ((product, alpha), (c, beta))]
    return (compose.add(*scaled),)


def _cholesky_update(call: LibraryCall) -> Sequence[Tensor]:
    """The upper factor of `r^T r + w w^T`, and the overwritten `w`."""
    r, w = call.operands
    return call.emit("d_cholesky_update", LapackAttrs(), [(r.shape, r.dtype), (w.shape, w.dtype)])


# XLA's own names


def _lu(call: LibraryCall) -> Sequence[Tensor]:
    """Return 0-based interchanges, and the permutation that they make up."""
    factorize, _ = ROUTINES["getrf"]
    factors, pivots, _ = factorize(call)
    from_zero = _composer(call).add(pivots, -1)
    rows = (*call.batch, call.sizes[0])
    attrs, span = NoAttrs(), call.op.span
    return factors, from_zero, call.frame.build.one("d_pivots_to_permutation", (from_zero,), attrs, rows, _INFO, span)


def _eigh(call: LibraryCall) -> Sequence[Tensor]:
    """Its configuration is text: which triangle, whether to sort (LAPACK always does), and when to stop iterating."""
    lower, *_ = string(call.op, "backend_config").split(",")
    if lower not in ("0", "1"):
        raise VerifyError(f"expected 0 or 1 for the triangle of Eigh, found '{lower}'", call.op.span)
    return symmetric(call, "V" + ("L" if lower == "1" else "U"))[:2]


CALLS: Mapping[str, Rule] = {
    **{
        f"cusolver_{name}_ffi": as_rule(*ROUTINES[name])
        for name in ("potrf", "getrf", "geqrf", "orgqr", "ormqr", "syevd", "sytrd")
    },
    "cusolver_gesvd_ffi": as_rule(*ROUTINES["gesvd"], columns=False),
    "cusolver_gesdd_ffi": as_rule(*ROUTINES["gesdd"]),
    "cusolver_gesvdj_ffi": as_rule(_jacobi, "T(m,n) -> 5"),
    "cusolver_gesvdp_ffi": as_rule(_jacobi, "T(m,n) -> 5"),
    "cusolver_geev_ffi": as_rule(_geev, "T(n,n) -> 5"),
    "cusolver_syrk_ffi": as_rule(_syrk, "T(m,k) T(n,n) T T -> 1", columns=False),
    "cuhybrid_eig_real": as_rule(_hybrid_eigen, "R(n,n) -> 5"),
    "cuhybrid_eig_comp": as_rule(_hybrid_eigen, "C(n,n) -> 4"),
    "cuhybrid_geqp3": as_rule(*ROUTINES["geqp3"]),
    "cusparse_gtsv2_ffi": as_rule(_gtsv2, "T(n) T(n) T(n) T(n,m) -> 1"),
    "cu_tridiagonal_solve_perturbed": as_rule(*PERTURBED),
    "cu_cholesky_update_ffi": as_rule(_cholesky_update, "R(n,n) R(n) -> 2", columns=False),
    "cu_lu_pivots_to_permutation": as_rule(_pivots_to_permutation, "i(k) -> 1", columns=False),
    "LuDecomposition": as_rule(_lu, "T(m,n) -> 3", columns=False),
    "Qr": as_rule(*ROUTINES["geqrf"], columns=False),
    "ProductOfElementaryHouseholderReflectors": as_rule(*ROUTINES["orgqr"], columns=False),
    "Eigh": as_rule(_eigh, "T(n,n) -> 2", columns=False),
}
