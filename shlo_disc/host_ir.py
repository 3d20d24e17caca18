"""The steps of a host program, and where its buffers are: one IR from the plan of the compiler to the runtime.

Types are generic in their sizes `S`: dims while the compiler plans, `SizeExpr` in an artifact. A step of the plan knows
what it was made from (`M`); in an artifact that is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, cast

from typing_extensions import TypeVar

from shlo_disc.schedules.candidates import Candidate
from shlo_disc.schedules.model import Rates
from shlo_disc.size_expr import SizeExpr

Slot: TypeAlias = int  # a number of a buffer of the program
BufferKind: TypeAlias = Literal["argument", "result", "constant", "arena", "packed", "null"]
S = TypeVar("S", default=SizeExpr)
M = TypeVar("M", default=None)
_NOTHING = cast("Any", None)


@dataclass(frozen=True, slots=True)
class Buffer(Generic[S, M]):
    """Where the bytes of a buffer are: `size` of them.

    `kind` is `argument`, `result` or `constant` (by `number`), `arena` (at byte `offset`), `packed` (what its packing
    left, or a null pointer), or `null`. It holds what is needed from moment `first` to moment `last`, inclusive (never
    if `first` is larger). Moments count the leaves of the program's steps from 0, and each reading of a loop's flag
    (between condition and body) or of a branch's number. Buffers of the same `memory` (a slot) are one piece of memory
    at different times; None: no other buffer is. `packed`: an operand packed before a loop, which this buffer aliases
    when present; else it is in the arena, or (of size 0) a null pointer. `whole`: bytes of all its rows, of which there
    are only those of one unit for each thread, if the region has units (`Member.held`).
    """

    kind: BufferKind
    number: int
    offset: S
    size: S
    label: str
    dtype: str = "uint8"
    shape: tuple[S, ...] = ()
    first: int = 0
    last: int = 0
    memory: Slot | None = None
    packed: Slot | None = None
    whole: S | None = None
    made: M = _NOTHING


@dataclass(frozen=True, slots=True)
class Selection(Generic[S]):
    """How a product `m x n x k` of a launch, or all of a batch, is computed: by the candidate of a number.

    Without candidates the prelude chooses. `rates` are those of the candidates' micro-kernels, on one of so many
    `threads`. `product` names it; `how` says, for people, what the choice was made by.
    """

    product: str
    m: S
    n: S
    k: S
    batch: S
    candidates: tuple[Candidate, ...]
    rates: tuple[Rates, ...]
    number: S
    threads: int
    how: str


@dataclass(frozen=True, slots=True)
class Launch(Generic[S]):
    """Run a kernel over `[0, extent)`, split among threads in ranges of at least `grain` tasks (not if `extent` is 0).

    A kernel is a `ShloKernel` of `device/call/runtime.h`. `replaced`: slots not read if others are there.
    Skipped if there is a buffer in `unless`.
    """

    kernel: str
    buffers: tuple[Slot, ...]
    symbols: tuple[str, ...]
    extent: S
    grain: S
    scratch: S  # bytes of private memory each thread needs
    replaced: tuple[tuple[Slot, Slot], ...] = ()
    selections: tuple[Selection[S], ...] = ()  # of its products
    unless: Slot | None = None


L = TypeVar("L", default=Launch)


@dataclass(frozen=True, slots=True)
class Held(Generic[S]):
    """The buffer at a position of a launch's is the rows of one unit, `size` bytes, for each thread."""

    position: int
    size: S


@dataclass(frozen=True, slots=True)
class Member(Generic[S, L]):
    """A launch of a region: its `tasks` in each unit of rows, of `extent` in all, at the sizes that `symbols` name.

    `held`: those of its buffers of which each thread has only the rows of a unit.
    """

    launch: L
    symbols: tuple[str, ...]
    tasks: S
    extent: S
    held: tuple[Held[S], ...] = ()


@dataclass(frozen=True, slots=True)
class LaunchGroup(Generic[S, L]):
    """Launches by rows: a thread goes through all of them for units of `rows` rows, with no barrier in between.

    Threads share the `units` in tasks of at least `grain`; `work` is that of all, in grains of launches. If there are
    no units, or one thread, it is a launch after the other.
    """

    members: tuple[Member[S, L], ...]
    rows: S
    units: S
    grain: S
    work: S
    scratch: S

    @property
    def launches(self) -> tuple[L, ...]:
        """In order."""
        return tuple([member.launch for member in self.members])


@dataclass(frozen=True, slots=True)
class Copy:
    """Copy a whole buffer."""

    source: Slot
    target: Slot


T = TypeVar("T", default="Step")  # what loops and branches consist of


@dataclass(frozen=True, slots=True)
class While(Generic[T, M]):
    """Run `condition`, then `body` as long as the i1 in `flag` is true."""

    condition: tuple[T, ...]
    flag: Slot
    body: tuple[T, ...]
    made: M = _NOTHING


@dataclass(frozen=True, slots=True)
class Case(Generic[T, M]):
    """Run the branch that the integer in `index` (of type `index_dtype`) picks; out of range picks the last."""

    index: Slot
    index_dtype: str
    branches: tuple[tuple[T, ...], ...]
    made: M = _NOTHING


@dataclass(frozen=True, slots=True)
class Constant:
    """A large literal: raw little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


# What a function of Python is told about a call: nothing that is not plain data.
HostValue: TypeAlias = int | str | Constant | tuple["HostValue", ...]


@dataclass(frozen=True, slots=True)
class HostCall:
    """Call a function of Python that reads `operands` and fills `results`, whole. `number` counts them from 0.

    `callee` is a name in `runtime/callees.py`, `attributes` is what it wants to know: numbers, strings, arrays,
    and tuples of them. `library`: what computes it, for people. `place`: which op of which line this is, for errors.
    """

    number: int
    callee: str
    library: str
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    attributes: Mapping[str, HostValue]
    place: str


@dataclass(frozen=True, slots=True)
class GridLaunch(Generic[S]):
    """Run a kernel on a grid of `blocks` blocks of `threads` threads (skipped if `blocks` is 0).

    A kernel is `void name(T* …, int64_t …)`: a pointer per entry of `buffers`, then a number per entry of `symbols`.
    `shared` is its dynamic shared memory in bytes. For the launch table, in clock cycles: `cycles` is how long one
    block keeps a multiprocessor busy (its share of memory traffic or arithmetic), `latency` how long one block takes at
    least (the longest chain of steps that wait for each other). `pipelined`: a block loads ahead while it computes.
    """

    kernel: str
    buffers: tuple[Slot, ...]
    symbols: tuple[str, ...]
    blocks: S
    threads: int
    shared: S
    cycles: S
    latency: S
    pipelined: bool = False


@dataclass(frozen=True, slots=True)
class BatchLoop(Generic[S]):
    """A loop around a library product: strides are in elements, 0 where an operand does not vary."""

    extent: S
    a_stride: S
    b_stride: S
    c_stride: S


@dataclass(frozen=True, slots=True)
class Product(Generic[S]):
    """`C = A @ B` by cuBLAS (`cublasGemmStridedBatchedEx`), row-major, per point of `batch`.

    The last batch loop is cuBLAS's own. Matrices are m x k, k x n and m x n from element `*_offset` of their buffers;
    `*_leading` is the distance of two rows, or of two columns where `*_transposed`. `dtypes` are those of A and B, and
    of C; `compute` is `f32`, `tf32` or `f64`. Skipped if m, n or the batch is empty; if k is 0, C becomes 0.
    """

    a: Slot
    b: Slot
    c: Slot
    a_offset: S
    b_offset: S
    c_offset: S
    a_leading: S
    b_leading: S
    c_leading: S
    a_transposed: bool
    b_transposed: bool
    m: S
    n: S
    k: S
    batch: tuple[BatchLoop[S], ...]
    dtypes: tuple[str, str]
    compute: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Set every byte of a buffer."""

    target: Slot
    byte: int


Command: TypeAlias = GridLaunch[S] | Product[S] | Fill | Copy


@dataclass(frozen=True, slots=True)
class Guard(Generic[S]):
    """A demand on sizes: `lhs relation rhs`."""

    lhs: S
    relation: Literal["==", "<=", ">="]
    rhs: S


@dataclass(frozen=True, slots=True)
class Variant(Generic[S]):
    """One way to compute a group: legal if all guards hold and, if `aligned`, all its arguments start at 16 bytes."""

    label: str
    guards: tuple[Guard[S], ...]
    aligned: bool
    commands: tuple[Command[S], ...]


@dataclass(frozen=True, slots=True)
class Choice(Generic[S]):
    """Run the commands of the cheapest legal variant. `number` counts the choices of a program from 0."""

    number: int
    variants: tuple[Variant[S], ...]


Step: TypeAlias = Launch | LaunchGroup | Choice | HostCall | Copy | While | Case
