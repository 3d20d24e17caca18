"""Kernels that share a launch: however its range is cut, every piece of every part is computed once."""

from __future__ import annotations

import ctypes
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tests.device.compilers import COMPILERS, build

pytestmark = pytest.mark.quick

HARNESS = """
#include "call/kernel.h"
static void count(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, void*) {
  int64_t* const seen = (int64_t*)buffers[0];
  for (int64_t k = begin; k < end; ++k) seen[k] += dims[0];
}
extern "C" void run(int64_t parts, const int64_t* table, void* const* buffers, const int64_t* dims, int64_t begin,
                    int64_t end) {
  ShloPart made[16];
  for (int64_t k = 0; k < parts; ++k) made[k] = {count, k, k, table[2 * k], table[2 * k + 1]};
  run_parts(nullptr, made, parts, buffers, dims, begin, end, nullptr);
}
"""
Pointer = ctypes.POINTER(ctypes.c_int64)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_every_piece_is_computed_once(compiler: str, tmp_path: Path) -> None:
    library = build(compiler, HARNESS, tmp_path)
    rng = np.random.default_rng(0)
    for _ in range(200):
        count = int(rng.integers(1, 9))
        extents, works = rng.choice([0, 1, 2, 3, 7, 64, 97], count), rng.choice([1, 2, 3, 31, 100], count)
        table = np.stack([extents, works], 1).astype(np.int64)
        seen = [np.zeros(extent, np.int64) for extent in extents]
        buffers = (ctypes.c_void_p * count)(*(s.ctypes.data for s in seen))
        numbers = np.arange(1, count + 1, dtype=np.int64)
        total = int((extents * works).sum())
        cuts = sorted({0, total, *rng.integers(0, total + 1, int(rng.integers(0, 9))).tolist()})
        for begin, end in pairwise(cuts):
            library.run(
                ctypes.c_int64(count), table.ctypes.data_as(Pointer), buffers, numbers.ctypes.data_as(Pointer),
                ctypes.c_int64(begin), ctypes.c_int64(end),
            )  # fmt: skip
        for number, found in zip(numbers, seen, strict=True):
            assert (found == number).all(), (table.tolist(), cuts)
