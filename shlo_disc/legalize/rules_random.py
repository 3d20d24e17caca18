"""StableHLO to DHLO: random numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.dynamic_ops.random import RngAlgorithm, RngBitsAttrs, RngStateAttrs
from shlo_disc.expr.dim import ONE, ZERO, Dim, const, maximum, minimum, product
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import string
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.known_calls import takes
from shlo_disc.legalize.rng_state import FIRST_ITERATION, NEXT_ITERATION
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.legalize.rules_move import asked_shape, stated, static_shape
from shlo_disc.records import record

_MANTISSA_BITS: Mapping[DType, int] = {DType.F16: 10, DType.BF16: 7, DType.F32: 23, DType.F64: 52}


# The specification leaves DEFAULT open; it is PHILOX here, so its state has the sizes of PHILOX.
_STATE_WORDS = {RngAlgorithm.THREE_FRY: (2,), RngAlgorithm.PHILOX: (2, 3)}


def _rng_bit_generator(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`custom_call @stablehlo.dynamic_rng_bit_generator` has the shape as its second operand."""
    initial, *sizes = op.operands
    shape = asked_shape(frame, op, sizes[0], 1) if sizes else static_shape(op, 1)
    name = string(op, "rng_algorithm", "DEFAULT")
    names = ("DEFAULT", *RngAlgorithm.__members__)
    if name not in names:
        raise VerifyError(f"expected one of {', '.join(names)} as 'rng_algorithm', found {name}", op.span)
    algorithm = RngAlgorithm.PHILOX if name == "DEFAULT" else RngAlgorithm(name)
    compose, dtype = Composer(frame, op.span), result_dtype(op, 1)
    if dtype.bits not in (8, 16, 32, 64):
        raise UnsupportedOpError(f"{op.name} of elements of type {dtype.value} is not supported", op.span)
    start = frame.tensor(initial)
    if start.dtype is not DType.UI64:
        raise VerifyError(f"expected a state of type ui64, found {start.dtype.value}", op.span)
    words = start.shape[0].constant if len(start.shape) == 1 else None
    if words not in _STATE_WORDS[algorithm]:
        allowed = " or ".join(map(str, _STATE_WORDS[algorithm]))
        raise UnsupportedOpError(
            f"{op.name} takes a state of {allowed} numbers for {algorithm.value}, found {start!r}", op.span
        )
    bits, state = _drawn(compose, start, shape, dtype.bits, algorithm)
    return [state, compose.bitcast(bits, dtype)]


def _drawn(
    compose: Composer, state: Tensor, shape: Shape, width: int, algorithm: RngAlgorithm
) -> tuple[Tensor, Tensor]:
    """Random bits as unsigned integers, and the state after them."""
    build = compose.build
    split = ZERO
    match algorithm:
        case RngAlgorithm.THREE_FRY:
            split = build.facts.canonical(_split_dim(shape))
            blocks = product(shape) if width == 64 else _pairs(shape, split)
        case RngAlgorithm.PHILOX:
            blocks = (product(shape) * max(1, width // 32) + 3) // 4
    attrs = RngBitsAttrs(algorithm, split)
    bits = build.one("d_rng_bits", (state,), attrs, shape, DType(f"ui{width}"), compose.span)
    after = RngStateAttrs(build.facts.canonical(blocks))
    return bits, build.one("d_rng_state", (state,), after, state.shape, state.dtype, compose.span)


def _truth(at_least_one: Dim) -> Dim:
    """1 where a dim is positive, else 0."""
    return maximum(0, minimum(1, at_least_one))


def _split_dim(shape: Shape) -> Dim:
    """The dim that XLA's Threefry halves: the first of even size, else the first of the largest size."""
    largest = maximum(ZERO, *shape)
    found = ZERO
    for k in range(len(shape) - 1, -1, -1):
        is_largest = _truth(shape[k] - largest + 1)
        found = is_largest * k + (1 - is_largest) * found
    for k in range(len(shape) - 1, -1, -1):
        odd = shape[k] % 2
        found = (1 - odd) * k + odd * found
    return found


def _pairs(shape: Shape, split: Dim) -> Dim:
    """The number of blocks of two words."""
    if not shape:
        return ONE
    found = ZERO
    for k, size in enumerate(shape):
        chosen = _truth(split - k + 1) * _truth(k + 1 - split)
        found = found + chosen * product((*shape[:k], (size + 1) // 2, *shape[k + 1 :]))
    return found


# rng: a distribution, from a hidden state


def _rng(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Numbers that differ between ops and between iterations of a loop, but not between calls."""
    shape = asked_shape(frame, op, op.operands[2])
    a, b, *counts = frame.tensors((*op.operands[:2], *op.operands[3:]))
    compose = _Draws(frame, op.span, tuple(counts))
    match string(op, "rng_distribution"), a.dtype:
        case "NORMAL", dtype:
            wide = DType.F64 if dtype is DType.F64 else DType.F32
            drawn = _normal(compose, shape, wide)
            found = _scaled(compose, drawn, compose.convert(a, wide), compose.convert(b, wide))
        case _, dtype if dtype.is_float:
            wide = DType.F64 if dtype is DType.F64 else DType.F32
            low, high = compose.convert(a, wide), compose.convert(b, wide)
            drawn = _uniform(compose, shape, wide, _MANTISSA_BITS.get(dtype, 3))
            found = _scaled(compose, drawn, low, compose.subtract(high, low))
        case _, dtype:
            found = _whole_numbers(compose, shape, a, b)
    return [compose.convert(found, dtype)]


@record
class _Draws(Composer):
    """A composer for one `rng`; `counts`: the count of iterations, if an `rng` of the program is in a loop."""

    counts: tuple[Tensor, ...]

    def bits(self, shape: Shape, width: int) -> Tensor:
        """Random bits of this draw of the program, whose number is the key, and of this iteration."""
        self.build.draws += 1
        words = (const(3 if self.counts else 2),)
        state = self.full(self.build.draws, words, DType.UI64)
        for count in self.counts:
            is_last = self.compare(Direction.EQ, self.iota(0, words, DType.UI64), 2)
            state = self.select(is_last, self.broadcast(count, (), words), state)
        return _drawn(self, state, shape, width, RngAlgorithm.PHILOX)[0]


def _uniform(compose: _Draws, shape: Shape, dtype: DType, mantissa: int) -> Tensor:
    """Floats in [0, 1) with `mantissa` random bits."""
    bits = compose.bits(shape, dtype.bits)
    kept = compose.binary(BinaryFn.SHIFT_RIGHT_LOGICAL, bits, dtype.bits - mantissa)
    return compose.multiply(compose.convert(kept, dtype), math.ldexp(1.0, -mantissa))


def _normal(compose: _Draws, shape: Shape, dtype: DType) -> Tensor:
    """Normal deviates by Box and Muller, "A note on the generation of random normal deviates" (1958)."""
    mantissa = _MANTISSA_BITS[dtype]
    radius, angle = (_uniform(compose, shape, dtype, mantissa) for _ in range(2))
    above_zero = compose.add(radius, math.ldexp(1.0, -mantissa))
    length = compose.unary(UnaryFn.SQRT, compose.multiply(compose.unary(UnaryFn.LOG, above_zero), -2.0))
    return compose.multiply(length, compose.unary(UnaryFn.COSINE, compose.multiply(angle, 2 * math.pi)))


def _scaled(compose: Composer, x: Tensor, offset: Tensor, scale: Tensor) -> Tensor:
    a, b = (compose.broadcast(one, (), x.shape) for one in (offset, scale))
    return compose.add(compose.multiply(x, b), a)


def _whole_numbers(compose: _Draws, shape: Shape, a: Tensor, b: Tensor) -> Tensor:
    """Integers in [a, b): random bits modulo b - a, as in XLA."""
    width = 64 if a.dtype.bits == 64 else 32
    signed, unsigned = DType(f"i{width}"), DType(f"ui{width}")
    low, high = (compose.bitcast(compose.convert(x, signed), unsigned) for x in (a, b))
    count = compose.broadcast(compose.subtract(high, low), (), shape)
    offset = compose.binary(BinaryFn.REMAINDER, compose.bits(shape, width), count)
    return compose.bitcast(compose.add(offset, compose.broadcast(low, (), shape)), signed)


def _threefry(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Threefry-2x32 of words of keys and of blocks, as JAX calls it on GPUs. Further operands state shapes."""
    words = frame.tensors(op.operands[:4])
    for x in words:
        if x.dtype is not DType.UI32:
            raise VerifyError(f"expected words of threefry of type ui32, found {x.dtype.value}", op.span)
        frame.build.same_shape((words[0].shape, x.shape), "the words of threefry have one shape", op.span)
    shape = stated(frame, op, words[0].shape)
    return frame.build.emit("d_threefry", words, NoAttrs(), [(shape, DType.UI32)] * 2, op.span)


def _first_iteration(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return [Composer(frame, op.span).full(0, (), DType.UI64)]


def _next_iteration(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    return [Composer(frame, op.span).add(frame.tensor(op.operands[0]), 1)]


CUSTOM: Mapping[str, Rule] = {
    "stablehlo.dynamic_rng_bit_generator": takes(_rng_bit_generator, (2,), 2, 1, 1, whole=(1,)),
    "cu_threefry2x32_ffi": takes(_threefry, range(4, 9), 2),
}

RULES: Mapping[str, Rule] = {
    "stablehlo.rng": _rng,
    FIRST_ITERATION: _first_iteration,
    NEXT_ITERATION: _next_iteration,
    "stablehlo.rng_bit_generator": _rng_bit_generator,
}
