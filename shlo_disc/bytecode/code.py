"""The host program of an artifact: registers that hold sizes, slots that hold data, and steps."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from shlo_disc.bytecode.instructions import Instruction, Kind, RelationCode, SizeCode, StepCode, instructions
from shlo_disc.records import record
from shlo_disc.size_expr import quotient, remainder

KINDS = ("argument", "result", "constant", "arena", "packed", "null")  # of slots, by their numbers in the code
SIZE_WORDS, CHECK_WORDS, SLOT_WORDS = 4, 3, 5
# Integers in memory, by NumPy's name of their type: bytes, negative if signed.
WIDTHS = {
    "bool": 1, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int8": -1, "int16": -2, "int32": -4, "int64": -8,
}  # fmt: skip
_FUNCTIONS = {
    SizeCode.ADD: int.__add__, SizeCode.MULTIPLY: int.__mul__, SizeCode.DIVIDE: quotient,
    SizeCode.REMAINDER: remainder, SizeCode.MIN: min, SizeCode.MAX: max,
}  # fmt: skip


@record
class HostCode:
    """The host program of an artifact.

    Registers hold sizes: first the symbols of the artifact, of which a call brings the `given` ones. The first `kept`
    are all that `steps` and `slots` read; the others are of use while they are computed. `arena` is the register with
    the bytes of the arena, `reserve` that with the scratch memory of a thread, or -1.

    `sizes`: (function, target, left, right), computed in this order. `constants`: (64-bit words) the values of the
    registers from `first_constant` on. `bounds`: products as in `Artifact.products`, each with its length before it.
    `checks`: (relation, left, right). `dims`: the registers of the results' shapes. `conditions`: registers that may
    not be negative. `slots`: (kind, number, register of the offset, register of the bytes, slot of the packed form or
    -1). `names` of kernels. `literals`: of the large ones; `packings`: of operands that may be
    packed ahead of calls. `most_buffers`, …: of any instruction, or group.
    """

    given: int
    symbols: int
    kept: int
    registers: int
    first_constant: int
    arena: int
    reserve: int
    arguments: int
    results: int
    literals: int
    packings: int
    host_calls: int
    most_buffers: int
    most_dims: int
    most_members: int
    most_held: int
    constants: array[int]
    bounds: array[int]
    sizes: array[int]
    checks: array[int]
    dims: array[int]
    conditions: array[int]
    slots: array[int]
    steps: array[int]
    names: tuple[str, ...]

    def instructions(self) -> Iterator[Instruction]:
        """All instructions in their order."""
        limits: dict[Kind, int] = {
            "kernel": len(self.names), "register": self.kept, "slot": len(self.slots) // SLOT_WORDS,
            "target": len(self.steps),
        }  # fmt: skip
        return instructions(self.steps, limits)

    def values(self, symbols: Sequence[int]) -> list[int]:
        """The kept registers, computed with exact integers, modulo 2**64, from the values of the artifact's symbols.

        Only grains and work may exceed 64 bits, which decide nothing but who computes what.
        """
        registers = [*symbols, *[0] * (self.registers - self.symbols)]
        registers[self.first_constant : self.first_constant + len(self.constants)] = self.constants
        for code, target, left, right in self.size_steps():
            if target >= self.symbols:
                registers[target] = _FUNCTIONS[code](registers[left], registers[right])
        return [(value + (1 << 63)) % (1 << 64) - (1 << 63) for value in registers[: self.kept]]

    def size_steps(self) -> Iterator[tuple[SizeCode, int, int, int]]:
        """(function, target, left, right) of each computed size."""
        for at in range(0, len(self.sizes), SIZE_WORDS):
            code, target, left, right = self.sizes[at : at + SIZE_WORDS]
            yield SizeCode(code), target, left, right

    def check_steps(self) -> Iterator[tuple[RelationCode, int, int]]:
        """(relation, left, right) of each check."""
        for at in range(0, len(self.checks), CHECK_WORDS):
            code, left, right = self.checks[at : at + CHECK_WORDS]
            yield RelationCode(code), left, right

    def slot_records(self) -> Iterator[tuple[str, int, int, int, int]]:
        """(kind, number, register of the offset, register of the bytes, slot of the packed form or -1) of each slot."""
        for at in range(0, len(self.slots), SLOT_WORDS):
            kind, number, offset, size, packed = self.slots[at : at + SLOT_WORDS]
            yield KINDS[kind], number, offset, size, packed


def rooms(code: Iterator[Instruction]) -> tuple[int, int, int, int]:
    """The most buffers, dims, members and held buffers of any instruction, or of all members of a group."""
    most, now = [0, 0, 0, 0], [0, 0, 0, 0]
    for one in code:
        lists = {name: len(value) for name, value in one.operands.items() if isinstance(value, tuple)}
        is_member = one.code is StepCode.MEMBER
        dims = lists.get("dims", 0) + lists.get("unit_dims", 0)
        own = [lists.get("buffers", 0), dims, int(is_member), lists.get("held", 0)]
        now = [before + more for before, more in zip(now, own, strict=True)] if is_member else own
        most = [*map(max, most, now)]
    buffers, dims, members, held = most
    return buffers, dims, members, held
