"""Packed programs compute what padded ones do within the lengths, and zeros beyond them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from shlo_disc.dynamic_ops import contract
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from tests.ragged import attention_programs
from tests.ragged.programs import PROGRAMS, Masked
from tests.ragged.running import Padded, analysed, check_near, lengths_of, packed

assert attention_programs  # its import adds its programs
_QUICK = ("largest", "layer_norm", "attention", "loss_and_gradient", "without_last")
# Products that are computed on all rows' positions together, of all products; others are those of attention.
PRODUCTS: Mapping[str, tuple[int, int]] = {
    "dense_of_flattened": (1, 1),
    "attention": (1, 3),
    "causal_attention_with_mask": (1, 3),
    "mask_of_arguments": (1, 3),
    "loss_and_gradient": (2, 2),
    "encoder_and_gradient": (3, 9),
    "class_of_first": (2, 4),
    "product_of_last": (1, 1),
}
_PROVEN = [one for one in PROGRAMS if one.proven]
_PARAMS = [pytest.param(one, id=one.name, marks=() if one.name in _QUICK else pytest.mark.slow) for one in _PROVEN]


def is_packed(program: Program, op: Op[object]) -> bool:
    """Whether an op reads, or makes, a tensor whose size is the sum of lengths."""
    late = {each.symbol for each in program.late}

    def has_rows(tensor: Tensor) -> bool:
        return any(late & size.symbols() for size in tensor.shape)

    return any(has_rows(tensor) for tensor in (*op.operands, *op.results))


class TestPackedPrograms:
    @pytest.mark.parametrize("one", _PARAMS)
    def test_results(self, one: Masked) -> None:
        rng = np.random.default_rng(PROGRAMS.index(one))
        analysis, program = analysed(one)
        _, found = packed(one)
        for least in sorted({analysis.least_length, 1}):
            padded = Padded(program, one, lengths_of(one, rng, least), rng)
            expected = padded.run()
            check_near(padded.run(program=found, nan=one.nan), expected)
            for result in padded.results(found):
                assert not result[padded.beyond(result)].any()

    @pytest.mark.slow
    @pytest.mark.parametrize("name", PRODUCTS)
    def test_products_of_rows_are_packed(self, name: str) -> None:
        (one,) = (one for one in PROGRAMS if one.name == name)
        _, found = packed(one)
        products = [op for op in found.body.ops if contract.DOT.defines(op)]
        assert (sum(is_packed(found, op) for op in products), len(products)) == PRODUCTS[name]
