"""What each op teaches about sizes: what it demands is checked at a call, and known of all sizes after it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim, symbol
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

A, B, C, D = (symbol(f"s{k}") for k in range(4))


def program(arguments: str, body: str, result: str) -> Program:
    """A function of `%x`, `%y` …; `%a`, `%b` … are the sizes of the first dims, as vectors of one element."""
    tensors = [part.split(": ") for part in arguments.split("; ")]
    sizes = "".join(
        f"""%{letter}s = stablehlo.get_dimension_size {name}, dim = 0 : ({type_}) -> tensor<i32>
        %{letter} = stablehlo.reshape %{letter}s : (tensor<i32>) -> tensor<1xi32>
        """
        for letter, (name, type_) in zip("abcd", tensors, strict=False)
        if type_.startswith("tensor<?")
    )
    constants = """%zero = stablehlo.constant dense<0> : tensor<1xi32>
        %one = stablehlo.constant dense<1> : tensor<1xi32>
        %f = stablehlo.constant dense<0.0> : tensor<f32>
        %i = stablehlo.constant dense<0> : tensor<i32>"""
    text = f"func.func @main({', '.join(map(': '.join, tensors))}) -> {result} {{"
    return legalize(parse_module(f"{text}\n{sizes}{constants}\n{body}\n return %r : {result}\n}}", "m.mlir"))


PAIR = "%x: tensor<?xf32>; %y: tensor<?xf32>"
SUM = """({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %t = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %t : tensor<f32>
  })"""
SCATTER = f"""%r = "stablehlo.scatter"(%x, %at, %y) {SUM} {{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}
    : (tensor<?x?xf32>, tensor<?x1xi32>, tensor<?x?xf32>) -> tensor<?x?xf32>"""
CONVOLUTION = """%r = stablehlo.convolution(%x, %y) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f],
    window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64}
    : (tensor<2x9x?xf32>, tensor<3x?x4xf32>) -> tensor<2x7x4xf32>"""


@pytest.mark.parametrize(
    ("arguments", "body", "result", "what", "taught"),
    [
        pytest.param(
            PAIR, "%r = stablehlo.add %x, %y : tensor<?xf32>", "tensor<?xf32>", "need equal shapes", (B, A), id="add"
        ),
        pytest.param(
            "%x: tensor<?xf32>; %y: tensor<?xi1>",
            "%r = stablehlo.select %y, %x, %x : tensor<?xi1>, tensor<?xf32>",
            "tensor<?xf32>",
            "the operands of stablehlo.select need equal shapes",
            (B, A),
            id="select",
        ),
        pytest.param(
            "%x: tensor<?x?xf32>; %y: tensor<?x?xf32>",
            "%r = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x?xf32>, tensor<?x?xf32>) -> tensor<?x?xf32>",
            "tensor<?x?xf32>",
            "concatenate keeps the other sizes",
            (D, B),
            id="concatenate",
        ),
        pytest.param(
            "%x: tensor<?x8xf32>; %y: tensor<?x4xf32>",
            """%w = stablehlo.constant dense<4> : tensor<1xi32>
            %shape = stablehlo.concatenate %b, %w, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %r = stablehlo.dynamic_reshape %x, %shape : (tensor<?x8xf32>, tensor<2xi32>) -> tensor<?x4xf32>""",
            "tensor<?x4xf32>",
            "a reshape keeps the number of elements",
            (B, 2 * A),
            id="a reshape to more rows",
        ),
        pytest.param(
            "%x: tensor<?x?xf32>; %y: tensor<?xf32>",
            "%r = stablehlo.dynamic_reshape %x, %b : (tensor<?x?xf32>, tensor<1xi32>) -> tensor<?xf32>",
            "tensor<?xf32>",
            "a reshape keeps the number of elements",
            (C, A * B),
            id="a reshape to one dim",
        ),
        pytest.param(
            "%x: tensor<?x8xf32>; %y: tensor<?x4xf32>",
            """%shape = stablehlo.concatenate %a, %b, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
            %r = stablehlo.dynamic_broadcast_in_dim %y, %shape, dims = [1, 0]
              : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>""",
            "tensor<?x?xf32>",
            "a broadcast keeps sizes that are not 1",
            (A, 4 + 0 * A),
            id="a broadcast out of a known size",
        ),
        pytest.param(
            "%x: tensor<3x?xf32>; %y: tensor<?x5xf32>",
            """%r = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0]
              : (tensor<3x?xf32>, tensor<?x5xf32>) -> tensor<3x5xf32>""",
            "tensor<3x5xf32>",
            "dims that dot pairs need equal sizes",
            (B, A),
            id="dot",
        ),
        pytest.param(
            "%x: tensor<2x9x?xf32>; %y: tensor<3x?x4xf32>",
            CONVOLUTION,
            "tensor<2x7x4xf32>",
            "a convolution's input features are those of the kernel",
            (B, A),
            id="convolution",
        ),
        pytest.param(
            "%x: tensor<?x?xf32>; %at: tensor<?x1xi32>; %y: tensor<?x?xf32>",
            SCATTER,
            "tensor<?x?xf32>",
            "scatter has one update per index",
            (D, C),
            id="scatter",
        ),
        pytest.param(
            PAIR,
            """%w:2 = "stablehlo.reduce"(%x, %y, %f, %f) ({
              ^bb0(%p: tensor<f32>, %q: tensor<f32>, %u: tensor<f32>, %v: tensor<f32>):
                %s = stablehlo.add %p, %u : tensor<f32>
                %t = stablehlo.add %q, %v : tensor<f32>
                stablehlo.return %s, %t : tensor<f32>, tensor<f32>
            }) {dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<?xf32>, tensor<f32>, tensor<f32>)
              -> (tensor<f32>, tensor<f32>)
            %r = stablehlo.add %w#0, %w#1 : tensor<f32>""",
            "tensor<f32>",
            "need equal shapes",
            (B, A),
            id="reduce",
        ),
    ],
)
def test_sizes_that_must_be_equal(arguments: str, body: str, result: str, what: str, taught: tuple[Dim, Dim]) -> None:
    made = program(arguments, body, result)
    later, earlier = taught
    assert made.facts.equal(later, earlier).is_true
    assert_only_the_demand_taught_it(made, what, lambda facts: facts.equal(later, earlier))


@pytest.mark.parametrize(
    ("arguments", "body", "result", "what", "taught"),
    [
        pytest.param(
            PAIR,
            """%r = stablehlo.real_dynamic_slice %x, %zero, %b, %one
              : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>""",
            "tensor<?xf32>",
            "a slice ends within its operand",
            (A, B),
            id="the end of a slice",
        ),
        pytest.param(
            PAIR,
            """%end = stablehlo.minimum %a, %a : tensor<1xi32>
            %r = stablehlo.real_dynamic_slice %x, %b, %end, %one
              : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>""",
            "tensor<?xf32>",
            "a slice ends after its start",
            (A, B),
            id="the start of a slice",
        ),
        pytest.param(
            PAIR,
            """%start = stablehlo.subtract %a, %b : tensor<1xi32>
            %r = stablehlo.real_dynamic_slice %x, %start, %a, %one
              : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>""",
            "tensor<?xf32>",
            "a slice starts within its operand",
            (A, B),
            id="a start that is computed",
        ),
        pytest.param(
            PAIR,
            "%r = stablehlo.dynamic_update_slice %x, %y, %i : (tensor<?xf32>, tensor<?xf32>, tensor<i32>) "
            "-> tensor<?xf32>",
            "tensor<?xf32>",
            "the window of stablehlo.dynamic_update_slice is at most its operand",
            (A, B),
            id="dynamic_update_slice",
        ),
        pytest.param(
            "%x: tensor<?xf32>; %at: tensor<?x1xi32>",
            """%r = "stablehlo.gather"(%x, %at) {dimension_numbers = #stablehlo.gather<offset_dims = [1],
              start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 3>, indices_are_sorted = false}
              : (tensor<?xf32>, tensor<?x1xi32>) -> tensor<?x3xf32>""",
            "tensor<?x3xf32>",
            "the window of stablehlo.gather is at most its operand",
            (A, 3 + 0 * A),
            id="gather",
        ),
        pytest.param(
            PAIR,
            """%low = stablehlo.negate %b : tensor<1xi32>
            %r = stablehlo.dynamic_pad %x, %f, %low, %zero, %zero
              : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>""",
            "tensor<?xf32>",
            "a padded size is not negative",
            (A, B),
            id="pad",
        ),
        pytest.param(
            PAIR,
            """%few = stablehlo.subtract %a, %b : tensor<1xi32>
            %r = stablehlo.dynamic_iota %few, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>""",
            "tensor<?xf32>",
            "has no negative sizes",
            (A, B),
            id="iota",
        ),
        pytest.param(
            "%x: tensor<?xf32>",
            """%r, %k = chlo.top_k(%x, k = 5) : tensor<?xf32> -> (tensor<5xf32>, tensor<5xi32>)""",
            "tensor<5xf32>",
            "top-k returns at most all elements",
            (A, 5 + 0 * A),
            id="top_k",
        ),
    ],
)
def test_sizes_that_must_not_be_less(
    arguments: str, body: str, result: str, what: str, taught: tuple[Dim, Dim]
) -> None:
    made = program(arguments, body, result)
    greater, less = taught
    assert made.facts.at_least(greater, less).is_true
    assert_only_the_demand_taught_it(made, what, lambda facts: facts.at_least(greater, less))


def test_a_window_that_does_not_fit_leaves_no_result() -> None:
    made = program(
        "%x: tensor<?xf32>",
        f"""%r = "stablehlo.reduce_window"(%x, %f) {SUM} {{window_dimensions = array<i64: 3>}}
          : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>""",
        "tensor<?xf32>",
    )
    (result,) = made.body.results
    assert made.facts.at_least(result.shape[0], 0).is_true
    assert made.facts.at_least(A, result.shape[0]).is_true


def test_a_loop_that_has_a_turn_keeps_the_sizes_that_it_carries_and_teaches() -> None:
    made = program(
        PAIR,
        """%c0 = stablehlo.constant dense<0> : tensor<i32>
        %c4 = stablehlo.constant dense<4> : tensor<i32>
        %w:2 = stablehlo.while(%k = %c0, %t = %x) : tensor<i32>, tensor<?xf32>
          cond {
            %p = stablehlo.compare LT, %k, %c4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
            stablehlo.return %p : tensor<i1>
          } do {
            %c1 = stablehlo.constant dense<1> : tensor<i32>
            %next = stablehlo.add %k, %c1 : tensor<i32>
            %u = stablehlo.add %t, %y : tensor<?xf32>
            stablehlo.return %next, %u : tensor<i32>, tensor<?xf32>
          }
        %r = stablehlo.add %w#1, %x : tensor<?xf32>""",
        "tensor<?xf32>",
    )
    (loop,) = [op for op in made.body.ops if op.name == "d_while"]
    assert {x.shape for x in (loop.operands[1], loop.results[1], loop.bodies[1].arguments[1])} == {(A,)}
    assert made.facts.equal(A, B).is_true


def assert_only_the_demand_taught_it(made: Program, what: str, ask: Callable[[Facts], Truth]) -> None:
    """One check says so in the op's words; without it nothing is known."""
    assert sum(what in check.message for check in made.checks) == 1, [check.message for check in made.checks]
    plain = Facts.empty()
    for size in made.raw_dims:
        plain = plain.assume_at_least(symbol(size.symbol.name), 0, "a size", NOWHERE)
    assert ask(plain) is Truth.UNKNOWN
