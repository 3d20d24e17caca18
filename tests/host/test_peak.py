"""What is said of a call's memory beforehand is what the call takes, and no buffer is needed longer than is said."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError
from shlo_disc.host_ir import Case, Slot, Step, While
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.memory import POOL, Shelf
from shlo_disc.runtime.peak import largest_size, parse_bytes
from shlo_disc.size_expr import bounds, evaluate
from tests.pipeline.exports import FAST, In, by_jax, exported
from tests.pipeline.programs import LAYER, layers
from tests.size_text import parsed

Array = NDArray[Any]
INPUTS = (In("b, t, 16"), *LAYER * 2)


def attention(x: jax.Array, w: jax.Array) -> tuple[jax.Array, jax.Array]:
    scores = jax.nn.softmax(x @ w @ x.T, axis=-1)
    return scores @ x, jnp.sum(scores, axis=0)


def searched(x: jax.Array, n: jax.Array) -> jax.Array:
    def body(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        k, y = state
        return k + 1, jnp.where(k % 2 == 0, jnp.cumsum(y, axis=0) / 3, y[::-1] - y.mean(axis=0))

    return jax.lax.while_loop(lambda state: state[0] < n, body, (jnp.int32(0), x * 2))[1]


def updated(x: jax.Array, at: jax.Array) -> jax.Array:
    y = jax.lax.dynamic_update_slice(jnp.exp(x), x[:1] * 3, (at, jnp.int32(0)))
    return y.at[at].add(1.0) - x


PROGRAMS: Mapping[str, tuple[Any, tuple[In, ...]]] = {
    "layers": (layers(2), INPUTS),
    "attention": (attention, (In("s, 8"), In("8, 8"))),
    "loop": (searched, (In("s, 8"), In("", np.int32, lambda rng, shape, dtype: rng.integers(0, 4, shape, dtype)))),
    "update": (updated, (In("s + 1, 8"), In("", np.int32, lambda rng, shape, dtype: rng.integers(0, 1, shape, dtype)))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_dead_memory_is_never_read(name: str) -> None:
    """After every step, all bytes of the arena that hold nothing needed are filled with NaNs."""
    function, inputs = PROGRAMS[name]
    run = shlo_disc.compile(exported(function, inputs), options=FAST).executable
    assert isinstance(run, CpuExecutable), "the CPU's"
    moments = numbered(run.artifact)
    rng = np.random.default_rng(5)
    for size in (1, 2, 7, 16, 33):
        arrays = [one.array(rng, {"b": 2, "t": size, "s": size}) for one in inputs]

        def poison(step: Step, buffers: Mapping[Slot, Array]) -> None:
            now = moments.get(id(step))
            if now is None:
                return
            needed = np.concatenate([_bytes(run.artifact, k, buffers) for k in _live(run.artifact, now)] or [_NOTHING])
            for slot, buffer in enumerate(run.artifact.buffers):
                if buffer.kind == "arena" and buffer.whole is None and not buffer.first <= now < buffer.last:
                    mine = _bytes(run.artifact, slot, buffers)
                    flat = buffers[slot].reshape(-1).view(np.uint8)
                    flat[~np.isin(mine, needed)] = 0xFF

        wanted = by_jax(function, arrays)
        for got, reference in zip(run.trace(arrays, poison), wanted, strict=True):
            np.testing.assert_allclose(got, reference, 1e-4, 1e-4)


_NOTHING = np.zeros(0, np.int64)


def _live(artifact: Artifact, now: int) -> list[int]:
    """The slots that are needed after a moment, those of loops as long as their first and last moments say."""
    return [k for k, b in enumerate(artifact.buffers) if b.kind == "arena" and b.first <= now < b.last]


def _bytes(artifact: Artifact, slot: int, buffers: Any) -> NDArray[np.int64]:
    start = int(evaluate(artifact.buffers[slot].offset, buffers.symbols))
    return np.arange(start, start + int(buffers.size(slot)), dtype=np.int64)


def numbered(artifact: Artifact) -> dict[int, int]:
    """The moment of each step outside of loops and branches, by its id, as `artifact.Buffer` counts them."""
    found, clock = dict[int, int](), 0

    def count(steps: tuple[Step, ...]) -> int:
        total = 0
        for step in steps:
            match step:
                case While(condition, _, body):
                    total += count(condition) + 1 + count(body)
                case Case(_, _, branches):
                    total += 1 + sum(map(count, branches))
                case _:
                    total += 1
        return total

    for step in artifact.steps:
        clock += count((step,))
        found[id(step)] = clock - 1
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_peak_is_what_a_call_takes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function, inputs = PROGRAMS[name]
    run = shlo_disc.compile(exported(function, inputs), options=FAST)
    taken = list[int]()
    shelf = POOL.shelf

    def watched(size: int) -> Shelf:
        taken.append(size)
        return shelf(size)

    monkeypatch.setattr(POOL, "shelf", watched)
    rng = np.random.default_rng(0)
    for b, size in ((1, 1), (3, 5), (2, 64), (2, 37)):
        sizes = {"b": b, "t": size, "s": size}
        given = {name: sizes[name] for name in run.executable.artifact.free}
        arrays = [one.array(rng, sizes) for one in inputs]
        taken.clear()
        run(*arrays)
        peak = run.peak_memory(**given)
        assert taken[-1] == peak
        assert run.peak_formula.subs({x: given[x.name] for x in run.peak_formula.free_symbols}) == peak


def test_names_of_sizes_are_the_users() -> None:
    run = shlo_disc.compile(exported(layers(1), (In("b, t, 16"), *LAYER)), options=FAST)
    with pytest.raises(ShloDiscError, match="found size 'q', expected b, t"):
        run.peak_memory(q=3)
    with pytest.raises(ShloDiscError, match="found no value of t"):
        run.peak_memory(b=3)
    with pytest.raises(RuntimeShapeError, match="found b = 0, expected >= 1"):
        run.peak_memory(b=0, t=1)
    with pytest.raises(RuntimeShapeError, match="found the sizes b=-1, t=1"):
        run.peak_memory(b=-1, t=1)
    with pytest.raises(ShloDiscError, match=r"found size t = 1.5, expected a whole number"):
        run.peak_memory(b=1, t=1.5)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ShloDiscError, match="found size b = '8', expected a whole number"):
        run.max_size("t", budget="1GiB", b="8")  # pyright: ignore[reportArgumentType]
    assert run.peak_memory(b=np.int64(2), t=8) == run.peak_memory(b=2, t=8)  # pyright: ignore[reportArgumentType]


def centered(x: jax.Array, w: jax.Array) -> jax.Array:
    """Every row needs all others, so all of them are in memory."""
    y = jnp.tanh(x @ w)
    return jnp.abs(y - y.mean((0, 1))).max(-1)


def test_the_largest_size_is_the_last_that_fits() -> None:
    run = shlo_disc.compile(exported(centered, (In("b, t, 16"), In("16, 32"))), options=FAST)
    for budget in (2000, 4096, "64KiB", "1.5MB", "2GiB"):
        found = run.max_size("b", t=3, budget=budget)
        assert run.peak_memory(b=found, t=3) <= parse_bytes(budget) < run.peak_memory(b=found + 1, t=3)
    with pytest.raises(ShloDiscError, match="no value of b keeps within 10 bytes"):
        run.max_size("b", t=3, budget=10)
    with pytest.raises(ShloDiscError, match="found '2 gigs', expected a number of bytes"):
        run.max_size("b", t=3, budget="2 gigs")
    with pytest.raises(ShloDiscError, match="found a value of b, expected none"):
        run.max_size("b", b=1, t=3, budget=10)


def test_the_largest_size_of_a_formula_that_falls_and_rises() -> None:
    artifact = shlo_disc.compile(exported(layers(1), (In("b, t, 16"), *LAYER)), options=FAST).executable.artifact
    shape = parsed("max(100 - 10*b, 0) + 2*(b % 7) + max(b - 60, 0)*t")
    strange = replace(artifact, arena_bytes=shape)
    for room in (0, 1, 7, 11, 30, 90):
        fitting = [b for b in range(1, 400) if evaluate(shape, {"b": b, "t": 5}) <= room]
        if fitting:
            assert largest_size(strange, "b", room, {"t": 5}) == max(fitting)


def test_bounds_hold_everything_in_between() -> None:
    rng = np.random.default_rng(1)
    formula = parsed("3*b*b - 5*t + (b*t + 7) // 4 * min(t, 9) + (b - t) % 5 - max(b, -t)")
    for _ in range(100):
        (b0, b1), (t0, t1) = np.sort(rng.integers(0, 30, 2)), np.sort(rng.integers(0, 30, 2))
        low, high = bounds(formula, {"b": (int(b0), int(b1)), "t": (int(t0), int(t1))})
        inside = [evaluate(formula, {"b": b, "t": t}) for b in range(b0, b1 + 1) for t in range(t0, t1 + 1)]
        assert low <= min(inside)
        assert max(inside) <= high


def test_offsets_are_shown_with_what_they_stand_for() -> None:
    """What lies above the larger of two sizes, of which none is known to be it, has a name of its own."""

    def apart(x: jax.Array, y: jax.Array, z: jax.Array) -> jax.Array:
        kept = jnp.sort(z, axis=0)
        first = jnp.sort(x + kept[0], axis=0) @ z
        return first.sum(0) + (jnp.sort(y * kept[1], axis=0) @ z).sum(0) @ kept

    run = shlo_disc.compile(exported(apart, (In("s, 8"), In("t, 8"), In("8, 8"))), options=FAST)
    text = run.explain("memory")
    shown = re.findall(r"^  (offset\d+) = (.+)$", text, re.MULTILINE)
    assert {name for name, _ in shown} == set(re.findall(r"offset\d+", text)) != set()
    for name, formula in shown:
        known = {"s": 7, "t": 9, **{one: 0 for one, _ in shown}}
        assert evaluate(parsed(formula), known) > 0, name
