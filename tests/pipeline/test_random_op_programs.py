"""Ops with many attributes, drawn at random: what XLA makes of them, and the reference interpreter, at every size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.oracle import xla_reference
from tests.pipeline.exports import FAST
from tests.pipeline.random_ops import FAMILIES, uses
from tests.pipeline.random_uses import program

USES = 6  # of an op in one program
SIZES = (5, 1)


def same(found: Sequence[NDArray[Any]], wanted: Sequence[NDArray[Any]], what: str) -> None:
    for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_array_equal(one, other, f"{what}, result {k}", strict=True)


@pytest.mark.parametrize("family", FAMILIES)
def test_an_op_is_what_xla_makes_of_it(family: str) -> None:
    drawn = list(uses(family, 0, USES))
    text = program(drawn)
    run = shlo_disc.compile(text, options=FAST)
    for size in SIZES:
        rng = np.random.default_rng(size)
        inputs = [operand.draw(rng, size) for use in drawn for operand in use.operands]
        found = [np.asarray(x) for x in run(*inputs)]
        same(found, xla_reference(text, inputs), f"{family} at {size}, by XLA")
        same(found, interpret(legalize(parse_module(text)), inputs), f"{family} at {size}, interpreted")
