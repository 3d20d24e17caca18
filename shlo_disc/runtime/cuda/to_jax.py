# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# JAX and CuPy have no types here; nothing untyped leaves this module.
"""Export results on the GPU as JAX arrays, without a copy.

`jax.dlpack.from_dlpack` takes 52 us, of which 20 are the call of jaxlib at its end. That call is made directly here, as
from_dlpack makes it: on a stream of JAX's own, which first waits for ours. All results of a call share that wait.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cached_property
from importlib import import_module
from typing import Any, cast

import numpy as np

_X64 = frozenset(map(np.dtype, ("int64", "uint64", "float64", "complex128")))
_CUDA = 2  # DLDeviceType
_NO_STREAM = -1  # DLPack's number for: do not wait for anything


class JaxResults:
    """Export of CuPy arrays on one GPU as JAX arrays."""

    def __init__(self, cupy: Any, number: int) -> None:
        self._cupy, self._number = cupy, number

    def of(self, arrays: Sequence[Any], after_all: Callable[[], Any]) -> tuple[object, ...]:
        """View CuPy arrays as JAX arrays. `after_all` returns an event that completes when they are computed.

        64-bit types stay what they are, also where x64 is off.
        """
        if self._door is None:
            return tuple([_by_public_call(array) for array in arrays])
        device, convert = self._door
        stream = device.get_stream_for_external_ready_events()
        self._cupy.cuda.runtime.streamWaitEvent(stream, after_all().ptr)
        return tuple(
            [
                convert(array.__dlpack__(stream=_NO_STREAM), stream) if array.size else _by_public_call(array)
                for array in arrays
            ]
        )

    @cached_property
    def _door(self) -> tuple[Any, Callable[..., object]] | None:
        """JAX's object for the GPU, and jaxlib's call; None if this jaxlib has no such call: the public one is used."""
        jax = cast("Any", import_module("jax"))  # it is installed: a JAX array came in
        try:
            convert = cast("Any", import_module("jaxlib._jax")).dlpack_managed_tensor_to_buffer
            devices = jax.local_devices(backend="cuda")
        except (ImportError, AttributeError, RuntimeError):  # RuntimeError: JAX has no GPU, and will report it
            return None
        found = [one for one in devices if one.local_hardware_id == self._number]
        if not found or not hasattr(found[0], "get_stream_for_external_ready_events"):
            return None
        device = found[0]
        kind = (_CUDA,) if "dl_device_type" in (convert.__doc__ or "") else ()  # newer ones require it

        def on_device(capsule: object, stream: int) -> object:
            return convert(capsule, device, stream, None, *kind)

        return device, on_device


def _by_public_call(array: Any) -> object:
    """Export by JAX's public function; an empty array has no memory to share."""
    jax = cast("Any", import_module("jax"))
    with jax.enable_x64(True) if array.dtype in _X64 else nullcontext():
        return jax.dlpack.from_dlpack(array) if array.size else jax.numpy.empty(array.shape, array.dtype)
