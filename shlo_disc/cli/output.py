"""What the command line writes for people: the one place from where text gets onto a terminal."""

from __future__ import annotations

import os
import re
import sys
from typing import TextIO

from shlo_disc.diagnostics import printable

_HEAD = re.compile(r"^(?:\S+:\d+:\d+: )?(error|note|  from|  help):", re.MULTILINE)
_COLOURS = {"error": 31, "note": 36, "from": 36, "help": 32}  # red, cyan, cyan, green


def say(text: str) -> None:
    """Write text to the standard output; what a terminal would obey in it is escaped."""
    sys.stdout.write(highlight(text, sys.stdout))


def complain(error: object) -> None:
    """Write an error to the standard error stream in the same way, with a line break behind it."""
    sys.stderr.write(highlight(f"{error}\n", sys.stderr))


def give(text: str) -> None:
    """Write text that other programs read to the standard output: as it is, unless that is a terminal."""
    sys.stdout.write(printable(text) if sys.stdout.isatty() else text)


def highlight(text: str, stream: TextIO) -> str:
    """Colour what heads the lines of errors, on a terminal whose user has not asked for none (`NO_COLOR`)."""
    text = printable(text)
    if not stream.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return _HEAD.sub(lambda head: f"\x1b[{_COLOURS[head[1].strip()]}m{head[0]}\x1b[0m", text)
