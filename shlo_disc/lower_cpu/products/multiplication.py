"""The prelude's kernels for products by element types, with the types that they read and sum up."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import replace
from typing import Any

from shlo_disc.device.headers import integer_macros
from shlo_disc.dynamic_ops.contract import Precision, accumulator
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import ProductTypes
from shlo_disc.records import record


@record
class Multiplication:
    """A kernel of the prelude, by its name there: types of operands, type of sums, bytes of scratch memory.

    `operands` are treated alike: integers, which wrap, and i1, whose pairs of ones are counted. `small`: the kernel
    for batches of small products.
    """

    name: str
    operands: tuple[DType, ...]
    sums: DType
    scratch: int
    small: str

    def read_as(self, dtype: DType) -> DType:
        """The type of a panel that holds elements of type `dtype`."""
        return dtype if dtype in self.operands else self.operands[0]


def _kernels() -> Mapping[str, Multiplication]:
    sizes = integer_macros("gemm/gemm.h")
    narrow, wide = sizes["SHLO_GEMM_SCRATCH"], sizes["SHLO_GEMM_WIDE_SCRATCH"]
    found = (
        Multiplication("f32", (DType.F32,), DType.F32, narrow, "f32"),
        Multiplication("f64", (DType.F64,), DType.F64, narrow, "f64"),
        Multiplication("f16", (DType.F16,), DType.F32, wide, "f16"),
        Multiplication("bf16", (DType.BF16,), DType.F32, wide, "bf16"),
        Multiplication("i8", (DType.I8,), DType.I32, wide, "i8"),
        Multiplication("u8", (DType.UI8, DType.I1), DType.I32, wide, "u8"),
        Multiplication("i16", (DType.I16, DType.UI16), DType.I32, wide, "i16"),
        Multiplication("i32", (DType.I32, DType.UI32), DType.I32, narrow, "i32"),
        Multiplication("i64", (DType.I64, DType.UI64), DType.I64, narrow, "i64"),
        Multiplication("c64", (DType.C64,), DType.C64, narrow, "c64"),
        Multiplication("c128", (DType.C128,), DType.C128, wide, "c128"),
    )
    return {one.name: one for one in found}


_KERNELS = _kernels()
# Kernels that may be faster but are not exact, by the exact one. A look-up by types alone finds only the latter.
_ROUNDED = {"bf16": replace(_KERNELS["bf16"], name="bf16_rounded")}
_OF_SUMS = {one.sums: one for one in _KERNELS.values() if one.sums in one.operands}


def multiplication(types: ProductTypes, precision: Precision = Precision.HIGHEST) -> Multiplication | None:
    """The kernel for operands and a result of these types, if there is one.

    Operands that it cannot read from memory are converted exactly: to the type of the sums, or small integers to 16
    bits. Integers wrap, so that those wider than the sums may be truncated. At default precision, bf16 may use the
    CPU's dot products of pairs, which treat subnormal numbers as zeros.
    """
    found = _exact(types)
    return _ROUNDED.get(found.name, found) if found and precision is Precision.DEFAULT else found


def _exact(types: ProductTypes) -> Multiplication | None:
    left, right, result = types
    operands = (left, right)
    whole = result.is_integer or result.is_bool
    if whole and not all(x.is_bool or (x.is_integer and result.is_integer) for x in operands):
        return None
    sums = _sums(result)
    for kernel in _KERNELS.values():
        signed = DType.UI16 in operands and result.bits > DType.UI16.bits and kernel.name == "i16"
        if kernel.sums is sums and not signed and all(x in kernel.operands for x in operands):
            return kernel
    if sums is DType.I32 and all(map(_fits_16, operands)):
        return _KERNELS["i16"]
    return _OF_SUMS[sums]


def kernel_named(name: str) -> Multiplication:
    """The kernel of this name in the prelude."""
    return next(one for one in (*_KERNELS.values(), *_ROUNDED.values()) if one.name == name)


def _sums(result: DType) -> DType:
    """The type of sums; integers that are right modulo 2^32 are right modulo smaller powers of 2."""
    if result.is_integer or result.is_bool:
        return DType.I64 if result.bits > DType.I32.bits else DType.I32
    return accumulator(result)


def _fits_16(dtype: DType) -> bool:
    return dtype.bits <= (DType.I16.bits if dtype.is_signed else DType.I8.bits)


class _Multiplied(Container[ProductTypes]):
    def __contains__(self, types: Any, /) -> bool:
        return multiplication(types) is not None


MULTIPLIED: Container[ProductTypes] = _Multiplied()  # the element types for which there is a kernel
