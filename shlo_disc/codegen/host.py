"""The host program: which kernels run in which order, and where every buffer lives.

The same program is printed to C++ and run by the VM; nothing here knows a target. A `KernelRef` says how a target
launches what it printed for a group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from shlo_disc.codegen.groups import Context, Fuse, FusionPlan, Group, GroupKind
from shlo_disc.codegen.memory import Interval, place
from shlo_disc.codegen.op_graph import group_inputs
from shlo_disc.dynamic_ops.program import Body, Program, Tensor
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.expr.dtypes import DType


@dataclass(frozen=True, slots=True)
class KernelRef:
    """A printed kernel, ready to launch: `extent` pieces, at least `grain` at a time per thread."""

    name: str
    tensors: tuple[Tensor, ...]
    symbols: tuple[str, ...]
    extent: Dim
    grain: Dim
    scratch: Dim


@dataclass(frozen=True, slots=True)
class GridCall:
    """One CUDA launch, see `artifact.GridLaunch`. `buffers` are positions in `GridRef.buffers`."""

    kernel: str
    buffers: tuple[int, ...]
    symbols: tuple[str, ...]
    blocks: Dim
    threads: int
    shared: Dim
    cycles: Dim
    latency: Dim


@dataclass(frozen=True, slots=True)
class BatchCall:
    """A loop around a library product."""

    extent: Dim
    a_stride: Dim
    b_stride: Dim
    c_stride: Dim


@dataclass(frozen=True, slots=True)
class ProductCall:
    """One library product, see `artifact.Product`. Buffers are positions in `GridRef.buffers`."""

    a: int
    b: int
    c: int
    a_offset: Dim
    b_offset: Dim
    c_offset: Dim
    a_leading: Dim
    b_leading: Dim
    c_leading: Dim
    a_transposed: bool
    b_transposed: bool
    m: Dim
    n: Dim
    k: Dim
    batch: tuple[BatchCall, ...]
    dtypes: tuple[DType, DType]
    compute: str


@dataclass(frozen=True, slots=True)
class CopyCall:
    """Copy a whole buffer to another one of the same size."""

    source: int
    target: int


@dataclass(frozen=True, slots=True)
class FillCall:
    """Set every byte of a buffer."""

    target: int
    byte: int


Call: TypeAlias = GridCall | ProductCall | CopyCall | FillCall


@dataclass(frozen=True, slots=True)
class Condition:
    """A demand on sizes: `lhs relation rhs`."""

    lhs: Dim
    relation: Literal["==", "<=", ">="]
    rhs: Dim


@dataclass(frozen=True, slots=True)
class CallVariant:
    """One way to compute a group, see `artifact.Variant`."""

    label: str
    guards: tuple[Condition, ...]
    aligned: bool
    calls: tuple[Call, ...]


@dataclass(frozen=True, slots=True)
class GridRef:
    """A group lowered for a GPU: ways to compute it, of which the launch table takes the cheapest that is legal.

    `buffers`: `tensors` in order, then `workspaces` (sizes in bytes; they live for this step alone). `spaces` are
    numbers of elements that 32-bit indices have to count.
    """

    name: str
    tensors: tuple[Tensor, ...]
    workspaces: tuple[Dim, ...]
    variants: tuple[CallVariant, ...]
    spaces: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class LaunchStep:
    """Launch a kernel; `slots` are the buffers of `kernel.tensors`, then of the workspaces if it has some."""

    kernel: KernelRef | GridRef
    slots: tuple[int, ...]
    group: Group


@dataclass(frozen=True, slots=True)
class CopyStep:
    source: int
    target: int


@dataclass(frozen=True, slots=True)
class WhileStep:
    condition: tuple[HostStep, ...]
    flag: int
    body: tuple[HostStep, ...]
    group: Group


@dataclass(frozen=True, slots=True)
class CaseStep:
    index: int
    dtype: DType
    branches: tuple[tuple[HostStep, ...], ...]
    group: Group


HostStep: TypeAlias = LaunchStep | CopyStep | WhileStep | CaseStep


@dataclass(frozen=True, slots=True)
class HostBuffer:
    """A buffer: `kind` is `argument`, `result`, `constant` (by `number`) or `arena` (at `offset`); sizes in bytes."""

    kind: str
    number: int
    offset: Dim
    size: Dim
    tensor: Tensor


@dataclass(frozen=True, slots=True)
class HostProgram:
    """Everything that happens in one call."""

    buffers: tuple[HostBuffer, ...]
    steps: tuple[HostStep, ...]
    arena_bytes: Dim
    plans: tuple[FusionPlan, ...]
    index_spaces: tuple[Dim, ...] = ()


LowerGroup: TypeAlias = Callable[[Group], KernelRef | GridRef]


def plan_host(program: Program, context: Context, fuse: Fuse, lower: LowerGroup) -> HostProgram:
    """Fuse, lower each group, order the launches, and place every temporary by its lifetime."""
    planner = _HostPlanner(program, context, fuse, lower)
    steps = planner.run()
    offsets, arena = place([planner.intervals[slot] for slot in planner.arena_slots()])
    placed = dict(zip(planner.arena_slots(), offsets, strict=True))
    buffers = tuple(
        HostBuffer(kind, number, placed.get(slot, const(0)), size_of(tensor), tensor)
        for slot, (kind, number, tensor) in enumerate(planner.buffers)
    )
    return HostProgram(buffers, steps, arena, tuple(planner.plans), tuple(planner.spaces))


def size_of(tensor: Tensor) -> Dim:
    """The bytes of a tensor."""
    return product(tensor.shape) * tensor.dtype.bytes


class _HostPlanner:
    def __init__(self, program: Program, context: Context, fuse: Fuse, lower: LowerGroup) -> None:
        self.program, self.context, self.fuse, self.lower = program, context, fuse, lower
        self.buffers = list[tuple[str, int, Tensor]]()
        self.slots = dict[Tensor, int]()
        self.intervals = dict[int, Interval]()
        self.plans = list[FusionPlan]()
        self.spaces = dict[Dim, None]()  # numbers of elements that 32-bit indices have to count
        self.clock = 0
        self.loops = list[tuple[int, set[int]]]()  # start of each open loop, and the slots made inside it

    def arena_slots(self) -> list[int]:
        return [slot for slot, (kind, _, _) in enumerate(self.buffers) if kind == "arena"]

    def run(self) -> tuple[HostStep, ...]:
        for number, parameter in enumerate(self.program.parameters):
            self.slots[parameter.tensor] = self._buffer("argument", number, parameter.tensor)
        for number, tensor in enumerate(self.program.constants):
            self.slots[tensor] = self._buffer("constant", number, tensor)
        copies = list[tuple[Tensor, int]]()
        for number, tensor in enumerate(self.program.body.results):
            slot = self._buffer("result", number, tensor)
            if tensor in self.slots:
                copies.append((tensor, slot))
            else:
                self.slots[tensor] = slot
        steps = self._body(self.program.body)
        steps += [CopyStep(self._read(tensor), slot) for tensor, slot in copies]
        return tuple(steps)

    # -- buffers and time

    def _buffer(self, kind: str, number: int, tensor: Tensor) -> int:
        self.buffers.append((kind, number, tensor))
        slot = len(self.buffers) - 1
        if kind == "arena":
            self.intervals[slot] = Interval(self.clock, self.clock, size_of(tensor))
            if self.loops:
                self.loops[-1][1].add(slot)
        return slot

    def _slot(self, tensor: Tensor) -> int:
        """The buffer that `tensor` is written to."""
        if (slot := self.slots.get(tensor)) is None:
            slot = self.slots[tensor] = self._buffer("arena", 0, tensor)
        self._touch(slot)
        return slot

    def _read(self, tensor: Tensor) -> int:
        assert tensor in self.slots, f"{tensor!r} is read before any step writes it"
        slot = self.slots[tensor]
        self._touch(slot)
        return slot

    def _touch(self, slot: int) -> None:
        if (interval := self.intervals.get(slot)) is not None:
            self.intervals[slot] = interval.until(self.clock)

    # -- steps

    def _body(self, body: Body) -> list[HostStep]:
        plan = self.fuse(body, self.context)
        self.plans.append(plan)
        steps = list[HostStep]()
        for group in plan.groups:
            self.clock += 1
            match group.kind:
                case GroupKind.WHILE:
                    steps += self._while(group)
                case GroupKind.CASE:
                    steps += self._case(group)
                case _:
                    steps.append(self._launch(group))
        return steps

    def _launch(self, group: Group) -> LaunchStep:
        kernel = self.lower(group)
        roots = set(group.roots)
        slots = [self._slot(t) if t in roots else self._read(t) for t in kernel.tensors]
        if isinstance(kernel, GridRef):
            self.spaces.update(dict.fromkeys(kernel.spaces))
            for number, size in enumerate(kernel.workspaces):
                place = Tensor(f"workspace{number}", (size,), DType.UI8, group.ops[0].span)
                slots.append(self._buffer("arena", 0, place))
        return LaunchStep(kernel, tuple(slots), group)

    def _while(self, group: Group) -> list[HostStep]:
        op = group.anchor
        assert op is not None, "a while group has its op"
        condition, body = op.bodies
        steps = list[HostStep]()
        carries = [self._slot(result) for result in op.results]
        steps += [CopyStep(self._read(x), slot) for x, slot in zip(op.operands, carries, strict=True)]
        start, made = self.clock, set[int]()
        self.loops.append((start, made))
        for arguments in (condition.arguments, body.arguments):
            self.slots.update(zip(arguments, carries, strict=True))
        condition_steps = tuple(self._body(condition))
        flag = self._read(condition.results[0])
        body_steps = (*self._body(body), *self._rebind(body.results, carries))
        self.clock += 1
        self.loops.pop()
        for slot in (*carries, flag):
            self._touch(slot)
        for tensor in group_inputs(group, self.context.producers):
            if tensor in self.slots:
                self._touch(self.slots[tensor])
        if self.loops:
            self.loops[-1][1].update(made)
        return [*steps, WhileStep(condition_steps, flag, body_steps, group)]

    def _rebind(self, results: Sequence[Tensor], carries: Sequence[int]) -> list[HostStep]:
        """Copy the new carries over the old ones, all at once: what another copy overwrites waits aside."""
        self.clock += 1
        first, second = list[HostStep](), list[HostStep]()
        for position, (tensor, target) in enumerate(zip(results, carries, strict=True)):
            source = self._read(tensor)
            if source == target:
                continue
            if source in carries[:position]:
                aside = self._buffer("arena", 0, tensor)
                first.append(CopyStep(source, aside))
                source = aside
            second.append(CopyStep(source, target))
        for step in second:
            assert isinstance(step, CopyStep), "only copies were added"
            self._touch(step.source)
        return [*first, *second]

    def _case(self, group: Group) -> list[HostStep]:
        op = group.anchor
        assert op is not None, "a case group has its op"
        index = self._read(op.operands[0])
        dtype = op.operands[0].dtype
        results = [self._slot(t) for t in op.results]
        branches = list[tuple[HostStep, ...]]()
        for body in op.bodies:
            steps = self._body(body)
            self.clock += 1
            steps += [CopyStep(self._read(t), slot) for t, slot in zip(body.results, results, strict=True)]
            branches.append(tuple(steps))
        for slot in (*results, index):
            self._touch(slot)
        return [CaseStep(index, dtype, tuple(branches), group)]
