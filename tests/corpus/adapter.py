"""How the corpus runner drives shlo_disc: `run_corpus.py --adapter tests/corpus/adapter.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy.typing import NDArray

import shlo_disc
from shlo_disc.options import CompileOptions

Array = NDArray[Any]


def compile(text: str) -> Callable[[Sequence[Array]], list[Array]]:  # noqa: A001 - the runner's name
    """Compile once; all shapes of a case share it, and so do both drivers, which have to agree bit by bit."""
    generated, vm = shlo_disc.compile(text), shlo_disc.compile(text, options=CompileOptions(driver="vm"))

    def run(inputs: Sequence[Array]) -> list[Array]:
        again = [array.copy() for array in inputs]  # the program may overwrite arguments that it says are donated
        found = list(generated(*inputs))
        for number, (one, other) in enumerate(zip(found, vm(*again), strict=True)):
            if one.shape != other.shape or one.tobytes() != other.tobytes():
                raise AssertionError(f"the drivers disagree about result {number}: C gives {one}, the VM {other}")
        return found

    return run
