"""Reductions to few results: all threads take part, the bits do not depend on how many there are, XLA is the oracle."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cpu.cooperative_reduction import ENOUGH_STRIPS, GRAIN, LoopLaunch, cooperating
from shlo_disc.lower_cpu.rows import FIXED_SEAMS, extent
from tests.pipeline.exports import BF16, F16, FAST, Array, In, between, by_jax, check, exported, flat, infinite, special
from tests.pipeline.programs import planned

pytestmark = pytest.mark.slow

P = GRAIN.points
LENGTHS = tuple({"n": n} for n in (1, 2, 17, P - 1, P, P + 1, 2 * P + 1, 40009))
TABLES = tuple(
    {"b": b, "s": s} for b, s in ((1, 1), (1, 40009), (P + 1, 1), (1021, 64), (20011, 3), (5, 1100), (601, 83))
)


def affine(a: Any, b: Any) -> Any:
    """Compositions of maps `i -> p*i + q`: associative, but not commutative."""

    def after(x: tuple[Any, Any], y: tuple[Any, Any]) -> tuple[Any, Any]:
        return x[0] * y[0], x[1] * y[0] + y[1]

    return lax.reduce((a, b), (np.int32(1), np.int32(0)), after, tuple(range(a.ndim)))


def folded(function: Any, init: Any, dims: tuple[int, ...] = (0,)) -> Callable[[Any], Any]:
    return lambda x: lax.reduce(x, np.asarray(init, x.dtype), function, dims)


def channels(x: Any) -> Any:
    return (x - x.mean((0, 2), keepdims=True)) / jnp.sqrt(x.var((0, 2), keepdims=True) + 1e-5)


def standardized(x: Any) -> Any:
    return (x - x.mean()) / x.std(), jnp.abs(x).max()


def over_ones(x: Any) -> Any:
    """A reduction of one element between two of all."""
    top = lax.reduce(jnp.tanh(x.max(initial=0))[None, None], np.float32(-1), lax.max, (0, 1))
    return top, jnp.exp(x - top).sum()


@dataclass(frozen=True, slots=True)
class Case:
    function: Callable[..., Any]
    inputs: tuple[In, ...]
    sizes: tuple[Mapping[str, int], ...] = LENGTHS
    scale: float = 2.0


N, M = In("n"), In("b, s")
CASES: dict[str, Case] = {
    "sum": Case(lambda x: x.sum(), (N,)),
    "sum of none": Case(lambda x: (x.sum(), x.max(initial=-3), (x + 1).prod()), (In("n - 1"),), ({"n": 1}, {"n": 2})),
    "special values": Case(lambda x: x.sum(), (In("n", draw=special),)),
    "infinities": Case(lambda x: (x.max(), x.min()), (In("n", draw=infinite),)),
    "product": Case(lambda x: x.prod(), (In("n", np.int32, between(1, 3)),)),
    "parity": Case(folded(lax.bitwise_xor, 0), (In("n", np.uint8),)),
    "bits": Case(lambda x: (folded(lax.bitwise_and, -1)(x), folded(lax.bitwise_or, 0)(x)), (In("n", np.int8),)),
    "any, all": Case(lambda x: (x.any(), x.all()), (In("n", np.bool_),)),
    "bf16": Case(lambda x: (x.sum(), x.max()), (In("n", BF16),)),
    "f16": Case(lambda x: (x * x).mean(), (In("n", F16),)),
    "complex": Case(lambda x: x.sum(), (In("n", np.complex64),)),
    "argmax, argmin": Case(lambda x: (jnp.argmax(x), jnp.argmin(x)), (In("n", draw=special),)),
    "maps": Case(affine, (In("n", np.int32), In("n", np.int32))),
    "maps of a table": Case(lambda x: affine(x.T, x.T + 1), (In("b, s", np.int32),), TABLES),
    "softmax": Case(jax.nn.softmax, (N,)),
    "one element in between": Case(over_ones, (M,), TABLES),
    "one row": Case(lambda x: (x - x.mean(1, keepdims=True)) * jax.nn.softmax(x, 1), (In("1, n"),), LENGTHS, 20),
    "standardized": Case(standardized, (M,), TABLES, 20),
    "squared error": Case(lambda x, y: ((x - y) ** 2).mean(), (M, M), TABLES),
    "columns": Case(lambda x: (x.sum(0), x.max(0)), (M,), TABLES),
    "three columns": Case(lambda x: (x * 2).sum(0), (In("n, 3"),)),
    "a column": Case(lambda x: x.sum(0), (In("n, 1"),)),
    "argmax of columns": Case(lambda x: jnp.argmax(x, 0), (M,), TABLES),
    "channels": Case(channels, (In("b, 3, s"),), TABLES, 20),
    "both ends": Case(lambda x: (x.sum((0, 2)), x.min((0, 2))), (In("b, 5, s"),), TABLES),
    "beside a broadcast": Case(lambda x, y: (x * y).sum(), (In("b, s, 2"), In("b, 1, 2")), TABLES),
    "columns of a join": Case(lambda x, y: jnp.concatenate([x, y * 2], 1).sum(0), (M, In("b, 7")), TABLES),
    "a sum behind a seam": Case(lambda x, y: jnp.concatenate([x, y * 2]).sum(), (N, In("7"))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_any_number_of_threads_gives_what_xla_gives(name: str) -> None:
    case = CASES[name]
    program = exported(case.function, case.inputs)
    runs = [shlo_disc.compile(program, options=replace(FAST, threads=threads)) for threads in (1, 2, 3)]
    for sizes in case.sizes:
        rng = np.random.default_rng([*sizes.values()])
        arrays = [i.array(rng, sizes) for i in case.inputs]
        one, *others = (flat(run, arrays) for run in runs)
        check(one, by_jax(case.function, arrays), f"{name} at {sizes}", case.scale, inside=1)
        for found in others:
            for ours, alone in zip(found, one, strict=True):
                np.testing.assert_array_equal(bits(ours), bits(alone), f"{name} at {sizes}")


def test_an_initial_value_that_is_not_the_identity_counts_once() -> None:
    """NumPy is the oracle: XLA leaves it out for one element, and takes it several times for many."""

    def function(x: Any) -> Any:
        return folded(lax.add, 1000)(x), folded(lax.bitwise_xor, 5)(x), folded(lambda a, b: a - b * 0 + b, 7)(x)

    run = shlo_disc.compile(exported(function, [In("n", np.int32)]), options=replace(FAST, threads=2))
    for sizes in LENGTHS:
        x = np.arange(sizes["n"], dtype=np.int32) % 101
        wanted = [x.sum() + 1000, np.bitwise_xor.reduce(x) ^ 5, x.sum() + 7]
        assert [int(found) for found in flat(run, [x])] == wanted, sizes


def test_the_extremes_of_numbers_with_nan_are_nan() -> None:
    """NumPy is the oracle: XLA's CPU backend may lose a NaN."""
    run = shlo_disc.compile(exported(lambda x: (x.max(), x.min()), [N]), options=replace(FAST, threads=2))
    for place in (0, P - 1, P, 2 * P):
        x = np.zeros(2 * P + 1, np.float32)
        x[place] = np.nan
        assert np.isnan(flat(run, [x])).all(), place
        assert not np.isnan(flat(run, [np.delete(x, place)])).any(), place


def bits(x: Array) -> Array:
    return np.frombuffer(x.tobytes(), np.uint8)


def loops(function: Callable[..., Any], *inputs: In) -> Iterator[LoopLaunch]:
    found = planned(function, *inputs)
    for group in found.plan.groups:
        shared = cooperating(build_row_kernel(group, found.program.facts, found.producers, FIXED_SEAMS)[0], 1)
        yield from shared.loops if shared else ()


def test_parts_are_pieces_of_work() -> None:
    first, join = loops(lambda x: x.sum(), M)
    points = dict.fromkeys(extent(first.kernel).symbols(), 1000)
    assert extent(first.kernel).evaluate(points) == -(-1000_000 // P)
    assert extent(join.kernel).evaluate(points) == 1


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (lambda x: x.sum(), (In("128, 128"),)),
        (lambda x: x.sum(0), (In(f"b, {64 * ENOUGH_STRIPS}"),)),
        (lambda x: x.sum(1), (M,)),
        (jnp.tanh, (M,)),
    ],
    ids=["small", "many columns", "rows", "a map"],
)
def test_what_is_small_or_shared_already_stays_one_loop(function: Callable[..., Any], inputs: tuple[In, ...]) -> None:
    assert list(loops(function, *inputs)) == []
