"""How a command compiles: the options of its command line, which a saved program does not take."""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence

from shlo_disc.cli.inputs import InputError, is_saved_program
from shlo_disc.options import CompileOptions


def chosen_options(options: argparse.Namespace) -> CompileOptions:
    """The options of a compilation: those of the command line, else the defaults."""
    defaults = CompileOptions()
    return defaults if options.fusion is None else dataclasses.replace(defaults, fusion=options.fusion)


def ragged_sizes(words: Sequence[str]) -> Mapping[str, str | int]:
    """Read ragged sizes such as `s=lengths` or `s=2`: the name or the number of the argument that says the lengths.

    Raises `InputError` for others, and for a size that is given twice.
    """
    found = dict[str, str | int]()
    for word in words:
        name, _, argument = (part.strip() for part in word.partition("="))
        if not name or not argument:
            raise InputError(f"expected a size and the argument with its lengths such as s=lengths, found {word!r}")
        if name in found:
            raise InputError(f"found --ragged twice for the size {name!r}, expected one argument with its lengths")
        found[name] = int(argument) if argument.isdecimal() else argument
    return found


def is_compiled(options: argparse.Namespace) -> bool:
    """Whether the file of a command holds a compiled program.

    Raises `InputError` if it cannot be read, or if the command says how to compile what is compiled already.
    """
    try:
        is_saved = is_saved_program(options.file)
    except OSError as error:
        raise InputError(f"{options.file}: {error.strerror}") from error
    given = [("--fusion", options.fusion), *(("--ragged", word) for word in options.ragged)]
    for option, value in given if is_saved else ():
        if value is not None:
            raise InputError(
                f"found {option} {value} and {options.file}, which is compiled already, expected StableHLO\n"
                f"  help: give {option} to the command that compiles it"
            )
    return is_saved
