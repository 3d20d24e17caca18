"""Reducing kernels that turn transposed operands, tile by tile: what is read, what is chosen, and that it is right."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.expr.dim import Sym, const
from shlo_disc.kernels.loop_fission import take_apart
from shlo_disc.lower_cuda.packed_transpose import spread, with_transposed_loads
from shlo_disc.lower_cuda.points import SECTOR
from shlo_disc.lower_cuda.rows import schedules as row_schedules
from shlo_disc.lower_cuda.rows.columns import is_columns, lanes_for
from shlo_disc.lower_cuda.rows.schedules import print_rows, print_teams
from shlo_disc.lower_cuda.rows.teams import TILE8, TILE16, TILE32
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.device import SCHEDULES, EmulatedDevice
from tests.emulator.recording import record
from tests.emulator.run import OPTIONS, compiled
from tests.emulator.sanitize import needless_barriers, races
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.forced import forced
from tests.lower_cuda.printing import module, row_kernel
from tests.lower_cuda.sass import resources
from tests.lower_cuda.test_row_kernels import labelled, last_of
from tests.lower_cuda.test_row_text import cheapest
from tests.pipeline.exports import BF16, F16, In, Program, by_jax, check, exported, program, special

pytestmark = pytest.mark.slow

X, Y, BOX = In("s, b"), In("b, s"), In("a, s, b")
TILES = {team.label: team for team in (TILE8, TILE16, TILE32)}


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, -1)


def norm(x: Any, y: Any) -> Any:
    """Two operands, of which one is transposed, and stages that read both."""
    z = jnp.tanh(x) + y
    return (z - z.mean(1, keepdims=True)) / jnp.sqrt(z.var(1, keepdims=True) + 1e-3) * x


def lines(one: In, x: Any) -> Any:
    """What a function sees of an argument: its rows, whether they lie along memory or across it."""
    return x if one is Y else x.mT


def transposing(one: Program) -> Callable[..., Any]:
    return lambda *xs: one.function(*map(lines, one.inputs, xs))


# Functions of rows; all arguments but `Y` are transposed.
PROGRAMS: dict[str, Program] = {
    p.name: p
    for p in (
        program("softmax", softmax, X),
        program("softmax of several, tiles cross the outer rows", softmax, BOX),
        program("layer norm", norm, X, Y, scale=8),
        program("two transposed operands", lambda x, y: softmax(x * y).sum(1), X, X),
        program("not commutative", lambda x: last_of(x, (1,)), X),
        program("empty rows", lambda x: x[:, 1:].sum(1) + 1, X),
        program("no rows", lambda x: softmax(x[1:]), X),
        program("padded", lambda x: softmax(jnp.pad(x, ((0, 0), (3, 2)))), X),
        program("causal", lambda x: softmax(jnp.where(jnp.tril(jnp.ones_like(x)) > 0, x, -9.0)), X),
        program("f16", softmax, In("s, b", F16)),
        program("bf16", softmax, In("s, b", BF16)),
        program("bytes", lambda x: x - x.max(1, keepdims=True), In("s, b", np.int8)),
        program("any", lambda x: (x > 1) ^ (x > 1).any(1, keepdims=True), X),
        program("f64", softmax, In("s, b", np.float64), wide=True),
    )
}
SIZES: tuple[Mapping[str, int], ...] = tuple(
    {"a": a, "b": b, "s": s}
    for a, b, s in ((1, 1, 1), (3, 7, 31), (2, 8, 32), (2, 33, 33), (1, 31, 257), (5, 32, 13), (1, 65, 64))
)


@pytest.mark.parametrize("label", TILES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values(name: str, label: str) -> None:
    one = PROGRAMS[name]
    number = list(TILES).index(label)
    with jax.enable_x64(one.wide):
        source = exported(transposing(one), one.inputs)
        index = "int64_t" if label == "tile8" else None
        run = forced(source, label, schedule=list(SCHEDULES)[number], seed=number, index=index)
        for at in SIZES:
            rng = np.random.default_rng([*at.values()])
            arrays = [i.array(rng, at) for i in one.inputs]
            rows = [np.ascontiguousarray(lines(i, a)) for i, a in zip(one.inputs, arrays, strict=True)]
            found, taken = run(arrays)
            assert taken, f"{label} did not run at {at}"
            check(found, by_jax(one.function, rows), f"{name}, {label}, {at}", one.scale, inside=1)


@pytest.mark.parametrize("label", TILES)
def test_special_values(label: str) -> None:
    """NumPy is the oracle: XLA's CPU backend loses NaNs of long rows."""

    def extremes(x: Any) -> Any:
        return x.max(1), x.min(1), x.sum(1), x.argmax(1).astype(np.int32), x.argmin(1).astype(np.int32)

    x = In("s, b", draw=special)
    run = forced(exported(lambda x: extremes(x.T), (x,)), label, schedule="random")
    for at in SIZES:
        array = x.array(np.random.default_rng([*at.values()]), at)
        found, taken = run([array])
        assert taken
        with np.errstate(invalid="ignore"):
            check(found, extremes(array.T), f"{label}, {at}", inside=1)


@pytest.mark.parametrize("label", TILES)
def test_no_races(label: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A block waits until its tile is full, and until all its rows are done; several tiles go through one memory."""
    monkeypatch.setattr(row_schedules, "MOST_BLOCKS", 2)
    one = PROGRAMS["layer norm"]
    source, options = exported(transposing(one), one.inputs), replace(OPTIONS, cache_dir=tmp_path)
    rng = np.random.default_rng(0)
    arrays = [i.array(rng, {"b": 150, "s": 40}) for i in one.inputs]
    recording = record(compiled(source, EmulatedDevice(), options=options), arrays, chooser=labelled(label))
    assert [launch.label for launch in recording.launches] == [label]
    outcome = races(recording)
    assert outcome.clean, (outcome.launches, outcome.report)
    assert not needless_barriers(recording)


def test_reads_run_along_memory() -> None:
    """The sectors that one load of a warp touches, rows beginning anywhere: what the cost counts at most."""
    kernel, _ = row_kernel(lambda x: softmax(x.mT), BOX)
    found = with_transposed_loads(kernel)
    assert found is not None
    (turn,) = found.turns
    outer, row = (axis.symbol for axis in kernel.rows)
    sizes = {Sym("a"): 2, Sym("s"): 300, Sym("b"): 1001}

    def sectors(tall: int, first: int) -> int:
        """Neighbouring threads are at neighbouring rows; `tall` = 1: at neighbouring steps of one row."""
        points = [(first + thread % tall, thread // tall) for thread in range(32)]
        places = [
            turn.load.index[0].evaluate({**sizes, outer: 1, row: r, turn.lane.symbol: step}) for r, step in points
        ]
        return len({place * turn.load.dtype.bytes // SECTOR for place in places})

    assert sectors(1, 5) == 32
    for team in TILES.values():
        counts = [sectors(team.rows, first) for first in range(0, 160, team.rows)]
        assert min(counts) >= 4
        assert max(counts) * SECTOR <= 32 * turn.traffic(team.rows)


@pytest.mark.parametrize("size", [16, 32, 112, 128, 144, 4000])
def test_rows_of_scratch_are_in_other_banks(size: int) -> None:
    line = spread(const(size)).evaluate({})
    assert size <= line < size + 128
    assert len({(row * line // 4 + step) % 32 for row in range(8) for step in range(4)}) == 32


@pytest.mark.parametrize(
    ("rows", "length", "label"),
    [
        (1_000_000, 4, "tile32"),
        (100_000, 64, "tile32"),
        (16_384, 1001, "tile16"),
        (4096, 1024, "tile16"),
        (4096, 3500, "tile8"),
        (4096, 50_000, "wide, packs"),
        (8, 1024, "wide, packs"),
    ],
)
def test_choices(rows: int, length: int, label: str) -> None:
    """Tiles where strides are large and rows are many, as far as shared memory goes."""
    kernel, facts = row_kernel(lambda x: softmax(x.T), X)
    assert cheapest(print_teams(kernel, facts).variants, {"b": rows, "s": length}) == label


def test_the_cheapest_is_a_tile() -> None:
    """Without being asked for, where there are enough rows."""
    program = compiled(exported(lambda x: softmax(x.T), (X,)), EmulatedDevice())
    array = X.array(np.random.default_rng(0), {"b": 3000, "s": 72})
    (launch,) = record(program, [array]).launches
    assert launch.label in TILES
    found = np.asarray(program.executable([array])[0])
    check([found], by_jax(softmax, [np.ascontiguousarray(array.T)]), launch.label, inside=1)


def test_nothing_to_turn() -> None:
    """Rows along memory, few rows, and short ones."""
    kept: list[tuple[Callable[..., Any], In]] = [
        (softmax, X),
        (lambda x: softmax(x.T), In("s, 4")),
        (lambda x: softmax(x.T), In("4, b")),
    ]
    assert [with_transposed_loads(row_kernel(function, x)[0]) for function, x in kept] == [None] * len(kept)


def test_registers() -> None:
    require_nvrtc()
    one = PROGRAMS["layer norm"]
    kernel, facts = row_kernel(transposing(one), *one.inputs)
    used = resources(nvrtc.compile_kernels(module(print_rows(kernel, facts)), "kernels.cu", 90, "int32_t").log)
    tiles = [kernel for name, kernel in used.items() if "_turned" in name]
    assert len(tiles) == len(TILES)
    assert all(kernel.spilled == 0 and kernel.registers <= 64 for kernel in tiles)


LONE: dict[str, Program] = {
    "not commutative": PROGRAMS["not commutative"],
    "empty rows": program("empty rows", lambda x: x[:, 1:].sum(1), X),
    "two": program("two", lambda x: ((x * x).sum(1), x.max(1)), X),
}


@pytest.mark.parametrize("label", ["grid, parts", "grid, whole", "grid, alone"])
@pytest.mark.parametrize("name", LONE)
def test_results_side_by_side(name: str, label: str) -> None:
    """A lone reduction needs no tile: neighbouring threads have neighbouring results."""
    one = LONE[name]
    run = forced(exported(transposing(one), one.inputs), label, schedule="random")
    for at in ({"s": 1, "b": 1}, {"s": 300, "b": 33}, {"s": 31, "b": 64}, {"s": 2500, "b": 3}):
        (array,) = (i.array(np.random.default_rng(0), at) for i in one.inputs)
        found, taken = run([array])
        assert taken
        check(found, by_jax(one.function, [np.ascontiguousarray(array.T)]), f"{name}, {label}, {at}", inside=1)


def test_lone_reductions_lie_side_by_side() -> None:
    """However long rows are; sums along memory, and of several stages, stay as they were."""
    programs: list[tuple[Callable[..., Any], In, int]] = [
        (lambda x: x.T.sum(1), X, 32),
        (lambda x: x.T.max(1), In("768, b"), 32),
        (lambda x: (x.mT * x.mT).sum(2), BOX, 32),
        (lambda x: x.sum(1), X, 1),
        (lambda x: x.sum(1), In("b, 768"), 1),
    ]
    for function, x, lanes in programs:
        kernel, _ = row_kernel(function, x)
        (stage,) = take_apart(kernel).stages
        assert lanes_for(stage) == lanes
        assert is_columns(kernel) or lanes == 1
