# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false
"""Functions of `shlo_disc.jit` inside of JAX's traces, in each other, on several devices, and in several threads."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

import shlo_disc
from tests.conftest import ROOT, SEED
from tests.pipeline.exports import FAST, check

RNG = np.random.default_rng(SEED)
X, W = RNG.standard_normal((4, 3)).astype(np.float32), RNG.standard_normal((3, 3)).astype(np.float32)


def jit(function: Any, **options: Any) -> Any:
    return shlo_disc.jit(function, options=FAST, **options)


def same(found: Any, wanted: Any) -> None:
    assert jax.tree.structure(found) == jax.tree.structure(wanted)
    pairs = [[np.asarray(x) for x in jax.tree.leaves(one)] for one in (found, wanted)]
    check(pairs[0], pairs[1], "", 4.0, 1.0)


def with_both(build: Callable[[Any], Any]) -> None:
    """What is built of functions of `shlo_disc.jit` is what is built of those of `jax.jit`."""
    same(build(jit), build(jax.jit))


# --- functions in functions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "outer",
    [
        lambda inner: jax.grad(lambda w: inner(w).sum())(W),
        lambda inner: jax.jit(inner)(W),
        lambda inner: jax.vmap(inner)(np.stack([W, W + 1])),
        lambda inner: jax.jvp(inner, (W,), (W,)),
        lambda inner: jax.hessian(lambda w: inner(w).sum())(W),
        lambda inner: lax.scan(lambda c, w: (c + inner(w).sum(), inner(w)), jnp.float32(0), np.stack([W, W + 1])),
        lambda inner: jax.jit(jax.grad(lambda w: inner(w).sum()))(W),
        lambda inner: jax.checkpoint(inner)(W),
    ],
    ids=["grad", "jit", "vmap", "jvp", "hessian", "scan", "jit of grad", "checkpoint"],
)
def test_functions_that_close_over_what_is_traced(outer: Callable[[Any], Any]) -> None:
    with_both(lambda make: outer(lambda w: make(lambda x: jnp.tanh(x @ w))(X)))


@pytest.mark.quick
def test_a_function_is_inlined_in_another_one() -> None:
    inner = jit(lambda x, w: jnp.tanh(x @ w))
    outer = jit(lambda x, w: inner(inner(x, w), w).sum(1))
    for n in (3, 5, 1, 0):
        x = RNG.standard_normal((n, 3)).astype(np.float32)
        same(outer(x, W), jnp.tanh(jnp.tanh(x @ W) @ W).sum(1))
    assert (inner.report().compilations, outer.report().compilations) == (0, 2)
    same(jax.grad(lambda w: outer(X, w).sum())(W), jax.grad(lambda w: jnp.tanh(jnp.tanh(X @ w) @ w).sum())(W))
    assert inner.report().compilations == 0


def test_results_of_one_function_go_into_the_next() -> None:
    def chain(make: Any) -> Any:
        first, second = make(lambda x: jnp.sin(x) * 2), make(lambda x, y: (x * y).sum(0))
        return jax.value_and_grad(lambda x: second(first(x), first(x + 1)).sum())(X)

    with_both(chain)


def test_recursion_of_derivatives() -> None:
    def build(make: Any) -> Any:
        run = make(lambda x: jnp.sin(x) * x * x)
        for _ in range(3):
            run = jax.grad(run)
        return run(jnp.float32(0.7)), jax.vmap(run)(X[0])

    with_both(build)


def test_second_derivatives_of_all_kinds() -> None:
    def build(make: Any) -> Any:
        run = make(lambda x, w: jnp.tanh(x @ w).sum())
        vector = np.ones_like(W)
        return (
            jax.hessian(run)(X[0], W),
            jax.jacrev(jax.jacfwd(run, 1), 1)(X[:1], W),
            jax.jacfwd(jax.jacfwd(run))(X[0], W),
            jax.jvp(jax.grad(lambda w: run(X, w)), (W,), (vector,)),
            jax.grad(lambda w: (jax.grad(run, 1)(X, w) * vector).sum())(W),
        )

    with_both(build)


def test_batches_of_derivatives_and_of_batches() -> None:
    def build(make: Any) -> Any:
        run = make(lambda x, w: jnp.tanh(x @ w).sum())
        each = jax.vmap(jax.grad(run, 1), (0, None))
        every = jax.vmap(jax.vmap(run, (None, 0)), (0, None))
        ws = np.stack([W, W + 1, W * 2])
        return (
            each(X, W),
            jax.jit(each)(X[:1], W),
            every(X, ws),
            jax.vmap(every, (0, None))(X[None], ws),
            each(X[:0], W),
        )

    with_both(build)


@pytest.mark.parametrize("axes", [(0, 1), (2, 0), (-1, -2), (None, 0), (1, None)])
@pytest.mark.parametrize("out", [0, 1, -1])
def test_batches_along_any_axis(axes: Any, out: int) -> None:
    x = RNG.standard_normal((3, 3, 3)).astype(np.float32)
    run = jit(lambda x, y: jnp.sin(x) @ y + x.sum(0))
    args = [x[0] if axis is None else x for axis in axes]
    same(jax.vmap(run, axes, out)(*args), jax.vmap(lambda x, y: jnp.sin(x) @ y + x.sum(0), axes, out)(*args))


@pytest.mark.quick
def test_integer_results_and_arguments_have_no_derivative() -> None:
    def build(make: Any) -> Any:
        run = make(lambda n, x: ((x * n).sum(), jnp.argmax(x), x > 0))
        n = np.arange(3)
        whole, moved = jax.jvp(lambda x: run(n, x), (X,), (X,))
        of_both = jax.grad(lambda n, x: run(n, x)[0], (0, 1), allow_int=True)(n, X)
        assert of_both[0].dtype == moved[1].dtype == jax.dtypes.float0
        return whole, moved[0], of_both[1], jax.grad(lambda x: run(n, x)[0])(X)

    with_both(build)


def test_arguments_that_are_not_used_and_results_that_are_arguments() -> None:
    def build(make: Any) -> Any:
        run = make(lambda x, y, _: (x, y * 2, jnp.float32(3), {"y": y}))
        found, backward = jax.vjp(lambda x, y: run(x, y, X), X, W)
        return found, backward(jax.tree.map(jnp.ones_like, found)), jax.jvp(run, (X, W, X), (X, W, X))

    with_both(build)


def test_residuals_are_arguments_where_they_can_be() -> None:
    """The product's residuals are its arguments: the forward pass returns nothing else."""
    run = jit(lambda x, w: x @ w, shapes="n 3, 3 3")
    jax.grad(lambda w: run(X, w).sum())(W)
    forward = next(what for what, _ in run.report().compiled if what.startswith("forward pass"))
    assert forward == "forward pass of <lambda> for [n, 3], [3, 3]"
    swapped = jit(lambda x, y: (y * x, x - y, x * x * y))
    both = [RNG.standard_normal((4, 3)).astype(np.float32) for _ in range(2)]
    found = jax.grad(lambda x, y: sum(r.sum() for r in swapped(x, y)), (0, 1))(*both)
    same(found, (both[1] + 1 + 2 * both[0] * both[1], both[0] - 1 + both[0] ** 2))


@pytest.mark.quick
def test_derivatives_are_compiled_once_for_all_sizes() -> None:
    run = jit(lambda x, w: jnp.tanh(x @ w).sum(), shapes="n 3, 3 3")
    gradient = jax.jit(jax.grad(run, 1))
    for n in (3, 5, 1, 0, 17):
        x = RNG.standard_normal((n, 3)).astype(np.float32)
        same(gradient(x, W), jax.grad(lambda w, x=x: jnp.tanh(x @ w).sum())(W))
        same(jax.vmap(run, (0, None))(x[:, None], W), jnp.tanh(x @ W).sum(1))
    names = sorted(what.partition(" for ")[0] for what, _ in run.report().compiled)
    assert names == ["batch of <lambda>", "forward pass of <lambda>", "transpose of derivative of <lambda>"]


def test_loops_call_one_program() -> None:
    run = jit(lambda x, w: jnp.tanh(x @ w), shapes="n 3, 3 3")

    @jax.jit
    def train(x: Any, w: Any) -> Any:
        def step(w: Any, _: Any) -> Any:
            value, slope = jax.value_and_grad(lambda w: (run(x, w) ** 2).mean())(w)
            return w - slope, value

        return lax.scan(step, w, None, length=5)

    def wanted(x: Any, w: Any) -> Any:
        values = list[Any]()
        for _ in range(5):
            value, slope = jax.value_and_grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w)
            w = w - slope
            values.append(value)
        return w, jnp.stack(values)

    for n in (4, 1, 6):
        x = RNG.standard_normal((n, 3)).astype(np.float32)
        same(train(x, W), wanted(x, W))
    assert run.report().compilations == 2


# --- other users of JAX's traces --------------------------------------------------------------------------------------


def test_named_axes_of_vmap() -> None:
    def function(x: Any) -> Any:
        return x - lax.pmean(x, "batch") + lax.axis_index("batch")

    run = jit(function)
    for _ in range(2):
        same(jax.vmap(run, axis_name="batch")(X), jax.vmap(function, axis_name="batch")(X))
        same(jax.vmap(run, axis_name="batch")(X[:2]), jax.vmap(function, axis_name="batch")(X[:2]))
    with pytest.raises(NameError, match="batch"):
        run(X)


def test_exports_with_symbolic_sizes_contain_the_function() -> None:
    run = jit(lambda x: jnp.tanh(x).sum(1))
    run(X)
    spec = jax.ShapeDtypeStruct(export.symbolic_shape("n, 3"), jnp.float32)
    exported = export.export(jax.jit(lambda x: run(x) * 2))(spec)
    same(exported.call(X[:2]), jnp.tanh(X[:2]).sum(1) * 2)
    assert run.report().compilations == 1
    same(shlo_disc.compile(exported)(X), np.tanh(X).sum(1) * 2)


def test_abstract_values_compile_nothing() -> None:
    run = jit(lambda x: {"y": jnp.tanh(x).sum(1), "n": x.shape[0]})
    found = jax.eval_shape(run, jax.ShapeDtypeStruct((5, 3), jnp.float32))
    assert found["y"] == jax.ShapeDtypeStruct((5,), jnp.float32)
    assert "shlo_disc_jit" in str(jax.make_jaxpr(run)(X))
    assert "shlo_disc_jit" in str(jax.make_jaxpr(jax.grad(lambda x: run(x)["y"].sum()))(X))
    assert run.report().compilations == 0


TWO_DEVICES = """
    import jax, jax.numpy as jnp, numpy as np, shlo_disc
    from jax.sharding import NamedSharding, PartitionSpec as P

    assert len(jax.devices()) == 2
    first, second = (jax.make_mesh((2,), (name,), (jax.sharding.AxisType.Auto,)) for name in ("a", "b"))
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    function = lambda x: jnp.sin(x) * 2
    total = lambda x: jax.lax.psum(jnp.sin(x).sum(0), "a")
    run, new, summed = shlo_disc.jit(function), shlo_disc.jit(lambda x: jnp.sin(x) * 2), shlo_disc.jit(total)
    for mesh, name in ((first, "a"), (second, "b"), (first, "a")):
        placed = jax.device_put(x, NamedSharding(mesh, P(name)))
        np.testing.assert_allclose(run(placed), np.sin(x) * 2, rtol=1e-6)
        np.testing.assert_allclose(jax.jit(run)(placed), np.sin(x) * 2, rtol=1e-6)
        mapped = jax.shard_map(run, mesh=mesh, in_specs=P(name), out_specs=P(name))
        np.testing.assert_allclose(jax.jit(mapped)(placed), np.sin(x) * 2, rtol=1e-6)
        with jax.set_mesh(mesh):
            np.testing.assert_allclose(run(x), np.sin(x) * 2, rtol=1e-6)
            np.testing.assert_allclose(jax.grad(lambda x: new(x).sum())(x), np.cos(x) * 2, rtol=1e-5)
        slope = jax.grad(lambda x: mapped(x).sum())(placed)
        np.testing.assert_allclose(slope, np.cos(x) * 2, rtol=1e-5)
    mapped = jax.shard_map(summed, mesh=first, in_specs=P("a"), out_specs=P())
    np.testing.assert_allclose(jax.jit(mapped)(x), np.sin(x).sum(0), rtol=1e-5)
    print("done", run.report().compilations)
"""


def test_two_devices_and_two_meshes() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", textwrap.dedent(TWO_DEVICES)],
        cwd=ROOT, env={**os.environ, "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.stdout.startswith("done"), done.stderr[-3000:]


# --- threads ----------------------------------------------------------------------------------------------------------


def test_threads_get_the_bits_that_one_gets() -> None:
    def function(x: Any, w: Any) -> Any:
        return jnp.tanh(x @ w).sum(1)

    sizes = (3, 5, 1, 0, 8, 17, 2, 9)
    draws = [RNG.standard_normal((n, 3)).astype(np.float32) for n in sizes]
    alone, run = jit(function), jit(function)
    wanted = {n: (np.asarray(alone(x, W)), np.asarray(jax.grad(lambda w, x=x: alone(x, w).sum())(W)))
              for n, x in zip(sizes, draws, strict=True)}  # fmt: skip
    start, errors = threading.Barrier(4), list[BaseException]()

    def work(number: int) -> None:
        try:
            start.wait()
            for k in range(3 * len(sizes)):
                place = (number * 3 + k) % len(sizes)
                n, x = sizes[place], draws[place]
                np.testing.assert_array_equal(np.asarray(run(x, W)), wanted[n][0])
                if k % 8 == 0:
                    found = jax.grad(lambda w, x=x: run(x, w).sum())(W)
                    np.testing.assert_array_equal(np.asarray(found), wanted[n][1])
        except BaseException as error:  # noqa: BLE001  of any kind, for the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []
    assert run.report().signatures == len(sizes)
    assert len(run.report().variants) <= 3


def test_threads_with_other_configurations() -> None:
    """One thread computes with 64 bits while another one does not."""
    run, errors = jit(lambda x: x.astype(float) / 3), list[BaseException]()
    start, x = threading.Barrier(2), X[0]

    def work(wide: bool) -> None:
        try:
            start.wait()
            for _ in range(200):
                with jax.enable_x64(wide):
                    assert run(x).dtype == (np.float64 if wide else np.float32)
        except BaseException as error:  # noqa: BLE001  of any kind, for the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(wide,)) for wide in (False, True)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert errors == []
