"""Compile kernels with NVRTC, which needs no GPU: flags and headers are defined only here."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol, cast

from shlo_disc.device.headers import included
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.processes import shown
from shlo_disc.records import record
from shlo_disc.runtime.cuda.device import IndexType

KERNEL_HEADER = "call/shlo.cuh"  # what every file of kernels includes

_ELF = b"\x7fELF"


@record
class Cubin:
    """The code of a file for one architecture, and the compiler's log: registers, shared memory, spills."""

    cubin: bytes
    log: str


class _Library(Protocol):
    """The functions used of `cupy_backends.cuda.libs.nvrtc`."""

    def getVersion(self) -> tuple[int, int]: ...  # noqa: N802
    def getSupportedArchs(self) -> tuple[int, ...]: ...  # noqa: N802
    def createProgram(self, text: str, name: str, headers: tuple[bytes, ...], names: tuple[bytes, ...]) -> int: ...  # noqa: N802
    def compileProgram(self, program: int, options: tuple[str, ...]) -> None: ...  # noqa: N802
    def getProgramLog(self, program: int) -> str: ...  # noqa: N802
    def getCUBIN(self, program: int) -> bytes: ...  # noqa: N802
    def destroyProgram(self, program: int) -> None: ...  # noqa: N802


def options(architecture: int, index: IndexType) -> tuple[str, ...]:
    """The flags of every compilation. NVRTC's defaults are IEEE's: subnormals are kept, division and roots exact."""
    return (f"-arch=sm_{architecture}", "--std=c++17", f"-DSHLO_INDEX={index}", "--ptxas-options=-v")


@lru_cache
def headers() -> Mapping[str, str]:
    """The headers of kernels by name; NVRTC gets them from memory."""
    return included(f'#include "{KERNEL_HEADER}"\n')


def version() -> tuple[int, int]:
    """Which NVRTC this is."""
    return _library().getVersion()


def architectures() -> tuple[int, ...]:
    """The compute capabilities, times 10, that it compiles for."""
    return tuple(_library().getSupportedArchs())


def compile_kernels(text: str, name: str, architecture: int, index: IndexType) -> Cubin:
    """Compile one file of kernels to a cubin. Raises `ToolchainError` if NVRTC fails, or makes something else."""
    library, flags = _library(), options(architecture, index)
    names, texts = headers().keys(), headers().values()
    program: int | None = None
    try:
        program = library.createProgram(text, name, tuple(t.encode() for t in texts), tuple(n.encode() for n in names))
        library.compileProgram(program, flags)
        # The binding drops the last byte, as if it ended a string.
        made = Cubin(library.getCUBIN(program) + b"\0", library.getProgramLog(program))
    except (RuntimeError, UnicodeDecodeError) as error:
        raise _failed(f"failed on generated code: {error}", name, flags, _log(library, program)) from error
    else:
        if not made.cubin.startswith(_ELF):
            raise _failed("ended without an error, but made no cubin", name, flags, made.log)
        return made
    finally:
        if program is not None:
            library.destroyProgram(program)


def _log(library: _Library, program: int | None) -> str:
    """NVRTC's log of a program, if it can be read."""
    if program is None:
        return ""
    try:
        return library.getProgramLog(program)
    except (RuntimeError, UnicodeDecodeError) as error:
        return f"its log cannot be read: {error}"


def _failed(what: str, name: str, flags: Sequence[str], log: str) -> ToolchainError:
    major, minor = _library().getVersion()
    lines = [f"NVRTC {major}.{minor} {what} ({name})", f"  flags: {' '.join(flags)}", shown(log.encode())]
    help_ = "  help: this is a bug of shlo_disc, or of that NVRTC: another release of it may work"
    return ToolchainError("\n".join([*filter(None, lines), help_]))


@lru_cache
def _library() -> _Library:
    try:
        library = cast(_Library, importlib.import_module("cupy_backends.cuda.libs.nvrtc"))
        library.getVersion()
    except (ImportError, RuntimeError) as error:
        raise ToolchainError(
            f"no NVRTC, expected CuPy's binding and the library: {error}\n"
            "  help: pip install shlo-disc[cuda13] nvidia-cuda-nvrtc"
        ) from error
    return library
