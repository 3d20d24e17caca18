"""What the parser says of text that is not right, and where it points."""

from __future__ import annotations

import pytest

from shlo_disc.diagnostics import CompileError, ParseError, UnsupportedOpError, VerifyError
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick


def message(text: str) -> str:
    """Give the error of a function with argument %x, whose body starts on line 2."""
    program = f"func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{\n{text}\n  return %x : tensor<4xf32>\n}}"
    with pytest.raises(CompileError) as caught:
        parse_module(program, "m.mlir")
    return str(caught.value)


def test_unknown_op_in_pretty_form() -> None:
    assert message("  %1 = stablehlo.wiggle %x : tensor<4xf32>") == (
        "m.mlir:2:8: error: op 'stablehlo.wiggle' is not supported\n"
        "    %1 = stablehlo.wiggle %x : tensor<4xf32>\n"
        "         ^^^^^^^^^^^^^^^^"
    )


def test_unknown_op_in_generic_form() -> None:
    assert message('  "chlo.wiggle"(%x) : (tensor<4xf32>) -> ()') == (
        "m.mlir:2:3: error: op 'chlo.wiggle' is not supported\n"
        '    "chlo.wiggle"(%x) : (tensor<4xf32>) -> ()\n'
        "    ^^^^^^^^^^^^^"
    )


def test_undefined_value() -> None:
    assert message("  %1 = stablehlo.add %x, %y : tensor<4xf32>") == (
        "m.mlir:2:26: error: expected a value that is defined above, found '%y'\n"
        "    %1 = stablehlo.add %x, %y : tensor<4xf32>\n"
        "                           ^^"
    )


def test_type_of_an_operand() -> None:
    assert message("  %1 = stablehlo.tanh %x : tensor<5xf32>") == (
        "m.mlir:2:23: error: expected operand 0 of the type that is stated, tensor<5xf32>, "
        "found '%x' of type tensor<4xf32>\n"
        "    %1 = stablehlo.tanh %x : tensor<5xf32>\n"
        "                        ^^\n"
        "m.mlir:1:17: note: '%x' is defined here\n"
        "  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n"
        "                  ^^"
    )


def test_a_name_that_is_taken() -> None:
    text = "  %1 = stablehlo.tanh %x : tensor<4xf32>\n  %1 = stablehlo.tanh %x : tensor<4xf32>"
    assert message(text) == (
        "m.mlir:3:3: error: expected a new name, found '%1', which is defined already\n"
        "    %1 = stablehlo.tanh %x : tensor<4xf32>\n"
        "    ^^\n"
        "m.mlir:2:3: note: it is defined here\n"
        "    %1 = stablehlo.tanh %x : tensor<4xf32>\n"
        "    ^^"
    )


def test_generic_only_op_in_pretty_form() -> None:
    assert message("  %1 = stablehlo.sort %x : tensor<4xf32>") == (
        "m.mlir:2:8: error: op 'stablehlo.sort' is supported in its generic form only\n"
        "    %1 = stablehlo.sort %x : tensor<4xf32>\n"
        "         ^^^^^^^^^^^^^^\n"
        '  help: write "stablehlo.sort"(…) : …'
    )


def test_number_of_operands() -> None:
    assert message("  %1 = stablehlo.add %x : tensor<4xf32>") == (
        "m.mlir:2:8: error: expected 'stablehlo.add' to have 2 operands, found 1\n"
        "    %1 = stablehlo.add %x : tensor<4xf32>\n"
        "         ^^^^^^^^^^^^^"
    )


CASES = (
    ("%1 = stablehlo.add %x %x : tensor<4xf32>", "expected ':', found '%x'"),
    ("%1 = stablehlo.tanh %x : tensor<4xq7>", "element type 'q7' is not supported"),
    ("%1 = stablehlo.tanh %x : tensor<4x>", "expected an element type in the tensor type"),
    ("%1 = stablehlo.compare LS, %x, %x : ", "expected one of EQ, NE, GE, GT, LE, LT, found 'LS'"),
    ("%1:2 = stablehlo.tanh %x : tensor<4xf32>", "expected names for the 1 results of"),
    ("%1 = stablehlo.constant dense<[1, 2]> : tensor<3xi32>", "expected lists nested as 3"),
    ("%1 = stablehlo.constant dense<1.5> : tensor<i32>", "elements of type i32, found '1.5'"),
    ("%1 = stablehlo.constant dense<300> : tensor<i8>", "found '300', which does not fit"),
    ('%1 = stablehlo.constant dense<"0x00"> : tensor<3xi32>', "3 elements of 4 bytes, found 1 b"),
    ("%1 = stablehlo.constant dense<1> : tensor<?xi32>", "expected a static shape"),
    ('%1 = stablehlo.composite "a', "found a string that does not end on its line"),
    ("%1 = stablehlo.iota dim = 0 {iota_dimension = 1} : tensor<4xi32>", "no 'iota_dimension' in"),
    ('"stablehlo.case"(%x) ({}) : (tensor<4xf32>) -> ()', "expected a 'return' at the end of the"),
    ("stablehlo.return %x : tensor<4xf32>", "expected '}' after 'stablehlo.return'"),
    ("%1 = call @f(%x) : (tensor<4xf32>) -> tensor<i1>", "found '@f', which is none"),
    ('%1 = "func.call"(%x) : (tensor<4xf32>) -> tensor<i1>', "expected an attribute 'callee'"),
    ("%1 = call @main(%x) : (tensor<4xf32>) -> tensor<i1>", "expected the types of '@main' at"),
    ("%1 = stablehlo.tanh %x : tensor<4xf32> loc(#no)", "definition '#no = loc(…)', found none"),
)


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_message(text: str, expected: str) -> None:
    assert expected in message(text)


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("", ParseError, "expected 'module' or 'func.func', found the end of the text"),
        ("module {", ParseError, "expected 'func.func', found the end of the text"),
        ("module {\n}\nmodule {\n}", UnsupportedOpError, "expected one module, found 2"),
        ("module {\n  func.return\n}", UnsupportedOpError, "op 'func.return' is not supported outside a function"),
        ("module {\n}\nfunc.func private @f()", ParseError, "expected the end of the text after the module"),
        (
            "func.func private @f()\nfunc.func private @f()",
            VerifyError,
            "expected one definition of '@f', found another",
        ),
        (
            "func.func @f(tensor<f32>) -> tensor<f32> {\n}",
            ParseError,
            "expected names for the arguments of a function that has a body",
        ),
        (
            "func.func @f(%x: tensor<f32>) -> tensor<i1> {\n  return %x : tensor<f32>\n}",
            VerifyError,
            "expected '@f' to return tensor<i1>, found tensor<f32>",
        ),
        ("module {\n} loc(#a)\n#a = loc(unknown)\n#a = loc(unknown)", ParseError, "not defined yet"),
    ],
)
def test_whole_text(text: str, kind: type[CompileError], expected: str) -> None:
    with pytest.raises(kind) as caught:
        parse_module(text)
    assert expected in caught.value.message


def test_a_property_that_the_op_does_not_have() -> None:
    assert message('  %1 = "stablehlo.abs"(%x) <{sign = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>') == (
        "m.mlir:2:28: error: expected the properties of 'stablehlo.abs' to be none, found 'sign'\n"
        '    %1 = "stablehlo.abs"(%x) <{sign = 1 : i32}> : (tensor<4xf32>) -> tensor<4xf32>\n'
        "                             ^\n"
        "  help: other attributes stand in braces of their own, {…}"
    )
