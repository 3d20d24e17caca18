"""`constraints=` and `likely=`: what the caller says of sizes is known, checked, and refused where it cannot be."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from typing import Any, Literal

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shlo_disc
from shlo_disc.analysis.sizes import likely_points
from shlo_disc.dynamic_ops.program import Relation
from shlo_disc.expr.dim import Sym, maximum, symbol
from shlo_disc.legalize.constraints import read_constraints
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.api.programs import counted, dims, exported, spec

B, S, T = symbol("b"), symbol("s"), symbol("t")
SIZES = {"b": B, "s": S, "t": T}


def program() -> Any:
    b, s, t = dims("b, s, t")
    return exported(lambda x, y: (jnp.tanh(x), y * 2), spec(b, s), spec(t))


@pytest.mark.parametrize(
    ("text", "relation", "lhs", "rhs"),
    [
        ("mod(b, 8) == 0", Relation.EQ, B % 8, 0 * B),
        ("b >= 2", Relation.GE, B, 0 * B + 2),
        ("s <= 2*t", Relation.LE, S, 2 * T),
        ("s < 2*t", Relation.LT, S, 2 * T),
        ("s > t", Relation.GT, S, T),
        ("floordiv(s + 1, 2) == t", Relation.EQ, (S + 1) // 2, T),
        ("max(s, t, 3) <= b", Relation.LE, maximum(S, T, 3), B),
        ("non_negative(s - t) == b*(s - 1)", Relation.EQ, maximum(S - T, 0), B * S - B),
        ("-s^2 + 3*(b) >= -4", Relation.GE, -S * S + 3 * B, 0 * B - 4),
        ("-s**2 + b**3 >= 0", Relation.GE, B * B * B - S * S, 0 * B),
        ("b % 8 == 0", Relation.EQ, B % 8, 0 * B),
        ("b == 8*k", Relation.EQ, B % 8, 0 * B),
        ("8*k == b", Relation.EQ, B % 8, 0 * B),
        ("b - 4*k == 2*s + 1", Relation.EQ, (B - 2 * S - 1) % 4, 0 * B),
        ("s + 7 * t // 8 % 3 >= b", Relation.GE, S + (7 * T) // 8 % 3, B),
        ("-b // 8 - -s % 8 >= -t * 2", Relation.GE, (-B) // 8 - (-S) % 8, -2 * T),
    ],
)  # fmt: skip
def test_the_language(text: str, relation: Relation, lhs: object, rhs: object) -> None:
    (found,) = read_constraints([text], SIZES)
    assumption = found.assumption
    assert (assumption.relation, assumption.lhs, assumption.rhs) == (relation, lhs, rhs)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s + >= 2", "constraints[0]:1:5: error: expected a number, a name or '(', found '>='\n  s + >= 2\n      ^^"),
        ("s >= 2 t", "constraints[0]:1:8: error: expected an operator or the end, found 't'\n  s >= 2 t\n         ^"),
        ("s + 2", "constraints[0]:1:6: error: expected one of == >= <= > <, found the end\n  s + 2\n       ^"),
        ("s != 2", "constraints[0]:1:3: error: expected one of == >= <= > <, found '!'\n  s != 2\n    ^"),
        ("n >= 2", "constraints[0]:1:1: error: expected a size of the program (b, s, t), found the unknown name 'n'\n"
         "  n >= 2\n  ^"),
        ("mod(s) == 0", "constraints[0]:1:1: error: expected 2 arguments of mod, found 1\n  mod(s) == 0\n  ^^^"),
        ("mod(s, 0) == 0", "constraints[0]:1:1: error: expected a divisor that is not 0 in mod, found 0\n"
         "  mod(s, 0) == 0\n  ^^^"),
        ("(s + 1 == 2", "constraints[0]:1:8: error: expected ')', found '=='\n  (s + 1 == 2\n         ^^"),
        ("s % (2 - 2) == 0", "constraints[0]:1:3: error: expected a divisor that is not 0 in %, found 0\n"
         "  s % (2 - 2) == 0\n    ^"),
        ("s // 0 == 0", "constraints[0]:1:3: error: expected a divisor that is not 0 in //, found 0\n"
         "  s // 0 == 0\n    ^^"),
        *[(f"s {rest}", f"constraints[0]:1:{at}: error: expected a size of the program (b, s, t), found the unknown "
           f"name 'k'\n  s {rest}\n{' ' * (at + 1)}^")
          for rest, at in [(">= 2*k", 8), ("== k", 6), ("== 2*k*t", 8), ("== 2*k + mod(k, 2)", 8),
                           ("== 2*k + 3*n", 8)]],
        ("s^t >= 2", "constraints[0]:1:3: error: expected a number as the exponent, found 't'\n  s^t >= 2\n    ^"),
    ],
)  # fmt: skip
def test_errors_show_the_place(text: str, message: str) -> None:
    with pytest.raises(shlo_disc.ParseError) as caught:
        shlo_disc.compile(program(), constraints=[text])
    assert str(caught.value) == message


def test_every_call_is_checked() -> None:
    run = shlo_disc.compile(program(), constraints=["mod(b, 8) == 0", "s <= 2*t"])
    first, second = run(counted(16, 4), counted(2))
    np.testing.assert_allclose(first, np.tanh(counted(16, 4)), rtol=1e-6)
    np.testing.assert_array_equal(second, counted(2) * 2)
    with pytest.raises(shlo_disc.RuntimeShapeError, match=r"the constraint 'mod\(b, 8\) == 0' does not hold"):
        run(counted(12, 4), counted(2))
    with pytest.raises(shlo_disc.RuntimeShapeError) as caught:
        run(counted(8, 5), counted(2))
    assert str(caught.value).splitlines()[:3] == [
        "the constraint 's <= 2*t' does not hold",
        "  found s = 5, expected <= 2*t = 4",
        "  where s is args[0], dim 1, t is args[1], dim 0",
    ]


@given(
    st.lists(
        st.tuples(st.sampled_from(["*", "//", "%", "+", "-"]), st.integers(1, 9) | st.sampled_from("bst")), max_size=4
    ),
    st.fixed_dictionaries({name: st.integers(1, 30) for name in "bst"}),
)
def test_operators_are_those_of_python(steps: list[tuple[str, int | str]], sizes: dict[str, int]) -> None:
    text = "-b" + "".join(f" {sign} {operand}" for sign, operand in steps)
    (found,) = read_constraints([f"{text} >= 0"], SIZES)
    value = found.assumption.lhs.evaluate({Sym(name): size for name, size in sizes.items()})
    assert value == eval(text, {}, sizes)  # noqa: S307 - the oracle, of a text that was just made


def test_a_name_that_an_equality_defines_is_used_by_later_ones() -> None:
    run = shlo_disc.compile(program(), constraints=["b == 8*k", "t <= k + 1"])
    np.testing.assert_array_equal(run(counted(16, 4), counted(3))[1], counted(3) * 2)
    with pytest.raises(shlo_disc.RuntimeShapeError) as caught:
        run(counted(12, 4), counted(3))
    assert str(caught.value).splitlines()[:2] == [
        "the constraint 'b == 8*k' does not hold",
        "  found b % 8 = 4, expected == 0",
    ]
    with pytest.raises(shlo_disc.RuntimeShapeError) as caught:
        run(counted(16, 4), counted(4))
    assert str(caught.value).splitlines()[:2] == [
        "the constraint 't <= k + 1' does not hold",
        "  found t = 4, expected <= b // 8 + 1 = 3",
    ]


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize(
    ("constraint", "found"),
    [
        ("b <= 64", "b = 72, expected <= 64"),
        ("b < 72", "b = 72, expected < 72"),
        ("b > 72", "b = 72, expected > 72"),
        ("s <= t", "s = 4, expected <= t = 2"),
        ("t >= s", "t = 2, expected >= s = 4"),
        ("s < t", "s = 4, expected < t = 2"),
        ("2*t > s", "2*t = 4, expected > s = 4"),
        ("64 >= b", "b = 72, expected <= 64"),
        ("floordiv(b, 8) == 8", "b // 8 = 9, expected == 8"),
        ("b // 8 == 8", "b // 8 = 9, expected == 8"),
        ("b % 16 == 0", "b % 16 = 8, expected == 0"),
    ],
)
def test_a_broken_constraint_reads_as_it_is_written(constraint: str, found: str, driver: Literal["c", "vm"]) -> None:
    options = shlo_disc.CompileOptions(driver=driver)
    run = shlo_disc.compile(program(), constraints=[constraint], options=options)
    with pytest.raises(shlo_disc.RuntimeShapeError) as caught:
        run(counted(72, 4), counted(2))
    first, second = str(caught.value).splitlines()[:2]
    assert (first, second) == (f"the constraint '{constraint}' does not hold", f"  found {found}")


def test_constraints_are_known_when_shapes_are_proven() -> None:
    text = """func.func @main(%x: tensor<?xf32>) -> tensor<?x8xf32> {
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %c8 = stablehlo.constant dense<8> : tensor<i32>
      %rows = stablehlo.divide %n, %c8 : tensor<i32>
      %0 = stablehlo.reshape %rows : (tensor<i32>) -> tensor<1xi32>
      %1 = stablehlo.constant dense<8> : tensor<1xi32>
      %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
      %3 = stablehlo.dynamic_reshape %x, %2 : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x8xf32>
      return %3 : tensor<?x8xf32>
    }"""
    free = legalize(parse_module(text))
    known = legalize(parse_module(text), (), ["mod(s0, 8) == 0"])
    assert [check.message.split(":")[0] for check in free.checks] == ["a reshape keeps the number of elements"]
    assert [check.message for check in known.checks] == ["the constraint 'mod(s0, 8) == 0' does not hold"]
    assert known.facts.about(symbol("s0"))[-1].reason == "the constraint 'mod(s0, 8) == 0'"


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (["b >= 4", "b <= 3"], "the constraint 'b <= 3' holds for no sizes; known are\n  b >= 0"),
        (["mod(b, 4) == 0", "mod(b, 8) == 2"], "the constraint 'mod(b, 8) == 2' holds for no sizes"),
    ],
)
def test_contradictions_are_refused(constraints: list[str], message: str) -> None:
    with pytest.raises(shlo_disc.ShapeError) as caught:
        shlo_disc.compile(program(), constraints=constraints)
    assert message in str(caught.value)
    assert constraints[1] in str(caught.value).splitlines()[-2]


@pytest.mark.parametrize(
    ("likely", "message"),
    [
        ({"n": [1]}, "found a likely value of 'n', expected a size of the program: b, s, t"),
        ({"s": [1], "b": [8, 12]}, "found the likely value b = 12, which no call can have; known are\n"),
        ({"t": [0]}, "found the likely value t = 0, which no call can have; known are\n  t >= "),
    ],
)
def test_likely_values_that_cannot_be_are_refused(likely: dict[str, list[int]], message: str) -> None:
    with pytest.raises(shlo_disc.ShloDiscError) as caught:
        shlo_disc.compile(program(), constraints=["mod(b, 8) == 0"], likely=likely)
    assert message in str(caught.value)


def test_likely_values_of_a_constrained_size_are_used() -> None:
    made = legalize(parse_module(program().mlir_module()), (), ["mod(b, 8) == 0"])
    points = likely_points(made, {"b": [8, 64], "s": [5], "t": [1]})
    assert [point[Sym("b")] for point in points] == [8, 64]


def test_users_read_the_size_that_they_have_a_name_for() -> None:
    """Where `b` is a multiple of 8, the compiler computes with its quotient; texts about the program say `b`."""

    def added(x: Any, y: Any) -> Any:
        return jnp.concatenate([x, y], axis=0) + 1

    program = exported(added, *[spec(*dims("b, s"))] * 2)
    run = shlo_disc.compile(program, constraints=["mod(b, 8) == 0"])
    texts = [fact.text for fact in run.facts()]
    assert any(text.endswith("dim 0 = 2*b") for text in texts)
    assert not any("_by_" in text for text in texts)
    fusion = run.explain("fusion")
    assert "f32[2*b, s]" in fusion
    assert "moves 8*b*s bytes in, 8*b*s out" in fusion
    assert "_by_" not in fusion
