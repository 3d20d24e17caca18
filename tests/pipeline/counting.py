"""How much a function of Python does, in numbers that are the same in every run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from types import FrameType
from typing import Any


@dataclass(slots=True)
class Work:
    """Calls of functions, generators resumed and builtins, and how many were inside each other at most."""

    calls: int = 0
    deepest: int = 0


def work_of(run: Callable[[], object]) -> Work:
    """Count while `run` runs, in this thread."""
    work, depth = Work(), 0

    def watch(_frame: FrameType, event: str, _argument: Any) -> None:
        nonlocal depth
        if event == "call":
            work.calls += 1
            depth += 1
            work.deepest = max(work.deepest, depth)
        elif event == "return":
            depth -= 1
        elif event == "c_call":
            work.calls += 1

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(before)
    return work
