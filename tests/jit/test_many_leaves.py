# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Functions of many parameters: arrays that come again, and results that XLA makes all at once, are as all others."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.core import Tracer

import shlo_disc
from shlo_disc.jit import results
from shlo_disc.jit.function import JitFunction
from tests.jit.comparing import jit, same

COUNT = 8
DTYPES = ("bool", "int8", "uint16", "int32", "float16", "bfloat16", "float32", "complex64")
PAID = (20_000 + 128 * COUNT) // COUNT + 5  # calls after which XLA makes the results, and some more


def update(params: dict[str, Any], x: Any) -> dict[str, Any]:
    return {name: value + x.astype(value.dtype) for name, value in params.items()}


def parameters(size: int = 3, start: int = 0) -> dict[str, Any]:
    return {f"{k} {name}": jnp.arange(start, start + size).astype(name) for k, name in enumerate(DTYPES)}


def makers(run: JitFunction) -> int:
    """For how many sizes XLA makes the results of the program that was compiled last."""
    executable: Any = run.compiled.executable
    return executable.entry.makers


def until_paid(run: JitFunction, *args: Any) -> None:
    for _ in range(PAID):
        run(*args)


# --- arrays that come again -------------------------------------------------------------------------------------------


def test_arrays_that_come_again() -> None:
    run, reference = jit(update), jax.jit(update)
    params, x, y = parameters(), jnp.ones(3), jnp.full(3, 2.0)
    for step in range(30):
        given = params if step % 10 else parameters(start=step)
        same(run(given, y if step % 7 == 0 else x), reference(given, y if step % 7 == 0 else x))


def test_one_leaf_that_is_deleted_another_that_is_replaced() -> None:
    run, reference = jit(update), jax.jit(update)
    params, x = parameters(), jnp.ones(3)
    for _ in range(10):
        run(params, x)
    name = "3 int32"
    params[name].delete()
    with pytest.raises(RuntimeError, match="deleted"):
        run(params, x)
    params[name] = jnp.arange(5, 8)
    same(run(params, x), reference(params, x))
    params[name] = params[name].astype(jnp.float32)  # another program
    for _ in range(10):
        same(run(params, x), reference(params, x))
    params[name] = jnp.arange(5, 8)
    same(run(params, x), reference(params, x))


def test_weak_and_strong_arrays_in_turns() -> None:
    def function(x: Any, y: Any) -> Any:
        return x + y, x * 2

    run, reference = jit(function), jax.jit(function)
    weak, strong, y = jnp.asarray(2.0), jnp.float32(2), jnp.ones(3, jnp.bfloat16)
    for x in [strong] * 10 + [weak] * 10 + [strong, weak] * 5:
        same(run(x, y), reference(x, y))


def test_64_bits_on_and_off_with_the_same_arrays() -> None:
    def function(x: Any) -> Any:
        return [x * 2 + k for k in range(COUNT)], jnp.arange(3) / 2

    run, reference = jit(function), jax.jit(function)
    x = jnp.arange(4, dtype=jnp.int32)
    for _ in range(3):
        for _ in range(10):
            same(run(x), reference(x))
        with jax.enable_x64(True):
            wide = jnp.arange(4, dtype=jnp.int64) + 2**40
            for one in [x] * 10 + [wide] * 10:
                same(run(one), reference(one))


def test_donated_arrays_that_came_before() -> None:
    """They are the arguments of a program that donates them, and of one that does not."""
    step, total = jit(update, donate_argnums=0), jit(lambda params, x: (params["w"].sum(), params["b"] + x))
    params, x = {"w": jnp.ones(4), "b": jnp.zeros(4)}, jnp.ones(4)
    for number in range(20):
        for _ in range(5):
            assert float(total(params, x)[0]) == 4 + 4 * number
        before, params = params, step(params, x)
        with pytest.raises(RuntimeError, match="deleted"):
            total(before, x)


# --- results that XLA makes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 5])
def test_results_that_xla_makes(size: int) -> None:
    run, reference = jit(update), jax.jit(update)
    params, x = parameters(size), jnp.ones(size)
    wanted = reference(params, x)
    same(run(params, x), wanted)
    until_paid(run, params, x)
    assert makers(run) == (1 if size else 0)  # XLA has nothing to run where no result has elements
    found = run(params, x)
    same(found, wanted)
    for one in found.values():
        assert (one.committed, one.sharding) == (False, jnp.ones(1).sharding)
    other, y = parameters(size, start=7), jnp.full(size, 2.0)
    same(run(other, y), reference(other, y))
    same(found, wanted)
    same(run(parameters(size + 1), jnp.ones(size + 1)), reference(parameters(size + 1), jnp.ones(size + 1)))


def test_results_without_elements_among_others() -> None:
    def function(x: Any, y: Any) -> Any:
        return [x * k if k % 2 else y * k for k in range(COUNT)], x.sum()

    run, reference = jit(function), jax.jit(function)
    args = jnp.arange(3, dtype=jnp.float32), jnp.ones((0, 2))
    until_paid(run, *args)
    assert makers(run) == 1
    same(run(*args), reference(*args))


def test_each_size_has_its_own() -> None:
    run, reference = jit(update), jax.jit(update)
    run(parameters(2), jnp.ones(2))
    for size in (3, 4):
        until_paid(run, parameters(size), jnp.ones(size))
    assert makers(run) == 2
    for size in (2, 3, 4, 5, 3):
        same(run(parameters(size), jnp.ones(size)), reference(parameters(size), jnp.ones(size)))


def test_results_of_64_bits() -> None:
    def function(x: Any) -> Any:
        return [x * k for k in range(COUNT)]

    run, reference = jit(function), jax.jit(function)
    with jax.enable_x64(True):
        x = jnp.arange(3) + 2**40
        wanted = reference(x)
        same(run(x), wanted)
    for _ in range(PAID):  # the program itself takes them also where JAX has 32 bits
        run.compiled(x)
    assert makers(run) == 1
    same(run.compiled(x), wanted)
    with jax.enable_x64(True):
        same(run(x), wanted)
    same(run(jnp.arange(3)), reference(jnp.arange(3)))


def test_results_may_be_donated_and_outlive_the_program() -> None:
    run = jit(update)
    params, x = parameters(), jnp.ones(3)
    until_paid(run, params, x)
    first, second = run(params, x), run(params, x)
    jax.jit(lambda x: jax.tree.map(lambda one: one * 2, x), donate_argnums=0)(first)
    executable = weakref.ref(run.compiled.executable)
    run.clear()
    gc.collect()
    assert executable() is None
    same(second, jax.jit(update)(params, x))


def test_a_call_while_jax_traces() -> None:
    run = jit(update)
    params, x = parameters(), jnp.ones(3)
    until_paid(run, params, x)
    program, wanted = run.compiled, jax.jit(update)(params, x)

    @jax.jit
    def traced(y: Any) -> Any:
        found = program(params, x)
        assert not any(isinstance(one, Tracer) for one in found.values())
        same(found, wanted)
        return y + found["6 float32"]

    traced(x)
    assert makers(run) == 1


def test_threads() -> None:
    run, wrong = jit(update), list[object]()

    def work(number: int) -> None:
        params, x = {f"{k}": jnp.full(3, number * k, jnp.float32) for k in range(COUNT)}, jnp.full(3, number, "f4")
        for step in range(PAID):
            for k, found in enumerate(run(params, x).values()):
                if np.asarray(found).tolist() != [number * (k + 1)] * 3:
                    wrong.append((number, step, k, found))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
    assert makers(run) == 1


def test_large_results_keep_our_memory() -> None:
    run = jit(update)
    params, x = {f"{k}": jnp.full(20_000, k, jnp.float32) for k in range(COUNT)}, jnp.ones(20_000)
    until_paid(run, params, x)
    assert makers(run) == 0


def test_programs_that_call_python_have_none() -> None:
    def function(x: Any) -> Any:
        found = jax.pure_callback(lambda x: x + 1, jax.ShapeDtypeStruct(x.shape, x.dtype), x)
        return [found * k for k in range(COUNT)]

    run = jit(function)
    for x in (np.ones(3, np.float32), jnp.ones(3)):
        until_paid(run, x)
        same(run(x), jax.jit(function)(x))
    assert makers(run) == 0


def fails_later(new_maker: Callable[..., Any]) -> Callable[..., Any]:
    def new(*args: Any) -> Callable[[], object]:
        maker, calls = new_maker(*args), list[int]()

        def fail() -> object:
            calls.append(1)
            if len(calls) > 3:
                raise RuntimeError("XLA has no memory")
            return maker()

        return fail

    return new


def elsewhere(new_maker: Callable[..., Any]) -> Callable[..., Any]:
    """XLA runs the call in another thread, where it fails, and returns arrays that nothing has filled."""

    def new(*args: Any) -> Callable[[], object]:
        maker = new_maker(*args)

        def run() -> None:
            with pytest.raises(jax.errors.JaxRuntimeError, match="found no call in this thread"):
                jax.block_until_ready(maker())

        def make() -> object:
            other = threading.Thread(target=run)
            other.start()
            other.join()
            return tuple([jnp.zeros(3)] * COUNT)

        return make

    return new


def refuses(new_maker: Callable[..., Any]) -> Callable[..., Any]:
    del new_maker

    def new(*args: Any) -> Callable[[], object]:
        raise NotImplementedError("no custom calls")

    return new


@pytest.mark.parametrize(
    ("wrapped", "why"),
    [(fails_later, None), (elsewhere, "in the thread that calls it"), (refuses, "no custom calls")],
    ids=["later", "another thread", "not at all"],
)
def test_where_xla_cannot_make_them(
    wrapped: Callable[..., Any], why: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "new_maker", wrapped(results.new_maker))
    run, reference = jit(update), jax.jit(update)
    params, x = parameters(), jnp.ones(3)
    until_paid(run, params, x)
    for _ in range(5):
        same(run(params, x), reference(params, x))
    assert makers(run) == 0
    assert ("XLA cannot make all at once" in run.compiled.explain()) == (why is not None)
    assert (why or "") in run.compiled.explain()


def test_an_interrupt_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupts = list[bool]()

    def new_maker(*args: Any) -> Callable[[], object]:
        maker = made(*args)

        def make() -> object:
            if interrupts:
                raise KeyboardInterrupt
            return maker()

        return make

    made = results.new_maker
    monkeypatch.setattr(results, "new_maker", new_maker)
    run, params, x = shlo_disc.jit(update), parameters(), jnp.ones(3)
    until_paid(run, params, x)
    interrupts.append(True)
    with pytest.raises(KeyboardInterrupt):
        run(params, x)
