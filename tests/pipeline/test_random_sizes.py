"""Random programs whose sizes come from their data: both host programs against the reference interpreter."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from tests.pipeline.random_sizes import Writer

SEEDS = (206, 211, 219, 224)
STEPS = 8


def inputs(random: Random) -> list[NDArray[Any]]:
    numbers = np.random.default_rng(random.randrange(1 << 30))
    vectors = [numbers.standard_normal(random.choice([0, 1, 2, 5, 8, 17]), dtype=np.float32) for _ in range(2)]
    return [*vectors, *(np.array(random.choice([-3, 0, 1, 2, 5, 30]), np.int32) for _ in range(2))]


@pytest.mark.parametrize(("seed", "control"), [*((seed, False) for seed in SEEDS), (4, True)])
def test_a_random_program(seed: int, *, control: bool) -> None:
    random = Random(seed)
    text = Writer(random).text(STEPS, control=control)
    program = legalize(parse_module(text))
    generated, vm = (
        shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=driver, optimize=0))
        for driver in ("c", "vm")
    )
    for _ in range(5):
        arrays = inputs(random)
        wanted = interpret(program, arrays)
        for one, other, right in zip(generated(*arrays), vm(*arrays), wanted, strict=True):
            assert one.shape == other.shape == right.shape
            assert one.tobytes() == other.tobytes()
            np.testing.assert_allclose(one, right, rtol=1e-5, atol=1e-5)
