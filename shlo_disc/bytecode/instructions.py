"""The instructions of a host program: numbers of 32 bits, each an opcode and its operands.

What an operand is follows from the opcode alone (`FORMATS`): encoding, decoding, verification and listing share that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Literal, TypeAlias

from shlo_disc.codec import DamagedError
from shlo_disc.records import record

# `slot?` may be -1: none. `target` is the position of an instruction. A name with `*`: a count, then so many operands.
Kind: TypeAlias = Literal["kernel", "register", "slot", "slot?", "number", "target"]
Field: TypeAlias = tuple[str, Kind]


class SizeCode(IntEnum):
    """Functions of two registers: sums and products wrap around, quotients are those of `size_expr.quotient`."""

    ADD = 0
    MULTIPLY = 1
    DIVIDE = 2
    REMAINDER = 3
    MIN = 4
    MAX = 5


class RelationCode(IntEnum):
    """Relations of two registers."""

    EQUAL = 0
    AT_MOST = 1
    AT_LEAST = 2
    LESS = 3
    GREATER = 4
    UNEQUAL = 5


RELATIONS = {
    "==": RelationCode.EQUAL, "<=": RelationCode.AT_MOST, ">=": RelationCode.AT_LEAST, "<": RelationCode.LESS,
    ">": RelationCode.GREATER, "!=": RelationCode.UNEQUAL,
}  # fmt: skip


class StepCode(IntEnum):
    """What a host program does."""

    END = 0
    LAUNCH = 1
    GROUP = 2  # so many members follow
    MEMBER = 3
    COPY = 4
    HOST_CALL = 5
    JUMP = 6
    JUMP_IF_ZERO = 7  # if the byte in a slot is 0
    SWITCH = 8  # by the integer in a slot; out of range takes the last target


FORMATS: Mapping[StepCode, tuple[Field, ...]] = {
    StepCode.END: (),
    StepCode.LAUNCH: (
        ("kernel", "kernel"), ("extent", "register"), ("grain", "register"), ("scratch", "register"),
        ("unless", "slot?"), ("buffers*", "slot"), ("dims*", "register"),
    ),
    StepCode.GROUP: (
        ("members", "number"), ("units", "register"), ("grain", "register"), ("work", "register"),
        ("scratch", "register"),
    ),
    StepCode.MEMBER: (
        ("kernel", "kernel"), ("extent", "register"), ("grain", "register"), ("scratch", "register"),
        ("tasks", "register"), ("unit_extent", "register"), ("buffers*", "slot"), ("dims*", "register"),
        ("unit_dims*", "register"), ("held*", "number"), ("held_bytes*", "register"),
    ),
    StepCode.COPY: (("source", "slot"), ("target", "slot"), ("bytes", "register")),
    StepCode.HOST_CALL: (("number", "number"), ("buffers*", "slot"), ("dims*", "register")),
    StepCode.JUMP: (("to", "target"),),
    StepCode.JUMP_IF_ZERO: (("flag", "slot"), ("to", "target")),
    StepCode.SWITCH: (("index", "slot"), ("width", "number"), ("to*", "target")),
}  # fmt: skip


@record
class Instruction:
    """An instruction at a position, with its operands by name: numbers, and tuples of them for names with `*`."""

    position: int
    code: StepCode
    operands: Mapping[str, int | tuple[int, ...]]

    def number(self, name: str) -> int:
        """An operand."""
        found = self.operands[name]
        assert isinstance(found, int), f"{name} is a list of operands"
        return found

    def numbers(self, name: str) -> tuple[int, ...]:
        """A list of operands."""
        found = self.operands[name]
        assert isinstance(found, tuple), f"{name} is one operand"
        return found


def words_of(code: StepCode, operands: Mapping[str, int | Sequence[int]]) -> list[int]:
    """An instruction as numbers."""
    words = [int(code)]
    for name, _ in FORMATS[code]:
        value = operands[name.rstrip("*")]
        if isinstance(value, int):
            words.append(value)
        else:
            words += (len(value), *value)
    return words


def instructions(words: Sequence[int], limits: Mapping[Kind, int]) -> Iterator[Instruction]:
    """All instructions in their order.

    Raises `DamagedError` for an unknown opcode, an operand that is not below the limit of its kind, and an end in the
    middle of an instruction.
    """
    position = 0
    while position < len(words):
        start, code = position, _step_code(words[position], position)
        position += 1
        operands = dict[str, int | tuple[int, ...]]()
        for name, kind in FORMATS[code]:
            count = 1
            if name.endswith("*"):
                count, position = _count(words, position), position + 1
            if position + count > len(words):
                raise DamagedError(f"host program: the instruction at {start} ends after the code")
            found = tuple(words[position : position + count])
            _check_operands(found, kind, limits, start)
            position += count
            operands[name.rstrip("*")] = found if name.endswith("*") else found[0]
        yield Instruction(start, code, operands)


def _step_code(word: int, position: int) -> StepCode:
    try:
        return StepCode(word)
    except ValueError:
        raise DamagedError(
            f"host program: found opcode {word} at {position}, expected 0 to {len(StepCode) - 1}"
        ) from None


def _count(words: Sequence[int], position: int) -> int:
    if position >= len(words) or not 0 <= words[position] <= len(words):
        raise DamagedError(f"host program: found no count of operands at {position}")
    return words[position]


def _check_operands(found: Sequence[int], kind: Kind, limits: Mapping[Kind, int], start: int) -> None:
    if kind == "number":
        return
    least, limit = -1 if kind == "slot?" else 0, limits["slot" if kind == "slot?" else kind]
    for operand in found:
        if not least <= operand < limit:
            what = kind.rstrip("?")
            raise DamagedError(f"host program: found {what} {operand} in the step at {start}, expected below {limit}")
