"""The example of rewriting gives numbers close to JAX's."""

from __future__ import annotations

import pytest

from examples.rewrite import main


def test_the_example_of_rewriting(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().out == (
        "stablehlo.tanh       2 before, 0 after\n"
        "stablehlo.transpose  2 before, 0 after\n"
        "stablehlo.divide     0 before, 2 after\n"
        "at most 0.011 from what JAX computes\n"
    )
