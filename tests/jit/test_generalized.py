# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Functions that JAX traces at given sizes only: one program, and each new shape is traced and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import shlo_disc
from shlo_disc.jit.generalized import generalization
from tests.jit.test_learning import arrays, served, shapes_of
from tests.pipeline.exports import FAST, check

SIZES = [(6,), (11,), (16,), (7,), (17,), (31,), (2,), (64,)]


def number(x: Any, axis: int = 0) -> int:
    """A size, as a number of Python."""
    return int(x.shape[axis])


def from_numpy(make: Callable[[int], Any]) -> Callable[[Any], Any]:
    return lambda x: x * jnp.asarray(make(number(x)))


@jax.custom_jvp
def softplus(x: Any) -> Any:
    return jnp.log1p(jnp.exp(x))


@softplus.defjvp
def _softplus_jvp(primals: Any, tangents: Any) -> Any:
    (x,), (t,) = primals, tangents
    return softplus(x), t * jax.nn.sigmoid(x)


@jax.custom_vjp
def rounded(x: Any) -> Any:
    return jnp.round(x)


rounded.defvjp(lambda x: (rounded(x), None), lambda _, t: (t,))


def looped(x: Any) -> Any:
    """A loop whose body knows the size as a number, and a branch in it."""

    def body(carry: Any, y: Any) -> tuple[Any, Any]:
        smaller = lax.cond(y > 0, lambda: carry - x[: number(x) // 2].sum(), lambda: carry * 0.5)
        return smaller + y / number(x), carry

    return lax.scan(body, jnp.float32(0), x)[1]


def until(x: Any) -> Any:
    return lax.while_loop(lambda s: s[0] < number(x) // 2, lambda s: (s[0] + 1, s[1] * 0.9 + x.sum()), (0, x))[1]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a size as a factor": lambda x: x * number(x),
    "a size as an index": lambda x: x[number(x) - 1] + lax.dynamic_slice(x, (number(x) // 2,), (1,)),
    "a rounded half": lambda x: jnp.concatenate([x[number(x) // 2 :], x[: number(x) // 2]]),
    "a root of a size": lambda x: x / np.sqrt(number(x)),
    "a range": from_numpy(lambda n: np.arange(n, dtype=np.float32)),
    "a window": from_numpy(lambda n: np.hanning(n).astype(np.float32)),
    "a mask": lambda x: (x[:, None] * np.tril(np.ones((number(x),) * 2, np.float32))).sum(0),
    "a range of integers": lambda x: x[np.arange(number(x))[::-1]],
    "a transform and its inverse": lambda x: jnp.fft.irfft(jnp.fft.rfft(x) * 2, n=number(x)),
    "a table of bits": lambda x: jnp.where(np.arange(number(x)) % 2 == 0, x, -x),
    "a function with a derivative": lambda x: softplus(x) * number(x),
    "a function with a derivative backwards": lambda x: rounded(x) * number(x),
    "a nested jit": jax.jit(lambda x: jax.jit(lambda y: y * number(y))(x) + 1),
    "a checkpoint": jax.checkpoint(lambda x: jnp.sin(x) * number(x)),
    "a loop": looped,
    "a condition": until,
    "a gradient": jax.grad(lambda x: (jnp.sin(x) * number(x)).sum()),
    "random numbers": lambda x: x + jax.random.normal(jax.random.key(0), (number(x),)),
    "sorted": lambda x: jnp.sort(x)[: number(x) // 2 + 1],
    "a scatter": lambda x: x.at[np.arange(number(x) // 2)].add(1.0),
    "several results": lambda x: (x * number(x), {"n": jnp.float32(number(x)), "i": jnp.arange(number(x))}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_program_for_all_sizes(name: str) -> None:
    report = served(PROGRAMS[name], SIZES)
    assert shapes_of(report) == ["[6]", "[x_0]"], report
    assert report.variants[1].compared >= len(SIZES) - 1
    assert "each new shape is traced and compared" in report.variants[1].reason


@pytest.mark.parametrize("name", ["a size as a factor", "a range", "a mask", "a transform and its inverse"])
def test_sizes_of_nothing_and_of_one(name: str) -> None:
    report = served(PROGRAMS[name], [(6,), (11,), (1,), (0,)] if "transform" not in name else [(6,), (11,), (1,)])
    assert report.compilations <= 4


def test_reflected_padding_is_one_program_where_it_is_as_wide_as_the_array() -> None:
    report = served(lambda x: jnp.pad(x, ((2, 3),), mode="reflect"), [(10,), (13,), (4,), (29,), (100,)])
    assert shapes_of(report) == ["[10]", "[x_0]"]


SCANS: dict[str, Callable[[Any], Any]] = {
    "sums": lambda x: lax.associative_scan(jnp.add, x),
    "a recurrence backwards": lambda x: lax.associative_scan(
        lambda p, q: (p[0] * q[0], q[0] * p[1] + q[1]), (jnp.tanh(x), x), reverse=True
    )[1],
}


@pytest.mark.parametrize("name", SCANS)
def test_an_associative_scan_is_one_program_for_each_power_of_two(name: str) -> None:
    """Its trace halves the sizes, and slices those that are even."""
    report = served(SCANS[name], [(5,), (10,), (8,), (15,), (13,), (11,), (12,)])
    assert shapes_of(report) == ["[5]", "[x_0]"]


def test_transforms_are_programs_of_symbols() -> None:
    """JAX traces them, and this package lowers them: nothing is compared."""
    report = served(lambda x: jnp.abs(jnp.fft.rfft(x)), [one for one in SIZES if one != (2,)])
    assert shapes_of(report) == ["[6]", "[x_0]"]
    assert report.variants[1].compared == 0


@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1), (1, 0)])
def test_transforms_along_axes(axes: tuple[int, ...]) -> None:
    def function(x: Any) -> Any:
        return jnp.fft.ifftn(jnp.fft.fftn(x, axes=axes) * 2, axes=axes).real

    assert served(function, [(3, 4), (5, 8), (7, 7), (1, 16)]).compilations == 2


def test_the_gradient_of_a_transform_asks_whether_a_length_is_odd() -> None:
    """JAX's rule takes an odd symbol for granted; it has another path for even sizes."""

    def function(x: Any) -> Any:
        return jax.grad(lambda y: (jnp.abs(jnp.fft.rfft(y)) ** 2).sum())(x)

    report = served(function, [(10,), (13,), (16,), (29,), (64,), (65,)])
    assert report.compilations == 3, report


def test_two_sizes() -> None:
    def function(x: Any, y: Any) -> Any:
        return (x[:, None] * y[None, :]).reshape(number(x) * number(y)) / (2 * number(x) + number(y))

    stream = [[(3,), (5,)], [(4,), (9,)], [(8,), (8,)], [(1,), (7,)], [(7,), (1,)], [(12,), (2,)]]
    assert shapes_of(served(function, stream)) == ["[3], [5]", "[x_0], [y_0]"]


@pytest.mark.parametrize(
    "function",
    [
        pytest.param(lambda x: x * (number(x) + 1 if number(x) < 100 else 7), id="a factor"),
        pytest.param(lambda x: x * (3 if number(x) < 100 else 7), id="a constant factor"),
        pytest.param(lambda x: x.sum() * jnp.ones(number(x) + 1 if number(x) < 100 else 7), id="a size"),
        pytest.param(lambda x: x * jnp.asarray(np.arange(2.0) + (number(x) >= 100))[:, None], id="a constant array"),
    ],
)
def test_a_formula_that_holds_for_some_sizes_serves_only_these(function: Callable[[Any], Any]) -> None:
    """The samples near the first sizes agree with a formula; from 100 on the function does something else."""
    report = served(function, [(3,), (5,), (8,), (200,), (99,), (300,), (100,)])
    assert report.compilations <= 4


def test_a_parity_has_a_program_for_each() -> None:
    def function(x: Any) -> Any:
        return jnp.sin(x) * number(x) if number(x) % 2 else jnp.cos(x) + number(x)

    report = served(function, [(5,), (8,), (7,), (10,), (21,), (64,)])
    assert report.compilations <= 3, report


def test_negative_zero_is_no_size() -> None:
    def function(x: Any) -> Any:
        return jnp.copysign(x, np.float32(-0.0) if number(x) == 8 else np.float32(number(x) - 4))

    served(function, [(3,), (4,), (8,), (5,), (9,)])


def test_inside_of_jax_jit_with_values_of_sizes() -> None:
    function = PROGRAMS["a window"]
    run = shlo_disc.jit(function, options=FAST)
    for (x,) in map(arrays, SIZES):
        check([np.asarray(jax.jit(lambda x: run(x) + 1)(x))], [np.asarray(function(x) + 1)], f"{x.shape}", 1.0, 1.0)
    assert run.report().compilations == 2


def test_values_of_sizes_that_were_forgotten_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generalization, "MOST_BYTES", 200)
    function = PROGRAMS["a window"]
    report = served(function, [*SIZES, *SIZES])
    assert report.compilations == 2


def test_constants_that_do_not_change_are_constants_of_the_program() -> None:
    weights = jnp.asarray(np.random.default_rng(0).standard_normal(3).astype(np.float32))
    report = served(lambda x: (x[:, None] * weights).sum(1) * number(x), [(3,), (5,), (9,)])
    assert report.compilations == 2


def test_declared_sizes() -> None:
    run = shlo_disc.jit(PROGRAMS["a rounded half"], shapes="n", options=FAST)
    for (x,) in map(arrays, SIZES):
        check([np.asarray(run(x))], [np.asarray(PROGRAMS["a rounded half"](x))], f"{x.shape}", 1.0, 1.0)
    assert run.report().compilations == 1


def test_an_error_of_the_function_at_other_sizes_is_none_of_the_call() -> None:
    def function(x: Any) -> Any:
        if number(x) > 12:
            raise ValueError("too long")
        return x * number(x)

    run = shlo_disc.jit(function, options=FAST)
    for size in (3, 5, 12, 7):
        x = np.ones(size, np.float32)
        np.testing.assert_array_equal(run(x), x * size)
    with pytest.raises(ValueError, match="too long"):
        run(np.ones(13, np.float32))
