"""A progress bar for operations of more than two seconds, on a terminal; needs rich."""

from __future__ import annotations

import importlib.util
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 2.0  # seconds


class Bar:
    """Shows progress on the standard error stream."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._wanted = sys.stderr.isatty() and importlib.util.find_spec("rich") is not None

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, what: str, done: int, total: int) -> None:
        """Show what is done, how far, of how much; a total of 0 means unknown."""
        if not self._wanted or time.monotonic() - self._started < PATIENCE:
            return
        if self._bar is None or self._task is None:
            self._bar, self._task = _open()
        self._bar.update(self._task, description=what, completed=done, total=total or None)


def _open() -> tuple[Progress, TaskID]:
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    bar.start()
    return bar, bar.add_task("", total=None)
