"""Cut StableHLO text into tokens, by one regular expression.

What occurs often and can be found without its inner structure (simple tensor types, simple locations, whole `dense<…>`
literals) is one token, so that the parser looks it up instead of parsing it again. The first character of a token
determines its kind.

The positions of tokens in the text are computed lazily, when an error is reported. Long literals of hexadecimal
digits, the weights of a model, stay in the text: their tokens are placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, repeat

from shlo_disc.diagnostics import ParseError, Source, Span
from shlo_disc.limits import MOST_NESTED
from shlo_disc.records import record

LONG_LITERAL = 'dense<"0x…">'
RESOURCES = "{-#"  # stands for a whole section `{-# … #-}`

_LONG = 4096
_BEGUN = r'"[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
_STRING = f'{_BEGUN}"?'  # the end may be missing, so that no character is scanned twice

TOKEN = re.compile(
    r"%[\w$.-]+(?:\#\d+)?"  # value
    rf"|[(),={{}}\[\]]|:(?!:)|{_STRING}"
    r"|tensor<[\w?]+(?:<f\d+>)?>"  # tensor type without an encoding
    r'|loc\((?:\#\w+|unknown|"[^"\\\n]*"(?:\(\#\w+\))?)\)'  # simple location
    rf'|dense<(?:[^<>"]++|{_BEGUN}")*+>'
    r"|array<[^<>]*>|dense_resource<[\w$.-]+>"
    r"|[A-Za-z_][\w$.]*"  # word
    r"|-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)"  # number
    rf"|->|::|[<>]=|@(?:[\w$.-]+|{_STRING})"
    r"|[\#!][A-Za-z_][\w$.]*|\^\w+"  # alias or dialect name, block label
    r"|//[^\n]*|\S",  # comment, any other character
    re.ASCII,
)
DEPTH = {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}


@record
class Long:
    """A token that is left in the text."""

    token: str
    start: int
    end: int


@dataclass
class TokenPlaces:
    """The positions of the tokens of a text; `long` are those left in the text, by number."""

    source: Source
    long: dict[int, Long] = field(default_factory=dict[int, Long])

    @cached_property
    def ranges(self) -> tuple[list[int], list[int]]:
        """The first characters of all tokens, and the characters behind them."""
        text = self.source.text
        starts: list[int] = []
        ends: list[int] = []
        at = 0
        for one in [*self.long.values(), None]:
            end = len(text) if one is None else one.start
            spans = [match.span() for match in TOKEN.finditer(text, at, end)]
            if _has_comments(text, at, end):
                spans = [span for span in spans if not text.startswith("//", span[0])]
            starts += [start for start, _ in spans]
            ends += [end for _, end in spans]
            if one is not None:
                starts.append(one.start)
                at = one.end
                ends.append(at)
        return starts, ends


class TokenSpan(Span):
    """The span of a token, computed on first use."""

    __slots__ = ("_at", "_places")
    _at: int
    _places: TokenPlaces

    def __init__(self, places: TokenPlaces, at: int) -> None:
        object.__setattr__(self, "_places", places)
        object.__setattr__(self, "_at", at)

    def __getattr__(self, name: str) -> object:
        """Compute the span; called for fields that are not set yet."""
        if name not in ("source", "start", "end"):
            raise AttributeError(name)
        places: TokenPlaces = object.__getattribute__(self, "_places")
        at: int = object.__getattribute__(self, "_at")
        starts, ends = places.ranges
        end = len(places.source.text)
        object.__setattr__(self, "source", places.source)
        object.__setattr__(self, "start", starts[at] if at < len(starts) else end)
        object.__setattr__(self, "end", ends[at] if at < len(ends) else end)
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        """Whether both are the same token, without computing spans."""
        return isinstance(other, TokenSpan) and self._at == other._at and self._places is other._places

    def __hash__(self) -> int:
        return hash(self._at)


def cut(source: Source) -> tuple[list[str], TokenPlaces]:
    """Cut a text into tokens; the last, an empty one, is the end of the text."""
    text, places, tokens, at = source.text, TokenPlaces(source), list[str](), 0
    for one in _long_tokens(text):
        tokens += _short_tokens(text, at, one.start)
        places.long[len(tokens)] = one
        tokens.append(one.token)
        at = one.end
    tokens += _short_tokens(text, at, len(text))
    tokens.append("")
    _limit_depth(tokens, places)
    return tokens, places


def _short_tokens(text: str, start: int, end: int) -> list[str]:
    tokens: list[str] = TOKEN.findall(text, start, end)
    if _has_comments(text, start, end):
        tokens = [token for token in tokens if token[:2] != "//"]
    return tokens


def _has_comments(text: str, known: int, end: int) -> bool:
    """Whether some `//` is not in a string: exports have URLs in strings."""
    at = known
    while (at := text.find("//", at, end)) >= 0:
        over = _end_of_token_over(text, known, at)
        if over is None:
            return True
        known = at = over
    return False


def _long_tokens(text: str) -> Iterator[Long]:
    """Find long literals, and the section of resources between or behind them."""
    at = 0
    for one in _long_literals(text):
        yield from _sections(text, at, one.start)
        yield one
        at = one.end
    yield from _sections(text, at, len(text))


def _long_literals(text: str) -> Iterator[Long]:
    known = at = 0  # no token crosses `known`
    while (start := text.find('dense<"0x', at)) >= 0:
        quote = text.find('"', start + 7)
        at = start + 7
        if quote - start < _LONG or text[quote : quote + 2] != '">':
            continue
        if (end := _end_of_token_over(text, known, start)) is not None:
            known = at = end
            continue
        known = at = quote + 2
        yield Long(LONG_LITERAL, start, at)


def _sections(text: str, at: int, end: int) -> Iterator[Long]:
    known, stop = at, -1
    while (start := text.find(RESOURCES, at, end)) >= 0:
        if stop < start and (stop := text.find("#-}", start, end)) < 0:
            return
        if (inside := _end_of_token_over(text, known, start)) is not None:
            known = at = inside
            continue
        known = at = stop + 3
        yield Long(RESOURCES, start, at)


def _end_of_token_over(text: str, known: int, at: int) -> int | None:
    """Return the end of the string, comment or word that contains `at`; none of them spans lines."""
    last = None
    for last in TOKEN.finditer(text, max(known, text.rfind("\n", known, at) + 1), at):  # noqa: B007  # the last counts
        pass
    whole = None if last is None or last.end() < at else TOKEN.match(text, last.start())
    return None if whole is None or whole.end() <= at else whole.end()


def is_ended(string: str) -> bool:
    r"""Whether a token that begins with a quote ends with one that is not escaped.

    >>> is_ended('"a"'), is_ended('"a'), is_ended(r'"a\"')
    (True, False, False)
    """
    if len(string) < 2 or string[-1] != '"':
        return False
    return string[-2] != "\\" or (len(string) - len(string[:-1].rstrip("\\"))) % 2 == 1


def _limit_depth(tokens: list[str], places: TokenPlaces) -> None:
    """Refuse brackets that are nested too deeply, before the parser recurses into them."""
    if max(accumulate(map(DEPTH.get, tokens, repeat(0)))) <= MOST_NESTED:
        return
    depth, open_brackets = 0, list[int]()
    for at, token in enumerate(tokens):
        step = DEPTH.get(token, 0)
        if step > 0:
            # The generic form is to have the depth of the pretty one: `({` and `<{` count once, `^bb0(` not at all.
            is_framed = (tokens[at + 1] == "{" and token in "(<") or tokens[at - 1][:1] == "^"
            open_brackets.append(0 if is_framed else 1)
            depth += open_brackets[-1]
        elif step < 0 and open_brackets:
            depth -= open_brackets.pop()
        if depth > MOST_NESTED:
            message = f"expected at most {MOST_NESTED} nested brackets, found another '{token}'"
            raise ParseError(message, TokenSpan(places, at))
