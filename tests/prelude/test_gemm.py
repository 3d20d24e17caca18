"""Matrix products of the CPU prelude against NumPy in double precision."""

import ctypes
import mmap
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from random import Random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

PRELUDE = Path(__file__).parents[2] / "shlo_disc" / "lower_cpu" / "prelude"
FLAGS = [
    *("-O3", "-march=native", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math"),
    *("-ffp-contract=fast", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"),
]
COMPILERS = {
    "gcc": ["g++", "-mprefer-vector-width=512"],
    "zig": [sys.executable, "-m", "ziglang", "c++"],
}
# The epilogue counts how often it gets each element and reads the columns up to a multiple of 16.
HARNESS = r"""
#include "gemm.h"
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
static int64_t run(Gemm gemm, const ShloGemm* g, const int64_t* at, void* scratch, T* c, int32_t* times) {
  Result<T> out = {c, times, g->n, 0, false};
  gemm(g, at[0], at[1], at[2], at[3], scratch, store<T>, &out);
  return out.bad;
}
extern "C" int64_t run_f32(const ShloGemm* g, const int64_t* at, void* scratch, float* c, int32_t* times) {
  return run(shlo_gemm_f32, g, at, scratch, c, times);
}
extern "C" int64_t run_f64(const ShloGemm* g, const int64_t* at, void* scratch, double* c, int32_t* times) {
  return run(shlo_gemm_f64, g, at, scratch, c, times);
}
extern "C" const int64_t scratch_bytes = SHLO_GEMM_SCRATCH;
"""

Float: TypeAlias = np.float32 | np.float64
Floats: TypeAlias = npt.NDArray[Float]
Multiply: TypeAlias = Callable[[Floats, Floats, tuple[int, int, int, int]], Floats]


class ShloGemm(ctypes.Structure):
    _fields_ = (
        ("a", ctypes.c_void_p),
        ("b", ctypes.c_void_p),
        *((name, ctypes.c_int64) for name in ("a_row", "a_k", "b_k", "b_col", "m", "n", "k")),
    )


def build(compiler: str, folder: Path) -> Path:
    if compiler == "gcc" and shutil.which("g++") is None:
        pytest.skip("needs g++")
    if compiler == "zig" and find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang")
    source, library = folder / "harness.cc", folder / "gemm.so"
    source.write_text(HARNESS)
    kernels = [str(PRELUDE / f"gemm_{name}.cc") for name in ("f32", "f64")]
    command = [*COMPILERS[compiler], *FLAGS, f"-I{PRELUDE}", *kernels, str(source)]
    done = subprocess.run([*command, "-o", str(library)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return library


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def multiply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Multiply:
    """Rows [i0, i1) and columns [j0, j1) of a product, which must be handed out exactly once."""
    library = ctypes.CDLL(str(build(request.param, tmp_path_factory.mktemp("gemm"))))
    guard = 4096
    bytes_ = ctypes.c_int64.in_dll(library, "scratch_bytes").value
    memory = np.full(bytes_ + 64 + guard, 0xAB, np.uint8)
    start = -memory.ctypes.data % 64

    def run(a: Floats, b: Floats, at: tuple[int, int, int, int]) -> Floats:
        (m, k), n, size = a.shape, b.shape[1], a.itemsize
        c = np.full((m, n), 7, a.dtype)
        times = np.zeros((m, n), np.int32)
        strides = (stride // size for stride in (*a.strides, *b.strides))
        gemm = ShloGemm(a.ctypes.data, b.ctypes.data, *strides, m, n, k)
        function = library.run_f32 if a.dtype == np.float32 else library.run_f64
        bad = function(
            ctypes.byref(gemm),
            (ctypes.c_int64 * 4)(*at),
            ctypes.c_void_p(memory.ctypes.data + start),
            ctypes.c_void_p(c.ctypes.data),
            ctypes.c_void_p(times.ctypes.data),
        )
        assert not bad, "tile not aligned, or its leading dimension is too small"
        i0, i1, j0, j1 = at
        expected = np.zeros((m, n), np.int32)
        expected[i0:i1, j0:j1] = 1
        np.testing.assert_array_equal(times, expected)
        assert (memory[start + bytes_ :] == 0xAB).all(), "wrote beyond the scratch memory"
        return c[i0:i1, j0:j1]

    return run


def row_major(x: Floats) -> Floats:
    return np.ascontiguousarray(x)


def column_major(x: Floats) -> Floats:
    return np.asfortranarray(x)


def padded(x: Floats) -> Floats:
    return np.pad(x, ((0, 0), (0, 3)), constant_values=np.nan)[:, : x.shape[1]]


def every_third(x: Floats) -> Floats:
    return np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3]


def reversed_(x: Floats) -> Floats:
    return np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1]


def same_rows(x: Floats) -> Floats:
    return np.broadcast_to(x[:1], x.shape) if x.size else x


def same_columns(x: Floats) -> Floats:
    return np.broadcast_to(x[:, :1], x.shape) if x.size else x


def at_end_of_memory(x: Floats) -> Floats:
    """Copy to where the next byte must not be read."""
    size = (x.nbytes + mmap.PAGESIZE - 1) // mmap.PAGESIZE * mmap.PAGESIZE
    memory = np.frombuffer(mmap.mmap(-1, size + mmap.PAGESIZE), np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    failed = libc.mprotect(ctypes.c_void_p(memory.ctypes.data + size), ctypes.c_size_t(mmap.PAGESIZE), 0)
    assert not failed, os.strerror(ctypes.get_errno())
    y = memory[size - x.nbytes : size].view(x.dtype).reshape(x.shape)
    y[:] = x
    return y


LAYOUTS = (row_major, column_major, padded, every_third, reversed_, same_rows, same_columns)
SIZES = (0, 1, 5, 6, 7, 15, 16, 17, 63, 64, 65, 97, 130)


def operands(m: int, k: int, n: int, dtype: type[Float]) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(m * 10007 + k * 101 + n)
    return rng.standard_normal((m, k)).astype(dtype), rng.standard_normal((k, n)).astype(dtype)


def check(multiply: Multiply, a: Floats, b: Floats, at: tuple[int, int, int, int] | None = None) -> None:
    i0, i1, j0, j1 = at or (0, a.shape[0], 0, b.shape[1])
    got = multiply(a, b, (i0, i1, j0, j1))
    left, right = a[i0:i1].astype(np.float64), b[:, j0:j1].astype(np.float64)
    bound = np.abs(left) @ np.abs(right) * (np.finfo(a.dtype).eps * (a.shape[1] + 1))
    assert (np.abs(got - left @ right) <= bound).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_sizes(multiply: Multiply, dtype: type[Float]) -> None:
    for m, n, k in product(SIZES, SIZES, (0, 1, 67)):
        for a_layout, b_layout in product((row_major, column_major), repeat=2):
            a, b = operands(m, k, n, dtype)
            check(multiply, a_layout(a), b_layout(b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_all_layouts(multiply: Multiply, dtype: type[Float]) -> None:
    for (m, n), k in product(((1, 97), (12, 65), (130, 7), (65, 97)), (5, 513)):
        for a_layout, b_layout in product(LAYOUTS, repeat=2):
            a, b = operands(m, k, n, dtype)
            check(multiply, a_layout(a), b_layout(b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", [row_major, column_major])
def test_several_blocks(multiply: Multiply, dtype: type[Float], layout: Callable[[Floats], Floats]) -> None:
    """Sizes beyond one task, beyond the packed memory and beyond a chunk of rows."""
    for m, k, n in ((1, 2500, 530), (9, 1100, 270), (200, 1100, 70), (390, 40, 300), (5000, 40, 1), (530, 2500, 3)):
        a, b = operands(m, k, n, dtype)
        check(multiply, layout(a), layout(b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_parts(multiply: Multiply, dtype: type[Float]) -> None:
    rng = Random(5)
    for _ in range(300):
        m, n, k = rng.randint(1, 130), rng.randint(1, 130), rng.randint(0, 70)
        i0, j0 = rng.randint(0, m), rng.randint(0, n)
        at = (i0, rng.randint(i0, m), j0, rng.randint(j0, n))
        a, b = operands(m, k, n, dtype)
        check(multiply, rng.choice(LAYOUTS)(a), rng.choice(LAYOUTS)(b), at)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("special", [np.nan, np.inf])
def test_nan_and_infinity_reach_their_row_and_column_only(
    multiply: Multiply, dtype: type[Float], special: float
) -> None:
    for (m, n), k in product(((1, 70), (7, 70), (70, 70), (70, 3)), (3, 16, 65)):
        for layout, p in product((row_major, column_major), (0, k - 1)):
            a, b = (layout(np.ones(shape, dtype)) for shape in ((m, k), (k, n)))
            a[m - 1, p], b[p, n - 1] = special, 2 * special
            expected = np.full((m, n), k, dtype)
            expected[m - 1], expected[:, n - 1] = special, special
            np.testing.assert_array_equal(multiply(a, b, (0, m, 0, n)), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_beyond_the_operands_is_read(multiply: Multiply, dtype: type[Float]) -> None:
    for (m, n), k in product(((1, 3), (1, 257), (5, 70), (20, 70), (20, 9), (70, 3)), (1, 7, 16, 35)):
        a, b = operands(m, k, n, dtype)
        check(multiply, at_end_of_memory(a), at_end_of_memory(b))
        check(multiply, at_end_of_memory(row_major(a.T)).T, at_end_of_memory(row_major(b.T)).T)
