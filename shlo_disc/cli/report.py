"""`python -m shlo_disc report FILE [OTHER]`: compile a program, or two, and write a page about it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from shlo_disc.cli.compiling import chosen_options, ragged_sizes
from shlo_disc.cli.inputs import InputError
from shlo_disc.cli.output import give, say
from shlo_disc.cli.programs import Programs
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import Hints
from shlo_disc.pipeline import Request, Stopwatch, compile_module
from shlo_disc.report.comparison import Side, write_comparison
from shlo_disc.report.page import write_page

_MOST = 2  # programs on one page


def run_report(options: argparse.Namespace) -> int:
    """Write the page. Gives the exit code."""
    programs, path = Programs(options.files), Path(options.output)
    try:
        hints = Hints(ragged=tuple(ragged_sizes(options.ragged).items()))
    except InputError as error:
        programs.complain(error)
        return programs.code
    found = list(programs)
    if len(found) > _MOST:
        programs.complain(InputError(f"found {len(found)} programs, expected one, or {_MOST} to compare"))
        return programs.code
    request, sides = Request(options.device, chosen_options(options), hints=hints), list[Side]()
    for name, module in found:
        try:
            sides.append(Side(name, compile_module(module, request, Stopwatch())))
        except ShloDiscError as error:
            programs.complain(error)
    if not sides or len(sides) < len(found):
        return programs.code
    try:
        if len(sides) > 1:
            write_comparison(sides, path)
        else:
            write_page(sides[0].artifact, path)
    except OSError as error:
        programs.complain(InputError(f"{path}: {error.strerror}"))
        return programs.code
    size = path.stat().st_size
    if options.json:
        give(json.dumps({"path": str(path), "bytes": {path.name: size}}) + "\n")
    else:
        say(f"{path}: {size // 1024} KiB\n")
    return programs.code
