"""The steps from StableHLO text to DHLO: parse, verify, legalize."""

from __future__ import annotations

from shlo_disc.analysis.limits import limits
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.ir.core import Module
from shlo_disc.legalize.constraints import check_likely
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.exports import allow_empty, bind_platform
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.pipeline.units import CompilationUnit
from shlo_disc.verify.ops import verify


def parse_text(text: str, file: str, request: Request, watch: Stopwatch) -> Module:
    """Parse StableHLO text; that of an export becomes the program of one platform."""
    with watch.stage("parse"):
        module = parse_module(text, file)
        if request.signature is not None:
            module = bind_platform(module, request.signature.platform)
        return allow_empty(module) if request.hints.allows_empty else module


def verify_module(module: Module, watch: Stopwatch) -> None:
    """Raise `VerifyError` if the module breaks a rule of the specification."""
    with watch.stage("verify"):
        verify(module)


def legalize_module(module: Module, request: Request, watch: Stopwatch) -> CompilationUnit:
    """Translate a verified module to DHLO, and check the caller's hints against it."""
    names, hints = request.argument_names, request.hints
    with watch.stage("legalize"):
        program = legalize(module, names, hints.constraints)
        check_likely(program, hints.likely)
        limits(program)  # raises for tensors that no call can have
        donated = _donated(program, request)
    known = names or tuple(f"argument {k}" for k in range(len(program.parameters)))
    return CompilationUnit(program, known, donated, hints.likely)


def _donated(program: Program, request: Request) -> frozenset[int]:
    """The numbers of the program's parameters that a call may overwrite. Raises `ShloDiscError` for an unknown one.

    Marks in the text are the exported function's and count for those who call that: they are used only if the caller
    of shlo_disc asks for them.
    """
    signature, count = request.signature, len(program.parameters)
    kept = tuple(range(count)) if signature is None else signature.kept
    leaves = count if signature is None else len(signature.names)
    for number in request.hints.donated:
        if not 0 <= number < leaves:
            expected = (
                f"numbers of flat arguments, from 0 to {leaves - 1}" if leaves else "none: there are no arguments"
            )
            raise ShloDiscError(f"found the number {number} in donate, expected {expected}")
    if request.hints.donates_marked:
        return frozenset(k for k, parameter in enumerate(program.parameters) if parameter.is_marked_donated)
    return frozenset(k for k, leaf in enumerate(kept) if leaf in request.hints.donated)
