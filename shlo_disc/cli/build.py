"""`python -m shlo_disc build FILE --out DIR`: compile a program, and write it as a library for C."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from shlo_disc.c_package import build_package
from shlo_disc.cli.output import complain, say
from shlo_disc.cli.programs import FINE, REFUSED, UNREADABLE
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.pipeline import origin_of_text, read_source
from shlo_disc.target_names import HOST
from shlo_disc.targets import target_named


def run_build(options: argparse.Namespace) -> int:
    """Write the library. Gives the exit code."""
    folder, name = Path(options.out), options.name
    try:
        program = sys.stdin.buffer.read() if options.file == "-" else Path(options.file)
        text, file, signature = read_source(program, target_named(HOST).platform)
    except OSError as error:
        complain(f"{options.file}: {error.strerror}")
        return UNREADABLE
    except ShloDiscError as error:
        complain(error)
        return UNREADABLE
    try:
        origin = origin_of_text(text, file, HOST, CompileOptions(), Hints(), signature)
        build_package(origin, folder, name, options.target)
    except ShloDiscError as error:
        complain(error)
        return REFUSED
    except OSError as error:
        complain(f"{folder}: {error.strerror}")
        return UNREADABLE
    size = (folder / f"lib{name}.so").stat().st_size
    say(f"{folder}: {name}.h, lib{name}.so ({size // 1024} KiB), lib{name}.a; example.c shows how to call it\n")
    return FINE
