"""Arrays of other libraries: seen as NumPy on the way in, as JAX on the way out, without a copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ArgumentTypeError

Kind = Literal["numpy", "jax", "dlpack", "scalar", "other"]
Array = NDArray[Any]

_HOST_DEVICES = {1: "CPU", 3: "CUDA host", 11: "ROCm host", 13: "CUDA managed"}  # DLDeviceType


@runtime_checkable
class DLPackArray(Protocol):
    """An array that hands out its memory by DLPack."""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def kind_of(array: object) -> Kind:
    """Whose array this is. JAX is never imported for the answer."""
    if isinstance(array, np.ndarray | np.generic):
        return "numpy"
    if isinstance(array, bool | int | float | complex):
        return "scalar"
    if is_jax(array):
        return "jax"
    return "dlpack" if isinstance(array, DLPackArray) else "other"


def kind_of_call(arrays: Sequence[object]) -> Kind:
    """The kind that results should have: JAX if any argument is JAX's, else NumPy."""
    return "jax" if any(map(is_jax, arrays)) else "numpy"


def as_numpy(array: object) -> Array:
    """See an array of any library as a NumPy array, without a copy if its memory can be reached."""
    match kind_of(array):
        case "numpy" | "scalar":
            return np.asarray(array)
        case "jax":
            return _from_jax(array)
        case "dlpack":
            return _from_dlpack(cast("DLPackArray", array))
        case "other":
            if hasattr(array, "__array_interface__") or hasattr(array, "__array__"):
                return np.asarray(array)
            raise ArgumentTypeError(
                f"found {type(array).__name__}, expected a NumPy, JAX or DLPack array, or a number for rank 0"
            )


def like(kind: Kind, array: Array) -> object:
    """Give a result the kind of the arguments."""
    return to_jax(array) if kind == "jax" else array


def to_jax(array: Array) -> object:
    """See a NumPy array as a JAX array. Aligned memory is shared: do not write to it any more."""
    jax = import_module("jax")  # it is there: a JAX array came in
    put = cast("Callable[..., object]", jax.device_put)
    if array.dtype.itemsize < 8 or array.dtype == np.complex64:
        return put(array, may_alias=True)
    with cast("Callable[[bool], AbstractContextManager[None]]", jax.enable_x64)(True):
        return put(array, may_alias=True)  # else JAX would narrow it


def is_jax(array: object) -> bool:
    """Whether this is JAX's: an array, or a tracer."""
    return type(array).__module__.startswith(("jaxlib.", "jax."))


def is_jax_array(array: object) -> bool:
    """Whether this is a JAX array with a value; NumPy sees its memory, on the CPU without a copy."""
    return type(array).__module__.startswith("jaxlib.")


def _from_jax(array: object) -> Array:
    if not is_jax_array(array):
        raise ArgumentTypeError(
            f"found {type(array).__name__}, expected an array with a value\n"
            "  help: a compiled program cannot be called inside jax.jit or jax.grad"
        )
    return np.asarray(array)


def _from_dlpack(array: DLPackArray) -> Array:
    device, _ = array.__dlpack_device__()
    if device not in _HOST_DEVICES:
        raise ArgumentTypeError(
            f"found an array on DLPack device type {device}, expected one on the CPU (1)\n"
            "  help: copy it to the CPU first"
        )
    try:
        return np.from_dlpack(cast("Any", array))
    except (BufferError, RuntimeError, TypeError) as error:
        raise ArgumentTypeError(
            f"found {type(array).__name__} that NumPy cannot read by DLPack ({error})\n"
            "  help: hand over a NumPy array; ml_dtypes has the types that NumPy lacks"
        ) from error


def dtype_of(name: str) -> np.dtype[np.generic]:
    """The dtype with NumPy's or ml_dtypes' `name`; raw bits if ml_dtypes is not installed.

    >>> dtype_of("float32"), dtype_of("bool")
    (dtype('float32'), dtype('bool'))
    """
    try:
        found = np.dtype(name)
    except TypeError:
        return _extended(name)
    assert found.name == name, f"dtype {name!r} in an artifact, expected NumPy's own name, {found.name!r}"
    return cast("np.dtype[np.generic]", found)


def _extended(name: str) -> np.dtype[np.generic]:
    try:
        ml_dtypes = import_module("ml_dtypes")
    except ImportError:  # an optional dependency
        return np.dtype(np.uint16 if name == "bfloat16" else np.uint8)
    return cast("np.dtype[np.generic]", np.dtype(cast("type", getattr(ml_dtypes, name))))
