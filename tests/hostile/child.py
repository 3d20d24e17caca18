"""A process that compiles and calls programs that may be hostile, and says what came of each.

It reads a line of JSON for each program (`Request`) and writes lines of JSON: one `Answer` when the program is
compiled or refused, one more after its calls. The system limits memory and processor time: a program that needs more
ends in `MemoryError`, or with this process.
"""

from __future__ import annotations

import json
import math
import os
import resource
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc import CompileOptions, InternalError, ShloDiscError, ToolchainError
from shlo_disc import compile as compile_program  # loads the compiler, before memory and time are limited
from shlo_disc.check.calls import guarded
from shlo_disc.check.sampling import DISTRIBUTIONS
from shlo_disc.compiled import Compiled
from shlo_disc.ir.dtypes import DType
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.signature import Argument

Array: TypeAlias = NDArray[Any]

SPARE = 4 << 30  # bytes of addresses beyond those that this process has at its start
SIZES = (2, 1, 0, 3)  # of all open dims alike
MIXED = 2  # calls in which each open dim has a size of its own
OWN_SIZES = (0, 1, 2, 3, 5, 33, 700)
MOST_ELEMENTS = 1 << 20  # of an argument that has memory of its own; larger ones repeat one element
GO = b"\n"  # what the parent says between a compilation and its calls
DTYPES = {dtype.numpy: dtype for dtype in DType}


@dataclass(frozen=True, slots=True)
class Request:
    """A program, the random numbers of its inputs, and how long it may take."""

    text: str
    seed: int
    seconds: float
    driver: Literal["c", "vm"]


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of a program. `foreign`: an exception that should not have left the compiler, or a call."""

    outcome: Literal["compiled", "refused", "ran", "foreign"]
    message: str = ""


def serve() -> None:
    """Answer requests until there are none."""
    answers, cache = os.fdopen(os.dup(1), "w", buffering=1), Path(sys.argv[1])
    os.dup2(2, 1)  # what libraries print is no answer
    limit_memory()
    while line := sys.stdin.readline():
        request = Request(**json.loads(line))
        limit_seconds(request.seconds)
        options = CompileOptions(optimize=0, threads=1, cache_dir=cache, driver=request.driver)

        def built(text: str = request.text, options: CompileOptions = options) -> Compiled:
            return compile_program(text, options=options)

        answer, compiled = judged(built, "compiled")
        answers.write(json.dumps(asdict(answer)) + "\n")
        if compiled is not None and sys.stdin.readline():
            answer, _ = judged(lambda run=compiled, seed=request.seed: call(run, seed), "ran")
            answers.write(json.dumps(asdict(answer)) + "\n")


def judged(work: Callable[[], Any], success: Literal["compiled", "ran"]) -> tuple[Answer, Any]:
    """Do some work, and say whether it ended as it may."""
    try:
        return Answer(success), work()
    except Exception as error:  # noqa: BLE001  which one it is, is the answer
        bugs = InternalError, ToolchainError  # the latter: what was generated is no C++
        is_ours = isinstance(error, ShloDiscError | MemoryError) and not isinstance(error, bugs)
        return Answer("refused" if is_ours else "foreign", described(error)), None


def described(error: Exception) -> str:
    """Name an exception, its causes and where they were raised."""
    parts, cause = list[str](), error
    while isinstance(cause, Exception) and len(parts) < 4:
        trace, where = cause.__traceback__, ""
        while trace is not None:
            where, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
        parts.append(f"{type(cause).__name__} at {where}: {str(cause)[:1000]}")
        cause = cause.__cause__ or cause.__context__
    return "\n".join(parts)


def call(run: Compiled, seed: int) -> None:
    """Call a program at a few sizes, with unusual numbers. Sizes that it refuses are no error unless it refuses all.

    Pages around the arguments can be neither read nor written.
    """
    arguments, refused = run.executable.artifact.arguments, list[Exception]()
    opens = any(isinstance(size, str) for argument in arguments for size in argument.shape)
    sizes = (*SIZES, *[None] * MIXED) if opens else SIZES[:1]
    for number, size in enumerate(sizes):
        rng = np.random.default_rng((seed, number))
        try:
            inputs = [guarded(drawn(argument, size, rng), at_end=rng.random() < 0.8) for argument in arguments]
        except ValueError as error:  # a shape that NumPy has no arrays of
            refused.append(ShloDiscError(str(error)))
            continue
        try:
            for result in run(*inputs):
                result.copy()  # all of its memory is there
        except (InternalError, ToolchainError):
            raise
        except (ShloDiscError, MemoryError) as error:
            str(error)
            refused.append(error)
    if len(refused) == len(sizes):
        raise refused[0]


def drawn(argument: Argument, size: int | None, rng: np.random.Generator) -> Array:
    """An array for an argument whose open dims have this size, or each one of its own.

    Raises `ValueError` if NumPy has no array of this shape.
    """

    def of_open() -> int:
        return int(rng.choice(OWN_SIZES)) if size is None else size

    shape = tuple([of_open() if isinstance(each, str) else each for each in argument.shape])
    return _filled(shape, argument.dtype, rng)


def _filled(shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    whole = tuple(shape)
    if math.prod(whole) > MOST_ELEMENTS:
        return np.broadcast_to(np.zeros((), dtype_of(dtype)), whole)
    kind = ("small", "special", "normal", "wide")[int(rng.integers(4))]
    return np.asarray(DISTRIBUTIONS[kind](rng, whole, DTYPES[dtype]))


def limit_memory() -> None:
    """Allow so many bytes beyond those that this process has now; no file of a crash is left behind."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + SPARE
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def limit_seconds(seconds: float) -> None:
    """Let the system end this process when it has taken so much more processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    with suppress(ValueError):
        _, most = resource.getrlimit(resource.RLIMIT_CPU)
        resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(used.ru_utime + used.ru_stime + seconds), most))


if __name__ == "__main__":
    serve()
