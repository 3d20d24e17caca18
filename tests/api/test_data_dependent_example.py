"""The examples of sizes that data decides compute what NumPy computes."""

from __future__ import annotations

import pytest

from examples import data_dependent, shrinking_loop


def test_the_example_of_a_filter(capsys: pytest.CaptureFixture[str]) -> None:
    assert data_dependent.main() == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("100000 rows, 25083 kept: as")


def test_the_example_of_a_loop_that_shrinks(capsys: pytest.CaptureFixture[str]) -> None:
    assert shrinking_loop.main() == 0
    assert "100000 roots, 19 turns,  61% of the work: as" in capsys.readouterr().out
