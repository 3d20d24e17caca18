"""Read the programs that the command line names."""

from __future__ import annotations

import sys
from pathlib import Path

from shlo_disc.diagnostics import CompileError, ShloDiscError
from shlo_disc.exported import deserialize, looks_serialized, read_exported
from shlo_disc.ir.core import Module
from shlo_disc.parse.bytecode import read_program
from shlo_disc.parse.exports import bind_platform
from shlo_disc.parse.parser import parse_module, parse_modules


class InputError(ShloDiscError):
    """A file holds no readable program, or an option has no valid value."""


def is_saved_program(file: str) -> bool:
    """Whether `Compiled.save` wrote a file, as its first bytes tell. Raises `OSError` if it cannot be read."""
    with Path(file).open("rb") as opened:
        return opened.read(4) == b"PK\x03\x04"


def read_modules(name: str) -> tuple[Module, ...]:
    """Parse all modules of a file: text, bytecode, or a serialized `jax.export`; `-` is the standard input."""
    shown = "<stdin>" if name == "-" else name
    try:
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
    except OSError as error:
        raise InputError(f"{shown}: {error.strerror}") from error
    if not data.strip():
        raise InputError(f"{shown}: expected a program, found nothing")
    signature = None
    try:
        if looks_serialized(data):
            text, _, signature = read_exported(deserialize(data))
        else:
            text, _ = read_program(data)
    except CompileError as error:
        raise InputError(f"{shown}: {error.message}") from error
    except ShloDiscError as error:
        raise InputError(f"{shown}: {error}") from error
    if signature is not None:
        return (bind_platform(parse_module(text, shown), signature.platform),)
    return parse_modules(text, shown)
