"""StableHLO to DHLO: cholesky, triangular_solve, and the custom calls by which JAX reaches LAPACK.

Only `_ffi` names are supported: current jaxlib has no others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.linear_algebra import HessenbergAttrs, LapackAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ONE, ZERO, as_dim, maximum, minimum
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integer, string
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.library_calls import LETTERS, CallRule, LibraryCall, as_rule
from shlo_disc.legalize.rules_move import stated

_TO_COMPLEX = {DType.F32: DType.C64, DType.F64: DType.C128, DType.C64: DType.C64, DType.C128: DType.C128}
_TRANSPOSES = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


# -- the ops of the specification


def _in_lapack_types(frame: Frame, tensors: Sequence[Tensor], op: ir.Op) -> list[Tensor]:
    """Convert floats narrower than f32 to f32: LAPACK has no narrower ones."""
    return [
        x if x.dtype in LETTERS else frame.build.one("convert", (x,), NoAttrs(), x.shape, DType.F32, op.span)
        for x in tensors
    ]


def _back(frame: Frame, x: Tensor, dtype: DType, op: ir.Op) -> Bound:
    return x if x.dtype is dtype else frame.build.one("convert", (x,), NoAttrs(), x.shape, dtype, op.span)


def _cholesky(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    a = frame.tensor(op.operands[0])
    rows, columns = a.shape[-2:]
    frame.build.demand_equal(rows, columns, "cholesky takes square matrices", op.span)
    attrs = LapackAttrs("L" if integer(op, "lower", 0) else "U")
    shape = stated(frame, op, a.shape)
    (taken,) = _in_lapack_types(frame, (a,), op)
    return [_back(frame, frame.build.one("d_cholesky", (taken,), attrs, shape, taken.dtype, op.span), a.dtype, op)]


def _triangular_solve(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    a, b = frame.tensors(op.operands)
    side, uplo = "L" if integer(op, "left_side") else "R", "L" if integer(op, "lower") else "U"
    trans, diag = _TRANSPOSES[string(op, "transpose_a")], "U" if integer(op, "unit_diagonal") else "N"
    _demand_systems(frame, a, b, side, op)
    taken = _in_lapack_types(frame, (a, b), op)
    attrs, shape = LapackAttrs(side + uplo + trans + diag), stated(frame, op, b.shape)
    return [_back(frame, frame.build.one("d_trsm", taken, attrs, shape, taken[1].dtype, op.span), b.dtype, op)]


def _demand_systems(frame: Frame, a: Tensor, b: Tensor, side: str, op: ir.Op) -> None:
    size = b.shape[-2 if side == "L" else -1]
    pairs = zip(a.shape, (*b.shape[:-2], size, size), strict=True)
    for found, wanted in pairs:
        frame.build.demand_equal(found, wanted, "each matrix of a solve needs a square one of its size", op.span)


# -- custom calls

_INFO = DType.I32
_OF_SYSTEMS = {"side": "LR", "uplo": "LU", "trans_x": "NTC", "diag": "NU"}  # in this order


def _potrf(call: LibraryCall) -> Sequence[Tensor]:
    results = [(call.operands[0].shape, call.dtype), (call.batch, _INFO)]
    return call.emit("d_potrf", LapackAttrs(call.triangle), results)


def _trsm(call: LibraryCall) -> Sequence[Tensor]:
    options = "".join(call.letter(name, letters) for name, letters in _OF_SYSTEMS.items())
    a, b = call.operands
    _demand_systems(call.frame, a, b, options[0], call.op)
    return call.emit("d_trsm", LapackAttrs(options), [(b.shape, b.dtype)])


def _getrf(call: LibraryCall) -> Sequence[Tensor]:
    (a,) = call.operands
    results = [(a.shape, a.dtype), ((*call.batch, minimum(*call.sizes)), _INFO), (call.batch, _INFO)]
    return call.emit("d_getrf", LapackAttrs(), results)


def _geqrf(call: LibraryCall) -> Sequence[Tensor]:
    (a,) = call.operands
    return call.emit("d_geqrf", LapackAttrs(), [(a.shape, a.dtype), ((*call.batch, minimum(*call.sizes)), a.dtype)])


def _geqp3(call: LibraryCall) -> Sequence[Tensor]:
    a, jpvt = call.operands
    results = [(a.shape, a.dtype), (jpvt.shape, jpvt.dtype), ((*call.batch, minimum(*call.sizes)), a.dtype)]
    return call.emit("d_geqp3", LapackAttrs(), results)


def _orgqr(call: LibraryCall) -> Sequence[Tensor]:
    (a, tau), (m, n), build, span = call.operands, call.sizes, call.frame.build, call.op.span
    build.demand_at_least(m, n, "orthonormal columns are at most as many as rows", span)
    build.demand_at_least(n, tau.shape[-1], "reflectors are at most as many as columns", span)
    return call.emit("d_orgqr", LapackAttrs(), [(a.shape, a.dtype)])


def _ormqr(call: LibraryCall) -> Sequence[Tensor]:
    (a, tau, c), (rows, columns), build, span = call.operands, call.sizes, call.frame.build, call.op.span
    transposed, side = "C" if c.dtype.is_complex else "T", "L" if call.flag("left") else "R"
    count = tau.shape[-1]
    build.demand_equal(rows, c.shape[-2 if side == "L" else -1], "reflectors have the size of what they reflect", span)
    for size, what in ((rows, "rows"), (columns, "columns")):
        build.demand_at_least(size, count, f"reflectors are at most as many as {what}", span)
    if not build.facts.equal(columns, count).is_true:  # columns beyond the reflectors are not passed to LAPACK
        rank = len(a.shape)
        attrs = SliceAttrs((ZERO,) * rank, (ONE,) * rank)
        a = build.one("d_slice", (a,), attrs, (*a.shape[:-1], count), a.dtype, span)
    options = LapackAttrs(side + (transposed if call.flag("transpose") else "N"))
    return build.emit("d_ormqr", (a, tau, c), options, [(c.shape, c.dtype)], span)


def singular(name: str) -> CallRule:
    """Singular values: results are the overwritten a (undefined here), s, u, v^H, info."""

    def rule(call: LibraryCall) -> Sequence[Tensor]:
        (a,), (m, n), job = call.operands, call.sizes, call.job()
        if job not in ("A", "S", "N"):
            raise UnsupportedOpError(f"expected the mode A, S or N of {name}, found {job}", call.op.span)
        swapped = "transposed" in call.config and call.flag("transposed")
        rank = minimum(m, n)
        columns, rows = (m, n) if job == "A" else (rank, rank)
        values, info = ((*call.batch, rank), a.dtype.part), (call.batch, _INFO)
        left, right = (*call.batch, m, columns), (*call.batch, rows, n)
        if job == "N":
            s, done = call.emit(f"d_{name}", LapackAttrs(job), [values, info])
            return call.undefined(0), s, call.undefined(2), call.undefined(3), done
        vectors = [(left, a.dtype), (right, a.dtype)]
        s, u, v, done = call.emit(f"d_{name}", LapackAttrs(job), [values, *vectors, info])
        return call.undefined(0), s, *((v, u) if swapped else (u, v)), done

    return rule


def _syevd(call: LibraryCall) -> Sequence[Tensor]:
    job = call.letter("mode", "NV") if "mode" in call.config else "V"
    found = symmetric(call, job + call.triangle)
    return found if job == "V" else (call.undefined(0), *found)


def symmetric(call: LibraryCall, options: str) -> Sequence[Tensor]:
    """Eigenvectors if requested, eigenvalues and info; `options` are job (V or N) and uplo."""
    (a,), n = call.operands, call.sizes[0]
    vectors, values, info = (a.shape, a.dtype), ((*call.batch, n), a.dtype.part), (call.batch, _INFO)
    wanted = [vectors, values, info] if options[0] == "V" else [values, info]
    return call.emit("d_syevd", LapackAttrs(options), wanted)


def _sytrd(call: LibraryCall) -> Sequence[Tensor]:
    (a,), n = call.operands, call.sizes[0]
    diagonal, rest = (*call.batch, n), (*call.batch, maximum(n - 1, 0))
    results = [(a.shape, a.dtype), (diagonal, a.dtype.part), (rest, a.dtype.part), (rest, a.dtype), (call.batch, _INFO)]
    return call.emit("d_sytrd", LapackAttrs(call.triangle), results)


def eigen(call: LibraryCall, jobs: str) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Eigenvalues (two parts for real types), the left and right vectors requested in `jobs` (V or N each), info."""
    (a,), n = call.operands, call.sizes[0]
    values = [((*call.batch, n), a.dtype)] * (1 if a.dtype.is_complex else 2)
    vectors = [(a.shape, _TO_COMPLEX[a.dtype])] * jobs.count("V")
    *found, info = call.emit("d_geev", LapackAttrs(jobs), [*values, *vectors, (call.batch, _INFO)])
    return found[: len(values)], found[len(values) :], info


def with_undefined(call: LibraryCall, first: int, jobs: str, vectors: Sequence[Tensor]) -> list[Tensor]:
    """Place the vectors among the results from number `first` on; results that are not requested are undefined."""
    found = iter(vectors)
    return [next(found) if job == "V" else call.undefined(k) for k, job in enumerate(jobs, start=first)]


def _geev(call: LibraryCall) -> Sequence[Tensor]:
    jobs = call.letter("compute_left", "NV") + call.letter("compute_right", "NV")
    values, vectors, info = eigen(call, jobs)
    return (*values, *with_undefined(call, len(values), jobs, vectors), info)


def _gees(call: LibraryCall) -> Sequence[Tensor]:
    (a,), n, job = call.operands, call.sizes[0], call.letter("mode", "NV")
    if (sort := call.letter("sort", "NS")) != "N":
        raise UnsupportedOpError(f"expected gees not to sort (N), found {sort}, as jaxlib refuses too", call.op.span)
    values = [((*call.batch, n), a.dtype)] * (1 if a.dtype.is_complex else 2)
    forms = [(a.shape, a.dtype)] * (2 if job == "V" else 1)
    form, *rest = call.emit("d_gees", LapackAttrs(job), [*forms, *values, (call.batch, _INFO), (call.batch, _INFO)])
    return (form, *rest) if job == "V" else (form, call.undefined(1), *rest)


def _gehrd(call: LibraryCall) -> Sequence[Tensor]:
    (a,), n, build, span = call.operands, call.sizes[0], call.frame.build, call.op.span
    low, high = call.number("low"), call.number("high")
    if low < 1:
        raise VerifyError(f"expected 'low' from 1, found {low}", span)
    build.demand_at_least(maximum(n, 1), low, "'low' is a row, counted from 1", span)
    build.demand_at_least(n, high, "'high' is a row, counted from 1", span)
    build.demand_at_least(as_dim(high), minimum(n, low), "'high' does not come before 'low'", span)
    attrs = HessenbergAttrs(low, high)
    return call.emit(
        "d_gehrd", attrs, [(a.shape, a.dtype), ((*call.batch, maximum(n - 1, 0)), a.dtype), (call.batch, _INFO)]
    )


def _gtsv(call: LibraryCall) -> Sequence[Tensor]:
    b = call.operands[3]
    results = [(x.shape, x.dtype) for x in call.operands]
    return call.emit("d_gtsv", LapackAttrs(), [*results, (b.shape[:-2], _INFO)])


def perturbed_solve(call: LibraryCall) -> Sequence[Tensor]:
    """Solve tridiagonal systems whose matrices may be singular."""
    b = call.operands[3]
    return call.emit("d_gtsv_perturbed", LapackAttrs(), [(b.shape, b.dtype)])


ROUTINES: Mapping[str, tuple[CallRule, str]] = {
    "potrf": (_potrf, "T(n,n) -> 2"),
    "trsm": (_trsm, "T(k,k) T(m,n) -> 1"),
    "getrf": (_getrf, "T(m,n) -> 3"),
    "geqrf": (_geqrf, "T(m,n) -> 2"),
    "geqp3": (_geqp3, "T(m,n) i(n) -> 3"),
    "orgqr": (_orgqr, "T(m,n) T(k) -> 1"),
    "ormqr": (_ormqr, "T(r,n) T(k) T(m,c) -> 1"),
    "gesdd": (singular("gesdd"), "T(m,n) -> 5"),
    "gesvd": (singular("gesvd"), "T(m,n) -> 5"),
    "syevd": (_syevd, "T(n,n) -> 3"),
    "sytrd": (_sytrd, "T(n,n) -> 5"),
    "geev": (_geev, "T(n,n) -> 5"),
    "gees": (_gees, "T(n,n) -> 6"),
    "gehrd": (_gehrd, "T(n,n) -> 3"),
    "gtsv": (_gtsv, "T(n) T(n) T(n) T(n,m) -> 5"),
}
_RESULTS_IF_COMPLEX = {"geev": "T(n,n) -> 4", "gees": "T(n,n) -> 5"}
PERTURBED = perturbed_solve, "T(n) T(n) T(n) T(n,m) -> 1"
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def _lapack_name(letter: str, routine: str) -> str:
    name = _COMPLEX_NAMES.get(routine, routine) if letter in "cz" else routine
    return f"lapack_{letter}{name}_ffi"


CALLS: Mapping[str, Rule] = {
    **{
        _lapack_name(x, name): as_rule(rule, _RESULTS_IF_COMPLEX.get(name, text) if x in "cz" else text, x)
        for x in LETTERS.values()
        for name, (rule, text) in ROUTINES.items()
    },
    "tridiagonal_solve_perturbed_ffi": as_rule(*PERTURBED),
}

RULES: Mapping[str, Rule] = {"stablehlo.cholesky": _cholesky, "stablehlo.triangular_solve": _triangular_solve}
