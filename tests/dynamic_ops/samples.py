"""Samples of every DHLO op: operands, attributes and result shapes; sizes 0, 1 and primes, NaN and infinities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.contract import ConvAttrs, DataDims, DotAttrs, KernelDims
from shlo_disc.dynamic_ops.create import ConstantAttrs, FromDimsAttrs, IotaAttrs
from shlo_disc.dynamic_ops.elementwise import CompareAttrs, ReducePrecisionAttrs
from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.move import (
    BroadcastAttrs,
    ConcatenateAttrs,
    PadAttrs,
    ReverseAttrs,
    TransposeAttrs,
)
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.dynamic_ops.random import RngAlgorithm, RngBitsAttrs, RngStateAttrs
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ZERO, Dim, const
from shlo_disc.expr.scalar import BinaryFn, Const, Direction, UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array = NDArray[Any]
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 2.5, 1e-30)
DTYPES = {numpy_dtype(dtype): dtype for dtype in DType if dtype is not DType.INDEX}


@dataclass(frozen=True, slots=True)
class Sample:
    """One use of an op."""

    op: Op[Any]
    inputs: tuple[Array, ...]

    def __repr__(self) -> str:
        shapes = [x.shape for x in self.inputs]
        return f"{self.op.name}-{'-'.join('x'.join(map(str, shape)) for shape in shapes)}"


def floats(*shape: int, dtype: DType = DType.F32, seed: int = 0) -> Array:
    """Random numbers with every special value among the first."""
    values = np.random.default_rng([seed, *shape]).normal(size=shape) * 3
    flat = values.reshape(-1)
    flat[: min(len(SPECIAL), max(0, flat.size - 2))] = SPECIAL[: max(0, flat.size - 2)]
    return values.astype(numpy_dtype(dtype))


def plain(*shape: int, seed: int = 0) -> Array:
    """Finite numbers that products and sums keep exact enough to compare."""
    return np.random.default_rng([seed, *shape]).integers(-4, 5, size=shape).astype(np.float32)


def integers(*shape: int, dtype: DType = DType.I32, seed: int = 0) -> Array:
    """Random integers with the extreme ones, 0 and -1 among the first."""
    wanted = numpy_dtype(dtype)
    limits = np.iinfo(wanted)
    values = np.random.default_rng([seed, *shape]).integers(
        limits.min, limits.max, size=shape, dtype=wanted, endpoint=True
    )
    first = np.array([0, 1, limits.min, limits.max, limits.max // 3], wanted)
    values.reshape(-1)[: len(first)] = first[: values.size]
    return values


def booleans(*shape: int) -> Array:
    """Alternating truth values."""
    return np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0


def dims(*values: int) -> tuple[Dim, ...]:
    """Constant dims."""
    return tuple(map(const, values))


def tensor(name: str, shape: Sequence[int], dtype: DType) -> Tensor:
    """A tensor of constant shape."""
    return Tensor(name, dims(*shape), dtype, NOWHERE)


def sample(
    name: str,
    inputs: Sequence[Array],
    attrs: object,
    shape: Sequence[int],
    dtype: DType | None = None,
    bodies: tuple[Body, ...] = (),
) -> Sample:
    """An op on these inputs; the results (half as many as inputs if there are several) have the first one's type."""
    operands = tuple(tensor(f"x{k}", x.shape, DTYPES[x.dtype]) for k, x in enumerate(inputs))
    count = len(inputs) // 2 if name in ("d_reduce", "d_reduce_window", "d_threefry") else 1
    results = tuple(tensor(f"y{k}", shape, dtype or operands[k].dtype) for k in range(count))
    return Sample(Op(name, operands, attrs, results, bodies, NOWHERE), tuple(inputs))


def body(count: int, dtypes: Sequence[DType], *ops: tuple[str, tuple[int, ...], object, DType]) -> Body:
    """A body of rank-0 ops: values are numbered, arguments first; it returns the last `count` values."""
    arguments = [tensor(f"a{k}", (), dtype) for k, dtype in enumerate(dtypes)]
    values, made = list(arguments), list[Op[object]]()
    for name, operands, attrs, dtype in ops:
        result = tensor(f"b{len(values)}", (), dtype)
        made.append(Op(name, tuple(values[k] for k in operands), attrs, (result,), (), NOWHERE))
        values.append(result)
    return Body(tuple(arguments), tuple(made), tuple(values[-count:]))


F32, I32 = DType.F32, DType.I32
NONE = NoAttrs()
ADD = body(1, [F32, F32], ("add", (0, 1), NONE, F32))
MAX = body(1, [F32, F32], ("maximum", (0, 1), NONE, F32))
# argmax: (value, position, value, position) -> the larger value and its position, the first of equals
ARGMAX = body(
    2,
    [F32, I32, F32, I32],
    ("compare", (0, 2), CompareAttrs(Direction.GE), DType.I1),
    ("select", (4, 0, 2), NONE, F32),
    ("select", (4, 1, 3), NONE, I32),
)

_BITWISE = {UnaryFn.NOT, UnaryFn.POPCNT, UnaryFn.COUNT_LEADING_ZEROS}
_BOTH = {UnaryFn.ABS, UnaryFn.NEGATE, UnaryFn.SIGN}
_COMPLEX = {UnaryFn.REAL, UnaryFn.IMAG}
_COMPLEX_ONLY = {UnaryFn.ASIN_ACOS_KERNEL}
_INTEGER_ONLY = {
    BinaryFn.SHIFT_LEFT,
    BinaryFn.SHIFT_RIGHT_ARITHMETIC,
    BinaryFn.SHIFT_RIGHT_LOGICAL,
    BinaryFn.AND,
    BinaryFn.OR,
    BinaryFn.XOR,
}
_FLOAT_ONLY = {BinaryFn.ATAN2, BinaryFn.COMPLEX, BinaryFn.POLYGAMMA, BinaryFn.ZETA}


def _elementwise() -> Iterator[Sample]:
    for fn in UnaryFn:
        dtype = DType.I1 if fn is UnaryFn.IS_FINITE else F32 if fn in _COMPLEX else None
        if fn in _COMPLEX | _COMPLEX_ONLY:
            yield sample(fn.value, [np.arange(13, dtype=np.complex64) * np.complex64(1 - 2j)], NONE, (13,), dtype)
        if fn in _BITWISE | _BOTH:
            for kind in (DType.I32, DType.UI8, DType.I64):
                yield sample(fn.value, [integers(11, dtype=kind)], NONE, (11,))
        if fn not in _BITWISE | _COMPLEX | _COMPLEX_ONLY:
            yield from (sample(fn.value, [floats(*s)], NONE, s, dtype) for s in ((0,), (1,), (2, 7)))
            yield sample(fn.value, [floats(13, dtype=DType.F64)], NONE, (13,), dtype)
    yield sample("not", [booleans(5)], NONE, (5,))
    for fn in BinaryFn:
        wanted = DType.C64 if fn is BinaryFn.COMPLEX else None
        if fn not in _INTEGER_ONLY:
            for shape in ((0,), (1,), (2, 7)):
                pair = [floats(*shape), floats(*shape, seed=1)[::-1].copy()]
                yield sample(fn.value, pair, NONE, shape, wanted)
        if fn not in _FLOAT_ONLY:
            for kind in (DType.I32, DType.UI8, DType.I64):
                small = integers(13, dtype=kind, seed=1)[::-1] if fn is not BinaryFn.POWER else np.arange(13)
                pair = [integers(13, dtype=kind), small.astype(numpy_dtype(kind))]
                yield sample(fn.value, pair, NONE, (13,))
    yield from _composed()
    yield from _other_elementwise()


def _composed() -> Iterator[Sample]:
    """Formulas of other functions, for every kind of element that they take."""
    turned = np.arange(13, dtype=np.complex128) * (1 - 2j)
    for name in ("conj", "square"):
        for x in (floats(0), floats(2, 7), floats(13, dtype=DType.F64), turned, turned.astype(np.complex64)):
            yield sample(name, [x], NONE, x.shape)
    for dtype in (F32, DType.F64, DType.F16, DType.BF16):
        for name in ("is_inf", "is_pos_inf", "is_neg_inf"):
            yield sample(name, [floats(13, dtype=dtype)], NONE, (13,), DType.I1)
        pair = [floats(31, dtype=dtype), floats(31, dtype=dtype, seed=1)[::-1].copy()]
        yield sample("next_after", pair, NONE, (31,))
        yield sample("next_after", [pair[0], pair[0].copy()], NONE, (31,))
    for dtype in (DType.I8, DType.UI8, DType.I16, DType.UI16, I32, DType.UI32, DType.I64, DType.UI64):
        yield sample("mulhi", [integers(31, dtype=dtype), integers(31, dtype=dtype, seed=1)[::-1].copy()], NONE, (31,))
    yield sample("mulhi", [np.array(-(1 << 30), np.int32), np.array(12345, np.int32)], NONE, ())


def _other_elementwise() -> Iterator[Sample]:
    for shape in ((0,), (1,), (3, 5)):
        yield sample("select", [booleans(*shape), floats(*shape), floats(*shape, seed=1)], NONE, shape, F32)
        limits = [np.array(-1, np.float32), np.array(1, np.float32)]
        yield sample("clamp", [limits[0], floats(*shape), limits[1]], NONE, shape, F32)
    yield sample("select", [np.array(False), floats(7), floats(7, seed=1)], NONE, (7,), F32)
    for direction in Direction:
        for total in (False, True):
            pair = [floats(13), floats(13)[::-1].copy()]
            yield sample("compare", pair, CompareAttrs(direction, total), (13,), DType.I1)
    for kind in (DType.I32, DType.UI8, DType.I1, DType.F64, DType.F16, DType.BF16, DType.C64):
        yield sample("convert", [floats(13)], NONE, (13,), kind)
        yield sample("convert", [integers(7)], NONE, (7,), kind)
    yield sample("bitcast_convert", [floats(7)], NONE, (7,), I32)
    yield sample("bitcast_convert", [floats(7)], NONE, (7, 4), DType.UI8)
    yield sample("bitcast_convert", [integers(3, 2, dtype=DType.UI32)], NONE, (3,), DType.F64)
    for format_ in ((5, 10), (8, 7), (4, 3)):
        yield sample("reduce_precision", [floats(17)], ReducePrecisionAttrs(*format_), (17,))


def _create() -> Iterator[Sample]:
    yield sample("d_constant", [], ConstantAttrs(Const(2.5, F32)), (2, 3), F32)
    yield sample("d_constant", [], ConstantAttrs(Const(7, I32)), (0,), I32)
    yield sample("d_from_dims", [], FromDimsAttrs(dims(5)), (), DType.I64)
    yield sample("d_from_dims", [], FromDimsAttrs(dims(5, 0, 3)), (3,), I32)
    yield sample("d_from_dims", [], FromDimsAttrs(()), (0,), I32)
    yield sample("d_iota", [], IotaAttrs(1), (2, 5), I32)
    yield sample("d_iota", [], IotaAttrs(0), (3, 1), F32)


def _move() -> Iterator[Sample]:
    yield sample("d_broadcast", [floats(3)], BroadcastAttrs((1,), (False,)), (2, 3))
    yield sample("d_broadcast", [floats(1, 3)], BroadcastAttrs((0, 2), (True, False)), (5, 2, 3))
    yield sample("d_broadcast", [floats(1, 3)], BroadcastAttrs((0, 1), (None, None)), (4, 3))
    yield sample("d_broadcast", [floats()], BroadcastAttrs((), ()), (0, 2))
    for source, target in (
        ((2, 3, 5), (6, 5)), ((6, 5), (2, 3, 5)), ((7,), (7, 1)), ((4, 6), (8, 3)), ((1, 5, 1), (5,)), ((0, 3), (3, 0)),
        ((2, 1, 6), (3, 4)), ((1,), ()), ((), (1, 1)), ((6, 2), (2, 6)), ((2, 6, 2), (6, 2, 2)), ((3, 3, 4), (9, 2, 2)),
    ):  # fmt: skip
        yield sample("d_reshape", [floats(*source)], NONE, target)
    yield sample("d_transpose", [floats(2, 3, 5)], TransposeAttrs((2, 0, 1)), (5, 2, 3))
    yield sample("d_reverse", [floats(3, 5)], ReverseAttrs((1,)), (3, 5))
    yield sample("d_reverse", [floats(0, 5)], ReverseAttrs((0, 1)), (0, 5))
    yield sample("d_concatenate", [floats(2, 3), floats(2, 0), floats(2, 1)], ConcatenateAttrs(1), (2, 4))
    yield sample("d_concatenate", [floats(1), floats(2)], ConcatenateAttrs(0), (3,))
    value = np.array(7, np.float32)
    for low, high, interior in (((1, 2), (0, 1), (0, 0)), ((-1, 0), (0, -2), (0, 0)), ((0, 1), (2, 0), (1, 2))):
        shape = [n + a + b + (n - 1) * c for n, a, b, c in zip((3, 5), low, high, interior, strict=True)]
        yield sample("d_pad", [floats(3, 5), value], PadAttrs(dims(*low), dims(*interior)), shape)
    yield sample("d_pad", [floats(0), value], PadAttrs(dims(2), dims(1)), (4,))
    yield sample("d_pad", [floats(5), value], PadAttrs(dims(-3), dims(1)), (4,))


def _slices() -> Iterator[Sample]:
    yield sample("d_slice", [floats(5, 7)], SliceAttrs(dims(1, 2), dims(1, 2)), (3, 3))
    yield sample("d_slice", [floats(5, 7)], SliceAttrs(dims(5, 0), dims(1, 1)), (0, 7))
    for start in (-3, 0, 2, 9):
        starts = [np.array(start, np.int32), np.array(1, np.int32)]
        yield sample("d_dynamic_slice", [floats(5, 7), *starts], NONE, (3, 2))
        yield sample("d_dynamic_update_slice", [floats(5, 7), floats(3, 2), *starts], NONE, (5, 7))
    yield sample("d_dynamic_update_slice", [floats(5), floats(0), np.array(2, np.int32)], NONE, (5,))


def _gather() -> Iterator[Sample]:
    nothing = GatherAttrs((), (), (), (), (), 0, ())
    rows = replace(
        nothing,
        offset_dims=(1,),
        collapsed_slice_dims=(0,),
        start_index_map=(0,),
        index_vector_dim=1,
        slice_sizes=dims(1, 7),
    )
    for found in ([0, 4, 2], [-1, 9, 4], []):
        yield sample("d_gather", [floats(5, 7), np.array(found, np.int32)], rows, (len(found), 7))
    points = replace(
        nothing, collapsed_slice_dims=(0, 1), start_index_map=(1, 0), index_vector_dim=0, slice_sizes=dims(1, 1)
    )
    yield sample("d_gather", [floats(5, 7), np.array([[0, 6, 8], [1, 4, -2]])], points, (3,))
    windows = replace(nothing, offset_dims=(0, 1), start_index_map=(1,), index_vector_dim=1, slice_sizes=dims(5, 2))
    yield sample("d_gather", [floats(5, 7), np.array([[3], [6]], np.uint8)], windows, (5, 2, 2))
    batched = replace(
        nothing,
        collapsed_slice_dims=(1,), operand_batching_dims=(0,), start_indices_batching_dims=(0,), start_index_map=(1,),
        index_vector_dim=2, slice_sizes=dims(1, 1),
    )  # fmt: skip
    yield sample("d_gather", [floats(3, 5), np.array([[[0], [4]]] * 3)], batched, (3, 2))
    behind = replace(batched, start_indices_batching_dims=(2,), index_vector_dim=0)
    yield sample("d_gather", [floats(3, 5), np.array([[[0, 1, 2], [4, 3, 9]]])], behind, (2, 3))


def _reductions() -> Iterator[Sample]:
    zero, low = np.array(0, np.float32), np.array(-np.inf, np.float32)
    for shape in ((3, 5), (0, 5), (3, 0), (1, 1), (2, 7)):
        yield sample("d_reduce", [plain(*shape), zero], ReduceAttrs((1,)), shape[:1], bodies=(ADD,))
        yield sample("d_reduce", [floats(*shape), low], ReduceAttrs((0,)), shape[1:], bodies=(MAX,))
        yield sample("d_reduce", [plain(*shape), zero], ReduceAttrs((0, 1)), (), bodies=(ADD,))
    positions = np.tile(np.arange(5, dtype=np.int32), (3, 1))
    both = [plain(3, 5), positions, low, np.array(0, np.int32)]
    yield sample("d_reduce", both, ReduceAttrs((1,)), (3,), bodies=(ARGMAX,))
    for window, strides, base, dilation, low_pad, shape in (
        ((3,), (1,), (1,), (1,), (0,), (5,)),
        ((3,), (2,), (1,), (1,), (1,), (4,)),
        ((2,), (1,), (2,), (3,), (-1,), (8,)),
        ((3,), (1,), (1,), (1,), (0,), (0,)),
    ):
        attrs = ReduceWindowAttrs(dims(*window), dims(*strides), dims(*base), dims(*dilation), dims(*low_pad))
        yield sample("d_reduce_window", [plain(7), zero + 2], attrs, shape, bodies=(ADD,))
        yield sample("d_reduce_window", [floats(7), low], attrs, shape, bodies=(MAX,))
    for shape in ((3, 5), (0,)):
        yield sample("d_map", [floats(*shape), floats(*shape, seed=1)], NONE, shape, bodies=(MAX,))


def _contractions() -> Iterator[Sample]:
    for m, k, n in ((2, 3, 5), (1, 7, 1), (0, 3, 2), (2, 0, 3)):
        yield sample("d_dot", [plain(m, k), plain(k, n)], DotAttrs((), (), (1,), (0,)), (m, n))
    yield sample("d_dot", [plain(2, 3, 5), plain(5, 2, 7)], DotAttrs((0,), (1,), (2,), (0,)), (2, 3, 7))
    yield sample("d_dot", [plain(3, 5), plain(3, 5)], DotAttrs((), (), (0, 1), (0, 1)), ())
    half = plain(3, 5).astype(np.float16)
    yield sample("d_dot", [half, half], DotAttrs((), (), (1,), (1,)), (3, 3), F32)
    yield sample("d_dot", [half, half], DotAttrs((), (), (1,), (1,)), (3, 3), DType.F16)
    image = DataDims(0, 2, (1,))
    plain_conv = ConvAttrs(
        image, KernelDims(1, 2, (0,)), image, dims(1), ((ZERO, ZERO),), dims(1), dims(1), (False,), 1, 1
    )
    for strides, padding, spread, dilation, size in (
        (1, (0, 0), 1, 1, 5),
        (2, (1, 1), 1, 2, 3),
        (1, (2, 1), 2, 1, 14),
    ):
        attrs = replace(
            plain_conv,
            strides=dims(strides),
            padding=((const(padding[0]), const(padding[1])),),
            lhs_dilation=dims(spread),
            rhs_dilation=dims(dilation),
        )
        yield sample("d_convolution", [plain(2, 7, 3), plain(3, 3, 4)], attrs, (2, size, 4))
    turned = replace(plain_conv, reversal=(True,))
    grouped = replace(turned, feature_groups=3)
    yield sample("d_convolution", [plain(2, 7, 3), plain(3, 1, 6)], grouped, (2, 5, 6))
    yield sample("d_convolution", [plain(2, 7, 6), plain(3, 2, 6)], grouped, (2, 5, 6))
    batches = replace(turned, batch_groups=2)
    yield sample("d_convolution", [plain(4, 7, 3), plain(3, 3, 6)], batches, (2, 5, 6))


def _random() -> Iterator[Sample]:
    words = [np.array(word, np.uint32).reshape(3, 1) for word in ((1, 2, 3), (0, 7, 2**32 - 1), (5, 6, 0), (9, 0, 1))]
    yield sample("d_threefry", words, NoAttrs(), (3, 1))
    states = [np.array(state, np.uint64) for state in ((5, 2**64 - 2), (2**63 + 1, 2**64 - 1, 2**64 - 1))]
    for state in states:
        for blocks in (0, 7):
            yield sample("d_rng_state", [state], RngStateAttrs(const(blocks)), state.shape)
    for dtype in (DType.UI8, DType.UI32, DType.UI64):
        for shape in ((0,), (3,), (2, 2)):
            for split in range(max(1, len(shape))):
                threefry = RngBitsAttrs(RngAlgorithm.THREE_FRY, const(split))
                yield sample("d_rng_bits", [states[0]], threefry, shape, dtype)
            for state in states:
                yield sample("d_rng_bits", [state], RngBitsAttrs(RngAlgorithm.PHILOX, ZERO), shape, dtype)


SAMPLES: tuple[Sample, ...] = (
    *_elementwise(),
    *_create(),
    *_move(),
    *_slices(),
    *_gather(),
    *_reductions(),
    *_contractions(),
    *_random(),
)
