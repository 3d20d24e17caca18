# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false, reportUnknownLambdaType=false
"""What `compile(ragged=...)` and calls of its programs refuse, and what they say."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import RuntimeShapeError, ShloDiscError
from shlo_disc.function_export import export_function
from tests.pipeline.exports import FAST
from tests.ragged.attention_programs import attention_without_mask, mask_of_arguments
from tests.ragged.programs import mean_by_select, mean_of_everything

POOLED = "f32[b, s, 8], i32[b]"
NO_SIZES = "expected arguments with lengths by the names of sizes, such as {'s': 'lengths'}"
NO_LENGTHS = "expected the lengths, integers [rows], or a mask [rows, s]"


def with_other(x, y, lengths):
    return mean_by_select(x, lengths) + y.sum((1, 2))[:, None]


def scaled(x, lengths):
    return x * lengths.sum()


WRONG: dict[str, tuple[Callable[..., Any], str, Any, str]] = {
    "unknown size": (mean_by_select, POOLED, {"q": "lengths"}, "found the ragged size 'q', expected one of b, s"),
    "size that is a number": (
        mean_by_select, "f32[b, 16, 8], i32[b]", {"s": "lengths"}, "found the ragged size 's', expected one of b"
    ),
    "unknown argument": (mean_by_select, POOLED, {"s": "x2"}, "found the argument 'x2', expected one of lengths, x"),
    "unknown number": (
        mean_by_select, POOLED, {"s": 2}, "found the argument number 2, expected one from 0 to 1"
    ),
    "negative number": (
        mean_by_select, POOLED, {"s": -1}, "found the argument number -1, expected one from 0 to 1"
    ),
    "padded argument": (
        mean_by_select, POOLED, {"s": "x"}, f"found the argument x of type f32[b, s, 8], {NO_LENGTHS}"
    ),
    "floats": (
        mean_by_select, "f32[b, s, 8], f32[b]", {"s": 1}, f"found the argument lengths of type f32[b], {NO_LENGTHS}"
    ),
    "one length": (scaled, "f32[b, s, 8], i32[]", {"s": 1}, f"found the argument lengths of type i32[], {NO_LENGTHS}"),
    "lengths along the size": (
        scaled, "f32[b, s, 8], i32[s]", {"s": "lengths"},
        "found lengths along s itself, lengths of type i32[s], expected a length for each row, integers [rows], where",
    ),
    "complex mask": (
        mask_of_arguments, "f32[b, s, 8], f32[8, 8], c64[b, s]", {"s": "mask"},
        f"found the argument mask of type complex<f32>[b, s], {NO_LENGTHS}",
    ),
    "one row": (
        mean_by_select, "f32[1, s, 8], i32[1]", {"s": "lengths"},
        "found one row in lengths, expected a size other than 1",
    ),
    "rows twice": (
        with_other, "f32[b, s, 8], f32[b, b, s], i32[b]", {"s": "lengths"},
        "found the argument y of type f32[b, b, s], expected one dim of the size b in an argument with the ragged size",
    ),
    "one argument of two sizes": (
        mean_by_select, "f32[b, s, t], i32[b]", {"t": "lengths", "s": 1},
        "found lengths for the sizes t and s, expected an argument for each",
    ),
    "no mapping": (mean_by_select, POOLED, ["s"], f"found ragged ['s'], {NO_SIZES}"),
    "text": (mean_by_select, POOLED, "s=lengths", f"found ragged 's=lengths', {NO_SIZES}"),
    "no size": (mean_by_select, POOLED, {}, f"found ragged {{}}, {NO_SIZES}"),
    "size without a name": (mean_by_select, POOLED, {1: "lengths"}, f"found ragged {{1: 'lengths'}}, {NO_SIZES}"),
    "fraction": (mean_by_select, POOLED, {"s": 1.5}, f"found ragged {{'s': 1.5}}, {NO_SIZES}"),
    "boolean": (mean_by_select, POOLED, {"s": True}, f"found ragged {{'s': True}}, {NO_SIZES}"),
}  # fmt: skip


@cache
def exported(function: Callable[..., Any], shapes: str) -> Any:
    """The export of a function, once for all of its cases."""
    return export_function(function, shapes, (), "cpu")


@pytest.mark.parametrize("what", WRONG)
def test_what_is_not_ragged_is_named(what: str) -> None:
    function, shapes, ragged, message = WRONG[what]
    with pytest.raises(ShloDiscError, match=re.escape(message)):
        shlo_disc.compile(exported(function, shapes), device="cpu", ragged=ragged)


def test_ops_between_the_padding_and_a_result_are_named() -> None:
    with pytest.raises(ShloDiscError) as error:
        shlo_disc.compile(exported(mean_of_everything, POOLED), device="cpu", ragged={"s": "lengths"})
    first, padding, leak, divide, *help_lines = str(error.value).splitlines()
    assert first == "result 0: elements within the lengths may depend on the padding"
    assert padding.endswith("the padding of argument x")
    assert re.fullmatch(r"  .*programs.py:\d+: reduce: elements within the lengths read elements beyond .*<---", leak)
    assert re.fullmatch(r"  .*programs.py:\d+: divide", divide)
    assert help_lines[0].startswith("  help: mask what the marked op reads")


def test_every_result_that_is_not_proven_is_named() -> None:
    def three(x, w, lengths):
        return attention_without_mask(x, w, lengths), x * 2, mean_of_everything(x, lengths)

    shapes = "f32[b, s, 8], f32[8, 8], i32[b]"
    with pytest.raises(ShloDiscError) as error:
        shlo_disc.compile(exported(three, shapes), device="cpu", ragged={"s": "lengths"})
    assert re.findall(r"^result (\d)", str(error.value), re.MULTILINE) == ["0", "2"]


def summed_and_pooled(x, y, lengths, mask):
    """The first result is computed in the memory of `x`; the mask is finite, so that lengths have to be at least 1."""
    del lengths
    weights = jax.nn.softmax(jnp.where(mask, y.sum(-1), -1e9), -1)
    return x.sum(-1, keepdims=True) + x, jnp.einsum("bt,btd->bd", weights, y)


def mask_rows(*rows: list[int]) -> Any:
    return np.array(rows, np.bool_)


LENGTHS, MASK = np.array([2, 5], np.int32), mask_rows([1, 1, 0], [1, 0, 0])
WHY = "in each row, as results for one of length 0 may depend on its padding"
NO_LENGTH = f"lengths has a length from 1 to 5, the size s, {WHY}: found another number in row"
NO_MASK = f"mask has ones up to a length from 1 to 3, the size t, then zeros, {WHY}: found others in row"
WRONG_CALLS: dict[str, tuple[list[int], Any, str]] = {
    "negative": ([3, -2], MASK, f"{NO_LENGTH} 1"),
    "too short": ([0, 5], MASK, f"{NO_LENGTH} 0"),
    "too long": ([2, 6], MASK, f"{NO_LENGTH} 1"),
    "largest and least": ([2**31 - 1, -(2**31)], MASK, f"{NO_LENGTH} 0"),
    "mask of no elements": ([2, 5], mask_rows([1, 1, 1], [0, 0, 0]), f"{NO_MASK} 1"),
    "mask with a gap": ([2, 5], mask_rows([1, 0, 1], [1, 1, 1]), f"{NO_MASK} 0"),
    "mask from the end": ([2, 5], mask_rows([1, 1, 0], [0, 0, 1]), f"{NO_MASK} 1"),
}


@pytest.fixture(scope="module")
def run() -> Any:
    shapes, ragged = "f32[b, s, 8], f32[b, t, 8], i32[b], i1[b, t]", {"s": "lengths", "t": "mask"}
    program = exported(summed_and_pooled, shapes)
    return shlo_disc.compile(program, device="cpu", ragged=ragged, donate=[0], options=FAST)


@pytest.mark.slow
@pytest.mark.parametrize("what", WRONG_CALLS)
def test_wrong_lengths_are_refused_before_anything_is_written(what: str, run: Any) -> None:
    lengths, mask, message = WRONG_CALLS[what]
    x, y = np.ones((2, 5, 8), np.float32), np.ones((2, 3, 8), np.float32)
    with pytest.raises(RuntimeShapeError, match=re.escape(message)):
        run(x, y, np.array(lengths, np.int32), mask)
    np.testing.assert_array_equal(x, 1)
    summed, pooled = run(x, y, LENGTHS, MASK)
    np.testing.assert_array_equal(np.asarray(summed)[..., 0], [[9, 9, 0, 0, 0], [9] * 5])
    assert np.shares_memory(summed, x)
    np.testing.assert_allclose(pooled, np.ones((2, 8)), rtol=1e-6)
