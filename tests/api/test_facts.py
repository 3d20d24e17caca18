"""`run.facts()` and `explain("facts")`: what is known, why, and from what."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import pytest

import shlo_disc
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.report.chains import folded_shapes, value_chains
from shlo_disc.report.text import explain
from shlo_disc.report_model import FactText, ReportModel, ShapeText
from tests.api.programs import dims, exported, spec
from tests.soundness.written import WRITTEN, export_written

HERE = Path(__file__).name


@pytest.fixture(scope="module")
def run() -> shlo_disc.Compiled:
    b, s = dims("b, s")

    def model(x: jnp.ndarray, y: jnp.ndarray) -> tuple[jnp.ndarray, jnp.ndarray]:
        h = jnp.tanh(x) + y
        return jnp.concatenate([h, h * 2], axis=1), jnp.exp(x)

    return shlo_disc.compile(exported(model, spec(b, s), spec(b, s)), constraints=["b >= 2"])


def chain(facts: tuple[FactText, ...], start: str) -> list[FactText]:
    """A fact and what it follows from, as far as there is one reason."""
    found = [next(fact for fact in facts if fact.text == start)]
    while len(found[-1].because) == 1:
        found.append(facts[found[-1].because[0]])
    return found


def test_a_dim_leads_back_to_the_argument(run: shlo_disc.Compiled) -> None:
    facts = run.facts()
    (last,) = [fact for fact in facts if fact.text.endswith("dim 1 = 2*s")]
    assert (last.reason, HERE in last.origin) == ("concatenate", True)
    first, second = (facts[number].text for number in last.because)
    for start, reasons in ((first, ["add", "tanh"]), (second, ["multiply", "add", "tanh"])):
        links = chain(facts, start)
        assert [link.reason for link in links] == [*reasons, "it is an argument"]
        assert links[-1].text == "args[0] dim 1 = s"
        assert all(HERE in link.origin for link in links[:-1])


def test_an_argument_leads_to_what_says_that_sizes_are_equal(run: shlo_disc.Compiled) -> None:
    argument, assertion = chain(run.facts(), "args[1] dim 0 = b")
    assert (argument.subject, assertion.text) == ("args[1] dim 0", "zs2 == b")
    assert (assertion.reason, assertion.subject) == ("shape_assertion", "b, zs2")


def test_the_caller_s_constraint_is_a_reason(run: shlo_disc.Compiled) -> None:
    (fact,) = [fact for fact in run.facts() if "constraint" in fact.reason]
    assert str(fact) == "b >= 2, because the constraint 'b >= 2' at constraints[0]:1"


def test_values_are_folded_by_shape(run: shlo_disc.Compiled) -> None:
    lines = run.explain("facts").splitlines()
    shapes = lines[lines.index("shapes") + 1 : lines.index("where sizes come from") - 1]
    counted = {line.partition(", first")[0] for line in shapes}
    assert counted == {"  7 values of shape [b, s]", "  1 value of shape [b, 2*s]"}
    origins = [line for line in lines[lines.index("where sizes come from") + 1 :] if not line.startswith("    ")]
    assert [line.partition(" = ")[2].partition(",")[0] for line in origins] == ["b", "s", "2*s"]


def test_facts_of_one_reason_stand_together(run: shlo_disc.Compiled) -> None:
    lines = run.explain("facts").splitlines()
    facts = lines[lines.index("facts") + 1 : lines.index("shapes") - 1]
    reasons = [line for line in facts if line.startswith("  because")]
    assert reasons == [
        "  because sizes are not negative",
        "  because the constraint 'b >= 2'",
        "  because shape_assertion",
    ]
    asserted = facts[facts.index("  because shape_assertion") + 1 :]
    texts = [line.split(". ")[1].partition(", at")[0] for line in asserted]
    assert texts == ["s >= 1", "zs2 == b", "zs3 == s"]  # the user's sizes come first


def test_one_value_is_explained_link_by_link(run: shlo_disc.Compiled) -> None:
    (last,) = [fact.subject.split()[0] for fact in run.facts() if fact.text.endswith("dim 1 = 2*s")]
    lines = run.explain("facts", value=last).splitlines()
    at = next(k for k, line in enumerate(lines) if "dim 1 = 2*s, because concatenate" in line)
    indents = [len(line) - len(line.lstrip()) for line in lines[at : at + 6]]
    assert indents == [0, 2, 4, 6, 2, 4]
    assert "args[0] dim 1 = s, because it is an argument" in lines[at + 3]
    assert lines[at + 5].endswith("(see above)")
    with pytest.raises(shlo_disc.ShloDiscError, match="found value '%none', expected one whose shape depends on sizes"):
        run.explain("facts", value="%none")
    with pytest.raises(shlo_disc.ShloDiscError, match="expected topic 'facts' with a value"):
        run.explain("fusion", value=last)


def links(run: shlo_disc.Compiled, start: str) -> list[str]:
    """A dim and everything that it follows from, depth first."""
    facts = run.facts()

    def visit(number: int) -> list[str]:
        fact = facts[number]
        return [f"{fact.text}, {fact.reason}", *(text for each in fact.because for text in visit(each))]

    return visit(next(k for k, fact in enumerate(facts) if fact.text.endswith(start)))


def test_a_size_that_the_text_computes_leads_through_the_arithmetic() -> None:
    b, s = dims("b, s")

    def model(x: jnp.ndarray) -> jnp.ndarray:
        b, s = x.shape[0], x.shape[1]
        rows = b * s
        return jnp.exp(x).reshape(rows, 4)

    run = shlo_disc.compile(exported(model, spec(b, s, 4)))
    found = links(run, "dim 0 = b*s")
    assert [text.partition(" = ")[2] for text in found] == [
        "b*s, reshape",
        "b*s, multiply",
        "s, it is an argument",
        "b, it is an argument",
    ]
    reshape, multiply = (
        next(f for f in run.facts() if f"= b*s, {why}" in f"{f.text}, {f.reason}") for why in ("reshape", "multiply")
    )
    assert HERE in reshape.origin
    assert HERE in multiply.origin


def test_arithmetic_of_one_line_is_one_link() -> None:
    (s,) = dims("s")

    def model(x: jnp.ndarray) -> jnp.ndarray:
        half = (x.shape[0] + 7) // 8
        return jnp.arange(half) + jnp.sum(x).astype(jnp.int32)

    run = shlo_disc.compile(exported(model, spec(s)))
    sizes = [text for text in links(run, "dim 0 = (s + 7) // 8") if not text.startswith("%") or " dim " not in text]
    assert len(sizes) <= 3
    assert sizes[0].endswith("= (s + 7) // 8, select")  # of JAX's floor_divide: one link for all of its ops
    assert sizes[-1] == "args[0] dim 0 = s, it is an argument"


@pytest.mark.parametrize(
    ("type_", "ops", "size", "wanted"),
    [
        ("tensor<?xi32>", "%r = stablehlo.dynamic_iota %shape, dim = 0 : (tensor<1xi32>) -> tensor<?xi32>", "2*s0", 1),
        (
            "tensor<?xf32>",
            "%r = stablehlo.dynamic_broadcast_in_dim %one, %shape, dims = [] : "
            "(tensor<f32>, tensor<1xi32>) -> tensor<?xf32>",
            "2*s0",
            1,
        ),
        (
            "tensor<?xf32>",
            "%r = stablehlo.dynamic_pad %x, %one, %shape, %zero, %zero : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, "
            "tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
            "3*s0",
            1,
        ),
        (
            "tensor<?xf32>",
            "%r = stablehlo.real_dynamic_slice %y, %size, %shape, %ones : (tensor<?xf32>, tensor<1xi32>, "
            "tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>",
            "s0",
            1,
        ),
    ],
)
def test_every_op_that_is_told_its_shape_says_what_told_it(type_: str, ops: str, size: str, wanted: int) -> None:
    text = f"""func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> {type_} {{
      %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
      %twice = stablehlo.add %n, %n : tensor<i32>
      %shape = stablehlo.reshape %twice : (tensor<i32>) -> tensor<1xi32>
      %size = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
      %zero = stablehlo.constant dense<0> : tensor<1xi32>
      %ones = stablehlo.constant dense<1> : tensor<1xi32>
      %one = stablehlo.constant dense<1.0> : tensor<f32>
      {ops}
      return %r : {type_}
    }}"""
    found = links(shlo_disc.compile(text), f"%r dim 0 = {size}")
    assert found.count("%twice = 2*s0, add") == wanted
    assert "argument 0 dim 0 = s0, it is an argument" in found


def test_sizes_are_shown_as_the_user_names_them() -> None:
    b, s = dims("b, s")
    run = shlo_disc.compile(exported(lambda x: jnp.exp(x) @ x.T, spec(b, s)), constraints=["mod(b, 8) == 0"])
    facts = run.explain("facts")
    assert "  b = 8*b_by_8: dimension 0 of args[0]" in facts
    assert "  b_by_8 = b // 8 (auxiliary)" in facts
    assert "b_by_8" not in facts.partition("\nfacts\n")[2]
    assert "b_by_8" not in run.explain("fusion") + run.explain("memory")


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", ["split_in_rows", "patches"])
def test_no_auxiliary_size_is_left_in_what_is_told_of_groups(name: str, device: str) -> None:
    artifact = compile_text(export_written(WRITTEN[name]), name, Request(device=device), Stopwatch())
    assert artifact.report.sizes.auxiliary
    told = [explain(artifact, topic) for topic in ("fusion", "memory")]
    told += [op.text for group in artifact.report.groups for op in group.ops]
    assert not [text for text in told if any(size in text for size in artifact.report.sizes.auxiliary)]


def test_long_chains_are_cut_and_told_once() -> None:
    first = ShapeText("%x", ("b",), "an argument", "m:1", "", (((-1, 0),),))
    rest = [ShapeText(f"%{k}", ("b",), "add", "m:2", "model.py:3", (((k, 0),),)) for k in range(20)]
    both = ShapeText("%20", ("2*b", "7"), "concatenate", "m:3", "", (((20, 0), (19, 0)), ()))
    model = ReportModel((FactText("b", "b >= 1", "shape_assertion", "m:1"),), shapes=(first, *rest, both))
    assert list(folded_shapes(model)) == [
        "  21 values of shape [b], first %x at m:1",
        "  1 value of shape [2*b, 7], first %20 at m:3",
        "",
        "where sizes come from",
        "  %x dim 0 = b, because an argument at m:1",
        "    b >= 1, because shape_assertion at m:1",
        "  %20 dim 0 = 2*b, because concatenate at m:3",
        "    %19 dim 0 = b, because add at model.py:3",
        "      %18 dim 0 = b, because add at model.py:3",
        "        … 17 values of this size …",
        "          %0 dim 0 = b, because add at model.py:3",
        "            %x dim 0 = b, because an argument at m:1 (see above)",
        "    %18 dim 0 = b, because add at model.py:3 (see above)",
    ]
    assert len(model.all_facts()) == 1 + 22
    assert len(list(value_chains(model, "%20"))) == 24
