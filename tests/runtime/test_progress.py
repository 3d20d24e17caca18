"""A bar shows on a terminal how far what takes long is, and nowhere else."""

from __future__ import annotations

import io
import sys

import pytest

from shlo_disc import progress
from shlo_disc.progress import Bar


class Terminal(io.StringIO):
    """An error stream that says it is a terminal, or not."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self._is_terminal = is_terminal

    def isatty(self) -> bool:
        return self._is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "patience", "shown"), [(True, 0.0, True), (False, 0.0, False), (True, 60.0, False)]
)
def test_a_bar_is_shown_where_someone_looks_and_waits(
    monkeypatch: pytest.MonkeyPatch, is_terminal: bool, patience: float, shown: bool
) -> None:
    stream = Terminal(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "PATIENCE", patience)
    monkeypatch.setenv("TERM", "xterm")
    with Bar() as bar:
        for done in range(3):
            bar.show("timing", done, 3)
    assert ("timing" in stream.getvalue()) == shown
    assert ("/3" in stream.getvalue()) == shown
