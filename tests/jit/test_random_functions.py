# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false, reportUnknownParameterType=false, reportMissingTypeArgument=false
"""Random functions, called at a stream of sizes: results and gradients are those that `jax.jit` has at each size.

The functions are made of the fuzzer's steps, and of steps that ask their sizes for a relation, as functions of users
do. Such a step computes something else where the relation does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

import shlo_disc
from shlo_disc.check.comparing import Tolerance, compare
from shlo_disc.check.generate.choices import Choices, RandomChoices, pick
from shlo_disc.check.generate.jax_steps import STEPS, Step, Traced
from shlo_disc.check.rounding import perturbed_runs
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.conftest import SEED
from tests.pipeline.exports import FAST, Array, by_jax, check

FEW, MANY = 3, 25
SPACING = 1000  # between the seeds of two values of SHLO_DISC_SEED
ATTEMPTS = 40  # steps that are tried until enough of them fit
MOST_RANK, MOST_ELEMENTS = 3, 1 << 13
PROBE = {"a": 5, "b": 7}
PRIMES = (2, 3, 5, 7, 11, 13)
Sizes = tuple[int, int]  # of the axes a and b


# --- steps that ask for sizes ---------------------------------------------------------------------------------------


def _axes(c: Choices, values: Sequence[Traced]) -> tuple[Traced, Traced, Traced]:
    """The last value, and two sizes: of the first argument, and of that or the last value."""
    x, first = next(x for x in values if x.ndim), values[-1]
    return x, pick(c, first.shape), pick(c, first.shape + x.shape)


def compared(c: Choices, values: Sequence[Traced]) -> Traced:
    """Another function on the other side of a number, or for the larger of two sizes."""
    x, n, m = _axes(c, values)
    bound = pick(c, (6, 4, 2, 1, m))
    holds = pick(c, (lambda: n > bound, lambda: n < bound, lambda: n >= bound, lambda: not n <= bound))
    return jnp.sin(x) if holds() else 2 * x


def equal(c: Choices, values: Sequence[Traced]) -> Traced:
    """Another function where two sizes are equal, or one is a number."""
    x, n, m = _axes(c, values)
    other = pick(c, (m, 1, m, 3, 4, 0, 2 * m))
    holds = pick(c, (lambda: n == other, lambda: n in (other, 4), lambda: x.shape[:1] == (other,)))
    return x + 3 if holds() else jnp.tanh(x)


def divisible(c: Choices, values: Sequence[Traced]) -> Traced:
    """A shape that fits only where a size is divisible, else another one."""
    x, n, _ = _axes(c, values)
    by = pick(c, (2, 3, 4))
    kind = c.below(3)
    if kind == 0:
        return x * (2 if n % by == 0 else 3)
    if kind == 1 and x.size % by == 0:
        return x.reshape(-1, by).sum(1)
    if kind == 2:
        try:
            return x.reshape(by, -1) * 2
        except TypeError:
            return x - 1
    return x * jnp.cos(x)


def computed(c: Choices, values: Sequence[Traced]) -> Traced:
    """A size as a number of the function."""
    x, n, m = _axes(c, values)
    return pick(c, (
        lambda: x * n, lambda: x + m, lambda: x / (n + 1), lambda: x * max(n, 4), lambda: x + n // 2 - m % 3,
        lambda: x * jnp.arange(x.shape[-1], dtype=x.dtype), lambda: x * jnp.linspace(0, 1, x.shape[-1] + 1)[1:],
    ))()  # fmt: skip


def pinned(c: Choices, values: Sequence[Traced]) -> Traced:
    """A size that JAX cannot trace as a symbol."""
    x, n, _ = _axes(c, values)
    return pick(c, (
        lambda: x * int(n), lambda: x * len(str(n)), lambda: x * {3: 2.0, 5: 7.0}.get(n, 9.0),
        lambda: sum(x[k] * k for k in range(x.shape[0])) + x,
    ))()  # fmt: skip


def fitting(c: Choices, values: Sequence[Traced]) -> Traced:
    """Values joined where their sizes are equal, or where one of them is 1."""
    x = next(x for x in values if x.ndim)
    y = next((y for y in values[1 + c.below(2) :] if y.shape == x.shape), None)
    if y is not None:
        return pick(c, (lambda: x - y, lambda: jnp.concatenate([x, y]), lambda: lax.max(x, 2 * y)))()
    return jnp.squeeze(x, 0) if x.shape[0] == 1 else x.sum(0)


RELATIONS: Sequence[Step] = (
    equal, compared, divisible, equal, computed, equal, fitting, equal, compared, divisible, equal, pinned,
)  # fmt: skip


# --- functions ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Drawn:
    """A function: the shapes of its arguments by axes and numbers, and steps, each with the seed of its decisions."""

    shapes: tuple[tuple[str | int, ...], ...]
    steps: tuple[tuple[Step, int], ...]
    results: int

    def __call__(self, *arrays: Traced) -> tuple[Traced, ...]:
        values = list(arrays[::-1])
        for step, seed in self.steps:
            values.insert(0, step(RandomChoices(seed), values))
        return tuple(values[: self.results])

    def loss(self, *arrays: Traced) -> Traced:
        return _loss(self(*arrays))

    def arrays(self, sizes: Sizes) -> list[Array]:
        """Arguments at these sizes."""
        rng = np.random.default_rng([SEED, *sizes])
        shapes = self.shapes_at(dict(zip("ab", sizes, strict=True)))
        return [rng.standard_normal(shape).astype(np.float32) for shape in shapes]

    def shapes_at(self, sizes: dict[str, int]) -> list[tuple[int, ...]]:
        return [tuple([sizes[n] if isinstance(n, str) else n for n in shape]) for shape in self.shapes]

    def __str__(self) -> str:
        return f"shapes {self.shapes}, steps {[(step.__name__, seed) for step, seed in self.steps]}"


def _loss(results: Sequence[Traced]) -> Traced:
    return sum(jnp.sum(jnp.sin(y)) for y in results)


def drawn(seed: int) -> Drawn:
    """The function of a seed. Its steps are those of many that JAX accepts at some sizes."""
    c, kept = RandomChoices(seed), list[tuple[Step, int]]()
    shapes = [tuple([pick(c, ("a", "b", 4)) for _ in range(pick(c, (2, 1, 2)))]) for _ in range(c.below(2))]
    shapes.insert(0, pick(c, (("a", "b"), ("b", "a"), ("a", "b", 3), ("a", 4, "b"))))
    count = 3 + c.below(2)

    def probe(*arrays: Traced) -> tuple[Traced, ...]:
        values = list(arrays[::-1])
        for number in range(ATTEMPTS):
            step = pick(c, STEPS if len(kept) % 2 else RELATIONS)
            made = _attempt(step, seed * ATTEMPTS + number, values)
            if made is not None and len(kept) < count:
                kept.append((step, seed * ATTEMPTS + number))
                values.insert(0, made)
        return tuple(values)

    found = Drawn(tuple(shapes), (), 1 + c.below(2))
    jax.eval_shape(probe, *[jax.ShapeDtypeStruct(shape, jnp.float32) for shape in found.shapes_at(PROBE)])
    return Drawn(found.shapes, tuple(kept), found.results)


def _attempt(step: Step, seed: int, values: Sequence[Traced]) -> Traced | None:
    try:
        made = step(RandomChoices(seed), values)
    except Exception:  # noqa: BLE001  JAX raises errors of many types
        return None
    usable = made.ndim <= MOST_RANK and made.size <= MOST_ELEMENTS and jnp.issubdtype(made.dtype, jnp.floating)
    return made if usable else None


def stream(seed: int) -> list[Sizes]:
    """Pairs of sizes: different primes, which teach which sizes vary, then others, in any order."""
    random = Random(seed)
    primes, same, some = random.sample(PRIMES, 6), random.choice((2, 3, 4, 5, 8)), random.choice((3, 4, 5))
    others = [
        (1, primes[4]), (primes[5], 1), (same, same), (some, 2 * some), (2 * same, some),
        (random.choice((4, 6, 8, 12)), random.choice((9, 10, 16))),
        random.choice(((0, primes[2]), (primes[2], 0), (0, 0), (1, 1))),
    ]  # fmt: skip
    return [(primes[0], primes[1]), (primes[2], primes[3]), *random.sample(others, 5)]


# --- what is compared -----------------------------------------------------------------------------------------------


def outcome(call: Callable[[], Sequence[Any]]) -> list[Array] | Exception:
    try:
        return [np.asarray(one) for one in call()]
    except Exception as error:  # noqa: BLE001  of what type, the function decides
        return error


def agree(
    found: Sequence[Array], wanted: Sequence[Array], function: Callable[..., Any], arrays: Sequence[Array]
) -> str:
    """How results differ from those of `jax.jit`, more than rounding explains; "" if they do not."""
    try:
        check(found, wanted, "at these sizes", 1.0, 1.0)
    except AssertionError as error:
        if [(x.shape, x.dtype) for x in found] != [(x.shape, x.dtype) for x in wanted]:
            return str(error)
    else:
        return ""
    # Errors of single steps may grow: legal runs of the very program say how far.
    text = export.export(jax.jit(function, keep_unused=True))(*arrays).mlir_module()
    program = legalize(parse_module(text, "function.mlir"))

    def samples(result: int, numbers: range) -> list[Array]:
        return [run[result] for run in perturbed_runs(program, arrays, numbers, "compiled")]

    return str(compare(found, interpret(program, arrays), samples, Tolerance(), frozenset()) or "")


def compare_call(ours: Callable[..., Any], theirs: Callable[..., Any], arrays: Sequence[Array], what: str) -> None:
    """Where `jax.jit` raises an error, ours does."""
    wanted, found = outcome(lambda: by_jax(theirs, arrays)), outcome(lambda: ours(*arrays))
    if isinstance(wanted, Exception):
        assert isinstance(found, Exception), f"{what}: jax.jit raises {wanted!r}"
        return
    assert not isinstance(found, Exception), f"{what}: {found!r}"
    assert not (wrong := agree(found, wanted, theirs, arrays)), f"{what}: {wrong}"


def served(seed: int, *, gradients: int) -> None:
    """Compare each call of a stream with `jax.jit`, and the gradient at some of its sizes."""
    function = drawn(seed)
    run = shlo_disc.jit(function.__call__, options=FAST)
    where = f"{function}; again: SHLO_DISC_SEED={seed // SPACING}, function {seed % SPACING}"

    def gradient(of: Callable[..., Any]) -> Callable[..., Any]:
        return jax.grad(lambda *arrays: _loss(of(*arrays)), tuple(range(len(function.shapes))))

    for number, sizes in enumerate(stream(seed)):
        arrays = function.arrays(sizes)
        pairs = [(run, function.__call__)]
        if number in range(2, 2 + gradients):
            pairs.append((gradient(run), gradient(function)))
        for ours, theirs in pairs:
            what = f"{'gradient' if ours is not run else 'result'} at {sizes} of {where}"
            compare_call(ours, theirs, arrays, what)


@pytest.mark.parametrize("number", range(FEW))
def test_calls_at_many_sizes_agree_with_jax(number: int) -> None:
    served(SEED * SPACING + number, gradients=1)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(FEW, FEW + MANY))
def test_calls_of_more_functions_agree_with_jax(number: int) -> None:
    served(SEED * SPACING + number, gradients=3)
