# jaxlib has no types for its MLIR bindings; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
"""The verifier of MLIR, through jaxlib: the second opinion on what must be refused."""

from __future__ import annotations

from jax._src.interpreters import mlir
from jaxlib.mlir import ir


def complaint(text: str) -> str | None:
    """Give MLIR's error for a program, or None if it takes the program."""
    with mlir.make_ir_context():
        try:
            ir.Module.parse(text)
        except ir.MLIRError as error:
            return str(error)
        return None
