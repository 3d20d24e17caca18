"""Bytecode as text for people: the sizes, what a call checks, and the steps."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode.code import HostCode
from shlo_disc.bytecode.encode import encode
from shlo_disc.bytecode.instructions import RELATIONS, Instruction, SizeCode, StepCode
from shlo_disc.diagnostics import one_line

_FUNCTIONS = {
    SizeCode.ADD: "+", SizeCode.MULTIPLY: "*", SizeCode.DIVIDE: "//", SizeCode.REMAINDER: "%",
}  # fmt: skip
_RELATIONS = {code: text for text, code in RELATIONS.items()}


def host_text(artifact: Artifact) -> str:
    """The host program of an artifact without partitions: its generated source, or a listing of its bytecode."""
    return artifact.host.text or listing(artifact, encode(artifact))


def listing(artifact: Artifact, code: HostCode) -> str:
    """The bytecode of an artifact as text.

    Registers are `r0`, slots `b0`; a register with the value of a symbol has its name, a constant is its value.
    """
    labels = [one_line(buffer.label) for buffer in artifact.buffers]
    places = [one_line(check.where.partition("\n")[0]) for check in artifact.checks]
    return "\n".join(_Listing(code, artifact.symbols).lines(labels, places)) + "\n"


class _Listing:
    def __init__(self, code: HostCode, symbols: Sequence[str]) -> None:
        self._code, last = code, code.first_constant + len(code.constants)
        self._names = [*symbols, *(f"r{k}" for k in range(code.symbols, code.registers))]
        self._names[code.first_constant : last] = map(str, code.constants)

    def lines(self, labels: Sequence[str], places: Sequence[str]) -> list[str]:
        """The whole text."""
        code, name = self._code, self._names
        lines = ["sizes"]
        lines += [f"  {name[k]} = given {k}" for k in range(code.given)]
        lines += [f"  {name[at]} = {self._size(fn, a, b)}" for fn, at, a, b in code.size_steps()]
        lines += [
            f"  result dims: {', '.join(name[k] for k in code.dims) or 'none'}",
            f"  arena: {name[code.arena]} bytes",
        ]
        lines += ["checks"] if code.checks or code.conditions else []
        for (relation, left, right), place in zip(code.check_steps(), places, strict=True):
            lines.append(f"  {name[left]} {_RELATIONS[relation]} {name[right]}  // {place}")
        lines += [f"  {name[k]} >= 0, else the formulas are evaluated by the runtime" for k in code.conditions]
        lines.append("buffers")
        for slot, (kind, number, offset, size, packed) in enumerate(code.slot_records()):
            at = f"arena + {name[offset]}" if kind == "arena" else kind if kind == "null" else f"{kind} {number}"
            form = "" if packed < 0 else f", or b{packed}"
            lines.append(f"  b{slot}: {at}{form}, {name[size]} bytes  // {labels[slot]}")
        reserve = [] if code.reserve < 0 else [f"  reserve {name[code.reserve]} bytes of scratch memory"]
        return [*lines, "steps", *reserve, *map(self._step, code.instructions())]

    def _size(self, code: SizeCode, left: int, right: int) -> str:
        a, b = self._names[left], self._names[right]
        return f"{a} {_FUNCTIONS[code]} {b}" if code in _FUNCTIONS else f"{code.name.lower()}({a}, {b})"

    def _step(self, one: Instruction) -> str:
        name = self._names

        def dims(key: str) -> str:
            return f"({', '.join(name[k] for k in one.numbers(key))})"

        def buffers(key: str = "buffers") -> str:
            return f"[{', '.join(f'b{slot}' for slot in one.numbers(key))}]"

        def register(key: str) -> str:
            return name[one.number(key)]

        match one.code:
            case StepCode.END:
                text = "end"
            case StepCode.LAUNCH | StepCode.MEMBER:
                text = f"{self._code.names[one.number('kernel')]} {buffers()} {dims('dims')}"
                text += f", {register('extent')} tasks, grain {register('grain')}, scratch {register('scratch')}"
                if one.code is StepCode.MEMBER:
                    text = f"  {text}; a unit: {register('tasks')} of {register('unit_extent')}, {dims('unit_dims')}"
                    pairs = zip(one.numbers("held"), one.numbers("held_bytes"), strict=True)
                    text += "".join(f", holds {name[size]} bytes of buffer {k}" for k, size in pairs)
                elif one.number("unless") >= 0:
                    text += f", unless b{one.number('unless')}"
            case StepCode.GROUP:
                text = f"{one.number('members')} launches by rows: {register('units')} units"
                text += f", grain {register('grain')}, work {register('work')}, scratch {register('scratch')}"
            case StepCode.COPY:
                text = f"copy b{one.number('source')} to b{one.number('target')}, {register('bytes')} bytes"
            case StepCode.HOST_CALL:
                text = f"host call {one.number('number')} {buffers()} {dims('dims')}"
            case StepCode.JUMP:
                text = f"jump {one.number('to')}"
            case StepCode.JUMP_IF_ZERO:
                text = f"jump {one.number('to')} if b{one.number('flag')} is 0"
            case StepCode.SWITCH:
                text = f"jump by b{one.number('index')}: {', '.join(map(str, one.numbers('to')))}"
        return f"{one.position:5} {text}"
