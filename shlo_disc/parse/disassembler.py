"""MLIR bytecode as text, through jaxlib: as a function, and as a program that reads bytecode and writes text.

Damaged bytecode can end the process that reads it. This module imports nothing of shlo_disc, so that the program starts
as fast as jaxlib does.
"""

from __future__ import annotations

import importlib
import resource
import sys
from contextlib import AbstractContextManager
from typing import Protocol, cast

REFUSED = 3  # exit code for bytes that jaxlib cannot read; the reason is on the standard error


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


def disassemble(data: bytes) -> str:
    """The text of bytecode. Raises `ValueError` if jaxlib rejects it; jaxlib may also fail in other ways."""
    # jaxlib has no types for these
    ir = cast("_Ir", importlib.import_module("jaxlib.mlir.ir"))
    chlo = cast("_Dialect", importlib.import_module("jaxlib.mlir.dialects.chlo"))
    stablehlo = cast("_StableHlo", importlib.import_module("jaxlib.mlir.dialects.stablehlo"))
    sdy = cast("_Dialect", importlib.import_module("jaxlib.mlir.dialects.sdy"))  # JAX's exports have shardings
    importlib.import_module("jaxlib.mlir.dialects.func")
    with ir.Context() as context:
        for dialect in (stablehlo, chlo, sdy):
            dialect.register_dialect(context)
        module = stablehlo.deserialize_portable_artifact(context, data)
        return module.operation.get_asm(enable_debug_info=True)


def main() -> int:
    """Read the standard input, write the standard output."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        text = disassemble(sys.stdin.buffer.read())
    except Exception as error:  # noqa: BLE001 - jaxlib raises whatever the bytes lead it to
        sys.stderr.write(f"{error}")
        return REFUSED
    sys.stdout.buffer.write(text.encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
