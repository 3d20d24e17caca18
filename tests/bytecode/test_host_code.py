"""Bytecode of host programs: sizes mean in C what they mean in Python, and damaged code is refused."""

from __future__ import annotations

import ctypes
from array import array
from dataclasses import fields, replace
from functools import cache
from random import Random
from typing import Any, cast

import numpy as np
import pytest

from shlo_disc.artifact import Argument, Artifact, CheckText, Result
from shlo_disc.bytecode import HostCode, encode
from shlo_disc.bytecode.binary import SECTIONS, from_bytes, to_bytes
from shlo_disc.bytecode.instructions import StepCode
from shlo_disc.bytecode.listing import host_text, listing
from shlo_disc.bytecode.verify import verify
from shlo_disc.codec import DamagedError
from shlo_disc.dynamic_ops.program import Relation
from shlo_disc.host_ir import Buffer, Case, Copy, HostCall, Launch, LaunchGroup, Member, While
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.driver import sizes_in_c, sizes_in_python
from shlo_disc.runtime.host_code import LoadedHostCode
from shlo_disc.runtime.library import LoadedProgram, words
from shlo_disc.size_expr import SizeExpr, SizeOp, evaluate, number
from tests.conftest import SEED
from tests.runtime.sample import LOOP, SAMPLE
from tests.size_text import parsed

NAMES = ("a", "b", "c")
LEAST, LARGEST = -(2**63), 2**63 - 1
ENDS = (LEAST, LEAST + 1, LARGEST, LARGEST - 1, 0, 1, -1, 2, -2, 3, 7, 1 << 62, -(1 << 62), 1 << 32)
PROGRAMS = 300
NO_KERNELS = cast("LoadedProgram", None)


@cache
def sample() -> CpuExecutable:
    return build(SAMPLE, CompileOptions(optimize=0, threads=1))


def of_sizes(sizes: tuple[SizeExpr, ...], definitions: tuple[SizeExpr, ...] = (), **changed: Any) -> Artifact:
    """A program without steps, whose result has these sizes."""
    names = tuple(f"d{k}" for k in range(len(definitions)))
    return replace(
        SAMPLE, symbols=(*NAMES, *names), raw=((0, 0), (0, 1), (1, 0)), definitions=definitions, checks=(), buffers=(),
        constants=(), steps=(), results=(Result("float32", sizes),), arena_bytes=0, **changed,
    )  # fmt: skip


def planned(artifact: Artifact, raw: tuple[int, ...]) -> tuple[int, list[int], list[int]]:
    """What C says of these sizes: how it ended, the kept registers and the sizes of the result."""
    code = encode(artifact)
    loaded = LoadedHostCode(code, NO_KERNELS)
    kept, dims, arena = words([0] * code.kept), words([0] * len(code.dims)), ctypes.c_int64()
    end = sample().runtime.plan_call(ctypes.c_void_p(loaded.address), words(raw), kept, dims, ctypes.byref(arena))
    return end, list(kept)[: code.kept], list(dims)[: len(code.dims)]


def drawn(random: Random, names: tuple[str, ...], depth: int) -> SizeExpr:
    """A formula with numbers at the ends of 64 bits."""
    if depth == 0 or random.random() < 0.2:
        return random.choice((*names, *names, random.choice(ENDS) if random.random() < 0.5 else 5, LARGEST))
    fn = random.choice(("+", "*", "//", "%", "min", "max"))
    count = 2 if fn in ("//", "%") else random.randint(1, 4)
    return SizeOp(fn, tuple([drawn(random, names, depth - 1) for _ in range(count)]))


def wrapped(size: SizeExpr, values: dict[str, int]) -> int:
    """The value of a formula in 64 bits: each function of the values of its operands wraps around."""
    if not isinstance(size, SizeOp):
        return evaluate(size, values)
    found, *others = [wrapped(one, values) for one in size.operands]
    for other in others:
        found = evaluate(SizeOp(size.fn, (found, other)), {})
        found = (found - LEAST) % 2**64 + LEAST
    return found


def test_sizes_are_those_of_python_modulo_the_width_of_registers() -> None:
    random = Random(SEED)
    for _ in range(PROGRAMS):
        definitions = list[SizeExpr]()
        for k in range(random.randint(0, 3)):
            definitions.append(drawn(random, (*NAMES, *(f"d{i}" for i in range(k))), 2))
        names = (*NAMES, *(f"d{i}" for i in range(len(definitions))))
        sizes = tuple([drawn(random, names, 3) for _ in range(3)])
        artifact = of_sizes(sizes, tuple(definitions))
        raw = tuple([random.choice((*ENDS, random.randint(0, 40))) for _ in NAMES])
        values: dict[str, int] = dict(zip(NAMES, raw, strict=True))
        for k, definition in enumerate(definitions):
            values[f"d{k}"] = wrapped(definition, values)
        end, kept, dims = planned(artifact, raw)
        assert end == 0
        assert kept[: len(values)] == list(values.values()), (definitions, raw)
        assert dims == [wrapped(size, values) for size in sizes], (sizes, raw)


def test_registers_that_python_computes_are_those_of_c() -> None:
    """Where a formula may overflow, Python computes all of them: what steps read has to be at the same places."""
    random, compared = Random(SEED + 1), 0
    for artifact in (SAMPLE, LOOP, *map(compiled, PROGRAM_TEXTS)):
        code = encode(artifact)
        plan = LoadedHostCode(replace(code, steps=array("i", [StepCode.END]), names=()), NO_KERNELS)
        function = sample().runtime.plan_call
        for _ in range(20):
            raw = tuple([random.choice((0, 1, 2, 3, 16, 31, 500))] * artifact.given)
            kept, dims = words([0] * code.kept), words([0] * len(code.dims))
            end = function(ctypes.c_void_p(plan.address), words(raw), kept, dims, ctypes.byref(ctypes.c_int64()))
            if end == 0:
                found = sizes_in_python(artifact, raw, code)
                assert list(found.symbols)[: code.kept] == list(kept)[: code.kept]
                compared += 1
    assert compared > 20


def test_sizes_beyond_a_bound_are_left_to_python() -> None:
    artifact = of_sizes((SizeOp("*", ("a", "b")),), products=((4, 0, 1), (8, -1)))
    assert planned(artifact, (3, 5, 0))[0] == 0
    assert planned(artifact, (1 << 31, 1 << 29, 0))[0] == -1
    assert planned(artifact, (1, 1, 1 << 60))[0] == -1, "the largest of all sizes has a bound"
    assert planned(artifact, (LEAST, 1, 1))[0] == -1
    found = sizes_in_c(artifact, lambda *_: -1, (3, 5, 0), encode(artifact))
    assert found.shapes == ((15,),)


def test_the_first_check_that_fails_is_named() -> None:
    def check(lhs: SizeExpr, relation: str, rhs: SizeExpr) -> CheckText:
        return CheckText(lhs, relation, rhs, "", (), "")

    checks = (
        check("a", "==", "b"), check("a", "<=", 10), check("c", ">=", 2), check("c", "<", 90), check("b", ">", 1),
        check("c", "!=", 70),
    )  # fmt: skip
    assert {one.value for one in Relation} == {one.relation for one in checks}
    artifact = replace(of_sizes(("a",)), checks=checks, conditions=(SizeOp("+", ("c", -5)),))
    wrong = ((3, 4, 5), (11, 11, 5), (3, 3, 1), (3, 3, 90), (1, 1, 5), (3, 3, 70), (3, 3, 4))
    right = ((3, 3, 5), (10, 10, 89), (2, 2, 5))
    assert [planned(artifact, raw)[0] for raw in (*wrong, *right)] == [1, 2, 3, 4, 5, 6, -1, 0, 0, 0]


# --- the steps ------------------------------------------------------------------------------------------------------

PROGRAM_TEXTS = (
    """
    func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x?xf32>) -> tensor<?x?xf32> {
      %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
        : (tensor<?x8xf32>, tensor<8x?xf32>) -> tensor<?x?xf32>
      %1 = stablehlo.tanh %0 : tensor<?x?xf32>
      return %1 : tensor<?x?xf32>
    }
    """,
    """
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      return %x : tensor<?xf32>
    }
    """,
)


@cache
def compiled(text: str) -> Artifact:
    return compile_text(text, "m.mlir", Request(), Stopwatch())


def test_control_flow_becomes_jumps() -> None:
    code = encode(LOOP)
    found = [one.code.name for one in code.instructions()]
    assert found == [
        "LAUNCH", "LAUNCH", "JUMP_IF_ZERO", "LAUNCH", "LAUNCH", "JUMP",
        "SWITCH", "COPY", "JUMP", "LAUNCH", "JUMP", "END",
    ]  # fmt: skip


BRANCHES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


@pytest.mark.parametrize("kind", BRANCHES)
def test_branches_read_integers_of_every_type(kind: str) -> None:
    """Out of range takes the last branch; a boolean has two."""
    count = 2 if kind == "bool" else 3
    arguments = (Argument("index", kind, ()), *(Argument(f"x{k}", "float32", ("n",)) for k in range(count)))
    buffers = [
        Buffer("argument", k, 0, parsed("n * 4") if k else np.dtype(kind).itemsize, one.name, one.dtype, one.shape)
        for k, one in enumerate(arguments)
    ]
    branches = tuple([(Copy(k + 1, count + 1),) for k in range(count)])
    artifact = replace(
        SAMPLE, arguments=arguments, results=(Result("float32", ("n",)),), symbols=("n",), raw=((1, 0),),
        definitions=(), checks=(), constants=(), arena_bytes=0, steps=(Case(0, kind, branches),), kernels=(),
        buffers=(*buffers, Buffer("result", 0, 0, parsed("n * 4"), "y", "float32", ("n",))),
    )  # fmt: skip
    run = build(artifact, CompileOptions(optimize=0, threads=1))
    arrays = [np.full(3, k, np.float32) for k in range(count)]
    info = None if kind == "bool" else np.iinfo(kind)
    values = (0, 1) if info is None else (0, 1, 2, 3, 100, 256, 1 << 16, 1 << 32, -1, int(info.min), int(info.max))
    for value in values if info is None else (one for one in values if info.min <= one <= info.max):
        (found,) = run((np.array(value, kind), *arrays))
        assert set(found) == {value if 0 <= value < count - 1 else count - 1}, value


def test_the_listing_shows_every_instruction_and_kernel() -> None:
    for artifact in (SAMPLE, LOOP, *map(compiled, PROGRAM_TEXTS)):
        code = encode(artifact)
        text = listing(artifact, code)
        steps = text[text.index("\nsteps") :]
        assert steps.count("\n") >= sum(1 for _ in code.instructions())
        assert all(name in steps for name in code.names)
    assert host_text(replace(SAMPLE, host=replace(SAMPLE.host, text="// C++"))) == "// C++"


# --- files ----------------------------------------------------------------------------------------------------------


def programs() -> tuple[Artifact, ...]:
    call = HostCall(0, "f", "a library", (0,), (4,), {}, "line 1")
    steps = (*SAMPLE.steps, call, While((Copy(3, 4),), 2, (call,)), Case(2, "int16", ((call,), (Copy(3, 4),))))
    return (SAMPLE, LOOP, replace(SAMPLE, steps=steps), *map(compiled, PROGRAM_TEXTS))


def test_code_comes_back_equal() -> None:
    for artifact in programs():
        code = encode(artifact)
        verify(code)
        assert from_bytes(to_bytes(code)) == code


@pytest.mark.parametrize("which", range(len(PROGRAM_TEXTS) + 3))
def test_changed_bytes_are_refused_or_stay_within_the_program(which: int) -> None:
    """Whatever is accepted reads and computes nothing outside of its registers, slots, kernels and jumps."""
    data, random, refused = to_bytes(encode(programs()[which])), Random(SEED + which), 0
    for _ in range(600):
        changed = bytearray(data)
        for _ in range(random.choice((1, 1, 2, 4))):
            changed[random.randrange(len(changed))] = random.choice((0, 1, 0xFF, 0x7F, random.randrange(256)))
        try:
            code = from_bytes(bytes(changed))
        except DamagedError:
            refused += 1
            continue
        assert_within(code)
    assert refused > 200
    code = from_bytes(data)
    for _ in range(600):
        name = random.choice([one for one in SECTIONS if len(getattr(code, one))])
        section: array[int] = array(SECTIONS[name], getattr(code, name))
        section[random.randrange(len(section))] = random.choice((-2, -1, 0, 1, 2, 3, random.randrange(60)))
        changes: dict[str, Any] = {name: section}
        try:
            assert_within(from_bytes(to_bytes(replace(code, **changes))))
        except DamagedError:
            refused += 1
    assert refused > 300
    for length in (*range(0, 260, 7), len(data) - 1):
        with pytest.raises(DamagedError):
            from_bytes(data[:length])
    with pytest.raises(DamagedError):
        from_bytes(data + b"\0")


def test_no_jump_leads_into_a_group() -> None:
    (launch, _, _) = SAMPLE.steps
    assert isinstance(launch, Launch)
    group = LaunchGroup((Member(launch, ("s",), 1, "b"),), 1, "b", 1, 1, 0)
    code = encode(replace(SAMPLE, steps=(group,)))
    verify(code)
    places = {one.code: one.position for one in code.instructions()}
    for target, is_right in ((StepCode.GROUP, True), (StepCode.MEMBER, False), (StepCode.END, True)):
        jump = [StepCode.JUMP, 2 + places[target], *code.steps]
        changed = replace(code, steps=array("i", jump))
        if is_right:
            verify(changed)
        else:
            with pytest.raises(DamagedError, match="or jumps into an instruction or a group"):
                verify(changed)


def assert_within(code: HostCode) -> None:
    """The same rules as `verify`, written down once more, number by number."""
    values = {*range(code.given), *range(code.first_constant, code.first_constant + len(code.constants))}
    for function, target, left, right in zip(*(code.sizes[k::4] for k in range(4)), strict=True):
        assert function in range(6)
        assert left in values
        assert right in values
        assert target in range(code.registers)
        values.add(target)
    assert set(range(code.kept)) <= values <= set(range(code.registers))
    assert {*code.dims, *code.conditions, code.arena, *code.checks[1::3], *code.checks[2::3]} <= values
    slots = len(code.slots) // 5
    for kind, at, offset, size, packed in zip(*(code.slots[k::5] for k in range(5)), strict=True):
        assert kind in range(6)
        assert at >= 0
        assert {offset, size} <= set(range(code.kept))
        assert -1 <= packed < slots
    at, starts, jumps, steps = 0, set[int](), list[int](), list(code.steps)
    while at < len(steps):
        opcode = steps[at]
        if opcode != StepCode.MEMBER:
            starts.add(at)
        at += 1
        at = walked(code, steps, opcode, at, jumps)
    assert at == len(steps)
    assert steps[-1] == 0
    assert set(jumps) <= starts


def walked(code: HostCode, steps: list[int], opcode: int, at: int, jumps: list[int]) -> int:
    registers, slots, kernels = range(code.kept), range(len(code.slots) // 5), range(len(code.names))

    def several(inside: range, at: int) -> int:
        count = steps[at]
        assert count >= 0
        assert all(one in inside for one in steps[at + 1 : at + 1 + count])
        return at + 1 + count

    match opcode:
        case 1 | 3:
            assert steps[at] in kernels
            extra = 3 if opcode == 1 else 5
            assert all(one in registers for one in steps[at + 1 : at + 1 + extra])
            at += 1 + extra
            if opcode == 1:
                assert steps[at] == -1 or steps[at] in slots
                at += 1
            at = several(registers, several(slots, at))
            return several(registers, several(range(1 << 31), several(registers, at))) if opcode == 3 else at
        case 2:
            assert all(one in registers for one in steps[at + 1 : at + 5])
            return at + 5
        case 4:
            assert all(one in slots for one in steps[at : at + 2])
            assert steps[at + 2] in registers
            return at + 3
        case 5:
            return several(registers, several(slots, at + 1))
        case 6:
            jumps.append(steps[at])
            return at + 1
        case 7:
            assert steps[at] in slots
            jumps.append(steps[at + 1])
            return at + 2
        case 8:
            assert steps[at] in slots
            count = steps[at + 2]
            assert count > 0
            jumps += steps[at + 3 : at + 3 + count]
            return at + 3 + count
        case _:
            assert opcode == 0
            return at


def test_large_integers_of_the_compiler_have_a_register() -> None:
    for value in (5 * 2**62 + 7, -(2**64) + 1, 2**63):
        _, _, dims = planned(of_sizes((number(value), SizeOp("+", ("a", number(value))))), (1, 0, 0))
        assert dims == [(value - LEAST) % 2**64 + LEAST, (value + 1 - LEAST) % 2**64 + LEAST]


def test_all_sections_are_written() -> None:
    names = {one.name for one in fields(HostCode) if one.type == "array[int]"}
    assert names == set(SECTIONS)
    assert isinstance(SAMPLE.steps[0], Launch)
