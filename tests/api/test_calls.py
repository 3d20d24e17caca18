"""A compiled program is called like the exported function, with the arrays of any library."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import shlo_disc
from tests.api.programs import compiled, counted, dims, exported, spec

B, S = dims("b, s")
X = counted(2, 3)


class Pair(NamedTuple):
    left: Any
    right: Any


@jax.tree_util.register_dataclass
@dataclass
class Box:
    inside: Any
    label: str = field(default="box", metadata={"static": True})


def rearranged(d: dict[str, Any], pair: Pair, *, scale: Any) -> dict[str, Any]:
    return {"sum": d["x"] + d["deep"][0], "pair": Pair(pair.right, [pair.left * scale]), "none": None}


def test_pytrees_go_in_and_come_out() -> None:
    column = spec(S)
    run = compiled(rearranged, {"x": spec(B, S), "deep": (spec(B, S),)}, Pair(column, spec(B)), scale=spec())
    found = run({"deep": (X,), "x": X}, Pair(X[0], X[:, 0]), scale=2.0)
    assert list(found) == ["none", "pair", "sum"]
    assert found["none"] is None
    assert isinstance(found["pair"], Pair)
    np.testing.assert_array_equal(found["sum"], X + X)
    np.testing.assert_array_equal(found["pair"].left, X[:, 0])
    np.testing.assert_array_equal(found["pair"].right[0], X[0] * 2)


def test_dataclasses_go_in_and_come_out() -> None:
    run = compiled(lambda box: Box({"y": box.inside * 2}), Box(spec(B)))
    assert [one.name for one in run.executable.artifact.arguments] == ["args[0].inside"]
    found = run(Box(X[0]))
    assert isinstance(found, Box)
    np.testing.assert_array_equal(found.inside["y"], X[0] * 2)


def test_arguments_that_jax_dropped_are_still_passed() -> None:
    program = exported(lambda x, _unused, y: x - y, spec(3), spec(5), spec(3))
    assert program.module_kept_var_idx == (0, 2)
    found = shlo_disc.compile(program)(X[0], object(), X[1])
    np.testing.assert_array_equal(found, X[0] - X[1])


def test_a_function_of_nothing() -> None:
    np.testing.assert_array_equal(compiled(lambda: jnp.arange(3.0))(), [0, 1, 2])


def test_a_function_with_no_results() -> None:
    assert compiled(lambda _: (), spec(B))(X[0]) == ()


def test_numbers_are_taken_for_rank_0() -> None:
    run = compiled(lambda x, n, c: (x * 2, n + 1, ~c), spec(), spec(dtype=jnp.int32), spec(dtype=jnp.bool_))
    for x, n, c in ((1.5, 3, True), (np.float32(1.5), np.int32(3), np.bool_(True)), (jnp.float32(1.5), 3, True)):
        found = run(x, n, c)
        assert [one.shape for one in found] == [(), (), ()]
        assert [one.item() for one in found] == [3.0, 4, False]


class Mine(np.ndarray[tuple[int, ...], np.dtype[np.float32]]):
    """A subclass of NumPy's."""


class Torch:
    """A library of its own, whose arrays are had by DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)


def read_only(array: Any) -> Any:
    found = array.copy()
    found.flags.writeable = False
    return found


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "plain": np.array,
    "column-major": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "reversed": lambda x: x[::-1, ::-1].copy()[::-1, ::-1],
    "read-only": read_only,
    "subclass": lambda x: x.view(Mine),
    "dlpack": Torch,
    "read-only dlpack": lambda x: Torch(read_only(x)),
    "jax": jnp.asarray,
}


@pytest.fixture(scope="module")
def transposed() -> shlo_disc.Compiled:
    """x.T + 1 of any sizes, 0 among them."""
    b, s = dims("b, s")
    return compiled(lambda x: x.T + 1, spec(b - 1, s - 1))


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (0, 3), (2, 0), (0, 0)])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_all_layouts_and_libraries(
    layout: str, shape: tuple[int, int], transposed: shlo_disc.Compiled
) -> None:
    given = counted(*shape)
    found = transposed(LAYOUTS[layout](given))
    assert isinstance(found, jax.Array if layout == "jax" else np.ndarray)
    assert found.shape == shape[::-1]
    np.testing.assert_array_equal(np.asarray(found), given.T + 1)


def test_results_come_in_the_library_of_the_arguments() -> None:
    run = compiled(lambda x, y: (x + y, x - y), spec(B), spec(B))
    one, other = X[0], jnp.asarray(X[1])
    for arguments, kind in (((one, one), np.ndarray), ((other, other), jax.Array), ((one, other), jax.Array)):
        assert all(isinstance(result, kind) for result in run(*arguments))


@pytest.mark.parametrize(
    "dtype", [np.float64, np.int64, np.uint8, np.complex64, np.bool_, np.float16, ml_dtypes.bfloat16]
)
def test_dtypes_are_kept_also_where_x64_is_off(dtype: Any) -> None:
    with jax.enable_x64(True):
        run = compiled(lambda x: (x[::-1], x), spec(B, dtype=dtype))
    given = np.arange(3).astype(dtype)
    for found in run(given):
        assert isinstance(found, np.ndarray)
        assert found.dtype == dtype
    if np.dtype(dtype).itemsize < 8 or dtype == np.complex64:
        made = run(jnp.asarray(given))
        assert all(one.dtype == dtype and not one.weak_type for one in made)
        np.testing.assert_array_equal(np.asarray(made[0]), given[::-1])


def test_a_result_of_64_bits_stays_one_for_jax_where_x64_is_off() -> None:
    with jax.enable_x64(True):
        run = compiled(lambda x: x.astype(jnp.float64) / 3, spec(B))
    found = run(jnp.ones(500))
    assert found.dtype == np.float64
    np.testing.assert_array_equal(np.asarray(found), np.full(500, 1 / 3))


def test_jax_computes_on_with_results() -> None:
    run = compiled(lambda x: x * 2, spec(B))
    found = run(jnp.ones(700))
    assert not found.committed
    np.testing.assert_array_equal(jax.jit(lambda x: x + 1)(found), np.full(700, 3))
    overwritten = jax.jit(lambda x: x + 1, donate_argnums=0)(found)
    np.testing.assert_array_equal(overwritten, np.full(700, 3))
    np.testing.assert_array_equal(run(jnp.ones(700)), np.full(700, 2))


def test_nothing_that_was_returned_is_ever_rewritten() -> None:
    run = compiled(lambda x: (x, x * 2, x), spec(B))
    held: list[tuple[int, Any]] = []
    for number in range(1, 30):
        given = np.full(1000, number, np.float32)
        results = run(jnp.asarray(given) if number % 2 else given)
        held += [(number, results[number % 3]), (number, np.asarray(results[1])[5:])]
        del results
        if number % 10 == 0:
            gc.collect()
            held = held[::2]
    for number, result in held:
        assert set(np.asarray(result)) in ({number}, {2 * number})


def test_a_result_never_shares_memory_with_an_argument() -> None:
    run = compiled(lambda x: (x, x), spec(B))
    given = np.ones(1000, np.float32)
    first, second = run(given)
    given[:] = 5
    first[:] = 6
    assert set(second) == {1}


def test_a_program_of_text_takes_flat_arrays_and_returns_a_tuple() -> None:
    run = shlo_disc.compile(exported(lambda d: d["x"] + 1, {"x": spec(B)}).mlir_module())
    found = run(jnp.asarray(X[0]))
    assert isinstance(found, tuple)
    assert isinstance(found[0], jax.Array)
    np.testing.assert_array_equal(found[0], X[0] + 1)


def test_text_with_a_platform_takes_it_as_an_argument() -> None:
    program = exported(lambda x: x + 1, spec(B), platforms=("cuda", "cpu"))
    found = shlo_disc.compile(program.mlir_module())(1, X[0])
    np.testing.assert_array_equal(found[0], X[0] + 1)
