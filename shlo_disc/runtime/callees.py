"""What host calls call: Fourier transforms, and the functions of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.artifact import DeviceKind, HostCall
from shlo_disc.custom_calls import CustomCall, decoded
from shlo_disc.diagnostics import InternalError
from shlo_disc.linear_algebra import Routine
from shlo_disc.runtime.fourier import Transform, bind_fft
from shlo_disc.runtime.host_calls import Callee
from shlo_disc.runtime.interop import as_numpy, dtype_of

OnHost: TypeAlias = Callable[[Callee], Callee]
BindFft: TypeAlias = Callable[[Transform, int], Callee]


def bind_on_host(call: HostCall, threads: int) -> Callee:
    """What a call of a program for the CPU calls."""
    return bind(call, "cpu", lambda transform, rank: bind_fft(transform, rank, threads), as_numpy, _as_it_is)


def bind(
    call: HostCall, device: DeviceKind, fft: BindFft, as_array: Callable[[object], Any], on_host: OnHost
) -> Callee:
    """What a call calls on a device; `as_array` sees what a user's function returned as an array there."""
    match call.callee:
        case "fft":
            return fft(call.attributes["transform"], call.attributes["rank"])
        case "custom_call":
            return _users(call.attributes, device, as_array)
        case "linear_algebra":
            return on_host(Routine(**call.attributes).run)
        case _:
            raise InternalError(f"a host call of {call.callee!r}, expected 'fft', 'custom_call' or 'linear_algebra'")


def _as_it_is(callee: Callee) -> Callee:
    return callee


def _users(attributes: Mapping[str, Any], device: DeviceKind, as_array: Callable[[object], Any]) -> Callee:
    """Call the function that is registered for a target when the program runs."""
    entries, returns = decoded(attributes["entries"], dtype_of), attributes["returns"]
    call = CustomCall(attributes["target"], entries, attributes["aliases"])

    def compute(operands: Sequence[Any], results: Sequence[Any]) -> None:
        for operand in operands:
            if isinstance(operand, np.ndarray):  # CuPy's arrays can always be written
                operand.flags.writeable = False
        call.run(device, operands, results[:returns], as_array)

    return compute
