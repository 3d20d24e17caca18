"""Read types."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping

from shlo_disc.diagnostics import Source, UnsupportedOpError
from shlo_disc.ir.attributes import (
    Attribute,
    BufferType,
    FunctionType,
    FutureType,
    OpaqueType,
    QuantizedElement,
    QuantizedTensorType,
    ScalarType,
    TensorType,
    TokenType,
    TupleType,
    Type,
    UnrankedTensorType,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.lexer import Reader

DTYPES: Mapping[str, DType] = {dtype.value: dtype for dtype in DType}

_TENSOR = re.compile(r"(\*x|(?:(?:\d+|\?)x)*)(.*)")
_SHAPE_TOKEN = re.compile(r"[\w?*]+")
_SHORT_UNSIGNED = re.compile(r"u(?=[0-9])")  # quantized types spell `u8` for `ui8`
_FOREIGN_ELEMENT = re.compile(r"[su]?i[0-9]+|tf32|f80|f128|none")  # types of MLIR that StableHLO does not use
_MOST_DIGITS = 18  # of a size; more do not fit 64 bits
_MOST_DIMS = 64  # of NumPy's arrays


def is_element(token: str) -> bool:
    """Whether a word is a scalar type of MLIR."""
    return token in DTYPES or _FOREIGN_ELEMENT.fullmatch(token) is not None


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
            known = self._plain_tensor(token[7:-1])
            self._types[token] = known
            self.at += 1
            return known
        return self._rare_type(token)

    def _rare_type(self, token: str) -> Type:
        match token:
            case "tensor":
                return self._tensor()
            case "tuple":
                self.at += 1
                return TupleType(tuple(self.enclosed("<", ">", self.type)))
            case "(":
                return self.function_type()
            case "memref":
                return self._buffer()
            case "vector":
                return OpaqueType(self.balanced())
            case _ if token[:1] == "!" and len(token) > 1:
                return self._dialect_type(token)
            case _ if _FOREIGN_ELEMENT.fullmatch(token) and token not in DTYPES:
                self.at += 1
                return OpaqueType(token)
            case _:
                dtype = self.element_type()
                if dtype is None:
                    raise self.unexpected("a type")
                return ScalarType(dtype)

    def _dialect_type(self, token: str) -> Type:
        if token == "!stablehlo.token":
            self.at += 1
            return TokenType()
        if token == "!stablehlo.future":
            self.at += 1
            return FutureType(tuple(self.enclosed("<", ">", self.type)))
        if "." in token or self.tokens[self.at + 1] == "<":
            return OpaqueType(self.balanced())
        raise self.unexpected("a type alias that is defined above")

    # --- tensors

    def _plain_tensor(self, inside: str) -> Type:
        """Parse a tensor type that is one token, such as `4x?xf32`."""
        sizes, element = self._split_shape(inside)
        if element in DTYPES:
            return TensorType(self._shape(sizes), DTYPES[element])
        if _FOREIGN_ELEMENT.fullmatch(element):
            return OpaqueType(f"tensor<{inside}>")
        raise self._no_element_type(element)

    def _tensor(self) -> Type:
        """Read a tensor type that is not one token: quantized, unranked, with an encoding or of a foreign type."""
        first = self.at
        self.at += 1
        self.expect("<")
        sizes, spelled = self._split_shape(self._shape_and_word())
        element = self._element(spelled)
        if element is not None and self.accept(">"):
            if sizes == "*x":
                return UnrankedTensorType(element)
            return self._made_tensor(sizes, element, None)
        if element is not None and sizes != "*x" and self.accept(","):
            encoding = self.attribute()
            self.expect(">")
            return self._made_tensor(sizes, element, encoding)
        if element is not None or not (spelled or self.tokens[self.at][:1] == "!"):
            raise self.unexpected("'>' at the end of the tensor type" if element else "a shape and an element type")
        self.at = first
        return OpaqueType(self.balanced())

    def _made_tensor(self, sizes: str, element: DType | QuantizedElement, encoding: Attribute | None) -> Type:
        shape = self._shape(sizes)
        if isinstance(element, QuantizedElement):
            return QuantizedTensorType(shape, element, encoding)
        return TensorType(shape, element, encoding)

    def _element(self, spelled: str) -> DType | QuantizedElement | None:
        """Read the rest of an element type whose first word is `spelled`; None if it is foreign."""
        if spelled == "complex" and self.tokens[self.at] == "<":
            name = f"complex<{self.tokens[self.at + 1]}>"
            if name in DTYPES and self.tokens[self.at + 2] == ">":
                self.at += 3
                return DTYPES[name]
            return None
        if not spelled and self.tokens[self.at] == "!quant.uniform":
            return self._quantized()
        if (
            spelled
            and spelled not in DTYPES
            and self.tokens[self.at] != "<"
            and not _FOREIGN_ELEMENT.fullmatch(spelled)
        ):
            raise self._no_element_type(spelled)
        return DTYPES.get(spelled)

    def _shape_and_word(self) -> str:
        """Read `4x?xf32` up to a token that cannot be part of a shape; the lexer may cut it anywhere."""
        first = self.at
        while _SHAPE_TOKEN.fullmatch(self.tokens[self.at]):
            self.at += 1
        return "".join(self.tokens[first : self.at])

    def _split_shape(self, inside: str) -> tuple[str, str]:
        match = _TENSOR.fullmatch(inside)
        assert match is not None, "the pattern takes any text of one line"
        return match[1], match[2]

    def _shape(self, spelled: str) -> tuple[int | None, ...]:
        sizes = spelled.split("x")[:-1]
        if any(len(size) > _MOST_DIGITS for size in sizes):
            raise self.unexpected("sizes of at most 18 digits")
        if len(sizes) > _MOST_DIMS:
            raise UnsupportedOpError(
                f"found {len(sizes)} dims, expected at most {_MOST_DIMS}, as in NumPy", self.span()
            )
        return tuple([None if size == "?" else int(size) for size in sizes])

    def _no_element_type(self, found: str) -> Exception:
        if not found or found[0] in "?*" or found[0].isdigit():
            return self.unexpected("an element type in the tensor type, such as 'tensor<4xf32>'")
        return UnsupportedOpError(f"element type '{found}' is not supported", self.span())

    def _buffer(self) -> Type:
        first = self.at
        self.at += 1
        self.expect("<")
        sizes, spelled = self._split_shape(self._shape_and_word())
        dtype = self._element(spelled) if self.tokens[self.at][:1] != "!" else None
        if isinstance(dtype, DType) and sizes != "*x" and self.accept(">"):
            return BufferType(self._shape(sizes), dtype)
        self.at = first
        return OpaqueType(self.balanced())  # with a layout or a memory space

    # --- quantized elements

    def _quantized(self) -> QuantizedElement | None:
        """Read `!quant.uniform<…>`; None if it is quantized along several axes, which StableHLO does not have."""
        first = self.at
        self.at += 1
        self.expect("<")
        inside = self.at
        storage = self._storage()
        least, most = storage.integer_bounds
        if self.accept("<"):
            least = self.integer()
            self.expect(":")
            most = self.integer()
            self.expect(">")
        self.expect(":")
        expressed = self.element_type()
        if expressed is None:
            raise self.unexpected("the type of the numbers that are meant, such as 'f32'")
        axis: int | None = None
        if self.accept(":"):
            if self.tokens[self.at] == "{":
                self.at = first
                return None
            axis = self.integer()
        self.expect(",")
        pairs = [self._scale_and_zero_point()] if axis is None else self.enclosed("{", "}", self._scale_and_zero_point)
        spelling = self.text_between(inside, self.at - 1)
        self.expect(">")
        scales, zero_points = tuple([scale for scale, _ in pairs]), tuple([zero for _, zero in pairs])
        return QuantizedElement(storage, least, most, expressed, axis, scales, zero_points, spelling)

    def _storage(self) -> DType:
        dtype = DTYPES.get(_SHORT_UNSIGNED.sub("ui", self.tokens[self.at]))
        if dtype is None or not dtype.is_integer:
            raise self.unexpected("a storage type, such as 'i8' or 'u8'")
        self.at += 1
        return dtype

    def _scale_and_zero_point(self) -> tuple[float, int]:
        scale = self.number("a scale")
        return scale, self.integer() if self.accept(":") else 0

    # --- several types

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
        token = self.tokens[self.at]
        if token == "complex":
            name = "".join(self.tokens[self.at : self.at + 4])
            if name in DTYPES:
                self.at += 4
            return DTYPES.get(name)
        dtype = DTYPES.get(token)
        if dtype is not None:
            self.at += 1
        return dtype
