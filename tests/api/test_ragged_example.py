"""The example of ragged batches computes what JAX computes."""

from __future__ import annotations

import numpy as np
import pytest

from examples.ragged_encoder import is_right, main


@pytest.mark.slow
def test_the_example_of_ragged_batches(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--batches", "2"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "compilations: 1 padded, 1 ragged, 2 by XLA; 2 batches, 0 wrong"


def test_the_example_compares_elements_within_the_lengths_alone() -> None:
    lengths = np.array([1, 2], np.int32)
    expected = np.arange(1, 13, dtype=np.float32).reshape(2, 3, 2)
    found = np.where((np.arange(3) < lengths[:, None])[..., None], expected, 0)
    assert is_right(found, expected, lengths)
    assert not is_right(expected, expected, lengths), "elements beyond the lengths are not 0"
    found[1, 1, 0] = np.nan
    assert not is_right(found, expected, lengths)
