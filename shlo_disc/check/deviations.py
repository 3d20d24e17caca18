"""Known deviations of XLA from the specification: calls on which its results are not compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops import contract, grouped, order, reduce, slices
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.dynamic_ops.reference import by_definition, interpret
from shlo_disc.ir.core import Module

Array = NDArray[Any]
_EXTREMES = frozenset({"maximum", "minimum"})
_REDUCTIONS = frozenset({reduce.REDUCE.name, reduce.REDUCE_WINDOW.name})
_FOLDS = _REDUCTIONS | {order.SCATTER.name, order.SELECT_AND_SCATTER.name}
_PRODUCTS = frozenset({contract.CONVOLUTION.name, contract.DOT.name})
_MANY = 8  # terms of a sum in narrow floats, whose last ones may be lost
_ZETA = frozenset({"polygamma", "zeta"})


def xla_deviation(module: Module, program: Program, inputs: Sequence[Array]) -> str:
    """Say why XLA's CPU backend may break the specification for these inputs; empty if no reason is known.

    jaxlib 0.10 drops NaN where it vectorizes a reduction by maximum or minimum, of rows of at least 16 floats. It
    updates slices in place even where the update is computed from what is overwritten, and flushes subnormal numbers to
    0. It rounds sums of floats of at most 16 bits at every term. It computes the variance of `batch_norm_training` as a
    difference of two large numbers. It gives NaN for `zeta` and `polygamma` of an infinity, and of exponents so large
    that a product of a dozen numbers (two dozen in f64) beyond them overflows. It counts leading zeros of negative or
    i64 constants as in 32 bits. It multiplies products of complex matrices by 1 + 0i in the end, which makes NaN of
    infinity. It multiplies what is not of a group by 0, which makes NaN of infinities and NaN of other groups.
    """
    found = dict[str, None]()
    if any(op.name == "stablehlo.batch_norm_training" for op in module.walk()):
        found["xla cancels in the variance of batch_norm_training: its results are not compared there"] = None
    if _updates_itself(program):
        found["xla updates slices in place where the update reads them: its results are not compared there"] = None

    def evaluate(op: Op[object], operands: Arrays, run: RunBody) -> Arrays:
        folds = any(inner.name in _EXTREMES for body in op.bodies for inner in body.walk())
        if folds and op.name in _REDUCTIONS and any(_has_nan(x) for x in operands):
            found["xla drops NaN in reductions by maximum and minimum: its results are not compared there"] = None
        if op.name in _ZETA and (_has_large(operands[0]) or any(np.isinf(x).any() for x in operands)):
            found["xla gives NaN for zeta and polygamma of infinities and large exponents: not compared there"] = None
        if op.name == "count_leading_zeros" and (operands[0].dtype.itemsize == 8 or _has_negative(operands[0])):
            found["xla counts leading zeros of some constants wrongly: its results are not compared there"] = None
        results = by_definition(op, operands, run)
        if op.name in _FOLDS and results[0].dtype.itemsize <= 2 and operands[0].size >= _MANY * results[0].size:
            found["xla sums narrow floats one by one in their own type: its results are not compared there"] = None
        if op.name in _PRODUCTS and results[0].dtype.kind == "c" and any(_has_infinity(x) for x in results):
            found["xla makes NaN of infinite products of complex matrices: its results are not compared there"] = None
        if op.name == grouped.GROUPED_DOT.name and not all(np.isfinite(x).all() for x in operands[:2]):
            found["xla multiplies infinities of other groups by 0: its results are not compared there"] = None
        if any(_has_subnormals(x) for x in (*operands, *results)):
            found["xla flushes subnormal numbers to 0: its results are not compared there"] = None
        return results

    interpret(program, inputs, evaluate=evaluate)
    return "; ".join(found)


def _updates_itself(program: Program) -> bool:
    """Whether the update of a dynamic_update_slice is computed from the tensor that it overwrites."""
    from_tensors = dict[Tensor, set[Tensor]]()
    for op in program.body.walk():
        taken = {*op.operands, *(x for body in op.bodies for inner in body.walk() for x in inner.operands)}
        sources = taken.union(*[from_tensors.get(x, set()) for x in taken])
        from_tensors.update((result, sources) for result in op.results)
        if slices.DYNAMIC_UPDATE_SLICE.defines(op):
            whole, update = op.operands[:2]
            if whole is update or whole in from_tensors.get(update, set()):
                return True
    return False


def _has_subnormals(x: Array) -> bool:
    if x.dtype.kind not in "fc" or x.dtype.name == "float8_e5m2":
        return False
    size = np.abs(x)
    return bool(((size > 0) & (size < np.finfo(x.dtype).smallest_normal)).any())


def _has_infinity(x: Array) -> bool:
    return bool((np.isinf(np.real(x)) | np.isinf(np.imag(x))).any())


def _has_large(exponents: Array) -> bool:
    return bool((np.abs(exponents) > (1e10 if exponents.dtype == np.float64 else 1e3)).any())


def _has_negative(x: Array) -> bool:
    return bool((x < 0).any())


def _has_nan(x: Array) -> bool:
    return x.dtype.kind in "fVc" and bool(np.isnan(x.astype(np.complex128)).any())
