"""Arrays of other libraries come in without a copy, and go out as they came."""

from __future__ import annotations

import gc
from dataclasses import replace
from importlib import import_module
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from shlo_disc.artifact import Argument, Result
from shlo_disc.diagnostics import ArgumentTypeError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.arguments import conform
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.interop import Array, as_numpy, dtype_of, jax_put, jax_types, kind_of, to_jax
from shlo_disc.runtime.memory import POOL
from tests.runtime.sample import SAMPLE, expected

pytestmark = pytest.mark.quick

jnp = pytest.importorskip("jax.numpy")
jax = pytest.importorskip("jax")


class OnlyDLPack:
    """An array of a library that nobody has heard of."""

    def __init__(self, array: Array, device: int = 1) -> None:
        self._array = array
        self._device = device

    def __dlpack__(self, **options: Any) -> object:
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._device, 0


X = np.arange(6, dtype=np.float32).reshape(2, 3)
W = np.ones(3, np.float32)


def address(array: Array) -> int:
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize(
    ("x", "weight"),
    [
        (jnp.asarray(X), jnp.asarray(W)),
        (jnp.asarray(X), W),
        (OnlyDLPack(X), OnlyDLPack(W)),
        (np.asfortranarray(X), W),
        (np.repeat(X, 2, axis=1)[:, ::2], np.repeat(W, 2)[::2]),
        (X[::-1][::-1], W),
        (np.frombuffer(b"\0" + X.tobytes(), np.uint8)[1:].view(np.float32).reshape(2, 3), W),
    ],
    ids=["jax", "mixed", "dlpack", "fortran", "strided", "view", "misaligned"],
)
def test_arrays_of_all_kinds_are_taken(x: object, weight: object, options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    for found, wanted in zip(run((x, weight)), expected(X, W), strict=True):
        np.testing.assert_allclose(found, wanted)


def test_kinds() -> None:
    assert kind_of(X) == kind_of(X[0, 0]) == "numpy"
    assert kind_of(jnp.asarray(X)) == "jax"
    assert kind_of(OnlyDLPack(X)) == "dlpack"
    assert kind_of(True) == kind_of(1.5) == kind_of(2j) == "scalar"
    assert kind_of([1, 2]) == "other"
    assert kind_of(jax.random.key(0)) == "traced"
    assert jax_types((X, jnp.asarray(W), 1)) == {type(jnp.asarray(W))}
    assert jax_types((X, 1)) == jax_types(()) == frozenset()


def test_memory_is_shared_on_the_way_in() -> None:
    array = jnp.asarray(X)
    assert address(as_numpy(array)) == array.unsafe_buffer_pointer()
    assert address(as_numpy(OnlyDLPack(X))) == address(X)
    assert as_numpy(X) is X


@pytest.mark.parametrize(
    "dtype", ["float32", "bool", "int8", "uint64", "int64", "float64", "complex64", "complex128",
              "float16", "bfloat16", "float8_e4m3fn"],
)  # fmt: skip
@pytest.mark.parametrize("shape", [(64, 25), (4, 5), (0, 3), ()])
def test_memory_is_shared_on_the_way_out(dtype: str, shape: tuple[int, ...]) -> None:
    size = int(np.prod(shape)) * dtype_of(dtype).itemsize
    array = POOL.shelf(size).array(shape, dtype_of(dtype))
    array[...] = 1 if dtype == "bool" else np.arange(array.size).reshape(shape).astype(array.dtype)
    (found,) = cast("Any", to_jax([array]))
    assert isinstance(found, jax.Array)
    assert found.dtype == array.dtype
    assert found.shape == shape
    assert not found.weak_type
    back = np.asarray(found)
    assert back.dtype == array.dtype
    assert back.tobytes() == array.tobytes()
    if size:
        assert found.unsafe_buffer_pointer() == address(array)


def test_a_result_that_jax_holds_is_not_overwritten(options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    x, weight = np.ones((30, 20), np.float32), np.ones(20, np.float32)
    held, _ = to_jax(run((x, weight)))
    views = [np.asarray(to_jax(run((x * k, weight)))[0])[3:] for k in range(2, 12)]  # a view keeps what it looks at
    gc.collect()
    np.testing.assert_array_equal(np.asarray(held), x)
    for k, view in enumerate(views, start=2):
        np.testing.assert_array_equal(view, x[3:] * k * k)


def test_without_the_call_of_jaxlib_device_put_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    array = POOL.shelf(8000).array((1000,), np.dtype(np.float64))
    array[...] = 2

    def without_jaxlib(name: str) -> object:
        return SimpleNamespace() if name.startswith("jaxlib") else import_module(name)

    monkeypatch.setattr("shlo_disc.runtime.interop.import_module", without_jaxlib)
    jax_put.cache_clear()
    try:
        (found,) = cast("Any", to_jax([array]))
    finally:
        jax_put.cache_clear()
    assert found.dtype == np.float64
    assert found.unsafe_buffer_pointer() == address(array)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e5m2"])
def test_types_that_numpy_lacks(name: str) -> None:
    dtype = dtype_of(name)
    artifact = replace(
        SAMPLE,
        arguments=(Argument("x", name, ("b",)),),
        results=(Result(name, ("b",)),),
        symbols=("b",),
        raw=((0, 0),),
    )
    values = np.arange(4).astype(dtype)
    for given in (values, jnp.asarray(values)):
        (found,) = conform(artifact, [dtype], [given])
        assert found.dtype is dtype
        np.testing.assert_array_equal(found.astype(np.float32), [0, 1, 2, 3])


SCALARS = {
    "float32": (1.5, 2),
    "int32": (2, -1),
    "bool": (True,),
    "complex64": (1j, 1.5, 2),
    "bfloat16": (1.5, 2),
    "float8_e4m3fn": (1.5, 2),
    "int4": (2, -8),
}


@pytest.mark.parametrize("name", SCALARS)
def test_numbers_are_taken_for_rank_0(name: str) -> None:
    artifact = replace(SAMPLE, arguments=(Argument("alpha", name, ()),), symbols=(), raw=())
    for value in SCALARS[name]:
        (found,) = conform(artifact, [dtype_of(name)], [value])
        assert found.shape == ()
        assert found.dtype == dtype_of(name)
        assert found == value


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("int32", 1.5, "alpha: found a Python float, expected int32"),
        ("float32", 1j, "alpha: found a Python complex, expected float32"),
        ("bool", 1, "alpha: found a Python int, expected bool"),
        ("float32", True, "alpha: found a Python bool, expected float32"),
        ("int8", 300, "alpha: found 300, expected a number that fits int8"),
        ("int4", 8, "alpha: found 8, expected a number that fits int4"),
        ("uint2", 1.0, "alpha: found a Python float, expected uint2"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(name: str, value: complex, message: str) -> None:
    artifact = replace(SAMPLE, arguments=(Argument("alpha", name, ()),), symbols=(), raw=())
    with pytest.raises(ArgumentTypeError) as caught:
        conform(artifact, [dtype_of(name)], [value])
    assert str(caught.value) == message


def test_an_array_on_another_device_is_refused(options: CompileOptions) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        build(SAMPLE, options)((OnlyDLPack(X, device=2), W))
    assert str(caught.value) == (
        "args[0]['x']: found an array on DLPack device type 2, expected one on the CPU (1)\n"
        "  help: copy it to the CPU first"
    )


def test_a_tracer_is_refused(options: CompileOptions) -> None:
    run = build(SAMPLE, options)

    def traced(x: object) -> Array:
        return run((x, W))[0]

    with pytest.raises(
        ArgumentTypeError,
        match=r"^args\[0\]\['x'\]: found .*Tracer, which .*, expected an array with a value\n  help: ",
    ):
        jax.jit(traced)(X)


def test_a_random_key_is_no_array() -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        as_numpy(jax.random.key(0))
    assert str(caught.value) == (
        "found PRNGKeyArray, expected an array with a value\n"
        "  help: take the data of a random key with jax.random.key_data"
    )


def test_a_masked_array_is_refused(options: CompileOptions) -> None:
    with pytest.raises(ArgumentTypeError) as caught:
        build(SAMPLE, options)((np.ma.masked_array(X, X > 2), W))
    assert str(caught.value) == (
        "args[0]['x']: found a masked array, expected a plain one\n"
        "  help: fill what is masked first, for example with .filled(0)"
    )
