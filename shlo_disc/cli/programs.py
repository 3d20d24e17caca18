"""`python -m shlo_disc print|verify FILE…`, and the programs of the files that a command names."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence

from shlo_disc.cli.inputs import InputError, read_modules
from shlo_disc.cli.output import complain, give, say
from shlo_disc.diagnostics import CompileError, ShloDiscError, counted
from shlo_disc.ir.core import Module
from shlo_disc.parse.printer import print_module
from shlo_disc.verify.ops import verify

FINE, REFUSED, UNREADABLE = 0, 1, 2
_BETWEEN_MODULES = "// -----\n"


class Programs:
    """The modules of the named files; `code` is the worst exit code so far, `errors` why programs are refused."""

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files
        self.code = FINE
        self.errors = list[ShloDiscError]()

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

    def complain(self, error: ShloDiscError) -> None:
        """Print an error, and update the exit code."""
        complain(error)
        self.errors.append(error)
        self.code = max(self.code, UNREADABLE if isinstance(error, InputError) else REFUSED)


def run_print(options: argparse.Namespace) -> int:
    """Print all programs. Gives the exit code."""
    programs = Programs(options.files)
    for number, (_, module) in enumerate(programs):
        give(_BETWEEN_MODULES if number else "")
        give(print_module(module, generic=options.generic, locations=options.locations))
    return programs.code


def run_verify(options: argparse.Namespace) -> int:
    """Check all programs against the specification. Gives the exit code."""
    programs = Programs(options.files)
    fine = {name: sum(1 for _ in module.walk()) for name, module in programs.verified()}
    if options.json:
        give(json.dumps({"ops": fine, "errors": [str(error) for error in programs.errors]}) + "\n")
    elif options.verbose:
        say("".join(f"{name}: fine, {counted(count, 'op')}\n" for name, count in fine.items()))
    return programs.code
