"""StableHLO to DHLO: cholesky, triangular_solve, and the custom calls by which JAX reaches LAPACK and cuSOLVER.

jaxlib's handlers for both take the same operands in the same order; what differs is how options are spelled. Only the
`_ffi` names of today's jaxlib are known: it has no others any more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.attribute_values import dictionary, integer, integers, literal, string
from shlo_disc.dynamic_ops.builder import Bound, tensor_type
from shlo_disc.dynamic_ops.frame import Frame, Rule
from shlo_disc.dynamic_ops.linear_algebra import HessenbergAttrs, LapackAttrs
from shlo_disc.dynamic_ops.move import TransposeAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.dynamic_ops.rules_move import stated
from shlo_disc.expr.dim import Dim, const, maximum, minimum
from shlo_disc.expr.dtypes import DType
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import ArrayAttr, BoolAttr, DenseAttr, IntegerAttr

_LETTERS = {DType.F32: "s", DType.F64: "d", DType.C64: "c", DType.C128: "z"}
_TO_COMPLEX = {DType.F32: DType.C64, DType.F64: DType.C128, DType.C64: DType.C64, DType.C128: DType.C128}
_TRANSPOSES = {"NO_TRANSPOSE": "N", "TRANSPOSE": "T", "ADJOINT": "C"}


# -- the ops of the specification


def _in_lapack_types(frame: Frame, tensors: Sequence[Tensor], op: ir.Op) -> list[Tensor]:
    """LAPACK has no narrow floats: they are computed in f32."""
    return [
        x if x.dtype in _LETTERS else frame.build.one("convert", (x,), NoAttrs(), x.shape, DType.F32, op.span)
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


class _Call:
    """One custom call: its operands without those that only say shapes, and its options in either spelling."""

    def __init__(self, frame: Frame, op: ir.Op) -> None:
        self.frame, self.op = frame, op
        self.shapes = integers(op, "indices_of_shape_operands", ())
        self.operands = frame.tensors(op.operands[: len(op.operands) - len(self.shapes)])
        self.config = dictionary(op, "mhlo.backend_config") or dictionary(op, "backend_config")
        self.dtype = self.operands[0].dtype

    @property
    def batch(self) -> Shape:
        return self.operands[0].shape[:-2]

    @property
    def sizes(self) -> tuple[Dim, Dim]:
        """Rows and columns of the first operand."""
        m, n = self.operands[0].shape[-2:]
        return m, n

    def letter(self, name: str) -> str:
        """An option that is spelled as LAPACK's letter."""
        match self.config.get(name):
            case IntegerAttr(value=value):
                return chr(value)
            case other:
                raise VerifyError(f"expected an integer as '{name}', found {other}", self.op.span)

    def flag(self, name: str) -> bool:
        """An option that is spelled as a boolean."""
        match self.config.get(name):
            case BoolAttr(value=value):
                return value
            case other:
                raise VerifyError(f"expected a boolean as '{name}', found {other}", self.op.span)

    def number(self, name: str) -> int:
        """An option that is a number."""
        match self.config.get(name):
            case IntegerAttr(value=value):
                return value
            case other:
                raise VerifyError(f"expected an integer as '{name}', found {other}", self.op.span)

    @property
    def triangle(self) -> str:
        return self.letter("uplo") if "uplo" in self.config else "L" if self.flag("lower") else "U"

    def job(self) -> str:
        """Which singular vectors are asked for."""
        if "mode" in self.config:
            return self.letter("mode")
        return ("A" if self.flag("full_matrices") else "S") if self.flag("compute_uv") else "N"

    def emit(self, name: str, attrs: object, results: Sequence[tuple[Shape, DType]]) -> tuple[Tensor, ...]:
        return self.frame.build.emit(name, self.operands, attrs, results, self.op.span)

    def undefined(self, k: int) -> Tensor:
        """A result that the routine leaves undefined, of whatever shape the text gives it: zeros."""
        type_ = tensor_type(self.op.results[k].type, self.op.span)
        return self.frame.build.constant(0, self._asked(k), type_.dtype, self.op.span)

    def _asked(self, k: int) -> Shape:
        """The shape of a result by the text alone: an operand has it where the type does not; JAX gives all or none."""
        if len(self.shapes) == len(self.op.results):
            return self.frame.dims(self.op.operands[self.shapes[k]], self.op)
        shape = tensor_type(self.op.results[k].type, self.op.span).shape
        if None in shape:
            raise VerifyError(f"expected an operand with the shape of result {k}, found none", self.op.span)
        return tuple(const(size) for size in shape if size is not None)

    def finish(self, results: Sequence[Tensor]) -> Sequence[Bound]:
        """Hold the results against the shapes that the text states, in types and in operands."""
        for k, x in enumerate(results):
            stated(self.frame, self.op, x.shape, k)
            if self.shapes:
                for found, wanted in zip(x.shape, self._asked(k), strict=True):
                    self.frame.build.demand_equal(found, wanted, f"the result of {self.op.name}", self.op.span)
        return results


_INFO = DType.I32
_Rule = Callable[[_Call], Sequence[Tensor]]


def _square(call: _Call) -> Dim:
    n, columns = call.sizes
    call.frame.build.demand_equal(columns, n, "the routine takes square matrices", call.op.span)
    return n


def _potrf(call: _Call) -> Sequence[Tensor]:
    _square(call)
    results = [(call.operands[0].shape, call.dtype), (call.batch, _INFO)]
    return call.emit("d_potrf", LapackAttrs(call.triangle), results)


def _trsm(call: _Call) -> Sequence[Tensor]:
    options = "".join(call.letter(name) for name in ("side", "uplo", "trans_x", "diag"))
    a, b = call.operands
    _demand_systems(call.frame, a, b, options[0], call.op)
    return call.emit("d_trsm", LapackAttrs(options), [(b.shape, b.dtype)])


def _getrf(call: _Call) -> Sequence[Tensor]:
    (a,) = call.operands
    results = [(a.shape, a.dtype), ((*call.batch, minimum(*call.sizes)), _INFO), (call.batch, _INFO)]
    return call.emit("d_getrf", LapackAttrs(), results)


def _geqrf(call: _Call) -> Sequence[Tensor]:
    (a,) = call.operands
    return call.emit("d_geqrf", LapackAttrs(), [(a.shape, a.dtype), ((*call.batch, minimum(*call.sizes)), a.dtype)])


def _geqp3(call: _Call) -> Sequence[Tensor]:
    a, jpvt = call.operands
    results = [(a.shape, a.dtype), (jpvt.shape, jpvt.dtype), ((*call.batch, minimum(*call.sizes)), a.dtype)]
    return call.emit("d_geqp3", LapackAttrs(), results)


def _orgqr(call: _Call) -> Sequence[Tensor]:
    a, _ = call.operands
    return call.emit("d_orgqr", LapackAttrs(), [(a.shape, a.dtype)])


def _ormqr(call: _Call) -> Sequence[Tensor]:
    c = call.operands[2]
    transposed = "C" if c.dtype.is_complex else "T"
    options = ("L" if call.flag("left") else "R") + (transposed if call.flag("transpose") else "N")
    return call.emit("d_ormqr", LapackAttrs(options), [(c.shape, c.dtype)])


def _singular(name: str) -> _Rule:
    """Singular values: results are what is left of a, s, u, v^H, info."""

    def rule(call: _Call) -> Sequence[Tensor]:
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


def _jacobi(call: _Call) -> Sequence[Tensor]:
    """Give v instead of v^H, and vectors even if they are not asked for, as cuSOLVER's gesvdj and gesvdp do."""
    (a,), (m, n) = call.operands, call.sizes
    job, rank, batch = "A" if call.flag("full_matrices") else "S", minimum(*call.sizes), call.batch
    columns, rows = (m, n) if job == "A" else (rank, rank)
    results = [((*batch, rank), a.dtype.part), ((*batch, m, columns), a.dtype), ((*batch, rows, n), a.dtype)]
    s, u, v, info = call.emit("d_gesdd", LapackAttrs(job), [*results, (batch, _INFO)])
    build, span, dims = call.frame.build, call.op.span, len(batch)
    order = (*range(dims), dims + 1, dims)
    v = build.one("d_transpose", (v,), TransposeAttrs(order), (*batch, n, rows), v.dtype, span)
    if v.dtype.is_complex:
        parts = [build.one(part, (v,), NoAttrs(), v.shape, v.dtype.part, span) for part in ("real", "imag")]
        minus = build.one("negate", (parts[1],), NoAttrs(), v.shape, v.dtype.part, span)
        v = build.one("complex", (parts[0], minus), NoAttrs(), v.shape, v.dtype, span)
    return call.undefined(0), s, u, v, info


def _syevd(call: _Call) -> Sequence[Tensor]:
    (a,), n = call.operands, _square(call)
    job = call.letter("mode") if "mode" in call.config else "V"
    vectors, values, info = (a.shape, a.dtype), ((*call.batch, n), a.dtype.part), (call.batch, _INFO)
    attrs = LapackAttrs(job + call.triangle)
    if job == "V":
        return call.emit("d_syevd", attrs, [vectors, values, info])
    return (call.undefined(0), *call.emit("d_syevd", attrs, [values, info]))


def _sytrd(call: _Call) -> Sequence[Tensor]:
    (a,), n = call.operands, _square(call)
    diagonal, rest = (*call.batch, n), (*call.batch, maximum(n - 1, 0))
    results = [(a.shape, a.dtype), (diagonal, a.dtype.part), (rest, a.dtype.part), (rest, a.dtype), (call.batch, _INFO)]
    return call.emit("d_sytrd", LapackAttrs(call.triangle), results)


def _geev(call: _Call) -> Sequence[Tensor]:
    (a,), n = call.operands, _square(call)
    jobs = call.letter("compute_left") + call.letter("compute_right")
    values = [((*call.batch, n), a.dtype)] * (1 if a.dtype.is_complex else 2)
    vectors = [(a.shape, _TO_COMPLEX[a.dtype])] * jobs.count("V")
    *found, info = call.emit("d_geev", LapackAttrs(jobs), [*values, *vectors, (call.batch, _INFO)])
    for k, job in enumerate(jobs, start=len(values)):
        if job != "V":
            found.insert(k, call.undefined(k))
    return (*found, info)


def _gees(call: _Call) -> Sequence[Tensor]:
    (a,), n, job = call.operands, _square(call), call.letter("mode")
    if (sort := call.letter("sort")) != "N":
        raise UnsupportedOpError(f"expected gees not to sort (N), found {sort}, as jaxlib refuses too", call.op.span)
    values = [((*call.batch, n), a.dtype)] * (1 if a.dtype.is_complex else 2)
    forms = [(a.shape, a.dtype)] * (2 if job == "V" else 1)
    form, *rest = call.emit("d_gees", LapackAttrs(job), [*forms, *values, (call.batch, _INFO), (call.batch, _INFO)])
    return (form, *rest) if job == "V" else (form, call.undefined(1), *rest)


def _gehrd(call: _Call) -> Sequence[Tensor]:
    (a,), n = call.operands, _square(call)
    attrs = HessenbergAttrs(call.number("low"), call.number("high"))
    return call.emit(
        "d_gehrd", attrs, [(a.shape, a.dtype), ((*call.batch, maximum(n - 1, 0)), a.dtype), (call.batch, _INFO)]
    )


def _gtsv(call: _Call) -> Sequence[Tensor]:
    *diagonals, b = call.operands
    for x in diagonals:
        call.frame.build.same_shape((x.shape, b.shape[:-1]), "a tridiagonal system has three diagonals", call.op.span)
    results = [(x.shape, x.dtype) for x in call.operands]
    return call.emit("d_gtsv", LapackAttrs(), [*results, (b.shape[:-2], _INFO)])


def _gtsv2(call: _Call) -> Sequence[Tensor]:
    """Give the solution alone."""
    return _gtsv(call)[3:4]


def _pivots_to_permutation(call: _Call) -> Sequence[Tensor]:
    (pivots,) = call.operands
    if not call.shapes:
        shape = tensor_type(call.op.results[0].type, call.op.span).shape
        n = const(shape[-1] or 0)
    else:
        n = call.frame.dims(call.op.operands[call.shapes[0]], call.op)[-1]
    return call.emit("d_pivots_to_permutation", NoAttrs(), [((*pivots.shape[:-1], n), _INFO)])


def _column_major(op: ir.Op) -> bool:
    """Whether all matrices, the values of the highest rank among the operands, are said to lie column by column.

    jaxlib's handlers take memory for columns whatever the text says; any other order would mean other matrices.
    """
    sides = [(op.operands, op.attributes.get("operand_layouts")), (op.results, op.attributes.get("result_layouts"))]
    ranks = [len(tensor_type(x.type, op.span).shape) for x in op.operands]
    for values, layouts in sides:
        if not isinstance(layouts, ArrayAttr):
            return False
        for value, layout in zip(values, layouts.items, strict=True):
            rank = len(tensor_type(value.type, op.span).shape)
            if rank != max(ranks) or not isinstance(layout, DenseAttr):
                continue
            if tuple(literal(layout).reshape(-1).tolist()) != (rank - 2, rank - 1, *range(rank - 3, -1, -1)):
                return False
    return True


def _custom(rule: _Rule, letter: str = "", *, columns: bool = True) -> Callable[[Frame, ir.Op], Sequence[Bound]]:
    def apply(frame: Frame, op: ir.Op) -> Sequence[Bound]:
        target, call = string(op, "call_target_name"), _Call(frame, op)
        if letter and _LETTERS.get(call.dtype) != letter:
            raise VerifyError(f"expected elements of the type of @{target}, found {call.dtype.value}", op.span)
        if columns and not _column_major(op):
            raise UnsupportedOpError(f"@{target} is supported for layouts by columns only, as JAX states them", op.span)
        return call.finish(rule(call))

    return apply


_LAPACK: Mapping[str, _Rule] = {
    "potrf": _potrf, "trsm": _trsm, "getrf": _getrf, "geqrf": _geqrf, "geqp3": _geqp3, "orgqr": _orgqr,
    "ormqr": _ormqr, "gesdd": _singular("gesdd"), "gesvd": _singular("gesvd"), "syevd": _syevd, "sytrd": _sytrd,
    "geev": _geev, "gees": _gees, "gehrd": _gehrd, "gtsv": _gtsv,
}  # fmt: skip
_COMPLEX_NAMES = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}


def _lapack_name(letter: str, routine: str) -> str:
    name = _COMPLEX_NAMES.get(routine, routine) if letter in "cz" else routine
    return f"lapack_{letter}{name}_ffi"


CALLS: Mapping[str, Callable[[Frame, ir.Op], Sequence[Bound]]] = {
    **{_lapack_name(x, name): _custom(rule, x) for x in _LETTERS.values() for name, rule in _LAPACK.items()},
    **{
        f"cusolver_{name}_ffi": _custom(_LAPACK[name])
        for name in ("potrf", "getrf", "geqrf", "orgqr", "ormqr", "syevd", "sytrd")
    },
    "cusolver_gesvd_ffi": _custom(_singular("gesvd"), columns=False),
    "cusolver_gesdd_ffi": _custom(_singular("gesdd")),
    "cusolver_gesvdj_ffi": _custom(_jacobi),
    "cusolver_gesvdp_ffi": _custom(_jacobi),
    "cusparse_gtsv2_ffi": _custom(_gtsv2),
    "cu_lu_pivots_to_permutation": _custom(_pivots_to_permutation, columns=False),
}

RULES: Mapping[str, Rule] = {"stablehlo.cholesky": _cholesky, "stablehlo.triangular_solve": _triangular_solve}
