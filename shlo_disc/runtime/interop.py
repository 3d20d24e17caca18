"""Arrays of other libraries without a copy: arguments become NumPy arrays, results JAX arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, Literal, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ArgumentTypeError

Kind = Literal["numpy", "jax", "traced", "dlpack", "scalar", "other"]
Array = NDArray[Any]

_HOST_DEVICES = {1: "CPU", 3: "CUDA host", 11: "ROCm host", 13: "CUDA managed"}  # DLDeviceType


@runtime_checkable
class DLPackArray(Protocol):
    """An array that exports its memory by DLPack."""

    def __dlpack__(self) -> object: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


def kind_of(array: object) -> Kind:
    """The library that an array belongs to. JAX is never imported for this."""
    return _kind_of_type(type(array))


@lru_cache(maxsize=256)
def _kind_of_type(kind: type) -> Kind:
    if issubclass(kind, np.ndarray | np.generic):
        return "numpy"
    if issubclass(kind, bool | int | float | complex):
        return "scalar"
    if kind.__module__.startswith("jaxlib."):
        return "jax"
    if kind.__module__.startswith("jax."):
        return "traced"
    return "dlpack" if issubclass(kind, DLPackArray) else "other"


def is_tracer(array: object) -> bool:
    """Whether this stands for an array in a function that JAX traces."""
    return kind_of(array) == "traced" and hasattr(array, "aval") and type(array).__name__.endswith("Tracer")


def jax_types(arrays: Sequence[object]) -> frozenset[type]:
    """The types of JAX among those of a call's arrays. Cached per set of types, so an array costs next to nothing."""
    return _jax_among(frozenset(map(type, arrays)))


@lru_cache(maxsize=256)
def _jax_among(types: frozenset[type]) -> frozenset[type]:
    return frozenset(kind for kind in types if _kind_of_type(kind) == "jax")


def as_numpy(array: object) -> Array:
    """View an array of any library as a NumPy array, without a copy if its memory is accessible."""
    match kind_of(array):
        case "numpy" | "scalar":
            return np.asarray(array)
        case "jax":
            return np.asarray(array)  # waits until JAX has computed it
        case "traced":
            raise ArgumentTypeError(_without_value(array))
        case "dlpack":
            return _from_dlpack(cast("DLPackArray", array))
        case "other":
            if hasattr(array, "__array_interface__") or hasattr(array, "__array__"):
                return np.asarray(array)
            several = isinstance(array, list | tuple)
            mend = "\n  help: make an array of it, for example with numpy.asarray" if several else ""
            raise ArgumentTypeError(
                f"found {type(array).__name__}, expected a NumPy, JAX or DLPack array, or a number for rank 0{mend}"
            )


def _without_value(array: object) -> str:
    """Why an object of JAX that is no array cannot be an argument."""
    name = type(array).__name__
    if name.endswith("Tracer"):
        return _traced(name)
    found = f"found {name}, expected an array with a value"
    if name == "PRNGKeyArray":
        return f"{found}\n  help: take the data of a random key with jax.random.key_data"
    return found


def _traced(name: str) -> str:
    """What a tracer is, and what to do: the only place that says how a program is called in a function of JAX."""
    return (
        f"found {name}, which stands for an array while JAX traces a function (jax.jit, jax.grad, jax.vmap), "
        "expected an array with a value\n"
        "  help: call run.as_jax() there, or use shlo_disc.jit, whose functions JAX can also differentiate"
    )


def unreadable(array: object, error: Exception, help_: str = "") -> ArgumentTypeError:
    """The error for an array whose library does not export it by DLPack."""
    if getattr(array, "requires_grad", False) is True:  # of Torch
        return ArgumentTypeError(
            f"found {type(array).__name__} that requires a gradient, expected one without: "
            "a compiled program computes no gradients of its arguments\n"
            "  help: pass what its .detach() returns"
        )
    return ArgumentTypeError(f"found {type(array).__name__} that cannot be read by DLPack ({error}){help_}")


def to_jax(arrays: Sequence[Array], *, weak: bool = False) -> tuple[object, ...]:
    """View NumPy arrays as JAX arrays on the CPU. Aligned memory is shared: do not write to it any more.

    `weak`: with JAX's weak types, which give way to other types in arithmetic.
    """
    put, shaped, sharding, devices = jax_put()
    return tuple([put(shaped(x.shape, x.dtype, weak), sharding, [x], devices, False, enable_x64=True) for x in arrays])


@lru_cache(maxsize=1)
def jax_put() -> tuple[Callable[..., object], Callable[..., object], object, list[object]]:
    """The call that ends `jax.device_put`, which itself takes 10 times longer, and the arguments of that call.

    64-bit types stay what they are, also where x64 is off. `jax.device_put` is the fallback for other jaxlibs.
    """
    jax = cast("Any", import_module("jax"))  # it is installed: a JAX array came in
    device = jax.local_devices(backend="cpu")[0]
    put = getattr(import_module("jaxlib.xla_client"), "batched_device_put", partial(_device_put, jax))
    return put, lru_cache(maxsize=4096)(jax.core.ShapedArray), jax.sharding.SingleDeviceSharding(device), [device]


@lru_cache(maxsize=1)
def jax_call() -> tuple[Callable[..., object], tuple[object, ...], tuple[str, ...]]:
    """That call, its arguments, and the names of the last ones. The type is its first argument, the array in its third.

    A tenth faster if all are positional; with a keyword, as JAX calls it, where that does not work.
    """
    put, shaped, sharding, devices = jax_put()
    example = np.zeros(1, np.float32)
    of_example = shaped(example.shape, example.dtype)
    try:
        zero_copy = cast("Any", import_module("jaxlib.xla_client")).HostBufferSemantics.ZERO_COPY
        put(of_example, sharding, [example], devices, False, False, zero_copy, True)
    except (AttributeError, TypeError):
        return put, (of_example, sharding, None, devices, False, True), ("enable_x64",)
    return put, (of_example, sharding, None, devices, False, False, zero_copy, True), ()


def _device_put(jax: Any, _aval: object, _sharding: object, *arguments: Any, enable_x64: bool) -> object:
    (array,), (device,), _committed = arguments
    with jax.enable_x64(enable_x64):
        return jax.device_put(array, device, may_alias=True)


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
        mend = "\n  help: hand over a NumPy array; ml_dtypes has the types that NumPy lacks"
        raise unreadable(array, error, mend) from error


@lru_cache(maxsize=256)
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
