"""What the interpreter of bytecode relies on: nothing that an instruction names is outside of its program."""

from __future__ import annotations

from shlo_disc.bytecode.code import CHECK_WORDS, KINDS, SIZE_WORDS, SLOT_WORDS, WIDTHS, HostCode, rooms
from shlo_disc.bytecode.instructions import Instruction, RelationCode, SizeCode, StepCode
from shlo_disc.codec import DamagedError


def verify(code: HostCode) -> None:
    """Raise `DamagedError` unless each register, slot, kernel and target exists, and each has a value if read."""
    every = code.given + len(code.constants) + len(code.sizes) // SIZE_WORDS
    if not 0 <= code.given <= code.symbols <= code.kept <= code.registers == every:
        raise DamagedError("host program: the numbers of its registers do not fit together")
    _verify_sizes(code)
    _verify_slots(code)
    starts, targets = set[int](), set[int]()
    last, members = StepCode.JUMP, 0
    for one in code.instructions():
        if one.code is not StepCode.MEMBER:  # a jump there would end the program
            starts.add(one.position)
        last = one.code
        if (one.code is StepCode.MEMBER) != (members > 0):
            raise DamagedError(f"host program: found {one.code.name} at {one.position}, expected members in groups")
        members = one.number("members") if one.code is StepCode.GROUP else max(0, members - 1)
        targets.update(_targets(one))
        _verify_operands(code, one)
    if last is not StepCode.END or members or not targets <= starts:
        raise DamagedError("host program: it does not end, or jumps into an instruction or a group")
    _verify_rooms(code)


def _verify_sizes(code: HostCode) -> None:
    last = code.first_constant + len(code.constants)
    if not code.symbols <= code.first_constant <= last <= code.registers:
        raise DamagedError("host program: its constants are outside of its registers")
    has_value = [k < code.given or code.first_constant <= k < last for k in range(code.registers)]
    whole = len(code.sizes) % SIZE_WORDS == len(code.checks) % CHECK_WORDS == 0
    if not whole or not all(0 <= function < len(SizeCode) for function in code.sizes[::SIZE_WORDS]):
        raise DamagedError("host program: the functions of its sizes are not as expected")
    for _, target, left, right in code.size_steps():
        fits = 0 <= target < code.registers and 0 <= left < code.registers and 0 <= right < code.registers
        if not fits or has_value[target] or not (has_value[left] and has_value[right]):
            raise DamagedError(f"host program: register {target} is computed from what has no value")
        has_value[target] = True
    if not all(0 <= relation < len(RelationCode) for relation in code.checks[::CHECK_WORDS]):
        raise DamagedError("host program: a check has an unknown relation")
    read = [code.arena, *code.dims, *code.conditions, *([code.reserve] if code.reserve >= 0 else [])]
    read += [k for _, *both in code.check_steps() for k in both]
    if not all(0 <= k < code.registers and has_value[k] for k in read) or code.reserve >= code.kept:
        raise DamagedError("host program: it reads a register without a value")
    if not all(has_value[: code.kept]):
        raise DamagedError("host program: a register that steps may read has no value")
    _verify_bounds(code)


def _verify_bounds(code: HostCode) -> None:
    at = 0
    while at < len(code.bounds):
        count = code.bounds[at]
        factors = code.bounds[at + 2 : at + 1 + count]
        if count < 1 or at + 1 + count > len(code.bounds) or not all(-1 <= k < code.given for k in factors):
            raise DamagedError("host program: a product of sizes is not as expected")
        at += 1 + count


def _verify_slots(code: HostCode) -> None:
    count, rest = divmod(len(code.slots), SLOT_WORDS)
    if rest or not all(0 <= kind < len(KINDS) for kind in code.slots[::SLOT_WORDS]):
        raise DamagedError("host program: its buffers are not as expected")
    counts = {
        "argument": code.arguments, "result": code.results, "constant": code.literals, "packed": code.packings,
    }  # fmt: skip
    for slot, (kind, number, offset, size, packed) in enumerate(code.slot_records()):
        fits = 0 <= offset < code.kept and 0 <= size < code.kept and -1 <= packed < slot
        if not fits or not 0 <= number < counts.get(kind, number + 1):
            raise DamagedError(f"host program: buffer {slot} of {count} is outside of the program")


def _verify_operands(code: HostCode, one: Instruction) -> None:
    if one.code is StepCode.MEMBER:
        held, sizes = one.numbers("held"), one.numbers("held_bytes")
        if len(held) != len(sizes) or not all(0 <= k < len(one.numbers("buffers")) for k in held):
            raise DamagedError(f"host program: the member at {one.position} holds a buffer that it has not")
    if one.code is StepCode.HOST_CALL and not 0 <= one.number("number") < code.host_calls:
        number = one.number("number")
        raise DamagedError(f"host program: found host call {number}, expected {code.host_calls} calls")
    if one.code is StepCode.SWITCH and not (one.number("width") in WIDTHS.values() and one.numbers("to")):
        raise DamagedError(f"host program: the branches at {one.position} are not as expected")


def _verify_rooms(code: HostCode) -> None:
    found = rooms(code.instructions())
    given = (code.most_buffers, code.most_dims, code.most_members, code.most_held)
    if found != given:
        raise DamagedError(f"host program: found room for {given} operands, expected {found}")


def _targets(one: Instruction) -> tuple[int, ...]:
    found = one.operands.get("to", ())
    return found if isinstance(found, tuple) else (found,)
