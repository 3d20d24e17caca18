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
from shlo_disc.artifact import Artifact, Case, Choice, Copy, Launch, Step, While
from shlo_disc.codegen.memory import ALIGNMENT, Interval, aligned, place
from shlo_disc.expr.dim import Dim, Sym, const, symbol
from shlo_disc.pipeline import DeviceKind
from shlo_disc.runtime.formulas import evaluate
from shlo_disc.runtime.steps import slots_of
from tests.codegen.programs import LAYER, generated, layers
from tests.codegen.test_fusion import PROGRAMS
from tests.pipeline.exports import FAST, In, exported

A, B = Sym("a"), Sym("b")
SIZES = (
    const(0), const(4), const(64), const(100), const(4096), symbol("a") * 4, symbol("b") * 4, symbol("a") * symbol("b"),
    symbol("a") * 64, symbol("a") // 2 * 4, symbol("a") + 4, symbol("a") + symbol("b"),
)  # fmt: skip


@st.composite
def intervals(draw: st.DrawFn) -> Interval:
    start = draw(st.integers(0, 12))
    return Interval(start, start + draw(st.integers(0, 5)), draw(st.sampled_from(SIZES)))


def values() -> st.SearchStrategy[Mapping[Sym, int]]:
    return st.fixed_dictionaries({A: st.integers(0, 300), B: st.integers(0, 300)})


@settings(max_examples=300)
@given(st.lists(intervals(), max_size=20), values())
def test_intervals_that_meet_never_share_bytes(needed: list[Interval], sizes: Mapping[Sym, int]) -> None:
    offsets, arena = place(needed)
    spans = [_span(x, offset, sizes) for x, offset in zip(needed, offsets, strict=True)]
    assert all(start % ALIGNMENT == 0 and end <= arena.evaluate(sizes) for start, end in spans)
    for (x, (x_start, x_end)), (y, (y_start, y_end)) in itertools.combinations(zip(needed, spans, strict=True), 2):
        if x.start <= y.end and y.start <= x.end:
            assert x_end <= y_start or y_end <= x_start, (x, y)


def _span(interval: Interval, offset: Dim, sizes: Mapping[Sym, int]) -> tuple[int, int]:
    start = offset.evaluate(sizes)
    return start, start + interval.size.evaluate(sizes)


def test_memory_is_used_again() -> None:
    size = symbol("a") * 4
    chain = [Interval(k, k + 1, size) for k in range(50)]
    _, arena = place(chain)
    assert arena == aligned(size) * 2


def test_a_constant_fits_where_a_larger_one_was() -> None:
    offsets, arena = place([Interval(0, 1, const(1000)), Interval(2, 3, const(10))])
    assert offsets == (const(0), const(0))
    assert arena == const(1024)


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
                case Copy() | Choice():
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
            case Copy():
                yield from slots_of(step)
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
def test_buffers_in_use_never_share_bytes(name: str, device: DeviceKind) -> None:
    function, inputs = PROGRAMS.get(name) or (layers(4), (In("b, t, 16"), *LAYER * 4))
    artifact = generated(function, *inputs, device=device)
    used = uses(artifact)
    for size in (1, 2, 7, 16, 33):
        values = bound(artifact, {s: size + k for k, s in enumerate("bstqkdijn")})
        spans = {u.slot: _bytes(artifact, u.slot, values) for u in used}
        arena = evaluate(artifact.arena_bytes, values)
        assert all(start >= 0 and end <= arena for start, end in spans.values())
        for x, y in itertools.combinations(used, 2):
            if x.first <= y.last and y.first <= x.last:
                (x_start, x_end), (y_start, y_end) = spans[x.slot], spans[y.slot]
                assert x_end <= y_start or y_end <= x_start, (artifact.buffers[x.slot], artifact.buffers[y.slot])


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
