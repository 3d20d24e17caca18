"""Loads and stores of the prelude's vectors: what they touch, and nothing else."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from tests.device.compilers import COMPILERS, build

Array: TypeAlias = NDArray[Any]
Call: TypeAlias = Callable[..., None]

TYPES: dict[str, tuple[str, type[Any]]] = {
    "i8": ("int8_t", np.int8), "u16": ("uint16_t", np.uint16), "i32": ("int32_t", np.int32),
    "u64": ("uint64_t", np.uint64), "f32": ("float", np.float32), "f64": ("double", np.float64),
    "bf16": ("bf16", ml_dtypes.bfloat16), "f16": ("f16", np.float16), "bool": ("uint8_t", np.bool_),
    "c64": ("c64", np.complex64), "c128": ("c128", np.complex128),
}  # fmt: skip

FUNCTIONS = """
extern "C" void copy_{tag}(const {kind}* from, {kind}* to, int64_t n) {{ store{b}_n(to, load{b}_n(from, n), n); }}
extern "C" void whole_{tag}(const {kind}* from, {kind}* to, int64_t) {{ store{b}(to, load{b}(from)); }}
extern "C" void fill_{tag}(const {kind}* from, {kind}* to, int64_t n) {{ store{b}(to, load{b}_n(from, n)); }}
extern "C" void stride_{tag}(const {kind}* from, {kind}* to, int64_t n, int64_t stride) {{
  store{b}(to, load_stride{b}(from, stride, n));
}}
extern "C" void spread_{tag}(const {kind}* from, {kind}* to, int64_t n, int64_t stride) {{
  store_stride{b}(to, stride, load{b}_n(from, n), n);
}}
extern "C" void gather_{tag}(const {kind}* from, {kind}* to, int64_t n, const int64_t* index) {{
  store{b}(to, gather{b}(from, load(index), n));
}}
extern "C" void at_{tag}(const {kind}* from, {kind}* to, int64_t held, const int64_t* index) {{
  store{b}_held(to, load{b}_at(from, places(from, load(index), held)), held);
}}
extern "C" void strides_{tag}(const {kind}* from, {kind}* to, int64_t n, int64_t stride) {{
  store{b}_held(to, load{b}_at(from, strides(from, stride, n)), (1u << n) - 1);
}}
extern "C" void held_{tag}(const {kind}* from, {kind}* to, int64_t first, int64_t last) {{
  store{b}_held(to, load{b}_held(from, held_between(first, last)), held_between(first, last));
}}
extern "C" void keep_{tag}(const {kind}* from, {kind}* to, int64_t n) {{
  auto v = load{b}(from);
  store{b}(to, keep_n(v, n, load{b}(from + 16)));
}}
"""

REAL_FUNCTIONS = """
extern "C" void where_{tag}(const {kind}* from, {kind}* to, int64_t first, int64_t last) {{
  store{b}(to, load{b}_where(from, lanes_between(first, last)));
}}
extern "C" void stride_where_{tag}(const {kind}* from, {kind}* to, int64_t first, int64_t last, int64_t stride) {{
  store{b}(to, load_stride{b}_where(from, stride, lanes_between(first, last)));
}}
extern "C" void gather_where_{tag}(const {kind}* from, {kind}* to, int64_t first, int64_t last, const int64_t* index) {{
  store{b}(to, gather{b}_where(from, load(index), lanes_between(first, last)));
}}
extern "C" void interleave_{tag}(const {kind}* from, {kind}* to, int64_t count) {{
  auto v = [&](int k) {{ return load{b}(from + 16 * k); }};
  if (count == 2) store{b}_interleaved(to, v(0), v(1));
  if (count == 3) store{b}_interleaved(to, v(0), v(1), v(2));
  if (count == 8) store{b}_interleaved(to, v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7));
  if (count == 9) store{b}_interleaved(to, v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7), v(8));
}}
"""

REALS = [tag for tag in TYPES if not tag.startswith("c")]
HARNESS = (
    '#include "math/math.h"\n#include "math/complex.h"\n#include "values/interleave.h"\n#include "values/masked.h"\n'
    + "".join(
        (FUNCTIONS + (REAL_FUNCTIONS if tag in REALS else "")).format(
            tag=tag, kind=kind, b="_bool" if tag == "bool" else ""
        )
        for tag, (kind, _) in TYPES.items()
    )
)

PROT_READ, PROT_WRITE = mmap.PROT_READ, mmap.PROT_WRITE


class Guarded:
    """A page followed by one that may not be touched."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, 2 * mmap.PAGESIZE)
        self.page = np.frombuffer(self.memory, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        second = ctypes.c_void_p(self.page.ctypes.data + mmap.PAGESIZE)
        assert libc.mprotect(second, ctypes.c_size_t(mmap.PAGESIZE), 0) == 0, "mprotect"

    def last(self, count: int, dtype: type[Any]) -> Array:
        """The last elements before the forbidden page."""
        size = count * np.dtype(dtype).itemsize
        return self.page[mmap.PAGESIZE - size : mmap.PAGESIZE].view(dtype)


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def call(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Call:
    library = build(str(request.param), HARNESS, tmp_path_factory.mktemp("memory"))

    def run(name: str, source: Array, target: Array, *more: int | Array) -> None:
        numbers = (ctypes.c_int64(x) if isinstance(x, int) else ctypes.c_void_p(x.ctypes.data) for x in more)
        library[name](ctypes.c_void_p(source.ctypes.data), ctypes.c_void_p(target.ctypes.data), *numbers)

    return run


def numbers(count: int, dtype: type[Any]) -> Array:
    rng = np.random.default_rng(count)
    return (rng.integers(0, 2, count) if dtype is np.bool_ else rng.integers(1, 100, count)).astype(dtype)


@pytest.mark.parametrize("tag", TYPES)
def test_first_lanes(call: Call, tag: str) -> None:
    dtype = TYPES[tag][1]
    source, target = Guarded(), Guarded()
    for n in range(17):
        given, taken = source.last(n, dtype), target.last(n, dtype)
        given[:], taken[:] = numbers(n, dtype), 0
        before = target.page[: mmap.PAGESIZE].copy()
        call(f"copy_{tag}", given, taken, n)
        np.testing.assert_array_equal(taken, given)
        size = mmap.PAGESIZE - given.nbytes
        np.testing.assert_array_equal(target.page[:size], before[:size])
        full = np.ones(16, dtype)
        call(f"fill_{tag}", given, full, n)
        np.testing.assert_array_equal(full, np.concatenate([given, np.zeros(16 - n, dtype)]))


@pytest.mark.parametrize("tag", TYPES)
def test_whole_vectors(call: Call, tag: str) -> None:
    dtype = TYPES[tag][1]
    for offset in range(4):  # no alignment beyond the element's
        given, taken = numbers(20, dtype)[offset : offset + 16], np.zeros(20, dtype)[offset : offset + 16]
        call(f"whole_{tag}", given, taken, 16)
        np.testing.assert_array_equal(taken, given)
    given, taken = numbers(32, dtype), np.zeros(16, dtype)
    for n in range(17):
        call(f"keep_{tag}", given, taken, n)
        np.testing.assert_array_equal(taken, np.concatenate([given[:n], given[16 + n :]]))


@pytest.mark.parametrize("tag", TYPES)
def test_strided(call: Call, tag: str) -> None:
    dtype = TYPES[tag][1]
    memory = Guarded()
    for n in range(17):
        for stride in (0, 1, 2, 5, -3, 8, -8, 9):
            reach = abs(stride) * max(n - 1, 0) + 1
            span = memory.last(reach, dtype)
            span[:] = numbers(reach, dtype)
            start = span[-1:] if stride < 0 else span
            wanted = np.array([start[0] if n else 0] * n, dtype)
            if stride:
                wanted[:] = span[::stride][:n]
            taken = np.ones(16, dtype)
            call(f"stride_{tag}", start, taken, n, stride)
            np.testing.assert_array_equal(taken, np.concatenate([wanted, np.zeros(16 - n, dtype)]))
            if stride > 0:
                spread, back = memory.last(n * stride, dtype), numbers(n * stride, dtype)
                spread[:], given = back, numbers(n, dtype)
                call(f"spread_{tag}", given, spread, n, stride)
                back[::stride] = given
                np.testing.assert_array_equal(spread, back)


@pytest.mark.parametrize("tag", TYPES)
def test_gathered(call: Call, tag: str) -> None:
    dtype = TYPES[tag][1]
    given = numbers(50, dtype)
    for n in range(17):
        index = np.full(16, 1 << 60, np.int64)  # absent lanes point nowhere
        index[:n] = np.random.default_rng(n).integers(0, 50, n)
        taken = np.ones(16, dtype)
        call(f"gather_{tag}", given, taken, n, index)
        np.testing.assert_array_equal(taken, np.concatenate([given[index[:n]], np.zeros(16 - n, dtype)]))


@pytest.mark.parametrize("tag", TYPES)
def test_places(call: Call, tag: str) -> None:
    dtype, lanes = TYPES[tag][1], np.arange(16)
    for held in (0xFFFF, 1, 0x8000, 0x00FF, 0xFF00, 0x5A5A, 0x7FFE, 0):
        here = (held >> lanes & 1).astype(bool)
        for reach in (1, 16, 30, 60, 120, 200):  # in one register, in a few, in too many
            source, target = Guarded().last(reach, dtype), numbers(16, dtype)
            source[:], before = numbers(reach, dtype), target.copy()
            index = np.random.default_rng(held).integers(0, reach, 16)
            index[~here] = index[here][0] if held else 1 << 60
            call(f"at_{tag}", source, target, held, index)
            np.testing.assert_array_equal(target[here], source[index[here]])
            np.testing.assert_array_equal(target[~here], before[~here])


@pytest.mark.parametrize("tag", TYPES)
def test_strides(call: Call, tag: str) -> None:
    dtype, memory = TYPES[tag][1], Guarded()
    for n in (1, 7, 8, 9, 16):
        for stride in (0, 1, 3, 8, -8, 9, 17):
            span, taken = memory.last(abs(stride) * (n - 1) + 1, dtype), np.ones(16, dtype)
            span[:] = numbers(len(span), dtype)
            call(f"strides_{tag}", span[-1:] if stride < 0 else span, taken, n, stride)
            np.testing.assert_array_equal(taken[:n], span[::stride] if stride else span.repeat(n))
            np.testing.assert_array_equal(taken[n:], np.ones(16 - n, dtype))


@pytest.mark.parametrize("tag", TYPES)
def test_held_neighbours(call: Call, tag: str) -> None:
    dtype, memory = TYPES[tag][1], Guarded()
    for first, last in ((0, 16), (-9, 99), (3, 11), (0, 8), (8, 16), (7, 7), (12, 3)):
        begin, end = max(first, 0), max(first, 0, min(last, 16))
        given, taken = memory.last(end - begin, dtype), np.ones(16, dtype)
        given[:] = numbers(end - begin, dtype)
        start = memory.page[mmap.PAGESIZE - given.nbytes - begin * given.itemsize :]  # where lane 0 would read
        call(f"held_{tag}", start, taken, first, last)
        np.testing.assert_array_equal(taken[begin:end], given)
        np.testing.assert_array_equal(np.delete(taken, range(begin, end)), np.ones(16 - end + begin, dtype))


@pytest.mark.parametrize("tag", REALS)
def test_under_a_mask(call: Call, tag: str) -> None:
    dtype = TYPES[tag][1]
    memory, lanes = Guarded(), np.arange(16)
    for first, last in ((0, 16), (-9, 99), (3, 11), (0, 8), (8, 16), (15, 16), (7, 7), (12, 3), (20, 1 << 40)):
        held = (lanes >= first) & (lanes < last)
        count = int(held.sum())
        given = memory.last(count, dtype)
        given[:] = numbers(count, dtype)
        wanted = np.zeros(16, dtype)
        wanted[held] = given
        start = memory.page[mmap.PAGESIZE - given.nbytes - max(first, 0) * given.itemsize :]  # where lane 0 would read
        for name, step in (("where", ()), ("stride_where", (1,))):
            taken = np.ones(16, dtype)
            call(f"{name}_{tag}", start, taken, first, last, *step)
            np.testing.assert_array_equal(taken, wanted)
        index = np.where(held, np.cumsum(held) - 1, 1 << 60)  # absent lanes point nowhere
        taken = np.ones(16, dtype)
        call(f"gather_where_{tag}", given, taken, first, last, index)
        np.testing.assert_array_equal(taken, wanted)


@pytest.mark.parametrize("tag", REALS)
def test_interleaved(call: Call, tag: str) -> None:
    dtype, memory = TYPES[tag][1], Guarded()
    for count in (2, 3, 8, 9):
        given, taken = numbers(16 * count, dtype), memory.last(16 * count, dtype)
        call(f"interleave_{tag}", given, taken, count)
        np.testing.assert_array_equal(taken, given.reshape(count, 16).T.ravel())
