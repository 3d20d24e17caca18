"""Stack space for recursion into deeply nested programs."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import ParamSpec, TypeVar

from shlo_disc.limits import MOST_NESTED

_FRAMES = 10 * MOST_NESTED  # readers, writers and checks nest at most eight calls per bracket

_P = ParamSpec("_P")
_T = TypeVar("_T")


def with_room(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Make a function that recurses into programs run in a new thread where the caller's stack is nearly full."""

    @wraps(function)
    def run(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if _is_roomy():
            return function(*args, **kwargs)
        with ThreadPoolExecutor(1) as threads:
            return threads.submit(function, *args, **kwargs).result()

    return run


def _is_roomy() -> bool:
    left = sys.getrecursionlimit() - _FRAMES
    frame = inspect.currentframe()
    while frame is not None and left > 0:
        frame = frame.f_back
        left -= 1
    return left > 0
