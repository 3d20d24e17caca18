"""The example of a size that data decides keeps the rows that NumPy keeps."""

from __future__ import annotations

import pytest

from examples.data_dependent import main


def test_the_example_of_a_filter(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("100000 rows, 25083 kept: as")
