# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Pytrees without JAX: the same leaves in the same order, and the same messages, as with it."""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shlo_disc import ArgumentTypeError, ShloDiscError
from shlo_disc.call_signature import Signature, flat_tree, leaf_names, plain
from shlo_disc.plain_tree import PlainTree, flatten, from_json, of_jax

pytestmark = pytest.mark.quick


class Weights(NamedTuple):
    kernel: Any
    bias: Any = None


KEYS = st.text(st.characters(codec="ascii"), max_size=3) | st.integers(-3, 3)
LEAVES = st.integers(0, 9)
TREES: st.SearchStrategy[Any] = st.recursive(
    LEAVES | st.none(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text("abcZ0'\n", max_size=2), inner, max_size=3),
        st.dictionaries(st.integers(-3, 3), inner, max_size=3),
        st.builds(Weights, inner, inner),
    ),
    max_leaves=12,
)
CALLS = st.tuples(st.lists(TREES, max_size=3).map(tuple), st.dictionaries(st.sampled_from("abc"), TREES, max_size=2))


def signature_of(call: Any, result: Any) -> Signature:
    """What an export of a function of such arguments has."""
    _, tree = jax.tree.flatten(call)
    names = leaf_names(call, tree)
    is_flat = tree == flat_tree(len(names), tree)
    return Signature(tree, jax.tree.structure(result), names, tuple(range(len(names))), 0, is_flat)


@given(TREES)
def test_leaves_and_structures_are_those_of_jax(tree: Any) -> None:
    leaves, structure = flatten(tree)
    assert leaves == jax.tree.leaves(tree)
    found = of_jax(jax.tree.structure(tree), "a test")
    assert found == structure
    assert found.num_leaves == len(leaves)
    restored = from_json(json.loads(json.dumps(found.to_json())))
    assert restored == found
    assert flatten(restored.unflatten(leaves)) == (leaves, found)


@given(CALLS, TREES, CALLS)
def test_calls_are_flattened_or_refused_as_with_jax(call: Any, result: Any, other: Any) -> None:
    wanted = signature_of(call, result)
    found = plain(wanted)
    assert isinstance(found.in_tree, PlainTree)
    assert list(found.flatten(*call)) == list(wanted.flatten(*call)) == jax.tree.leaves(call)
    numbers = range(len(jax.tree.leaves(result)))
    assert jax.tree.leaves(found.unflatten(numbers)) == jax.tree.leaves(wanted.unflatten(numbers))
    assert outcome(found, other) == outcome(wanted, other)


def outcome(signature: Signature, call: Any) -> Any:
    """The leaves of a call, or the message that refuses it, but for the structures in it."""
    try:
        return list(signature.flatten(*call))
    except ArgumentTypeError as error:
        return str(error).partition("  found")[0]


@given(CALLS, st.integers(0, 3), st.booleans())
def test_signatures_are_split_as_with_jax(call: Any, count: int, keyword: bool) -> None:
    args, kwargs = call
    wanted = signature_of(call, None)
    names = dict.fromkeys(list(kwargs)[: int(keyword)])
    for one, other in zip(plain(wanted).split(args[:count], names), wanted.split(args[:count], names), strict=True):
        assert one.places == other.places
        assert plain(other.signature) == one.signature


@pytest.mark.parametrize("tree", [OrderedDict(a=1), {(1, 2): 3}, [jax.tree_util.Partial(max, 1)]])
def test_other_containers_are_refused_by_name(tree: Any) -> None:
    with pytest.raises(ShloDiscError, match=r"found (collections|builtins|jax)\..* in the arguments") as caught:
        of_jax(jax.tree.structure(tree), "the arguments")
    assert "help: " in str(caught.value)


@pytest.mark.parametrize(
    "damaged",
    [
        1, "", [], {}, {"tuple": 1}, {"tuple": [], "list": []}, {"dict": [["a"]]}, {"dict": [["a", "*"], ["a", "*"]]},
        {"dict": [[1.5, "*"]]}, {"namedtuple": "N"}, {"namedtuple": "a b", "fields": []},
        {"namedtuple": "N", "fields": [["if", "*"]]}, {"namedtuple": "N", "fields": [["_x", "*"]]},
    ],
)  # fmt: skip
def test_damaged_structures_are_refused(damaged: Any) -> None:
    with pytest.raises(ValueError, match="found"):
        from_json(damaged)


def test_the_class_of_a_named_tuple_does_not_count() -> None:
    class Other(NamedTuple):
        kernel: Any
        bias: Any

    Other.__name__ = "Weights"
    signature = plain(signature_of(((Weights(1, 2),), {}), Weights(0)))
    assert signature.flatten((Other(3, 4),), {}) == [3, 4]
    with pytest.raises(ArgumentTypeError, match="args\\[0\\]: found a tuple of 2, expected a Weights of 2"):
        signature.flatten(((3, 4),), {})
    assert replace(signature, names=()).unflatten([5]) == (5, None)
