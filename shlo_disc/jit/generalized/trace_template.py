"""What traces of one function have in common: a jaxpr with places for its numbers.

`read` takes the numbers and the constants out of a jaxpr. What is left, the template, is equal for all traces that are
the same but for these. So two traces are compared by their templates, numbers and constants, and a template with other
numbers is another trace.

Types of intermediate results are left out: they follow from the arguments and the parameters. A slice from the
beginning is no equation but a property of the use, so that a trace that takes all of an array is like one that takes a
part: `lax.associative_scan` does the one for odd sizes and the other for even ones.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.jit.function_state import function_state
from shlo_disc.jit.jax_modules import INTEGERS, MAPPINGS, NUMPY, SEQUENCES, jax_module
from shlo_disc.records import record

# Calls of functions, and which parameter is the function. Rules of derivatives, their other ones, are left out.
INLINED = {
    "jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_vmap_call": "call", "checkpoint": "jaxpr", "remat": "jaxpr", "remat2": "jaxpr",
}  # fmt: skip
_NAMES = frozenset({"name", "debug_info", "source_info"})


@record
class SizePlace:
    """The place of an integer, by its number in the trace."""

    number: int


@record
class ValuePlace:
    """The place of a constant: its number in the trace, its shape and type."""

    number: int
    shape: tuple[SizePlace, ...]
    dtype: str
    weak: bool


@record
class Fixed:
    """What has no places."""

    key: object
    original: Any = field(compare=False)


@record
class Record:
    """A tuple, list, dict, dataclass, or type of an array, with places in its parts."""

    kind: str
    names: tuple[str, ...]
    parts: tuple[Node, ...]
    original: Any = field(compare=False)


@record
class ArgumentType:
    """The type of an argument of a jaxpr."""

    shape: tuple[SizePlace, ...]
    dtype: str
    weak: bool
    original: Any = field(compare=False)


@record
class Use:
    """The use of a variable, by its number in the order of definition: the first elements along each axis.

    `number` is that of the use in the trace.
    """

    variable: int
    shape: tuple[SizePlace, ...]
    number: int


@record
class Equation:
    """An equation; operands are places of constants, or uses of variables."""

    primitive: str
    operands: tuple[ValuePlace | Use, ...]
    parameters: tuple[tuple[str, Node], ...]
    results: int
    effects: str
    original: Any = field(compare=False)


@record
class TracedBody:
    """A jaxpr. Its variables are the constants, the arguments, and the results of its equations, in this order."""

    constants: tuple[ValuePlace | ArgumentType, ...]  # types, if it is not closed
    arguments: tuple[ArgumentType, ...]
    equations: tuple[Equation, ...]
    results: tuple[ValuePlace | Use, ...]
    original: Any = field(compare=False)


Node: TypeAlias = "SizePlace | ValuePlace | Fixed | Record | TracedBody"


@record
class Reading:
    """A trace: its template, and what stands in the places. `parts` are the uses of less than a whole array."""

    template: TracedBody
    sizes: tuple[int, ...]
    values: tuple[Any, ...]
    parts: frozenset[int]


class NotReadable(Exception):  # noqa: N818  a condition, not an error of the user's
    """A trace has something that a template cannot hold, such as a reference to memory."""


def read(jaxpr: Any) -> Reading:
    """Read a closed jaxpr without symbols. Raises `NotReadable`."""
    reader = _Reader()
    template = reader.closed(jaxpr)
    return Reading(template, tuple(reader.sizes), tuple(reader.values), frozenset(reader.parts))


def places(node: Node | Use) -> Iterator[SizePlace | ValuePlace]:
    """All places in a part of a template."""
    match node:
        case Fixed():
            pass
        case SizePlace():
            yield node
        case ValuePlace():
            yield node
            yield from node.shape
        case Use():
            yield from node.shape
        case Record():
            for part in node.parts:
                yield from places(part)
        case TracedBody():
            for one in (*node.constants, *node.arguments):
                yield from places(one) if isinstance(one, ValuePlace) else one.shape
            for equation in node.equations:
                for part in (*equation.operands, *[part for _, part in equation.parameters]):
                    yield from places(part)
            for one in node.results:
                yield from places(one)


@record
class _Prefix:
    """What a variable of a jaxpr is: the first elements of one of the template."""

    variable: int
    shape: tuple[int, ...]
    is_part: bool = False


class _Reader:
    def __init__(self) -> None:
        self.sizes, self.values, self.parts = list[int](), list[Any](), list[int]()
        self._uses = 0

    def closed(self, jaxpr: Any) -> TracedBody:
        return self._body(jaxpr.jaxpr, tuple(map(self._value, jaxpr.consts)), jaxpr)

    def _body(self, jaxpr: Any, constants: tuple[ValuePlace | ArgumentType, ...], original: Any) -> TracedBody:
        arguments = tuple([self._type(one.aval) for one in jaxpr.invars])
        given = [*jaxpr.constvars, *jaxpr.invars]
        known = {one: _Prefix(number, _shape(one)) for number, one in enumerate(given)}
        count, equations = len(given), list[Equation]()
        for eqn in jaxpr.eqns:
            if (prefix := _prefix(eqn, known)) is not None:
                known[eqn.outvars[0]] = prefix
                continue
            operands = tuple([self._operand(one, known) for one in eqn.invars])
            called = INLINED.get(eqn.primitive.name, "")
            names = [called] if called in eqn.params else sorted(eqn.params.keys() - _NAMES)
            parameters = tuple([(name, self._node(eqn.params[name])) for name in names])
            effects = ", ".join(sorted(type(one).__name__ for one in eqn.effects))
            equations.append(Equation(eqn.primitive.name, operands, parameters, len(eqn.outvars), effects, eqn))
            for one in eqn.outvars:
                known[one] = _Prefix(count, _shape(one))
                count += 1
        results = tuple([self._operand(one, known) for one in jaxpr.outvars])
        return TracedBody(constants, arguments, tuple(equations), results, original)

    def _operand(self, one: Any, known: Mapping[Any, _Prefix]) -> ValuePlace | Use:
        if hasattr(one, "val"):
            return self._value(one.val)
        prefix = known[one]
        if prefix.is_part:
            self.parts.append(self._uses)
        self._uses += 1
        return Use(prefix.variable, tuple(map(self._size, prefix.shape)), self._uses - 1)

    def _size(self, value: Any) -> SizePlace:
        self.sizes.append(int(value))
        return SizePlace(len(self.sizes) - 1)

    def _value(self, value: Any) -> ValuePlace:
        aval = jax_module().typeof(value)
        if not isinstance(getattr(aval, "dtype", None), np.dtype):  # a random key, or no array at all
            raise NotReadable
        shape = tuple(map(self._size, aval.shape))
        self.values.append(value)
        return ValuePlace(len(self.values) - 1, shape, str(aval.dtype), bool(aval.weak_type))

    def _type(self, aval: Any) -> ArgumentType:
        if type(aval).__name__ not in {"ShapedArray", "AbstractToken"}:
            raise NotReadable
        shape = tuple(map(self._size, getattr(aval, "shape", ())))
        return ArgumentType(shape, str(getattr(aval, "dtype", aval)), bool(getattr(aval, "weak_type", False)), aval)

    def _node(self, value: Any) -> Node:
        if value is None or isinstance(value, bool | str | bytes | enum.Enum):
            return Fixed(value, value)
        if isinstance(value, INTEGERS):
            return self._size(value)
        if isinstance(value, SEQUENCES):
            return Record(type(value).__name__, (), tuple(map(self._node, value)), value)
        if isinstance(value, MAPPINGS):
            keys = sorted(value, key=str)
            return Record("dict", tuple(map(str, keys)), tuple([self._node(value[key]) for key in keys]), value)
        if hasattr(value, "jaxpr") and hasattr(value, "consts"):
            return self.closed(value)
        if hasattr(value, "eqns") and hasattr(value, "invars"):
            return self._body(value, tuple([self._type(one.aval) for one in value.constvars]), value)
        if isinstance(value, (*NUMPY, float, complex, jax_module().Array)):
            return self._value(value)
        return self._other(value)

    def _other(self, value: Any) -> Node:
        fields: Mapping[str, Any] | None = getattr(value, "__dataclass_fields__", None)
        if fields is not None:
            parts = tuple([self._node(getattr(value, name)) for name in fields])
            return Record(type(value).__name__, tuple(fields), parts, value)
        if type(value).__name__ in {"ShapedArray", "ShapeDtypeStruct"}:
            weak = bool(getattr(value, "weak_type", False))
            return Record(f"{value.dtype} {weak}", (), tuple(map(self._size, value.shape)), value)
        return Fixed(_key(value), value)


def _shape(variable: Any) -> tuple[int, ...]:
    return tuple(getattr(variable.aval, "shape", ()))


def _prefix(eqn: Any, known: Mapping[Any, _Prefix]) -> _Prefix | None:
    """What an equation gives if it is a slice from the beginning; else None."""
    if eqn.primitive.name != "slice" or hasattr(eqn.invars[0], "val"):
        return None
    given = known[eqn.invars[0]]
    limits, strides = tuple(eqn.params["limit_indices"]), eqn.params["strides"]
    if any(eqn.params["start_indices"]) or any(stride != 1 for stride in strides or ()):
        return None
    return _Prefix(given.variable, limits, given.is_part or limits != given.shape)


def _key(value: Any, within: tuple[Any, ...] = ()) -> object:
    """What tells an object without places from others: functions by their code and what they hold.

    `within` are functions that hold it.
    """
    if isinstance(value, functools.partial):
        return "partial", *[
            _key(one, within) for one in (value.func, value.args, tuple(sorted(value.keywords.items())))
        ]
    if (state := function_state(value)) is not None:
        if value in within:  # it calls itself
            return "function", within.index(value)
        code, held = state
        return "function", code, tuple([_key(one, (*within, value)) for one in held])
    if isinstance(value, SEQUENCES):
        return type(value).__name__, tuple([_key(one, within) for one in value])
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value).__name__, value
