"""Bytecode that is loaded: `ShloHostCode` of device/call/host_code.h, with the addresses of the program's kernels."""

from __future__ import annotations

import ctypes
from array import array

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode import HostCode
from shlo_disc.bytecode.binary import NUMBERS, SECTIONS, from_bytes
from shlo_disc.codec import DamagedError
from shlo_disc.runtime.library import LoadedProgram, pointers
from shlo_disc.runtime.steps import host_calls

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
        kernels = pointers([_address(program, name) for name in code.names])
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


def _address(program: LoadedProgram, kernel: str) -> int:
    try:
        return program.address(kernel)
    except AttributeError as error:
        raise DamagedError(f"host program: found the kernel {kernel}, which the code of the program has not") from error


def host_code_of(artifact: Artifact, data: bytes) -> HostCode:
    """The host program of an artifact, from a file. Raises `DamagedError` if it is damaged, or another program's."""
    code = from_bytes(data)
    found = (code.given, code.symbols, code.arguments, code.results, code.literals, code.packings, len(code.dims))
    dims = sum(len(result.shape) for result in artifact.results)
    literals, packings = len(artifact.constants), len(artifact.packings)
    arrays = (len(artifact.arguments), len(artifact.results), literals, packings, dims)
    wanted = (artifact.given, len(artifact.symbols), *arrays)
    if found != wanted or len(list(code.check_steps())) != len(artifact.checks):
        raise DamagedError(f"host program: found numbers of sizes and arrays {found}, expected {wanted}")
    if code.host_calls != (calls := len(host_calls(artifact.steps))):
        raise DamagedError(f"host program: found {code.host_calls} host calls, expected {calls}")
    return code
