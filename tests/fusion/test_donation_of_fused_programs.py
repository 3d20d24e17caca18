"""Donated arguments change no kernel: what is fused, and so the order in which sums are added, is the same."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

import shlo_disc
from shlo_disc.artifact import Artifact
from shlo_disc.check.generate.programs import generate_at
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from tests.conftest import SEED

SEEDS = 12

# What a scatter writes over an argument is a view of the same argument, which a sum reads as well.
VIEW = """
func.func @main(%x: tensor<?x8xTYPE>, %at: tensor<3xi32>) -> (tensor<?x8xTYPE>, tensor<3xTYPE>) {
  %part = "stablehlo.gather"(%x, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, COUNT>}>
    : (tensor<?x8xTYPE>, tensor<3xi32>) -> tensor<3xCOUNTxTYPE>
  %all = "stablehlo.scatter"(%x, %at, %part) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1],
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<TYPE>, %b: tensor<TYPE>):
    %m = stablehlo.FUNCTION %a, %b : tensor<TYPE>
    stablehlo.return %m : tensor<TYPE>
  }) : (tensor<?x8xTYPE>, tensor<3xi32>, tensor<3xCOUNTxTYPE>) -> tensor<?x8xTYPE>
  %zero = stablehlo.constant dense<0.0> : tensor<TYPE>
  %sum = stablehlo.reduce(%part init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<3xCOUNTxTYPE>, tensor<TYPE>) -> tensor<3xTYPE>
  return %all, %sum : tensor<?x8xTYPE>, tensor<3xTYPE>
}
"""


def compiled(text: str, donated: tuple[int, ...]) -> Artifact:
    request = Request(options=CompileOptions(threads=1), hints=Hints(donated=donated))
    return compile_text(text, "m.mlir", request, Stopwatch())


def kernels(artifact: Artifact) -> list[str]:
    return [file.text for part in artifact.parts for file in part.kernels]


@pytest.mark.parametrize("function", ["maximum", "add"])
@pytest.mark.parametrize("count", [7, 8])
@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_views_of_donated_arguments(function: str, count: int, kind: str) -> None:
    text = VIEW.replace("FUNCTION", function).replace("COUNT", str(count)).replace("TYPE", kind)
    assert kernels(compiled(text, ())) == kernels(compiled(text, (0, 1)))
    options = CompileOptions(optimize=1, threads=1)
    run, donating = (shlo_disc.compile(text, options=options, donate=one) for one in ((), (0,)))
    rng = np.random.default_rng(SEED)
    for size in (1, 2, 9, 33):
        x = rng.standard_normal((size, 8)).astype(f"float{kind[1:]}") * 1000
        at = rng.integers(-1, size + 1, 3).astype(np.int32)
        for found, wanted in zip(donating(x.copy(), at), run(x, at), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("number", range(SEEDS))
def test_random_programs(number: int) -> None:
    text = generate_at(Random(SEED * 100 + number).randrange(1 << 31), 3)
    count = len(parse_module(text).functions["main"].body.arguments)
    try:
        plain = compiled(text, ())
    except UnsupportedOpError:
        pytest.skip("it is refused, donated or not")
    assert kernels(plain) == kernels(compiled(text, tuple(range(count))))
