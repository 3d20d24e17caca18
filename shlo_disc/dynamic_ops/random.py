"""Counter-based random bits: every element is a function of a key and of its own number.

Threefry-2x32 (20 rounds) and Philox-4x32 (10 rounds) of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as
easy as 1, 2, 3" (SC 2011). StableHLO leaves open which words of which block an element is; here it is as in XLA.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.create import concrete_shape
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.opdef import Arrays, ElementQuery, NoAttrs, OpDef, Template, Trait, plain
from shlo_disc.dynamic_ops.program import Op
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.expr.scalar import Binary, Compare, Const, Convert, FromDim, Index, InRange, Scalar, Select
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.records import record

U32, U64 = DType.UI32, DType.UI64


class RngAlgorithm(Enum):
    """`rng_algorithm` of StableHLO; DEFAULT is PHILOX, as on XLA's CPU."""

    THREE_FRY = "THREE_FRY"
    PHILOX = "PHILOX"


@record
class RngBitsAttrs:
    """Operand: the state (a key, then a counter); the result is unsigned.

    `split`: if Threefry makes elements of at most 32 bits, two neighbours along this dim share a block.
    """

    algorithm: RngAlgorithm
    split: Dim


@record
class RngStateAttrs:
    """The increment of a state's counter (all of its words but the first): the number of blocks that were used."""

    blocks: Dim


# formulas

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def _number(value: int, dtype: DType) -> Scalar:
    return Const(value, dtype)


def _on(fn: BinaryFn, a: Scalar, b: Scalar) -> Scalar:
    return Binary(fn, a, b, a.dtype)


def _plus(a: Scalar, b: Scalar) -> Scalar:
    return _on(BinaryFn.ADD, a, b)


def _xor(a: Scalar, b: Scalar) -> Scalar:
    return _on(BinaryFn.XOR, a, b)


def _right(a: Scalar, by: int) -> Scalar:
    return _on(BinaryFn.SHIFT_RIGHT_LOGICAL, a, _number(by, a.dtype))


def _rotated(a: Scalar, by: int) -> Scalar:
    left = _on(BinaryFn.SHIFT_LEFT, a, _number(by, a.dtype))
    return _on(BinaryFn.OR, left, _right(a, a.dtype.bits - by))


def _halves(x: Scalar) -> tuple[Scalar, Scalar]:
    """The low and the high word of 64 bits."""
    return Convert(x, U32), Convert(_right(x, 32), U32)


def _joined(low: Scalar, high: Scalar) -> Scalar:
    return _on(BinaryFn.OR, Convert(low, U64), _on(BinaryFn.SHIFT_LEFT, Convert(high, U64), _number(32, U64)))


def _threefry(key: tuple[Scalar, Scalar], block: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
    """One block of two words: five times four rounds, each four followed by a key injection."""
    keys = (*key, _xor(_xor(_number(_PARITY, U32), key[0]), key[1]))
    a, b = _plus(block[0], keys[0]), _plus(block[1], keys[1])
    for step in range(1, 6):
        for rotation in _ROTATIONS[(step - 1) % 2]:
            a = _plus(a, b)
            b = _xor(a, _rotated(b, rotation))
        a = _plus(a, keys[step % 3])
        b = _plus(_plus(b, keys[(step + 1) % 3]), _number(step, U32))
    return a, b


def _philox(key: tuple[Scalar, Scalar], block: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """One block of four words: ten rounds."""
    a, b, c, d = block
    for step in range(10):
        k, m = (_plus(one, _number(step * w % 2**32, U32)) for one, w in zip(key, _WEYL, strict=True))
        first, second = (
            _halves(_on(BinaryFn.MULTIPLY, Convert(x, U64), _number(by, U64)))
            for x, by in zip((a, c), _MULTIPLIERS, strict=True)
        )
        a, b, c, d = _xor(_xor(second[1], b), k), second[0], _xor(_xor(first[1], d), m), first[0]
    return a, b, c, d


def _is_odd(x: Scalar) -> Scalar:
    return Compare(Direction.NE, _on(BinaryFn.AND, x, _number(1, x.dtype)), _number(0, x.dtype))


def _chosen(words: Sequence[Scalar], number: Scalar) -> Scalar:
    """Select the word `number` modulo the number of words, a power of 2."""
    if len(words) == 1:
        return words[0]
    even, odd = (_chosen(words[k::2], _right(number, 1)) for k in range(2))
    return Select(_is_odd(number), odd, even)


def _paired(index: Index, shape: tuple[Dim, ...], dim: int) -> tuple[Scalar, Scalar]:
    """The block of an element if neighbours along `dim` share one, and the element's place along `dim`.

    The place is halved as a value, not as an index: a vector's lanes may run along any dim.
    """
    inner = product(shape[dim + 1 :])
    pairs = (shape[dim] + 1) // 2
    rest = linear(index[:dim], shape[:dim]) * pairs * inner + linear(index[dim + 1 :], shape[dim + 1 :])
    place = FromDim(index[dim], U64)
    return _plus(_on(BinaryFn.MULTIPLY, _right(place, 1), FromDim(inner, U64)), FromDim(rest, U64)), place


def _threefry_bits(op: Op[RngBitsAttrs], ask: ElementQuery, index: Index) -> Scalar:
    (state,), (result,) = op.operands, op.results
    key, counter = (ask.at(state, (const(k),)) for k in range(2))
    shape, split = result.shape, op.attrs.split
    if result.dtype is U64:
        block: Scalar = FromDim(linear(index, shape), U64)
        return _joined(*_threefry(_halves(key), _halves(_plus(counter, block))))
    if not shape:
        return Convert(_threefry(_halves(key), _halves(counter))[0], result.dtype)
    dims = range(len(shape)) if split.constant is None else (split.constant,)
    block, place = _paired(index, shape, dims[-1])
    for dim in reversed(dims[:-1]):
        here, chosen = _paired(index, shape, dim), InRange(split, const(dim), const(dim + 1))
        block, place = Select(chosen, here[0], block), Select(chosen, here[1], place)
    words = _threefry(_halves(key), _halves(_plus(counter, block)))
    return _converted(_chosen(words, place), result.dtype)


def _philox_bits(op: Op[RngBitsAttrs], ask: ElementQuery, index: Index) -> Scalar:
    (state,), (result,) = op.operands, op.results
    words = [ask.at(state, (const(k),)) for k in range(_size(op))]
    key, low, high = words[0], words[1], words[2] if len(words) == 3 else words[0]
    number = FromDim(linear(index, result.shape), U64)
    is_wide = result.dtype is U64
    sum_ = _plus(low, _right(number, 1 if is_wide else 2))
    carry = Convert(Compare(Direction.LT, sum_, low), U64)
    drawn = _philox(_halves(key), (*_halves(sum_), *_halves(_plus(high, carry))))
    if is_wide:
        return _chosen((_joined(*drawn[:2]), _joined(*drawn[2:])), number)
    return _converted(_chosen(drawn, number), result.dtype)


def _size(op: Op[Any]) -> int:
    """How many words a state has."""
    return concrete_shape(op.operands[0].shape)[0]


def _converted(x: Scalar, dtype: DType) -> Scalar:
    return x if x.dtype is dtype else Convert(x, dtype)


def _bits(op: Op[RngBitsAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    match op.attrs.algorithm:
        case RngAlgorithm.THREE_FRY:
            return _threefry_bits(op, ask, index)
        case RngAlgorithm.PHILOX:
            return _philox_bits(op, ask, index)


def _hashed(op: Op[NoAttrs], ask: ElementQuery, k: int, index: Index) -> Scalar:
    key, block = ((ask.at(a, index), ask.at(b, index)) for a, b in (op.operands[:2], op.operands[2:]))
    return _threefry(key, block)[k]


def _state(op: Op[RngStateAttrs], ask: ElementQuery, _k: int, index: Index) -> Scalar:
    (state,) = op.operands
    key, low, *high = (ask.at(state, (const(k),)) for k in range(_size(op)))
    sum_ = _plus(low, FromDim(op.attrs.blocks, U64))
    words = [key, sum_, *(_plus(x, Convert(Compare(Direction.LT, sum_, low), U64)) for x in high)]
    found = words[-1]
    for k in range(len(words) - 2, -1, -1):
        found = Select(InRange(index[0], const(k), const(k + 1)), words[k], found)
    return found


# references: whole arrays of blocks


def _split(x: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    return (x & np.uint64(0xFFFFFFFF)).astype(np.uint32), (x >> np.uint64(32)).astype(np.uint32)


def _whole(low: NDArray[Any], high: NDArray[Any]) -> NDArray[Any]:
    return low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32)


def _threefry_blocks(key: NDArray[Any], counters: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    k = [x.reshape(1) for x in _split(key)]
    k.append(k[0] ^ k[1] ^ np.uint32(_PARITY))
    x = [half + part for half, part in zip(_split(counters), k, strict=False)]
    for number in range(20):
        turn = np.uint32(_ROTATIONS[number // 4 % 2][number % 4])
        x[0] = x[0] + x[1]
        x[1] = x[0] ^ (x[1] << turn | x[1] >> (np.uint32(32) - turn))
        if number % 4 == 3:
            step = number // 4 + 1
            x = [x[0] + k[step % 3], x[1] + k[(step + 1) % 3] + np.uint32(step)]
    return x[0], x[1]


def _threefry_reference(state: NDArray[Any], shape: tuple[int, ...], split: int, *, is_wide: bool) -> NDArray[Any]:
    def blocks(count: int) -> NDArray[Any]:
        return state[1] + np.arange(count, dtype=np.uint64)

    if is_wide:
        return _whole(*_threefry_blocks(state[0], blocks(int(np.prod(shape))))).reshape(shape)
    if not shape:
        return _threefry_blocks(state[0], blocks(1))[0].reshape(())
    half = tuple((n + 1) // 2 if k == split else n for k, n in enumerate(shape))
    pair = [x.reshape(half) for x in _threefry_blocks(state[0], blocks(int(np.prod(half))))]
    padded = tuple(2 * n if k == split else n for k, n in enumerate(half))
    return np.stack(pair, split + 1).reshape(padded)[tuple(map(slice, shape))]


def _philox_reference(state: NDArray[Any], shape: tuple[int, ...], *, is_wide: bool) -> NDArray[Any]:
    count = int(np.prod(shape)) * (2 if is_wide else 1)
    blocks = -(-count // 4)
    low = state[1] + np.arange(blocks, dtype=np.uint64)
    high = (state[2] if state.size == 3 else state[0]) + (low < state[1]).astype(np.uint64)
    x, key = [*_split(low), *_split(high)], [one.reshape(1) for one in _split(state[0])]
    for _ in range(10):
        (a_low, a_high), (b_low, b_high) = (
            _split(part.astype(np.uint64) * np.uint64(by)) for part, by in zip(x[::2], _MULTIPLIERS, strict=True)
        )
        x = [b_high ^ x[1] ^ key[0], b_low, a_high ^ x[3] ^ key[1], a_low]
        key = [one + np.uint32(w) for one, w in zip(key, _WEYL, strict=True)]
    words = np.ascontiguousarray(np.stack(x, 1).reshape(-1)[:count])
    return _whole(words[::2], words[1::2]).reshape(shape) if is_wide else words.reshape(shape)


def _bits_reference(op: Op[RngBitsAttrs], inputs: Arrays) -> Arrays:
    (result,), (state,) = op.results, inputs
    shape, is_wide = concrete_shape(result.shape), result.dtype is U64
    match op.attrs.algorithm:
        case RngAlgorithm.THREE_FRY:
            (split,) = concrete_shape((op.attrs.split,))
            found = _threefry_reference(state, shape, split, is_wide=is_wide)
        case RngAlgorithm.PHILOX:
            found = _philox_reference(state, shape, is_wide=is_wide)
    return (found.astype(numpy_dtype(result.dtype)),)


def _state_reference(op: Op[RngStateAttrs], inputs: Arrays) -> Arrays:
    (blocks,) = concrete_shape((op.attrs.blocks,))
    key, *words = (int(x) for x in inputs[0])
    counter = reduce(lambda value, word: value << 64 | word, reversed(words), 0) + blocks
    found = [key, *((counter >> 64 * k) % 2**64 for k in range(len(words)))]
    return (np.array(found, np.uint64),)


def _hashed_reference(_: Op[NoAttrs], inputs: Arrays) -> Arrays:
    keys, blocks = (_whole(a, b).reshape(-1) for a, b in (inputs[:2], inputs[2:]))
    pairs = [_threefry_blocks(key, block[None]) for key, block in zip(keys, blocks, strict=True)]
    return tuple(np.array([pair[k][0] for pair in pairs], np.uint32).reshape(inputs[0].shape) for k in range(2))


# operands: the two words of the key, the two of the block
THREEFRY = OpDef(
    name="d_threefry",
    attrs=NoAttrs,
    template=Template.ELEMENT,
    element=_hashed,
    reference=plain(_hashed_reference),
    traits=frozenset({Trait.EXACT}),
)
RNG_BITS = OpDef(
    name="d_rng_bits",
    attrs=RngBitsAttrs,
    template=Template.ELEMENT,
    element=_bits,
    reference=plain(_bits_reference),
    traits=frozenset({Trait.EXACT}),
)
RNG_STATE = OpDef(
    name="d_rng_state",
    attrs=RngStateAttrs,
    template=Template.ELEMENT,
    element=_state,
    reference=plain(_state_reference),
    traits=frozenset({Trait.EXACT}),
)
OPS = (
    THREEFRY,
    RNG_BITS,
    RNG_STATE,
)
