"""Every program under every transformation, at learned sizes, 0 and 1 among them."""

from __future__ import annotations

import pytest

import shlo_disc
from tests.jit.programs import PROGRAMS, Program
from tests.jit.test_programs import SIZES, compare
from tests.jit.transformations import TRANSFORMATIONS
from tests.pipeline.exports import FAST

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", TRANSFORMATIONS)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda one: one.name)
def test_a_program_is_transformed_at_all_sizes(program: Program, name: str) -> None:
    transformation = TRANSFORMATIONS[name]
    if not transformation.suits(program):
        pytest.skip("it has no such derivative")
    run = shlo_disc.jit(program.function, options=FAST)
    for size in SIZES if not transformation.second else (3, 2, 0, 1, 5):
        compare(transformation, program, run, size)
