"""Host calls: calls of Python functions from a running program, and the propagation of their exceptions."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn, TypeAlias

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import HostCall, Slot
from shlo_disc.records import record
from shlo_disc.runtime.interop import Array, dtype_of
from shlo_disc.runtime.steps import Buffers, host_calls

Callee: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], None]
"""Fills the arrays of the second list from those of the first, which it does not write."""
View: TypeAlias = Callable[[int, tuple[int, ...], np.dtype[np.generic], object], Any]
"""The array at an address, of a shape and a dtype, that keeps an object alive."""

_WORDS = ctypes.POINTER(ctypes.c_int64)
_DONE, _RAISED = 1, 0  # ctypes returns 0, too, if it cannot make the call


class AddressSpace(ctypes.c_uint8 * sys.maxsize):
    """All memory from address 1 on, as a buffer that is the base of arrays.

    Arrays keep their base alive, and so its `owner`.
    """

    owner: object


def memory_of(owner: object) -> AddressSpace:
    """An address space whose arrays keep `owner` alive."""
    memory = AddressSpace.from_address(1)
    memory.owner = owner
    return memory


def view_on_host(address: int, shape: tuple[int, ...], dtype: np.dtype[np.generic], memory: object) -> Array:
    """View memory of this process as an array; `memory` is an `AddressSpace`. Without elements, `address` may be 0."""
    return np.ndarray(shape, dtype, memory, address - 1 if address else 0)  # pyright: ignore[reportArgumentType]  # a buffer


class Session:
    """One run of a program with host calls: what keeps its memory alive, and the error that ended it."""

    __slots__ = ("_error", "memory")

    def __init__(self, memory: object) -> None:
        self.memory = memory
        self._error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        """Keep the error that a callee raised."""
        self._error = error

    @property
    def has_failed(self) -> bool:
        return self._error is not None

    def raise_error(self) -> NoReturn:
        """Raise what a callee raised."""
        error, self._error = self._error, None
        if error is None:
            raise InternalError("a host call ended the program without an error")
        try:
            raise error
        finally:
            del error  # its traceback refers to this frame: no reference cycle


@record
class _Site:
    """A host call of the program, ready to be made."""

    callee: Callee
    slots: tuple[Slot, ...]
    dtypes: tuple[np.dtype[np.generic], ...]
    dims: tuple[slice, ...]  # where the shape of each buffer is among the dims of all
    all_dims: int
    operands: int
    place: str


class HostCalls:
    """The host calls of one program. `function` is the callback of its generated code: a `ShloHostCall`."""

    def __init__(self, artifact: Artifact, bind: Callable[[HostCall], Callee], view: View) -> None:
        self._view = view
        self._sites = tuple(_site(artifact, step, bind(step)) for step in host_calls(artifact.steps))
        self.function = _Function(self._enter)

    def run(self, step: HostCall, buffers: Buffers, memory: object) -> None:
        """Make a call, for the VM."""
        site = self._sites[step.number]
        self._call(site, [*map(buffers.address, site.slots)], [*map(buffers.shape, site.slots)], memory)

    def _enter(self, session: Session, number: int, buffers: Any, dims: Any) -> int:
        """Make a call for generated code, through which no exception may pass."""
        try:
            site = self._sites[number]
            sizes = dims[: site.all_dims]
            self._call(site, buffers[: len(site.slots)], [tuple(sizes[part]) for part in site.dims], session.memory)
        except BaseException as error:  # noqa: BLE001  (it is raised where generated code has returned)
            session.fail(error)
            return _RAISED
        return _DONE

    def _call(self, site: _Site, addresses: Sequence[int], shapes: Sequence[tuple[int, ...]], memory: object) -> None:
        view = self._view
        arrays = [
            view(address, shape, dtype, memory)
            for address, shape, dtype in zip(addresses, shapes, site.dtypes, strict=True)
        ]
        operands, results = arrays[: site.operands], arrays[site.operands :]
        try:
            site.callee(operands, results)
        except BaseException as error:
            error.add_note(f"raised by {site.place}")
            raise


_Function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.py_object, ctypes.c_int64, _WORDS, _WORDS)


def _site(artifact: Artifact, step: HostCall, callee: Callee) -> _Site:
    slots = (*step.operands, *step.results)
    buffers = [artifact.buffers[slot] for slot in slots]
    dims, end = list[slice](), 0
    for buffer in buffers:
        dims.append(slice(end, end := end + len(buffer.shape)))
    dtypes = tuple(dtype_of(buffer.dtype) for buffer in buffers)
    return _Site(callee, slots, dtypes, tuple(dims), end, len(step.operands), step.place)
