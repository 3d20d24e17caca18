"""Read types, and lists of anything."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TypeVar

from shlo_disc.diagnostics import Source, UnsupportedOpError
from shlo_disc.expr.dtypes import DType
from shlo_disc.ir.attributes import (
    Attribute,
    FunctionType,
    TensorType,
    TokenType,
    TupleType,
    Type,
)
from shlo_disc.parse.lexer import Reader

DTYPES: Mapping[str, DType] = {dtype.value: dtype for dtype in DType}

_TENSOR = re.compile(r"((?:(?:\d+|\?)x)*)(.*)")
_SHAPE = re.compile(r"[\w?]+")
_MOST_DIGITS = 18  # of a size; more do not fit 64 bits

_T = TypeVar("_T")


class TypeReader(Reader, ABC):
    """Reads types; equal spellings are read once."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._types: dict[str, Type] = {}

    @abstractmethod
    def attribute(self) -> Attribute:
        """Read one attribute value: a tensor type may hold one."""

    def type(self) -> Type:
        """Read one type."""
        token = self.tokens[self.at]
        if (known := self._types.get(token)) is not None:
            self.at += 1
            return known
        if token.startswith("tensor<"):
            known = self._tensor(token[7:-1])
            self._types[token] = known
            self.at += 1
            return known
        return self._rare_type(token)

    def _rare_type(self, token: str) -> Type:
        match token:
            case "tensor":
                return self._encoded_tensor()
            case "!stablehlo.token":
                self.at += 1
                return TokenType()
            case "tuple":
                self.at += 1
                return TupleType(tuple(self.enclosed("<", ">", self.type)))
            case "(":
                return self.function_type()
            case _ if token[:1] == "!" or token in DTYPES or token in ("memref", "vector", "complex"):
                raise UnsupportedOpError(f"type '{token}' is not supported here", self.span())
            case _:
                raise self.unexpected("a type")

    def _tensor(self, inside: str) -> TensorType:
        match = _TENSOR.fullmatch(inside)
        assert match is not None, "the pattern takes any text"
        dtype = DTYPES.get(match[2])
        if dtype is None:
            if not match[2] or match[2][0] == "?" or match[2].isdigit():
                raise self.unexpected("an element type in the tensor type, such as 'tensor<4xf32>'")
            raise UnsupportedOpError(f"element type '{match[2]}' is not supported", self.span())
        sizes = match[1].split("x")[:-1]
        if any(len(size) > _MOST_DIGITS for size in sizes):
            raise self.unexpected("sizes of at most 18 digits")
        return TensorType(tuple([None if size == "?" else int(size) for size in sizes]), dtype)

    def _encoded_tensor(self) -> TensorType:
        """Read `tensor<?xf32, #stablehlo.bounds<4>>`, which is not one token."""
        first = self.at
        self.at += 1
        self.expect("<")
        match = _SHAPE.match(self.source.text, self.span(self.at - 1).end)
        if match is None:
            start = self.tokens[self.at]
            if start == "*" or start[:1] == "!":
                raise UnsupportedOpError(f"type 'tensor<{start}…>' is not supported", self.span(first))
            raise self.unexpected("a shape and an element type")
        self.skip_to(match.end())
        if self.tokens[self.at][:1] == "!":
            raise UnsupportedOpError(f"element type '{self.tokens[self.at]}' is not supported", self.span())
        plain = self._tensor(match[0])
        self.expect(",")
        encoding = self.attribute()
        self.expect(">")
        return TensorType(plain.shape, plain.dtype, encoding)

    def function_type(self) -> FunctionType:
        """Read `(T, …) -> T` or `(T, …) -> (T, …)`."""
        inputs = self.type_list()
        self.expect("->")
        results = self.type_list() if self.tokens[self.at] == "(" else (self.type(),)
        return FunctionType(inputs, results)

    def type_list(self) -> tuple[Type, ...]:
        """Read `(T, …)`."""
        return tuple(self.enclosed("(", ")", self.type))

    def types(self) -> list[Type]:
        """Read `T, T, …`, at least one."""
        found = [self.type()]
        while self.tokens[self.at] == ",":
            self.at += 1
            found.append(self.type())
        return found

    def tensor_type(self, what: str) -> TensorType:
        """Read a type that must be a tensor's."""
        at = self.at
        found = self.type()
        if not isinstance(found, TensorType):
            raise self.unexpected(what, at)
        return found

    def element_type(self) -> DType | None:
        """Read `f32` or the like, if it comes next."""
        dtype = DTYPES.get(self.tokens[self.at])
        if dtype is not None:
            self.at += 1
        return dtype

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
