"""What the compiler hands to the runtime: plain data that pickles, and imports nothing of ours.

Formulas are Python expressions over symbol names; besides operators they may call `floordiv`, `mod`, `min`, `max`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

Formula: TypeAlias = str
Slot: TypeAlias = int  # a number of a buffer of the program


@dataclass(frozen=True, slots=True)
class Argument:
    """One array the program takes. `shape` has an int per static dim and the name of a raw symbol per dynamic one."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """One array the program returns."""

    dtype: str
    shape: tuple[Formula, ...]


@dataclass(frozen=True, slots=True)
class CheckText:
    """A demand on sizes. `message` may hold `{0}` …, the values of `values`; `where` is the demanding line."""

    lhs: Formula
    relation: str
    rhs: Formula
    message: str
    values: tuple[Formula, ...]
    where: str


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where the bytes of a buffer are.

    `kind` is `argument`, `result`, `constant` (numbered by `number`), or `arena` (at byte offset `offset`).
    `size` is in bytes.
    """

    kind: str
    number: int
    offset: Formula
    size: Formula
    label: str
    dtype: str = "uint8"
    shape: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel over `[0, extent)`, split among threads in pieces of at least `grain` (skipped if `extent` is 0).

    A kernel is `void name(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end, void* scratch)`.
    """

    kernel: str
    buffers: tuple[Slot, ...]
    dims: tuple[Formula, ...]
    extent: Formula
    grain: Formula
    scratch: Formula  # bytes of private memory each thread needs


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a whole buffer."""

    source: Slot
    target: Slot


@dataclass(frozen=True, slots=True)
class While:
    """Run `condition`, then `body` as long as the i1 in `flag` is true."""

    condition: tuple[Step, ...]
    flag: Slot
    body: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """Run the branch that the integer in `index` (of type `index_dtype`) picks; out of range picks the last."""

    index: Slot
    index_dtype: str
    branches: tuple[tuple[Step, ...], ...]


Step: TypeAlias = Launch | Copy | While | Case


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One generated C++ file. `libraries` names the prelude objects it is linked with (`gemm_f32`, `conv_f64` …)."""

    name: str
    text: str
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """A large literal: raw little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled program, but for the machine code.

    `symbols` lists raw symbols first (`raw`: argument number and axis of each), then one per entry of `definitions`.
    `host` is the generated driver with `shlo_plan` and `shlo_run`; `steps` is the same program for the VM.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    symbols: tuple[str, ...]
    raw: tuple[tuple[int, int], ...]
    definitions: tuple[Formula, ...]
    checks: tuple[CheckText, ...]
    buffers: tuple[Buffer, ...]
    constants: tuple[Constant, ...]
    arena_bytes: Formula
    steps: tuple[Step, ...]
    kernels: tuple[SourceFile, ...]
    host: SourceFile
    explanation: str


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """What a user may choose. Every field has a default that is right for most programs.

    `driver`: the generated C++ host program, or the VM that runs the same program step by step.
    `compiler`: a path, or `clang`, `gcc` or `zig`; None takes the best one there is.
    `optimize`: the compiler's -O level. `threads`: None takes all cores this process may use.
    `cache_dir`: None takes $XDG_CACHE_HOME/shlo_disc, or ~/.cache/shlo_disc.
    `fusion`: `none` gives every operation a kernel of its own.
    """

    driver: Literal["c", "vm"] = "c"
    compiler: str | None = None
    optimize: int = 3
    threads: int | None = None
    cache_dir: Path | None = None
    fusion: Literal["full", "none"] = "full"
