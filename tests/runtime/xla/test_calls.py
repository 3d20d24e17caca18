# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Compiled programs inside of functions that JAX traces return what they return outside."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.runtime.xla.primitive import call_in_trace
from tests.pipeline.exports import FAST, In, exported
from tests.runtime.xla.texts import CHAIN, LATE, PIECE, SIZES, SLICED, SUM, TRANSFORM, TWO, normal, program

DTYPES = {
    "f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i8": "int8", "ui8": "uint8",
    "i16": "int16", "ui16": "uint16", "i32": "int32", "ui32": "uint32", "i64": "int64", "ui64": "uint64",
    "complex<f32>": "complex64", "complex<f64>": "complex128", "f8E4M3FN": "float8_e4m3fn", "f8E5M2": "float8_e5m2",
    "f8E8M0FNU": "float8_e8m0fnu", "f8E3M4": "float8_e3m4", "f8E4M3": "float8_e4m3", "f8E5M2FNUZ": "float8_e5m2fnuz",
    "f8E4M3FNUZ": "float8_e4m3fnuz", "f8E4M3B11FNUZ": "float8_e4m3b11fnuz", "i4": "int4", "ui4": "uint4",
    "i2": "int2", "ui2": "uint2", "i1": "bool",
}  # fmt: skip


@pytest.mark.parametrize("size", SIZES)
def test_results_of_each_size(size: int) -> None:
    run = jax.jit(program(TWO).as_jax())
    for seed in range(3):
        x, y = normal(seed, size), normal(seed + 9, size)
        total, sum_ = run(x, y)
        np.testing.assert_array_equal(total, x + y)
        np.testing.assert_allclose(sum_, x.sum(), 1e-5, 1e-5)
        np.testing.assert_array_equal(sum_, program(TWO)(x, y)[1])


@pytest.mark.parametrize("name", DTYPES)
def test_results_of_each_type(name: str) -> None:
    """The same bits as outside."""
    run = program(SUM.format(name, "or" if name == "i1" else "add"))
    dtype = np.dtype(getattr(ml_dtypes, DTYPES[name], DTYPES[name]))
    rng = np.random.default_rng(len(name))
    with jax.enable_x64(True):
        least = 0 if name.startswith("ui") or name in {"i1", "f8E8M0FNU"} else -2
        for size in (0, 9):
            x, y = rng.integers(least, 4, size).astype(dtype), rng.integers(least, 3, size).astype(dtype)
            (wanted,), (found,) = run(x, y), jax.jit(run.as_jax())(x, y)
            assert found.dtype == dtype
            assert np.asarray(found).tobytes() == wanted.tobytes(), (x, y)


def test_matrices_and_temporaries() -> None:
    """At sizes whose temporaries lie in arenas, too, several of which are in use at once."""
    run = program(CHAIN)
    w = normal(0, 64, 64) / 8
    f = jax.jit(lambda *arrays: [run.as_jax()(a, w)[0] for a in arrays])
    arrays = [normal(k, size, 64) for k, size in enumerate((1, 8, 300, 9000, 127, 9000))]
    for found, a in zip(f(*arrays), arrays, strict=True):
        np.testing.assert_array_equal(found, run(a, w)[0])


def test_subnormal_numbers_stay() -> None:
    """XLA's threads flush them to zero, also where Python makes the call, and in threads that a program starts."""
    x = np.full(300_000, 1e-40, np.float32)
    for driver in ("c", "vm"):
        run = program(SUM.format("f32", "add"), CompileOptions(optimize=0, threads=2, driver=driver))
        (found,) = jax.jit(run.as_jax())(x, x)
        np.testing.assert_array_equal(np.asarray(found).view(np.int32), (x + x).view(np.int32))


def scanned(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return lax.scan(lambda c, _: (step(c, y)[0], step(c, y)[1]), x, None, length=4)


def looped(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return lax.while_loop(lambda c: jnp.max(c) < 20, lambda c: step(c, jnp.abs(y) + 1)[0], x)


def counted(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return lax.fori_loop(0, 3, lambda _, c: step(c, y)[0], x)


def branched(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    first = lax.cond(x[0] < 0, lambda: step(x, y)[0], lambda: y)
    return first, lax.switch(jnp.int32(x[0] > 0), [lambda: step(x, y)[0], lambda: step(y, y)[0]])


def nested(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return jax.jit(lambda a: jax.jit(step)(a, y))(jnp.sin(x))[0] + y, step(x, x)


def saved(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return jax.checkpoint(step)(x, y)


def mapped(step: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    return lax.map(lambda one: step(one[None], y[:1])[0], x)


@pytest.mark.parametrize("function", [scanned, looped, counted, branched, nested, saved, mapped])
def test_transformations(function: Callable[..., Any]) -> None:
    def plain(x: Any, y: Any) -> tuple[Any, Any]:
        return x + y, jnp.sum(x)

    step = program(TWO).as_jax()
    for seed in range(2):
        x, y = normal(seed, 7), normal(seed + 5, 7)
        found = jax.jit(lambda x, y: function(step, x, y))(x, y)
        wanted = function(plain, x, y)
        for ours, reference in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
            np.testing.assert_allclose(ours, reference, 1e-5, 1e-5)


@pytest.mark.quick
def test_shapes_without_a_run() -> None:
    run = program(TWO).as_jax()
    x = jax.ShapeDtypeStruct((9,), np.float32)
    assert [one.shape for one in jax.eval_shape(run, x, x)] == [(9,), ()]
    equations = jax.make_jaxpr(run)(x, x).eqns
    assert [one.primitive.name for one in equations] == ["shlo_disc_call"]
    text = jax.jit(run).lower(x, x).as_text()
    assert text.count("stablehlo.custom_call @shlo_disc_run") == 1
    assert "callback" not in text


def dense(params: dict[str, Any], x: Any, *, shift: Any) -> dict[str, Any]:
    return {"y": jnp.tanh(x @ params["w"]) + params["b"][0] + shift, "unused": (None, [params["b"][0]])}


def test_pytrees_keywords_and_bound_arguments() -> None:
    symbols = "n, 8"
    params = {"w": In("8, 8"), "b": [In("8")]}
    spec = jax.tree.map(lambda one: jax.ShapeDtypeStruct(tuple(map(int, one.shape.split(","))), one.dtype), params)
    (n,) = jax.export.symbolic_shape("n")
    export = jax.export.export(jax.jit(dense))(
        spec, jax.ShapeDtypeStruct((n, 8), np.float32), shift=jax.ShapeDtypeStruct((), np.float32)
    )
    run = shlo_disc.compile(export, device="cpu", options=FAST)
    weights = {"w": normal(1, 8, 8), "b": [normal(2, 8)]}
    bound = run.bind(weights)
    for size in (1, 7, 64):
        x = normal(size, size, 8)
        wanted = dense(weights, x, shift=np.float32(2))
        ways = {
            "whole": jax.jit(lambda p, x, s: run.as_jax()(p, x, shift=s))(weights, x, np.float32(2)),
            "a number": jax.jit(lambda p, x: run.as_jax()(p, x, shift=2.0))(weights, x),
            "bound": jax.jit(lambda x, s: bound.as_jax()(x, shift=s))(x, np.float32(2)),
            "eager": run.as_jax()(weights, x, shift=np.float32(2)),
            "eager and bound": bound.as_jax()(x, shift=np.float32(2)),
        }
        for way, found in ways.items():
            assert jax.tree.structure(found) == jax.tree.structure(wanted), way
            for ours, reference in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
                np.testing.assert_allclose(ours, reference, 1e-5, 1e-5, err_msg=f"{way}, {symbols}, {size}")


def test_rebinding_leaves_traced_functions_as_they_are() -> None:
    x, y, z = normal(0, 5), normal(1, 5), normal(2, 5)
    bound = program(TWO).bind(x)
    before = bound.as_jax()
    assert bound.as_jax() is before
    traced = jax.jit(before)
    np.testing.assert_array_equal(traced(y)[0], x + y)
    bound.rebind(z)
    np.testing.assert_array_equal(traced(y)[0], x + y)
    np.testing.assert_array_equal(before(y)[0], x + y)
    np.testing.assert_array_equal(jax.jit(bound.as_jax())(y)[0], z + y)


def test_bound_arguments_that_are_packed() -> None:
    run, w = program(CHAIN), normal(0, 64, 64) / 8
    whole = shlo_disc.compile(
        exported(lambda w, a: jnp.tanh(a @ w) @ w, (In("64, 64"), In("n, 64"))), device="cpu", options=FAST
    ).bind(w)
    assert whole.memory.packed > 0
    for size in (1, 9, 127):
        a = normal(size, size, 64)
        np.testing.assert_array_equal(jax.jit(whole.as_jax())(a), whole(a))
        np.testing.assert_array_equal(jax.jit(lambda a: run.as_jax()(a, w))(a)[0], run(a, w)[0])


@pytest.mark.quick
def test_the_flat_interface() -> None:
    """What other modules call: tracers, arrays of JAX and NumPy, also outside of a trace."""
    run, x, y = program(TWO).executable, normal(0, 7), normal(1, 7)
    for found in (call_in_trace(run, [x, y]), jax.jit(lambda x: call_in_trace(run, [x, y]))(x)):
        assert isinstance(found, list)
        assert all(isinstance(one, jax.Array) for one in found)
        np.testing.assert_array_equal(found[0], x + y)
    bound = program(TWO).bind(x).executable
    np.testing.assert_array_equal(jax.jit(lambda y: call_in_trace(bound, [y]))(y)[0], x + y)


def test_programs_without_arguments() -> None:
    text = """func.func @main() -> tensor<3xf32> {
  %0 = stablehlo.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
    (found,) = jax.jit(lambda: call_in_trace(program(text).executable, []))()
    np.testing.assert_array_equal(found, [1, 2, 3])


@pytest.mark.parametrize("name", ["transform", "vm", "traced", "sliced", "late"])
def test_calls_through_python(name: str) -> None:
    numbers = [np.array([k], np.int32) for k in (1, 5, 2)]
    cases: dict[str, tuple[str, CompileOptions, list[Any]]] = {
        "transform": (TRANSFORM, FAST, [normal(0, 3, 8).astype(np.complex64)]),
        "vm": (TWO, CompileOptions(optimize=0, driver="vm"), [normal(0, 9), normal(1, 9)]),
        "traced": (TWO, CompileOptions(optimize=0, trace_selection=True), [normal(0, 9), normal(1, 9)]),
        "sliced": (SLICED, FAST, [normal(0, 9), *numbers]),
        "late": (LATE, FAST, [np.array([3, 1, 2, 1, 0], np.float32)]),
    }
    text, options, arrays = cases[name]
    run = program(text, options)
    step = run.as_jax()
    wanted = run(*arrays)
    found = jax.jit(lambda *given: lax.scan(lambda c, _: (c, step(*given)), 0, None, length=3)[1])(*arrays)
    for ours, reference in zip(found, wanted, strict=True):
        assert ours.dtype == reference.dtype
        for one in ours:
            np.testing.assert_array_equal(one, reference)
    assert "inside of jax.jit calls go through Python" in run.explain()
    assert "inside of jax.jit" not in program(TWO).explain()


def test_sizes_that_are_bound_need_no_python() -> None:
    """Where the elements that are sizes are bound, the results have known shapes."""
    x = normal(0, 9)
    run = program(SLICED)
    numbers = [np.array([k], np.int32) for k in (1, 5, 2)]
    assert "callback" in jax.jit(run.as_jax()).lower(x, *numbers).as_text()
    bound = run.bind(x, *numbers)
    assert "callback" not in jax.jit(bound.as_jax()).lower().as_text()
    np.testing.assert_array_equal(jax.jit(bound.as_jax())()[0], run(x, *numbers)[0])
    piece = program(PIECE).bind(x, *numbers)
    np.testing.assert_array_equal(jax.jit(piece.as_jax())()[0], x[1:5:2])
