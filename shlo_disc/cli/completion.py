"""`python -m shlo_disc completion SHELL`: a script that makes a shell complete commands, options and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any, cast

from shlo_disc.cli.arguments import command_line
from shlo_disc.cli.output import complain, give

_FILES, _FOLDERS = ("FILE", "ARRAYS", "NPZ", "PAGE", "PLOT", "SAVED", "TRACE"), ("DIR",)


def run_completion(options: argparse.Namespace) -> int:
    """Print the script, for the command `shlo-disc`. Gives the exit code."""
    try:
        import shtab  # noqa: PLC0415  few users need it
    except ImportError:
        complain("scripts for shells are made by shtab, which is not installed: pip install 'shlo-disc[completion]'")
        return 1
    parser = command_line("shlo-disc")
    for action in _actions(parser):
        if action.metavar in _FILES:
            action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]  where shtab looks
        elif action.metavar in _FOLDERS:
            action.complete = shtab.DIRECTORY  # pyright: ignore[reportAttributeAccessIssue]
    give(shtab.complete(parser, options.shell) + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The options of all commands; argparse has no public list of them."""
    for action in parser._actions:  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
        yield action
        commands: Any = action.choices
        for command in cast("dict[str, Any]", commands).values() if isinstance(commands, dict) else ():
            yield from _actions(command)
