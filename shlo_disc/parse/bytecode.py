"""Read a program in any form as text."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
from pathlib import Path

from shlo_disc.diagnostics import ParseError, ShloDiscError, Source, Span, one_line
from shlo_disc.parse import disassembler
from shlo_disc.processes import Finished, run, shown

_MAGIC = b"ML\xefR"
SECONDS = 600.0  # time limit of reading in a separate process
# The process has the same search path, without the folder of the script: modules there have names of modules in
# Python's standard library.
_START = """\
import json, runpy, sys
sys.path[:] = json.loads(sys.argv[1])
runpy.run_path(sys.argv[2], run_name="__main__")
"""


def read_program(source: str | bytes | os.PathLike[str], *, isolate: bool = True) -> tuple[str, str]:
    """Return the text of a program, and its name for errors.

    `source` is StableHLO text, the path of a file, or MLIR bytecode (also a portable artifact), which is read in a
    separate process unless `isolate` is False. Raises `ParseError` for what is no program, `ShloDiscError` for a file
    that cannot be read.
    """
    found, name = open_program(source)
    return (text_of(found, name, isolate=isolate) if isinstance(found, bytes) else found), name


def open_program(source: str | bytes | os.PathLike[str]) -> tuple[str | bytes, str]:
    """Return the text, or the bytes of text or of bytecode, and a name for errors; raises like `read_program`."""
    if isinstance(source, bytes):
        return source, "<bytecode>"
    if isinstance(source, str) and ("\n" in source or "{" in source or not source.strip()):
        return _checked(source, "<string>"), "<string>"
    path = Path(source)
    shown_path = one_line(str(path)[:200])
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:  # a null character or a lone surrogate in a path
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ShloDiscError(
            f"expected StableHLO text or the path of a file with it, found '{shown_path}': {reason}"
        ) from error
    return data, one_line(str(path))


def text_of(data: bytes, name: str, *, isolate: bool) -> str:
    """The text that bytes hold, as text or as bytecode; raises like `read_program`."""
    if data.startswith(_MAGIC):
        return read_bytecode(data, name, isolate=isolate)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        place = f"{error.reason}, number {error.start}"
        raise _refused(name, f"expected StableHLO text or MLIR bytecode, found other bytes ({place})") from error


def _checked(text: str, name: str) -> str:
    """Refuse text with lone surrogates, which no file can hold."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        found = f"the half U+{ord(text[error.start]):04X} of one"
        raise ParseError(
            f"expected Unicode characters, found {found}", Span(Source(name, text), error.start, error.start + 1)
        ) from error
    return text


def read_bytecode(data: bytes, name: str, *, isolate: bool) -> str:
    """The text of MLIR bytecode. Raises `ParseError` if jaxlib cannot read it, `ShloDiscError` if there is no jaxlib.

    Damaged bytecode can crash jaxlib: with `isolate`, a separate process reads it.
    """
    if importlib.util.find_spec("jaxlib") is None:
        raise ShloDiscError(
            "MLIR bytecode is read through jaxlib, which is not installed: "
            "pip install 'shlo-disc[jax]', or pass StableHLO text"
        )
    if isolate:
        return _isolated(data, name)
    try:
        return disassembler.disassemble(data)
    except Exception as error:  # jaxlib raises whatever the bytes lead it to
        raise _refused(name, f"expected bytecode that jaxlib can read: {error}") from error


def _isolated(data: bytes, name: str) -> str:
    paths = json.dumps([path or str(Path.cwd()) for path in sys.path])
    command = [sys.executable, "-I", "-c", _START, paths, str(Path(disassembler.__file__).absolute())]
    try:
        done = run(command, seconds=SECONDS, data=data)
    except TimeoutError as error:
        raise _refused(name, f"expected bytecode that jaxlib can read: it came to {error}") from error
    except (OSError, ValueError) as error:
        raise ShloDiscError(
            f"cannot start {one_line(sys.executable or 'Python')} to read MLIR bytecode: {error}\n"
            "  help: read it in this process: CompileOptions(isolate_reader=False)"
        ) from error
    if done.status != 0:
        raise _refused(name, f"expected bytecode that jaxlib can read: {_why(done)}")
    return done.output.decode()


def _why(done: Finished) -> str:
    said = shown(done.errors)
    return said if done.status == disassembler.REFUSED else f"it crashed ({done.ending})\n{said}".rstrip()


def _refused(name: str, message: str) -> ParseError:
    return ParseError(message, Span(Source(name, ""), 0, 0))
