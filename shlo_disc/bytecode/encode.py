"""Bytecode of an artifact: sizes as instructions on registers, steps as instructions on slots."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Final, assert_never

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode.code import KINDS, SLOT_WORDS, WIDTHS, HostCode, rooms
from shlo_disc.bytecode.instructions import FORMATS, RELATIONS, SizeCode, StepCode, instructions, words_of
from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Buffer, Case, Choice, Copy, HostCall, Launch, LaunchGroup, Member, Step, While
from shlo_disc.size_expr import SizeExpr, SizeFn, SizeOp, evaluate, symbols_of

_CODES: Final[dict[SizeFn, SizeCode]] = {
    "+": SizeCode.ADD, "*": SizeCode.MULTIPLY, "//": SizeCode.DIVIDE, "%": SizeCode.REMAINDER,
    "min": SizeCode.MIN, "max": SizeCode.MAX,
}  # fmt: skip


def encode(artifact: Artifact) -> HostCode:
    """The host program of an artifact without partitions, for a target whose launches are split among threads."""
    return encode_with(artifact, ())[0]


def encode_with(artifact: Artifact, others: Sequence[SizeExpr]) -> tuple[HostCode, tuple[int, ...]]:
    """The same, and the registers of other sizes, which are computed and not kept."""
    sizes = _Sizes(artifact)
    steps = _Steps(artifact, sizes)
    steps.add_all(artifact.steps)
    steps.add(StepCode.END, {})
    slots = [word for buffer in artifact.buffers for word in _slot(buffer, sizes)]
    reserve = _reserved(artifact.steps)
    reserved = -1 if reserve is None else sizes.kept(reserve)
    checks = [(RELATIONS[check.relation], sizes.of(check.lhs), sizes.of(check.rhs)) for check in artifact.checks]
    dims = [sizes.of(dim) for result in artifact.results for dim in result.shape]
    arena = sizes.of(artifact.arena_bytes)
    conditions = [sizes.of(dim) for dim in artifact.conditions]
    found = [sizes.of(size) for size in others]
    order, kept, first_constant = sizes.order()

    def placed(registers: Sequence[int]) -> array[int]:
        return array("i", [order[register] for register in registers])

    code = HostCode(
        given=artifact.given,
        symbols=len(artifact.symbols),
        kept=kept,
        registers=len(order),
        first_constant=first_constant,
        arena=order[arena],
        reserve=-1 if reserved < 0 else order[reserved],
        arguments=len(artifact.arguments),
        results=len(artifact.results),
        literals=len(artifact.constants),
        packings=len(artifact.packings),
        host_calls=steps.host_calls,
        **steps.rooms(),
        constants=array("q", sizes.constants),
        bounds=array("q", [word for one in artifact.products for word in (len(one), *one)]),
        sizes=array("i", [word for code, *at in sizes.computed for word in (code, *placed(at))]),
        checks=array("i", [word for code, *at in checks for word in (code, *placed(at))]),
        dims=placed(dims),
        conditions=placed(conditions),
        slots=_placed_slots(slots, order),
        steps=steps.placed(order),
        names=tuple(steps.kernels),
    )
    return code, tuple(placed(found))


class _Sizes:
    """Registers of sizes, numbered in the order in which they are asked for; `order` renumbers them."""

    def __init__(self, artifact: Artifact) -> None:
        self.computed = list[tuple[SizeCode, int, int, int]]()  # function, target, operands
        self._symbols = len(artifact.symbols)
        self._registers: dict[SizeExpr, int] = {name: k for k, name in enumerate(artifact.symbols)}
        self._constants = dict[int, int]()  # the register of each
        self._kept = dict[int, None]()
        self._count = self._symbols
        for name, formula in zip(artifact.symbols[artifact.given :], artifact.definitions, strict=True):
            self._define(self._registers[name], formula)

    @property
    def constants(self) -> list[int]:
        """The values of the constants, in the order of their registers."""
        kept = [value for value, register in self._constants.items() if register in self._kept]
        return [*kept, *(value for value, register in self._constants.items() if register not in self._kept)]

    def kept(self, size: SizeExpr) -> int:
        """The register of a size that steps or slots read."""
        register = self.of(size)
        self._kept[register] = None
        return register

    def of(self, size: SizeExpr) -> int:
        """The register of a size."""
        found = self._registers.get(size)
        if found is None:
            if isinstance(size, str):
                raise InternalError(f"found the symbol {size} in a size, which the program does not have")
            if isinstance(size, int):
                found = self._constants[size] = self._new()
            elif (value := _known(size)) is not None:
                found = self.of(value)
            else:
                found = self._fold(size, None)
            self._registers[size] = found
        return found

    def order(self) -> tuple[list[int], int, int]:
        """The final number of each register, how many are kept, and the first constant's.

        First the symbols, then what is kept and computed, the constants, of which those that are kept come first, and
        what is computed and not kept.
        """
        constants = {register: value for value, register in self._constants.items()}
        computed = range(self._symbols, self._count)
        kept = [k for k in computed if k in self._kept and k not in constants]
        first = self._symbols + len(kept)
        kept += [k for k in constants if k in self._kept]
        rest = [k for k in constants if k not in self._kept]
        rest += [k for k in computed if k not in self._kept and k not in constants]
        order = list(range(self._count))
        for number, register in enumerate([*kept, *rest], start=self._symbols):
            order[register] = number
        return order, self._symbols + len(kept), first

    def _define(self, register: int, formula: SizeExpr) -> None:
        if isinstance(formula, SizeOp) and len(formula.operands) != 1:
            self._fold(formula, register)
        else:
            (single,) = formula.operands if isinstance(formula, SizeOp) else (formula,)
            self.computed.append((SizeCode.ADD, register, self.of(single), self.of(0)))

    def _fold(self, size: SizeOp, target: int | None) -> int:
        """Compute a function of several operands from left to right, into `target` in the end."""
        first, *others = map(self.of, size.operands)
        for number, other in enumerate(others, start=2):
            is_last = number == len(size.operands)
            register = target if is_last and target is not None else self._new()
            self.computed.append((_CODES[size.fn], register, first, other))
            first = register
        return first

    def _new(self) -> int:
        self._count += 1
        return self._count - 1


class _Steps:
    """Instructions with registers of `_Sizes`, in which control flow has become jumps."""

    def __init__(self, artifact: Artifact, sizes: _Sizes) -> None:
        self.kernels = dict[str, int]()
        self.host_calls = 0
        self._words = list[int]()
        self._artifact, self._sizes = artifact, sizes

    def add(self, code: StepCode, operands: dict[str, int | Sequence[int]]) -> int:
        """Add an instruction; its position."""
        position = len(self._words)
        self._words += words_of(code, operands)
        return position

    def add_all(self, steps: Sequence[Step]) -> None:
        """Add the instructions of steps."""
        for step in steps:
            self._add(step)

    def rooms(self) -> dict[str, int]:
        """The `most_…` of the code."""
        names = ("most_buffers", "most_dims", "most_members", "most_held")
        limit = 1 << 31
        limits = dict.fromkeys(("kernel", "register", "slot", "target"), limit)
        return dict(zip(names, rooms(instructions(self._words, limits)), strict=True))  # pyright: ignore[reportArgumentType]

    def placed(self, order: Sequence[int]) -> array[int]:
        """The code with final numbers of registers."""
        return _placed_steps(self._words, order)

    def _add(self, step: Step) -> None:
        match step:
            case Launch():
                self.add(StepCode.LAUNCH, self._launch(step) | {"unless": -1 if step.unless is None else step.unless})
            case LaunchGroup(members):
                kept = self._sizes.kept
                group = {"units": kept(step.units), "grain": kept(step.grain), "work": kept(step.work)}
                self.add(StepCode.GROUP, {**group, "scratch": kept(step.scratch), "members": len(members)})
                for member in members:
                    self.add(StepCode.MEMBER, self._member(member))
            case Copy(source, target):
                size = self._sizes.kept(self._artifact.buffers[target].size)
                self.add(StepCode.COPY, {"source": source, "target": target, "bytes": size})
            case HostCall():
                self._host_call(step)
            case While(condition, flag, body):
                start = len(self._words)
                self.add_all(condition)
                leave = self.add(StepCode.JUMP_IF_ZERO, {"flag": flag, "to": 0})
                self.add_all(body)
                self.add(StepCode.JUMP, {"to": start})
                self._words[leave + 2] = len(self._words)
            case Case(index, index_dtype, _):
                self._branches(index, WIDTHS[index_dtype], _branches_of(step))
            case Choice():
                raise InternalError(
                    f"found a choice of variants, expected launches that threads share: {step.variants[0].label}"
                )
            case _:
                assert_never(step)

    def _branches(self, index: int, width: int, branches: Sequence[Sequence[Step]]) -> None:
        switch = self.add(StepCode.SWITCH, {"index": index, "width": width, "to": [0] * len(branches)})
        leave = list[int]()
        for number, branch in enumerate(branches):
            self._words[switch + 4 + number] = len(self._words)
            self.add_all(branch)
            leave.append(self.add(StepCode.JUMP, {"to": 0}))
        for jump in leave:
            self._words[jump + 1] = len(self._words)

    def _launch(self, launch: Launch) -> dict[str, int | Sequence[int]]:
        kept = self._sizes.kept
        kernel = self.kernels.setdefault(launch.kernel, len(self.kernels))
        return {
            "kernel": kernel, "extent": kept(launch.extent), "grain": kept(launch.grain),
            "scratch": kept(launch.scratch), "buffers": launch.buffers, "dims": [*map(kept, launch.symbols)],
        }  # fmt: skip

    def _member(self, member: Member) -> dict[str, int | Sequence[int]]:
        kept = self._sizes.kept
        return {
            **self._launch(member.launch), "tasks": kept(member.tasks), "unit_extent": kept(member.extent),
            "unit_dims": [*map(kept, member.symbols)], "held": [one.position for one in member.held],
            "held_bytes": [kept(one.size) for one in member.held],
        }  # fmt: skip

    def _host_call(self, call: HostCall) -> None:
        buffers = (*call.operands, *call.results)
        shapes = [dim for slot in buffers for dim in self._artifact.buffers[slot].shape]
        dims = [*map(self._sizes.kept, shapes)]
        self.add(StepCode.HOST_CALL, {"number": call.number, "buffers": buffers, "dims": dims})
        self.host_calls = max(self.host_calls, call.number + 1)


def _known(size: SizeOp) -> int | None:
    """The value of a size without symbols, if it fits into a register."""
    if any(True for _ in symbols_of(size)):
        return None
    value = evaluate(size, {})
    return value if abs(value) < 1 << 63 else None


def _branches_of(step: Case) -> tuple[tuple[Step, ...], ...]:
    return step.branches


def _slot(buffer: Buffer, sizes: _Sizes) -> tuple[int, int, int, int, int]:
    packed = -1 if buffer.packed is None else buffer.packed
    offset, size = sizes.kept(buffer.offset), sizes.kept(buffer.size)
    return KINDS.index(buffer.kind), buffer.number, offset, size, packed


def _placed_slots(words: Sequence[int], order: Sequence[int]) -> array[int]:
    return array("i", [order[word] if k % SLOT_WORDS in (2, 3) else word for k, word in enumerate(words)])


def _placed_steps(words: Sequence[int], order: Sequence[int]) -> array[int]:
    placed, position = list(words), 0
    while position < len(words):
        code = StepCode(words[position])
        position += 1
        for name, kind in FORMATS[code]:
            count = 1
            if name.endswith("*"):
                count, position = words[position], position + 1
            if kind == "register":
                placed[position : position + count] = [order[k] for k in words[position : position + count]]
            position += count
    return array("i", placed)


def _reserved(steps: Sequence[Step]) -> SizeExpr | None:
    """The scratch memory of all launches, so that none of them fails; None if none needs any.

    Groups reserve even if that is 0: so the calling thread is known to the pool.
    """
    found = dict.fromkeys(_scratch(steps))
    return SizeOp("max", tuple(found)) if len(found) > 1 else next(iter(found), None)


def _scratch(steps: Sequence[Step]) -> list[SizeExpr]:
    found = list[SizeExpr]()
    for step in steps:
        match step:
            case Launch(scratch=scratch):
                found += [scratch] if scratch != 0 else []
            case LaunchGroup():
                found += [step.scratch, *_scratch(step.launches)]
            case While(condition, _, body):
                found += _scratch((*condition, *body))
            case Case():
                found += _scratch([one for branch in _branches_of(step) for one in branch])
            case HostCall() | Copy() | Choice():
                pass
            case _:
                assert_never(step)
    return found
