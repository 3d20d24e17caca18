"""How the corpus runner drives shlo_disc: `run_corpus.py --adapter tests/corpus/adapter.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

import shlo_disc

Array = NDArray[Any]


def compile(text: str) -> Callable[[Sequence[Array]], list[Array]]:  # noqa: A001 - the runner's name
    """Compile once; all shapes of a case share it."""
    run = shlo_disc.compile(text)
    return lambda inputs: list(run(*inputs))
