# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Loops that replace many small arrays: XLA serves calls of sizes that come often, and all others are as before."""

from __future__ import annotations

import logging
import threading
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.jit.function import JitFunction
from tests.jit.comparing import jit, same

COUNT = 40
OFTEN = 500 + 100_000 // (2 * COUNT + 1) + 5  # calls after which XLA serves, and some more
SERVED = "XLA serves calls with shapes"


def step(params: dict[str, Any], x: Any) -> dict[str, Any]:
    """The first result has a weak type where the first array has one."""
    first = next(iter(params))
    found = {name: (value * 0.5 + x.sum()).astype(value.dtype) for name, value in params.items()}
    return {**found, first: params[first] * 0.5}


def parameters(dtype: Any = jnp.float32) -> dict[str, Any]:
    return {f"layer{k}": jnp.full((1 + k % 3,), k, dtype) for k in range(COUNT)}


@pytest.fixture(name="often", scope="module")
def _often() -> JitFunction:
    """A function of which XLA serves calls with three elements."""
    run, params, x = jit(step, donate_argnums=0), parameters(), jnp.ones(3)
    for size in (2, 3):
        run(parameters(), jnp.ones(size))
    logger, lines = logging.getLogger("shlo_disc"), list[str]()
    handler, before = logging.Handler(), logger.level
    handler.emit = lambda record: lines.append(record.getMessage())
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        for _ in range(OFTEN):
            params = run(params, x)
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before)
    assert sum(SERVED in line for line in lines) == 1, lines
    return run


def test_results_and_what_is_deleted(often: JitFunction) -> None:
    reference = jax.jit(step, donate_argnums=0)
    ours, theirs, x = parameters(), parameters(), jnp.arange(3.0)
    given = ours
    for _ in range(5):
        given, ours, theirs = ours, often(ours, x), reference(theirs, x)
        same(ours, theirs)
        assert all(one.is_deleted() for one in given.values())
    assert not x.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        often(given, x)


def test_transformations_get_what_can_be_transformed(often: JitFunction) -> None:
    x = jnp.arange(3.0)
    same(
        jax.grad(lambda x: often(parameters(), x)["layer1"].sum())(x),
        jax.grad(lambda x: step(parameters(), x)["layer1"].sum())(x),
    )
    rows = jnp.stack([x, 2 * x])
    same(jax.vmap(often, (None, 0))(parameters(), rows), jax.vmap(step, (None, 0))(parameters(), rows))
    same(jax.jit(lambda x: often(parameters(), x))(x), step(parameters(), x))


def test_several_threads(often: JitFunction) -> None:
    x, failed = jnp.arange(3.0), list[Exception]()
    wanted = step(parameters(), x)

    def work() -> None:
        try:
            for _ in range(20):
                same(often(parameters(), x), wanted)
        except Exception as error:  # noqa: BLE001  it is raised by the test
            failed.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not failed, failed


def test_other_sizes_types_and_pytrees(often: JitFunction) -> None:
    """The last test with this function: after a call of other types XLA does not serve its sizes any more."""
    x = jnp.arange(3.0)
    same(often(parameters(), x), step(parameters(), x))
    weak, weak_again = [{**parameters(), "layer0": jnp.asarray(2.0)[None]} for _ in range(2)]
    assert weak["layer0"].weak_type
    same(often(weak, x), jax.jit(step)(weak_again, x))
    for size in (1, 0, 7, 3):
        same(often(parameters(), jnp.ones(size)), step(parameters(), jnp.ones(size)))
    same(often(parameters(jnp.bfloat16), x), jax.jit(step)(parameters(jnp.bfloat16), x))
    fewer, fewer_again = [{"a": jnp.ones(3), "b": jnp.ones(2)} for _ in range(2)]
    same(often(fewer, x), jax.jit(step)(fewer_again, x))
    on_host = {name: np.asarray(one) for name, one in parameters().items()}
    same(often(on_host, np.arange(3, dtype=np.float32)), step(parameters(), x))
    with pytest.raises(TypeError):
        often({"a": "no array"}, x)


def test_large_arrays_stay_with_this_package(caplog: pytest.LogCaptureFixture) -> None:
    """XLA would copy each result into the memory of an array that is donated."""
    run, params, x = jit(step, donate_argnums=0), {f"{k}": jnp.ones(4096) for k in range(33)}, jnp.ones(3)
    with caplog.at_level(logging.INFO, "shlo_disc"):
        for _ in range(500 + 100_000 // 67 + 5):
            params = run(params, x)
    assert SERVED not in caplog.text
