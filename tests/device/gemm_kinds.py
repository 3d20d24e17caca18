"""All kinds of matrix products of the CPU prelude, as NumPy sees what they read and what they leave."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from tests.device.compilers import COMPILERS, FLAGS, INCLUDE, LINK, require, run, write_library

Array: TypeAlias = npt.NDArray[Any]
Part: TypeAlias = tuple[int, int, int, int]  # rows [i0, i1) and columns [j0, j1) of the results

# The epilogue counts how often it gets each element and reads the columns up to a multiple of 16.
_HARNESS = r"""
#include "call/caches.h"
#include "gemm/gemm.h"
SHLO_DEFINE_CACHES
template <class T> struct Result { T* c; int32_t* times; int64_t columns; volatile T seen; bool bad; };
template <class T>
static void store(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
  Result<T>& out = *(Result<T>*)context;
  if ((uint64_t)tile % 64 != 0 || ld % 16 != 0 || (columns + 15) / 16 * 16 > ld) out.bad = true;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < (columns + 15) / 16 * 16; ++j) {
      const T x = ((const T*)tile)[i * ld + j];
      if (j >= columns) { out.seen = x; continue; }
      out.c[(i0 + i) * out.columns + j0 + j] = x;
      out.times[(i0 + i) * out.columns + j0 + j] += 1;
    }
}
template <class T, class Gemm>
static int64_t run(Gemm gemm, const ShloGemm* g, const int64_t* at, void* scratch, void* c, int32_t* times) {
  Result<T> out = {(T*)c, times, g->n, 0, false};
  gemm(g, at[0], at[1], at[2], at[3], scratch, store<T>, &out);
  return out.bad;
}
typedef __complex__ float c64; typedef __complex__ double c128;
"""
_RUN = """
extern "C" int64_t run_{name}(const ShloGemm* g, const int64_t* at, void* scratch, void* c, int32_t* times) {{
  return run<{sums}>(shlo_gemm_{name}, g, at, scratch, c, times);
}}
"""


class ShloGemm(ctypes.Structure):
    """The struct of gemm.h."""

    _fields_ = (
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("a_row", "a_k", "b_k", "b_col", "m", "n", "k")),
        ("packed", ctypes.c_void_p),
        ("schedule", ctypes.c_void_p),
    )


class ShloSchedule(ctypes.Structure):
    """The struct of gemm.h."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("form", "tile_rows", "tile_vectors", "pack_left", "pack_right")),
        *((name, ctypes.c_int64) for name in ("depth", "rows", "columns")),
    )


@dataclass(frozen=True, slots=True)
class Kind:
    """Elements in memory, their sums as NumPy and as C++ name them, and the type that holds sums nearly exactly."""

    name: str
    memory: np.dtype[Any]
    sums: np.dtype[Any]
    c_sums: str
    wide: np.dtype[Any]

    def draw(self, rng: np.random.Generator, shape: tuple[int, int]) -> Array:
        """Integers of the whole range, other numbers around 0."""
        if self.name.startswith("bf16"):
            return (rng.standard_normal(shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        if self.memory.kind in "iu":
            limits = np.iinfo(self.memory)
            return rng.integers(limits.min, limits.max, shape, self.memory, endpoint=True)
        found = rng.standard_normal(shape)
        if self.memory.kind == "c":
            found = found + 1j * rng.standard_normal(shape)
        return found.astype(self.memory)

    def numbers(self, x: Array) -> Array:
        """What elements in memory mean."""
        if self.name.startswith("bf16"):
            return (x.astype(np.uint32) << 16).view(np.float32).astype(self.wide)
        return x.astype(self.wide)

    def check(self, found: Array, a: Array, b: Array) -> None:
        """Integers wrap; the others err as sums of so many products may."""
        left, right = self.numbers(a), self.numbers(b)
        if self.sums.kind == "i":
            np.testing.assert_array_equal(found, (left @ right).astype(self.sums))
            return
        eps = float(np.finfo(self.sums).eps)
        bound = np.abs(left) @ np.abs(right) * (eps * (2 * a.shape[1] + 2))
        assert (np.abs(found.astype(self.wide) - left @ right) <= bound).all()


KINDS = tuple(
    Kind(name, np.dtype(memory), np.dtype(sums), c_sums, np.dtype(wide))
    for name, memory, sums, c_sums, wide in (
        ("f32", "float32", "float32", "float", "float64"),
        ("f64", "float64", "float64", "double", "float64"),
        ("f16", "float16", "float32", "float", "float64"),
        ("bf16", "uint16", "float32", "float", "float64"),
        ("bf16_rounded", "uint16", "float32", "float", "float64"),
        ("i8", "int8", "int32", "int32_t", "int64"),
        ("u8", "uint8", "int32", "int32_t", "int64"),
        ("i16", "int16", "int32", "int32_t", "int64"),
        ("i32", "int32", "int32", "int32_t", "int64"),
        ("i64", "int64", "int64", "int64_t", "int64"),
        ("c64", "complex64", "complex64", "c64", "complex128"),
        ("c128", "complex128", "complex128", "c128", "complex128"),
    )
)
OF_NAME = {kind.name: kind for kind in KINDS}


def build(compiler: str, folder: Path, kinds: tuple[Kind, ...], machine: str = "native") -> ctypes.CDLL:
    """Compile products of these kinds and a harness for them; skip where this compiler is absent."""
    require(compiler)
    harness, library = folder / "harness.cc", folder / "gemm.so"
    harness.write_text(_HARNESS + "".join(_RUN.format(name=kind.name, sums=kind.c_sums) for kind in kinds))
    flags = (flag for flag in FLAGS if flag != "-shared")
    command = [*COMPILERS[compiler], *(f"-march={machine}" if flag == "-march=native" else flag for flag in flags)]
    sources = [harness, *(write_library(f"gemm_{kind.name}", folder) for kind in kinds)]
    objects = [folder / f"{source.stem}.o" for source in sources]
    with ThreadPoolExecutor(2) as pool:
        jobs = [
            pool.submit(run, *command, INCLUDE, "-c", source, "-o", target)
            for source, target in zip(sources, objects, strict=True)
        ]
    for job in jobs:
        job.result()
    run(*COMPILERS[compiler], "-shared", *LINK[compiler], *objects, "-o", library)
    return ctypes.CDLL(str(library))


def aligned(size: int, guard: int = 4096) -> tuple[Array, int]:
    """Bytes of memory, where in them 64-byte aligned ones start, and a guard of 0xAB behind so many of these."""
    memory = np.full(size + 64 + guard, 0xAB, np.uint8)
    return memory, -memory.ctypes.data % 64


@dataclass(frozen=True, slots=True)
class Packed:
    """All of B as the prelude packs it."""

    memory: Array
    start: int

    @property
    def address(self) -> int:
        """Where it begins."""
        return self.memory.ctypes.data + self.start


@dataclass(frozen=True, slots=True)
class Products:
    """The kernels of one compiler, checked at every call for how they treat memory and the epilogue."""

    library: ctypes.CDLL
    scratch: Callable[[Kind], int]

    def describe(self, a: Array, b: Array, packed: Packed | None, schedule: ShloSchedule | None) -> ShloGemm:
        """The struct for a product; with packed B the kernel gets no other."""
        strides = (stride // x.itemsize for x in (a, b) for stride in x.strides)
        return ShloGemm(
            a.ctypes.data,
            None if packed else b.ctypes.data,
            *strides,
            a.shape[0],
            b.shape[1],
            b.shape[0],
            packed.address if packed else None,
            ctypes.addressof(schedule) if schedule else None,
        )

    def pack(self, kind: Kind, b: Array, parts: tuple[int, ...] = ()) -> Packed:
        """Pack B, by a call for each part of the columns: `parts` are where the second and later ones begin."""
        k, n = b.shape
        count = self.library[f"shlo_packed_bytes_{kind.name}"]
        count.restype = ctypes.c_int64
        size = count(ctypes.c_int64(k), ctypes.c_int64(n))
        memory, start = aligned(size)
        gemm = self.describe(np.empty((0, k), b.dtype), b, None, None)
        for j0, j1 in zip((0, *parts), (*parts, n), strict=True):
            self.library[f"shlo_pack_{kind.name}"](
                ctypes.byref(gemm), ctypes.c_int64(j0), ctypes.c_int64(j1), ctypes.c_void_p(memory.ctypes.data + start)
            )
        assert (memory[start + size :] == 0xAB).all(), "wrote beyond the packed operand"
        return Packed(memory, start)

    def run(
        self,
        kind: Kind,
        a: Array,
        b: Array,
        at: Part | None = None,
        packed: Packed | None = None,
        schedule: ShloSchedule | None = None,
    ) -> Array:
        """A part of a product, whose elements must be handed out exactly once."""
        m, n = a.shape[0], b.shape[1]
        i0, i1, j0, j1 = at or (0, m, 0, n)
        c, times = np.full((m, n), 7, kind.sums), np.zeros((m, n), np.int32)
        memory, start = aligned(size := self.scratch(kind))
        gemm = self.describe(a, b, packed, schedule)
        bad = self.library[f"run_{kind.name}"](
            ctypes.byref(gemm),
            (ctypes.c_int64 * 4)(i0, i1, j0, j1),
            *(ctypes.c_void_p(x) for x in (memory.ctypes.data + start, c.ctypes.data, times.ctypes.data)),
        )
        assert not bad, "tile not aligned, or its leading dimension is too small"
        expected = np.zeros((m, n), np.int32)
        expected[i0:i1, j0:j1] = 1
        np.testing.assert_array_equal(times, expected)
        assert (memory[start + size :] == 0xAB).all(), "wrote beyond the scratch memory"
        return c[i0:i1, j0:j1]
