"""What arrays say of themselves by DLPack, read without their library; on the CPU, where it can be checked."""

# JAX's functions are partly untyped; this file is about their arrays.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import sys
import weakref
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.runtime import dlpack

pytestmark = pytest.mark.quick

DTYPES = ("bool", "int8", "int64", "uint16", "float16", "float32", "float64", "complex64", "complex128")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 3)])
def test_numpy_arrays(dtype: str, shape: tuple[int, ...]) -> None:
    array = np.ones(shape, dtype)
    view = dlpack.read(array, None)
    assert (view.shape, view.dtype, view.contiguous) == (shape, dtype, True)
    if array.size:
        assert view.pointer == array.ctypes.data


def test_jax_arrays() -> None:
    array = jnp.ones((4, 5), jnp.bfloat16)
    view = dlpack.read(array, None)
    assert (view.shape, view.dtype, view.contiguous) == ((4, 5), "bfloat16", True)
    assert view.pointer == array.unsafe_buffer_pointer()


@pytest.mark.parametrize("start", [0, 1])
def test_views(start: int) -> None:
    array: NDArray[np.float32] = np.arange(24, dtype=np.float32).reshape(4, 6)
    for part, contiguous in (
        (array[start:], True), (array[:, start : start + 2], False), (array.T, False), (array[:1, ::2], False),
        (array[:, :1].T[:1, :1], True),
    ):  # fmt: skip
        view = dlpack.read(part, None)
        assert (view.pointer, view.shape, view.contiguous) == (part.ctypes.data, part.shape, contiguous)


def test_the_capsule_keeps_the_memory_and_lets_it_go() -> None:
    class Watched(np.ndarray[Any, np.dtype[np.float32]]):
        pass

    array = np.ones(3, np.float32).view(Watched)
    gone = weakref.ref(array)
    view = dlpack.read(array, None)
    del array
    assert gone() is not None
    assert sys.getrefcount(view.capsule) >= 1
    del view
    assert gone() is None


def test_an_unknown_dtype_is_refused() -> None:
    for code, bits, lanes in ((3, 64, 1), (2, 32, 4), (99, 8, 1)):
        with pytest.raises(ArgumentTypeError, match=f"code {code}, {bits} bits and {lanes} lanes"):
            dlpack.dtype_name(code, bits, lanes)
