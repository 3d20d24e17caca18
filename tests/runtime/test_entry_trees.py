"""Pytrees and arrays of JAX are taken in one call into C, and given back."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.pytrees import read_tree
from tests.runtime.sample import DOUBLE


@pytest.mark.parametrize(
    ("example", "leaves"),
    [
        (0, (0,)),
        ((0, [1, {"a": 2}], None, ()), (0, 1, 2)),
        ({"b": 1, "a": 0}, (1, 0)),
        ((0, 1.5), None),
        (frozenset({0}), None),
        (True, None),
    ],
)
def test_pytrees_are_read(example: object, leaves: tuple[int, ...] | None) -> None:
    tree = read_tree(example)
    assert (None if tree is None else tree.leaves) == leaves


def test_pytrees_are_served() -> None:
    jax = pytest.importorskip("jax")
    export: Any = pytest.importorskip("jax.export")
    (n,) = export.symbolic_shape("n")
    one = jax.ShapeDtypeStruct((n,), np.float32)

    def model(p: Any, x: Any, _unused: Any) -> Any:
        first, (second, nothing) = p["layers"]
        assert nothing is None
        return {"z": [x + first["w"], ()], "a": (second * x,), "n": None}

    tree = {"layers": [{"w": one}, (one, None)], "a": one}
    run = shlo_disc.compile(export.export(jax.jit(model))(tree, one, one))
    w, v, x = (np.full(3, k, np.float32) for k in (1, 2, 3))

    def params(**changed: Any) -> dict[str, Any]:
        return {"layers": [{"w": w}, (v, None)], "a": "not looked at", **changed}

    for _ in range(2):
        found = run(params(a=x), x, x)
        assert jax.tree.structure(found) == jax.tree.structure({"z": [x, ()], "a": (x,), "n": None})
        np.testing.assert_array_equal(found["z"][0], x + w)
        np.testing.assert_array_equal(found["a"][0], v * x)
    calls = run.stats.calls
    for bad in (
        params(layers=[{"w": w}, [v, None]]),
        params(layers=[{"v": w}, (v, None)]),
        params(layers=[{"w": w, "b": w}, (v, None)]),
        params(layers=[{"w": w}, (v, v)]),
        params(layers=[{"w": w}]),
        {"layers": [{"w": w}, (v, None)]},
        [1],
    ):
        with pytest.raises(ArgumentTypeError, match=r"another structure|found a \w+ of \d, expected a"):
            run(bad, x, x)
    with pytest.raises(RuntimeShapeError):
        run(params(a=x), x[:2], x)
    assert run.stats.calls == calls
    with pytest.raises(ArgumentTypeError, match="found the keyword argument _unused"):
        run(params(a=x), x, _unused=x)


def test_arrays_of_jax(options: CompileOptions) -> None:
    jnp = pytest.importorskip("jax.numpy")
    run = shlo_disc.compile(DOUBLE, options=options)
    x = np.arange(5, dtype=np.float32)
    for _ in range(3):
        (found,) = run(jnp.asarray(x))
        assert isinstance(found, type(jnp.asarray(x)))
        np.testing.assert_array_equal(np.asarray(found), x + x)
        (found,) = run(x)
        assert type(found) is np.ndarray
    calls, deleted = run.stats.calls, jnp.asarray(x)
    deleted.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        run(deleted)
    with pytest.raises(ArgumentTypeError, match="found dtype int32"):
        run(jnp.arange(5))
    assert run.stats.calls == calls


def test_arrays_of_jax_are_let_go(options: CompileOptions) -> None:
    jnp = pytest.importorskip("jax.numpy")
    run = shlo_disc.compile(DOUBLE, options=options)
    for _ in range(3):
        x = jnp.ones(4)
        alive = weakref.ref(x)
        run(x)
        del x
        assert alive() is None


@pytest.mark.parametrize(
    "dtype",
    ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "bfloat16", "float32", "complex64"],
)
def test_arrays_of_jax_of_each_type(dtype: str, options: CompileOptions) -> None:
    jnp = pytest.importorskip("jax.numpy")
    short = {"bool": "i1", "bfloat16": "bf16", "complex64": "complex<f32>"}
    kind = short.get(dtype, dtype.replace("uint", "ui").replace("int", "i").replace("float", "f").replace("uii", "ui"))
    text = f"func.func @main(%x: tensor<?x{kind}>) -> tensor<?x{kind}> {{\n return %x : tensor<?x{kind}>\n}}\n"
    run = shlo_disc.compile(text, options=options)
    x = jnp.asarray([0, 1, 1, 0]).astype(dtype)
    for _ in range(3):
        (found,) = run(x)
        assert found.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(found), np.asarray(x))


def test_bound_arrays_of_jax_give_such(options: CompileOptions) -> None:
    jnp = pytest.importorskip("jax.numpy")
    text = DOUBLE.replace("%x: tensor<?xf32>", "%w: tensor<?xf32>, %x: tensor<?xf32>")
    bound = shlo_disc.compile(text, options=options).bind(jnp.ones(2))
    for _ in range(3):
        (found,) = bound(np.ones(2, np.float32))
        assert isinstance(found, type(jnp.ones(2)))
    executable = bound.executable
    assert isinstance(executable, CpuExecutable)
    assert executable.entry is not None
    served = executable.entry.tree((0,), (0,), (0,))
    assert served is not None
    assert served(np.ones(2, np.float32)) is not NotImplemented


def test_an_array_that_jax_still_computes_is_waited_for(options: CompileOptions) -> None:
    jax, jnp = pytest.importorskip("jax"), pytest.importorskip("jax.numpy")
    run = shlo_disc.compile(DOUBLE, options=options)

    @jax.jit
    def slow(m: Any) -> Any:
        return jnp.linalg.matrix_power(m, 60)[0]

    m = jnp.eye(500) * 1.01
    run(slow(m))
    for _ in range(5):
        np.testing.assert_allclose(np.asarray(run(slow(m))[0]), 2 * np.asarray(slow(m)))


def test_keys_that_cannot_be_compared() -> None:
    jax = pytest.importorskip("jax")
    export: Any = pytest.importorskip("jax.export")
    (n,) = export.symbolic_shape("n")
    one = jax.ShapeDtypeStruct((n,), np.float32)

    def model(p: Any) -> Any:
        return p["w"] + 1

    run = shlo_disc.compile(export.export(jax.jit(model))({"w": one}))
    x = np.ones(3, np.float32)

    class Key:
        def __hash__(self) -> int:
            return hash("w")

        def __eq__(self, other: object) -> bool:
            raise LookupError

    run({"w": x})
    with pytest.raises((LookupError, ArgumentTypeError)):
        run({Key(): x})
    np.testing.assert_array_equal(run({"w": x}), x + 1)
