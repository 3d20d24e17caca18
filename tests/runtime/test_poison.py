"""Tests poison memory before every call: what a program reads without having written it is never right by chance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shlo_disc.artifact import Argument, Artifact, Result, SourceFile
from shlo_disc.host_ir import Buffer, Launch
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.memory import POOL, MemoryPool
from tests.runtime.sample import SAMPLE
from tests.size_text import parsed

# Returns what it finds in the arena, in scratch memory and in a result, and leaves other numbers there.
_KERNEL = r"""
#include "call/runtime.h"

extern "C" void peek(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t, int64_t, void* scratch) {
  int32_t* const hidden = static_cast<int32_t*>(buffers[0]);
  int32_t* const found = static_cast<int32_t*>(buffers[1]);
  int32_t* const own = static_cast<int32_t*>(scratch);
  for (int64_t i = 0; i < dims[0]; i++) {
    found[i] &= hidden[i] & own[i];
    hidden[i] = own[i] = 7;
  }
}
"""

PEEK: Artifact = replace(
    SAMPLE,
    name="peek",
    arguments=(Argument("args[0]", "float32", ("n",)),),
    results=(Result("int32", ("n",)),),
    symbols=("n",),
    raw=((0, 0),),
    definitions=(),
    checks=(),
    buffers=(
        Buffer("argument", 0, 0, parsed("n * 4"), "x", "float32", ("n",)),
        Buffer("arena", 0, 0, parsed("n * 4"), "hidden", "int32", ("n",)),
        Buffer("result", 0, 0, parsed("n * 4"), "found", "int32", ("n",)),
    ),
    constants=(),
    arena_bytes=parsed("n * 4"),
    steps=(Launch("peek", (1, 2), ("n",), 1, 1, parsed("n * 4")),),
    kernels=(SourceFile("kernels", _KERNEL),),
)


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_no_call_finds_what_an_earlier_one_left(driver: str, cache_dir: Path) -> None:
    run = build(PEEK, CompileOptions(cache_dir=cache_dir, driver=driver))  # pyright: ignore[reportArgumentType]
    for count in (3, 1000, 3, 1000, 999, 300_000, 300_000):  # arenas of more than a MiB have a list of their own
        (found,) = run((np.zeros(count, np.float32),))
        assert (found == -1).all(), f"{driver}, {count}: bytes that were not 0xFF before the call"
        found[:] = 7  # its memory serves the next call
        del found


def test_memory_is_left_alone_unless_tests_ask() -> None:
    assert POOL.poisons, "conftest.py poisons the memory of all tests"
    pool = MemoryPool()
    cell = pool.shelf(100).take()
    cell.data[:] = 7
    cell.give_back()
    assert (pool.shelf(100).take().data == 7).all()
