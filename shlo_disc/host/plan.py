"""From a program to its host program: fuse, lower each group, order the launches, give every buffer its memory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import field, replace
from typing import TypeAlias

from shlo_disc.dynamic_ops.program import Body, Program, Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.host.memory import UnplacedBuffer, allocate
from shlo_disc.host.program import (
    ControlSource,
    GridRef,
    HostProgram,
    HostStep,
    KernelRef,
    LaunchRef,
    LaunchStep,
    PackRef,
)
from shlo_disc.host.size_bounds import size_bounds
from shlo_disc.host.verify import verify_host
from shlo_disc.host_ir import BufferKind, Case, Copy, While
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Context, Fuse, FusionPlan, Group, GroupKind
from shlo_disc.records import record

LowerGroup: TypeAlias = Callable[[Group], LaunchRef]


def plan_host(
    program: Program, context: Context, fuse: Fuse, lower: LowerGroup, donated: Collection[int] = ()
) -> HostProgram:
    """Fuse, lower each group, order the launches, and allocate buffers, also in the memory of `donated` arguments."""
    planner = _HostPlanner(program, context, fuse, lower, donated)
    steps = planner.run()
    memory = allocate(planner.places, steps, context, donated)
    host = HostProgram(
        memory.buffers,
        memory.steps,
        (*planner.definitions.items(), *memory.definitions),
        memory.arena_bytes,
        tuple(planner.plans),
        tuple(planner.spaces),
        memory.donations,
        tuple(planner.packings),
    )
    host = replace(host, conditions=verify_host(program, host, context, donated))
    return replace(host, bounds=tuple(size_bounds(program, host)))


@record
class _Loop:
    """A loop being planned: the number of slots before its body, those it carries, and what is packed before it."""

    slots: int
    carries: frozenset[int]
    before: list[HostStep] = field(default_factory=list[HostStep])
    packed: dict[tuple[str, tuple[int, ...]], int] = field(default_factory=dict[tuple[str, tuple[int, ...]], int])

    def is_before(self, slot: int) -> bool:
        """Whether a buffer keeps the contents from before the loop in every iteration."""
        return slot < self.slots and slot not in self.carries


class _HostPlanner:
    """Builds the steps. Every tensor gets a slot of its own; which of them share memory is decided later."""

    def __init__(
        self, program: Program, context: Context, fuse: Fuse, lower: LowerGroup, donated: Collection[int]
    ) -> None:
        self.program, self.context, self.fuse, self.lower, self.donated = program, context, fuse, lower, donated
        self.places = list[UnplacedBuffer]()
        self.slots = dict[Tensor, int]()
        self.plans = list[FusionPlan]()
        self.definitions = dict[Sym, Dim]()  # of launches
        self.spaces = dict[Dim, None]()  # element counts that 32-bit indices have to cover
        self.packings = list[LaunchStep]()
        self.loops = list[_Loop]()  # enclosing loops, the outermost first
        self.packed = dict[tuple[str, tuple[int, ...]], int]()  # slots of packed operands, by kernel and sources

    def run(self) -> tuple[HostStep, ...]:
        for number, parameter in enumerate(self.program.parameters):
            self.slots[parameter.tensor] = self._place("argument", number, parameter.tensor)
        for number, tensor in enumerate(self.program.constants):
            self.slots[tensor] = self._place("constant", number, tensor)
        copies = list[tuple[Tensor, int]]()
        for number, tensor in enumerate(self.program.body.results):
            slot = self._place("result", number, tensor)
            if tensor in self.slots:
                copies.append((tensor, slot))
            else:
                self.slots[tensor] = slot
        steps = self._body(self.program.body)
        steps += [Copy(self._read(tensor), slot) for tensor, slot in copies]
        return tuple(steps)

    # -- slots

    def _place(self, kind: BufferKind, number: int, tensor: Tensor) -> int:
        self.places.append(UnplacedBuffer(kind, number, tensor))
        return len(self.places) - 1

    def _write(self, tensor: Tensor) -> int:
        """The slot that `tensor` is written to."""
        if (slot := self.slots.get(tensor)) is None:
            slot = self.slots[tensor] = self._place("arena", 0, tensor)
        return slot

    def _read(self, tensor: Tensor) -> int:
        assert tensor in self.slots, f"{tensor!r} is read before any step writes it"
        return self.slots[tensor]

    # -- steps

    def _body(self, body: Body) -> list[HostStep]:
        plan = self.fuse(body, self.context)
        self.plans.append(plan)
        steps = list[HostStep]()
        for group in plan.groups:
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
        slots = [self._write(t) if t in roots else self._read(t) for t in kernel.tensors]
        written = [slot for t, slot in zip(kernel.tensors, slots, strict=True) if t in roots]
        if isinstance(kernel, KernelRef):
            self.definitions.update(kernel.definitions)
        if isinstance(kernel, GridRef):
            self.spaces.update(dict.fromkeys(kernel.spaces))
        for number, size in enumerate(kernel.workspaces):
            tensor = Tensor(f"workspace{number}", (size,), DType.UI8, group.ops[0].span)
            slots.append(self._place("arena", 0, tensor))
            written.append(slots[-1])
        if isinstance(kernel, KernelRef):
            slots += [self._packed(pack, [slots[place] for place in pack.sources], group) for pack in kernel.packs]
        return LaunchStep(kernel, tuple(slots), group, tuple(written))

    def _packed(self, pack: PackRef, sources: Sequence[int], group: Group) -> int:
        """The slot of packed operands: filled once for all calls if they are constants, or arguments not donated."""
        key = pack.kernel.name, tuple(sources)
        if (slot := self.packed.get(key)) is None:
            tensor = Tensor(f"packed{len(self.packed)}", (pack.size,), DType.UI8, group.ops[0].span)
            stays = all(map(self._stays, sources))
            slot = self.packed[key] = self._place("packed" if stays else "null", len(self.packings), tensor)
            if stays:
                self.packings.append(LaunchStep(pack.kernel, (*sources, slot), group, (slot,)))
        loop = next((loop for loop in self.loops if all(map(loop.is_before, sources))), None)
        if loop is None or pack.worth.constant == 0 or all(self.places[k].kind == "constant" for k in sources):
            return slot
        return self._packed_before(loop, pack, sources, slot, group)

    def _packed_before(self, loop: _Loop, pack: PackRef, sources: Sequence[int], given: int, group: Group) -> int:
        """The slot of operands packed before a loop, at sizes where that pays, unless slot `given` has them."""
        key = pack.kernel.name, tuple(sources)
        if (known := loop.packed.get(key)) is not None:
            return known
        size, span = (pack.size * pack.worth,), group.ops[0].span
        self.places.append(
            UnplacedBuffer("arena", 0, Tensor(f"packed{len(self.places)}", size, DType.UI8, span), given)
        )
        slot = loop.packed[key] = len(self.places) - 1
        launch = replace(pack.kernel.launch, extent=pack.kernel.launch.extent * pack.worth)
        kernel = replace(pack.kernel, launch=launch)
        loop.before.append(LaunchStep(kernel, (*sources, slot), group, (slot,), given))
        return slot

    def _stays(self, slot: int) -> bool:
        """Whether a buffer exists before a call, and no call writes to it."""
        at = self.places[slot]
        return at.kind == "constant" or (at.kind == "argument" and at.number not in self.donated)

    def _while(self, group: Group) -> list[HostStep]:
        op = group.anchor
        assert op is not None, "a while group has its op"
        condition, body = op.bodies
        carries = [self._write(result) for result in op.results]
        before = [Copy(self._read(x), slot) for x, slot in zip(op.operands, carries, strict=True)]
        for arguments in (condition.arguments, body.arguments):
            self.slots.update(zip(arguments, carries, strict=True))
        loop = _Loop(len(self.places), frozenset(carries))
        self.loops.append(loop)
        condition_steps = tuple(self._body(condition))
        flag = self._read(condition.results[0])
        body_steps = (*self._body(body), *self._rebind(body.results, carries))
        self.loops.pop()
        return [*before, *loop.before, While(condition_steps, flag, body_steps, ControlSource(group, tuple(carries)))]

    def _rebind(self, results: Sequence[Tensor], carries: Sequence[int]) -> list[HostStep]:
        """Copy the new carries over the old ones, as a parallel copy: a source that is overwritten is saved first."""
        first, second = list[HostStep](), list[HostStep]()
        for position, (tensor, target) in enumerate(zip(results, carries, strict=True)):
            source = self._read(tensor)
            if source == target:
                continue
            if source in carries[:position]:
                aside = self._place("arena", 0, tensor)
                first.append(Copy(source, aside))
                source = aside
            second.append(Copy(source, target))
        return [*first, *second]

    def _case(self, group: Group) -> list[HostStep]:
        op = group.anchor
        assert op is not None, "a case group has its op"
        index = self._read(op.operands[0])
        dtype = op.operands[0].dtype.numpy
        results = [self._write(t) for t in op.results]
        branches = list[tuple[HostStep, ...]]()
        for body in op.bodies:
            steps = self._body(body)
            steps += [Copy(self._read(t), slot) for t, slot in zip(body.results, results, strict=True)]
            branches.append(tuple(steps))
        return [Case(index, dtype, tuple(branches), ControlSource(group, tuple(results)))]
