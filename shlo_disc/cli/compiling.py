"""How a command compiles: the options of its command line, which a saved program does not take."""

from __future__ import annotations

import argparse
import dataclasses

from shlo_disc.cli.inputs import InputError, is_saved_program
from shlo_disc.options import CompileOptions


def chosen_options(options: argparse.Namespace) -> CompileOptions:
    """The options of a compilation: those of the command line, else the defaults."""
    defaults = CompileOptions()
    return defaults if options.fusion is None else dataclasses.replace(defaults, fusion=options.fusion)


def is_compiled(options: argparse.Namespace) -> bool:
    """Whether the file of a command holds a compiled program.

    Raises `InputError` if it cannot be read, or if the command says how to compile what is compiled already.
    """
    try:
        is_saved = is_saved_program(options.file)
    except OSError as error:
        raise InputError(f"{options.file}: {error.strerror}") from error
    if is_saved and options.fusion is not None:
        raise InputError(
            f"found --fusion {options.fusion} and {options.file}, which is compiled already, expected StableHLO\n"
            "  help: give --fusion to the command that compiles it"
        )
    return is_saved
