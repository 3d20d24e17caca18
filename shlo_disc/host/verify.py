"""Proves that every step of a host program reads what it is meant to read, for all sizes.

The steps are interpreted abstractly, on the contents of memory: values are named by the program's tensors. A launch
must find each of its operands, whole; what it writes replaces whatever shares bytes with it. So all of these are
refused: steps in a wrong order, a missing copy, a read before the first write, a write to memory that is still needed,
buffers that share bytes at some sizes, and arguments that are overwritten without having been donated. A launch may
overwrite what it reads only where its kernel declares that each element is read before it is written there
(`in_place`). Threads in a region may be launches ahead of each other: what launches pass on, or overwrite, must be used
by rows in both.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import assert_never

from shlo_disc.analysis.sizes import further_points, points_alike
from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.host.checked_memory import CheckedMemory
from shlo_disc.host.memory_contents import Clock, Layout, LostError
from shlo_disc.host.program import ControlSource, HostProgram, HostStep, LaunchStep, PlannedRegion, slots_of
from shlo_disc.host.step_uses import StepUses
from shlo_disc.host.verify_launch import LaunchVerifier
from shlo_disc.host.verify_region import check_rows, is_alone
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While
from shlo_disc.kernels.groups import Context, Group


def verify_host(
    program: Program, host: HostProgram, context: Context, donated: Collection[int] = ()
) -> tuple[Dim, ...]:
    """Raise `InternalError` if a step of the host program reads what is not there, or overwrites what is needed.

    `donated` are the numbers of the arguments that a call may overwrite. Returns the conditions of the proof: sums of
    sizes that have to be at least 0, as they are at likely sizes, and for which no proof was found.
    """
    points = (*context.points, *points_alike(program))
    layout = Layout(host, context.facts, points, lambda: further_points(program))
    layout.check({slot for step in host.steps for slot in slots_of(step)})
    verifier = _HostVerifier(program, host, context, layout, donated)
    while True:
        try:
            verifier.follow()
        except LostError as error:
            # Where two homes have to be apart without a proof, that becomes a condition.
            if error.loss is None or error.loss.pair is None or not layout.make_apart(*error.loss.pair):
                raise InternalError(str(error)) from None
        else:
            layout.check_arena()
            return layout.conditions


class _HostVerifier:
    """Follows the steps of a host program, on the contents of memory."""

    def __init__(
        self, program: Program, host: HostProgram, context: Context, layout: Layout, donated: Collection[int]
    ) -> None:
        self.program, self.host, self.facts, self.layout = program, host, context.facts, layout
        self.home = layout.home
        self.uses = StepUses(host.steps, self.home)
        last = dict(self.uses.last)
        results = range(len(program.parameters) + len(program.constants), len(host.buffers))
        last.update((self.home(slot), self.uses.count) for slot in results[: len(program.body.results)])
        self.memory = CheckedMemory(host, layout, Clock(last), donated)
        self.launches = LaunchVerifier(self.memory, context)
        self.of_branches: frozenset[int] = frozenset()  # result slots of the branches around the step

    def follow(self) -> None:
        """Follow all steps once. Raises `LostError` where a step needs what an earlier one may have overwritten."""
        memory, self.of_branches = self.memory, frozenset()
        memory.clear()
        arguments, results = len(self.program.parameters), len(self.program.body.results)
        constants = arguments + len(self.program.constants)
        given = (*(p.tensor for p in self.program.parameters), *self.program.constants)
        for slot, tensor in enumerate(given):
            memory.write(slot, [tensor], "the caller")
        for number, step in enumerate(self.host.packings):
            self.launches.pack_before_calls(number, step)
        self._steps(self.host.steps, "")
        for number, tensor in zip(range(results), self.program.body.results, strict=True):
            slot = constants + number
            self._check_result(number, slot)
            memory.require_value(slot, tensor, "the end of the program")
        homes = [self.home(constants + number) for number in range(results)]
        if len(set(homes)) < results:
            raise InternalError(f"results of {self.program.name} share memory: their buffers are {homes}")

    def _check_result(self, number: int, slot: int) -> None:
        """Check that a result is where the caller gets it from."""
        buffer = self.layout.buffers[self.home(slot)]
        if buffer.kind == "result" and buffer.number == number:
            return
        given = [one for one in self.host.donations if one.result == number and buffer.kind == "argument"]
        if not any(one.argument == buffer.number for one in given):
            raise InternalError(f"result {number} is in {self.layout.named(slot)}, which the caller does not get")

    # -- steps

    def _steps(self, steps: Sequence[HostStep], path: str) -> None:
        for number, step in enumerate(steps):
            where = f"{path}step {number}"
            self.memory.clock.now = self.uses.number(step)
            match step:
                case LaunchStep():
                    self.launches.launch(step, f"{where} ({step.kernel.name})")
                case Copy(source, target):
                    self._copy(source, target, f"{where} (a copy)")
                case LaunchGroup():
                    self._region(step, f"{where} (a region)")
                case While():
                    self._while(step, f"{where} (a loop)")
                case Case():
                    self._case(step, f"{where} (branches)")
                case _:
                    assert_never(step)

    def _copy(self, source: int, target: int, where: str) -> None:
        buffers, held = self.layout.buffers, self.memory.of(source)
        self.memory.require_any(source, where)
        sizes = buffers[source].size, buffers[target].size
        # The size of a case's result may depend on the branch taken: within one it is the size of what is copied.
        may_differ = target in self.of_branches and not self.facts.equal(*sizes).is_false
        if not may_differ and not self.memory.same_size(source, target):
            raise InternalError(f"{where} copies {self.layout.named(source)} to {self.layout.named(target)}")
        self.memory.check_writable(target, where)
        if self.home(source) in self.memory.write(target, held, where):
            self.memory.refuse_shared(source, target, where)

    # -- regions, loops and branches

    def _region(self, step: PlannedRegion, where: str) -> None:
        """Follow the members one after the other; `check_rows` checks what threads at different members share."""
        held = check_rows(step, self.layout, self.facts, where)
        for home in held:
            self.memory.contents.drop(home, where)
        touched = {self.home(slot) for member in step.members for slot in member.launch.slots}
        for number, member in enumerate(step.members):
            lost = self.launches.launch(member.launch, f"{where}, member {number} ({member.launch.kernel.name})")
            for home in lost & touched:
                if not (home in held and is_alone(step, where)):
                    raise LostError(
                        f"{where}, member {number}: what it writes may share bytes with {self.layout.named(home)}, "
                        "which another thread may need for other rows",
                        self.memory.loss(home),
                    )
        for home in held:
            self.memory.contents.drop(home, where)

    def _while(self, step: While[HostStep, ControlSource], where: str) -> None:
        carried = self._carried(step)
        for slot, (operand, *_), _ in carried:
            self.memory.require_value(slot, operand, f"{where}, where it begins,")
        for home in self.uses.homes_written((*step.condition, *step.body)):
            self.memory.contents.drop(home, f"an iteration of {where}")
        for slot, (_, *names), _ in carried:
            others = {self.home(other) for other, *_ in carried if other != slot}
            gone = self.memory.write(slot, names, where) & others
            if gone or self.home(slot) in others:
                message = f"{where} carries {self.layout.named(slot)} where it carries something else too"
                raise LostError(message, self.memory.loss(min(gone)) if gone else None)
        self._steps(step.condition, f"{where}, condition, ")
        self.memory.require_value(step.flag, _anchor(step.made.group).bodies[0].results[0], f"{where}, its condition,")
        after = self.memory.contents.copy()
        self._steps(step.body, f"{where}, body, ")
        for slot, _, tensor in carried:
            self.memory.require_value(slot, tensor, f"{where}, at the end of its body,")
        self.memory.contents = after

    def _carried(self, step: While[HostStep, ControlSource]) -> list[tuple[int, tuple[Tensor, ...], Tensor]]:
        """Slots that a loop carries, with the names of their values, and the value at the end of its body.

        A carry that the body returns unchanged, and that no step uses, is left out: its result is its operand, wherever
        that is, and may be copied into its place after the loop.
        """
        op, found = _anchor(step.made.group), list[tuple[int, tuple[Tensor, ...], Tensor]]()
        condition, body = op.bodies
        named = {slot for inner in (*step.condition, *step.body) for slot in slots_of(inner)}
        values = zip(op.operands, op.results, condition.arguments, body.arguments, strict=True)
        for slot, names, last in zip(step.made.written, values, body.results, strict=True):
            if last is names[-1] and slot not in named:
                self.memory.contents.rename(names[0], names[1])
            else:
                found.append((slot, names, last))
        return found

    def _case(self, step: Case[HostStep, ControlSource], where: str) -> None:
        op = _anchor(step.made.group)
        self.memory.require_value(step.index, op.operands[0], where)
        before, after, outer = self.memory.contents, None, self.of_branches
        self.of_branches = outer.union(step.made.written)
        for number, (branch, body) in enumerate(zip(step.branches, op.bodies, strict=True)):
            self.memory.contents = before.copy()
            self._steps(branch, f"{where}, branch {number}, ")
            for slot, tensor, result in zip(step.made.written, body.results, op.results, strict=True):
                self.memory.require_value(slot, tensor, f"{where}, at the end of branch {number},")
                self.memory.contents.add(self.home(slot), result)
            if after is None:
                after = self.memory.contents
            else:
                after.keep(self.memory.contents)
        self.of_branches = outer
        self.memory.contents = before if after is None else after


def _anchor(group: Group) -> Op[object]:
    assert group.anchor is not None, "a loop, and branches, have their op"
    return group.anchor
