"""The program that `make demo` runs stays right, on a few of its shapes."""

from __future__ import annotations

from examples.quickstart import main


def test_the_quickstart_finds_every_result_right() -> None:
    assert main(["--shapes", "3"]) == 0
