"""StableHLO to DHLO: batch normalization, as the reductions and maps that the specification defines it by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import product
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import FloatAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import integer
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.records import record


@record
class _Normalization:
    """What the three forms share. Narrow floats are computed in f32: sums of many f16 overflow."""

    compose: Composer
    x: Tensor
    rest: tuple[Tensor, ...]  # the other operands
    feature: int
    epsilon: float

    def along(self, numbers: Tensor) -> Tensor:
        """Broadcast one number per feature to the operand's shape."""
        return self.compose.broadcast(numbers, (self.feature,), self.x.shape)

    def sum(self, x: Tensor) -> Tensor:
        """Sum over each feature."""
        return self.compose.sum(x, [k for k in range(len(x.shape)) if k != self.feature])

    def count(self) -> Tensor:
        """The number of elements of a feature, as a vector over features."""
        others = product(size for k, size in enumerate(self.x.shape) if k != self.feature)
        return self.compose.broadcast(self.compose.size(others, self.x.dtype), (), (self.x.shape[self.feature],))

    def mean(self, x: Tensor) -> Tensor:
        """Average each feature."""
        return self.compose.divide(self.sum(x), self.count())

    def applied(self, centered: Tensor, scale: Tensor, offset: Tensor, variance: Tensor) -> Tensor:
        """Apply the scale and the offset of each feature to centered numbers."""
        compose = self.compose
        factor = compose.multiply(scale, self.inverse_deviation(variance))
        return compose.add(compose.multiply(centered, self.along(factor)), self.along(offset))

    def inverse_deviation(self, variance: Tensor) -> Tensor:
        """1 / sqrt(variance + epsilon)."""
        return self.compose.unary(UnaryFn.RSQRT, self.compose.add(variance, self.epsilon))


def _read(frame: Frame, op: ir.Op) -> _Normalization:
    epsilon, tensors = op.attributes.get("epsilon"), frame.tensors(op.operands)
    if not isinstance(epsilon, FloatAttr):
        raise VerifyError(f"expected a number 'epsilon' of {op.name}, found {epsilon}", op.span)
    feature, build = integer(op, "feature_index"), frame.build
    features = tensors[0].shape[feature]
    for x in tensors[1:]:
        if len(x.shape) == 1:
            build.demand_equal(x.shape[0], features, f"{op.name} has one number for each feature", op.span)
        else:
            build.same_shape([tensors[0].shape, x.shape], f"the tensors of {op.name} need equal shapes", op.span)
    compose = Composer(frame, op.span)
    x, *rest = (compose.convert(one, DType.F32 if one.dtype.bits < 32 else one.dtype) for one in tensors)
    return _Normalization(compose, x, tuple(rest), feature, float(np.float32(epsilon.value)))


def _results(op: ir.Op, compose: Composer, found: Sequence[Tensor]) -> list[Bound]:
    return [compose.convert(x, result_dtype(op, k)) for k, x in enumerate(found)]


def _training(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    norm = _read(frame, op)
    compose, (scale, offset) = norm.compose, norm.rest
    mean = norm.mean(norm.x)
    centered = compose.subtract(norm.x, norm.along(mean))
    variance = norm.mean(compose.multiply(centered, centered))
    return _results(op, compose, (norm.applied(centered, scale, offset, variance), mean, variance))


def _inference(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    norm = _read(frame, op)
    scale, offset, mean, variance = norm.rest
    centered = norm.compose.subtract(norm.x, norm.along(mean))
    return _results(op, norm.compose, (norm.applied(centered, scale, offset, variance),))


def _grad(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """With m elements of each feature: scale / (m * deviation) * (m * grad - sum(grad) - sum(grad * c) * c / variance).

    c is the operand, centered.
    """
    norm = _read(frame, op)
    compose, (scale, mean, variance, grad) = norm.compose, norm.rest
    centered = compose.subtract(norm.x, norm.along(mean))
    inverse, count = norm.inverse_deviation(variance), norm.count()
    total, slope = norm.sum(grad), norm.sum(compose.multiply(grad, centered))
    per_variance = compose.divide(slope, compose.add(variance, norm.epsilon))
    moved = compose.add(norm.along(total), compose.multiply(centered, norm.along(per_variance)))
    difference = compose.subtract(compose.multiply(grad, norm.along(count)), moved)
    factor = compose.divide(compose.multiply(scale, inverse), count)
    grad_operand = compose.multiply(difference, norm.along(factor))
    return _results(op, compose, (grad_operand, compose.multiply(slope, inverse), total))


RULES: Mapping[str, Rule] = {
    "stablehlo.batch_norm_training": _training,
    "stablehlo.batch_norm_inference": _inference,
    "stablehlo.batch_norm_grad": _grad,
}
