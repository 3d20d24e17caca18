# jaxlib has no types for its MLIR bindings; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
"""MLIR's own parser and printer, through jaxlib."""

from __future__ import annotations

from jax._src.interpreters import mlir
from jaxlib.mlir import ir


class Printer:
    """Reads programs; ops of dialects that jaxlib does not know in generic form only."""

    def __init__(self) -> None:
        self._context = mlir.make_ir_context()
        self._context.allow_unregistered_dialects = True

    def read(self, text: str) -> Program | None:
        """Read a program; give None if MLIR refuses it."""
        with self._context:
            try:
                return Program(ir.Module.parse(text))
            except ir.MLIRError:
                return None


class Program:
    """A program as MLIR holds it."""

    def __init__(self, module: ir.Module) -> None:
        self._module = module

    def text(self, *, generic: bool, locations: bool) -> str:
        """Print it."""
        text = self._module.operation.get_asm(enable_debug_info=locations, print_generic_op_form=generic)
        assert isinstance(text, str), "only bytes are asked for by another flag"
        return text
