"""Trace a function once more from a template, with symbolic sizes where the template has places for numbers.

Each equation of the template is bound again, with formulas of the sizes as its parameters. Calls of functions (nested
`jit`, functions with derivatives of their own) are inlined, so what is traced here is not to be differentiated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shlo_disc.jit.generalized.prefix import prefix
from shlo_disc.jit.generalized.size_formulas import SizeFormula
from shlo_disc.jit.generalized.trace_template import (
    INLINED,
    ArgumentType,
    Equation,
    Fixed,
    Node,
    Record,
    SizePlace,
    TracedBody,
    Use,
    ValuePlace,
    places,
)
from shlo_disc.jit.jax_modules import MAPPINGS, SEQUENCES, jax_module


class NotReplayable(Exception):  # noqa: N818  a condition, not an error of the user's
    """A part of a template that changes with sizes is one that cannot be traced again."""


@dataclass(frozen=True)
class PlaceFormulas:
    """What stands in the places of a template: a formula for each size; for each value the value, or how it changes.

    A value that changes is a formula of the sizes (numbers), or is given as an argument (None). `parts` are the uses of
    less than a whole array at some sizes, `extended` those of an array with zeros after it at some.
    """

    sizes: Sequence[SizeFormula]
    values: Sequence[Any]
    changing: Mapping[int, SizeFormula | None]
    parts: frozenset[int]
    extended: frozenset[int]


def replay(template: TracedBody, formulas: PlaceFormulas, symbols: Sequence[Any], arrays: Sequence[Any]) -> list[Any]:
    """Trace a template on arrays. Those of the values that change follow the function's own; `symbols` are JAX's sizes.

    Raises `NotReplayable`, and whatever JAX raises for sizes that it cannot compare.
    """
    count = len(template.arguments)
    given = iter(arrays[count:])
    hidden = {number: next(given) for number, formula in formulas.changing.items() if formula is None}
    return _Replay(formulas, symbols, hidden).body(template, list(arrays[:count]))


class _Replay:
    def __init__(self, formulas: PlaceFormulas, symbols: Sequence[Any], hidden: Mapping[int, Any]) -> None:
        self._formulas, self._symbols, self._hidden = formulas, symbols, hidden

    def body(self, body: TracedBody, arguments: Sequence[Any], constants: Sequence[Any] | None = None) -> list[Any]:
        """The results of a jaxpr. `constants` are those of one that is not closed."""
        if constants is None:
            constants = [self._value(one) for one in body.constants if isinstance(one, ValuePlace)]
        known = [*constants, *arguments]
        for one in body.equations:
            known += self._equation(one, [self._operand(x, known) for x in one.operands])
        return [self._operand(one, known) for one in body.results]

    def _operand(self, one: ValuePlace | Use, known: Sequence[Any]) -> Any:
        if isinstance(one, ValuePlace):
            return self._value(one)
        array = known[one.variable]
        shape = tuple(map(self._size, one.shape))
        if not shape or tuple(array.shape) == shape:
            return array
        if one.number in self._formulas.extended:
            lax = jax_module("jax.lax")
            zero = _number(0, array.dtype, weak=array.aval.weak_type)
            return lax.pad(array, zero, [(0, new - old, 0) for old, new in zip(array.shape, shape, strict=True)])
        return prefix(array, shape, is_whole=one.number not in self._formulas.parts)

    def _equation(self, one: Equation, operands: Sequence[Any]) -> list[Any]:
        eqn, parameters = one.original, dict(one.parameters)
        if (inner := parameters.get(INLINED.get(one.primitive, ""))) is not None:
            assert isinstance(inner, TracedBody)
            count = len(inner.constants) if inner.constants and isinstance(inner.constants[0], ArgumentType) else 0
            return self.body(inner, operands[count:], operands[:count] if count else None)
        changed = {name: self._node(node) for name, node in parameters.items() if not self._is_fixed(node)}
        if one.primitive == "split" and "sizes" in changed:
            changed["sizes"] = _with_sum(changed["sizes"], operands[0].shape[eqn.params["axis"]])
        with eqn.ctx.manager:
            found = eqn.primitive.bind(*operands, **{**eqn.params, **changed})
        return list(found) if eqn.primitive.multiple_results else [found]

    def _is_fixed(self, node: Node) -> bool:
        """Whether nothing in a part of the template changes with sizes."""
        sizes, changing = self._formulas.sizes, self._formulas.changing
        return all(
            sizes[one.number].is_constant if isinstance(one, SizePlace) else one.number not in changing
            for one in places(node)
        )

    def _size(self, place: SizePlace) -> Any:
        return self._formulas.sizes[place.number].at(self._symbols)

    def _value(self, place: ValuePlace) -> Any:
        number = place.number
        if number not in self._formulas.changing:
            return self._formulas.values[number]
        formula = self._formulas.changing[number]
        if formula is None:
            if number not in self._hidden:
                raise NotReplayable("a value of a nested function changes with sizes")
            return self._hidden[number]
        size = jax_module("jax._src.core").dimension_as_value(formula.at(self._symbols))
        return _number(size, np.dtype(place.dtype), weak=place.weak)

    def _node(self, node: Node) -> Any:
        match node:
            case Record() | TracedBody() if self._is_fixed(node):
                return node.original
            case SizePlace():
                return self._size(node)
            case ValuePlace():
                return self._value(node)
            case Record():
                return _rebuilt(node, [self._node(one) for one in node.parts])
            case TracedBody():
                return self._traced(node)
            case Fixed():
                return node.original

    def _traced(self, body: TracedBody) -> Any:
        """A jaxpr that is the parameter of an equation, with symbolic sizes."""
        jax = jax_module()

        open_types = [one for one in body.constants if isinstance(one, ArgumentType)]
        specs = [self._spec(one) for one in (*open_types, *body.arguments)]
        inner, count = _Replay(self._formulas, self._symbols, {}), len(open_types)

        def function(*arrays: Any) -> list[Any]:
            return inner.body(body, arrays[count:], arrays[:count] if count else None)

        found = jax.make_jaxpr(function)(*specs)
        if len(found.in_avals) != len(specs):
            raise NotReplayable("a nested function needs sizes that are not those of its arguments")
        if hasattr(body.original, "consts"):
            return found
        if found.consts:
            raise NotReplayable("a nested function has constants that change with sizes")
        jaxpr = found.jaxpr
        return jaxpr.replace(constvars=jaxpr.invars[:count], invars=jaxpr.invars[count:])

    def _spec(self, one: ArgumentType) -> Any:
        if not hasattr(one.original, "shape"):
            raise NotReplayable("a nested function has effects in an order")
        shape = tuple(map(self._size, one.shape))
        return jax_module().ShapeDtypeStruct(shape, one.original.dtype, weak_type=one.weak)


def _number(value: Any, dtype: Any, *, weak: bool) -> Any:
    """A number of a type that may be weak."""
    return jax_module("jax._src.lax.lax")._convert_element_type(value, dtype, weak_type=weak)  # noqa: SLF001


def _with_sum(sizes: Sequence[Any], total: Any) -> tuple[Any, ...]:
    """The same sizes, in a form by which JAX knows their sum: `(n + 1) // 2` and `n // 2` are `n`."""
    return (*sizes[:-1], total - sum(sizes[:-1]))


def _rebuilt(record: Record, parts: Sequence[Any]) -> Any:
    """An object like the original one with other parts."""
    original: Any = record.original
    if isinstance(original, SEQUENCES):
        return type(original)(*parts) if hasattr(original, "_fields") else type(original)(parts)
    if isinstance(original, MAPPINGS):
        return dict(zip(sorted(original, key=str), parts, strict=True))
    if record.names:
        return jax_module("dataclasses").replace(original, **dict(zip(record.names, parts, strict=True)))
    return original.update(shape=tuple(parts))
