"""Types of every kind are read, and spelled as they were."""

# jaxlib's MLIR bindings are partly untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import pytest
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from shlo_disc.diagnostics import ParseError, Source, UnsupportedOpError
from shlo_disc.ir.attributes import (
    BoundsAttr,
    BufferType,
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
from shlo_disc.ir.spelling import spell_type
from shlo_disc.parse.locations import LocationReader

pytestmark = pytest.mark.quick

I8, F32 = DType.I8, DType.F32
PER_TENSOR = QuantizedElement(DType.UI8, 0, 255, F32, None, (0.001,), (-30,))
PER_AXIS = QuantizedElement(I8, -127, 127, F32, 0, (0.5, 0.25), (3, 0))

SPELLINGS: tuple[tuple[str, Type], ...] = (
    ("tensor<f32>", TensorType((), F32)),
    ("tensor<0x4x?xi1>", TensorType((0, 4, None), DType.I1)),
    ("tensor<2xcomplex<f64>>", TensorType((2,), DType.C128)),
    ("tensor<?x4xf32, #stablehlo.bounds<5, ?>>", TensorType((None, 4), F32, BoundsAttr((5, None)))),
    ("tensor<?xcomplex<f32>, #stablehlo.bounds<5>>", TensorType((None,), DType.C64, BoundsAttr((5,)))),
    ("tensor<*xf32>", UnrankedTensorType(F32)),
    ("memref<2x?xui8>", BufferType((2, None), DType.UI8)),
    ("!stablehlo.token", TokenType()),
    ("!stablehlo.future<tensor<f32>, tensor<i8>>", FutureType((TensorType((), F32), TensorType((), I8)))),
    ("tuple<tensor<f32>, tuple<>>", TupleType((TensorType((), F32), TupleType(())))),
    ("index", ScalarType(DType.INDEX)),
    ("complex<f32>", ScalarType(DType.C64)),
    ("si32", OpaqueType("si32")),
    ("tensor<4xi37>", OpaqueType("tensor<4xi37>")),
    ("tensor<4x!other.thing<[a], (b)>>", OpaqueType("tensor<4x!other.thing<[a], (b)>>")),
    ("tensor<4xvector<2xf32>>", OpaqueType("tensor<4xvector<2xf32>>")),
    ("memref<4xf32, strided<[1]>, 3>", OpaqueType("memref<4xf32, strided<[1]>, 3>")),
    ('!other.thing<"(">', OpaqueType('!other.thing<"(">')),
)

QUANTIZED: tuple[tuple[str, Type], ...] = (
    ("tensor<!quant.uniform<u8:f32, 1.0e-3:-30>>", QuantizedTensorType((), PER_TENSOR)),
    ("tensor<*x!quant.uniform<u8:f32, 1.0e-3:-30>>", UnrankedTensorType(PER_TENSOR)),
    ("tensor<2x?x!quant.uniform<i8<-127:127>:f32:0, {0.5:3,0.25}>>", QuantizedTensorType((2, None), PER_AXIS)),
    (
        "tensor<?x!quant.uniform<u8:f32, 1.0e-3:-30>, #stablehlo.bounds<4>>",
        QuantizedTensorType((None,), PER_TENSOR, BoundsAttr((4,))),
    ),
    ("tensor<4x!quant.any<i8:f32>>", OpaqueType("tensor<4x!quant.any<i8:f32>>")),
    (
        "tensor<4x2x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5}}>>",
        OpaqueType("tensor<4x2x!quant.uniform<i8:f32:{0:1, 1:2}, {{0.5}}>>"),
    ),
)


def read(text: str) -> Type:
    reader = LocationReader(Source("m.mlir", text))
    found = reader.type()
    assert not reader.tokens[reader.at], "something is left"
    return found


@pytest.mark.parametrize(("text", "type_"), [*SPELLINGS, *QUANTIZED])
def test_types_are_read_and_spelled(text: str, type_: Type) -> None:
    assert read(text) == type_
    assert spell_type(read(text)) == text


@pytest.mark.parametrize("text", [text for text, _ in SPELLINGS])
def test_mlir_knows_these_types(text: str) -> None:
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        assert str(ir.Type.parse(text)) == text


@pytest.mark.parametrize("dtype", list(DType))
def test_every_element_type(dtype: DType) -> None:
    text = f"tensor<3x{dtype.value}>"
    assert read(text) == TensorType((3,), dtype)
    with mlir.make_ir_context():
        assert str(ir.Type.parse(text)) == text


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("tensor< 4x 5xf32 >", "tensor<4x5xf32>"),
        ("tensor<?xf32, #stablehlo.type_extensions<bounds = [4]>>", "tensor<?xf32, #stablehlo.bounds<4>>"),
        ("() -> tensor<f32>", "() -> (tensor<f32>)"),
    ],
)
def test_other_spellings(text: str, same: str) -> None:
    assert read(text) == read(same)


def test_quantized_types_are_equal_by_their_numbers() -> None:
    first, second = (
        read("tensor<!quant.uniform<i8:f32, 0.5>>"),
        read("tensor<!quant.uniform<i8<-128:127>:f32, 5e-1:0>>"),
    )
    assert first == second
    assert spell_type(first) != spell_type(second)


def test_quantized_types_made_in_python_are_spelled_as_mlir_does() -> None:
    assert spell_type(QuantizedTensorType((2,), PER_TENSOR)) == "tensor<2x!quant.uniform<u8:f32, 0.001:-30>>"
    text = "tensor<2x!quant.uniform<i8<-127:127>:f32:0, {0.5:3,0.25}>>"
    assert spell_type(QuantizedTensorType((2,), PER_AXIS)) == text


@pytest.mark.parametrize(
    ("text", "expected", "column"),
    [
        ("tensor<4x>", "an element type in the tensor type", 1),
        ("tensor<>", "a shape and an element type, found '>'", 8),
        ("tensor<4xf32", "'>' at the end of the tensor type, found the end", 13),
        ("tensor<*xf32, 1>", "'>' at the end of the tensor type, found ','", 13),
        ("tensor<4xf32, >", "an attribute, found '>'", 15),
        ("tensor<9999999999999999999xf32>", "sizes of at most 18 digits", 1),
        ("tensor<!quant.uniform<q8:f32, 1.0>>", "a storage type, such as 'i8' or 'u8', found 'q8'", 23),
        ("tensor<!quant.uniform<i8:x, 1.0>>", "the numbers that are meant, such as 'f32', found 'x'", 26),
        ("tensor<!quant.uniform<i8:f32, x>>", "a scale, found 'x'", 31),
        ("tensor<!quant.uniform<i8:f32:0, 1.0>>", "'{', found '1.0'", 33),
        ("tensor<4x!other.thing<(>>", "')', found '>'", 24),
        ('!other.thing<"a>', "a string that does not end on its line", 14),
        ("!alias", "a type alias that is defined above", 1),
        ("thing", "a type, found 'thing'", 1),
    ],
)
def test_what_is_no_type(text: str, expected: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert expected in caught.value.message
    assert caught.value.span.column == column


def test_an_unknown_element_type_is_named() -> None:
    with pytest.raises(UnsupportedOpError, match="element type 'f31' is not supported"):
        read("tensor<4xf31>")
