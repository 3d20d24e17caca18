"""Options of a compilation, and hints about a program beyond its text."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from shlo_disc.records import record
from shlo_disc.schedules.tables import Schedules

FusionRules: TypeAlias = Literal["none", "full"]


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """Options of a compilation. Every field has a default that is right for most programs.

    Attributes:
        driver: "c" runs the host program in C, "vm" step by step in Python.
        compiler: a path, or "clang", "gcc" or "zig"; None takes the best one there is.
        optimize: the compiler's -O level, 0 to 3.
        threads: the number for a call; None takes `$OMP_NUM_THREADS`, else all cores this process may use
            (docs/explanation/threads.md).
        cache_dir: None takes `$SHLO_DISC_CACHE`, else `$XDG_CACHE_HOME/shlo_disc`, else `~/.cache/shlo_disc`. A folder
            that cannot be used, or that others may write to, causes a `CacheWarning` (docs/reference/cache.md).
        fusion: "full" merges operations into one kernel where that is legal and pays; "none" gives every operation a
            kernel of its own.
        graphs: where the device can, record the launches of a repeated signature, and replay them.
        matmul_precision: "default" lets a GPU round the f32 inputs of matrix products to TF32, as XLA does, and a CPU
            multiply bf16 by dot products of pairs (docs/explanation/kernels.md); "highest" does neither.
        schedules: schedules of matrix products (`shlo_disc.tune` returns them); None takes the best ones known for this
            CPU and for the program.
        trace_selection: log which schedules each call took, for `Compiled.selections`.
        compiler_seconds: the compiler's time limit for one file; None for none.
        isolate_reader: read MLIR bytecode in a process of its own, as damaged bytecode can crash the process that reads
            it; it takes 0.2 s. None does so where bytes, files or deserialized exports are given, False never.
    """

    driver: Literal["c", "vm"] = "c"
    compiler: str | None = None
    optimize: int = 3
    threads: int | None = None
    cache_dir: Path | None = None
    fusion: FusionRules = "full"
    graphs: bool = True
    matmul_precision: Literal["default", "highest"] = "default"
    schedules: Schedules | None = None
    trace_selection: bool = False
    compiler_seconds: int | float | None = 600
    isolate_reader: bool | None = None


@record
class Hints:
    """Hints about one program beyond its text.

    `constraints`: in JAX's language, such as `mod(b, 8) == 0` or `s <= 2*t`; checked at every call. `likely`: values
    that a size often has; they guide choices and are never relied on. `donated`: numbers of arguments whose memory a
    call may overwrite; `donates_marked`: instead, those that the text marks. `allows_empty`: sizes of an export may be
    0, though JAX demands at least 1 of them; the caller knows that the function means the same at 0. `ragged`: sizes
    that are as long as a length in each row, by name, and the arguments with the lengths, by name or number.
    """

    constraints: tuple[str, ...] = ()
    likely: tuple[tuple[str, tuple[int, ...]], ...] = ()
    donated: tuple[int, ...] = ()
    allows_empty: bool = False
    donates_marked: bool = False
    ragged: tuple[tuple[str, str | int], ...] = ()
