"""`python -m shlo_disc report FILE`: compile a program, and write a page about it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from shlo_disc.cli.inputs import InputError
from shlo_disc.cli.output import give, say
from shlo_disc.cli.programs import Programs
from shlo_disc.diagnostics import CompileError
from shlo_disc.pipeline import Request, Stopwatch, compile_module
from shlo_disc.report.page import write_page


def run_report(options: argparse.Namespace) -> int:
    """Write the page. Gives the exit code."""
    programs, path = Programs(options.files), Path(options.output)
    found = list(programs)
    if len(found) > 1:
        programs.complain(InputError(f"found {len(found)} programs, expected one: a page is about one program"))
        return programs.code
    for _, module in found:
        try:
            write_page(compile_module(module, Request(options.device), Stopwatch()), path)
        except CompileError as error:
            programs.complain(error)
        except OSError as error:
            programs.complain(InputError(f"{path}: {error.strerror}"))
        else:
            size = path.stat().st_size
            if options.json:
                give(json.dumps({"path": str(path), "bytes": {path.name: size}}) + "\n")
            else:
                say(f"{path}: {size // 1024} KiB\n")
    return programs.code
