"""Products of groups of rows on the emulator: every variant, groups of any size, and types without a kernel."""

from __future__ import annotations

import pytest

from tests.emulator.run import emulate, variants
from tests.lower_cpu.test_grouped_products import Case, judge, operands, program_text

CASES: tuple[Case, ...] = (
    ((0, 5, 0, 1, 69, 0), 80, 7, 65), ((-3, 4, 9), 9, 70, 6), ((3, 4), 7, 0, 9), ((), 4, 3, 3), ((0,), 0, 5, 5),
)  # fmt: skip


@pytest.mark.parametrize("ragged", ["rows", "depth"])
@pytest.mark.parametrize("types", ["f32 f32", "bf16 f32", "i8 i32"])
def test_every_variant_multiplies_groups_of_any_size(types: str, ragged: str) -> None:
    text = program_text(ragged, (types,))
    for number in variants(text):
        for case in CASES:
            (right,), (left,), sizes = operands(ragged, case, (types,))
            (found,) = emulate(text, [right, left, sizes], variant=number)
            judge(found, left, right, sizes, f"variant {number}, {case}")
