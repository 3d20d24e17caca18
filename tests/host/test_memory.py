"""The arena: buffers that are needed at the same time never share bytes, at any sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shlo_disc
from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import NOWHERE
from shlo_disc.expr.dim import Dim, Sym, const, maximum, of, symbol
from shlo_disc.expr.facts import Facts
from shlo_disc.host.placement import ALIGNMENT, Allocation, Placement, aligned, place, stack
from shlo_disc.host_ir import Case, Choice, Copy, HostCall, Launch, LaunchGroup, Step, While
from shlo_disc.runtime.steps import leaves, slots_of
from shlo_disc.size_expr import evaluate
from tests.fusion.test_fusion import PROGRAMS
from tests.pipeline.exports import FAST, In, exported
from tests.pipeline.programs import LAYER, generated, layers

A, B = Sym("a"), Sym("b")
SIZES = (
    const(0), const(4), const(64), const(100), const(4096), symbol("a") * 4, symbol("b") * 4, symbol("a") * symbol("b"),
    symbol("a") * 64, symbol("a") // 2 * 4, symbol("a") + 4, symbol("a") + symbol("b"),
)  # fmt: skip


def placed(needed: Sequence[Allocation], facts: Facts, points: Sequence[Mapping[Sym, int]]) -> Placement:
    return place(stack(needed, facts, points), facts, points)


@st.composite
def allocations(draw: st.DrawFn) -> Allocation:
    start = draw(st.integers(0, 12))
    length = draw(st.integers(1, 6))
    holes = draw(st.integers(0, 63)) | 1 | 1 << length - 1  # alive at both ends, and at some moments in between
    return Allocation((holes & (1 << length) - 1) << start, draw(st.sampled_from(SIZES)))


def values(largest: int = 300) -> st.SearchStrategy[Mapping[Sym, int]]:
    return st.fixed_dictionaries({A: st.integers(0, largest), B: st.integers(0, largest)})


def nonnegative() -> Facts:
    return Facts.empty().assume_at_least(of(A), 0, "a size", NOWHERE).assume_at_least(of(B), 0, "a size", NOWHERE)


@settings(max_examples=300)
@given(st.lists(allocations(), max_size=20), st.lists(values(), max_size=3), values())
def test_allocations_that_meet_never_share_bytes(
    needed: list[Allocation], points: list[Mapping[Sym, int]], sizes: Mapping[Sym, int]
) -> None:
    found = placed(needed, nonnegative(), points)
    sizes = with_definitions(found, sizes)
    spans = [_span(x, offset, sizes) for x, offset in zip(needed, found.offsets, strict=True)]
    arena = found.arena.evaluate(sizes)
    assert all(start >= 0 and start % ALIGNMENT == 0 and end <= arena for start, end in spans)
    for (x, (x_start, x_end)), (y, (y_start, y_end)) in itertools.combinations(zip(needed, spans, strict=True), 2):
        if x.moments & y.moments:
            assert x_end <= y_start or y_end <= x_start, (x, y)


@settings(max_examples=100)
@given(st.lists(allocations(), min_size=1, max_size=12), values())
def test_the_arena_is_no_larger_than_what_lies_in_it(needed: list[Allocation], sizes: Mapping[Sym, int]) -> None:
    found = placed(needed, nonnegative(), [sizes])
    sizes = with_definitions(found, sizes)
    ends = [
        offset.evaluate(sizes) + aligned(x.size).evaluate(sizes)
        for x, offset in zip(needed, found.offsets, strict=True)
    ]
    assert found.arena.evaluate(sizes) == max(ends)


def with_definitions(found: Placement, sizes: Mapping[Sym, int]) -> Mapping[Sym, int]:
    known = dict(sizes)
    for name, dim in found.definitions:
        known[name] = dim.evaluate(known)
    return known


def _span(allocation: Allocation, offset: Dim, sizes: Mapping[Sym, int]) -> tuple[int, int]:
    start = offset.evaluate(sizes)
    return start, start + allocation.size.evaluate(sizes)


def test_memory_is_used_again() -> None:
    size = symbol("a") * 4
    chain = [Allocation(0b11 << k, size) for k in range(50)]
    assert placed(chain, nonnegative(), []).arena == aligned(size) * 2


def test_a_size_that_is_never_larger_fits_where_another_was() -> None:
    small, large = Allocation(0b1, symbol("a") * 64), Allocation(0b10, symbol("a") * 256 + 64)
    found = placed([small, large], nonnegative(), [])
    assert found.offsets == (const(0), const(0))
    assert found.arena == large.size


def test_sizes_that_cannot_be_compared_share_up_to_the_larger() -> None:
    found = placed([Allocation(0b1, symbol("a") * 64), Allocation(0b10, symbol("b") * 64)], nonnegative(), [])
    assert found.arena == maximum(symbol("a") * 64, symbol("b") * 64)
    assert found.offsets == (const(0), const(0))


def test_facts_order_sizes() -> None:
    facts = nonnegative().assume_at_least(of(A), of(B), "a check", NOWHERE)
    found = placed([Allocation(0b1, symbol("a") * 64), Allocation(0b10, symbol("b") * 64)], facts, [])
    assert found.arena == symbol("a") * 64


@given(st.integers(0, 10_000))
def test_aligned_is_the_next_multiple(size: int) -> None:
    for found in (aligned(const(size)), aligned(symbol("a"))):
        assert found.evaluate({A: size}) == -(-size // ALIGNMENT) * ALIGNMENT


@dataclass(frozen=True, slots=True)
class Use:
    """From which moment to which the steps of a program use a slot."""

    slot: int
    first: int
    last: int


def uses(artifact: Artifact) -> list[Use]:
    """When each arena slot is used. What a loop uses from outside is used until its end."""
    first, last = dict[int, int](), dict[int, int]()
    clock = itertools.count()

    def touch(slots: Sequence[int], moment: int) -> None:
        for slot in slots:
            first.setdefault(slot, moment)
            last[slot] = max(moment, last.get(slot, 0))

    def visit(steps: Sequence[Step]) -> None:
        for step in steps:
            match step:
                case Launch():
                    touch(step.buffers, next(clock))
                case LaunchGroup():  # what may share memory within one is tested with the regions
                    visit(step.launches)
                case Copy() | Choice() | HostCall():
                    touch(list(_slots((step,))), next(clock))
                case While(condition, flag, body):
                    before = set(first)
                    visit(condition)
                    touch((flag,), next(clock))
                    visit(body)
                    touch([slot for slot in _slots((*condition, *body)) if slot in before], next(clock))
                case Case(index, _, branches):
                    touch((index,), next(clock))
                    for branch in branches:
                        visit(branch)

    visit(artifact.steps)
    arena = [slot for slot in first if artifact.buffers[slot].kind == "arena"]
    return [Use(slot, first[slot], last[slot]) for slot in arena]


def _slots(steps: Sequence[Step]) -> Iterator[int]:
    for step in steps:
        match step:
            case Launch():
                yield from step.buffers
            case LaunchGroup():
                yield from _slots(step.launches)
            case Copy():
                yield from slots_of(step)
            case HostCall():
                yield from (*step.operands, *step.results)
            case Choice(_, variants):
                yield from (slot for v in variants for command in v.commands for slot in slots_of(command))
            case While(condition, flag, body):
                yield flag
                yield from _slots((*condition, *body))
            case Case(index, _, branches):
                yield index
                for branch in branches:
                    yield from _slots(branch)


def bound(artifact: Artifact, sizes: Mapping[str, int]) -> dict[str, int]:
    """The values of all symbols, given those of the export's dims (equal raw dims have one value)."""
    names = artifact.symbols[: len(artifact.raw)]
    shapes = [artifact.arguments[argument].shape[axis] for argument, axis in artifact.raw]
    assert all(shape == name for shape, name in zip(shapes, names, strict=True)), "a raw symbol is named in a shape"
    found = {name: sizes.get(name, 7) for name in names}
    for name, formula in zip(artifact.symbols[len(names) :], artifact.definitions, strict=True):
        found[name] = evaluate(formula, found)
    return found


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", [*PROGRAMS, "four layers"])
def test_buffers_in_use_never_share_bytes(name: str, device: str) -> None:
    function, inputs = PROGRAMS.get(name) or (layers(4), (In("b, t, 16"), *LAYER * 4))
    artifact = generated(function, *inputs, device=device)
    used = uses(artifact)
    for size in (1, 2, 7, 16, 33):
        values = bound(artifact, {s: size + k for k, s in enumerate("bstqkdijn")})
        spans = {u.slot: _bytes(artifact, u.slot, values) for u in used}
        arena = evaluate(artifact.arena_bytes, values)
        assert all(start >= 0 and end <= arena for start, end in spans.values())
        for x, y in itertools.combinations(used, 2):
            one, other = artifact.buffers[x.slot], artifact.buffers[y.slot]
            if (
                one.memory is not None and one.memory == other.memory
            ):  # a kernel writes in place: test_peak.py looks at what is read after it
                continue
            if x.first <= y.last and y.first <= x.last:
                (x_start, x_end), (y_start, y_end) = spans[x.slot], spans[y.slot]
                assert x_end <= y_start or y_end <= x_start, (one, other)


@pytest.mark.parametrize("name", [*PROGRAMS, "four layers"])
def test_a_kernel_of_a_gpu_is_given_no_byte_twice(name: str) -> None:
    """Pointers are `__restrict__`, but for those of two buffers of which it writes one in the place of the other."""
    function, inputs = PROGRAMS.get(name) or (layers(4), (In("b, t, 16"), *LAYER * 4))
    artifact = generated(function, *inputs, device="cuda")
    for size in (1, 7, 33):
        values = bound(artifact, {s: size + k for k, s in enumerate("bstqkdijn")})
        for step in leaves(artifact.steps):
            if isinstance(step, Copy):
                continue
            for x, y in itertools.combinations(dict.fromkeys(_slots((step,))), 2):
                one, other = artifact.buffers[x], artifact.buffers[y]
                (x_start, x_end), (y_start, y_end) = _bytes(artifact, x, values), _bytes(artifact, y, values)
                apart = x_end <= y_start or y_end <= x_start
                is_one = one.memory == other.memory and one.size == other.size
                assert apart or is_one or (one.kind, one.number) != (other.kind, other.number), (one, other)


def _bytes(artifact: Artifact, slot: int, values: Mapping[str, int]) -> tuple[int, int]:
    buffer = artifact.buffers[slot]
    start = evaluate(buffer.offset, values)
    return start, start + evaluate(buffer.size, values)


def test_layers_share_their_arena() -> None:
    sizes = {"b": 3, "t": 5}
    few, many = (generated(layers(n), In("b, t, 16"), *LAYER * n) for n in (2, 8))
    assert evaluate(few.arena_bytes, bound(few, sizes)) == evaluate(many.arena_bytes, bound(many, sizes)) > 0


def test_the_formula_is_what_a_call_reports() -> None:
    inputs = (In("b, t, 16"), *LAYER * 2)
    compiled = shlo_disc.compile(exported(layers(2), inputs), options=FAST)
    artifact = compiled.executable.artifact
    rng = np.random.default_rng(0)
    for b, t in ((1, 1), (3, 5), (2, 64)):
        arrays = [i.array(rng, {"b": b, "t": t}) for i in inputs]
        assert compiled.executable.arena_bytes(arrays) == evaluate(
            artifact.arena_bytes, bound(artifact, {"b": b, "t": t})
        )
