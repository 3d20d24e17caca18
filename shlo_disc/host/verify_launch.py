"""Checks that a launch, or a packing, finds its operands, and overwrites nothing that it or another step needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.fusion.traffic import bytes_of
from shlo_disc.host.checked_memory import CheckedMemory
from shlo_disc.host.memory_contents import LostError, Packed
from shlo_disc.host.program import KernelRef, LaunchStep, PackRef
from shlo_disc.kernels.groups import Context
from shlo_disc.kernels.verify_kernel import parts_that_meet


class LaunchVerifier:
    """Follows launches, on the contents of memory."""

    def __init__(self, memory: CheckedMemory, context: Context) -> None:
        self._memory, self._context = memory, context

    def launch(self, step: LaunchStep, where: str) -> set[int]:
        """Follow a launch; return the homes that lost their contents."""
        kernel, memory = step.kernel, self._memory
        if not kernel.tensors and step.unless is not None:
            return self._pack(step, where)
        pairs = list(zip(kernel.tensors, step.slots, strict=False))
        self._check_roots(step, pairs, where)
        sizes = (*map(bytes_of, kernel.tensors), *kernel.workspaces)
        for slot, size in zip(step.slots, sizes, strict=False):
            memory.check_size(slot, size, where)
        for tensor, slot in pairs:
            if slot not in step.written:
                memory.require_value(slot, tensor, where)
        if isinstance(kernel, KernelRef):
            self._check_packs(step, kernel, where)
        lost = self._write(step, where)
        for slot in step.slots[len(pairs) :]:
            if slot in step.written:  # a workspace
                memory.contents.drop(memory.home(slot), where)
        return lost

    def pack_before_calls(self, number: int, step: LaunchStep) -> None:
        """Follow a packing before any call: of constants, and of arguments that no call overwrites."""
        memory, layout = self._memory, self._memory.layout
        *sources, target = step.slots
        for slot in sources:
            buffer = layout.buffers[slot]
            is_free = buffer.kind == "constant" or (buffer.kind == "argument" and buffer.number not in memory.donated)
            if not is_free:
                raise InternalError(f"packing {number} reads {layout.named(slot)}, which calls may overwrite")
        buffer = layout.buffers[target]
        if (buffer.kind, buffer.number) != ("packed", number):
            raise InternalError(f"packing {number} fills {layout.named(target)}, expected what it packs")
        memory.write(target, [Packed(step.kernel.name, tuple(map(memory.of, sources)))], "the packing")

    def _write(self, step: LaunchStep, where: str) -> set[int]:
        """Follow the writes of a launch: apart from its reads, or in place of them, and apart from each other."""
        memory = self._memory
        tensors, in_place, lost = step.kernel.tensors, set(step.kernel.in_place), set[int]()
        written, slots_at = set(step.written), dict[int, list[int]]()
        for k, slot in enumerate(step.slots):
            slots_at.setdefault(memory.home(slot), []).append(k)
        for k, slot in enumerate(step.slots):
            if slot not in written:
                continue
            memory.check_writable(slot, where)
            gone = memory.write(slot, tensors[k : k + 1], where)
            for other in slots_at[memory.home(slot)]:
                place = step.slots[other]
                is_allowed = (other, k) in in_place and place not in written and memory.same_size(place, slot)
                if other != k and not is_allowed:
                    memory.refuse_shared(place, slot, where)
            for home in sorted(gone & slots_at.keys()):
                memory.refuse_shared(step.slots[slots_at[home][0]], slot, where)
            lost |= gone
        return lost

    def _check_roots(self, step: LaunchStep, pairs: Sequence[tuple[Tensor, int]], where: str) -> None:
        """Check that a launch writes the results of its group, each once, and no part of it reads another's."""
        times = Counter(tensor for tensor, _ in pairs)
        filled = [tensor for tensor, slot in pairs if slot in step.written]
        if len(filled) != len(step.group.roots) or set(filled) != set(step.group.roots):
            roots, names = (", ".join(f"%{t.name}" for t in some) for some in (step.group.roots, filled))
            raise InternalError(f"{where} writes {names}, expected each of {roots} once")
        for tensor in filled:
            if times[tensor] > 1:
                raise InternalError(f"{where} reads %{tensor.name}, which another part of the launch writes")
        for one, other in parts_that_meet(step.group, self._context):
            raise InternalError(f"{where} reads %{one.name}, which the same launch writes for {other.name}")

    # -- packed operands

    def _pack(self, step: LaunchStep, where: str) -> set[int]:
        """Follow a packing before a loop."""
        memory = self._memory
        *sources, target = step.slots
        values = tuple(map(memory.of, sources))
        for slot in sources:
            memory.require_any(slot, where)
        memory.check_writable(target, where)
        lost = memory.write(target, [Packed(step.kernel.name, values)], where)
        for slot in sources:
            if memory.home(slot) in {*lost, memory.home(target)}:
                memory.refuse_shared(slot, target, where)
        return lost

    def _check_packs(self, step: LaunchStep, kernel: KernelRef, where: str) -> None:
        """Check that buffers of packed operands hold the packed forms of these operands."""
        memory, layout = self._memory, self._memory.layout
        for pack, slot in zip(kernel.packs, step.slots[len(step.slots) - len(kernel.packs) :], strict=True):
            given = layout.buffers[slot].packed
            for one in (slot, given):
                if one is None or layout.buffers[one].kind == "null":
                    continue
                memory.check_size(one, pack.size if one == given or given is None else pack.size * pack.worth, where)
                if not any(_is_of(pack, kernel, value) for value in memory.of(one)):
                    message = f"{where} reads packed operands in {layout.named(one)}, found others there"
                    raise LostError(message, memory.loss(memory.home(one)))


def _is_of(pack: PackRef, kernel: KernelRef, value: object) -> bool:
    """Whether a value is the packed form of the operands of a kernel that a pack names."""
    wanted = [kernel.tensors[k] for k in pack.sources]
    return (
        isinstance(value, Packed)
        and value.kernel == pack.kernel.name
        and len(value.sources) == len(wanted)
        and all(tensor in found for tensor, found in zip(wanted, value.sources, strict=True))
    )
