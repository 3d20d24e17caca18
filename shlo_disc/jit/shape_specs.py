"""The language of shapes, jaxtyping's: `"b s 256"`, `"*batch 2*s"`, `"... _"`; one text for each array.

A name is a size that may change, and the same size wherever it stands. `_` is a size of its own, `...` any number of
such sizes, `*name` any number of sizes that are the same wherever it stands. Sums and products have no spaces: `s+1`.
`name=256` is the number 256. Source: the jaxtyping documentation, "Shape and dtype annotations".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Mapping

from shlo_disc.diagnostics import ArgumentTypeError, ParseError, Source, Span
from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.jit.abstraction import size_name, unused
from shlo_disc.records import record

RESERVED = frozenset({"floordiv", "mod", "max", "min", "non_negative"})  # functions in JAX's language of sizes
_NAME = re.compile(r"[^\W\d]\w*")


@record
class ShapeSpec:
    """The sizes of one array.

    `variadic`: the position that stands for any number of sizes, if there is one; their `name` is "" for `...`.
    """

    text: str
    dims: tuple[Dim | None, ...]  # None: a size of its own
    variadic: int | None = None
    name: str = ""

    def resolve(self, rank: int, place: str, used: Container[str] = ()) -> tuple[Dim, ...]:
        """The sizes of an array of a rank. `place`: its name, for messages and for sizes without a name.

        Names for these are none of those that are `used`. Raises `ArgumentTypeError` if there is no shape of this rank.
        """
        dims = list(self.dims)
        if self.variadic is not None:
            more = rank - len(dims)
            if more < 0:
                raise ArgumentTypeError(f"{place}: found rank {rank}, expected at least {len(dims)}: '{self.text}'")
            new = [symbol(f"{self.name}_{k}") if self.name else None for k in range(more)]
            dims[self.variadic : self.variadic] = new
        if len(dims) != rank:
            raise ArgumentTypeError(f"{place}: found rank {rank}, expected {len(dims)}: '{self.text}'")
        return tuple(
            [symbol(unused(size_name(place, axis), used)) if dim is None else dim for axis, dim in enumerate(dims)]
        )

    @property
    def names(self) -> frozenset[str]:
        """The names of sizes, without those that `*name` stands for."""
        return frozenset(one.name for dim in self.dims if dim is not None for one in dim.symbols())


def read_shape(text: str) -> ShapeSpec:
    """Parse the shape of one array. Raises `ParseError`.

    >>> read_shape("b s+1 256").resolve(3, "x")
    (b, s + 1, 256)
    """
    source = Source("shapes", text)
    dims = list[Dim | None]()
    variadic, name = None, ""
    for found in re.finditer(r"\S+", text):
        word, span = found[0], Span(source, *found.span())
        if word == "..." or word.startswith("*"):
            if variadic is not None:
                raise ParseError("expected one of '...' and '*name' at most, found a second one", span)
            variadic, name = len(dims), _checked(word[1:], span) if word != "..." else ""
        else:
            dims.append(None if word == "_" else _size(word, span))
    return ShapeSpec(text, tuple(dims), variadic, name)


def read_shapes(text: str) -> tuple[ShapeSpec | None, ...]:
    """Parse the shapes of all positional arguments, separated by commas; None where there is no text.

    >>> [one and one.text for one in read_shapes(", b s")]
    [None, 'b s']
    """
    return tuple([read_shape(part.strip()) if part.strip() else None for part in text.split(",")])


def annotated_shapes(annotations: Mapping[str, object]) -> dict[str, ShapeSpec]:
    """The shapes that annotations of jaxtyping give, such as `Float[Array, "b s"]`, by the names of parameters."""
    texts = {name: getattr(one, "dim_str", None) for name, one in annotations.items() if name != "return"}
    return {name: read_shape(text) for name, text in texts.items() if isinstance(text, str)}


def _size(word: str, span: Span) -> Dim:
    _, _, value = word.rpartition("=")
    if value[:1] in {"#", "?"}:
        raise ParseError(f"found '{value[0]}', expected a size: broadcasting sizes are not supported", span)
    try:
        tree = ast.parse(value, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _no_size(word, span) from None
    return _evaluate(tree, word, span)


def _evaluate(tree: ast.expr, word: str, span: Span) -> Dim:
    """Sums, differences and products of names and numbers."""
    match tree:
        case ast.Constant(value=int(number)) if not isinstance(number, bool) and number >= 0:
            return const(number)
        case ast.Name(id=name):
            return symbol(_checked(name, span))
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
            x, y = _evaluate(left, word, span), _evaluate(right, word, span)
            return x + y if isinstance(op, ast.Add) else x - y if isinstance(op, ast.Sub) else x * y
        case _:
            raise _no_size(word, span)


def _no_size(word: str, span: Span) -> ParseError:
    return ParseError(
        f"found '{word}', expected a size: a name, a number, '_', '...', '*name', or a sum or product such as 2*s+1",
        span,
    )


def _checked(name: str, span: Span) -> str:
    if not _NAME.fullmatch(name) or name in RESERVED:
        raise ParseError(f"found '{name}', expected the name of a size", span)
    return name
