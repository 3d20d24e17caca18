"""How the corpus runner drives shlo_disc: `run_corpus.py --adapter tests/corpus/adapter.py`.

`$CORPUS_COMPILER` names another C++ compiler, and `$CORPUS_OPTIMIZE` its -O level: docs/reference/testing.md.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

from numpy.typing import NDArray

import shlo_disc
from shlo_disc.options import CompileOptions

Array = NDArray[Any]
DRIVERS: tuple[Literal["c"], Literal["vm"]] = ("c", "vm")
OPTIONS = CompileOptions(
    compiler=os.environ.get("CORPUS_COMPILER"),
    optimize=int(os.environ.get("CORPUS_OPTIMIZE", CompileOptions().optimize)),
)


def compile(text: str) -> Callable[[Sequence[Array]], list[Array]]:  # noqa: A001 - the runner's name
    """Compile once; all shapes of a case share it, and so do both drivers, which have to agree bit by bit."""
    generated, vm = (shlo_disc.compile(text, options=replace(OPTIONS, driver=driver)) for driver in DRIVERS)

    def run(inputs: Sequence[Array]) -> list[Array]:
        again = [array.copy() for array in inputs]  # the program may overwrite arguments that it says are donated
        found = list(generated(*inputs))
        for number, (one, other) in enumerate(zip(found, vm(*again), strict=True)):
            if one.shape != other.shape or one.tobytes() != other.tobytes():
                raise AssertionError(f"the drivers disagree about result {number}: C gives {one}, the VM {other}")
        return found

    return run
