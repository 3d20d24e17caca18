"""`run.facts()` and `explain("facts")`: what is known, why, and from what."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import pytest

import shlo_disc
from shlo_disc.overview import FactText, Overview, ShapeText
from shlo_disc.report.chains import chains
from tests.api.programs import dims, exported, spec

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


def test_facts_are_explained_as_chains(run: shlo_disc.Compiled) -> None:
    lines = run.explain("facts").splitlines()
    at = next(k for k, line in enumerate(lines) if "dim 1 = 2*s, because concatenate" in line)
    indents = [len(line) - len(line.lstrip()) for line in lines[at : at + 6]]
    assert indents == [2, 4, 6, 8, 4, 6]
    assert "args[0] dim 1 = s, because it is an argument" in lines[at + 3]
    assert lines[at + 5].endswith("(see above)")
    assert any("zs3 == s, because shape_assertion" in line for line in lines)


def test_long_chains_are_cut_and_told_once() -> None:
    first = ShapeText("%x", ("b",), "an argument", "m:1", "", (((-1, 0),),))
    rest = [ShapeText(f"%{k}", ("b",), "add", "m:2", "model.py:3", (((k, 0),),)) for k in range(20)]
    both = ShapeText("%20", ("2*b", "7"), "concatenate", "m:3", "", (((20, 0), (19, 0)), ()))
    overview = Overview((FactText("b", "b >= 1", "shape_assertion", "m:1"),), shapes=(first, *rest, both))
    assert list(chains(overview)) == [
        "  %20 dim 0 = 2*b, because concatenate at m:3",
        "    %19 dim 0 = b, because add at model.py:3",
        "      %18 dim 0 = b, because add at model.py:3",
        "        … 18 values of this size …",
        "          %x dim 0 = b, because an argument at m:1",
        "            b >= 1, because shape_assertion at m:1",
        "    %18 dim 0 = b, because add at model.py:3 (see above)",
    ]
    assert len(overview.all_facts()) == 1 + 22
