"""Reductions over the whole grid: what is launched, how points are cut into parts, and that all of it is right."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.host_ir import GridLaunch, Variant
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.rows import columns, split_text
from shlo_disc.lower_cuda.rows.columns import is_columns, lanes_for, print_columns, with_columns
from shlo_disc.lower_cuda.rows.schedules import print_teams
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.sanitize import check, needless_barriers, races
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import Sizes, recordings, verify
from tests.lower_cuda.printing import module, row_kernel
from tests.lower_cuda.sass import resources
from tests.pipeline.exports import BF16, F16, In, between, special

pytestmark = pytest.mark.slow

X, N, Y = In("b, s"), In("n"), In("a, b, c")
I32 = np.int32


def softmax(x: Any) -> Any:
    return jax.nn.softmax(x, -1)


# whether the grid may be worth it, and how many results a block computes side by side
KERNELS: dict[str, tuple[Callable[..., Any], tuple[In, ...], bool, int]] = {
    "columns": (lambda x: x.sum(0), (X,), True, 32),
    "the middle axis": (lambda x: x.sum(1), (Y,), True, 32),
    "few columns": (lambda x: x.sum(0), (In("n, 5"),), True, 8),
    "one column": (lambda x: x.sum(0), (In("n, 1"),), True, 1),
    "everything": (lambda x: x.max(), (X,), True, 1),
    "rows": (lambda x: x.sum(1), (X,), True, 1),
    "few rows, several stages": (softmax, (In("4, n"),), True, 1),
    "rows, several stages": (softmax, (X,), False, 1),
    "short rows": (lambda x: x.sum(1), (In("b, 768"),), False, 1),
}


@pytest.mark.parametrize("name", KERNELS)
def test_is_columns(name: str) -> None:
    function, inputs, wanted, lanes = KERNELS[name]
    kernel, _ = row_kernel(function, *inputs)
    assert is_columns(kernel) == wanted
    assert lanes_for(kernel.stages[0]) == lanes


def grid(function: Callable[..., Any], *inputs: In) -> tuple[RowKernel, Printed]:
    kernel, facts = row_kernel(function, *inputs)
    return kernel, print_columns(kernel, facts)


def launches(variant: Variant[Dim]) -> list[GridLaunch[Dim]]:
    return [call for call in variant.commands if isinstance(call, GridLaunch)]


def values(**sizes: int) -> dict[Sym, int]:
    return {Sym(name): size for name, size in sizes.items()}


def test_parts_fill_the_card() -> None:
    """Few results have many parts, many results have one; no part is small."""
    _, found = grid(lambda x: x.sum(0), X)
    parts, whole, alone = found.variants
    assert [c.kernel for c in launches(parts)] == ["@name_stage0_parts", "@name_stage0_join"]
    assert [c.kernel for c in launches(whole)] == ["@name_stage0_whole"]
    assert [c.kernel for c in launches(alone)] == ["@name_stage0_alone"]
    (first, join), (one,), (each,) = launches(parts), launches(whole), launches(alone)

    def blocks(call: GridLaunch[Dim], b: int, s: int) -> int:
        return call.blocks.evaluate(values(b=b, s=s))

    assert (blocks(first, 1 << 20, 64), blocks(join, 1 << 20, 64), blocks(one, 1 << 20, 64)) == (2 * 528, 8, 2)
    assert blocks(first, 1 << 20, 32 * 5000) == blocks(one, 1 << 20, 32 * 5000) == 5000
    assert blocks(first, 1000, 32) == 16  # 64 points for each
    assert (blocks(first, 0, 64), blocks(join, 0, 64), blocks(one, 0, 64)) == (0, 8, 2)  # sums of nothing are stored
    assert blocks(each, 3, 1000) == 4
    assert blocks(one, 5, 0) == blocks(each, 5, 0) == 0


# the ways that sizes known at compile time leave
WAYS: dict[str, tuple[In, list[str]]] = {
    "a few points": (In("12, s"), ["alone"]),
    "some points": (In("50, s"), ["whole", "alone"]),
    "many points": (In("1000, s"), ["parts", "whole"]),
    "few columns": (In("b, 5"), ["parts", "whole"]),
    "few points, few columns": (In("12, 5"), ["whole"]),
}


@pytest.mark.parametrize("name", WAYS)
def test_ways(name: str) -> None:
    x, wanted = WAYS[name]
    _, found = grid(lambda x: x.sum(0), x)
    assert [v.label.removeprefix("grid, ") for v in found.variants] == wanted


def test_workspaces() -> None:
    """One for the parts of each carry; what stages hand on comes first, scratch that nobody reads is not there."""
    _, found = grid(lambda x: jnp.argmax(x, 0), X)
    parts = launches(found.variants[0])[0].blocks
    assert [w.evaluate(values(b=10_000, s=32)) for w in found.workspaces] == [4 * 32 * 157] * 2
    assert parts.evaluate(values(b=10_000, s=32)) == 157
    _, staged = grid(softmax, In("4, n"))
    assert len(staged.workspaces) == 5  # the exponentials, two row scalars, and their parts
    handed: list[Dim] = list(staged.workspaces[:3])
    assert sorted(w.evaluate(values(n=1000)) for w in handed) == [16, 16, 16_000]


def test_added_to_teams() -> None:
    """The workspaces of a kernel's other variants come before those of the grid."""
    kernel, facts = row_kernel(softmax, In("4, n"))
    teams = print_teams(kernel, facts)
    both = with_columns(teams, kernel, facts)
    assert both.variants[: len(teams.variants)] == teams.variants
    assert both.workspaces[: len(teams.workspaces)] == teams.workspaces
    params, first = len(kernel.params), len(kernel.params) + len(teams.workspaces)
    used = {b for v in both.variants[len(teams.variants) :] for c in launches(v) for b in c.buffers}
    assert used == {*range(params), *range(first, params + len(both.workspaces))}


def test_machine_code() -> None:
    """Nothing is spilled, and as many threads fit as a multiprocessor has."""
    require_nvrtc()
    _, found = grid(lambda x: jnp.argmax(x, 0), X)
    used = resources(nvrtc.compile_kernels(module(found), "kernels.cu", 90, "int32_t").log)
    assert len(used) == 4
    assert all(kernel.spilled == 0 and kernel.registers <= 32 for kernel in used.values())


COLUMNS = ({"b": 4, "s": 8}, {"b": 33, "s": 31}, {"b": 257, "s": 32}, {"b": 1, "s": 1}, {"b": 7, "s": 257})
LONG = ({"b": 3000, "s": 5},)
LINES = tuple({"n": n} for n in (1, 31, 255, 257, 2049, 9001))
CUBES = ({"a": 2, "b": 3, "c": 5}, {"a": 4, "b": 33, "c": 32}, {"a": 1, "b": 1, "c": 1}, {"a": 5, "b": 700, "c": 3})
EMPTY = ({"b": 1, "s": 9}, {"b": 3, "s": 9})  # of b - 1 rows


def columns_of(dtype: Any, *draw: Any) -> In:
    return In("b, s", dtype, *draw)


def extremes(x: Any, y: Any) -> Any:
    """Two values reduced together, in any order."""
    return lax.reduce(
        (x, y), (np.float32(-9), np.float32(9)), lambda a, b: (jnp.maximum(a[0], b[0]), jnp.minimum(a[1], b[1])), (0,)
    )


def apart(x: Any) -> Any:
    """The greatest element over the first and the last axis, and the least, in any order."""
    low, high = np.float32(-9), np.float32(9)
    return lax.reduce((x, x), (low, high), lambda a, b: (jnp.maximum(a[0], b[0]), jnp.minimum(a[1], b[1])), (0, 2))


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...], Sequence[Sizes]]] = {
    "sum of columns": (lambda x: x.sum(0), (X,), (*COLUMNS, *LONG)),
    "sum of everything": (lambda x: x.sum(), (X,), (*COLUMNS, *LONG)),
    "sum of a line": (lambda x: x.sum(), (N,), LINES),
    "sum of few rows": (lambda x: x.sum(1), (In("4, n"),), LINES),
    "sum of three columns": (lambda x: x.sum(0), (In("n, 3"),), LINES),
    "sum of twelve rows": (lambda x: x.sum(0), (In("12, n"),), LINES),
    "sum of 50 rows": (lambda x: x.sum(0), (In("50, n"),), LINES[:4]),
    "sum of 17 columns": (lambda x: x.sum(0), (In("n, 17"),), LINES),
    "sum of f64": (lambda x: x.sum(0), (columns_of(np.float64),), COLUMNS),
    "sum of bf16": (lambda x: x.sum(0), (columns_of(BF16),), COLUMNS),
    "sum of complex": (lambda x: x.sum(0), (columns_of(np.complex64),), COLUMNS),
    "sum of i64": (lambda x: x.sum(0), (columns_of(np.int64),), COLUMNS),
    "maximum of f16": (lambda x: lax.reduce(x, F16(-np.inf), lax.max, (0,)), (columns_of(F16),), COLUMNS),
    "minimum of i8": (lambda x: x.min(0), (columns_of(np.int8),), COLUMNS),
    "product of i32": (lambda x: x.prod(0), (columns_of(I32),), COLUMNS),
    "any": (lambda x: x.any(0), (columns_of(bool),), COLUMNS),
    "all of a line": (lambda x: x.all(), (In("n", bool),), LINES),
    "argmax": (lambda x: jnp.argmax(x, 0), (columns_of(np.float32, special),), (*COLUMNS, *LONG)),
    "argmax of a line": (jnp.argmax, (In("n", np.float32, special),), LINES),
    "argmin with ties": (jnp.argmin, (In("n", I32, between(-3, 3)),), LINES),
    "two values together": (extremes, (X, X), COLUMNS),
    "outer and inner axes": (lambda x: jnp.exp(x).sum((0, 2)), (Y,), CUBES),
    "every other axis": (lambda x: x.sum((0, 2, 4)), (In("a, 2, b, 3, c"),), CUBES),
    "every other axis, columns": (lambda x: x.sum((0, 2)), (In("a, 2, b, c"),), CUBES),
    "two values over axes apart": (apart, (Y,), CUBES),
    "the middle axis": (lambda x: jnp.exp(x).sum(1), (Y,), CUBES),
    "the first two axes": (lambda x: x.max((0, 1)), (Y,), CUBES),
    "several at once": (lambda x: (x.sum(1), jnp.argmax(x, 1), x.max(1)), (X,), (*COLUMNS, {"b": 2, "s": 9001})),
    "stored and summed": (lambda x: (jnp.exp(x), jnp.exp(x).sum(0)), (X,), COLUMNS),
    "mean and variance": (lambda x: (x.mean(0), x.var(0)), (X,), COLUMNS),
    "softmax of a line": (softmax, (N,), LINES),
    "softmax of few rows": (softmax, (In("4, n"),), LINES),
    "softmax of few bf16 rows": (softmax, (In("4, n", BF16),), LINES),
    "softmax of columns": (lambda x: jax.nn.softmax(x, 0), (X,), COLUMNS),
    "softmax of the middle": (lambda x: jax.nn.softmax(x, 1), (Y,), CUBES),
    "one element each": (lambda x: lax.reduce((x > 0)[..., None], np.True_, lax.bitwise_and, (2,)), (X,), COLUMNS),
    "no rows": (lambda x: (x.sum(0), x.max(0, initial=-3)), (In("b-1, s"),), EMPTY),
    "no rows, two values": (extremes, (In("b-1, s"), In("b-1, s")), EMPTY),
    "no columns": (lambda x: x.sum(0), (In("s, b-1"),), EMPTY),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_jax(name: str) -> None:
    function, inputs, sizes = PROGRAMS[name]
    verify(function, inputs, sizes, wide=any(i.dtype in (np.float64, np.int64) for i in inputs))


def test_loops_over_the_grid(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer blocks than tiles, as on a GPU where there are millions."""
    monkeypatch.setattr(columns, "MOST_TILES", 2)
    monkeypatch.setattr(split_text, "FEWEST_POINTS", 1)
    verify(lambda x: (x.sum(0), jnp.argmax(x, 0)), (X,), ({"b": 61, "s": 100}, {"b": 300, "s": 33}))


def test_fewer_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are smaller where shared memory has no room for the carries of many threads."""
    monkeypatch.setattr(split_text, "MOST_SHARED", 600)
    verify(lambda x: jnp.argmax(x, 0), (X,), COLUMNS)


def test_no_races() -> None:
    """Threads that meet wait for each other, in tile after tile; and no barrier is there without need."""
    found = recordings(lambda x: jnp.argmax(x, 0), (X,), {"b": 200, "s": 40})
    assert set(found) == {"grid, parts", "grid, whole", "grid, alone"}
    for recording in found.values():
        assert races(recording).clean
        assert check(recording, "asan").clean
    assert not needless_barriers(found["grid, whole"])


def test_one_row_of_any_length_is_right() -> None:
    """One group: a block for a short row, the grid for a long one."""

    def normalized(x: Any) -> Any:
        return jax.nn.softmax(x) + (x - x.mean()) / jnp.sqrt(x.var() + 1e-5)

    verify(normalized, (N,), ({"n": 1}, {"n": 257}, {"n": 5003}), scale=20)
