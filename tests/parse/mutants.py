"""Damage programs: `mutate` makes one random change, the same for the same random numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from random import Random

PIECE = re.compile(r"%[\w#]+|tensor<[^>]*>|dense<[^>]*>|[\w.]+|\s+|.")
NUMBER = re.compile(r"\d+")
FRAGMENTS = (
    *("", "%0", "%a", "%0:2", '"', "{", "}", "(", ")", "<", ">", "[", "]", ":", ",", "->", "=", "\\", "\0", "é", "//"),
    *("tensor<4xf32>", "tensor<*xf32>", "dense<[1]>", 'dense<"0x', "array<i64: 1>", "#stablehlo", "#loc", "loc(", "0x"),
    *("-1", "1.5", "9" * 5000, "0x" + "F" * 5000, "1e999999999", "?", "@main", "@a::@b", "^bb0", "^bb0(%x: i32):"),
    *("!x", "!quant.uniform<i8:f32, 0.5>", "#stablehlo.bounds<?, 5>", "affine_map<(d0) -> (d0)>", "dense_resource<a>"),
    *(
        "stablehlo.add",
        "func.func",
        "module {",
        "{-#",
        "#-}",
        "\n// -----\n",
        "unit",
        "false",
        "\udc80",
        "\ud800",
        "\r",
        "\x1b[31m",
        "\u202e",
    ),
    *("!t = i32\n", "#a = [#a]\n", "#loc = loc(#loc)\n", "tuple<", "complex<f32>", "value = ", "stablehlo.return %0"),
)
HUGE = ("0", "-1", "4294967296", "9223372036854775807", "18446744073709551616", "9" * 40, "9" * 5000, "1e400")
BRACKETS = (("[", "]"), ("(", ")"), ("{a = ", "}"), ("tuple<", ">"), ("#x<", ">"), ("loc(fused[", "])"), ("({", "})"))


def _pieces(text: str) -> list[str]:
    return PIECE.findall(text) or [""]


def _cut(rng: Random, text: str, _other: str) -> str:
    pieces = _pieces(text)
    at = rng.randrange(len(pieces))
    del pieces[at : at + rng.choice((1, 1, 2, 5, 40))]
    return "".join(pieces)


def _swap(rng: Random, text: str, _other: str) -> str:
    pieces = _pieces(text)
    i, j = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    pieces[i], pieces[j] = pieces[j], pieces[i]
    return "".join(pieces)


def _copy(rng: Random, text: str, _other: str) -> str:
    pieces = _pieces(text)
    at, target = rng.randrange(len(pieces)), rng.randrange(len(pieces))
    length = rng.choice((1, 2, 5, 40))
    return "".join([*pieces[:target], *pieces[at : at + length], *pieces[target:]])


def _insert(rng: Random, text: str, _other: str) -> str:
    pieces = _pieces(text)
    pieces.insert(rng.randrange(len(pieces)), rng.choice(FRAGMENTS))
    return "".join(pieces)


def _replace(rng: Random, text: str, _other: str) -> str:
    pieces = _pieces(text)
    pieces[rng.randrange(len(pieces))] = rng.choice(FRAGMENTS)
    return "".join(pieces)


def _truncate(rng: Random, text: str, _other: str) -> str:
    return text[: rng.randrange(len(text) + 1)]


def _change_number(rng: Random, text: str, _other: str) -> str:
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return text
    chosen = rng.choice(numbers)
    return text[: chosen.start()] + rng.choice((*HUGE, str(rng.randrange(300)))) + text[chosen.end() :]


def _nest(rng: Random, text: str, _other: str) -> str:
    pieces = _pieces(text)
    at, depth = rng.randrange(len(pieces)), rng.choice((3, 30, 60, 90, 300, 20_000))
    opening, closing = rng.choice(BRACKETS)
    pieces[at] = opening * depth + pieces[at] + closing * rng.choice((depth, depth, depth - 1, 0))
    return "".join(pieces)


def _splice(rng: Random, text: str, other: str) -> str:
    """Join the beginning of one program and the end of another, or put lines of one into the other."""
    ours, theirs = text.splitlines(keepends=True), other.splitlines(keepends=True)
    at, begin = rng.randrange(len(ours) + 1), rng.randrange(len(theirs) + 1)
    end = begin + rng.choice((1, 3, len(theirs)))
    return "".join([*ours[:at], *theirs[begin:end], *(ours[at:] if rng.random() < 0.5 else [])])


def _character(rng: Random, text: str, _other: str) -> str:
    at = rng.randrange(len(text) + 1)
    return (
        text[:at]
        + chr(rng.choice((0, 10, 34, 60, 62, 92, 127, 233, 0x2028, 0x1F600, rng.randrange(128))))
        + text[at + 1 :]
    )


KINDS: Mapping[str, Callable[[Random, str, str], str]] = {
    "cut": _cut,
    "swap": _swap,
    "copy": _copy,
    "insert": _insert,
    "replace": _replace,
    "truncate": _truncate,
    "number": _change_number,
    "nest": _nest,
    "splice": _splice,
    "character": _character,
}


def mutate(rng: Random, programs: Sequence[str]) -> str:
    """Give a random program with one to three changes."""
    text = rng.choice(programs)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        text = rng.choice(tuple(KINDS.values()))(rng, text, rng.choice(programs))
    return text


def damage_bytes(rng: Random, text: str) -> bytes:
    """Give a program with bytes that may be no text."""
    data = bytearray(text.encode("utf-8", "replace"))
    for _ in range(rng.choice((1, 3))):
        data.insert(rng.randrange(len(data) + 1), rng.choice((0, 0x80, 0xC3, 0xED, 0xFF, 10, 34)))
    return bytes(data)
