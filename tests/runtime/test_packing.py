"""Operands that are packed once: when a program is loaded, when arguments are bound, or before a loop."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.host_ir import Launch
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.steps import leaves
from tests.api.programs import dims, exported, spec
from tests.nearness import product

Floats = NDArray[np.float32]
B, D, S = dims("b, d, s")
DRIVERS = ("c", "vm")
ROWS = (1, 2, 7, 12, 13, 64, 200)


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Any:
    return np.random.default_rng([*shape, seed]).standard_normal(shape, np.float32).astype(dtype)


def compiled(function: Callable[..., Any], *specs: Any, driver: Any = "c", threads: int | None = None) -> Any:
    options = CompileOptions(driver=driver, threads=threads)
    return shlo_disc.compile(exported(function, *specs), device="cpu", options=options)


def packed_bytes(depth: int, columns: int) -> int:
    """Of f32: whole panels of 64 columns."""
    return 4 * depth * (-(-columns // 64) * 64)


def seen(run: Any, *inputs: Any) -> list[Mapping[int, int]]:
    """For each launch of a call on the VM, the sizes of the buffers that are there, by slot."""
    found = list[Mapping[int, int]]()

    def observe(step: object, buffers: Any) -> None:
        if isinstance(step, Launch):
            found.append({slot: buffers.address(slot) for slot in step.buffers})

    run.executable.trace(inputs, observe)
    return found


PROGRAMS: dict[str, Callable[[Any, Any], Any]] = {
    "plain": lambda w, x: x @ w,
    "transposed": lambda w, x: x @ w.T,
    "sliced": lambda w, x: x[:, :30] @ w[5:65:2, 3:],
    "reshaped": lambda w, x: jnp.einsum("bk,khd->bhd", x, w.reshape(70, 7, 10)),
    "with an epilogue": lambda w, x: jnp.tanh(x @ w + 1),
    "computed": lambda w, x: x @ (jnp.exp(w) * 0.25).T,
    "of a computed left": lambda w, x: jnp.tanh(x) @ w,
    "a vector": lambda w, x: w.T @ x[0],
    "twice": lambda w, x: (x @ w) @ w,
    "both ways": lambda w, x: (x @ w) @ w.T,
    "and read": lambda w, x: x @ w + w[0],
    "on both sides": lambda w, x: (w @ w)[: x.shape[0] // x.shape[0]] + x[:1],
}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("name", list(PROGRAMS))
def test_bound_weights_give_what_jax_does(name: str, driver: Any) -> None:
    function, w = PROGRAMS[name], numbers(70, 70) / 8
    run = compiled(function, spec(70, 70), spec(B, 70), driver=driver)
    bound = run.bind(w)
    for rows in ROWS:
        x = numbers(rows, 70)
        wanted = np.asarray(jax.jit(function)(w, x))
        np.testing.assert_allclose(run(w, x), wanted, rtol=2e-4, atol=2e-5)
        np.testing.assert_allclose(bound(x), wanted, rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize(("depth", "columns"), [(0, 70), (1, 22), (1, 64), (17, 63), (64, 65), (257, 127), (512, 301)])
def test_sizes_of_packed_weights(depth: int, columns: int) -> None:
    run = compiled(lambda w, x: x @ w, spec(depth, columns), spec(B, depth))
    w = numbers(depth, columns)
    bound = run.bind(w)
    assert bound.memory.packed == packed_bytes(depth, columns)
    for rows in (1, 5, 16, 201):
        x = numbers(rows, depth)
        product(x, w).check(bound(x))


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf, -0.0])
def test_special_values_stay_in_their_columns(special: float) -> None:
    run, w, x = compiled(lambda w, x: x @ w, spec(9, 70), spec(B, 9)), numbers(9, 70), np.abs(numbers(3, 9))
    w[4, 69] = w[8, 0] = special
    np.testing.assert_allclose(run.bind(w)(x), x @ w, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "depth"), [("float64", 33), ("float16", 33), ("bfloat16", 34), ("int8", 36), ("int16", 34), ("int32", 33)]
)
def test_weights_of_all_types_are_packed_in_their_own_width(dtype: str, depth: int) -> None:
    """Whole panels of 64 columns, and as many depths as come in one piece."""
    kind = jnp.dtype(dtype)
    with jax.enable_x64(True):
        program = exported(lambda w, x: x @ w, spec(33, 66, dtype=kind), spec(B, 33, dtype=kind))
    w, x = (4 * numbers(33, 66)).astype(kind), (4 * numbers(5, 33)).astype(kind)
    bound = shlo_disc.compile(program, device="cpu").bind(w)
    product(x, w).check(bound(x))
    assert bound.memory.packed == depth * 128 * kind.itemsize
    assert bound.memory.dropped == ("args[0]",)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8"])
def test_narrow_constants_are_packed_when_a_program_is_loaded(dtype: str) -> None:
    kind = jnp.dtype(dtype)
    w = (4 * numbers(200, 130)).astype(kind)
    run = compiled(lambda x: x @ w, spec(B, 200, dtype=kind))
    assert len(run.executable.artifact.packings) == 1
    for rows in (1, 5, 40):
        x = (4 * numbers(rows, 200)).astype(kind)
        product(x, w).check(run(x))


def test_what_is_read_as_it_is_stays_and_all_else_is_dropped() -> None:
    run = compiled(lambda w, v, b, x: (x @ w) @ v + b + v[0], spec(70, 80), spec(80, 90), spec(90), spec(B, 70))
    given = numbers(70, 80), numbers(80, 90), numbers(90)
    bound = run.bind(*given)
    memory = bound.memory
    assert memory.dropped == ("args[0]",)
    assert memory.given == sum(array.nbytes for array in given)
    assert memory.kept == given[1].nbytes + given[2].nbytes
    assert memory.packed == packed_bytes(70, 80) + packed_bytes(80, 90)
    assert "packed args[1]: 40960 bytes" in bound.explain()
    alive = [weakref.ref(array) for array in given]
    del given
    assert [one() is None for one in alive] == [True, False, False]


def test_a_weight_is_packed_once_for_all_who_read_it_alike() -> None:
    run = compiled(lambda w, x, y: (x @ w, jnp.tanh(y @ w)), spec(70, 70), spec(B, 70), spec(S, 70))
    assert run.bind(numbers(70, 70)).memory.packed == packed_bytes(70, 70)


def test_narrow_weights_are_not_packed() -> None:
    run = compiled(lambda w, x: x @ w, spec(300, 8), spec(B, 300))
    bound = run.bind(numbers(300, 8))
    assert bound.memory.packed == 0
    product(numbers(3, 300), numbers(300, 8)).check(bound(numbers(3, 300)))


def test_weights_of_symbolic_sizes_are_packed_when_these_are_bound() -> None:
    run = compiled(lambda w, x: x @ w, spec(D, S), spec(B, D))
    for depth, columns in ((1, 1), (7, 64), (65, 100)):
        bound = run.bind(numbers(depth, columns))
        assert bound.memory.packed == packed_bytes(depth, columns)
        x = numbers(3, depth)
        product(x, numbers(depth, columns)).check(bound(x))


def test_a_donated_weight_is_not_packed() -> None:
    program = exported(lambda w, x: (w * 2, x @ w), spec(70, 70), spec(B, 70))
    run = shlo_disc.compile(program, device="cpu", donate=(0,))
    assert not run.executable.artifact.packings
    doubled, multiplied = run(numbers(70, 70), numbers(3, 70))
    np.testing.assert_array_equal(doubled, 2 * numbers(70, 70))
    product(numbers(3, 70), numbers(70, 70)).check(multiplied)


@pytest.mark.parametrize("driver", DRIVERS)
def test_large_constants_are_packed_when_a_program_is_loaded(driver: Any) -> None:
    w = numbers(200, 130)
    run = compiled(lambda x: jnp.tanh(x @ w) @ w.T, spec(B, 200), driver=driver)
    artifact = run.executable.artifact
    assert len(artifact.packings) == 2
    for x in (numbers(rows, 200) for rows in ROWS):
        product(product(x, w).tanh(), w.T).check(run(x))
    slots = [packing.buffers[-1] for packing in artifact.packings]
    there = [at for launch in seen(run, numbers(3, 200)) for slot, at in launch.items() if slot in slots]
    assert len(there) == 2
    assert all(there)
    np.testing.assert_array_equal(run.bind(numbers(3, 200))(), run(numbers(3, 200)))


def test_threads_share_the_panels() -> None:
    w, x = numbers(300, 2000), numbers(4, 300)
    one, two = (compiled(lambda w, x: x @ w, spec(300, 2000), spec(B, 300), threads=count) for count in (1, 2))
    np.testing.assert_array_equal(one.bind(w)(x), two.bind(w)(x))


def looped(w: Any, v: Any, x: Any) -> Any:
    """`w` and what is made of it stay as they are in all turns, `v` in the turns of the inner loop.

    What is read by columns that are adjacent is not packed before a loop.
    """
    made = jnp.sin(w)

    def turn(carried: Any) -> Any:
        k, v, x = carried
        inner = lambda one: (one[0] + 1, jnp.tanh(one[1] @ v.T + one[1] @ w.T + one[1] @ w))  # noqa: E731
        _, y = jax.lax.while_loop(lambda one: one[0] < 2, inner, (0, x))
        return k + 1, v * 0.5, y @ made.T

    return jax.lax.while_loop(lambda one: one[0] < 3, turn, (0, v, x))[2]


@pytest.mark.parametrize("driver", DRIVERS)
def test_what_a_loop_only_reads_is_packed_before_it(driver: Any) -> None:
    run = compiled(looped, spec(70, 70), spec(70, 70), spec(B, 70), driver=driver)
    w, v = numbers(70, 70) / 8, numbers(70, 70, seed=1) / 8
    for rows in ROWS:
        x = numbers(rows, 70)
        wanted = np.asarray(jax.jit(looped)(w, v, x))
        np.testing.assert_allclose(run(w, v, x), wanted, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(run.bind(w)(v, x), wanted, rtol=1e-4, atol=1e-5)
        assert run.peak_memory(b=rows) == run.executable.arena_bytes((w, v, x))
    assert run.peak_memory(b=13) - run.peak_memory(b=12) > 3 * packed_bytes(70, 70)


def test_with_few_rows_a_loop_packs_nothing_and_with_more_once() -> None:
    run = compiled(looped, spec(70, 70), spec(70, 70), spec(B, 70))
    artifact = run.executable.artifact
    made = [k for k, buffer in enumerate(artifact.buffers) if buffer.packed is not None]
    assert len(made) == 3
    packing = {step.kernel for step in artifact.packings}
    names = [step.kernel for step in leaves(artifact.steps) if isinstance(step, Launch)]
    assert sum(name in packing or name.startswith("pack") for name in names) == 3
    for rows, some in ((12, False), (13, True)):
        launches = seen(run, numbers(70, 70), numbers(70, 70), numbers(rows, 70))
        there = {slot: bool(at) for launch in launches for slot, at in launch.items() if slot in made}
        assert there == dict.fromkeys(made, some)


def test_what_is_bound_is_not_packed_again_for_a_loop() -> None:
    run = compiled(looped, spec(70, 70), spec(70, 70), spec(B, 70))
    artifact = run.executable.artifact
    packed = {packing.buffers[-1]: number for number, packing in enumerate(artifact.packings)}
    (of_w,) = (k for k, b in enumerate(artifact.buffers) if b.packed in packed)
    bound = run.bind(numbers(70, 70))
    assert bound.memory.packed == 2 * packed_bytes(70, 70)
    launches = seen(bound, numbers(70, 70), numbers(13, 70))
    memory = bound.executable.binding.packed[packed[artifact.buffers[of_w].packed]].ctypes.data
    assert {launch[of_w] for launch in launches if of_w in launch} == {memory}
