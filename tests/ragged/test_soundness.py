"""Results within the lengths are the same for every padding exactly where the analysis proves it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.ragged import attention_programs
from tests.ragged.programs import PROGRAMS, Masked
from tests.ragged.running import Padded, analysed, lengths_of, same

assert attention_programs  # its import adds its programs
_QUICK = (
    "mean_of_one_too_many",
    "largest_by_finite_mask",
    "attention_with_added_mask",
    "causal_attention",
    "masked_convolution_with_halo",
    "convolution_with_halo",
    "without_first",
    "weighted_mean_by_finite_mask",
    "recurrent_states",
    "last_state",
)
_PARAMS = [pytest.param(one, id=one.name, marks=() if one.name in _QUICK else pytest.mark.slow) for one in PROGRAMS]


class TestPadding:
    @pytest.mark.parametrize("one", _PARAMS)
    def test_results(self, one: Masked) -> None:
        rng = np.random.default_rng(PROGRAMS.index(one))
        analysis, program = analysed(one)
        assert analysis.is_proven is one.proven, analysis.explain()
        differs = False
        for _ in range(3):
            padded = Padded(program, one, lengths_of(one, rng, analysis.least_length), rng)
            first = padded.run()
            differs |= not same(first, padded.run())
            if one.nan:
                differs |= not same(first, padded.run(nan=True))
        assert differs is not one.proven
