"""Read a program, whatever form it is given in, as text."""

from __future__ import annotations

import importlib
import importlib.util
import os
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Protocol, cast

from shlo_disc.diagnostics import ShloDiscError

_MAGIC = b"ML\xefR"


def read_program(source: str | bytes | os.PathLike[str]) -> tuple[str, str]:
    """Give the text of a program, and the name by which errors call it.

    `source` is StableHLO text, the path of a file, or MLIR bytecode (also a portable artifact).
    """
    if isinstance(source, bytes):
        return _text_of(source), "<bytecode>"
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return source, "<string>"
    path = Path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ShloDiscError(
            f"expected StableHLO text or the path of a file with it, found {str(path)[:200]!r}: {error.strerror}"
        ) from error
    return _text_of(data), str(path)


def _text_of(data: bytes) -> str:
    if data.startswith(_MAGIC):
        return _disassemble(data)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise ShloDiscError(f"expected StableHLO text or MLIR bytecode, found other bytes ({error.reason})") from error


class _Operation(Protocol):
    def get_asm(self, *, enable_debug_info: bool) -> str: ...


class _MlirModule(Protocol):
    @property
    def operation(self) -> _Operation: ...


class _Ir(Protocol):
    def Context(self) -> AbstractContextManager[object]: ...  # noqa: N802  # jaxlib's name


class _Dialect(Protocol):
    def register_dialect(self, context: object) -> None: ...


class _StableHlo(_Dialect, Protocol):
    def deserialize_portable_artifact(self, context: object, data: bytes) -> _MlirModule: ...


def _disassemble(data: bytes) -> str:
    if importlib.util.find_spec("jaxlib") is None:
        raise ShloDiscError(
            "MLIR bytecode is read through jaxlib, which is not installed: "
            "pip install 'shlo-disc[jax]', or pass StableHLO text"
        )
    # jaxlib has no types for these
    ir = cast("_Ir", importlib.import_module("jaxlib.mlir.ir"))
    chlo = cast("_Dialect", importlib.import_module("jaxlib.mlir.dialects.chlo"))
    stablehlo = cast("_StableHlo", importlib.import_module("jaxlib.mlir.dialects.stablehlo"))
    importlib.import_module("jaxlib.mlir.dialects.func")
    with ir.Context() as context:
        stablehlo.register_dialect(context)
        chlo.register_dialect(context)
        try:
            module = stablehlo.deserialize_portable_artifact(context, data)
        except ValueError as error:
            raise ShloDiscError(f"expected bytecode that jaxlib can read: {error}") from error
        return module.operation.get_asm(enable_debug_info=True)
