"""Samples of every DHLO op: operands, attributes and result shapes; sizes 0, 1 and primes, NaN and infinities."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shlo_disc.dynamic_ops.contract import ConvAttrs, DataDims, DotAttrs, KernelDims
from shlo_disc.dynamic_ops.create import ConstantAttrs, FromDimsAttrs, IotaAttrs
from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs, Ragged
from shlo_disc.dynamic_ops.move import (
    BroadcastAttrs,
    ConcatenateAttrs,
    PadAttrs,
    ReverseAttrs,
    TransposeAttrs,
)
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.random import RngAlgorithm, RngBitsAttrs, RngStateAttrs
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import ZERO, const
from shlo_disc.expr.scalar import Const
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.element_samples import ELEMENT_SAMPLES
from tests.dynamic_ops.sampling import (
    ADD,
    ARGMAX,
    F32,
    I32,
    MAX,
    NONE,
    Sample,
    dims,
    floats,
    integers,
    plain,
    sample,
)


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
    yield sample("d_concatenate", [floats(3, 3), floats(3, 2), floats(3, 4)], ConcatenateAttrs(1), (3, 9))
    value = np.array(7, np.float32)
    for low, high, interior in (
        ((1, 2), (0, 1), (0, 0)),
        ((-1, 0), (0, -2), (0, 0)),
        ((0, 1), (2, 0), (1, 2)),
        ((0, 3), (2, 3), (1, 2)),
    ):
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
    positions = np.arange(15, dtype=np.int32).reshape(3, 5)
    both = [plain(3, 5), positions, low, np.array(0, np.int32)]
    yield sample("d_reduce", both, ReduceAttrs((1,)), (3,), bodies=(ARGMAX,))
    for window, strides, base, dilation, low_pad, shape in (
        ((3,), (1,), (1,), (1,), (0,), (5,)),
        ((3,), (2,), (1,), (1,), (1,), (4,)),
        ((2,), (1,), (2,), (3,), (-1,), (8,)),
        ((3,), (1,), (1,), (1,), (0,), (0,)),
        ((2,), (1,), (2,), (3,), (1,), (14,)),
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
    for group_sizes in ((2, 0, 3), (-2, 1, 9), ()):
        by_rows, by_depth, count = GroupedDotAttrs(Ragged.ROWS), GroupedDotAttrs(Ragged.DEPTH), len(group_sizes)
        grouped_rows, numbers = plain(7, 3), np.array(group_sizes, np.int32)
        yield sample("d_grouped_dot", [grouped_rows, plain(count, 3, 5), numbers], by_rows, (7, 5))
        yield sample("d_grouped_dot", [grouped_rows, plain(7, 2), numbers], by_depth, (count, 3, 2))
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
    yield sample("d_threefry", [integers(2, 3, dtype=DType.UI32, seed=seed) for seed in range(4)], NoAttrs(), (2, 3))
    states = [np.array(state, np.uint64) for state in ((5, 2**64 - 2), (2**63 + 1, 2**64 - 1, 2**64 - 1))]
    for state in states:
        for blocks in (0, 7):
            yield sample("d_rng_state", [state], RngStateAttrs(const(blocks)), state.shape)
    for dtype in (DType.UI8, DType.UI32, DType.UI64):
        for shape in ((0,), (3,), (2, 3)):
            for split in range(max(1, len(shape))):
                threefry = RngBitsAttrs(RngAlgorithm.THREE_FRY, const(split))
                yield sample("d_rng_bits", [states[0]], threefry, shape, dtype)
            for state in states:
                yield sample("d_rng_bits", [state], RngBitsAttrs(RngAlgorithm.PHILOX, ZERO), shape, dtype)


SAMPLES: tuple[Sample, ...] = (
    *ELEMENT_SAMPLES,
    *_create(),
    *_move(),
    *_slices(),
    *_gather(),
    *_reductions(),
    *_contractions(),
    *_random(),
)
