"""Run a command of a GPU program from Python, as generated host programs do in C++ (see device/call/driver.h)."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from itertools import product as points
from typing import assert_never

from shlo_disc.device.headers import integer_macros
from shlo_disc.host_ir import Command, Copy, Fill, GridLaunch, Product
from shlo_disc.runtime.cuda.device import LoadedKernel
from shlo_disc.runtime.cuda.table import CUBLAS_ERROR, Functions
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.steps import Buffers
from shlo_disc.size_expr import SizeExpr

_TYPES = integer_macros("call/driver.h")
_DEFAULT_ALGORITHM = -1


def execute(command: Command, buffers: Buffers, table: Functions, kernels: Mapping[str, LoadedKernel]) -> int:
    """Queue a command; returns 0, or the device's error code."""
    match command:
        case GridLaunch():
            return _launch(command, buffers, table, kernels)
        case Product():
            return _product(command, buffers, table)
        case Copy(source, target):
            if (size := buffers.size(target)) <= 0:
                return 0
            return table.copy(buffers.address(target), buffers.address(source), size, table.stream)
        case Fill(target, byte):
            return _fill(target, byte, buffers, table)
        case _:
            assert_never(command)


def _launch(command: GridLaunch, buffers: Buffers, table: Functions, kernels: Mapping[str, LoadedKernel]) -> int:
    if (blocks := buffers.value(command.blocks)) <= 0:
        return 0
    values = [ctypes.c_int64(buffers.address(slot)) for slot in command.buffers]
    values += [ctypes.c_int64(buffers.value(size)) for size in command.symbols]
    params = (ctypes.c_void_p * max(1, len(values)))(*[ctypes.addressof(value) for value in values])
    handle, shared = kernels[command.kernel].handle, buffers.value(command.shared)
    return table.launch(handle, blocks, 1, 1, command.threads, 1, 1, shared, table.stream, params, None)


def _fill(target: int, byte: int, buffers: Buffers, table: Functions) -> int:
    size = buffers.size(target)
    return table.fill(buffers.address(target), byte, size, table.stream) if size > 0 else 0


def _product(command: Product, buffers: Buffers, table: Functions) -> int:
    """Loop over all batch dims but the last, which is cuBLAS's own; row-major, so cuBLAS computes `C' = B' A'`."""
    m, n, k = buffers.value(command.m), buffers.value(command.n), buffers.value(command.k)
    *outer, inner = [tuple(map(buffers.value, _loop(command, at))) for at in range(-len(command.batch), 0)] or [
        (1, 0, 0, 0)
    ]
    batch, *inner_strides = inner
    if m <= 0 or n <= 0 or batch <= 0:
        return 0
    if k == 0:
        return _fill(command.c, 0, buffers, table)
    if error := table.set_stream(table.cublas, table.stream):
        return CUBLAS_ERROR + error
    real = ctypes.c_double if command.compute == "f64" else ctypes.c_float
    numbers = (real * 4)(1, 0, 0, 0)  # one, zero: as real numbers, and as complex ones
    compute = _TYPES[f"SHLO_CUBLAS_{command.compute}"]
    one, zero = ctypes.addressof(numbers), ctypes.addressof(numbers) + 2 * ctypes.sizeof(real)
    kinds = (command.dtypes[0], command.dtypes[0], command.dtypes[1])
    types = [_TYPES[f"SHLO_CUDA_{kind}"] for kind in kinds]
    sizes = [dtype_of(kind).itemsize for kind in kinds]
    starts = [buffers.address(slot) for slot in (command.a, command.b, command.c)]
    offsets = [buffers.value(offset) for offset in (command.a_offset, command.b_offset, command.c_offset)]
    leading = [buffers.value(lead) for lead in (command.a_leading, command.b_leading, command.c_leading)]
    for point in points(*[range(loop[0]) for loop in outer]):
        a, b, c = (
            starts[x] + sizes[x] * (offsets[x] + sum(i * loop[1 + x] for i, loop in zip(point, outer, strict=True)))
            for x in range(3)
        )
        error = table.gemm(
            table.cublas, command.b_transposed, command.a_transposed, n, m, k, one,
            b, types[1], leading[1], inner_strides[1], a, types[0], leading[0], inner_strides[0],
            zero, c, types[2], leading[2], inner_strides[2], batch, compute, _DEFAULT_ALGORITHM,
        )  # fmt: skip
        if error:
            return CUBLAS_ERROR + error
    return 0


def _loop(command: Product, at: int) -> tuple[SizeExpr, SizeExpr, SizeExpr, SizeExpr]:
    loop = command.batch[at]
    return loop.extent, loop.a_stride, loop.b_stride, loop.c_stride
