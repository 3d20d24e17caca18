"""Reading a program in any form that `compile` takes: as text, and the signature of an export."""

from __future__ import annotations

import os
from typing import Any, cast

from shlo_disc.call_signature import Signature
from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.exported import deserialize, is_exported, looks_serialized, read_exported
from shlo_disc.parse.bytecode import open_program, text_of


def read_source(program: Any, platform: str, *, isolate: bool | None = None) -> tuple[str, str, Signature | None]:
    """The text, the name for errors, and the signature (pytrees) of a program in any form.

    `platform`: JAX's name of the platform to use if there are several. `isolate`: `CompileOptions.isolate_reader`.
    """
    if is_exported(program):
        text, name, signature = read_exported(program, platform, isolate=isolate)
        return text, f"<{name}>", signature
    match program:
        case bytearray() | memoryview():
            return read_source(bytes(cast("bytearray", program)), platform, isolate=isolate)
        case str() | bytes() | os.PathLike():
            found, name = open_program(cast("str", program))
            if isinstance(found, str):
                return found, name, None
            if looks_serialized(found):
                restored = deserialize(found, "" if isinstance(program, bytes) else name)
                return read_source(restored, platform, isolate=isolate)
            return text_of(found, name, isolate=isolate is not False), name, None
        case _:
            from shlo_disc.ir.core import Module  # noqa: PLC0415  most programs are text
            from shlo_disc.parse.printer import print_module  # noqa: PLC0415

            if isinstance(program, Module):
                return print_module(program, locations=True), "<module>", None
            raise ArgumentTypeError(
                f"found a program of type {type(program).__name__}, "
                "expected a jax.export.Exported, StableHLO text, a path to it, or MLIR bytecode\n"
                "  help: export a JAX function first: jax.export.export(jax.jit(function))(*specs)"
            )
