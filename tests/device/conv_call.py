"""What a convolution of the CPU prelude is called with."""

from __future__ import annotations

import ctypes

from tests.device.conv_cases import Case, Floats

Triple = ctypes.c_int64 * 3


class ShloConv(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("input", "kernel", "pack", "packed")),
        *((name, ctypes.c_int64) for name in ("room", "rank", "batch", "in_features", "out_features")),
        *((name, Triple) for name in ("in_sizes", "kernel_sizes", "out_sizes")),
        *((name, ctypes.c_int64) for name in ("in_group_stride", "in_batch_stride", "in_feature_stride")),
        ("in_strides", Triple),
        *((name, ctypes.c_int64) for name in ("kernel_in_stride", "kernel_out_stride")),
        *((name, Triple) for name in ("kernel_strides", "window_strides", "low_padding", "lhs_dilation")),
        *((name, Triple) for name in ("rhs_dilation", "reversal")),
        *((name, ctypes.c_int64) for name in ("groups", "transposed")),
    )


def describe(case: Case, x: Floats, w: Floats) -> ShloConv:
    def elements(array: Floats) -> list[int]:
        return [stride // array.itemsize for stride in array.strides]

    (batch_stride, feature_stride, *in_strides), (out_stride, in_stride, *strides) = elements(x), elements(w)
    return ShloConv(
        x.ctypes.data,
        w.ctypes.data,
        None,
        None,
        0,
        len(case.sizes),
        case.batch // case.batch_groups,
        case.channels * case.batch_groups,
        case.features,
        Triple(*case.sizes),
        Triple(*case.kernel),
        Triple(*case.out),
        batch_stride * (case.batch // case.batch_groups)
        if case.batch_groups > 1
        else feature_stride * (case.channels // max(case.groups, 1)),
        batch_stride,
        feature_stride,
        Triple(*in_strides),
        in_stride,
        out_stride,
        Triple(*strides),
        Triple(*case.full(case.stride)),
        Triple(*(low for low, _ in case.padding)),
        Triple(*case.full(case.hole)),
        Triple(*case.full(case.gap)),
        Triple(*map(int, case.reverse)),
        case.groups * case.batch_groups,
        0,
    )
