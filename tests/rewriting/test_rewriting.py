"""Rules replace, add and remove ops; what comes out verifies, prints, and parses back."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from shlo_disc import Build, Module, Op, Value, VerifyError, parse, remove_unused, rewrite
from shlo_disc.diagnostics import ParseError
from shlo_disc.dialects.table import OPS
from shlo_disc.ir.attributes import UnitAttr
from shlo_disc.parse.printer import print_module
from tests.parse.structure import structure
from tests.verify.jaxlib_verifier import complaint

pytestmark = pytest.mark.quick

Rule = Callable[[Op, Build], Value | Sequence[Value] | None]

TANH = """\
#loc = loc("model.py":3:1)
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.tanh %x : tensor<?x4xf32> loc(#loc)
  %7 = stablehlo.add %0, %x : tensor<?x4xf32>
  return %7 : tensor<?x4xf32>
}
"""

BRANCHES = """\
func.func @main(%n: tensor<i32>, %x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0:2 = "stablehlo.case"(%n) ({
    %2 = stablehlo.tanh %x : tensor<4xf32>
    stablehlo.return %2, %x : tensor<4xf32>, tensor<4xf32>
  }, {
    %2 = stablehlo.negate %x : tensor<4xf32>
    %3 = stablehlo.tanh %2 : tensor<4xf32>
    stablehlo.return %3, %2 : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> (tensor<4xf32>, tensor<4xf32>)
  %1 = call @other(%0#1) : (tensor<4xf32>) -> tensor<4xf32>
  return %0#0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func private @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.tanh %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def body(module: Module, function: str = "main") -> list[str]:
    """The ops of a function, without their types."""
    text = str(Module(None, (module.functions[function],), {}, module.span, printer=module.printer))
    return [re.split(" : ", line)[0].strip() for line in text.splitlines()[2:-2]]


def rewritten(text: str, **rules: Rule) -> Module:
    """Rewrite the ops of these short names; what comes out is a program to us and to jaxlib."""
    module = parse(text)
    before = print_module(module, locations=True)
    made = rewrite(module, {f"stablehlo.{name}": rule for name, rule in rules.items()})
    assert print_module(module, locations=True) == before
    assert structure(parse(str(made))) == structure(made)
    assert complaint(str(made)) is None
    return made


def test_a_value_in_the_place_of_another() -> None:
    made = rewritten(TANH, tanh=lambda op, build: build.op("stablehlo.sine", *op.operands))
    assert body(made) == ["%8 = stablehlo.sine %x", "%7 = stablehlo.add %8, %x", "return %7"]


def test_an_operand_in_the_place_of_a_result() -> None:
    assert body(rewritten(TANH, tanh=lambda op, _build: op.operands[0])) == ["%7 = stablehlo.add %x, %x", "return %7"]


def test_none_keeps_the_op_behind_what_was_built() -> None:
    def rule(op: Op, build: Build) -> None:
        build.op("stablehlo.abs", *op.operands)

    assert body(rewritten(TANH, tanh=rule))[:2] == ["%8 = stablehlo.abs %x", "%0 = stablehlo.tanh %x"]


def test_ops_behind_the_op() -> None:
    def rule(op: Op, build: Build) -> Value:
        (old,) = build.add(op)
        return build.op("stablehlo.abs", old)

    assert body(rewritten(TANH, tanh=rule))[:3] == [
        "%0 = stablehlo.tanh %x",
        "%8 = stablehlo.abs %0",
        "%7 = stablehlo.add %8, %x",
    ]


def test_another_attribute() -> None:
    def rule(op: Op, build: Build) -> Sequence[Value]:
        return build.add(replace(op, attributes={**op.attributes, "mhlo.mark": UnitAttr()}))

    assert body(rewritten(TANH, tanh=rule))[0] == "%0 = stablehlo.tanh %x {mhlo.mark}"


def test_what_a_rule_makes_is_not_rewritten_again() -> None:
    def halved(op: Op, build: Build) -> Value:
        half = build.constant(0.5, op.operands[0])
        return build.op("stablehlo.tanh", build.op("stablehlo.multiply", half, *op.operands))

    assert len(rewritten(TANH, tanh=halved).find("stablehlo.tanh")) == 1


def test_ops_have_the_location_of_the_one_they_replace() -> None:
    def rule(op: Op, build: Build) -> Value:
        text = "%a = stablehlo.abs %x : !t\nstablehlo.negate %a : !t"
        (made,) = build.parse(text, x=op.operands[0], t=op.results[0].type)
        return build.op("stablehlo.add", made, made)

    text = print_module(rewritten(TANH, tanh=rule), locations=True)
    assert [line.endswith("loc(#loc)") for line in text.splitlines() if "stablehlo" in line] == [True] * 3 + [False]


def test_regions_and_functions() -> None:
    made = rewritten(BRANCHES, tanh=lambda op, build: build.op("stablehlo.sine", *op.operands))
    assert not made.find("stablehlo.tanh")
    assert body(made) == [
        '%0:2 = "stablehlo.case"(%n) ({',
        "%4 = stablehlo.sine %x",
        "stablehlo.return %4, %x",
        "}, {",
        "%2 = stablehlo.negate %x",
        "%5 = stablehlo.sine %2",
        "stablehlo.return %5, %2",
        "})",
        "%1 = call @other(%0#1)",
        "return %0#0, %1",
    ]
    assert body(made, "other")[0] == "%1 = stablehlo.sine %x"


def test_several_results() -> None:
    def first_branch(op: Op, build: Build) -> Sequence[Value]:
        *ops, last = op.regions[0].block.ops
        for inner in ops:
            build.add(inner)
        return last.operands

    assert body(rewritten(BRANCHES, case=first_branch)) == [
        "%2 = stablehlo.tanh %x",
        "%1 = call @other(%x)",
        "return %2, %1",
    ]


def test_text_with_regions_and_several_results() -> None:
    def rule(op: Op, build: Build) -> Value:
        first, _second = build.parse(
            """
            %n = stablehlo.constant dense<2> : tensor<i32>
            %0:2 = stablehlo.while(%i = %n, %7 = %x) : tensor<i32>, !t
             cond {
              %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
              stablehlo.return %1 : tensor<i1>
            } do {
              %1 = stablehlo.tanh %7 : !t
              stablehlo.return %i, %1 : tensor<i32>, !t
            }
            stablehlo.optimization_barrier %0#1, %0#0 : !t, tensor<i32>
            """,
            x=op.operands[0],
            t=op.operands[0].type,
        )
        return first

    made = rewritten(TANH, tanh=rule)
    values = list(made.functions["main"].values())
    assert len({value.name for value in values}) == len(values)
    assert {value.name for value in values if value.location is None} == {"x", "7"}
    assert body(made)[-2:] == ["%7 = stablehlo.add %16#0, %x", "return %7"]


def test_values_of_the_module_as_it_was() -> None:
    module = parse(TANH)
    old = module.functions["main"].value("%0")

    def sine(op: Op, build: Build) -> Value:
        return build.op("stablehlo.sine", *op.operands)

    def unchanged(_op: Op, _build: Build) -> Value:
        return old

    def absolute(_op: Op, build: Build) -> Value:
        return build.op("stablehlo.abs", old)

    assert body(rewrite(module, {"stablehlo.tanh": sine, "stablehlo.add": unchanged}))[-1] == "return %8"
    assert body(rewrite(module, {"stablehlo.tanh": sine, "stablehlo.add": absolute}))[-2] == "%9 = stablehlo.abs %8"


def test_the_op_behind_a_value() -> None:
    def rule(op: Op, build: Build) -> Value | None:
        inner = build.producer(op.operands[0])
        made = build.op("stablehlo.abs", op.operands[0])
        assert build.producer(op.operands[1]) is None
        assert getattr(build.producer(made), "name", "") == "stablehlo.abs"
        return made if inner is not None and inner.name == "stablehlo.sine" else None

    made = rewritten(TANH, tanh=lambda op, build: build.op("stablehlo.sine", *op.operands), add=rule)
    assert body(made)[-1] == "return %9"


@pytest.mark.parametrize(
    ("type_", "number", "spelled"),
    [
        ("tensor<f32>", 27, "2.700000e+01"),
        ("tensor<2x3xf64>", 0.1, "1.000000e-01"),
        ("tensor<2x3xf32>", 1.23456789e-05, "1.23456789e-05"),
        ("tensor<0xbf16>", -1e30, "-1.000000e+30"),
        ("tensor<4xf8E5M2>", float("inf"), "0x7C"),
        ("tensor<4xf32>", float("nan"), "0x7FC00000"),
        ("tensor<i64>", -(2**40), "-1099511627776"),
        ("tensor<3xi1>", True, "true"),
        ("tensor<3xcomplex<f32>>", 1 - 2j, "(1.000000e+00, -2.000000e+00)"),
    ],
)
def test_constants(type_: str, number: complex, spelled: str) -> None:
    text = "func.func @main(%x: T) -> T {\n%0 = stablehlo.optimization_barrier %x : T\nreturn %0 : T\n}"
    made = rewritten(
        text.replace("T", type_), optimization_barrier=lambda op, build: build.constant(number, op.operands[0])
    )
    assert body(made)[0] == f"%1 = stablehlo.constant dense<{spelled}>"


def test_a_constant_of_sizes_that_are_known_at_run_time() -> None:
    made = rewritten(TANH, tanh=lambda op, build: build.constant(0.5, op.operands[0]))
    assert [op.name.removeprefix("stablehlo.") for op in made.functions["main"].body.ops[:-2]] == [
        "constant", "get_dimension_size", "get_dimension_size", "reshape", "reshape", "concatenate",
        "dynamic_broadcast_in_dim",
    ]  # fmt: skip


@pytest.mark.parametrize("number", [0.5, 1j])
def test_a_constant_that_its_type_cannot_hold(number: complex) -> None:
    text = "func.func @main(%x: T) -> T {\n%0 = stablehlo.abs %x : T\nreturn %0 : T\n}".replace("T", "tensor<i32>")
    with pytest.raises(TypeError, match=re.escape(f"expected a number of type i32, found {number}")):
        rewritten(text, abs=lambda op, build: build.constant(number, op.operands[0]))


EFFECT = """\
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  stablehlo.custom_call @log(%x) {has_side_effect = true} : (tensor<4xf32>) -> ()
  %0 = stablehlo.abs %x : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.sine %x : tensor<4xf32>
  return %2 : tensor<4xf32>
}
"""


def test_an_op_without_users_is_removed() -> None:
    made = rewritten(EFFECT, custom_call=lambda _op, _build: (), negate=lambda _op, _build: ())
    assert body(made) == ["%0 = stablehlo.abs %x", "%2 = stablehlo.sine %x", "return %2"]


def test_an_op_with_users_is_not() -> None:
    with pytest.raises(VerifyError) as caught:
        rewritten(EFFECT, abs=lambda _op, _build: ())
    assert caught.value.message == "expected no use of '%0', whose op was removed, found one"
    assert "<string>:3:3: note: it was defined here" in str(caught.value)


def test_another_type_is_refused() -> None:
    def rule(op: Op, build: Build) -> Value:
        (x,) = op.operands
        (made,) = build.parse("stablehlo.slice %x [0:2] : (!t) -> tensor<2xf32>", x=x, t=x.type)
        return made

    with pytest.raises(
        VerifyError, match=r"types \(tensor<4xf32>\) in the place of 'stablehlo\.abs', found \(tensor<2"
    ):
        rewritten(EFFECT, abs=rule)


def test_what_is_built_is_verified() -> None:
    def rule(op: Op, build: Build) -> Value:
        return build.op("stablehlo.not", *op.operands)

    with pytest.raises(VerifyError, match=r"\(I1 of not\)\n.*stablehlo\.abs %x"):
        rewritten(EFFECT, abs=rule)


def test_text_that_does_not_parse_is_shown() -> None:
    with pytest.raises(ParseError) as caught:
        rewritten(EFFECT, abs=lambda op, build: build.parse("stablehlo.abs %y : tensor<4xf32>", x=op.operands[0]))
    assert str(caught.value).startswith("<text>:1:15: error: expected a value that is defined above, found '%y'")


def test_unused_ops_go_and_effects_stay() -> None:
    assert body(remove_unused(parse(EFFECT))) == [
        "stablehlo.custom_call @log(%x) {has_side_effect = true}",
        "%2 = stablehlo.sine %x",
        "return %2",
    ]


def test_any_operand_is_a_use() -> None:
    text = EFFECT.replace("%2 = stablehlo.sine %x", "%2 = stablehlo.subtract %x, %1")
    assert len(body(remove_unused(parse(text)))) == 5


def test_unused_ops_in_regions() -> None:
    text = BRANCHES.replace("stablehlo.return %3, %2", "stablehlo.return %2, %2")
    made = remove_unused(parse(text))
    assert len(made.find("stablehlo.tanh")) == 2
    unused = text.replace("return %0#0", "return %x").replace("@other(%0#1)", "@other(%x)")
    assert body(remove_unused(parse(unused))) == ["%1 = call @other(%x)", "return %x, %1"]
    noticed = unused.replace("%2 = stablehlo.tanh %x", "%2 = stablehlo.custom_call @log(%x)").replace(
        "@log(%x) : tensor<4xf32>", "@log(%x) : (tensor<4xf32>) -> tensor<4xf32>"
    )
    assert '%0:2 = "stablehlo.case"(%n) ({' in body(remove_unused(parse(noticed)))


COLLECTIVE = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return %x : tensor<4xf32>
}
"""


def test_other_processes_notice_what_is_removed() -> None:
    assert len(remove_unused(parse(COLLECTIVE)).find("stablehlo.collective_reduce")) == 1
    shared = {"replica_groups", "source_target_pairs"}
    collectives = [one for one in OPS.values() if shared.intersection(slot.name for slot in one.attributes)]
    assert len(collectives) >= 9
    assert [one.name for one in collectives if not one.effects] == []
