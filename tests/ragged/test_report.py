# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
"""Needed FLOPs are those of a closed formula, and explanations name the ops that read the padding."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shlo_disc
from tests.ragged.attention_programs import (
    attention,
    attention_without_mask,
    loss_and_gradient,
    weighted_mean_by_finite_mask,
)
from tests.ragged.programs import mask_of, mean_by_select, mean_of_everything

LENGTHS = Path(__file__).parents[3] / "shared" / "lengths" / "lengths.json"
WIDTH, HEADS, HIDDEN, LAYERS = 512, 8, 2048, 6
ENCODER = f"f32[b, s, {WIDTH}], f32[{WIDTH}, {WIDTH}], f32[{WIDTH}, {HIDDEN}], f32[{HIDDEN}, {WIDTH}], i32[b]"


def normalized(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)


def encoder(x, w, wide, narrow, lengths):
    """A transformer's encoder; its layers share their weights."""
    b, s, _ = x.shape
    mask = mask_of(x, lengths)[:, None, None]
    for _ in range(LAYERS):
        q, k, v = ((x @ w).reshape(b, s, HEADS, WIDTH // HEADS) for _ in range(3))
        scores = jnp.where(mask, jnp.einsum("bqhd,bkhd->bhqk", q, k) / 8.0, jnp.finfo(x.dtype).min)
        o = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(b, s, WIDTH)
        x = normalized(x + o @ w)
        x = normalized(x + jax.nn.gelu(x @ wide) @ narrow)
    return x


def batch_of(name: str, rng: np.random.Generator) -> list[int]:
    """32 lengths of a data set."""
    histogram = json.loads(LENGTHS.read_text())[name]["histogram"]
    values, counts = np.array(list(histogram), np.int64), np.array(list(histogram.values()), np.float64)
    return [int(length) for length in rng.choice(values, 32, p=counts / counts.sum())]


def products(lengths: list[int], size: int | None = None) -> int:
    """The FLOPs of the encoder's products, needed, or padded to one size."""
    each = lengths if size is None else [size] * len(lengths)
    dense = 2 * (4 * WIDTH * WIDTH + 2 * WIDTH * HIDDEN) * sum(each)
    return LAYERS * (dense + 2 * 2 * WIDTH * sum(n * n for n in each))


@pytest.fixture(scope="module")
def analysis() -> shlo_disc.RaggedAnalysis:
    return shlo_disc.analyse_ragged(encoder, {"s": "lengths"}, shapes=ENCODER)


class TestEncoder:
    def test_is_proven(self, analysis: shlo_disc.RaggedAnalysis) -> None:
        assert (analysis.is_proven, analysis.least_length) == (True, 0), analysis.explain()
        assert len(analysis.assumptions) == LAYERS

    @pytest.mark.skipif(not LENGTHS.exists(), reason="no lengths of data sets")
    @pytest.mark.parametrize("name", ["CoLA", "MNLI", "SQuADv2", "RACE", "Wiki128"])
    def test_flops_of_real_lengths(self, analysis: shlo_disc.RaggedAnalysis, name: str) -> None:
        lengths = batch_of(name, np.random.default_rng(0))
        report = analysis.report(lengths)
        dots = [op for op in report.ops if op.name == "dot"]
        assert sum(op.needed for op in dots) == products(lengths)
        assert sum(op.padded for op in dots) == products(lengths, max(lengths))
        assert report.ratio == pytest.approx(products(lengths, max(lengths)) / products(lengths), rel=0.01)


class TestReport:
    def test_gradient_of_weights_needs_the_elements_within_the_lengths(self) -> None:
        found = shlo_disc.analyse_ragged(
            loss_and_gradient, {"s": "lengths"}, shapes="f32[8,8], f32[b,s,8], i32[b,s], i32[b]"
        )
        dots = [op for op in found.report([3, 5, 0], {"s": 6}).ops if op.name == "dot"]
        assert [(op.formula, op.needed, op.padded) for op in dots] == [
            ("2 * 8 * 8 * sum(lengths)", 1024, 2304),
            ("2 * 8 * 8 * sum(lengths)", 1024, 2304),
        ]

    def test_as_text(self) -> None:
        found = shlo_disc.analyse_ragged(mean_by_select, {"s": "lengths"}, shapes="f32[b, s, 8], i32[b]")
        lines = str(found.report([1, 3])).splitlines()
        assert [line.split()[:3] for line in lines[:3]] == [
            ["needed", "padded", "op"], ["32", "48", "reduce"], ["16", "16", "divide"],
        ]  # fmt: skip
        assert lines[-1] == "padded / needed: 1.33"

    def test_a_mask_as_argument(self) -> None:
        def pooled(x, mask):
            return (x * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)

        found = shlo_disc.analyse_ragged(pooled, {"s": "mask"}, shapes="f32[b, s, 4], f32[b, s]")
        assert found.is_proven
        assert found.report([1, 2], {"s": 4}).ops[0].formula == "4 * sum(mask)"

    @pytest.mark.parametrize(
        ("lengths", "sizes", "message"),
        [
            ([1, -1], {}, "a length of s of -1, expected at least 0"),
            ([1, 9], {"s": 8}, "a length of 9, expected at most 8, the size s"),
            ([1, 2], {"b": 3}, "found 2 and 3 for the size b"),
            ([1, 2], {"x": 3}, "found a size x, expected b, s"),
            ({"t": [1]}, {}, "found lengths of t, expected those of s"),
            ([1.5], {}, "expected a whole number"),
        ],
    )
    def test_bad_lengths(self, lengths: object, sizes: dict[str, int], message: str) -> None:
        found = shlo_disc.analyse_ragged(mean_by_select, {"s": "lengths"}, shapes="f32[b, s, 8], i32[b]")
        with pytest.raises(shlo_disc.ShloDiscError, match=message):
            found.report(lengths, sizes)


class TestExplain:
    def test_the_op_that_reads_the_padding(self) -> None:
        found = shlo_disc.analyse_ragged(mean_of_everything, {"s": "lengths"}, shapes="f32[b, s, 8], i32[b]")
        (error,) = found.errors
        assert not found.is_proven
        assert "the padding of argument x" in error
        marked = next(line for line in error.splitlines() if line.endswith("<---"))
        assert "programs.py:" in marked
        assert ": reduce: elements within the lengths read elements beyond them" in marked
        assert error in found.explain()

    def test_a_long_chain_is_cut(self) -> None:
        found = shlo_disc.analyse_ragged(
            attention_without_mask, {"s": "lengths"}, shapes="f32[b, s, 8], f32[8, 8], i32[b]"
        )
        (error,) = found.errors
        assert len(error.splitlines()) <= 14
        assert "  ..." in error.splitlines()

    def test_least_length(self) -> None:
        found = shlo_disc.analyse_ragged(
            weighted_mean_by_finite_mask, {"s": "lengths"}, shapes="f32[b, s, 8], f32[8, 8], i32[b]"
        )
        assert (found.is_proven, found.least_length, len(found.assumptions)) == (True, 1, 1)
        assert "holds for lengths of at least 1" in found.explain()

    def test_all_is_proven(self) -> None:
        found = shlo_disc.analyse_ragged(attention, {"s": "lengths"}, shapes="f32[b, s, 8], f32[8, 8], i32[b]")
        assert (found.errors, found.assumptions, found.least_length, found.proven) == ((), (), 0, (True,))


class TestArguments:
    TEXT = """func.func @main(%x: tensor<?x?xf32>, %n: tensor<?xi32>) -> tensor<?x?xf32> {
      %0 = stablehlo.tanh %x : tensor<?x?xf32>
      return %0 : tensor<?x?xf32>
    }"""

    def test_text(self) -> None:
        found = shlo_disc.analyse_ragged(self.TEXT, {"s1": "n"}, constraints=["s0 == s2"])
        assert found.is_proven
        assert found.report([1, 2]).ops[0].formula == "sum(n)"

    @pytest.mark.parametrize(
        ("ragged", "message"),
        [
            ({}, "found no ragged size"),
            ({"z": "n"}, "the ragged size 'z', expected one of s0, s1"),
            ({"s1": "m"}, "the argument 'm', expected one of n, x"),
            ({"s1": 7}, "number 7, expected one from 0 to 1"),
            ({"s0": "n"}, "lengths along s0 itself"),
            ({"s3": "x"}, "the ragged size 's3'"),
        ],
    )
    def test_bad_arguments(self, ragged: dict[str, str | int], message: str) -> None:
        with pytest.raises(shlo_disc.ShloDiscError, match=message):
            shlo_disc.analyse_ragged(self.TEXT, ragged, constraints=["s0 == s2"])

    @pytest.mark.parametrize(
        ("types", "message"),
        [
            (("tensor<1x?xf32>", "tensor<1xi32>"), "found one row in n, expected a size other than 1"),
            (
                ("tensor<3x?x3xf32>", "tensor<3xi32>"),
                r"type f32\[3, s0, 3\], expected one dim of the size 3",
            ),
        ],
    )
    def test_rows_that_are_not_clear(self, types: tuple[str, str], message: str) -> None:
        text = "func.func @main(%x: {0}, %n: {1}) -> {0} {{ return %x : {0} }}".format(*types)
        with pytest.raises(shlo_disc.ShloDiscError, match=message):
            shlo_disc.analyse_ragged(text, {"s0": "n"})

    def test_an_argument_without_lengths(self) -> None:
        with pytest.raises(shlo_disc.ShloDiscError, match=r"argument x of type f32\[s0, 3, 4\], expected the lengths"):
            shlo_disc.analyse_ragged(
                "func.func @main(%x: tensor<?x3x4xf32>) -> tensor<?x3x4xf32> { return %x : tensor<?x3x4xf32> }",
                {"s0": "x"},
            )
