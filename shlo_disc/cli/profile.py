"""`python -m shlo_disc profile FILE`: measure the steps of a call of a program."""

from __future__ import annotations

import argparse
from pathlib import Path

from shlo_disc.cli.inputs import InputError
from shlo_disc.cli.output import give, say
from shlo_disc.cli.run import arrays_of, complained, program_of
from shlo_disc.compiled import profile_of_arrays
from shlo_disc.diagnostics import ShloDiscError


def run_profile(options: argparse.Namespace) -> int:
    """Print the profile, and write it to files. Gives the exit code."""
    try:
        if options.repeat < 1:
            raise InputError(f"found --repeat {options.repeat}, expected at least 1")
        program = program_of(options)
        profile = profile_of_arrays(program, arrays_of(options, program), options.repeat)
        for path, text in ((options.html, profile.html), (options.trace, profile.chrome_trace)):
            if path is not None:
                _write(path, text())
    except (ShloDiscError, MemoryError) as error:
        return complained(error)
    if options.json:
        give(profile.to_json() + "\n")
        return 0
    say(f"{profile}\n")
    if options.selections:
        say(f"\n{profile.selection_trace()}\n")
    return 0


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
