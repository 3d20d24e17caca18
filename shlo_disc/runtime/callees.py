"""Callees of host calls: Fourier transforms, linear algebra, and the functions of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.custom_calls import CustomCall, decoded
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import HostCall
from shlo_disc.linear_algebra import Routine
from shlo_disc.records import record
from shlo_disc.runtime.fourier import Transform, bind_fft
from shlo_disc.runtime.host_calls import Callee
from shlo_disc.runtime.interop import as_numpy, dtype_of
from shlo_disc.target_names import HOST

OnHost: TypeAlias = Callable[[Callee], Callee]
BindFft: TypeAlias = Callable[[Transform, int], Callee]
BindRoutine: TypeAlias = Callable[[Routine], Callee]


@record
class Libraries:
    """The libraries that compute host calls of a device.

    `as_array` views what a user's function returned as an array there; `on_host` adds copies to the host and back.
    """

    device: str
    fft: BindFft
    routine: BindRoutine
    as_array: Callable[[object], Any]
    on_host: OnHost


def bind_on_host(call: HostCall, threads: int) -> Callee:
    """The callee of a host call of a program for the CPU."""

    def fft(transform: Transform, rank: int) -> Callee:
        return bind_fft(transform, rank, threads)

    return bind(call, Libraries(HOST, fft, lambda routine: routine.run, as_numpy, lambda callee: callee))


def bind(call: HostCall, libraries: Libraries) -> Callee:
    """The callee of a host call on a device."""
    attributes: Mapping[str, Any] = call.attributes
    match call.callee:
        case "fft":
            return libraries.fft(attributes["transform"], attributes["rank"])
        case "custom_call":
            return _users(attributes, libraries.device, libraries.as_array)
        case "routine":
            return libraries.routine(Routine(**attributes))
        case "host_routine":
            return libraries.on_host(Routine(**attributes).run)
        case _:
            raise InternalError(
                f"a host call of {call.callee!r}, expected 'fft', 'custom_call', 'routine' or 'host_routine'"
            )


def _users(attributes: Mapping[str, Any], device: str, as_array: Callable[[object], Any]) -> Callee:
    """The function registered for a custom call's target, looked up in each run."""
    entries = decoded(attributes["entries"], dtype_of)
    takes, returns = attributes["takes"], attributes["returns"]
    call = CustomCall(attributes["target"], entries, attributes["aliases"])

    def compute(operands: Sequence[Any], results: Sequence[Any]) -> None:
        for operand in operands[:takes]:
            if isinstance(operand, np.ndarray):  # CuPy has no read-only arrays
                operand.flags.writeable = False
        call.run(device, operands[:takes], results[:returns], as_array)

    return compute
