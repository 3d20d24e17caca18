"""`python -m shlo_disc print|verify|ops|report|check FILE…`, `fuzz`, `tune` and `warm`.

Exit codes: 0 if all is well, 1 if a program is refused, 2 if the command or a file cannot be read.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn, cast

from shlo_disc.cli import check, tune, warm
from shlo_disc.cli.inputs import InputError, read_modules
from shlo_disc.cli.ops_table import print_json, print_table, report_on
from shlo_disc.cli.output import complain, give, say
from shlo_disc.diagnostics import CompileError
from shlo_disc.ir.core import Module
from shlo_disc.parse.printer import print_module
from shlo_disc.pipeline import Request, Stopwatch, compile_module
from shlo_disc.report.page import write_page
from shlo_disc.target_names import HOST, target_names
from shlo_disc.verify.ops import verify

FINE, REFUSED, UNREADABLE = 0, 1, 2
_BETWEEN_MODULES = "// -----\n"


def run() -> NoReturn:
    """Run as a program of its own."""
    output = cast("io.TextIOWrapper", sys.stdout)
    output.reconfigure(errors="backslashreplace")  # a program may hold characters that the terminal cannot encode
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (`| head`) has closed the pipe: drop what is buffered
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = FINE
    sys.exit(code)


def main(arguments: Sequence[str]) -> int:
    """Run a command, and give the exit code; for several files, the worst one."""
    options = _parser().parse_args(arguments)
    others = {"check": check.run_check, "fuzz": check.run_fuzz, "tune": tune.run_tune, "warm": warm.run_warm}
    if options.command in others:
        return others[options.command](options)
    programs = _Programs(options.files)
    match options.command:
        case "print":
            _print(programs, generic=options.generic, locations=options.locations)
        case "verify":
            _verify(programs, verbose=options.verbose)
        case "report":
            _report(programs, Path(options.output), options.device)
        case _:
            _tabulate(programs, as_json=options.json)
    return programs.code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m shlo_disc",
        description="Look at StableHLO programs. Exit codes: 0 fine, 1 a program is refused, 2 a file cannot be read.",
    )
    names = "print|verify|ops|report|check|fuzz|tune|warm"
    commands = parser.add_subparsers(dest="command", required=True, metavar=names)
    printing = commands.add_parser("print", help="parse programs and print them as MLIR does")
    printing.add_argument("--generic", action="store_true", help="every op in generic form")
    printing.add_argument("--locations", action="store_true", help="with the places in the user's source")
    verifying = commands.add_parser("verify", help="check programs against the StableHLO specification")
    verifying.add_argument("--verbose", action="store_true", help="a line for each file that is fine, too")
    tabulating = commands.add_parser("ops", help="count the ops, and say which of them run on which target")
    tabulating.add_argument("--json", action="store_true", help="for other programs to read")
    reporting = commands.add_parser("report", help="compile a program, and write a page about it for a browser")
    reporting.add_argument("-o", "--output", default="report.html", metavar="PAGE", help="default: report.html")
    reporting.add_argument("--device", choices=target_names(), default=HOST, help=f"default: {HOST}")
    checking = commands.add_parser("check", help="run a program in several ways, and shrink it where they differ")
    check.add_options(checking)
    fuzzing = commands.add_parser("fuzz", help="check random programs")
    check.add_fuzz_options(fuzzing)
    tuning = commands.add_parser("tune", help="time the matrix products of this CPU, and those of a program")
    tune.add_options(tuning)
    warming = commands.add_parser("warm", help="compile once what no program changes")
    warm.add_options(warming)
    for command in (printing, verifying, tabulating, reporting):
        command.add_argument("files", nargs="+", metavar="FILE", help="text or MLIR bytecode; - is the standard input")
    return parser


class _Programs:
    """The modules of the named files; `code` is the worst exit code so far."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self.code = FINE

    def __iter__(self) -> Iterator[tuple[str, Module]]:
        for name in self._files:
            try:
                modules = read_modules(name)
            except (CompileError, InputError) as error:
                self.complain(error)
                continue
            for module in modules:
                yield (name if len(modules) == 1 else f"{name}:{module.span.line}"), module

    def verified(self) -> Iterator[tuple[str, Module]]:
        """Give the modules that are valid StableHLO, and complain of the others."""
        for name, module in self:
            try:
                verify(module)
            except CompileError as error:
                self.complain(error)
            else:
                yield name, module

    def complain(self, error: CompileError | InputError) -> None:
        """Print an error, and update the exit code."""
        complain(error)
        self.code = max(self.code, REFUSED if isinstance(error, CompileError) else UNREADABLE)


def _print(programs: _Programs, *, generic: bool, locations: bool) -> None:
    for number, (_, module) in enumerate(programs):
        give(_BETWEEN_MODULES if number else "")
        give(print_module(module, generic=generic, locations=locations))


def _verify(programs: _Programs, *, verbose: bool) -> None:
    for name, module in programs.verified():
        if verbose:
            say(f"{name}: fine, {sum(1 for _ in module.walk())} ops\n")


def _tabulate(programs: _Programs, *, as_json: bool) -> None:
    reports = [report_on(name, module) for name, module in programs.verified()]
    if as_json:
        give(print_json(reports))
    elif reports:
        say(print_table(reports))


def _report(programs: _Programs, path: Path, device: str) -> None:
    found = list(programs)
    if len(found) > 1:
        programs.complain(InputError(f"found {len(found)} programs, expected one: a page is about one program"))
        return
    for _, module in found:
        try:
            write_page(compile_module(module, Request(device), Stopwatch()), path)
        except CompileError as error:
            programs.complain(error)
        except OSError as error:
            programs.complain(InputError(f"{path}: {error.strerror}"))
        else:
            say(f"{path}: {path.stat().st_size // 1024} KiB\n")
