"""What traces of one function have in common: a jaxpr with places for its numbers.

`read` takes the numbers and the constants out of a jaxpr. What is left, the template, is equal for all traces that are
the same but for these. So two traces are compared by their templates, numbers and constants, and a template with other
numbers is another trace.

Types of intermediate results are left out: they follow from the arguments and the parameters. A slice from the
beginning is no equation but a property of the use, and so are zeros at the ends of axes: a trace that takes all of an
array is like one that takes a part, or has zeros after it. `lax.associative_scan` takes all for odd sizes and a part
for even ones; its gradient has zeros then. Such equations also change the order of others. So these stand in the order
in which the results need them, and those that nothing needs are left out.
"""

from __future__ import annotations

import enum
import functools
import itertools
from collections.abc import Iterable, Iterator, Mapping
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
    """The use of a variable, by its number in the order of definition: its first elements, or it and zeros after it.

    `shape` is that of what is used, `number` that of the use in the trace.
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
    """A trace: its template, and what stands in the places.

    `parts` are the uses of less than a whole array, `extended` those of an array with zeros after it.
    """

    template: TracedBody
    sizes: tuple[int, ...]
    values: tuple[Any, ...]
    parts: frozenset[int]
    extended: frozenset[int]


class NotReadable(Exception):  # noqa: N818  a condition, not an error of the user's
    """A trace has something that a template cannot hold, such as a reference to memory."""


def read(jaxpr: Any) -> Reading:
    """Read a closed jaxpr without symbols. Raises `NotReadable`."""
    reader = _Reader()
    template = reader.closed(jaxpr)
    parts, extended = (frozenset(reader.uses[extent]) for extent in (_Extent.PART, _Extent.EXTENDED))
    return Reading(template, tuple(reader.sizes), tuple(reader.values), parts, extended)


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


class _Extent(enum.Enum):
    WHOLE = enum.auto()
    PART = enum.auto()
    EXTENDED = enum.auto()


@record
class _View:
    """What a variable of a jaxpr is: one of the template, the first elements of it, or it with zeros after it."""

    variable: int
    shape: tuple[int, ...]
    extent: _Extent = _Extent.WHOLE


class _Reader:
    def __init__(self) -> None:
        self.sizes, self.values = list[int](), list[Any]()
        self.uses: dict[_Extent, list[int]] = {extent: [] for extent in _Extent}
        self._count = 0

    def closed(self, jaxpr: Any) -> TracedBody:
        return self._body(jaxpr.jaxpr, tuple(map(self._value, jaxpr.consts)), jaxpr)

    def _body(self, jaxpr: Any, constants: tuple[ValuePlace | ArgumentType, ...], original: Any) -> TracedBody:
        arguments = tuple([self._type(one.aval) for one in jaxpr.invars])
        given = [*jaxpr.constvars, *jaxpr.invars]
        known = {one: _View(number, _shape(one)) for number, one in enumerate(given)}
        count, equations = len(given), list[Equation]()
        for eqn in _needed(jaxpr):
            if (view := _part(eqn, known) or _extended(eqn, known)) is not None:
                known[eqn.outvars[0]] = view
                continue
            operands = tuple([self._operand(one, known) for one in eqn.invars])
            called = INLINED.get(eqn.primitive.name, "")
            names = [called] if called in eqn.params else sorted(eqn.params.keys() - _NAMES)
            parameters = tuple([(name, self._node(eqn.params[name])) for name in names])
            effects = ", ".join(sorted(type(one).__name__ for one in eqn.effects))
            equations.append(Equation(eqn.primitive.name, operands, parameters, len(eqn.outvars), effects, eqn))
            for one in eqn.outvars:
                known[one] = _View(count, _shape(one))
                count += 1
        results = tuple([self._operand(one, known) for one in jaxpr.outvars])
        return TracedBody(constants, arguments, tuple(equations), results, original)

    def _operand(self, one: Any, known: Mapping[Any, _View]) -> ValuePlace | Use:
        if hasattr(one, "val"):
            return self._value(one.val)
        view = known[one]
        self.uses[view.extent].append(self._count)
        self._count += 1
        return Use(view.variable, tuple(map(self._size, view.shape)), self._count - 1)

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


def _part(eqn: Any, known: Mapping[Any, _View]) -> _View | None:
    """What an equation gives if it is a slice from the beginning; else None."""
    if eqn.primitive.name != "slice" or hasattr(eqn.invars[0], "val"):
        return None
    given = known[eqn.invars[0]]
    limits, strides = tuple(eqn.params["limit_indices"]), eqn.params["strides"]
    if any(eqn.params["start_indices"]) or any(stride != 1 for stride in strides or ()):
        return None
    return _view(given, limits, _Extent.PART)


def _extended(eqn: Any, known: Mapping[Any, _View]) -> _View | None:
    """What an equation gives if it puts zeros after the ends of axes, or takes elements away there; else None."""
    if eqn.primitive.name != "pad" or hasattr(eqn.invars[0], "val"):
        return None
    given, config = known[eqn.invars[0]], eqn.params["padding_config"]
    keeps_type = eqn.outvars[0].aval.weak_type == eqn.invars[0].aval.weak_type
    if any(low or interior for low, _, interior in config) or not _is_zero(eqn.invars[1]) or not keeps_type:
        return None
    shape = tuple([int(size + high) for size, (_, high, _) in zip(given.shape, config, strict=True)])
    if all(high <= 0 for _, high, _ in config):
        return _view(given, shape, _Extent.PART)
    return _view(given, shape, _Extent.EXTENDED) if all(high >= 0 for _, high, _ in config) else None


def _view(given: _View, shape: tuple[int, ...], extent: _Extent) -> _View | None:
    """The view of a view; None if it is none of the variable."""
    if shape == given.shape:
        return given
    return _View(given.variable, shape, extent) if given.extent in {_Extent.WHOLE, extent} else None


def _is_zero(one: Any) -> bool:
    """Whether a constant is zero. The other zero, -0.0, is another constant."""
    return hasattr(one, "val") and not np.asarray(one.val).tobytes().strip(b"\0")


def _needed(jaxpr: Any) -> list[Any]:
    """The equations that have effects, or that results need, in an order that follows from what needs them."""
    made_by = {one: eqn for eqn in jaxpr.eqns for one in eqn.outvars}

    def makers(variables: Iterable[Any]) -> Iterator[Any]:
        return iter([made_by[one] for one in variables if not hasattr(one, "val") and one in made_by])

    found, begun = list[Any](), set[int]()
    roots = itertools.chain([eqn for eqn in jaxpr.eqns if eqn.effects], makers(jaxpr.outvars))
    waiting: list[tuple[Any, Iterator[Any]]] = [(None, roots)]
    while waiting:
        eqn, operands = waiting[-1]
        if (inner := next((one for one in operands if id(one) not in begun), None)) is not None:
            begun.add(id(inner))
            waiting.append((inner, makers(inner.invars)))
        else:
            waiting.pop()
            found.append(eqn)
    return found[:-1]


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
