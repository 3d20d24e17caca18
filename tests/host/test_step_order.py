# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""Steps change places only where data allows it, and where the arena gets smaller at likely sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shlo_disc
from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.host import memory
from shlo_disc.host import plan as host_plan
from shlo_disc.host.memory import MemoryLayout, UnplacedBuffer, allocate
from shlo_disc.host.program import ControlSource, HostStep, KernelRef, LaunchStep
from shlo_disc.host.scheduling import Task, Tasks
from shlo_disc.host.step_order import other_orders
from shlo_disc.host_ir import BufferKind, Case, Copy, Launch, LaunchGroup, While
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Context, Group, GroupKind
from shlo_disc.pipeline import Request, Stopwatch, compile_text
from tests.models.recorded import MODELS, load
from tests.pipeline.exports import FAST, In, by_jax, exported
from tests.pipeline.programs import REAL_PRODUCTS

pytestmark = pytest.mark.slow

Steps = tuple[HostStep, ...]
N = Sym("n")
POINTS = ({N: 1}, {N: 100})
SLOTS = 10  # of which the first is an argument, and the last a result
GROUP = Group(GroupKind.ROWS, (), (), None, None)


def launch(reads: Sequence[int], writes: Sequence[int]) -> LaunchStep:
    """Each result may be written in place of each operand."""
    slots = (*reads, *writes)
    pairs = tuple((k, len(reads) + j) for k in range(len(reads)) for j in range(len(writes)))
    return LaunchStep(
        KernelRef(Launch("k", (), (), const(1), const(1), const(0)), (), pairs), slots, GROUP, tuple(writes)
    )


@st.composite
def leaves(draw: st.DrawFn) -> HostStep:
    slots = draw(st.lists(st.integers(0, SLOTS - 1), min_size=1, max_size=5, unique=True))
    if len(slots) == 2 and draw(st.booleans()):
        return Copy(slots[0], max(1, slots[1]) if slots[0] != 1 else 2)
    writes = [slot for slot in slots[: draw(st.integers(1, 2))] if slot]
    return launch([slot for slot in slots if slot not in writes], writes)


def lists(depth: int) -> st.SearchStrategy[Steps]:
    """Steps in a row; what they read was not always written, which is one more value to keep apart."""
    one = leaves()
    if depth:
        inner = lists(depth - 1)
        flags = st.integers(0, SLOTS - 1)
        loops = st.builds(lambda c, f, b: While(c, f, b, ControlSource(GROUP, ())), inner, flags, inner)
        cases = st.builds(
            lambda i, b: Case(i, "int32", tuple(b), ControlSource(GROUP, ())),
            flags,
            st.lists(inner, min_size=1, max_size=2),
        )
        one = st.one_of(one, one, one, loops, cases)
    return st.lists(one, max_size=8).map(tuple)


def outcome(steps: Steps, state: dict[int, Any]) -> dict[int, Any]:
    """What all slots hold in the end, as a formula of what they held before; loops run twice."""
    for step in steps:
        match step:
            case LaunchStep(_, slots, _, written):
                read = tuple(state[slot] for slot in slots if slot not in written)
                state = {**state, **{slot: hash((read, k, len(written))) for k, slot in enumerate(written)}}
            case LaunchGroup(members):
                state = outcome(tuple([member.launch for member in members]), state)
            case Copy(source, target):
                state = {**state, target: state[source]}
            case While(condition, flag, body):
                for _ in range(2):
                    state = outcome(condition, state)
                    state = chosen(state, flag, [outcome(body, state)])
                state = outcome(condition, state)
            case Case(index, _, branches):
                state = chosen(state, index, [outcome(branch, state) for branch in branches])
    return state


def chosen(state: dict[int, Any], by: int, ends: list[dict[int, Any]]) -> dict[int, Any]:
    """What slots hold after one of some bodies; what none of them writes is as it was."""
    found = dict(state)
    for slot, old in state.items():
        if any(end[slot] != old for end in ends):
            found[slot] = hash((state[by], *(end[slot] for end in ends)))
    return found


@settings(max_examples=200)
@given(lists(2))
def test_another_order_computes_the_same(steps: Steps) -> None:
    sizes = np.array([[0, 0], *([4 * k, 64] for k in range(1, SLOTS))], np.int64)
    start = {slot: slot for slot in range(SLOTS)}
    for order in other_orders(steps, sizes):
        assert outcome(order, start) == outcome(steps, start)


@st.composite
def tasks(draw: st.DrawFn) -> list[Task]:
    """Each writes a slot of its own, and reads earlier ones."""
    count = draw(st.integers(1, 12))
    reads = [draw(st.sets(st.integers(0, k - 1), max_size=3)) if k else set[int]() for k in range(count)]
    nothing = np.zeros(2, np.int64)
    return [Task(frozenset(r), frozenset((k,)), (), nothing) for k, r in enumerate(reads)]


@settings(max_examples=200)
@given(tasks(), st.randoms(use_true_random=False))
def test_what_an_order_holds_is_what_it_keeps(graph: list[Task], random: Any) -> None:
    sizes = np.array([[random.randrange(100), random.randrange(100)] for _ in graph], np.int64)
    found = Tasks(graph, sizes).ranked()
    for order, held in found:
        most = np.zeros(2, np.int64)
        for now in range(len(order)):
            touched = {slot for k in order[: now + 1] for slot in graph[k].slots}
            needed = {slot for k in order[now:] for slot in graph[k].slots}
            most = np.maximum(most, sizes[sorted(touched & needed)].sum(axis=0))
        assert (most == held).all()
    given_order = next(held for order, held in found if order == sorted(order))
    assert all((held <= given_order).all() for _, held in found)


@settings(max_examples=60)
@given(lists(1), st.lists(st.sampled_from([const(64), const(4096), of(N) * 64, of(N) * 4]), min_size=SLOTS))
def test_an_order_is_taken_only_if_the_arena_is_smaller(steps: Steps, sizes: list[Any]) -> None:
    facts = Facts.empty().assume_at_least(of(N), 1, "a size", NOWHERE)
    kinds: dict[int, BufferKind] = {0: "argument", SLOTS - 1: "result"}
    tensors = [Tensor("t", (size,), DType.UI8, NOWHERE) for size in sizes[:SLOTS]]
    places = [UnplacedBuffer(kinds.get(slot, "arena"), 0, tensor) for slot, tensor in enumerate(tensors)]
    context = Context(facts, {}, REAL_PRODUCTS, POINTS)
    assert_no_worse(lambda: allocate(places, steps, context), POINTS)


def assert_no_worse(made: Callable[[], MemoryLayout], points: Any) -> list[tuple[int, int]]:
    """At no point more bytes than in the given order; both."""
    found = arena(made(), points)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "other_orders", _no_orders)
        wanted = arena(made(), points)
    both = list(zip(found, wanted, strict=True))
    assert all(new <= old for new, old in both), both
    return both


def _no_orders(*_: Any) -> tuple[Steps, ...]:
    return ()


def arena(made: MemoryLayout, points: Any) -> list[int]:
    found = list[int]()
    for point in points:
        known = dict(point)
        for symbol, dim in made.definitions:
            known[symbol] = dim.evaluate(known)
        found.append(made.arena_bytes.evaluate(known))
    return found


def recorded(text: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Arenas in the order found and in the given one."""
    calls = list[Any]()

    def recording(*given: Any) -> MemoryLayout:
        calls.append(given)
        return allocate(*given)

    monkeypatch.setattr(host_plan, "allocate", recording)
    compile_text(text, "program.mlir", Request(), Stopwatch())
    (call,) = calls
    return assert_no_worse(lambda: allocate(*call), call[2].points)


@pytest.mark.parametrize("name", MODELS)
def test_models_need_no_more(name: str, corpus: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded(load(corpus / "models" / name).text, monkeypatch)


def ahead(*xs: jax.Array) -> jax.Array:
    """Eight values, computed first and used one after the other."""
    waiting = [jnp.sort(x, axis=0) for x in xs]
    y = xs[0]
    for one in waiting:
        y = jnp.cumsum(y * one, axis=0) / 8
    return y


def ahead_in_a_loop(x: jax.Array, *xs: jax.Array) -> jax.Array:
    return jax.lax.fori_loop(0, 3, lambda _, y: ahead(y, *(x + y for x in xs)), x)


def descent(x: jax.Array, *weights: jax.Array) -> list[jax.Array]:
    def loss(weights: Sequence[jax.Array]) -> jax.Array:
        y = x
        for w in weights:
            y = jnp.cumsum(jnp.tanh(y @ w), axis=0)
        return (y * y).sum() / 1000

    slopes = jax.grad(loss)(weights)
    return [w - 0.1 * jnp.cumsum(slope, axis=0) for w, slope in zip(weights, slopes, strict=True)]


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...], float]] = {
    "ahead": (ahead, (In("s, 8"),) * 8, 0.3),
    "loop": (ahead_in_a_loop, (In("s, 8"),) * 8, 1.0),
    "descent": (descent, (In("s, 16"), *[In("16, 16")] * 4), 1.0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_jax_in_less_memory(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, inputs, part = PROGRAMS[name]
    export = exported(function, inputs)
    assert all(new <= part * old for new, old in recorded(export.mlir_module(), monkeypatch))
    run = shlo_disc.compile(export, device="cpu", options=FAST)
    rng = np.random.default_rng(3)
    for size in (1, 2, 7, 16, 33):
        arrays = [one.array(rng, {"s": size}) for one in inputs]
        for got, reference in zip(jax.tree_util.tree_leaves(run(*arrays)), by_jax(function, arrays), strict=True):
            np.testing.assert_allclose(got, reference, 1e-4, 1e-4)


@pytest.mark.parametrize("is_last", [False, True])
def test_a_result_that_nobody_reads_overwrites_what_is_not_needed_any_more(is_last: bool) -> None:
    """Sorted keys, when only their order is wanted: the step that writes them is the only one that holds them."""
    steps = [launch([0], [1]), launch([1], [2]), launch([1], [3])]
    steps = [steps[0], steps[2], steps[1]] if is_last else steps
    kinds: dict[int, BufferKind] = {0: "argument", 3: "result"}
    sizes = (64, 64, 64, 128)
    tensors = [Tensor("t", (const(size),), DType.UI8, NOWHERE) for size in sizes]
    places = [UnplacedBuffer(kinds.get(slot, "arena"), 0, tensor) for slot, tensor in enumerate(tensors)]
    made = allocate(places, tuple(steps), Context(Facts.empty(), {}, REAL_PRODUCTS, ()))
    _, kept, unread, _ = made.buffers
    assert (kept.memory == unread.memory) is is_last
