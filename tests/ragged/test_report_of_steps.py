# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
"""`run.ragged_report`: what the steps of a packed program compute and move, against what a profile of a call counts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from shlo_disc import RuntimeShapeError, ShloDiscError
from tests.pipeline.exports import FAST
from tests.ragged.programs import mask_of, mean_by_select

LENGTHS = [5, 0, 9, 2]


def perceptron(x, w, lengths):
    y = jax.nn.gelu(x @ w)
    return y, mean_by_select(y, lengths)


def of_a_mask(x, w, mask):
    return ((x @ w) * mask[..., None]).sum(1)


def of_two(x, y, w, s_lengths, t_lengths):
    return jnp.where(mask_of(x, s_lengths)[..., None], x @ w, 0).sum(1) + jnp.where(
        mask_of(y, t_lengths)[..., None], y @ w, 0
    ).sum(1)


def array(*shape: int) -> Any:
    return np.random.default_rng().normal(size=shape).astype(np.float32)


LENGTHS_GIVEN = np.array(LENGTHS, np.int32)
MASK = (np.arange(12) < LENGTHS_GIVEN[:, None]).astype(np.float32)
# A function, its shapes, its ragged sizes, lengths and sizes of a call, its arguments.
CALLS: dict[str, tuple[Callable[..., Any], str, Any, Any, dict[str, int], tuple[Any, ...]]] = {
    "lengths": (
        perceptron, "f32[b, s, 8], f32[8, 8], i32[b]", {"s": "lengths"}, LENGTHS, {"s": 12},
        (array(4, 12, 8), array(8, 8), LENGTHS_GIVEN),
    ),
    "the greatest length": (
        perceptron, "f32[b, s, 8], f32[8, 8], i32[b]", {"s": 2}, LENGTHS, {},
        (array(4, 9, 8), array(8, 8), LENGTHS_GIVEN),
    ),
    "a mask": (
        of_a_mask, "f32[b, s, 8], f32[8, 8], f32[b, s]", {"s": "mask"}, LENGTHS, {"s": 12},
        (array(4, 12, 8), array(8, 8), MASK),
    ),
    "two sizes": (
        of_two, "f32[b, s, 8], f32[b, t, 8], f32[8, 8], i32[b], i32[b]", {"t": "t_lengths", "s": "s_lengths"},
        {"s": LENGTHS, "t": [1, 2, 3, 4]}, {"s": 12, "t": 7},
        (array(4, 12, 8), array(4, 7, 8), array(8, 8), LENGTHS_GIVEN, np.array([1, 2, 3, 4], np.int32)),
    ),
    "a size with the name of a sum": (
        perceptron, "f32[b, s, sum_s], f32[sum_s, sum_s], i32[b]", {"s": "lengths"}, LENGTHS,
        {"s": 12, "sum_s": 8}, (array(4, 12, 8), array(8, 8), LENGTHS_GIVEN),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_steps_are_those_of_a_call(name: str) -> None:
    function, shapes, ragged, lengths, sizes, args = CALLS[name]
    run = shlo_disc.compile(function, shapes=shapes, ragged=ragged, options=FAST)
    report = run.ragged_report(lengths, sizes)
    profile = run.profile(*args, repeat=1)
    wanted = [(each.name, each.flops, each.bytes_read + each.bytes_written) for each in profile.steps]
    assert [(each.kernel, each.flops, each.moved) for each in report.steps] == wanted
    positions = [sum(row) for row in (lengths.values() if isinstance(lengths, dict) else [lengths])]
    assert sorted(within for within, _ in report.positions.values()) == sorted(positions)
    assert report.sizes["b"] == 4
    assert report.ops == shlo_disc.analyse_ragged(function, ragged, shapes=shapes).report(lengths, sizes).ops
    assert all(each.flops <= each.padded_flops and each.moved <= each.padded_moved for each in report.steps)


def test_rows_without_padding_save_nothing() -> None:
    run = shlo_disc.compile(perceptron, shapes="f32[b, s, 8], f32[8, 8], i32[b]", ragged={"s": 2}, options=FAST)
    full = run.ragged_report([7, 7, 7])
    assert [each.flops for each in full.steps] == [each.padded_flops for each in full.steps]
    assert full.saved == full.ratio == 1.0
    some = run.ragged_report([7, 1, 2])
    assert 1.9 < some.saved < 2.1  # 10 of 21 positions
    assert [each.padded_flops for each in some.steps] == [each.flops for each in full.steps]


def test_as_text(tmp_path: Path) -> None:
    run = shlo_disc.compile(perceptron, shapes="f32[b, s, 64], f32[64, 64], i32[b]", ragged={"s": 2}, options=FAST)
    text = str(run.ragged_report([7, 1]))
    titles, first = text.split("\n\n")[1].splitlines()[:2]
    assert titles.split() == ["FLOPs", "padded", "bytes", "padded", "kernel", "from"]
    assert first.split()[:2] == ["0", "0"]
    assert re.search(r"^padded / needed: 1\.\d\d$", text, re.MULTILINE)
    assert re.search(r"^padded / computed: 1\.\d\d$", text, re.MULTILINE)
    assert 0 < run.ragged_report([7, 1]).integer_share < 0.5
    run.save(tmp_path / "program.shlo")
    loaded = shlo_disc.load(tmp_path / "program.shlo")
    assert isinstance(loaded, shlo_disc.Compiled)
    assert str(loaded.ragged_report([7, 1])) == text


def test_attention_counts_whole() -> None:
    def attend(x, lengths):
        scores = jnp.where(mask_of(x, lengths)[:, None], jnp.einsum("bqd,bkd->bqk", x, x), -jnp.inf)
        return jnp.einsum("bqk,bkd->bqd", jax.nn.softmax(scores), x)

    run = shlo_disc.compile(attend, shapes="f32[b, s, 16], i32[b]", ragged={"s": "lengths"}, options=FAST)
    text = str(run.ragged_report([40, 3], {"s": 64}))
    assert "\npadded / computed: 1.0" in text
    assert ", or more: attention counts whole\n" in text


def test_what_is_refused() -> None:
    shapes = "f32[b, s, 8], f32[8, 8], i32[b]"
    plain = shlo_disc.compile(perceptron, shapes=shapes, options=FAST)
    with pytest.raises(ShloDiscError, match=re.escape("found a program without ragged sizes, expected compile(")):
        plain.ragged_report([1, 2])
    run = shlo_disc.compile(perceptron, shapes=shapes, ragged={"s": 2}, constraints=["s <= 64"], options=FAST)
    with pytest.raises(ShloDiscError, match="a length of 9, expected at most 8, the size s"):
        run.ragged_report([1, 9], {"s": 8})
    with pytest.raises(RuntimeShapeError, match="s <= 64"):
        run.ragged_report([1, 65])
