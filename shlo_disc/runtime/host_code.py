"""Bytecode that is loaded: `ShloHostCode` of device/call/host_code.h, with the addresses of the program's kernels."""

from __future__ import annotations

import ctypes
from array import array

from shlo_disc.bytecode import HostCode
from shlo_disc.bytecode.binary import NUMBERS, SECTIONS
from shlo_disc.runtime.library import LoadedProgram, pointers

_COUNTED = {
    "constants": "constant_count", "bounds": "bound_words", "sizes": "size_words", "checks": "check_words",
    "dims": "dim_count", "conditions": "condition_count", "slots": "slot_words",
}  # fmt: skip


class _HostCode(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in NUMBERS),
        *(one for name, count in _COUNTED.items() for one in ((name, ctypes.c_void_p), (count, ctypes.c_int64))),
        ("steps", ctypes.c_void_p),
        ("kernels", ctypes.c_void_p),
    ]


class LoadedHostCode:
    """Bytecode with its kernels. It keeps alive all that it points to, so its users keep it."""

    def __init__(self, code: HostCode, program: LoadedProgram) -> None:
        kernels = pointers([program.address(name) for name in code.names])
        sections: dict[str, array[int]] = {name: getattr(code, name) for name in SECTIONS}
        self.code = code
        self._keep = (program, kernels, sections)
        self._loaded = _HostCode(*(getattr(code, name) for name in NUMBERS))
        for name, section in sections.items():
            setattr(self._loaded, name, section.buffer_info()[0])
            if name in _COUNTED:
                setattr(self._loaded, _COUNTED[name], len(section))
        self._loaded.kernels = ctypes.addressof(kernels)

    @property
    def address(self) -> int:
        """Of the `ShloHostCode`."""
        return ctypes.addressof(self._loaded)
