"""Convolutions of types that a target has no kernel for are those of types that it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from shlo_disc.dynamic_ops.contract import ConvAttrs, accumulator
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.expr.dim import const
from shlo_disc.expr.dtypes import DType
from shlo_disc.passes.rewriting import Changed, Producers, rewrite

HasKernel: TypeAlias = Callable[[Op[Any]], bool]


def convert_convolutions(program: Program, has_kernel: HasKernel) -> Program:
    """Say what a convolution without a kernel computes by convolutions that have one, if there are such.

    Its operands are converted to the type of its sums, unless a kernel reads them as they are, and sums to the type of
    its result. Narrow floats add up in f32 and integers modulo 2^32 or 2^64, so no bit is another. Real and imaginary
    parts are convolved alone.
    """

    def change(op: Op[Any], _producers: Producers) -> Changed:
        if not isinstance(op.attrs, ConvAttrs) or has_kernel(op):
            return op
        for made in _ways(op):
            if all(map(has_kernel, [one for one in made if isinstance(one.attrs, ConvAttrs)])):
                return made
        return op

    return rewrite(program, change)


def _ways(op: Op[ConvAttrs]) -> Iterator[list[Op[Any]]]:
    """What says the same, what is better first."""
    dtype = op.results[0].dtype
    if dtype.is_complex:
        yield _of_parts(op)
        return
    if dtype.is_integer and all(x.dtype.is_integer for x in op.operands):
        yield _of_sums(op, as_they_are=True)  # what wraps is the same modulo less
    yield _of_sums(op)


def _of_sums(op: Op[ConvAttrs], *, as_they_are: bool = False) -> list[Op[Any]]:
    """Operands, converted or as they are, their convolution, and its sums converted."""
    (result,) = op.results
    exact = accumulator(result.dtype)
    sums, make = _sums(exact), _Maker(op)
    data, weights = op.operands
    if not as_they_are:
        data, weights = (make.converted(make.converted(x, exact), sums) for x in op.operands)
    make.converted(make.convolution(data, weights, sums), result.dtype)
    return make.finish()


def _of_parts(op: Op[ConvAttrs]) -> list[Op[Any]]:
    """Four convolutions of real and imaginary parts, whose difference and sum are the parts of the result."""
    (result,) = op.results
    part, make = result.dtype.part, _Maker(op)
    data, weights = (make.converted(x, result.dtype) for x in op.operands)
    re, im = (make.one(name, (data,), data, part) for name in ("real", "imag"))
    weights_re, weights_im = (make.one(name, (weights,), weights, part) for name in ("real", "imag"))
    products = make.convolution(re, weights_re, part), make.convolution(im, weights_im, part)
    real = make.one("subtract", products, result, part)
    products = make.convolution(im, weights_re, part), make.convolution(re, weights_im, part)
    imaginary = make.one("add", products, result, part)
    make.one("complex", (real, imaginary), result, result.dtype)
    return make.finish()


def _sums(dtype: DType) -> DType:
    """The type in which such numbers are added up; the signs of integers that wrap do not matter."""
    if dtype.is_bool or dtype.is_integer:
        return DType.I64 if dtype.bits > DType.I32.bits else DType.I32
    return dtype


@dataclass(frozen=True, slots=True)
class _Maker:
    """Makes ops in place of a convolution."""

    op: Op[ConvAttrs]
    ops: list[Op[Any]] = field(default_factory=list[Op[Any]])

    def one(self, name: str, operands: tuple[Tensor, ...], like: Tensor, dtype: DType) -> Tensor:
        """The result of an elementwise op, in the shape of `like`."""
        found = self._tensor(like, dtype)
        self.ops.append(Op(name, operands, NoAttrs(), (found,), (), self.op.span))
        return found

    def converted(self, tensor: Tensor, dtype: DType) -> Tensor:
        """The tensor in this type; integers all of whose values it has keep the bounds of theirs."""
        if tensor.dtype is dtype:
            return tensor
        found = self.one("convert", (tensor,), tensor, dtype)
        if not (tensor.dtype.is_integer and dtype.is_integer):
            return found
        (low, high), (least, greatest) = tensor.dtype.integer_bounds, dtype.integer_bounds
        if low < least or high > greatest:
            return found
        bounded = replace(found, bounds=(const(low), const(high)))
        self.ops[-1] = replace(self.ops[-1], results=(bounded,))
        return bounded

    def convolution(self, data: Tensor, weights: Tensor, dtype: DType) -> Tensor:
        """The same convolution of other operands."""
        found = self._tensor(self.op.results[0], dtype)
        self.ops.append(replace(self.op, operands=(data, weights), results=(found,)))
        return found

    def finish(self) -> list[Op[Any]]:
        """All ops, the last one of which has the convolution's result."""
        return [*self.ops[:-1], replace(self.ops[-1], results=self.op.results)]

    def _tensor(self, like: Tensor, dtype: DType) -> Tensor:
        name = f"{self.op.results[0].name}_{len(self.ops)}"
        return Tensor(name, like.shape, dtype, self.op.span)
