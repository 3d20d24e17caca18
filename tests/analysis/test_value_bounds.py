"""Bounds of integers hold in runs, through loops and branches, and are as tight as the program says."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.program import Op, Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.expr.dim import Sym
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module

SCALAR = "tensor<i32>"
PAIR = f"({SCALAR}, {SCALAR}) -> tensor<i1>"
TURNS = 300


class Stop(Exception):  # noqa: N818
    """A loop has turned long enough."""


def read(carries: dict[str, str], condition: str, body: str, after: str = "") -> Program:
    """A loop over named integers (name: initial value) with `%n`, the size of `%x`, around."""
    names = ", ".join(f"%{name} = %{start}" for name, start in carries.items())
    types = ", ".join([SCALAR] * len(carries))
    return legalize(
        parse_module(
            f"""func.func @main(%x: tensor<?xf32>, %any: {SCALAR}, %f: tensor<i1>) -> ({types}) {{
            %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> {SCALAR}
            %c0 = stablehlo.constant dense<0> : {SCALAR}
            %c1 = stablehlo.constant dense<1> : {SCALAR}
            %c3 = stablehlo.constant dense<3> : {SCALAR}
            %last = stablehlo.subtract %n, %c1 : {SCALAR}
            %r:{len(carries)} = stablehlo.while({names}) : {types}
              cond {{ {condition}
                stablehlo.return %p : tensor<i1> }}
              do {{ {body} }}
            {after}
            return {", ".join(f"%r#{k}" for k in range(len(carries)))} : {types} }}""",
            "m.mlir",
        )
    )


def loop_of(program: Program) -> Op[Any]:
    return next(op for op in program.body.ops if op.name == "d_while")


def texts(tensors: tuple[Any, ...]) -> list[str]:
    return [f"{x.bounds[0]}..{x.bounds[1]}" for x in tensors]


LESS = f"%p = stablehlo.compare LT, %i, %n, SIGNED : {PAIR}"
NEXT = f"%j = stablehlo.add %i, %c1 : {SCALAR}"


@pytest.mark.parametrize(
    ("body", "inside", "after"),
    [
        # a counter, and a value that stays
        (f"{NEXT}\n stablehlo.return %j, %k : {SCALAR}, {SCALAR}", "0..0", "0..0"),
        # clamped at every turn; the loop turns only where there is an index
        (
            f"{NEXT}\n %m = stablehlo.add %k, %any : {SCALAR}\n %l = stablehlo.clamp %c0, %m, %last : {SCALAR}\n"
            f"stablehlo.return %j, %l : {SCALAR}, {SCALAR}",
            "0..s0 - 1",
            "0..max(s0 - 1, 0)",
        ),
        # the remainder of what it was, which is not negative since it was not
        (
            f"{NEXT}\n %m = stablehlo.add %k, %c1 : {SCALAR}\n %l = stablehlo.remainder %m, %c3 : {SCALAR}\n"
            f"stablehlo.return %j, %l : {SCALAR}, {SCALAR}",
            "0..2",
            "0..2",
        ),
        # one of two known values
        (
            f"{NEXT}\n %l = stablehlo.select %f, %k, %c3 : (tensor<i1>, {SCALAR}, {SCALAR}) -> {SCALAR}\n"
            f"stablehlo.return %j, %l : {SCALAR}, {SCALAR}",
            "0..3",
            "0..3",
        ),
        # any multiple may wrap around
        (
            f"{NEXT}\n %l = stablehlo.add %k, %c3 : {SCALAR}\n stablehlo.return %j, %l : {SCALAR}, {SCALAR}",
            "None..None",
            "None..None",
        ),
    ],
)
def test_invariants_of_carried_values(body: str, inside: str, after: str) -> None:
    loop = loop_of(read({"i": "c0", "k": "c0"}, LESS, body))
    assert texts(loop.bodies[1].arguments)[0] == "0..s0 - 1"
    assert texts(loop.results)[0] == "s0..s0", "the counter has reached the end"
    assert texts(loop.bodies[0].arguments)[0] == "0..s0", "the condition sees the end, too"
    if len(loop.results) == 2:
        assert (texts(loop.bodies[1].arguments)[1], texts(loop.results)[1]) == (inside, after)


def test_branches_give_what_one_of_them_gives() -> None:
    text = f"""func.func @main(%x: tensor<?xf32>, %which: {SCALAR}) -> {SCALAR} {{
        %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> {SCALAR}
        %c = stablehlo.constant dense<-2> : {SCALAR}
        %zeros = stablehlo.iota dim = 0 : tensor<5xi32>
        %r = "stablehlo.case"(%which) ({{
          stablehlo.return %n : {SCALAR}
        }}, {{
          %one = stablehlo.slice %zeros [3:4] : (tensor<5xi32>) -> tensor<1xi32>
          %s = stablehlo.reshape %one : (tensor<1xi32>) -> {SCALAR}
          stablehlo.return %s : {SCALAR}
        }}, {{
          stablehlo.return %c : {SCALAR}
        }}) : ({SCALAR}) -> {SCALAR}
        return %r : {SCALAR} }}"""
    program = legalize(parse_module(text, "m.mlir"))
    case = next(op for op in program.body.ops if op.name == "d_case")
    assert texts(case.results) == ["-2..max(s0, 4)"]


# -- random loops against runs

CARRIES = ("i", "k", "t")
OPS = ("add", "subtract", "minimum", "maximum", "multiply", "remainder", "clamp", "select", "negate")


@st.composite
def bodies(draw: st.DrawFn) -> str:
    lines, known = list[str](), [*CARRIES, "n", "last", "c0", "c1", "c3", "any"]
    for number in range(draw(st.integers(1, 5))):
        op, name = draw(st.sampled_from(OPS)), f"v{number}"
        a, b, c = (f"%{draw(st.sampled_from(known))}" for _ in range(3))
        match op:
            case "clamp":
                lines.append(f"%{name} = stablehlo.clamp {a}, {b}, {c} : {SCALAR}")
            case "select":
                lines.append(f"%q{name} = stablehlo.compare {draw(directions())}, {a}, {b}, SIGNED : {PAIR}")
                types = f"(tensor<i1>, {SCALAR}, {SCALAR}) -> {SCALAR}"
                lines.append(f"%{name} = stablehlo.select %q{name}, {b}, {c} : {types}")
            case "negate":
                lines.append(f"%{name} = stablehlo.negate {a} : {SCALAR}")
            case _:
                lines.append(f"%{name} = stablehlo.{op} {a}, {b} : {SCALAR}")
        known.append(name)
    returned = [f"%{draw(st.sampled_from(known))}" for _ in CARRIES]
    lines.append(f"stablehlo.return {', '.join(returned)} : {', '.join([SCALAR] * len(CARRIES))}")
    return "\n".join(lines)


def directions() -> st.SearchStrategy[str]:
    return st.sampled_from(("LT", "LE", "GT", "GE", "NE", "EQ"))


@settings(max_examples=120)
@given(
    st.tuples(*[st.sampled_from(("c0", "c1", "c3", "n", "last", "any"))] * len(CARRIES)),
    directions(),
    st.sampled_from(("n", "c3", "k", "last")),
    bodies(),
    st.integers(0, 6),
    st.integers(-4, 2**31 - 1),
)
def test_bounds_hold_in_random_loops(
    start: tuple[str, ...], direction: str, end: str, body: str, size: int, given_number: int
) -> None:
    condition = f"%p = stablehlo.compare {direction}, %i, %{end}, SIGNED : {PAIR}"
    program = read(dict(zip(CARRIES, start, strict=True)), condition, body)
    note(f"while({start}) {direction} {end}: {body}")
    turns = 0

    def watch(op: Op[Any], results: tuple[NDArray[Any], ...]) -> None:
        nonlocal turns
        turns += 1
        if turns > TURNS:
            raise Stop
        for tensor, array in zip(op.results, results, strict=True):
            low, high = tensor.bounds
            assert low is None or low.evaluate({Sym("s0"): size}) <= array, f"{op.name} gave {array}, not {low} or more"
            assert high is None or array <= high.evaluate({Sym("s0"): size}), f"{op.name} gave {array}, not {high}"

    arguments = [np.zeros(size, np.float32), np.array(given_number, np.int32), np.array(True)]
    with np.errstate(over="ignore"), suppress(Stop):
        interpret(program, arguments, watch)
