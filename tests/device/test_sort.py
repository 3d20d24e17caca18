"""Sorting against GNU's C++ library: unstable sorts give equal elements the order that its `std::sort` gives them."""

from __future__ import annotations

import ctypes
import shutil
from pathlib import Path

import numpy as np
import pytest

from tests.device.compilers import COMPILERS, build

ORACLE = """
#include <algorithm>
#include <stdint.h>
extern "C" void by_library(const int32_t* keys, int32_t* order, int64_t n) {
  std::sort(order, order + n, [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
}
// An order that makes a quicksort with these comparisons slow (McIlroy, "A killer adversary for quicksort", 1999).
extern "C" void killer(int32_t* keys, int32_t* order, int64_t n) {
  int32_t solid = 0, candidate = 0;
  const int32_t gas = int32_t(n) - 1;
  for (int64_t i = 0; i < n; ++i) keys[i] = gas;
  std::sort(order, order + n, [&](int32_t a, int32_t b) {
    if (keys[a] == gas && keys[b] == gas) keys[a == candidate ? a : b] = solid++;
    if (keys[a] == gas) candidate = a;
    else if (keys[b] == gas) candidate = b;
    return keys[a] < keys[b];
  });
}
"""
HARNESS = """
#include "sort/sort.h"
extern "C" void by_ours(const int32_t* keys, int32_t* order, int64_t n) {
  intro_sort(order, n, [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
}
extern "C" void by_heap(const int32_t* keys, int32_t* order, int64_t n) {
  heap_sort(order, n, [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
}
extern "C" void by_merging(const int32_t* keys, int32_t* order, int32_t* scratch, int64_t n) {
  merge_sort(order, scratch, n, [&](int32_t a, int32_t b) { return keys[a] < keys[b]; });
}
"""
LENGTHS = (*range(40), 63, 64, 65, 127, 128, 129, 1000, 4099)


def pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("g++") is None:
        pytest.skip("needs g++, whose library is the oracle")
    return build("gcc", ORACLE, tmp_path_factory.mktemp("oracle"), "-lstdc++")


@pytest.mark.parametrize("compiler", COMPILERS)
def test_orders(compiler: str, oracle: ctypes.CDLL, tmp_path: Path) -> None:
    library, rng = build(compiler, HARNESS, tmp_path), np.random.default_rng(5)
    for n in LENGTHS:
        slow, order = np.zeros(n, np.int32), np.arange(n, dtype=np.int32)
        oracle.killer(pointer(slow), pointer(order), n)
        for keys in (slow, slow // 2, rng.integers(0, n + 1, n), rng.integers(0, 3, n), np.sort(slow), np.zeros(n)):
            given, numbers = keys.astype(np.int32), np.arange(n, dtype=np.int32)
            wanted, ours, merged, heaped, scratch = (numbers.copy() for _ in range(5))
            oracle.by_library(pointer(given), pointer(wanted), n)
            library.by_ours(pointer(given), pointer(ours), n)
            np.testing.assert_array_equal(ours, wanted)
            library.by_merging(pointer(given), pointer(merged), pointer(scratch), n)
            np.testing.assert_array_equal(merged, np.argsort(given, kind="stable"))
            library.by_heap(pointer(given), pointer(heaped), n)
            np.testing.assert_array_equal(given[heaped], np.sort(given))
            np.testing.assert_array_equal(np.sort(heaped), numbers)
