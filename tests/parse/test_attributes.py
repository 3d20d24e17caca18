"""Attributes of every kind are read, and spelled as MLIR spells them."""

# jaxlib's MLIR bindings are partly untyped.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import pytest
from jax._src.interpreters import mlir
from jaxlib.mlir import ir

from shlo_disc.diagnostics import ParseError, Source
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    BoundsAttr,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DictAttr,
    EnumAttr,
    FloatAttr,
    IntegerAttr,
    LocationAttr,
    NameLocation,
    OpaqueAttr,
    RecordAttr,
    ScalarType,
    StringAttr,
    SymbolAttr,
    TypeAttr,
    UnitAttr,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute
from shlo_disc.parse.locations import LocationReader
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

I64 = DType.I64
HIGHEST = RecordAttr("stablehlo", "result_accuracy_mode", {"HIGHEST": UnitAttr()})

ATTRIBUTES: tuple[tuple[str, Attribute], ...] = (
    ("true", BoolAttr(value=True)),
    ("5 : i64", IntegerAttr(5, I64)),
    ("-128 : i8", IntegerAttr(-128, DType.I8)),
    ("3 : index", IntegerAttr(3, DType.INDEX)),
    ("5 : si32", OpaqueAttr("5 : si32")),
    ("1.500000e+00 : f32", FloatAttr(1.5, DType.F32, "1.500000e+00")),
    ("0x7FC00000 : f32", FloatAttr(0.0, DType.F32, "0x7FC00000")),
    ('"a\\22\\0A\\C3\\A9\\FF"', StringAttr('a"\né\udcff')),
    ("@a", SymbolAttr("a")),
    ('@a::@"b c"::@d', SymbolAttr("a", ("b c", "d"))),
    ("f32", TypeAttr(ScalarType(DType.F32))),
    ("[]", ArrayAttr(())),
    ("[unit, 1 : i64]", ArrayAttr((UnitAttr(), IntegerAttr(1, I64)))),
    ('{"b c" = 1 : i64, d.e, f}', DictAttr({"b c": IntegerAttr(1, I64), "d.e": UnitAttr(), "f": UnitAttr()})),
    ("array<i64>", DenseArrayAttr(I64, ())),
    ("array<i1: true, false>", DenseArrayAttr(DType.I1, (1, 0))),
    ("array<f32: 1.000000e-01, 0x7F800000>", DenseArrayAttr(DType.F32, (0.1, float("inf")))),
    ("array<f64: 0.33333333333333331>", DenseArrayAttr(DType.F64, (1 / 3,))),
    ("#stablehlo<precision HIGH>", EnumAttr("stablehlo", "precision", "HIGH")),
    ("#stablehlo.bounds<?, 5>", BoundsAttr((None, 5))),
    (
        "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>",
        ConvDimensionsAttr(("b", 0, "f"), (0, "i", "o"), ("b", 0, "f")),
    ),
    (
        "#stablehlo.channel_handle<handle = 1, type = 2>",
        RecordAttr("stablehlo", "channel_handle", {"handle": IntegerAttr(1), "type": IntegerAttr(2)}),
    ),
    (
        "#stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>",
        RecordAttr("stablehlo", "result_accuracy", {"mode": HIGHEST}),
    ),
    ("#other.thing<a -> {b}, [(c)]>", OpaqueAttr("#other.thing<a -> {b}, [(c)]>")),
    ("affine_map<(d0) -> (d0)>", OpaqueAttr("affine_map<(d0) -> (d0)>")),
    ("affine_set<(d0) : (d0 >= 0)>", OpaqueAttr("affine_set<(d0) : (d0 >= 0)>")),
    ("strided<[1, 2], offset: 3>", OpaqueAttr("strided<[1, 2], offset: 3>")),
    ("distinct[0]<1 : i32>", OpaqueAttr("distinct[0]<1 : i32>")),
    ('dense<["a", "b"]> : tensor<2x!other.string>', OpaqueAttr('dense<["a", "b"]> : tensor<2x!other.string>')),
    ("dense<1> : vector<4xi32>", OpaqueAttr("dense<1> : vector<4xi32>")),
    ('loc("a")', LocationAttr(NameLocation("a", None))),
)

# Other spellings of what MLIR prints in one.
SAME: tuple[tuple[str, str], ...] = (
    ("255 : i8", "-1 : i8"),
    ("0xFF : i8", "-1 : i8"),
    ("1 : i1", "true"),
    ("18446744073709551615 : i64", "-1 : i64"),
    ("array<i8: 255, 0x10>", "array<i8: -1, 16>"),
    ("array<f32: 1.0>", "array<f32: 1.000000e+00>"),
    ("#stablehlo.type_extensions<bounds = [4, ?]>", "#stablehlo.bounds<4, ?>"),
)

# What the specification has besides, in the spelling of MLIR; the fields are kept as they are.
RECORDS = (
    "#stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], operand_batching_dims = [2], "
    "start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 1>",
    "#stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>",
    "#stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], "
    "rhs_contracting_dimensions = [1]>",
    "#stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "
    "lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, "
    "allow_imprecise_accumulation = false>",
    "#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>",
    "#chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], "
    "lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>",
)

# The same for what jaxlib's StableHLO does not have yet.
NEW_RECORDS = (
    '#stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>]>',
    '#stablehlo.mesh<axes = [#stablehlo.mesh_axis<name = "x", size = 2>]>',
    '#stablehlo.thing<a = tensor<4x!quant.uniform<i8:f32, 0.5>>, b = loc("x"), c = word, d>',
)


def read(text: str) -> Attribute:
    reader = LocationReader(Source("m.mlir", text))
    found = reader.attribute()
    assert not reader.tokens[reader.at], "something is left"
    return found


def printed_by_mlir(text: str) -> str:
    with mlir.make_ir_context() as context:
        context.allow_unregistered_dialects = True
        return str(ir.Attribute.parse(text))


@pytest.mark.parametrize(("text", "attribute"), ATTRIBUTES)
def test_attributes_are_read_and_spelled(text: str, attribute: Attribute) -> None:
    assert read(text) == attribute
    assert spell_attribute(attribute) == text


@pytest.mark.parametrize("text", [*(text for text, _ in ATTRIBUTES), *RECORDS])
def test_mlir_spells_them_so(text: str) -> None:
    if not text.startswith("loc("):  # jaxlib's bindings have no such attribute
        assert printed_by_mlir(text) == printed_by_mlir(spell_attribute(read(text)))


@pytest.mark.parametrize("text", [*RECORDS, *NEW_RECORDS])
def test_records_come_back(text: str) -> None:
    found = read(text)
    assert isinstance(found, RecordAttr)
    assert spell_attribute(found) == text


@pytest.mark.parametrize(("text", "printed"), SAME)
def test_other_spellings(text: str, printed: str) -> None:
    assert spell_attribute(read(text)) == printed == printed_by_mlir(text)


@pytest.mark.parametrize(
    ("text", "expected", "column"),
    [
        ("256 : i8", "a number that fits i8, found '256'", 1),
        ("-1 : ui8", "a number that fits ui8, found '-1'", 1),
        ("2 : i1", "a number that fits i1", 1),
        ("18446744073709551616", "a number that fits i64", 1),
        ("9" * 200, "a number of reasonable length", 1),
        ("1 : f32", "a number of type f32", 1),
        ("1.5 : i32", "a number of type i32", 1),
        ("0x1FF : f8E4M3FN", "the bits of a number of type f8E4M3FN", 1),
        ("1 : tensor<i32>", "the type of a number, such as 'i64'", 5),
        ("array<i8: 300>", "a list of i8 values, not '300'", 1),
        ("array<i1: 1>", "a list of i1 values, not '1'", 1),
        ("array<f32: nan>", "a list of f32 values, not 'nan'", 1),
        ("array<i64: 1_000>", "a list of i64 values, not '1_000'", 1),
        ("array<i64: 1,>", "a list of i64 values, not ''", 1),
        ("array<x: 1>", "an array with an element type", 1),
        ("{a = 1, a = 2}", "a name other than 'a', which occurs already", 9),
        ("#stablehlo.mesh<a = [1], a = [1]>", "a field other than 'a', which occurs already", 26),
        ("#stablehlo.dot<a = [1]>", "one of lhs_batching_dimensions, rhs_batching_dimensions, ", 16),
        ("#stablehlo<precision HIGHER>", "one of DEFAULT, HIGH, HIGHEST, found 'HIGHER'", 22),
        ("#stablehlo.conv<raw batch = 0>", "one of input_batch_dimension, ", 21),
        ("#stablehlo.conv<raw input_feature_dimension = 2>", "each dimension of a tensor once, from 0 on", 17),
        ("#stablehlo.conv<[q]x[o]->[f]>", "'b', 'f', 'i', 'o' or the number of a spatial dimension", 18),
        ("#other.thing<a ] b>", "'>', found ']'", 16),
        ("#alias", "an attribute alias that is defined above", 1),
        ('"a', "a string of Unicode characters that ends on its line", 1),
        ('"\\q"', "no escape '\\q' in a string", 1),
        ("@", "a symbol such as '@main', found '@'", 1),
        ("dense<1>", "':', found the end of the text", 9),
        ("thing", "an attribute, found 'thing'", 1),
        ("", "an attribute, found the end of the text", 1),
    ],
)
def test_what_is_no_attribute(text: str, expected: str, column: int) -> None:
    with pytest.raises(ParseError) as caught:
        read(text)
    assert expected in caught.value.message
    assert caught.value.span.column == column


RAW = """#stablehlo.conv<raw input_batch_dimension = 2, input_spatial_dimensions = [3, 1],
    kernel_input_feature_dimension = 1, kernel_output_feature_dimension = 0, kernel_spatial_dimensions = [2, 3],
    output_feature_dimension = 3, output_spatial_dimensions = [1, 2]>"""


def test_dimension_numbers_in_their_long_spelling() -> None:
    expected = "#stablehlo.conv<[f, 1, b, 0]x[o, i, 0, 1]->[b, 0, 1, f]>"
    assert spell_attribute(read(RAW)) == expected
    with mlir.make_ir_context():
        assert str(ir.Attribute.parse(RAW)) == expected


def test_aliases_stand_for_what_they_are_defined_as() -> None:
    module = parse_module("#a = [1 : i64]\n!t = tensor<2xf32>\nmodule attributes {x = [#a, !t], y = #a} {\n}")
    assert spell_attribute(DictAttr(module.attributes)) == "{x = [[1 : i64], tensor<2xf32>], y = [1 : i64]}"


@pytest.mark.parametrize(("definition", "line"), [("#a{} = [#a{}, #a{}]", 12), ("#a{} = [#a{}]", 81)])
def test_aliases_do_not_multiply(definition: str, line: int) -> None:
    steps = [definition.format(k + 1, k, k) for k in range(100)]
    expected = "an alias that stands for at most 80 nested brackets and 10000 tokens more"
    with pytest.raises(ParseError, match=expected) as caught:
        parse_module("\n".join(["#a0 = [1]", *steps, "module {}"]))
    assert caught.value.span.line == line


def test_a_location_that_an_attribute_names_is_printed() -> None:
    text = '#loc = loc("a")\nmodule attributes {x = [#loc]} {\n}\n#loc2 = loc("b")\n'
    assert str(parse_module(text)) == '#loc = loc("a")\nmodule attributes {x = [loc(#loc)]} {\n}\n'
