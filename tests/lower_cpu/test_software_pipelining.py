"""Software pipelining: whose stages are, and that a row has the bits that it has alone."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cpu.pipeline_schedule import copies
from shlo_disc.lower_cpu.rows import SEAMS, RowPrinter, scratch_bytes, unrolled
from shlo_disc.lower_cpu.software_pipelining import GROUP, can_pipeline
from tests.pipeline.exports import BF16, FAST, In, exported, special
from tests.pipeline.guarded import guarded
from tests.pipeline.programs import planned, softmax

X = In("b, s")
HEIGHTS = (1, 2, 3, 4, 5, 6, 7, 8, 13)
LENGTHS = (9, 15, 16, 17, 31, 33, 64, 100, 257)


def kernel(function: Callable[..., Any], *inputs: In) -> RowKernel:
    """The kernel of a program that has only one."""
    found = planned(function, *inputs)
    (group,) = found.plan.groups
    return build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0]


def thrice(x: Any) -> Any:
    """Powers that two later stages read: of three groups of rows at a time."""
    powers = jnp.exp(x)
    most = powers.max(1, keepdims=True)
    total = jnp.sin(powers - most).sum(1, keepdims=True)
    return powers / total


def normalized(x: Any) -> Any:
    centered = x - x.mean(1, keepdims=True)
    return centered * jax.lax.rsqrt((centered * centered).mean(1, keepdims=True))


def joined(count: int, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The sum of a function along joined parts: each is a stage, which goes on from what the one before found."""

    def run(x: Any) -> Any:
        parts = [x * (1 - 0.25 * k) for k in range(count)]
        return function(jnp.concatenate(parts, -1)).sum(-1)

    return run


def product_of_halves(x: Any) -> Any:
    return (jnp.tanh(jnp.concatenate([x, -x], 1)) * 0.1 + 1).prod(1)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "softmax": (softmax, (X,)),
    "a number told two turns later": (lambda x: jax.nn.log_softmax(x, 1), (X,)),
    "elements read two turns later": (thrice, (X,)),
    "two stages": (lambda x: jnp.exp(x) * jnp.exp(x).sum(1, keepdims=True), (X,)),
    "numbers of rows and columns": (lambda x, y, z: softmax(x * y[:, None] + z), (X, In("b"), In("s"))),
    "f64": (softmax, (In("b, s", np.float64),)),
    "bf16": (softmax, (In("b, s", BF16),)),
    "rows of matrices": (softmax, (In("2, b, s"),)),
    "known length": (softmax, (In("b, 40"),)),
    "a sum of two parts": (joined(2, jnp.exp), (X,)),
    "a sum of three parts": (joined(3, jnp.tanh), (X,)),
    "a product of two parts": (product_of_halves, (X,)),
    "parts of f64": (joined(2, jnp.exp), (In("b, s", np.float64),)),
}


def test_stages_that_compute_are_in_flight() -> None:
    for function, inputs in PROGRAMS.values():
        with jax.enable_x64(True):
            one = kernel(function, *inputs)
        assert unrolled(one)
        assert can_pipeline(one)
        assert "is_on_1" in "\n".join(RowPrinter(one).lines()[0])


@pytest.mark.parametrize(
    ("function", "inputs"),
    [
        (normalized, (X,)),
        (lambda x: x.sum(1), (X,)),
        (lambda x, i: jnp.exp(x - x.max(1, keepdims=True))[:, i], (X, In("n", np.int32))),
        (lambda x: softmax(softmax(normalized(x))), (X,)),
    ],
    ids=["only sums and products", "one stage", "rows that are looked up", "many stages"],
)
def test_other_stages_are_not(function: Callable[..., Any], inputs: tuple[In, ...]) -> None:
    assert not can_pipeline(kernel(function, *inputs))


def test_scratch_takes_turns() -> None:
    one = kernel(thrice, X)
    (powers,) = one.scratch
    assert copies(one, powers) == 3
    assert scratch_bytes(one) == (powers.size + 15) // 16 * 16 * (3 * GROUP * 4)


@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_have_the_bits_that_they_have_alone(name: str) -> None:
    function, inputs = PROGRAMS[name]
    with jax.enable_x64(True):
        program = exported(function, inputs)
    rng, threads = np.random.default_rng(7), (1, 2)
    runs = [guarded(shlo_disc.compile(program, options=replace(FAST, driver="vm", threads=n))) for n in threads]
    for length in (40,) if name == "known length" else LENGTHS:
        for height in HEIGHTS:
            given = [special(rng, _shape(one.shape, height, length), np.dtype(one.dtype)) for one in inputs]
            together = [_arrays(run(given)) for run in runs]
            assert _bits(together[0]) == _bits(together[1]), "threads"
            for row in range(height):
                alone = _arrays(runs[0]([_one(x, one.shape, row) for x, one in zip(given, inputs, strict=True)]))
                of_all = [y[row : row + 1] if y.ndim == 1 else y[..., row : row + 1, :] for y in together[0]]
                assert _bits(of_all) == _bits(alone), (length, height, row)


def _shape(text: str, height: int, length: int) -> tuple[int, ...]:
    sizes = {"b": height, "s": length}
    return tuple(sizes[dim] if dim in sizes else int(dim) for dim in text.split(", "))


def _one(x: np.ndarray[Any, Any], shape: str, row: int) -> np.ndarray[Any, Any]:
    dims = shape.split(", ")
    return np.ascontiguousarray(np.take(x, [row], dims.index("b"))) if "b" in dims else x


def _arrays(results: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(y) for y in results]


def _bits(arrays: list[np.ndarray[Any, Any]]) -> list[bytes]:
    """Which NaN it is depends on the order in which a compiler takes two."""
    return [np.where(np.isnan(y), np.array(np.nan, y.dtype), y).tobytes() for y in arrays]
