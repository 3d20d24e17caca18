"""JAX arrays that a program gets again and again are read once, and stay as right and as free as all others.

`weakref.getweakrefcount` tells whether an array is remembered: that is the one reference that a program keeps.
"""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import gc
import resource
import threading
import weakref
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import ArgumentTypeError, RuntimeShapeError
from shlo_disc.options import CompileOptions
from tests.runtime.sample import DOUBLE

SUM = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>, %z: tensor<?xf32>) -> tensor<?xf32> {
  %a = stablehlo.add %x, %y : tensor<?xf32>
  %b = stablehlo.subtract %a, %z : tensor<?xf32>
  return %b : tensor<?xf32>
}
"""
CALLS = 6  # after which an array is remembered, if it is in all of them and the one before it was worthwhile
WORTHWHILE = 80  # calls that make it so


def array(*values: float) -> Any:
    return jnp.asarray(np.array(values, np.float32))


def is_remembered(x: Any) -> bool:
    return weakref.getweakrefcount(x) > 0


def remember(run: Any, *arrays: Any) -> None:
    for _ in range(WORTHWHILE):
        run(*arrays)
    assert all(is_remembered(one) for one in arrays)


@pytest.fixture
def double(options: CompileOptions) -> Any:
    return shlo_disc.compile(DOUBLE, options=options)


@pytest.fixture
def add(options: CompileOptions) -> Any:
    return shlo_disc.compile(SUM, options=options)


@pytest.mark.parametrize("size", [0, 1, 2, 17])
def test_results_stay_the_same(double: Any, size: int) -> None:
    x = jnp.asarray(np.arange(size, dtype=np.float32))
    for _ in range(2 * CALLS):
        np.testing.assert_array_equal(np.asarray(double(x)[0]), 2 * np.arange(size, dtype=np.float32))


def test_one_object_may_be_several_arguments(add: Any) -> None:
    x, y = array(1, 2), array(10, 20)
    remember(add, x, y, x)
    np.testing.assert_array_equal(np.asarray(add(x, y, x)[0]), [10, 20])
    np.testing.assert_array_equal(np.asarray(add(y, x, x)[0]), [10, 20])
    np.testing.assert_array_equal(np.asarray(add(x, x, y)[0]), [-8, -16])


def test_another_array_in_the_middle(add: Any) -> None:
    x, y, z = array(1, 2), array(10, 20), array(0, 0)
    remember(add, x, y, z)
    for value in range(2 * CALLS):
        other = array(value, -value)
        np.testing.assert_array_equal(np.asarray(add(x, other, z)[0]), [1 + value, 2 - value])
        np.testing.assert_array_equal(np.asarray(add(x, y, z)[0]), [11, 22])


def test_an_array_of_another_type_or_size_in_the_middle(add: Any) -> None:
    x, y = array(1, 2), array(10, 20)
    remember(add, x, y, x)
    with pytest.raises(ArgumentTypeError, match="found dtype int32"):
        add(x, jnp.asarray([10, 20]), x)
    with pytest.raises(RuntimeShapeError):
        add(x, array(1, 2, 3), x)
    np.testing.assert_array_equal(np.asarray(add(*[array(1, 2, 3)] * 3)[0]), [1, 2, 3])
    np.testing.assert_array_equal(np.asarray(add(x, y, x)[0]), [10, 20])
    np.testing.assert_array_equal(np.asarray(add(x, np.array([5, 5], np.float32), x)[0]), [5, 5])


def test_new_arrays_at_old_addresses(double: Any) -> None:
    """An array that dies leaves its address to the next one, which is another array."""
    addresses = set[int]()
    for value in range(50):
        x = array(value)
        addresses.add(id(x))
        for _ in range(value % (CALLS + 2)):
            np.testing.assert_array_equal(np.asarray(double(x)[0]), [2 * value])
        del x
    assert len(addresses) < 50


def test_deleted_arrays_are_refused(add: Any) -> None:
    x, y, z = array(1, 2), array(10, 20), array(0, 0)
    remember(add, x, y, z)
    y.delete()
    for _ in range(2):
        with pytest.raises(RuntimeError, match="deleted"):
            add(x, y, z)
    np.testing.assert_array_equal(np.asarray(add(x, x, z)[0]), [2, 4])


def test_arrays_may_be_donated_to_jax(add: Any) -> None:
    """JAX may refuse to take the memory of an array that is remembered: then the array lives on."""
    x, y, z = array(1, 2), array(10, 20), array(0, 0)
    remember(add, x, y, z)
    grown = jax.jit(lambda x: x + 1, donate_argnums=0)(y)
    if y.is_deleted():
        with pytest.raises(RuntimeError, match="deleted"):
            add(x, y, z)
    else:
        np.testing.assert_array_equal(np.asarray(add(x, y, z)[0]), [11, 22])
    np.testing.assert_array_equal(np.asarray(add(x, grown, z)[0]), [12, 23])


def test_the_memory_of_large_arrays_is_jax_s_alone(double: Any) -> None:
    x = jnp.ones(300_000, jnp.float32)
    address = x.unsafe_buffer_pointer()
    for _ in range(10 * CALLS):
        double(x)
    assert not is_remembered(x)
    grown = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
    assert x.is_deleted()
    assert grown.unsafe_buffer_pointer() == address
    with pytest.raises(RuntimeError, match="deleted"):
        double(x)


def test_arrays_die_with_their_memory(double: Any) -> None:
    def call(count: int) -> int:
        for _ in range(count):
            x = jnp.zeros(250_000, jnp.float32)
            remember(double, x)
            alive = weakref.ref(x)
            del x
            assert alive() is None
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = call(3)
    assert call(200) - before < 50_000  # KiB; the memory of all of them is 200 MB


def test_a_program_that_dies_forgets(options: CompileOptions) -> None:
    run = shlo_disc.compile(DOUBLE, options=options)
    x = array(1)
    remember(run, x)
    del run
    gc.collect()
    assert not is_remembered(x)
    np.testing.assert_array_equal(np.asarray(x), [1])


def test_no_reference_is_lost(double: Any) -> None:
    def used() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def call(count: int) -> None:
        for value in range(count):
            x = array(value)
            for _ in range(WORTHWHILE):
                double(x)
            double(array(0))

    call(100)
    before = used()
    call(3000)
    assert used() - before < 20_000  # KiB


def test_what_rarely_comes_again_is_not_remembered_each_time(double: Any) -> None:
    """Remembering takes longer than reading: the more often it was in vain, the longer a program waits."""
    arrays = [array(value) for value in range(30)]
    for x in arrays:
        for _ in range(CALLS):
            double(x)
    assert not is_remembered(arrays[-1])
    for _ in range(5000):
        double(arrays[-1])
    assert is_remembered(arrays[-1])


def test_an_array_may_be_deleted_while_a_call_reads_it(options: CompileOptions) -> None:
    """Its memory is not used for anything else before the call ends."""
    (n,) = jax.export.symbolic_shape("n")
    spec = jax.ShapeDtypeStruct((n,), np.float32)

    def slow(x: Any) -> Any:
        return jax.lax.fori_loop(0, 100, lambda _, y: y * 0.5 + x, jnp.zeros_like(x))

    run = shlo_disc.compile(jax.export.export(jax.jit(slow))(spec), options=options)
    for _ in range(3):
        x = jnp.full(200_000, 2, jnp.float32)
        remember(run, x)
        found = list[Any]()
        caller = threading.Thread(target=lambda x=x, found=found: found.append(np.asarray(run(x))))
        caller.start()
        x.delete()
        others = [jnp.full(200_000, 7, jnp.float32).block_until_ready() for _ in range(20)]
        caller.join()
        del others
        for one in found:  # none if it was deleted before the call began
            np.testing.assert_allclose(one, 4)


def test_threads_with_arrays_of_their_own(add: Any) -> None:
    wrong = list[object]()

    def work(number: int) -> None:
        x, y = array(number, 0), array(1, 1)
        for step in range(2000):
            z = array(step, number) if step % 50 < 5 else y
            found = np.asarray(add(x, y, z)[0])
            expected = np.array([number, 0]) + 1 - ([step, number] if z is not y else [1, 1])
            if found.tolist() != expected.tolist():
                wrong.append((number, step, found))
            if step % 100 == 99:
                x.delete()
                x = array(number, 0)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert not wrong
