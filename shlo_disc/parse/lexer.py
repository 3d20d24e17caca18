"""Walk along the tokens of a text: `Reader`."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping
from typing import TypeVar

from shlo_disc.diagnostics import ParseError, Source, Span
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.strings import is_unicode, unescape
from shlo_disc.parse.tokens import TOKEN, TokenSpan, cut, is_ended

_CLOSING: Mapping[str, str] = {"<": ">", "(": ")", "[": "]", "{": "}"}

_WRONG_ESCAPE = re.compile(r'(?<!\\)(?:\\\\)*(\\(?![0-9A-Fa-f]{2}|["\\nt]).?)')

_T = TypeVar("_T")


class Reader:
    """A position in a list of tokens; the last, an empty one, is the end of the text."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens, self.places = cut(source)
        self.at: int = 0

    def span(self, at: int | None = None) -> Span:
        """The span of token number `at`, by default of the current one."""
        return TokenSpan(self.places, self.at if at is None else at)

    def text_between(self, first: int, last: int) -> str:
        """Return the text from token `first` up to the end of token `last`."""
        starts, ends = self.places.ranges
        return self.source.text[starts[first] : ends[last]]

    def token_at(self, offset: int) -> int:
        """Return the number of the first token that starts at `offset` or later."""
        return bisect_left(self.places.ranges[0], offset)

    def unexpected(self, expected: str, at: int | None = None) -> ParseError:
        """Make the error for a token other than expected."""
        at = self.at if at is None else at
        token = self.tokens[at]
        return ParseError(f"expected {expected}, found {_quote(token)}", self.span(at))

    def expect(self, token: str) -> None:
        """Consume exactly this token."""
        if self.tokens[self.at] != token:
            raise self.unexpected(f"'{token}'")
        self.at += 1

    def accept(self, token: str) -> bool:
        """Consume this token if it comes next."""
        if self.tokens[self.at] == token:
            self.at += 1
            return True
        return False

    def word(self, what: str) -> str:
        """Consume a bare word."""
        token = self.tokens[self.at]
        if not (token[:1].isalpha() or token[:1] == "_"):
            raise self.unexpected(what)
        self.at += 1
        return token

    def integer(self, dtype: DType = DType.I64) -> int:
        """Consume an integer that fits a type."""
        token = self.tokens[self.at]
        try:
            value = int(token, 0) if "x" in token else int(token)
        except ValueError:
            raise self.unexpected("an integer") from None
        low, high = dtype.integer_bounds
        if not low <= value <= high:
            raise self.unexpected(f"an integer that fits {dtype.value}")
        self.at += 1
        return value

    def number(self, what: str) -> float:
        """Consume a number, spelled in decimal."""
        try:
            value = float(self.tokens[self.at])
        except ValueError:
            raise self.unexpected(what) from None
        self.at += 1
        return value

    def enclosed(self, opening: str, closing: str, item: Callable[[], _T]) -> list[_T]:
        """Read a comma-separated list in brackets."""
        self.expect(opening)
        found: list[_T] = []
        if self.accept(closing):
            return found
        found.append(item())
        while self.accept(","):
            found.append(item())
        if not self.accept(closing):
            raise self.unexpected(f"',' or '{closing}'")
        return found

    def integers(self) -> tuple[int, ...]:
        """Read `[1, 2, …]`."""
        return tuple(self.enclosed("[", "]", self.integer))

    def balanced(self) -> str:
        """Skip a token and the brackets `<…>` that may follow it; return their text."""
        first = self.at
        self.at += 1
        if self.tokens[self.at] == "<":
            self.skip_brackets("<")
        return self.text_between(first, self.at - 1)

    def skip_brackets(self, opening: str) -> None:
        """Skip from an opening bracket past its closing one."""
        self.expect(opening)
        waiting = [_CLOSING[opening]]
        while waiting:
            token = self.tokens[self.at]
            if token[:1] == '"':
                self._unquoted(token)
            elif token in _CLOSING:
                waiting.append(_CLOSING[token])
            elif token == waiting[-1]:
                waiting.pop()
            elif token in (")", "]", "}", ">", ""):
                raise self.unexpected(f"'{waiting[-1]}'")
            self.at += 1

    def string(self, what: str = "a string") -> str:
        """Consume a string literal and give its contents."""
        token = self.tokens[self.at]
        if token[:1] != '"':
            raise self.unexpected(what)
        found = self._unquoted(token)
        self.at += 1
        return found

    def symbol(self) -> str:
        """Consume `@name` or `@"name"` and give the name."""
        token = self.tokens[self.at]
        if token[:1] != "@" or len(token) < 2:
            raise self.unexpected("a symbol such as '@main'")
        found = self._unquoted(token[1:]) if token[1] == '"' else token[1:]
        self.at += 1
        return found

    def _unquoted(self, quoted: str) -> str:
        if not is_ended(quoted) or not is_unicode(quoted):
            raise self.unexpected("a string of Unicode characters that ends on its line")
        if "\\" in quoted and (wrong := _WRONG_ESCAPE.search(quoted)) is not None:
            raise self.unexpected(f"no escape '{wrong[0]}' in a string")
        return unescape(quoted[1:-1])


def _quote(token: str) -> str:
    if not token:
        return "the end of the text"
    string = token.removeprefix("@")
    if string[:1] == '"' and not is_ended(string):
        return "a string that does not end on its line"
    return f"'{token}'" if len(token) <= 60 else f"'{token[:60]}…'"


def split_tokens(text: str) -> tuple[str, ...]:
    """Cut the literal text of an op's form into tokens.

    >>> split_tokens(", dims = ")
    (',', 'dims', '=')
    """
    return tuple(TOKEN.findall(text))
