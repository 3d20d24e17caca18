"""Random programs as `jax.export` writes them: functions of symbolic shapes, with their derivatives."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
from jax import export
from jax.errors import InconclusiveDimensionOperation

from shlo_disc.check.generate.choices import Choices, RandomChoices, chance, pick
from shlo_disc.check.generate.jax_steps import STEPS, Traced
from shlo_disc.check.xla import without_locations

_MOST_STEPS = 6
_MOST_ELEMENTS = 1 << 15  # product of a value's fixed sizes
_MOST_RANK = 4
_FIXED = (16, 3, 8, 1, 5, 64, 17, 33)
_DTYPES = (*["float32"] * 8, "float64", "float64", "bfloat16", "float16")

Function = Callable[..., tuple[Traced, ...]]


class _Recorded:
    """Decisions that are recorded, and replayed each time that JAX traces a function."""

    def __init__(self, choices: Choices) -> None:
        self._choices = choices
        self._taken = list[int]()
        self._at = 0

    def rewind(self) -> None:
        self._at = 0

    def below(self, count: int, /) -> int:
        """Decide on a number from 0 to `count` - 1."""
        if self._at == len(self._taken):
            self._taken.append(self._choices.below(count))
        self._at += 1
        return self._taken[self._at - 1] % count


def export_programs(choices: Choices, count: int = 1) -> str:
    """Export `count` independent functions, with derivatives, as the `@main` of one module."""
    scope, structs, parts = export.SymbolicScope(), list[Any](), list[tuple[Function, int]]()
    with jax.enable_x64(True):
        for number in range(count):
            recorded = _Recorded(choices)
            arguments = _arguments(recorded, scope, number)
            structs += arguments
            parts.append((_function(_Recorded(choices), pick(recorded, _DERIVATIVES)), len(arguments)))

        def whole(*arrays: Traced) -> list[Traced]:
            results, at = list[Traced](), 0
            for part, arity in parts:
                results += part(*arrays[at : at + arity])
                at += arity
            return results

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exported = export.export(jax.jit(whole, keep_unused=True), platforms=["cpu"])(*structs)
    return without_locations(exported.mlir_module())


def export_at(seed: int, count: int = 1) -> str:
    """Export the functions of a seed; new ones where JAX cannot compare symbolic sizes that a derivative needs."""
    choices = RandomChoices(seed)
    while True:
        with suppress(InconclusiveDimensionOperation):
            return export_programs(choices, count)


def _arguments(c: Choices, scope: export.SymbolicScope, number: int) -> list[Any]:
    """One to three arrays of one type; shapes and sizes recur."""
    sizes = [*export.symbolic_shape(f"a{number}, b{number}", scope=scope), pick(c, _FIXED)]
    dtype, shapes = pick(c, _DTYPES), list[tuple[Any, ...]]()
    for _ in range(1 + c.below(3)):
        if shapes and chance(c, 2):
            shapes.append(pick(c, shapes))
        elif chance(c, 4):
            shapes.append((sizes[0], sizes[0]))
        else:
            shapes.append(tuple([pick(c, sizes) for _ in range(pick(c, (2, 1, 3, 2)))]))
    return [jax.ShapeDtypeStruct(shape, jnp.dtype(dtype)) for shape in shapes]


def _function(c: _Recorded, derivative: Callable[[Function], Function]) -> Function:
    """A function of some random steps, or a derivative of it."""

    def function(*arrays: Traced) -> tuple[Traced, ...]:
        c.rewind()
        values = list(arrays[::-1])
        for _ in range(1 + c.below(_MOST_STEPS)):
            made = _stepped(c, values)
            if made is not None:
                values.insert(0, made)
        return tuple(values[: 1 + c.below(2)])

    return derivative(function)


def _stepped(c: Choices, values: Sequence[Traced]) -> Traced | None:
    """A new value; None if JAX refuses the step, no operand fits, or the result is unusable."""
    step = pick(c, STEPS)
    try:
        made = step(c, values)
    except Exception:  # noqa: BLE001  JAX raises errors of many types for symbolic sizes
        return None
    fixed = 1
    for size in made.shape:
        fixed *= size if isinstance(size, int) else 1
    usable = made.ndim <= _MOST_RANK and fixed <= _MOST_ELEMENTS and jnp.issubdtype(made.dtype, jnp.floating)
    return made if usable else None


def _loss(function: Function) -> Callable[..., Traced]:
    return lambda *arrays: sum(jnp.sum(jnp.sin(y).astype(jnp.float32)) for y in function(*arrays))


def _plain(function: Function) -> Function:
    return function


def _gradient(function: Function) -> Function:
    return lambda *arrays: jax.grad(_loss(function), tuple(range(len(arrays))))(*arrays)


def _with_value(function: Function) -> Function:
    def both(*arrays: Traced) -> tuple[Traced, ...]:
        value, gradients = jax.value_and_grad(_loss(function), tuple(range(len(arrays))))(*arrays)
        return (value, *gradients)

    return both


def _pulled_back(function: Function) -> Function:
    def back(*arrays: Traced) -> tuple[Traced, ...]:
        results, pull = jax.vjp(function, *arrays)
        return (*results, *pull(tuple([jnp.cos(y) for y in results])))

    return back


def _pushed_forward(function: Function) -> Function:
    def forward(*arrays: Traced) -> tuple[Traced, ...]:
        results, tangents = jax.jvp(function, arrays, tuple([jnp.cos(x) for x in arrays]))
        return (*results, *tangents)

    return forward


_DERIVATIVES = (_plain, _gradient, _gradient, _with_value, _pulled_back, _pushed_forward)
