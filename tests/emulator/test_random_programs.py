"""Random compositions on the emulator and `jax.jit` agree, by the launch table's choice and by any other."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled
from tests.pipeline.compositions import Step
from tests.pipeline.exports import by_jax, check, exported, flat
from tests.pipeline.test_random_programs import INPUTS, SIZES, STEPS, function_of

pytestmark = pytest.mark.slow

EXAMPLES = 25


@settings(max_examples=EXAMPLES)
@given(STEPS, st.sampled_from([None, 0, 1, 2, 3]))
def test_every_variant_agrees_with_jax(steps: list[Step], variant: int | None) -> None:
    function = function_of(steps)
    run = compiled(exported(function, INPUTS), EmulatedDevice(), variant=variant)
    for seed, sizes in enumerate(SIZES):
        rng = np.random.default_rng(seed)
        arrays = [i.array(rng, sizes) for i in INPUTS]
        check(flat(run, arrays), by_jax(function, arrays), f"variant {variant}, {sizes}", floor=1.0)
