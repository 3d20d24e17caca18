"""Errors that point at the user's program. Imports nothing from shlo_disc."""

from __future__ import annotations

import operator
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import SupportsIndex, cast

from shlo_disc.records import record

# Characters that a terminal interprets or hides: control characters, marks of text direction, line separators, lone
# surrogates.
_UNSEEN = "\0-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
_CONTROLS, _BREAKS = f"[{_UNSEEN}]", f"[\t\n{_UNSEEN}]"


def printable(text: str) -> str:
    r"""Escape characters that a terminal would interpret; line breaks and tabs remain.

    >>> print(printable("a\x1b[31mb"))
    a\x1b[31mb
    """
    return text if text.isascii() and text.isprintable() else re.sub(_CONTROLS, _escaped, text)


def one_line(text: str) -> str:
    r"""Escape line breaks and tabs, too: for text of the user within a line.

    >>> print(one_line("a\nb"))
    a\nb
    """
    return text if text.isascii() and text.isprintable() else re.sub(_BREAKS, _escaped, text)


def counted(number: int, what: str, several: str | None = None) -> str:
    """A number of things: `what` is the word for one of them, `several` the word for others (default: with an s).

    >>> counted(1, "call"), counted(0, "call"), counted(2, "entry", "entries")
    ('1 call', '0 calls', '2 entries')
    """
    return f"{number} {what if number == 1 else several or f'{what}s'}"


def filled(message: str, values: Sequence[object]) -> str:
    """The message of a check with its values in the places of `{0}`, `{1}` …; other braces stay as they are.

    >>> filled("found {0}, not {7}", [3])
    'found 3, not {7}'
    """
    parts = split_message(message, len(values))
    return "".join([part if isinstance(part, str) else str(values[part]) for part in parts])


def split_message(message: str, count: int) -> list[str | int]:
    """The texts of a message of a check, and between them the numbers of its values, of which there are `count`.

    >>> split_message("found {0}, not {7}", 1)
    ['found ', 0, ', not {7}']
    """
    found, last = list[str | int](), 0
    for hole in re.finditer(r"\{(\d{1,9})\}", message):
        if int(hole[1]) < count:
            found += [message[last : hole.start()], int(hole[1])]
            last = hole.end()
    return [*found, message[last:]]


def _escaped(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode("ascii")


def _columns(text: str) -> int:
    """How many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "FW") for c in text)


@record
class Source:
    """A text given to the compiler, and its file name for the user."""

    file: str
    text: str

    def __repr__(self) -> str:
        return f"Source({self.file!r}, {len(self.text)} characters)"


@record
class Span:
    """A half-open range of characters in one source."""

    source: Source
    start: int
    end: int

    @property
    def line(self) -> int:
        """The 1-based line the span starts on."""
        return self.source.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        """The 1-based column the span starts at."""
        return self.start - (self.source.text.rfind("\n", 0, self.start) + 1) + 1

    def where(self) -> str:
        """`file:line:column` of the first character."""
        return f"{one_line(self.source.file)}:{self.line}:{self.column}"

    def excerpt(self) -> str:
        """The source line with carets below the span; very long lines are cut around it.

        >>> print(Span(Source("m.mlir", "%1 = stablehlo.tan %0"), 5, 18).excerpt())
          %1 = stablehlo.tan %0
               ^^^^^^^^^^^^^
        """
        text = self.source.text
        head = text.rfind("\n", 0, self.start) + 1
        tail = text.find("\n", self.start)
        tail = len(text) if tail < 0 else tail
        left = max(head, self.start - 60)
        right = min(tail, max(self.start + 100, left + 160))
        cut_left = "…" if left > head else ""
        cut_right = "…" if right < tail else ""
        end = max(self.start, min(self.end, right))
        parts = (text[left : self.start], text[self.start : end], text[end:right])
        before, marked, after = [one_line(part.replace("\t", " ")) for part in parts]  # carets keep their columns
        margin = len(cut_left) + _columns(before)
        line = f"{cut_left}{before}{marked}{after}{cut_right}"
        return f"  {line}\n  {' ' * margin}{'^' * max(1, _columns(marked))}"

    def explain(self, message: str) -> str:
        """Put `message` on the source line it is about.

        >>> print(Span(Source("m.mlir", "%1 = stablehlo.tan %0"), 5, 18).explain("unknown op"))
        m.mlir:1:6: error: unknown op
          %1 = stablehlo.tan %0
               ^^^^^^^^^^^^^
        """
        if not self.source.text:  # without text there is no line to show
            return f"{one_line(self.source.file)}: error: {message}"
        return f"{self.where()}: error: {message}\n{self.excerpt()}"


def from_line(origin: str) -> str:
    r"""Format the line of an error that names the user's own source, if it is known.

    >>> from_line("model.py:17")
    '\n  from: model.py:17'
    """
    return f"\n  from: {one_line(origin)}" if origin else ""


NOWHERE = Span(Source("<generated>", ""), 0, 0)


@record
class Note:
    """The other side of an error: where a conflicting definition or demand came from."""

    message: str
    span: Span

    def __str__(self) -> str:
        return f"{self.span.where()}: note: {self.message}\n{self.span.excerpt()}"


class ShloDiscError(Exception):
    """Root of every error that shlo_disc raises on purpose. Its text may be shown on a terminal as it is.

    Raised itself for an argument that is not valid: an unknown device, option or size, a file that is not a program.
    The message says what was found and expected; pass what it expects.
    """

    def __str__(self) -> str:
        return printable(super().__str__())


class CompileError(ShloDiscError):
    """The user's program cannot be compiled as it stands.

    Raised as one of the classes that are derived from it. The message has one shape: `file:line:col: error: what`, the
    source line, carets, then `from:` with the line of Python that the op came from, `note:` lines for other places and
    a `help:` line with the remedy.
    """

    # `origin` may be left empty where the error is raised: it is filled in where the error leaves a stage that has the
    # module (`parse.origins`).
    def __init__(
        self, message: str, span: Span, *, notes: tuple[Note, ...] = (), hint: str = "", origin: str = ""
    ) -> None:
        super().__init__(message, span)
        self.message = message
        self.span = span
        self.notes = notes
        self.hint = hint
        self.origin = origin

    def __str__(self) -> str:
        parts = [self.span.explain(self.message) + from_line(self.origin), *map(str, self.notes)]
        if self.hint:
            parts.append(f"  help: {self.hint}")
        return printable("\n".join(parts))


class ParseError(CompileError):
    """The text is not StableHLO, or a constraint is malformed.

    Compare the marked place with the specification's syntax. If JAX or another front end wrote the text, it may be of a
    newer version: export it for an older one.
    """


class VerifyError(CompileError):
    """The program is well-formed but breaks a rule of StableHLO.

    The message has the rule's number in the specification, and what was found in its place. Change the op, or what
    wrote it. `shlo_disc.verify` checks a program without compiling it.
    """


class ShapeError(CompileError):
    """Shapes contradict each other for every size of the inputs.

    No call could succeed. The notes name the two places that contradict each other: change one of them, or the
    constraint that is one of them.
    """


class UnsupportedOpError(CompileError):
    """The program uses something that shlo_disc does not support.

    docs/reference/refused.md lists what this can be, with reasons. For a custom call, register a function
    (`register_custom_call`); `jit(..., fallback="jax")` hands such calls to `jax.jit`.
    """


class RuntimeShapeError(ShloDiscError, ValueError):
    """The arrays of a call break a size constraint of the program.

    Names the argument, the dim, what was found, what was expected, and the source line that demands it. Nothing was
    written. Pass arrays of sizes that fit, or compile with other shapes or constraints (docs/how-to/dynamic.md).
    """


class ArgumentTypeError(ShloDiscError, TypeError):
    """The arrays of a call have a wrong number, dtype or rank; or an object is not a program.

    dtypes are never converted: convert the array (`x.astype(...)`), or compile for its dtype.
    """


class ToolchainError(ShloDiscError):
    """No usable compiler, or it failed on generated code; the message says how to fix that.

    `pip install 'shlo-disc[toolchain]'` brings a compiler. If one fails on generated code, try another one
    (`CompileOptions(compiler="gcc")`), and report it.
    """


class CacheWarning(UserWarning):
    """The cache's folder cannot be used. Compiled code is kept in a temporary folder until the process ends.

    Name a folder that this user alone can write to by `$SHLO_DISC_CACHE` or `CompileOptions(cache_dir=...)`
    (docs/reference/cache.md).
    """


class InternalError(ShloDiscError):
    """A bug of shlo_disc; names the step that failed.

    Report it with the program. `CompileOptions(fusion="none")` may avoid it until it is mended
    (docs/how-to/debug.md).
    """


def whole_number(value: object, what: str) -> int:
    """Read a whole number that a user gave as `what`, also one of NumPy.

    >>> whole_number(7, "size s")
    7
    >>> whole_number(7.5, "size s")
    Traceback (most recent call last):
    shlo_disc.diagnostics.ShloDiscError: found size s = 7.5, expected a whole number
    """
    try:
        return operator.index(cast("SupportsIndex", value))
    except TypeError:
        raise ShloDiscError(f"found {what} = {value!r}, expected a whole number") from None


def whole_numbers(given: object, what: str) -> tuple[int, ...]:
    """Read several whole numbers that a user gave as `what`.

    >>> whole_numbers(range(3), "dim s")
    (0, 1, 2)
    >>> whole_numbers(3, "dim s")
    Traceback (most recent call last):
    shlo_disc.diagnostics.ShloDiscError: found dim s = 3, expected several whole numbers such as [1, 8]
    """
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ShloDiscError(f"found {what} = {given!r}, expected several whole numbers such as [1, 8]")
    return tuple(whole_number(value, f"a value of {what}") for value in cast("Iterable[object]", given))
