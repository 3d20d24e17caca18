"""Every form of an op prints back, and means the same in pretty and in generic form."""

from __future__ import annotations

from dataclasses import replace

import pytest

from shlo_disc.diagnostics import CompileError
from shlo_disc.ir.attributes import DenseArrayAttr, DenseAttr, IntegerAttr, RecordAttr
from shlo_disc.ir.core import Op
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.parse.syntax import ENTRIES, FORMS
from tests.parse import other_dialects
from tests.parse.samples import FAMILIES, GENERIC, GENERIC_BY_NEED, PRETTY, SHARDED, UNKNOWN_TO_JAXLIB, program
from tests.parse.structure import structure

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("op", [*PRETTY, *FAMILIES, *GENERIC, *SHARDED, *UNKNOWN_TO_JAXLIB])
def test_a_module_prints_as_it_was_written(op: str) -> None:
    text = program(op)
    assert str(parse_module(text)) == text


@pytest.mark.parametrize("op", [*PRETTY, *FAMILIES, *GENERIC, *SHARDED, *UNKNOWN_TO_JAXLIB])
def test_generic_form_means_the_same(op: str) -> None:
    module = parse_module(program(op))
    text = print_module(module, generic=True)
    assert text.startswith('"builtin.module"()')
    assert "stablehlo.return " not in text
    assert structure(parse_module(text)) == structure(module)


@pytest.mark.parametrize("op", GENERIC_BY_NEED)
def test_what_the_pretty_form_cannot_say_prints_generically(op: str) -> None:
    text = program(op)
    assert str(parse_module(text)) == text


def test_an_op_that_the_table_lacks_prints_generically() -> None:
    module = parse_module(program("%0 = stablehlo.tanh %x {a.b} : tensor<f32>"))
    main = module.functions["main"]
    made = replace(main.body.ops[0], name="mine.tanh")
    body = replace(main.body, ops=(made, *main.body.ops[1:]))
    text = str(module.with_function(replace(main, body=body)))
    assert '%0 = "mine.tanh"(%x) {a.b} : (tensor<f32>) -> tensor<f32>' in text


def test_every_op_is_listed_once() -> None:
    assert len(FORMS) == len(ENTRIES)


def test_every_pretty_form_has_a_sample() -> None:
    modules = [parse_module(program(op)) for op in (*PRETTY, *FAMILIES, *GENERIC, *SHARDED, *UNKNOWN_TO_JAXLIB)]
    modules += [parse_module(other_dialects.program(op)) for op in other_dialects.PRETTY]
    modules += [parse_module(other_dialects.program(op)) for op in other_dialects.UNKNOWN_TO_JAXLIB]
    beside = [content for module in modules for content in module.contents if isinstance(content, Op)]
    found = {op.name for module in modules for op in module.walk()} | {op.name for op in beside}
    assert found >= {entry.name for entry in ENTRIES if entry.form is not None}


def test_attributes_have_the_same_names_in_both_forms() -> None:
    op = "%0 = stablehlo.pad %m, %x, low = [0, 1], high = [1, 0], interior = [0, 2] : "
    (pad, _) = (
        parse_module(program(op + "(tensor<4x5xf32>, tensor<f32>) -> tensor<5x14xf32>")).functions["main"].body.ops
    )
    assert set(pad.attributes) == {"edge_padding_low", "edge_padding_high", "interior_padding"}
    low = pad.attributes["edge_padding_low"]
    assert isinstance(low, DenseArrayAttr)
    assert low.values == (0, 1)


def test_dot_dimension_numbers_are_a_record() -> None:
    text = next(op for op in PRETTY if "contracting_dims = [1] x [0], precision" in op)
    dot = parse_module(program(text)).functions["main"].body.ops[0]
    numbers = dot.attributes["dot_dimension_numbers"]
    assert isinstance(numbers, RecordAttr)
    assert list(numbers.fields) == ["lhs_contracting_dimensions", "rhs_contracting_dimensions"]


def test_convolution_padding_is_a_literal() -> None:
    text = next(op for op in PRETTY if "pad = [[1, 2]]" in op)
    padding = parse_module(program(text)).functions["main"].body.ops[0].attributes["padding"]
    assert isinstance(padding, DenseAttr)
    assert (padding.type.shape, padding.spelling, padding.splat) == ((1, 2), "[[1, 2]]", False)
    assert padding.data == (1).to_bytes(8, "little") + (2).to_bytes(8, "little")


def test_applied_op_equals_a_written_out_region() -> None:
    short = next(op for op in PRETTY if "applies stablehlo.add" in op)
    long = short.replace(" applies stablehlo.add", "") + (
        "\n     reducer(%c: tensor<f32>, %d: tensor<f32>)  {"
        "\n      %1 = stablehlo.add %c, %d : tensor<f32>"
        "\n      stablehlo.return %1 : tensor<f32>\n    }"
    )
    assert structure(parse_module(program(short))) == structure(parse_module(program(long)))
    assert "applies stablehlo.add" in str(parse_module(program(long)))


def test_iteration_arguments_belong_to_both_regions_of_a_while() -> None:
    text = next(op for op in PRETTY if "stablehlo.while" in op)
    loop = parse_module(program(text)).functions["main"].body.ops[0]
    names = [[value.name for value in region.block.arguments] for region in loop.regions]
    assert names == [["iterArg", "iterArg_0"]] * 2
    assert loop.regions[0].block.arguments[0] is not loop.regions[1].block.arguments[0]


def test_while_with_differing_names_prints_generically() -> None:
    text = next(op for op in PRETTY if "stablehlo.while" in op)
    generic = print_module(parse_module(program(text)), generic=True)
    renamed = generic.replace("^bb0(%iterArg: ", "^bb0(%other: ", 1)
    renamed = renamed.replace('"stablehlo.compare"(%iterArg,', '"stablehlo.compare"(%other,', 1)
    module = parse_module(renamed)
    assert '"stablehlo.while"(' in str(module)
    assert structure(parse_module(str(module))) == structure(module)


@pytest.mark.parametrize("generic", [False, True])
def test_a_form_without_room_for_a_location_gives_way(generic: bool) -> None:
    loop = next(op for op in PRETTY if "stablehlo.while" in op)
    generic_loop = print_module(parse_module(program(loop)), generic=True)
    module = parse_module(generic_loop.replace("^bb0(%iterArg: tensor<i32>", '^bb0(%iterArg: tensor<i32> loc("i")', 1))
    text = print_module(module, locations=True, generic=generic)
    assert structure(parse_module(text), locations=True) == structure(module, locations=True)
    assert "stablehlo.while(" in str(module)


def test_a_combining_op_of_another_place_is_written_out() -> None:
    short = next(op for op in PRETTY if "applies stablehlo.add" in op)
    generic = print_module(parse_module(program(short)), generic=True)
    inner = '"stablehlo.add"(%lhs.0, %rhs.0) : (tensor<f32>, tensor<f32>) -> tensor<f32>'
    module = parse_module(generic.replace(inner, f'{inner} loc("here")'))
    assert "applies stablehlo.add" in str(module)
    text = print_module(module, locations=True)
    assert 'stablehlo.add %lhs.0, %rhs.0 : tensor<f32> loc("here")' in text
    assert structure(parse_module(text), locations=True) == structure(module, locations=True)


def test_properties_may_stand_among_the_attributes() -> None:
    new = GENERIC[0]
    old = new.replace("<{", "{").replace("}>", "}")
    assert structure(parse_module(program(new))) == structure(parse_module(program(old)))


def test_a_missing_module_line_and_comments_are_accepted() -> None:
    module = parse_module(
        "// before\nfunc.func @main(%x: tensor<2xi8>) -> tensor<2xi8> { // after\n  func.return %x : tensor<2xi8>\n}"
    )
    assert module.name is None
    assert list(module.functions) == ["main"]


def test_numbers_keep_the_type_that_the_text_states() -> None:
    text = "module attributes {a = 1 : i32, b = -2, c = 0x10 : ui8} {\n}\n"
    module = parse_module(text)
    assert module.attributes["b"] == IntegerAttr(-2)
    assert "a = 1 : i32, b = -2, c = 16 : ui8" in str(module)


def test_values_of_multiple_results_have_their_own_names() -> None:
    text = next(op for op in PRETTY if "optimization_barrier" in op)
    results = parse_module(program(text)).functions["main"].body.ops[0].results
    assert [value.name for value in results] == ["0#0", "0#1"]


@pytest.mark.parametrize("depth", [100_000])
def test_deep_nesting_is_an_error_of_the_program(depth: int) -> None:
    text = f"module attributes {{a = {'[' * depth}{']' * depth}}} {{\n}}"
    with pytest.raises(CompileError, match="nested"):
        parse_module(text)
