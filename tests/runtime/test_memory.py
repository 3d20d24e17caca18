"""Memory comes back when nothing refers to it any more, and no sooner."""

from __future__ import annotations

import gc
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shlo_disc.runtime.memory import ALIGNMENT, MemoryPool, size_class

F32 = np.dtype(np.float32)


def test_an_array_is_aligned_and_of_its_own() -> None:
    pool = MemoryPool()
    arrays = [pool.shelf(4000).array((20, 50), F32) for _ in range(5)]
    assert all(array.shape == (20, 50) and array.dtype == F32 for array in arrays)
    assert all(array.ctypes.data % ALIGNMENT == 0 for array in arrays)
    assert len({array.ctypes.data for array in arrays}) == 5


def test_a_small_array_is_aligned_too() -> None:
    pool = MemoryPool()
    arrays = [pool.shelf(40).array((2, 5), F32) for _ in range(9)]
    assert all(array.shape == (2, 5) and array.dtype == F32 for array in arrays)
    assert all(array.ctypes.data % ALIGNMENT == 0 for array in arrays)


def test_memory_is_used_again_after_the_last_view() -> None:
    pool = MemoryPool()
    array = pool.shelf(4000).array((10, 100), F32)
    address = array.ctypes.data
    view = array.T[5:].reshape(-1)[3:]
    memory = memoryview(cast("Any", array))
    del array
    gc.collect()
    assert pool.free_bytes() == 0
    assert pool.shelf(4000).take().pointer.value != address
    del view
    assert pool.free_bytes() == 0
    del memory
    assert pool.free_bytes() == size_class(4000)
    assert pool.shelf(4000).take().pointer.value == address


def test_a_library_that_shares_the_memory_keeps_it() -> None:
    jax = pytest.importorskip("jax")
    pool = MemoryPool()
    array = pool.shelf(4096).array((1024,), F32)
    address = array.ctypes.data
    array[...] = 3
    shared = jax.dlpack.from_dlpack(array)
    assert shared.unsafe_buffer_pointer() == address
    del array
    gc.collect()
    assert pool.free_bytes() == 0
    assert float(shared.sum()) == 3 * 1024
    del shared
    gc.collect()
    assert pool.free_bytes() == 4096


def test_too_much_unused_memory_is_let_go() -> None:
    pool = MemoryPool(limit=1 << 20)
    held = [pool.shelf(1 << 18).array((1 << 16,), F32) for _ in range(8)]
    del held
    assert pool.free_bytes() == 1 << 20  # four of eight
    other = pool.shelf(1 << 19).array((1 << 17,), F32)
    del other
    assert pool.free_bytes() == 3 << 19
    pool.shelf(3 << 18).take()
    assert pool.free_bytes() == 0


def test_a_piece_larger_than_the_limit_is_not_kept() -> None:
    pool = MemoryPool(limit=1000)
    pool.shelf(2000).take().give_back()
    assert pool.free_bytes() == 0


@given(st.integers(0, 1 << 40))
def test_a_size_class_is_close_above(size: int) -> None:
    rounded = size_class(size)
    assert rounded >= max(size, ALIGNMENT)
    assert rounded % ALIGNMENT == 0
    assert rounded <= max(1.25 * size, size + ALIGNMENT)
    assert size_class(rounded) == rounded
