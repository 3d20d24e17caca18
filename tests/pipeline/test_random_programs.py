"""Random compositions: fused, unfused and `jax.jit` agree."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shlo_disc
from tests.pipeline.compositions import RULES, Step, Value, compose, symbol
from tests.pipeline.exports import FAST, In, by_jax, check, exported, flat
from tests.pipeline.guarded import guarded

pytestmark = pytest.mark.slow

EXAMPLES = 20
INPUTS = (In("b, s"), In("s, n"), In("b, s, n"))
SIZES = ({"b": 3, "s": 5, "n": 2}, {"b": 1, "s": 17, "n": 1}, {"b": 9, "s": 2, "n": 16})
UNFUSED = replace(FAST, fusion="none")

NUMBERS = st.integers(0, 59)
STEPS = st.lists(st.builds(Step, st.sampled_from(sorted(RULES)), NUMBERS, NUMBERS, NUMBERS), min_size=5, max_size=12)


def function_of(steps: list[Step]) -> Callable[..., Any]:
    """The JAX function of a list of steps: its last value, and the one in the middle."""

    def run(x: Any, y: Any, z: Any) -> Any:
        b, s, n = (symbol(name, size) for name, size in zip("bsn", z.shape, strict=True))
        values = compose(steps, [Value(x, (b, s)), Value(y, (s, n)), Value(z, (b, s, n))])
        return values[-1].array, values[3 + len(steps) // 2].array

    return run


@settings(max_examples=EXAMPLES)
@given(STEPS)
def test_fusion_changes_no_result(steps: list[Step]) -> None:
    function = function_of(steps)
    program = exported(function, INPUTS)
    variants = {"fused": FAST, "unfused": UNFUSED}
    compiled = {name: shlo_disc.compile(program, options=options) for name, options in variants.items()}
    for seed, sizes in enumerate(SIZES):
        rng = np.random.default_rng(seed)
        arrays = [i.array(rng, sizes) for i in INPUTS]
        wanted = by_jax(function, arrays)
        for name, run in compiled.items():
            check(flat(run, arrays), wanted, f"{name}, {sizes}", floor=1.0)
            check(
                guarded(run)([arrays[k] for k in program.module_kept_var_idx]),
                wanted,
                f"{name}, {sizes}, guarded",
                floor=1.0,
            )
