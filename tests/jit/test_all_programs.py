"""Programs under transformations, at learned sizes, 0 and 1 among them.

All pairs take an hour. A run has one of PARTS parts of them, which `JIT_PART` numbers; `JIT_PART=all` runs all.
"""

from __future__ import annotations

import os

import pytest

import shlo_disc
from tests.jit.programs import PROGRAMS, Program
from tests.jit.test_programs import SIZES, compare
from tests.jit.transformations import TRANSFORMATIONS
from tests.pipeline.exports import FAST

pytestmark = pytest.mark.slow

PARTS = 16
PART = os.environ.get("JIT_PART", "0")
PAIRS = [(one, name) for one in PROGRAMS for name in TRANSFORMATIONS if TRANSFORMATIONS[name].suits(one)]
CHOSEN = PAIRS if PART == "all" else PAIRS[int(PART) :: PARTS]


@pytest.mark.parametrize(("program", "name"), CHOSEN, ids=[f"{one.name}-{name}" for one, name in CHOSEN])
def test_a_program_is_transformed_at_all_sizes(program: Program, name: str) -> None:
    transformation = TRANSFORMATIONS[name]
    run = shlo_disc.jit(program.function, options=FAST)
    for size in SIZES if not transformation.second else (3, 2, 0, 1, 5):
        compare(transformation, program, run, size)
