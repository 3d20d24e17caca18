# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Random compositions of array functions: a list of numbers is a JAX function of any sizes.

Every choice depends on the numbers and on the *symbolic* shapes only, so that the same list is the same function when
it is exported and when it is run. Values stay near 1, and every step is continuous: rounding errors stay small.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

LARGEST = 60_000  # elements, where every symbol is `NOMINAL`
NOMINAL = 9
DEEPEST_RANK = 4


@dataclass(frozen=True, slots=True)
class Dim:
    """A dim: its name decides, its size (a number or JAX's symbol) is used."""

    name: str
    size: Any
    nominal: int
    parts: tuple[Dim, ...] = ()


@dataclass(frozen=True, slots=True)
class Value:
    """An array and the names of its dims."""

    array: Any
    dims: tuple[Dim, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(d.name for d in self.dims)

    @property
    def sizes(self) -> tuple[Any, ...]:
        return tuple(d.size for d in self.dims)


@dataclass(frozen=True, slots=True)
class Step:
    """One function, and numbers from which it draws: operands, axes, variants."""

    kind: str
    first: int
    second: int
    third: int


Rule = Callable[[list[Value], Value, Step], Value | None]


def symbol(name: str, size: Any) -> Dim:
    return Dim(name, size, NOMINAL)


def compose(steps: Sequence[Step], start: Sequence[Value]) -> list[Value]:
    """Apply the steps one after the other; one that does not fit its operand is an elementwise one instead."""
    values = list(start)
    for step in steps:
        x = values[-1 - step.first % min(4, len(values))]  # mostly a recent one
        made = RULES[step.kind](values, x, step)
        if made is None or math.prod(d.nominal for d in made.dims) > LARGEST or len(made.dims) > DEEPEST_RANK:
            made = _unary(values, x, step)
        values.append(made)
    return values


def _unary(values: list[Value], x: Value, step: Step) -> Value:
    del values
    functions = (
        jnp.tanh,
        lambda a: jnp.exp(-jnp.abs(a)),
        lambda a: jnp.sqrt(jnp.abs(a) + 1),
        lambda a: a * 0.5 + 1,
        lambda a: jnp.maximum(a, 0.25),
        lambda a: 1 / (1 + a * a),
    )
    return replace(x, array=functions[step.second % len(functions)](x.array))


def _binary(values: list[Value], x: Value, step: Step) -> Value:
    others = [v for v in values if v.names == x.names]
    y = others[step.second % len(others)]
    functions = (
        lambda a, b: a + b,
        lambda a, b: a * jnp.tanh(b),
        lambda a, b: jnp.maximum(a, b * 0.5),
        lambda a, b: a / (1 + jnp.abs(b)),
        lambda a, b: jnp.where(jnp.isfinite(b), a - b, a),
    )
    return replace(x, array=functions[step.third % len(functions)](x.array, y.array))


def _broadcast_binary(values: list[Value], x: Value, step: Step) -> Value | None:
    """Combine with a value that has some of the dims, in this order."""
    fitting = [v for v in values if v.names != x.names and _inside(v.names, x.names)]
    if not fitting:
        return None
    y = fitting[step.second % len(fitting)]
    position, places = 0, list[int]()
    for name in y.names:
        position = x.names.index(name, position)
        places.append(position)
        position += 1
    wide = lax.broadcast_in_dim(y.array, x.sizes, places)
    return replace(x, array=x.array - wide if step.third % 2 else x.array * jnp.tanh(wide))


def _inside(some: tuple[str, ...], names: tuple[str, ...]) -> bool:
    rest = iter(names)
    return all(name in rest for name in some)


def _reduce(values: list[Value], x: Value, step: Step) -> Value | None:
    del values
    if not x.dims:
        return None
    axes = tuple(k for k in range(len(x.dims)) if (step.second % (2 ** len(x.dims))) >> k & 1) or (len(x.dims) - 1,)
    match step.third % 3:
        case 0:
            array = x.array.sum(axes) * 0.1
        case 1:
            array = lax.reduce(x.array, -np.inf, lax.max, axes)
        case _:
            array = lax.reduce(x.array, np.inf, lax.min, axes)
    return Value(array, tuple(d for k, d in enumerate(x.dims) if k not in axes))


def _centre(values: list[Value], x: Value, step: Step) -> Value | None:
    """A normalisation along one axis: the reductions that fuse with what reads them."""
    del values
    if not x.dims:
        return None
    axis, first = step.second % len(x.dims), step.second // 8 % len(x.dims)
    match step.third % 3:
        case 0:
            array = x.array / (1 + jnp.abs(x.array).sum(axis, keepdims=True))
        case 1:
            array = x.array - lax.reduce(x.array, -np.inf, lax.max, (axis,)).reshape(_kept(x, axis))
            array = jnp.exp(array) / (1 + jnp.exp(array).sum(axis, keepdims=True))
        case _:  # what one row sums up, another row reads
            array = jnp.exp(-jnp.abs(x.array))
            array = array / (1 + array.sum(axis, keepdims=True)) - lax.rev(array, (first,))
    return replace(x, array=array)


def _kept(x: Value, axis: int) -> tuple[Any, ...]:
    return tuple(1 if k == axis else d.size for k, d in enumerate(x.dims))


def _expand(values: list[Value], x: Value, step: Step) -> Value:
    dims = [d for v in values[:2] for d in v.dims]
    new = dims[step.second % len(dims)]
    at = step.third % (len(x.dims) + 1)
    shape = (*x.sizes[:at], new.size, *x.sizes[at:])
    kept = [k if k < at else k + 1 for k in range(len(x.dims))]
    return Value(lax.broadcast_in_dim(x.array, shape, kept), (*x.dims[:at], new, *x.dims[at:]))


def _merge(values: list[Value], x: Value, step: Step) -> Value | None:
    del values
    if len(x.dims) < 2:
        return None
    at = step.second % (len(x.dims) - 1)
    a, b = x.dims[at : at + 2]
    both = Dim(f"({a.name}*{b.name})", a.size * b.size, a.nominal * b.nominal, (a, b))
    dims = (*x.dims[:at], both, *x.dims[at + 2 :])
    return Value(x.array.reshape(tuple(d.size for d in dims)), dims)


def _split(values: list[Value], x: Value, step: Step) -> Value | None:
    del values, step
    at = next((k for k, d in enumerate(x.dims) if d.parts), None)
    if at is None:
        return None
    dims = (*x.dims[:at], *x.dims[at].parts, *x.dims[at + 1 :])
    return Value(x.array.reshape(tuple(d.size for d in dims)), dims)


def _transpose(values: list[Value], x: Value, step: Step) -> Value | None:
    del values
    if len(x.dims) < 2:
        return None
    order = list(range(len(x.dims)))
    turn = 1 + step.second % (len(order) - 1)
    order = order[turn:] + order[:turn]
    if step.third % 2:
        order[0], order[-1] = order[-1], order[0]
    return Value(x.array.transpose(order), tuple(x.dims[k] for k in order))


def _slice(values: list[Value], x: Value, step: Step) -> Value | None:
    del values
    if not x.dims:
        return None
    axis = step.second % len(x.dims)
    d = x.dims[axis]
    match step.third % 4:
        case 0:
            return replace(x, array=lax.rev(x.array, (axis,)))
        case 1:
            array, new = (
                lax.slice_in_dim(x.array, 0, d.size, 2, axis),
                Dim(f"({d.name}/2)", (d.size - 1) // 2 + 1, d.nominal // 2 + 1),
            )
        case 2:
            array, new = lax.slice_in_dim(x.array, 0, 1, 1, axis), Dim("1", 1, 1)
        case _:
            array = jnp.concatenate(
                [lax.slice_in_dim(x.array, 1, d.size, 1, axis), lax.slice_in_dim(x.array, 0, 1, 1, axis)], axis
            )
            new = d
    return Value(array, (*x.dims[:axis], new, *x.dims[axis + 1 :]))


def _concatenate(values: list[Value], x: Value, step: Step) -> Value | None:
    if not x.dims:
        return None
    axis = step.second % len(x.dims)
    others = [v for v in values if _without(v.names, axis) == _without(x.names, axis) and len(v.dims) == len(x.dims)]
    y = others[step.third % len(others)]
    a, b = x.dims[axis], y.dims[axis]
    new = Dim(f"({a.name}+{b.name})", a.size + b.size, a.nominal + b.nominal)
    return Value(jnp.concatenate([x.array, y.array], axis), (*x.dims[:axis], new, *x.dims[axis + 1 :]))


def _without(names: tuple[str, ...], axis: int) -> tuple[str, ...]:
    return (*names[:axis], *names[axis + 1 :])


def _dot(values: list[Value], x: Value, step: Step) -> Value | None:
    """Contract one dim of x with the same dim of another value; leading dims of the same name are batches."""
    pairs = [
        (y, k, j)
        for y in values
        for k, d in enumerate(x.dims)
        for j, e in enumerate(y.dims)
        if d.name == e.name and d.name != "1"
    ]
    if not pairs:
        return None
    y, k, j = pairs[step.second % len(pairs)]
    batch = bool(step.third % 2) and k > 0 and j > 0 and x.names[0] == y.names[0]
    batches = ((0,), (0,)) if batch else ((), ())
    array = lax.dot_general(x.array * 0.2, y.array, (((k,), (j,)), batches))
    left = [d for p, d in enumerate(x.dims) if p != k and not (batch and p == 0)]
    right = [d for p, d in enumerate(y.dims) if p != j and not (batch and p == 0)]
    dims = (*((x.dims[0],) if batch else ()), *left, *right)
    return Value(jnp.tanh(array) if step.third % 3 else array * 0.2, dims)


def _sort(values: list[Value], x: Value, step: Step) -> Value | None:
    del values
    return replace(x, array=jnp.sort(x.array, step.second % len(x.dims))) if x.dims else None


RULES: dict[str, Rule] = {
    "unary": _unary, "binary": _binary, "broadcast binary": _broadcast_binary, "reduce": _reduce, "centre": _centre,
    "expand": _expand, "merge": _merge, "split": _split, "transpose": _transpose, "slice": _slice,
    "concatenate": _concatenate, "dot": _dot, "sort": _sort,
}  # fmt: skip
