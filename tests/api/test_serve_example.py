"""The example of serving computes what JAX computes."""

from __future__ import annotations

import pytest

from examples.serve import main


def test_the_example_of_serving(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().out == (
        "bound: 167936 bytes given, 0 kept, 196608 packed\n"
        "  packed args[0]['in']: 65536 bytes\n"
        "  packed args[0]['out']: 131072 bytes\n"
        "  dropped args[0]['in']: nothing reads it as it was given\n"
        "  dropped args[0]['out']: nothing reads it as it was given\n"
        "1 compilation, 6 calls, 0 wrong\n"
    )
