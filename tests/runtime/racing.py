"""Calls a program from several threads at once, in a process that was started under ThreadSanitizer.

    python racing.py PROGRAM.mlir ARRAYS.npz COMPILER

Two callers share the pool of four threads. Exits with 1 if a result differs from the bits in the file. JAX is not
imported: its threads are not instrumented.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np

os.environ.pop("LD_PRELOAD", None)  # not for the compilers that are started from here

import shlo_disc
from shlo_disc.options import CompileOptions

CALLERS, CALLS = 2, 3


def results_of(found: object) -> list[np.ndarray[Any, Any]]:
    if isinstance(found, tuple | list):
        return [np.asarray(x) for x in cast("Sequence[Any]", found)]
    return [np.asarray(found)]


def main(text: str, arrays: str, compiler: str) -> int:
    held = np.load(arrays)
    inputs = [held[f"input{k}"] for k in range(sum(name.startswith("input") for name in held))]
    expected = [held[f"result{k}"] for k in range(len(held) - len(inputs))]
    program = shlo_disc.compile(
        Path(text).read_text(encoding="utf-8"), options=CompileOptions(threads=4, optimize=1, compiler=compiler)
    )
    wrong = list[str]()

    def call() -> None:
        for _ in range(CALLS):
            found = results_of(program(*inputs))
            if [x.tobytes() for x in found] != [x.tobytes() for x in expected]:
                wrong.append(threading.current_thread().name)

    callers = [threading.Thread(target=call) for _ in range(CALLERS)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    print(f"{CALLERS * CALLS} calls, {len(wrong)} with other bits")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
