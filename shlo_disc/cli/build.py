"""`python -m shlo_disc compile FILE` and `build FILE --out DIR`: compile a program, and write it to files.

`compile` writes a file that `shlo_disc.load` reads, `build` a library for C, also of such a file.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from shlo_disc.bound import Bound
from shlo_disc.c_package import build_package
from shlo_disc.call_signature import Signature
from shlo_disc.cli.compiling import chosen_options, is_compiled, ragged_sizes
from shlo_disc.cli.inputs import InputError
from shlo_disc.cli.output import complain, give, say
from shlo_disc.cli.programs import FINE, REFUSED, UNREADABLE
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.loading import load
from shlo_disc.options import Hints
from shlo_disc.pipeline import origin_of_text, read_source
from shlo_disc.program_file.origin import Origin
from shlo_disc.program_file.writer import save
from shlo_disc.target_names import HOST
from shlo_disc.targets import target_named


def run_compile(options: argparse.Namespace) -> int:
    """Write a file with machine code. Gives the exit code."""
    if options.output is None and options.file == "-":
        complain("found a program from the standard input, expected --output, the file to write")
        return UNREADABLE
    path: Path = options.output or Path(options.file).with_suffix(".shlo")
    targets = None if options.targets is None else [name.strip() for name in options.targets.split(",")]

    def write(origin: Origin, signature: Signature | None) -> None:
        save(origin, signature, path, targets)
        _tell(options, path, [path])

    return _compiled(options, path, write)


def run_build(options: argparse.Namespace) -> int:
    """Write a library for C. Gives the exit code."""
    folder, name = Path(options.out), options.name

    def tell(*others: str) -> None:
        _tell(options, folder, [folder / one for one in (f"{name}.h", f"lib{name}.so", f"lib{name}.a", *others)])

    def write(origin: Origin, _signature: Signature | None) -> None:
        build_package(origin, folder, name, options.target)
        tell()

    def build_saved() -> None:
        program = load(options.file)
        program.build(folder, name, options.target)
        tell(*([f"{name}.weights"] if isinstance(program, Bound) else []))

    try:
        is_saved = options.file != "-" and is_compiled(options)
    except InputError as error:
        complain(error)
        return UNREADABLE
    return _written(folder, build_saved) if is_saved else _compiled(options, folder, write)


def _compiled(options: argparse.Namespace, path: Path, write: Callable[[Origin, Signature | None], None]) -> int:
    """Read the program of a command, and write what is made of it to `path`. Gives the exit code."""
    try:
        program = sys.stdin.buffer.read() if options.file == "-" else Path(options.file)
        hints = Hints(ragged=tuple(ragged_sizes(options.ragged).items()))
        text, file, signature = read_source(program, target_named(HOST).platform)
    except OSError as error:
        complain(f"{options.file}: {error.strerror}")
        return UNREADABLE
    except ShloDiscError as error:
        complain(error)
        return UNREADABLE
    chosen = chosen_options(options)
    return _written(path, lambda: write(origin_of_text(text, file, HOST, chosen, hints, signature), signature))


def _written(path: Path, write: Callable[[], None]) -> int:
    """Write files to `path`. Gives the exit code."""
    try:
        write()
    except ShloDiscError as error:
        complain(error)
        return REFUSED
    except OSError as error:
        complain(f"{path}: {error.strerror}")
        return UNREADABLE
    return FINE


def _tell(options: argparse.Namespace, path: Path, files: list[Path]) -> None:
    """Say what was written where."""
    sizes = {file.name: file.stat().st_size for file in files}
    if options.json:
        give(json.dumps({"path": str(path), "bytes": sizes}) + "\n")
        return
    say(f"{path}: " + ", ".join(f"{name} ({size // 1024} KiB)" for name, size in sizes.items()) + "\n")
