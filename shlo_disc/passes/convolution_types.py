"""Legalizes the types of convolutions: those without a kernel become convolutions of types that have one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from shlo_disc.analysis.access import is_free
from shlo_disc.dynamic_ops.contract import ConvAttrs, accumulator
from shlo_disc.dynamic_ops.elementwise import CONVERT
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.expr.dim import const
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.passes.dce import eliminate_dead_ops
from shlo_disc.passes.rewriting import Changed, Producers, rewrite
from shlo_disc.records import record

HasKernel: TypeAlias = Callable[[Op[Any]], bool]


def convert_convolutions(program: Program, has_kernel: HasKernel) -> Program:
    """Replace convolutions whose types have no kernel by convolutions that have one, where possible.

    Operands are converted to the accumulator type, unless a kernel reads them as they are, and sums to the result type.
    Narrow floats accumulate in f32 and integers modulo 2^32 or 2^64, so no bit changes. Real and imaginary parts are
    convolved separately. Weights that are arguments or constants stay as they are if a kernel converts them while it
    packs them, even where the program converts them: they are packed once for many calls.
    """

    def change(op: Op[Any], producers: Producers) -> Changed:
        if not isinstance(op.attrs, ConvAttrs):
            return op
        if has_kernel(op):
            narrow = _with_narrow_weights(op, producers)
            return narrow if narrow is not None and has_kernel(narrow) else op
        for made in _ways(op, producers):
            if all(map(has_kernel, [one for one in made if isinstance(one.attrs, ConvAttrs)])):
                return made
        return op

    changed = rewrite(program, change)
    return program if changed.body is program.body else eliminate_dead_ops(changed)


def _with_narrow_weights(op: Op[ConvAttrs], producers: Producers) -> Op[ConvAttrs] | None:
    """The convolution with the narrower floats that the program converts to its weights, if nothing computes these."""
    data, weights = op.operands
    made = producers.get(weights)
    if made is None or not CONVERT.defines(made) or not _is_wider(weights.dtype, made.operands[0].dtype):
        return None
    return replace(op, operands=(data, made.operands[0])) if _is_given(made.operands[0], producers) else None


def _is_wider(dtype: DType, than: DType) -> bool:
    """Whether a float has more bits than another."""
    return dtype.is_float and than.is_float and dtype.bits > than.bits


def _is_given(tensor: Tensor, producers: Producers) -> bool:
    """Whether nothing computes a tensor: it is an argument or a constant, or a view of one."""
    while (made := producers.get(tensor)) is not None and is_free(made) and made.operands:
        tensor = made.operands[0]
    return made is None or is_free(made)


def _ways(op: Op[ConvAttrs], producers: Producers) -> Iterator[list[Op[Any]]]:
    """Equivalent op sequences, better ones first."""
    dtype = op.results[0].dtype
    if dtype.is_complex:
        yield _of_parts(op)
        return
    if dtype.is_integer and all(x.dtype.is_integer for x in op.operands):
        yield _of_sums(op, as_they_are=op.operands)  # wrapping to fewer bits later gives the same result
    weights = op.operands[1]
    if _is_wider(accumulator(dtype), weights.dtype) and _is_given(weights, producers):
        yield _of_sums(op, as_they_are=(weights,))
    yield _of_sums(op)


def _of_sums(op: Op[ConvAttrs], as_they_are: Sequence[Tensor] = ()) -> list[Op[Any]]:
    """Convert the operands, except those `as_they_are`, convolve them, and convert the sums."""
    (result,) = op.results
    exact = accumulator(result.dtype)
    sums, make = _sums(exact), _Maker(op)
    data, weights = (x if x in as_they_are else make.converted(make.converted(x, exact), sums) for x in op.operands)
    make.converted(make.convolution(data, weights, sums), result.dtype)
    return make.finish()


def _of_parts(op: Op[ConvAttrs]) -> list[Op[Any]]:
    """Four convolutions of real and imaginary parts, whose difference and sum are the parts of the result."""
    (result,) = op.results
    part, make = result.dtype.part, _Maker(op)
    parts = (UnaryFn.REAL.value.name, UnaryFn.IMAG.value.name)
    data, weights = (make.converted(x, result.dtype) for x in op.operands)
    re, im = (make.one(name, (data,), data, part) for name in parts)
    weights_re, weights_im = (make.one(name, (weights,), weights, part) for name in parts)
    products = make.convolution(re, weights_re, part), make.convolution(im, weights_im, part)
    real = make.one(BinaryFn.SUBTRACT.value.name, products, result, part)
    products = make.convolution(im, weights_re, part), make.convolution(re, weights_im, part)
    imaginary = make.one(BinaryFn.ADD.value.name, products, result, part)
    make.one(BinaryFn.COMPLEX.value.name, (real, imaginary), result, result.dtype)
    return make.finish()


def _sums(dtype: DType) -> DType:
    """The type in which such numbers are added up; signedness does not matter for integers that wrap."""
    if dtype.is_bool or dtype.is_integer:
        return DType.I64 if dtype.bits > DType.I32.bits else DType.I32
    return dtype


@record
class _Maker:
    """Builds the ops that replace a convolution."""

    op: Op[ConvAttrs]
    ops: list[Op[Any]] = field(default_factory=list[Op[Any]])

    def one(self, name: str, operands: tuple[Tensor, ...], like: Tensor, dtype: DType) -> Tensor:
        """The result of an elementwise op, in the shape of `like`."""
        found = self._tensor(like, dtype)
        self.ops.append(Op(name, operands, NoAttrs(), (found,), (), self.op.span))
        return found

    def converted(self, tensor: Tensor, dtype: DType) -> Tensor:
        """The tensor converted to this type; integers that it holds without loss are bounded by their old type."""
        if tensor.dtype is dtype:
            return tensor
        found = self.one(CONVERT.name, (tensor,), tensor, dtype)
        if not (tensor.dtype.is_integer and dtype.is_integer):
            return found
        (low, high), (least, greatest) = tensor.dtype.integer_bounds, dtype.integer_bounds
        if low < least or high > greatest:
            return found
        bounded = replace(found, bounds=(const(low), const(high)))
        self.ops[-1] = replace(self.ops[-1], results=(bounded,))
        return bounded

    def convolution(self, data: Tensor, weights: Tensor, dtype: DType) -> Tensor:
        """The same convolution on other operands."""
        found = self._tensor(self.op.results[0], dtype)
        self.ops.append(replace(self.op, operands=(data, weights), results=(found,)))
        return found

    def finish(self) -> list[Op[Any]]:
        """All ops; the last one has the convolution's result."""
        return [*self.ops[:-1], replace(self.ops[-1], results=self.op.results)]

    def _tensor(self, like: Tensor, dtype: DType) -> Tensor:
        name = f"{self.op.results[0].name}_{len(self.ops)}"
        return Tensor(name, like.shape, dtype, self.op.span)
