"""Every type of an artifact, found by the hints of its fields, and values of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, ForwardRef, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hypothesis import strategies as st

from shlo_disc import host_ir
from shlo_disc.size_expr import SizeOp

LAST = (1 << 63) - 1


@cache
def classes(kind: type) -> tuple[type, ...]:
    """A record, and all that its fields may hold."""
    found = list[type]()
    visited = set[Any]()

    def visit(hint: Any) -> None:
        hint = in_artifact(hint)
        if hint in visited:
            return
        visited.add(hint)
        if isinstance(hint, type) and (is_dataclass(hint) or hint is SizeOp):
            found.append(hint)
            for inner in get_type_hints(hint).values():
                visit(inner)
        elif get_origin(hint) is not Literal:
            for inner in get_args(hint):
                visit(inner)

    visit(kind)
    return tuple(found)


def in_artifact(hint: Any) -> Any:
    """A type hint with what its type variables stand for in an artifact, and names looked up."""
    if isinstance(hint, TypeVar):
        return in_artifact(cast("Any", hint).__default__)
    if isinstance(hint, ForwardRef | str):
        return getattr(host_ir, hint if isinstance(hint, str) else hint.__forward_arg__)
    origin = get_origin(hint)
    return origin if isinstance(origin, type) and is_dataclass(origin) else NoneType if hint is None else hint


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a type hint, by hypothesis: written without a look at the codec."""
    leaves: Mapping[Any, st.SearchStrategy[Any]] = {
        int: st.integers(-LAST - 1, LAST),
        str: st.text(st.characters(exclude_categories=()), max_size=8),
        bool: st.booleans(),
        bytes: st.binary(max_size=8),
        NoneType: st.none(),
    }
    if isinstance(hint, TypeVar):
        return st.deferred(lambda: values(in_artifact(hint)))
    hint = in_artifact(hint)
    if hint in leaves:
        return leaves[hint]
    if hint is SizeOp:
        return st.recursive(_size_op(st.integers(-9, 9) | st.text(max_size=3)), _size_op, max_leaves=4)
    if isinstance(hint, type) and is_dataclass(hint):
        return st.deferred(lambda: instances(hint))
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of(*map(values, arguments))
    if origin is tuple and arguments[1:] == (...,):
        recursive = not isinstance(arguments[0], type) and "HostValue" in str(arguments[0])
        return st.lists(st.integers() if recursive else values(arguments[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, arguments))
    assert origin is Mapping, hint
    return st.dictionaries(st.text(max_size=3), values(arguments[1]), max_size=2)


def _size_op(operand: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    pair = st.tuples(operand, operand)
    several = st.lists(operand, min_size=1, max_size=3).map(tuple)
    return st.builds(SizeOp, st.sampled_from(("//", "%")), pair) | st.builds(
        SizeOp, st.sampled_from(("+", "*", "min", "max")), several
    )


@cache
def instances(kind: type) -> st.SearchStrategy[Any]:
    hints = get_type_hints(kind)
    return st.builds(kind, **{field.name: values(hints[field.name]) for field in fields(kind)})
