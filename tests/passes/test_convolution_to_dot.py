"""Convolutions with one tap are products, in every layout; others stay what they are."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from jax import lax

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes.convolution_to_dot import CONVOLUTION_TO_DOT
from tests.pipeline.exports import In, exported

NHWC = ("NHWC", "HWIO", "NHWC")
RNG = np.random.default_rng(5)
LETTERS = {"N": "b - 1", "H": "h", "W": "w", "C": "i - 1"}


def conv(layout: tuple[str, str, str] = NHWC, **options: Any) -> Callable[[Any, Any], Any]:
    strides, padding = options.pop("strides", (1, 1)), options.pop("padding", "VALID")
    return lambda x, k: lax.conv_general_dilated(x, k, strides, padding, dimension_numbers=layout, **options)


def programs(function: Callable[..., Any], *inputs: In) -> tuple[Program, Program]:
    before = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    return before, CONVOLUTION_TO_DOT.run(before)


def names(program: Program) -> set[str]:
    return {op.name for op in program.body.walk()}


def layouts() -> list[tuple[str, str, str]]:
    """A usual one of each order of features, and some of all others."""
    images, kernels = (["".join(p) for p in permutations(letters)] for letters in ("NHWC", "HWIO"))
    drawn = [tuple(map(str, (RNG.choice(images), RNG.choice(kernels), RNG.choice(images)))) for _ in range(8)]
    return [NHWC, ("NCHW", "OIHW", "NCHW"), *((a, b, c) for a, b, c in drawn)]


@pytest.mark.parametrize("layout", layouts(), ids="-".join)
def test_one_tap_is_a_product_in_any_layout(layout: tuple[str, str, str]) -> None:
    image, kernel, _ = layout
    inputs = (
        In(", ".join(LETTERS[c] for c in image)),
        In(", ".join({"I": "i - 1", "O": "o"}.get(c, "1") for c in kernel)),
    )
    before, after = programs(conv(layout), *inputs)
    assert "d_convolution" not in names(after)
    assert "d_dot" in names(after)
    for sizes in ((3, 3, 5, 8, 4), (2, 1, 1, 2, 1), (1, 2, 3, 2, 2), (3, 2, 2, 1, 3), (4, 1, 17, 3, 16)):
        values = dict(zip("bhwio", sizes, strict=True))
        arrays = [i.array(RNG, values) for i in inputs]
        wanted, found = interpret(before, arrays), interpret(after, arrays)
        np.testing.assert_allclose(found[0], wanted[0], rtol=1e-5, atol=1e-5)


OTHERS: dict[str, tuple[Callable[..., Any], In, In]] = {
    "steps": (conv(strides=(1, 2)), In("b, h, w, i"), In("1, 1, i, o")),
    "pads": (conv(padding=((0, 0), (0, 1))), In("b, h, w, i"), In("1, 1, i, o")),
    "cuts": (conv(padding=((-1, 0), (0, 0))), In("b, h + 1, w, i"), In("1, 1, i, o")),
    "spreads": (conv(lhs_dilation=(2, 1), padding=((0, 0), (0, 0))), In("b, h, w, i"), In("1, 1, i, o")),
    "groups": (conv(feature_group_count=2), In("b, h, w, 4"), In("1, 1, 2, 6")),
    "more taps": (conv(), In("b, h, w + 1, i"), In("1, 2, i, o")),
    "taps nobody knows": (conv(), In("b, h, w + t, i"), In("1, t, i, o")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_stay(name: str) -> None:
    function, *inputs = OTHERS[name]
    before, after = programs(function, *inputs)
    assert names(before) == names(after)
