"""What the compiler hands to the runtime: plain data, which `codec` writes to files and reads back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from shlo_disc.interface import Argument, CheckText, Donation, Reading, Result, SizeLimit
from shlo_disc.overview import Overview
from shlo_disc.schedules.selection import Selection
from shlo_disc.size_expr import SizeExpr

Slot: TypeAlias = int  # a number of a buffer of the program
DeviceKind: TypeAlias = Literal["cpu", "cuda"]
LARGEST_SIZE = (1 << 31) - (1 << 16)  # of a `?` of an argument: positions like `i + 1`, which masks compare, are i32


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where the bytes of a buffer are: `size` of them.

    `kind` is `argument`, `result` or `constant` (by `number`), `arena` (at byte `offset`), `packed` (what its packing
    left, or a null pointer), or `null`. It holds what is needed from moment `first` to moment `last`, inclusive (never
    if `first` is larger). Moments count the leaves of the program's steps from 0, and each reading of a loop's flag
    (between condition and body) or of a branch's number. Buffers of the same `memory` (a slot) are one piece of memory
    at different times; None: no other buffer is. `packed`: an operand packed before a loop; it is that buffer if there
    is one, else in the arena, else (of size 0) a null pointer. `whole`: bytes of all its rows, of which there are only
    those of one unit for each thread, if the region has units (`Member.held`).
    """

    kind: str
    number: int
    offset: SizeExpr
    size: SizeExpr
    label: str
    dtype: str = "uint8"
    shape: tuple[SizeExpr, ...] = ()
    first: int = 0
    last: int = 0
    memory: Slot | None = None
    packed: Slot | None = None
    whole: SizeExpr | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """Run a kernel over `[0, extent)`, split among threads in pieces of at least `grain` (skipped if `extent` is 0).

    A kernel is a `ShloKernel` of `lower_cpu/prelude/runtime.h`. `replaced`: slots not read if others are there.
    Skipped if there is a buffer in `unless`.
    """

    kernel: str
    buffers: tuple[Slot, ...]
    dims: tuple[SizeExpr, ...]
    extent: SizeExpr
    grain: SizeExpr
    scratch: SizeExpr  # bytes of private memory each thread needs
    replaced: tuple[tuple[Slot, Slot], ...] = ()
    selections: tuple[Selection, ...] = ()  # of its products
    unless: Slot | None = None


@dataclass(frozen=True, slots=True)
class Member:
    """A launch of a region: its `pieces` in each unit, of `extent` in all, at the sizes `dims`.

    `held`: positions of those of its buffers that have the rows of one unit for each thread, and the bytes of these.
    """

    launch: Launch
    dims: tuple[SizeExpr, ...]
    pieces: SizeExpr
    extent: SizeExpr
    held: tuple[tuple[int, SizeExpr], ...] = ()


@dataclass(frozen=True, slots=True)
class Region:
    """Launches by rows: a thread goes through all of them for units of `rows` rows, and nobody waits between them.

    Threads share the `units` in pieces of at least `grain`; `work` is that of all, in grains of launches. If there are
    no units, or one thread, it is a launch after the other.
    """

    members: tuple[Member, ...]
    rows: SizeExpr
    units: SizeExpr
    grain: SizeExpr
    work: SizeExpr
    scratch: SizeExpr

    @property
    def launches(self) -> tuple[Launch, ...]:
        """In order."""
        return tuple(member.launch for member in self.members)


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


@dataclass(frozen=True, slots=True)
class HostCall:
    """Call a function of Python that reads `operands` and fills `results`, whole. `number` counts them from 0.

    `callee` is a name in `runtime/callees.py`, `attributes` is what it wants to know: numbers, strings, arrays,
    and tuples of them. `place` says which op of which line this is, for errors.
    """

    number: int
    callee: str
    operands: tuple[Slot, ...]
    results: tuple[Slot, ...]
    attributes: Mapping[str, HostValue]
    place: str


@dataclass(frozen=True, slots=True)
class GridLaunch:
    """Run a CUDA kernel on `blocks` blocks of `threads` threads (skipped if `blocks` is 0).

    A kernel is `void name(T* …, int64_t …)`: a pointer per entry of `buffers`, then a number per entry of `dims`.
    `shared` is its dynamic shared memory in bytes. For the launch table, in clock cycles: `cycles` is how long one
    block keeps a multiprocessor busy (its share of memory traffic or arithmetic), `latency` how long one block takes at
    least (the longest chain of steps that wait for each other). `pipelined`: a block loads ahead while it computes.
    """

    kernel: str
    buffers: tuple[Slot, ...]
    dims: tuple[SizeExpr, ...]
    blocks: SizeExpr
    threads: int
    shared: SizeExpr
    cycles: SizeExpr
    latency: SizeExpr
    pipelined: bool = False


# What CUDA's headers call the types that a `Product` names: cudaDataType_t and cublasComputeType_t.
CUDA_DATA_TYPES: Mapping[str, int] = {
    "float32": 0, "float64": 1, "float16": 2, "int8": 3, "complex64": 4, "complex128": 5, "uint8": 8, "int32": 10,
    "bfloat16": 14,
}  # fmt: skip
CUBLAS_COMPUTE_TYPES: Mapping[str, int] = {"f32": 68, "tf32": 77, "f64": 70}


@dataclass(frozen=True, slots=True)
class BatchLoop:
    """A loop around a library product: strides are in elements, 0 where an operand does not vary."""

    extent: SizeExpr
    a_stride: SizeExpr
    b_stride: SizeExpr
    c_stride: SizeExpr


@dataclass(frozen=True, slots=True)
class Product:
    """`C = A @ B` by cuBLAS (`cublasGemmStridedBatchedEx`), row-major, per point of `batch`.

    The last batch loop is cuBLAS's own. Matrices are m x k, k x n and m x n from element `*_offset` of their buffers;
    `*_leading` is the distance of two rows, or of two columns where `*_transposed`. `dtypes` are those of A and B, and
    of C; `compute` is `f32`, `tf32` or `f64`. Skipped if m, n or the batch is empty; if k is 0, C becomes 0.
    """

    a: Slot
    b: Slot
    c: Slot
    a_offset: SizeExpr
    b_offset: SizeExpr
    c_offset: SizeExpr
    a_leading: SizeExpr
    b_leading: SizeExpr
    c_leading: SizeExpr
    a_transposed: bool
    b_transposed: bool
    m: SizeExpr
    n: SizeExpr
    k: SizeExpr
    batch: tuple[BatchLoop, ...]
    dtypes: tuple[str, str]
    compute: str


@dataclass(frozen=True, slots=True)
class Fill:
    """Set every byte of a buffer."""

    target: Slot
    byte: int


Command: TypeAlias = GridLaunch | Product | Fill | Copy


@dataclass(frozen=True, slots=True)
class Guard:
    """A demand on sizes: `lhs relation rhs`."""

    lhs: SizeExpr
    relation: Literal["==", "<=", ">="]
    rhs: SizeExpr


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to compute a group: legal if all guards hold and, if `aligned`, all its arguments start at 16 bytes."""

    label: str
    guards: tuple[Guard, ...]
    aligned: bool
    commands: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """Run the commands of the cheapest legal variant. `number` counts the choices of a program from 0."""

    number: int
    variants: tuple[Variant, ...]


Step: TypeAlias = Launch | Region | Choice | HostCall | Copy | While | Case


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One generated file. `libraries` names the prelude objects it is linked with (`gemm_f32`, `conv_f64` …)."""

    name: str
    text: str
    libraries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Constant:
    """A large literal: raw little-endian bytes."""

    dtype: str
    shape: tuple[int, ...]
    data: bytes


# What a function of Python is told about a call: nothing that is not plain data.
HostValue: TypeAlias = int | str | Constant | tuple["HostValue", ...]


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a program, up to where sizes become known that the next part needs; or a loop, or branches.

    Values are numbered: the arguments of the program, then the results of each segment. `inputs` are those that it
    takes, `last` those among them that no later segment takes and no caller gets.
    """

    runs: Artifact | Loop | Branches
    inputs: tuple[int, ...]
    last: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Callee:
    """A program that a segment runs, the numbers of those of its inputs that it takes, and what people call it."""

    artifact: Artifact
    takes: tuple[int, ...]
    name: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop whose turns are calls: the first inputs are carried from turn to turn.

    The body returns them, then whether there is another turn: the condition is asked before the first one. The results
    are what is carried in the end, then the sizes (i64) that `sized` names: a result and an axis. `place`: for people.
    """

    condition: Callee
    body: Callee
    sized: tuple[tuple[int, int], ...]
    place: str


@dataclass(frozen=True, slots=True)
class Branches:
    """Programs of which the first input, an index, says which one runs: the last one for what is out of range.

    The results are its results, then the sizes that `sized` names.
    """

    branches: tuple[Callee, ...]
    sized: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Artifact:
    """A compiled program, but for the machine code.

    `symbols` lists raw symbols first (`raw`: argument number and axis of each), then those of `readings`, then one per
    entry of `late` and of `definitions`. `late` says where sizes come from that become known during a call: then the
    program is its `segments`, whose values numbered `returned` are its results, and has no steps itself. `donations`
    names the arguments that a call writes to: who runs it gives it others where that is not safe. `host` is the
    generated driver with `shlo_plan` and `shlo_run`; `steps` is the same for the VM. `free` are the names of the sizes
    that all follow from, `raw_sizes` the first symbols in terms of them. `packings` fill their last buffer once.
    `limits`: what no call may exceed, also tensors that are not stored. `conditions`: see `host/program.py`. On "cuda"
    indices are 32 bits wide in calls where all `index_spaces` (numbers of elements) are small enough.
    """

    name: str
    arguments: tuple[Argument, ...]
    results: tuple[Result, ...]
    symbols: tuple[str, ...]
    raw: tuple[tuple[int, int], ...]
    definitions: tuple[SizeExpr, ...]
    checks: tuple[CheckText, ...]
    buffers: tuple[Buffer, ...]
    constants: tuple[Constant, ...]
    arena_bytes: SizeExpr
    steps: tuple[Step, ...]
    kernels: tuple[SourceFile, ...]
    host: SourceFile
    overview: Overview
    device: DeviceKind = "cpu"
    index_spaces: tuple[SizeExpr, ...] = ()
    free: tuple[str, ...] = ()
    raw_sizes: tuple[SizeExpr, ...] = ()
    donations: tuple[Donation, ...] = ()
    readings: tuple[Reading, ...] = ()
    late: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    returned: tuple[int, ...] = ()
    packings: tuple[Launch, ...] = ()
    limits: tuple[SizeLimit, ...] = ()
    conditions: tuple[SizeExpr, ...] = ()

    @property
    def given(self) -> int:
        """How many symbols a call brings, or finds: the first ones."""
        return len(self.raw) + len(self.readings) + len(self.late)

    @property
    def parts(self) -> tuple[Artifact, ...]:
        """What is compiled: the artifacts of the segments, and of what they call, or this one."""
        return tuple([part for _, part in self.named_parts])

    @property
    def named_parts(self) -> tuple[tuple[str, Artifact], ...]:
        """The same with what people call them: `segment 1, body of the loop at model.mlir:7:3, segment 0`."""
        if not self.segments:
            return (("", self),)
        found = list[tuple[str, Artifact]]()
        for number, segment in enumerate(self.segments):
            for role, artifact in called(segment.runs):
                for name, part in artifact.named_parts:
                    found.append((", ".join(filter(None, (f"segment {number}", role, name))), part))
        return tuple(found)

    @property
    def places(self) -> tuple[str, ...]:
        """Where a call finds the value of each of them, for people."""
        dims = (f"dimension {axis} of {self.arguments[argument].name}" for argument, axis in self.raw)
        return (*dims, *map(self._place, self.readings), *self.late)

    def _place(self, reading: Reading) -> str:
        at = self.arguments[reading.argument]
        return f"element {reading.element} of {at.name}" if at.shape else f"the value of {at.name}"


def called(runs: Artifact | Loop | Branches) -> tuple[tuple[str, Artifact], ...]:
    """The programs that a segment runs, each with what it is there."""
    if isinstance(runs, Artifact):
        return (("", runs),)
    callees = (runs.condition, runs.body) if isinstance(runs, Loop) else runs.branches
    return tuple([(one.name, one.artifact) for one in callees])
