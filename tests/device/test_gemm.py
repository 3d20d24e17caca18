"""Matrix products of the CPU prelude against NumPy in double precision."""

import ctypes
import mmap
import os
from collections.abc import Callable
from itertools import product
from random import Random
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pytest

from shlo_disc.lower_cpu.products.multiplication import kernel_named
from tests.device.compilers import COMPILERS
from tests.device.gemm_kinds import OF_NAME, Products, build

Float: TypeAlias = np.float32 | np.float64
Floats: TypeAlias = npt.NDArray[Float]
Multiply: TypeAlias = Callable[[Floats, Floats, tuple[int, int, int, int]], Floats]


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def multiply(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Multiply:
    """Rows [i0, i1) and columns [j0, j1) of a product, which must be handed out exactly once."""
    kinds = (OF_NAME["f32"], OF_NAME["f64"])
    library = build(request.param, tmp_path_factory.mktemp("gemm"), kinds)
    products = Products(library, lambda kind: kernel_named(kind.name).scratch)
    return lambda a, b, at: products.run(kinds[a.dtype == np.float64], a, b, at)


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
    """Sizes beyond one task, beyond the packed memory, beyond a chunk of rows, and beyond unfinished sums."""
    sizes = (
        (1, 2500, 530),
        (9, 1100, 270),
        (200, 1100, 70),
        (390, 40, 300),
        (5000, 40, 1),
        (530, 2500, 3),
        (900, 1100, 70),
    )
    for m, k, n in sizes:
        a, b = operands(m, k, n, dtype)
        check(multiply, layout(a), layout(b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_little_depth(multiply: Multiply, dtype: type[Float]) -> None:
    """As gradients of few rows have: strips of rows on B where it is, up to a depth of 48 and from 128 columns on."""
    for m, n, k in product((11, 12, 13, 25, 193), (127, 128, 131, 300), (2, 47, 48, 49)):
        a, b = operands(m, k, n, dtype)
        for layout in (row_major, column_major):
            check(multiply, layout(a), b)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_right_operands_beyond_the_caches(multiply: Multiply, dtype: type[Float]) -> None:
    """Of more than 2 MiB, by tiles that fetch what comes next: each height alone, and followed by tiles that do not.

    Of more than 8 MiB, whose rows are read along by a lone row of A.
    """
    a, b = operands(1, 2100, 1027, dtype)
    check(multiply, a, b)
    for m in (1, 2, 3, 4, 5, 6, 8, 13, 25, 193):
        a, b = operands(m, 520, 1027, dtype)
        check(multiply, a, b)


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
