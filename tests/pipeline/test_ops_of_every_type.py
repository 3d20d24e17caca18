"""Elementwise ops on all element types: what is not refused compiles, of arguments, of constants, and in regions."""

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from shlo_disc.ir.dtypes import DType, numpy_dtype
from tests.pipeline.every_op import accepted, main
from tests.pipeline.exports import FAST


@pytest.mark.parametrize("dtype", [dtype for dtype in DType if dtype is not DType.INDEX])  # which no op computes
def test_what_is_accepted_compiles(dtype: DType) -> None:
    ops = accepted(dtype)
    ones = np.ones(3).astype(numpy_dtype(dtype))
    results = shlo_disc.compile(main(dtype, ops), options=FAST)(ones, ones)
    assert len(results) == len(ops) > 0


def test_reductions_of_truths_of_any_number() -> None:
    ops = {
        "add": np.any, "maximum": np.any, "or": np.any, "multiply": np.all, "minimum": np.all, "and": np.all,
        "xor": np.logical_xor.reduce,
    }  # fmt: skip
    lines = [
        f"  %{op}1 = stablehlo.reduce(%x init: %{'true' if op in ('multiply', 'minimum', 'and') else 'false'}) "
        f"applies stablehlo.{op} across dimensions = [0] : (tensor<?xi1>, tensor<i1>) -> tensor<i1>"
        for op in ops
    ]
    results, types = ", ".join(f"%{op}1" for op in ops), ", ".join(["tensor<i1>"] * len(ops))
    constants = [f"  %{value} = stablehlo.constant dense<{value}> : tensor<i1>" for value in ("true", "false")]
    head, end = f"func.func @main(%x: tensor<?xi1>) -> ({types}) {{", f"  return {results} : {types}\n}}"
    run, rng = shlo_disc.compile("\n".join([head, *constants, *lines, end]), options=FAST), np.random.default_rng(0)
    for n in (0, 1, 15, 16, 17, 33, 101):
        for x in (rng.random(n) < 0.5, np.arange(n) == n - 1, np.arange(n) != n - 1, np.ones(n, bool)):
            assert [bool(y) for y in run(x)] == [bool(reference(x)) for reference in ops.values()], x
