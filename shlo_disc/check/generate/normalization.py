"""Batch normalization in its three forms."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.ir.dtypes import DType

_DTYPES = (DType.F32, DType.F64, DType.F16, DType.BF16)
_EPSILON = "epsilon = 1.000000e-03 : f32"


def training(b: ProgramBuilder) -> bool:
    """A batch normalization for training, whose mean and variance may be used, sometimes with its gradient."""
    x = b.pick(_fits)
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    scale, offset = (_feature(b, x, axis, number) for number in ("1.500000e+00", "-2.500000e-01"))
    made, kind = b.fresh(), f"<{{{_EPSILON}, feature_index = {axis} : i64}}>"
    operands = [x, scale, offset]
    b.line(f'{made}:3 = "stablehlo.batch_norm_training"({_names(operands)}) {kind} : {_types(operands, operands)}')
    y, mean, variance = (ProgramValue(f"{made}#{k}", v.shape, v.dtype) for k, v in enumerate(operands))
    b.values += [y, mean, variance]
    if chance(b.choices, 2):
        gradient = b.fresh()
        given = [x, scale, mean, variance, y]
        b.line(f'{gradient}:3 = "stablehlo.batch_norm_grad"({_names(given)}) {kind} : {_types(given, operands)}')
        b.values += [ProgramValue(f"{gradient}#{k}", v.shape, v.dtype) for k, v in enumerate(operands)]
    return True


def inference(b: ProgramBuilder) -> bool:
    """A batch normalization by a given mean and variance."""
    x = b.pick(_fits)
    if x is None:
        return False
    axis = b.choices.below(len(x.shape))
    numbers = ("2.000000e+00", "5.000000e-01", pick(b.choices, ("0.000000e+00", "-1.250000e-01")), "3.000000e-01")
    operands = [x, *[_feature(b, x, axis, number) for number in numbers]]
    kind = f"<{{{_EPSILON}, feature_index = {axis} : i64}}>"
    text = f'"stablehlo.batch_norm_inference"({_names(operands)}) {kind} : '
    b.op(text + _types(operands, [x]), x.shape, x.dtype)
    return True


def _fits(v: ProgramValue) -> bool:
    return len(v.shape) >= 2 and v.dtype in _DTYPES


def _feature(b: ProgramBuilder, x: ProgramValue, axis: int, plain: str) -> ProgramValue:
    """One number for each feature: a value of that shape, or a constant."""
    shape = x.shape[axis : axis + 1]
    found = b.pick(lambda v: v.shape == shape and v.dtype is x.dtype)
    if found is None or chance(b.choices, 2):
        return b.splat(plain, x.dtype, shape)
    return b.quiet(f"stablehlo.logistic {found.name} : {found.type}", shape, x.dtype)


def _names(values: list[ProgramValue]) -> str:
    return ", ".join(value.name for value in values)


def _types(operands: list[ProgramValue], results: list[ProgramValue]) -> str:
    found = ", ".join(spell(value.shape, value.dtype) for value in results)
    return f"({', '.join(value.type for value in operands)}) -> {f'({found})' if len(results) > 1 else found}"


FAMILIES = (training, inference)
