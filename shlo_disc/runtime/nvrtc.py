"""Compile kernels with NVRTC, which needs no GPU: the one place that knows the flags and the prelude's headers."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.cache import PACKAGE
from shlo_disc.runtime.device import IndexType

PRELUDE = PACKAGE / "lower_cuda" / "prelude"
SHARED = PACKAGE / "codegen" / "prelude"  # what both targets' preludes include


@dataclass(frozen=True, slots=True)
class Compiled:
    """The code of a file for one architecture, and what the compiler said: registers, shared memory, spills."""

    cubin: bytes
    log: str


class _Library(Protocol):
    """What is needed of `cupy_backends.cuda.libs.nvrtc`."""

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
    """The prelude's headers by name; NVRTC gets them from memory."""
    return {path.name: path.read_text() for path in sorted((*PRELUDE.glob("*.cuh"), *SHARED.glob("*.h")))}


def version() -> tuple[int, int]:
    """Which NVRTC this is."""
    return _library().getVersion()


def architectures() -> tuple[int, ...]:
    """The compute capabilities, times 10, that it compiles for."""
    return tuple(_library().getSupportedArchs())


def compile_kernels(text: str, name: str, architecture: int, index: IndexType) -> Compiled:
    """One file of kernels as a cubin."""
    library = _library()
    names, texts = headers().keys(), headers().values()
    program = library.createProgram(text, name, tuple(t.encode() for t in texts), tuple(n.encode() for n in names))
    flags = options(architecture, index)
    try:
        library.compileProgram(program, flags)
    except RuntimeError as error:
        major, minor = library.getVersion()
        message = "\n".join(library.getProgramLog(program).splitlines()[:40])
        raise ToolchainError(
            f"NVRTC {major}.{minor} failed on generated code ({name}): {error}\n  flags: {' '.join(flags)}\n{message}"
        ) from error
    else:
        # The binding takes the last byte for the end of a string.
        return Compiled(library.getCUBIN(program) + b"\0", library.getProgramLog(program))
    finally:
        library.destroyProgram(program)


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
