"""Ops that LAPACK computes, on batches of matrices in the last two dims. Named after its routines for real numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.opdef import Arrays, NoAttrs, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.linear_algebra import Routine
from shlo_disc.records import record


@record
class LapackAttrs:
    """The routine's one-letter arguments in LAPACK's order: `LUNN` are side, uplo, trans and diag of trsm."""

    options: str = ""


@record
class HessenbergAttrs:
    """The rows and columns from `low` to `high`, counted from 1, are reduced; the others are triangular already."""

    low: int
    high: int


def routine(op: Op[Any]) -> Routine:
    """The routine that computes an op, with its non-array arguments."""
    name = op.name.removeprefix("d_")
    match op.attrs:
        case LapackAttrs(options):
            return Routine(name, options)
        case HessenbergAttrs(low, high):
            return Routine(name, numbers=(low, high))
        case _:
            return Routine(name)


def _reference(op: Op[Any], inputs: Arrays) -> Arrays:
    results = tuple(np.zeros(concrete_shape(x.shape), numpy_dtype(x.dtype)) for x in op.results)
    routine(op).run(inputs, results)
    return results


def _library(name: str, attrs: type[Any] = LapackAttrs, traits: frozenset[Trait] = frozenset()) -> OpDef[Any]:
    return OpDef(
        name=name, attrs=attrs, template=Template.LIBRARY, element=None, reference=plain(_reference), traits=traits
    )


# Operands and results are those of jaxlib's custom calls of the same names, without the results that a routine leaves
# undefined.
POTRF = _library("d_potrf")  # a -> factor, info; uplo; the other triangle is that of a
CHOLESKY = _library("d_cholesky")  # a -> factor; uplo; zeros in the other triangle, NaN if there is no factor
TRSM = _library("d_trsm")  # a, b -> x; side, uplo, trans, diag
GETRF = _library("d_getrf")  # a -> l and u, pivots (from 1), info
GEQRF = _library("d_geqrf")  # a -> reflectors and r, tau
GEQP3 = _library("d_geqp3")  # a, jpvt -> reflectors and r, jpvt, tau
ORGQR = _library("d_orgqr")  # reflectors, tau -> q
ORMQR = _library("d_ormqr")  # reflectors, tau, c -> product; side, trans
GESDD = _library("d_gesdd")  # a -> s, u, v^H, info, or s, info; job
GESVD = _library("d_gesvd")  # the same, by QR iterations
SYEVD = _library("d_syevd")  # a -> vectors, values, info, or values, info; job, uplo
SYTRD = _library("d_sytrd")  # a -> reflectors, diagonal, off-diagonal, tau, info; uplo
GEEV = _library("d_geev")  # a -> values (or re, im), requested left and right vectors, info; jobvl, jobvr
GEES = _library("d_gees")  # a -> t, requested vectors, values (or re, im), count, info; job
GEHRD = _library("d_gehrd", attrs=HessenbergAttrs)  # a -> reflectors and h, tau, info
GTSV = _library("d_gtsv")  # dl, d, du, b -> factors (3), x, info
GTSV_PERTURBED = _library("d_gtsv_perturbed")  # dl, d, du, b -> x, finite where the matrix is singular
CHOLESKY_UPDATE = _library("d_cholesky_update")  # upper factor, vector -> factor of the sum, overwritten vector
SPARSE_SOLVE = _library("d_sparse_solve")  # elements, columns, starts of rows, b -> x
PIVOTS_TO_PERMUTATION = _library(
    "d_pivots_to_permutation", attrs=NoAttrs, traits=frozenset({Trait.EXACT})
)  # interchanges (from 0) -> rows
OPS = (
    POTRF, CHOLESKY, TRSM, GETRF, GEQRF, GEQP3, ORGQR, ORMQR, GESDD, GESVD,
    SYEVD, SYTRD, GEEV, GEES, GEHRD, GTSV, GTSV_PERTURBED, CHOLESKY_UPDATE, SPARSE_SOLVE, PIVOTS_TO_PERMUTATION,
)  # fmt: skip
