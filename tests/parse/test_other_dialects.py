"""Ops of other dialects that compute sizes print as MLIR prints them, and mean the same in both forms."""

from __future__ import annotations

import re

import pytest

from shlo_disc.diagnostics import ParseError, UnsupportedOpError, VerifyError
from shlo_disc.dialects.table import OTHER_OPS
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.verify.ops import verify
from tests.parse.exactness import differs_from_mlir, round_trips
from tests.parse.jaxlib_printer import Printer
from tests.parse.other_dialects import PRETTY, UNKNOWN_TO_JAXLIB, program
from tests.parse.structure import structure

pytestmark = pytest.mark.quick


def test_every_op_has_a_sample() -> None:
    modules = [parse_module(program(op)) for op in (*PRETTY, *UNKNOWN_TO_JAXLIB)]
    assert {op.name for module in modules for op in module.walk()} - {"func.return"} == OTHER_OPS.keys()


@pytest.mark.parametrize("op", [*PRETTY, *UNKNOWN_TO_JAXLIB])
def test_a_program_prints_as_it_was_written(op: str) -> None:
    text = program(op)
    module = parse_module(text)
    verify(module)
    assert str(module) == text
    generic = print_module(module, generic=True)
    assert structure(parse_module(generic)) == structure(module)
    assert str(parse_module(generic)) == text


def test_mlir_prints_the_same() -> None:
    printer = Printer()
    own = re.compile(r"\) <\{.*\}>")
    for op in PRETTY:
        text = program(op)
        assert not round_trips(text)
        assert differs_from_mlir(text, printer) == "", op
        theirs = printer.read(text)
        assert theirs is not None
        ours = own.findall(print_module(parse_module(text), generic=True))
        unset = " <{overflowFlags = #arith.overflow<none>}>"  # MLIR writes what it is by default
        assert ours == own.findall(theirs.text(generic=True, locations=False).replace(unset, ""))
        back = printer.read(print_module(parse_module(text), generic=True))
        assert back is not None, op
        assert back.text(generic=False, locations=False) == theirs.text(generic=False, locations=False)


@pytest.mark.parametrize(
    "op",
    [
        '%0 = "arith.constant"() <{value = 0 : index}> : () -> i64',
        '%0 = "arith.cmpi"(%i, %j) <{predicate = 10 : i64}> : (index, index) -> i1',
        '%0 = "arith.addi"(%i, %j) : (index, index) -> i64',
        '%0 = "tensor.dim"(%x, %n) : (tensor<?x4xf32>, i64) -> index',
        '%0 = "tensor.from_elements"(%i, %n) : (index, i64) -> tensor<2xindex>',
        '%0 = "shape.const_size"() <{value = 3 : i64}> : () -> !shape.size',
        '%0 = "shape.cstr_require"(%c) <{msg = 1 : i64}> : (i1) -> !shape.witness',
    ],
)
def test_what_the_pretty_form_cannot_say_prints_generically(op: str) -> None:
    assert str(parse_module(program(op))) == program(op)


@pytest.mark.parametrize(
    ("op", "error", "message"),
    [
        ("%0 = arith.addi %i : index", VerifyError, "expected 'arith.addi' to have 2 operands, found 1"),
        ("%0 = arith.cmpi lt, %i, %j : index", ParseError, "expected one of eq, ne, slt, sle, .*, found 'lt'"),
        ("%0 = arith.constant", ParseError, "expected an attribute"),
        (
            '%0 = arith.constant "a"',
            ParseError,
            "expected a number, true, false or a literal 'dense<…>', found '\"a\"'",
        ),
        ("%0 = tensor.extract %x : tensor<?x4xf32>", ParseError, r"expected '\[', found ':'"),
        ("%0 = tensor.from_elements %i : tensor<1xi64>", ParseError, "expected operand 0 of the type .* i64"),
        ("%0 = shape.const_shape [1.0] : !shape.shape", ParseError, "expected an integer"),
        ("%0 = shape.assuming %w -> (index) {\n    }", ParseError, "expected a 'return' at the end of the block"),
        ("%0 = tensor.pad %x : tensor<?x4xf32>", UnsupportedOpError, "op 'tensor.pad' is not supported"),
        ("%0 = arith.addf %f, %f : f32", UnsupportedOpError, "op 'arith.addf' is not supported"),
    ],
)
def test_errors_show_the_place(op: str, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        parse_module(program(op))
    assert re.match(r"<string>:[34]:\d+: error: ", str(caught.value))
