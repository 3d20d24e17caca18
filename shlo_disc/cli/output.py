"""Output of the command line: all text for terminals passes through this module."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from shlo_disc.diagnostics import printable

_HEAD = re.compile(r"^(?:\S+:\d+:\d+: )?(error|note|  from|  help):", re.MULTILINE)
_COLOURS = {"error": 31, "note": 36, "from": 36, "help": 32}  # red, cyan, cyan, green


def say(text: str) -> None:
    """Write text to the standard output; characters that a terminal would interpret are escaped."""
    sys.stdout.write(highlight(text, sys.stdout))


def complain(error: object) -> None:
    """Write an error to the standard error stream in the same way, with a line break after it."""
    sys.stderr.write(highlight(f"{error}\n", sys.stderr))


def give(text: str) -> None:
    """Write text for other programs to the standard output: unchanged, unless that is a terminal."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def highlight(text: str, stream: TextIO) -> str:
    """Escape text, and colour the heads of error lines, on a terminal that permits it (`NO_COLOR`, `TERM`)."""
    text = printable(text)
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return _HEAD.sub(lambda head: f"\x1b[{_COLOURS[head[1].strip()]}m{head[0]}\x1b[0m", text)
