"""Functions of Python that a compiled program calls."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import gc
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback
from jax.extend.core import Primitive
from jax.interpreters import mlir

import shlo_disc
from shlo_disc.jit import callbacks
from tests.pipeline.exports import FAST


def sort_outside(x: Any) -> Any:
    return jax.pure_callback(np.sort, jax.ShapeDtypeStruct(x.shape, x.dtype), x, vmap_method="expand_dims") * 2


def test_pure_callbacks_are_called_at_all_sizes() -> None:
    run = shlo_disc.jit(sort_outside)
    for size in (3, 4, 5, 6):
        x = np.random.default_rng(size).standard_normal(size, np.float32)
        np.testing.assert_array_equal(run(x), np.sort(x) * 2)
    assert run.report().compilations == 2


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap])
def test_pure_callbacks_inside_of_transformations(transform: Callable[..., Any]) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    np.testing.assert_array_equal(transform(shlo_disc.jit(sort_outside))(x), np.sort(x) * 2)


def test_two_callbacks_of_one_form_are_two_functions() -> None:
    def called(function: Callable[..., Any]) -> Any:
        run = shlo_disc.jit(lambda x: jax.pure_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
        return run(np.ones(3, np.float32))

    np.testing.assert_array_equal(called(lambda x: x + 1), np.full(3, 2.0))
    np.testing.assert_array_equal(called(lambda x: x + 2), np.full(3, 3.0))


def test_callbacks_with_effects_are_called_once_per_call() -> None:
    seen = list[int]()

    @shlo_disc.jit
    def run(x: Any) -> Any:
        io_callback(lambda y: seen.append(len(y)), None, x)
        jax.lax.cond(x.sum() > 100, lambda: jax.debug.callback(lambda: seen.append(-1)), lambda: None)
        return x + 1

    for size in (3, 4, 5):
        run(np.ones(size, np.float32))
    assert seen == [3, 4, 5]
    run(np.full(6, 100, np.float32))
    assert sorted(seen) == [-1, 3, 4, 5, 6]


def test_callbacks_in_loops_and_branches_are_called_in_each_round() -> None:
    seen = list[float]()

    @shlo_disc.jit
    def run(x: Any) -> Any:
        def add(total: Any, y: Any) -> Any:
            jax.debug.callback(lambda y: seen.append(float(y)), y)
            jax.lax.cond(y > 1, lambda: jax.debug.callback(lambda: seen.append(-1)), lambda: None)
            return total + y, None

        return jax.lax.scan(add, jnp.float32(0), x)[0]

    for size in (2, 3, 4):
        seen.clear()
        assert float(run(np.arange(size, dtype=np.float32))) == size * (size - 1) / 2
        assert sorted(seen) == [*[-1] * max(0, size - 2), *range(size)]


def drawn(seed: int, seen: list[Any]) -> Callable[[Any], Any]:
    """A random function with ordered callbacks, which append what they get: at the top, in loops and branches."""

    def called(name: str, value: Any) -> Any:
        def function(x: Any) -> Any:
            seen.append((name, float(x)))
            return np.float32(len(seen) % 3)

        return io_callback(function, jax.ShapeDtypeStruct((), np.float32), value, ordered=True)

    def sorted_by_size(name: str, x: Any) -> Any:
        def function(x: Any) -> Any:
            seen.append((name, *x.tolist()))
            return np.sort(x)

        return io_callback(function, jax.ShapeDtypeStruct(x.shape, x.dtype), x, ordered=True)

    def function(x: Any) -> Any:
        rng = random.Random(seed)
        values = [x.sum(), x.max(), (x * 2).min()]
        for number in range(rng.randint(3, 6)):
            value, name = rng.choice(values), str(number)
            match rng.choice(("used", "unused", "constant", "array", "large", "loop", "branch")):
                case "used":
                    values.append(called(name, value) + value)
                case "unused":
                    called(name, value)
                case "constant":
                    called(name, jnp.float32(3))
                case "array":
                    values.append(sorted_by_size(name, x)[0])
                case "large":
                    values.append((jnp.outer(x, x) * value).sum())
                    called(name, values[-1])
                case "loop":
                    values.append(
                        jax.lax.fori_loop(0, 2, lambda _, carry: called(name, value) + called(name + "'", carry), value)  # noqa: B023
                    )
                case _:
                    branches = [partial(called, name), partial(called, name + "'")]
                    values.append(jax.lax.cond(value > 2, *branches, value))
        return values[-1] + values[0]

    return function


@pytest.mark.parametrize("number", [*range(4), *[pytest.param(k, marks=pytest.mark.slow) for k in range(4, 24)]])
def test_ordered_callbacks_are_called_in_the_order_of_the_function(number: int) -> None:
    seed = number if number < 2 else random.randrange(1 << 30)
    ours, theirs = list[Any](), list[Any]()
    run, by_jax = shlo_disc.jit(drawn(seed, ours), options=FAST), jax.jit(drawn(seed, theirs))
    for size in (3, 4, 5):
        x = np.random.default_rng(size).integers(-4, 5, size).astype(np.float32)
        found, expected = run(x), by_jax(x)
        jax.effects_barrier()
        assert (seed, ours, float(found)) == (seed, theirs, float(expected))


@pytest.mark.parametrize("ordered", [False, True])
def test_effects_inside_of_jax_jit_are_those_of_the_function(ordered: bool) -> None:
    seen = list[Any]()

    def noted(name: str) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            io_callback(lambda y: seen.append((name, float(y))), None, x.sum(), ordered=ordered)
            return x + 1

        return shlo_disc.jit(function)

    first, second = noted("first"), noted("second")

    @jax.jit
    def run(x: Any) -> Any:
        first(jnp.outer(x, x))  # nobody needs the results of these
        second(x)
        return first(x)

    np.testing.assert_array_equal(run(np.ones(3, np.float32)), np.full(3, 2))
    jax.effects_barrier()
    wanted = [("first", 9.0), ("second", 3.0), ("first", 3.0)]
    assert seen == wanted if ordered else sorted(seen) == sorted(wanted)


def test_debug_print(capsys: pytest.CaptureFixture[str]) -> None:
    @shlo_disc.jit
    def run(x: Any) -> Any:
        jax.debug.print("sum {}", x.sum())
        return x

    for size in (2, 3):
        run(jnp.ones(size))
    assert capsys.readouterr().out == "sum 2.0\nsum 3.0\n"


def test_errors_of_callbacks_are_those_of_jax() -> None:
    def broken(x: Any) -> Any:
        raise ValueError(f"no value for {x.shape}")

    run = shlo_disc.jit(lambda x: jax.pure_callback(broken, jax.ShapeDtypeStruct(x.shape, x.dtype), x))
    with pytest.raises(jax.errors.JaxRuntimeError, match=r"ValueError: no value for \(3,\)"):
        run(np.ones(3, np.float32))


def test_primitives_of_libraries_that_emit_callbacks() -> None:
    def lower(ctx: Any, *operands: Any) -> Any:
        found, _, keepalive = mlir.emit_python_callback(
            ctx, lambda x: (x + 1,), None, operands, ctx.avals_in, ctx.avals_out, has_side_effect=False
        )
        ctx.module_context.add_keepalive(keepalive)
        return found

    primitive = Primitive("plus_one_outside")
    primitive.def_abstract_eval(lambda x: x)
    mlir.register_lowering(primitive, lower)
    run = shlo_disc.jit(lambda x: primitive.bind(x) * 2)
    for size in (2, 3):
        np.testing.assert_array_equal(run(np.ones(size, np.float32)), np.full(size, 4.0))


def test_callbacks_are_forgotten_with_their_program() -> None:
    gc.collect()
    before = callbacks.count()
    run = shlo_disc.jit(sort_outside)
    bound = None
    for size in (3, 4):
        run(np.ones(size, np.float32))
        bound = bound or run.compiled.bind(np.ones(size, np.float32))
    assert callbacks.count() > before
    run.clear()
    gc.collect()
    assert bound is not None
    np.testing.assert_array_equal(bound(), np.full(3, 2, np.float32))  # a bound program keeps its own
    del bound
    gc.collect()
    assert callbacks.count() == before


class Scale:
    """A factor, and functions that multiply by it."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def times(self, x: Any) -> Any:
        return np.asarray(x) * np.float32(self.factor)


def by_closure(n: float) -> Any:
    return lambda x: np.asarray(x) * np.float32(n)


def by_default(n: float) -> Any:
    def scale(x: Any, *, factor: float = n) -> Any:
        return np.asarray(x) * np.float32(factor)

    return scale


def by_attribute(n: float) -> Any:
    def scale(x: Any) -> Any:
        return np.asarray(x) * np.float32(scale.factor)  # type: ignore[attr-defined]

    setattr(scale, "factor", n)  # noqa: B010
    return scale


def by_recursion(n: float) -> Any:
    def power(k: float) -> float:
        return 1.0 if k < 1 else 2 * power(k - 1)

    return lambda x: np.asarray(x) * np.float32(power(n))


HELD = {
    "an object": lambda n: Scale(n).times,
    "a closure": by_closure,
    "a default": by_default,
    "an attribute": by_attribute,
    "a function that calls itself": by_recursion,
    "arguments of a partial": lambda n: partial(np.multiply, np.float32(n)),
    "a sign of zero": lambda n: lambda x: np.copysign(np.asarray(x), -0.0 if n % 2 else 0.0),
}


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("factor", [int, lambda n: 3 if n == 5 else 4], ids=["number", "comparison"])
def test_a_callback_is_that_of_its_sizes(name: str, factor: Callable[[Any], int]) -> None:
    """Each trace makes it anew: a program must not call the one of other sizes."""

    def function(x: Any) -> Any:
        return jax.pure_callback(HELD[name](factor(x.shape[0])), jax.ShapeDtypeStruct(x.shape, x.dtype), x)

    run = shlo_disc.jit(function)
    for size in (3, 5, 7, 4, 5, 3, 7, 5):
        x = np.arange(1, size + 1, dtype=np.float32)
        np.testing.assert_array_equal(run(x).view(np.int32), jax.jit(function)(x).view(np.int32))
