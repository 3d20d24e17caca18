"""`python -m shlo_disc COMMAND`: the commands and their options are in `arguments.py`.

Exit codes: 0 if all is well, 1 if a program is refused, 2 if the command or a file cannot be read.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import NoReturn, cast

from shlo_disc.cli.arguments import command_line

# What runs a command: a module of this folder, and its function. The module is imported when the command runs, so that
# `--help` does not wait for the compiler, and `print` loads only the parser.
_RUN: Mapping[str, tuple[str, str]] = {
    "print": ("programs", "run_print"),
    "verify": ("programs", "run_verify"),
    "ops": ("ops_table", "run_ops"),
    "report": ("report", "run_report"),
    "compile": ("build", "run_compile"),
    "build": ("build", "run_build"),
    "check": ("check", "run_check"),
    "fuzz": ("check", "run_fuzz"),
    "tune": ("tune", "run_tune"),
    "run": ("run", "run_run"),
    "bench": ("run", "run_bench"),
    "explain": ("run", "run_explain"),
    "profile": ("profile", "run_profile"),
    "advise": ("advise", "run_advise"),
    "cache": ("cache", "run_cache"),
    "completion": ("completion", "run_completion"),
}


def run() -> NoReturn:
    """Run as a program of its own."""
    output = cast("io.TextIOWrapper", sys.stdout)
    output.reconfigure(errors="backslashreplace")  # a program may hold characters that the terminal cannot encode
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (`| head`) has closed the pipe: drop what is buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    sys.exit(code)


def main(arguments: Sequence[str]) -> int:
    """Run a command, and give the exit code; for several files, the worst one."""
    options = command_line().parse_args(arguments)
    module, function = _RUN[options.command]
    command = cast("Callable[[argparse.Namespace], int]", getattr(import_module(f"shlo_disc.cli.{module}"), function))
    return command(options)
