"""What the CPU adds to the C spelling: vectors of 16 lanes, see `device/values/vec.h`."""

from __future__ import annotations

from shlo_disc.emit.spelling import Spelling
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType

LANES = 16

VECTOR_DTYPES = frozenset({
    DType.F32, DType.F64, DType.I1, DType.I8, DType.I16, DType.I32, DType.I64,
    DType.UI8, DType.UI16, DType.UI32, DType.UI64, DType.C64, DType.C128,
    *(dtype for dtype in DType if dtype.is_encoded),
})  # fmt: skip


class VectorSpelling(Spelling):
    """C++ with explicit vectors."""

    def vector_type(self, dtype: DType) -> str:
        return "maskv" if dtype.is_bool else f"{self.suffixes[dtype]}v"

    def infix(self, fn: BinaryFn, dtype: DType) -> str | None:
        """As in C, except for float products: compilers may contract `*` into an FMA in some copies of a loop only."""
        return None if _is_rounded_product(fn, dtype) else super().infix(fn, dtype)

    def binary(self, fn: BinaryFn, a: str, b: str, dtype: DType) -> str:
        """As in C, with products that are always rounded."""
        return f"times({a}, {b})" if _is_rounded_product(fn, dtype) else super().binary(fn, a, b, dtype)

    def splat(self, value: str, dtype: DType) -> str:
        if dtype.is_bool:
            return f"splat_bool({value})"
        return f"splat_{self.suffixes[dtype]}({value})"

    def load_vector(self, pointer: str, dtype: DType, left: str, mask: str = "") -> str:
        """A vector of adjacent elements: all, the first `left`, or those of the lanes in `mask`."""
        name = "load_bool" if dtype.is_bool else "load"
        if mask:
            return f"{name}_where({pointer}, {mask})"
        return f"{name}_n({pointer}, {left})" if left else f"{name}({pointer})"

    def load_strided(self, pointer: str, stride: str, dtype: DType, left: str, mask: str = "") -> str:
        name = "load_stride_bool" if dtype.is_bool else "load_stride"
        return f"{name}_where({pointer}, {stride}, {mask})" if mask else f"{name}({pointer}, {stride}, {left or LANES})"

    def gather(self, pointer: str, index: str, dtype: DType, left: str, mask: str = "") -> str:
        name = "gather_bool" if dtype.is_bool else "gather"
        return f"{name}_where({pointer}, {index}, {mask})" if mask else f"{name}({pointer}, {index}, {left or LANES})"

    def store_vector(self, pointer: str, value: str, dtype: DType, left: str) -> str:
        """The statement that stores a vector, or its first `left` lanes."""
        name = "store_bool" if dtype.is_bool else "store"
        return f"{name}_n({pointer}, {value}, {left});" if left else f"{name}({pointer}, {value});"

    def load_at(self, pointer: str, places: str, dtype: DType) -> str:
        return f"{'load_bool_at' if dtype.is_bool else 'load_at'}({pointer}, {places})"

    def load_held(self, pointer: str, held: str, dtype: DType) -> str:
        """A vector of adjacent elements, for the lanes in `held` only."""
        return f"{'load_bool_held' if dtype.is_bool else 'load_held'}({pointer}, {held})"

    def store_held(self, pointer: str, value: str, dtype: DType, held: str) -> str:
        """The statement that stores the lanes in `held`."""
        return f"{'store_bool_held' if dtype.is_bool else 'store_held'}({pointer}, {value}, {held});"

    def store_strided(self, pointer: str, stride: str, value: str, dtype: DType, left: str) -> str:
        """The statement that stores the first `left` lanes, `stride` elements apart."""
        name = "store_stride_bool" if dtype.is_bool else "store_stride"
        return f"{name}({pointer}, {stride}, {value}, {left});"

    def store_interleaved(self, pointer: str, values: str, dtype: DType) -> str:
        """The statement that stores the first lanes of several vectors, then their second lanes, and so on."""
        return f"{'store_bool' if dtype.is_bool else 'store'}_interleaved({pointer}, {values});"

    def convert_lanes(self, x: str, source: DType, target: DType) -> str:
        """Convert a vector; masks become 0 and 1."""
        if source.is_bool and not target.is_bool:
            one, zero = (self.splat(self.const(n, target), target) for n in (1, 0))
            return f"select({x}, {one}, {zero})"
        return self.convert(x, source, target)


class LoneSpelling(VectorSpelling):
    """C++ for scattered elements, which no vector loop processes."""

    def binary(self, fn: BinaryFn, a: str, b: str, dtype: DType) -> str:
        if dtype in {DType.F32, DType.F64} and fn in {BinaryFn.MAXIMUM, BinaryFn.MINIMUM}:
            return f"{'max' if fn is BinaryFn.MAXIMUM else 'min'}_alone({a}, {b})"
        return super().binary(fn, a, b, dtype)


def _is_rounded_product(fn: BinaryFn, dtype: DType) -> bool:
    """Whether compilers could contract it into an FMA: other products are integers, or rounded to a smaller type."""
    return fn is BinaryFn.MULTIPLY and dtype in {DType.F32, DType.F64}
