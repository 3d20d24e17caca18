"""The steps of a host program, and where its buffers are: one IR from the plan of the compiler to the runtime.

Types are generic in their sizes `S`: dims while the compiler plans, `SizeExpr` in an artifact. In the plan, buffers and
control steps refer to their source (`made`, of type `M`); in an artifact that is None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, Literal, TypeAlias, cast

from shlo_disc.records import record
from shlo_disc.schedules.candidates import Candidate
from shlo_disc.schedules.model import Rates
from shlo_disc.size_expr import SizeExpr
from shlo_disc.type_variables import TypeVar

Slot: TypeAlias = int  # the number of a buffer of the program
BufferKind: TypeAlias = Literal["argument", "result", "constant", "arena", "packed", "null"]
S = TypeVar("S", default=SizeExpr)
M = TypeVar("M", default=None)
_NOTHING = cast("Any", None)


@record
class Buffer(Generic[S, M]):
    """Where the `size` bytes of a buffer are.

    `kind` is `argument`, `result` or `constant` (by `number`), `arena` (at byte `offset`), `packed` (filled by its
    packing, or a null pointer), or `null`. It is live from moment `first` to moment `last`, inclusive (never if `first`
    is larger). Moments number, from 0, the leaves of the program's steps, and the reads of a loop's flag (between
    condition and body) and of a branch's index. Buffers of the same `memory` (a slot) share it at different times;
    None: no other buffer shares it. `packed`: for operands packed before a loop, the slot of those packed once for many
    calls, which this buffer aliases when present; else it is in the arena, or (of size 0) a null pointer. `whole`:
    bytes of all its rows, of which only one unit for each thread exists, if the region has units (`Member.held`).
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


@record
class Selection(Generic[S]):
    """How a product `m x n x k` of a launch, or all of a batch, is computed: by candidate `number`.

    Without candidates the prelude chooses. `rates` are those of the candidates' micro-kernels, on one of `threads`
    threads. `product` names it; `how` is the basis of the choice, for people.
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


@record
class Launch(Generic[S]):
    """Run a kernel over `[0, extent)`, split among threads in ranges of at least `grain` tasks (not if `extent` is 0).

    A kernel is a `ShloKernel` of `device/call/runtime.h`. `replaced`: pairs of slots, of which the first is not read if
    there is a buffer in the second. Skipped if there is a buffer in `unless`.
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


@record
class Held(Generic[S]):
    """The buffer at `position` of a launch has only the rows of one unit, `size` bytes, for each thread."""

    position: int
    size: S


@record
class Member(Generic[S, L]):
    """A launch of a region: `tasks` in each unit of rows, `extent` in all, at the sizes that `symbols` name.

    `held`: its buffers of which each thread has only the rows of a unit.
    """

    launch: L
    symbols: tuple[str, ...]
    tasks: S
    extent: S
    held: tuple[Held[S], ...] = ()


@record
class LaunchGroup(Generic[S, L]):
    """Launches by rows: a thread goes through all of them for units of `rows` rows, with no barrier in between.

    Threads share the `units` in ranges of at least `grain`; `work` is that of all, in grains of launches. Launches run
    one after the other if there are no units, or if one thread takes part and nothing is held.
    """

    members: tuple[Member[S, L], ...]
    rows: S
    units: S
    grain: S
    work: S
    scratch: S

    @property
    def launches(self) -> tuple[L, ...]:
        """The launches of the members, in order."""
        return tuple([member.launch for member in self.members])


@record
class Copy:
    """Copy a whole buffer."""

    source: Slot
    target: Slot


T = TypeVar("T", default="Step")  # what loops and branches consist of


@record
class While(Generic[T, M]):
    """Run `condition`, then `body` as long as the i1 in `flag` is true."""

    condition: tuple[T, ...]
    flag: Slot
    body: tuple[T, ...]
    made: M = _NOTHING


@record
class Case(Generic[T, M]):
    """Run the branch that the integer in `index` (of type `index_dtype`) picks; out of range picks the last."""

    index: Slot
    index_dtype: str
    branches: tuple[tuple[T, ...], ...]
    made: M = _NOTHING


@record
class Constant:
    """A large literal: raw little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


# What a Python function gets as attributes of a call: plain data only.
HostValue: TypeAlias = int | str | Constant | tuple["HostValue", ...]


@record
class HostCall:
    """Call a Python function that reads `operands` and fills `results`, whole. `number` counts the calls from 0.

    `callee` is a name in `runtime/callees.py`, `attributes` are its parameters: numbers, strings, arrays, and tuples
    of them. `library`: what computes it, for people. `place`: the op and its line, for errors.
    """

    number: int
    callee: str
    library: str
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    attributes: Mapping[str, HostValue]
    place: str


@record
class GridLaunch(Generic[S]):
    """Run a kernel on a grid of `blocks` blocks of `threads` threads (skipped if `blocks` is 0).

    A kernel is `void name(T* …, int64_t …)`: a pointer per entry of `buffers`, then a number per entry of `symbols`.
    `shared` is its dynamic shared memory in bytes. For the launch table, in clock cycles: `cycles` is how long one
    block keeps a multiprocessor busy (its share of memory traffic or arithmetic), `latency` how long one block takes at
    least (the longest chain of dependent steps). `pipelined`: a block loads ahead while it computes.
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


@record
class BatchLoop(Generic[S]):
    """A loop around a library product: strides are in elements, 0 where an operand does not vary."""

    extent: S
    a_stride: S
    b_stride: S
    c_stride: S


@record
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


@record
class Fill:
    """Set every byte of a buffer."""

    target: Slot
    byte: int


Command: TypeAlias = GridLaunch[S] | Product[S] | Fill | Copy


@record
class Guard(Generic[S]):
    """A condition on sizes: `lhs relation rhs`."""

    lhs: S
    relation: Literal["==", "<=", ">="]
    rhs: S


@record
class Variant(Generic[S]):
    """One way to compute a group: legal if all guards hold and, if `aligned`, all its arguments start at 16 bytes."""

    label: str
    guards: tuple[Guard[S], ...]
    aligned: bool
    commands: tuple[Command[S], ...]


@record
class Choice(Generic[S]):
    """Run the commands of the cheapest legal variant. `number` counts the choices of a program from 0."""

    number: int
    variants: tuple[Variant[S], ...]


Step: TypeAlias = Launch | LaunchGroup | Choice | HostCall | Copy | While | Case
