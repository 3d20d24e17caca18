"""Types, attributes and locations, as the text spells them. Equal ones compare equal.

Types and attributes share a module because each may hold the other (encodings, `TypeAttr`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TypeAlias

from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record


@record
class TensorType:
    """`tensor<4x?xf32>`: a size of None prints as `?`."""

    shape: tuple[int | None, ...]
    dtype: DType
    encoding: Attribute | None = None


@record
class QuantizedElement:
    """`!quant.uniform<i8<-127:127>:f32:0, {0.5,0.25:3}>`: stored `i` stands for `(i - zero_point) * scale`.

    `axis` is the quantization dimension, None if one scale holds for the whole tensor. `least` and `most` bound the
    stored integers; a type that does not spell them has the bounds of its storage type. `spelling` is the text between
    the angle brackets, kept for exact printing; it does not take part in comparisons.
    """

    storage: DType
    least: int
    most: int
    expressed: DType
    axis: int | None
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    spelling: str = field(default="", compare=False)


@record
class QuantizedTensorType:
    """`tensor<4x!quant.uniform<…>>`."""

    shape: tuple[int | None, ...]
    element: QuantizedElement
    encoding: Attribute | None = None


@record
class UnrankedTensorType:
    """`tensor<*xf32>`."""

    element: DType | QuantizedElement


@record
class BufferType:
    """`memref<4xf32>`: what some custom calls read and write in place."""

    shape: tuple[int | None, ...]
    dtype: DType


@record
class FutureType:
    """`!stablehlo.future<…>`: the pending results of an op that was started."""

    members: tuple[Type, ...]


@record
class ScalarType:
    """A bare element type such as `i32`; StableHLO has only attributes of it, other dialects have values, too."""

    dtype: DType


@record
class OpaqueType:
    """A type of another dialect, kept as text (`!shape.shape`)."""

    text: str


# The types of `shape`; a witness is that a constraint holds.
SHAPE, SIZE, WITNESS = OpaqueType("!shape.shape"), OpaqueType("!shape.size"), OpaqueType("!shape.witness")


@record
class TokenType:
    """`!stablehlo.token`."""


@record
class TupleType:
    """`tuple<…>`."""

    members: tuple[Type, ...]


@record
class FunctionType:
    """`(…) -> …`."""

    inputs: tuple[Type, ...]
    results: tuple[Type, ...]


Type: TypeAlias = (
    TensorType
    | QuantizedTensorType
    | UnrankedTensorType
    | BufferType
    | TokenType
    | FutureType
    | TupleType
    | FunctionType
    | ScalarType
    | OpaqueType
)


@record
class UnitAttr:
    """`unit`: its presence is its value."""


@record
class BoolAttr:
    value: bool


@record
class IntegerAttr:
    """`5 : i64`; the dtype is None where the text leaves it out."""

    value: int
    dtype: DType | None = None


@record
class FloatAttr:
    """`1.0e-5 : f32`; `text` keeps the spelling, which comparisons use, as NaN would not equal itself."""

    value: float = field(compare=False)
    dtype: DType | None
    text: str


@record
class StringAttr:
    """A string, unescaped."""

    value: str


@record
class SymbolAttr:
    """`@name`, or `@name::@inner`, a symbol in the symbol table `@name`."""

    name: str
    inner: tuple[str, ...] = ()


@record
class TypeAttr:
    type: Type


@record
class ArrayAttr:
    """`[a, b]`."""

    items: tuple[Attribute, ...]


@record
class DictAttr:
    """`{a = 1, b}`."""

    items: Mapping[str, Attribute]


@record
class DenseArrayAttr:
    """`array<i64: 1, 2>`; booleans are ints 0 and 1."""

    dtype: DType
    values: tuple[int | float, ...]


@record
class DenseAttr:
    """`dense<…> : tensor<…>`: the literal as raw little-endian element bytes.

    `data` holds one element if `splat`, else all of them, row-major; sub-byte types and i1 take one
    byte an element. `spelling` is the text between the angle brackets, kept for exact printing; without it the literal
    is printed as hexadecimal digits. `resource` is the key of the data in the resource section at the end of the text.
    Neither takes part in comparisons.
    """

    type: TensorType
    data: bytes
    splat: bool
    spelling: str = field(default="", compare=False)
    resource: str = field(default="", compare=False)


@record
class EnumAttr:
    """`#stablehlo<precision HIGH>`, or the bare keyword of a pretty form.

    The family of `LT` is `comparison_direction`, that of a bare word in a record its field's name.
    """

    dialect: str
    family: str
    value: str


@record
class RecordAttr:
    """`#stablehlo.gather<offset_dims = [1]>`: named fields, those left out are absent.

    A field is an attribute; lists of integers are `ArrayAttr` of `IntegerAttr`.
    """

    dialect: str
    name: str
    fields: Mapping[str, Attribute]


@record
class ConvDimensionsAttr:
    """`#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>`: letters and spatial numbers."""

    input: tuple[str | int, ...]
    kernel: tuple[str | int, ...]
    output: tuple[str | int, ...]


@record
class BoundsAttr:
    """`#stablehlo.bounds<5, ?>`: the upper bound of each `?` size of a tensor type, None where it is not bounded."""

    sizes: tuple[int | None, ...]


@record
class LocationAttr:
    """A location as a value: `loc("a")`."""

    location: Location


@record
class OpaqueAttr:
    """An attribute of another dialect, kept as text (`#sdy.op_sharding_rule<…>`, `affine_map<…>`)."""

    text: str


Attribute: TypeAlias = (
    UnitAttr
    | BoolAttr
    | IntegerAttr
    | FloatAttr
    | StringAttr
    | SymbolAttr
    | TypeAttr
    | ArrayAttr
    | DictAttr
    | DenseArrayAttr
    | DenseAttr
    | EnumAttr
    | RecordAttr
    | ConvDimensionsAttr
    | BoundsAttr
    | LocationAttr
    | OpaqueAttr
)


@record
class UnknownLocation:
    """`loc(unknown)`."""


@record
class FileLocation:
    """`loc("file":line:column)`, or a range `… to …` whose text `range_text` keeps."""

    file: str
    line: int
    column: int
    range_text: str = ""


@record
class NameLocation:
    """`loc("name"(child))`."""

    name: str
    child: Location | None


@record
class CallLocation:
    """`loc(callsite(callee at caller))`."""

    callee: Location
    caller: Location


@record
class FusedLocation:
    """`loc(fused<metadata>[a, b])`."""

    members: tuple[Location, ...]
    metadata: str = ""


@record
class AliasLocation:
    """`loc(#loc5)`: defined elsewhere in the text; `Module.location_aliases` resolves it."""

    name: str


Location: TypeAlias = UnknownLocation | FileLocation | NameLocation | CallLocation | FusedLocation | AliasLocation
