"""Maps on a GPU: which accesses are packs, under which guards, and which reads go through tiles."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.expr.dim import Sym, const
from shlo_disc.host_ir import GridLaunch
from shlo_disc.lower_cuda import points
from shlo_disc.lower_cuda.maps import is_map, print_map
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.sanitize import check, needless_barriers, races
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.emulated import Sizes, recordings, verify
from tests.lower_cuda.printing import KERNEL, module, row_kernel, text_of
from tests.lower_cuda.sass import instructions, resources
from tests.pipeline.exports import BF16, F16, In, between

pytestmark = pytest.mark.slow

X = In("b, s")
I32 = np.int32


def printed(function: Callable[..., Any], *inputs: In) -> Printed:
    kernel, facts = row_kernel(function, *inputs)
    assert is_map(kernel)
    return print_map(kernel, facts)


def rotated(x: Any) -> Any:
    return jnp.concatenate([-x[..., 32:], x[..., :32]], -1)


THIRDS = {"b % 4", "(3*b) % 4"}

# how many lanes, what N must divide, and what shows in the text and what must not
PACKS: dict[str, tuple[Callable[..., Any], tuple[In, ...], int, set[str], tuple[str, ...], tuple[str, ...]]] = {
    "f32": (lambda x, y: x * y, (X, X), 4, {"(b*s) % 4"}, ("pack_load<R>(p1", "pack_load<R>(p2"), ("p1[",)),
    "rows of four": (lambda x: x + 1, (In("b, 4"),), 4, set(), ("pack_store(p0",), ()),
    "f16": (lambda x: x * 2, (In("b, s", F16),), 8, {"(b*s) % 8"}, ("Pack<f16, R>", "round_f16"), ()),
    "i8": (lambda x: x + x, (In("b, s", np.int8),), 16, {"(b*s) % 16"}, ("Pack<int8_t, R>",), ()),
    "complex": (lambda x: x * x, (In("b, s", np.complex64),), 2, {"(b*s) % 2"}, ("Pack<c64, R>",), ()),
    "the widest counts": (lambda x: x.astype(BF16), (X,), 4, {"(b*s) % 4"}, ("Pack<bf16, R>", "Pack<float, R>"), ()),
    "an odd multiple": (lambda x, y: x * y, (In("b, 6"), In("6")), 2, set(), ("constexpr int R = 2",), ()),
    "one value per row": (lambda x, y: x * y[:, None], (X, In("b")), 4, {"s % 4"}, ("pack_load<R>(p1",), ("p2 +",)),
    "one value per column": (lambda x, y: x * y, (X, In("s")), 4, {"s % 4"}, ("pack_load<R>(p2",), ()),
    "rows gathered": (lambda x, i: x[i], (X, In("n", I32)), 4, {"s % 4"}, ("pack_load<R>(p2",), ("p2[",)),
    "columns gathered": (lambda x, i: x[:, i], (X, In("n", I32)), 4, {"n % 4"}, ("p2[",), ("pack_load<R>(p2",)),
    "not from a pack's start": (lambda x: x[:, 1:17], (In("b, 20"),), 4, set(), ("p1[",), ("pack_load",)),
    "from a pack's start": (lambda x: x[:, 4:16], (In("b, 20"),), 4, set(), ("pack_load<R>(p1",), ("p1[",)),
    "backwards": (lambda x: x[:, ::-1], (In("b, 20"),), 4, set(), ("p1[",), ("pack_load",)),
    "every other": (lambda x: x[:, ::2], (In("b, 40"),), 4, set(), ("p1[",), ("pack_load",)),
    "repeated": (lambda x, y: x * jnp.tile(y, 3), (In("3*b"), In("b")), 4, THIRDS, ("pack_load<R>(p2",), ("p2[",)),
    "halves joined": (lambda x: rotated(x) * x, (In("b, s, 64"),), 4, set(), ("if (v", "pack_load"), ("p1[",)),
    "padded in a pack": (lambda x: jnp.pad(x, ((0, 0), (3, 1))), (In("b, 12"),), 4, set(), ("p1[",), ("pack_load",)),
    "positions": (lambda x: x + jnp.arange(x.shape[1]), (X,), 4, {"s % 4"}, ("+ k)",), ()),
}  # fmt: skip


@pytest.mark.parametrize("name", PACKS)
def test_packs(name: str) -> None:
    function, inputs, width, guards, shown, absent = PACKS[name]
    found = printed(function, *inputs)
    packed, plain = found.variants[0], found.variants[-1]
    assert packed.label == f"packs of {width}"
    assert packed.aligned
    assert {str(guard.lhs) for guard in packed.guards} == guards
    assert all(guard.relation == "==" and guard.rhs == const(0) for guard in packed.guards)
    assert (plain.label, plain.guards, plain.aligned) == ("plain", (), False)
    text = text_of(found, "_packed")
    assert [s for s in shown if s not in text] == []
    assert [s for s in absent if s in text] == []


NO_PACKS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "odd": (lambda x: x * 2, (In("b, 7"),)),
    "16 bytes each": (lambda x: x * 2j, (In("b, 1"),)),
    "no axes": (lambda x: x * 2, (In(""),)),
    "a loop per element": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
        (In("b, 2*s"),),
    ),
}


@pytest.mark.parametrize("name", NO_PACKS)
def test_no_packs(name: str) -> None:
    function, inputs = NO_PACKS[name]
    assert [v.label for v in printed(function, *inputs).variants][-1] == "plain"


# which reads go through tiles
TILES: dict[str, tuple[Callable[..., Any], tuple[In, ...], int]] = {
    "transposed": (lambda x: x.T, (X,), 1),
    "transposed among others": (lambda x, y: jnp.exp(x.T) + y, (X, In("s, b")), 1),
    "two transposed": (lambda x, y: x.T * y.T, (X, X), 2),
    "the last two of three": (lambda x: x.transpose(0, 2, 1) + 1, (In("a, b, c"),), 1),
    "all turned round": (lambda x: x.transpose(2, 1, 0) + 1, (In("a, b, c"),), 1),
    "features last": (lambda x: x.transpose(0, 2, 3, 1) * 2, (In("n, c, h, w"),), 1),
    "rows swapped": (lambda x: x.transpose(1, 0, 2) + 1, (In("a, b, c"),), 0),
    "a narrow axis": (lambda x: x.T * 2, (In("b, 3"),), 0),
    "one value per row": (lambda x, y: x * y[:, None], (X, In("b")), 0),
    "under a guard": (lambda x: jnp.pad(x.T, ((1, 0), (0, 2))), (X,), 0),
}


@pytest.mark.parametrize("name", TILES)
def test_tiles(name: str) -> None:
    function, inputs, count = TILES[name]
    found = printed(function, *inputs)
    assert any(v.label.startswith("tiles") for v in found.variants) == bool(count)
    assert found.text.count("SHLO_SHARED(") == 2 * count  # of small tiles, and of large ones


def evaluated(found: Printed, label: str, **sizes: int) -> float:
    """The cycles of all blocks of a variant."""
    (variant,) = (v for v in found.variants if v.label == label)
    (call,) = variant.commands
    assert isinstance(call, GridLaunch)
    values = {Sym(name): size for name, size in sizes.items()}
    return call.blocks.evaluate(values) * call.cycles.evaluate(values)


def test_tiles_meet_all_banks() -> None:
    """The threads of a warp read a column of a tile from 32 different banks of 4 bytes."""
    sides = (np.int8, 1, 64), (np.int8, 1, 128), (F16, 2, 64), (F16, 2, 128), (np.float32, 4, 32), (np.float32, 4, 64)
    for dtype, size, side in sides:
        text = text_of(printed(lambda x: x.T, In("b, s", dtype)), f"_tiled{side}")
        found = re.search(r"tile0\[tx \* (\d+) ", text)
        assert found is not None
        assert {tx * int(found[1]) * size // 4 % 32 for tx in range(32)} == set(range(32))


def test_costs() -> None:
    """Packs move what single elements move in less time; tiles do, where reads run across memory."""
    found = printed(lambda x, y: x.T + y, X, In("s, b"))
    large, flat = {"b": 1024, "s": 1024}, {"b": 4096, "s": 1}
    tiles, plain, packs = (evaluated(found, label, **large) for label in ("tiles of 32", "plain", "packs of 4"))
    assert tiles < packs < plain
    assert evaluated(found, "tiles of 32", **flat) > evaluated(found, "plain", **flat)


def test_machine_code() -> None:
    """Packs are 16-byte accesses, and nothing is spilled."""
    require_nvrtc()
    found = printed(lambda x, y: jax.nn.gelu(x) * y, In("b, s", BF16), In("s", BF16))
    built = nvrtc.compile_kernels(module(found), "kernels.cu", 90, "int32_t")
    used = resources(built.log)
    assert {name: kernel.spilled for name, kernel in used.items()} == dict.fromkeys(used, 0)
    code = instructions(built.cubin)[f"{KERNEL}_packed"]
    assert code.count("LDG.E.128") >= 2
    assert "STG.E.128" in code
    assert "LDG.E.U16" not in code


I8, I64, C64 = np.int8, np.int64, np.complex64
GRID = ({"b": 4, "s": 8}, {"b": 33, "s": 31}, {"b": 64, "s": 96}, {"b": 1, "s": 1}, {"b": 7, "s": 257})
JOINED = ({"b": 4, "s": 8, "t": 4}, {"b": 3, "s": 5, "t": 7}, {"b": 2, "s": 16, "t": 1})
PICKED = ({"b": 4, "s": 8, "n": 5}, {"b": 9, "s": 7, "n": 33}, {"b": 5, "s": 4, "n": 4})
CUBES = ({"a": 2, "b": 3, "c": 5}, {"a": 4, "b": 33, "c": 32}, {"a": 3, "b": 64, "c": 16}, {"a": 1, "b": 1, "c": 1})
Y = In("a, b, c")

PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...], Sequence[Sizes]]] = {
    "f32": (lambda x, y: jnp.tanh(x) * y + x, (X, X), GRID),
    "f64": (lambda x, y: jnp.exp(x) * y, (In("b, s", np.float64), In("b, s", np.float64)), GRID),
    "f16": (lambda x, y: x * y + x / 3, (In("b, s", F16), In("b, s", F16)), GRID),
    "bf16 and f32": (lambda x, y: x.astype(BF16) * 2 + y, (X, In("b, s", BF16)), GRID),
    "i8": (lambda x, y: x * y - x, (In("b, s", I8), In("b, s", I8)), GRID),
    "i64": (lambda x: x * x + 1, (In("b, s", I64),), GRID),
    "bool": (lambda x, y: jnp.where(~x, y, -y), (In("b, s", bool), X), GRID),
    "comparisons": (lambda x, y: (x < y) & (x > -1), (X, X), GRID),
    "complex": (lambda x: x * x + 1, (In("b, s", C64),), GRID),
    "broadcast": (lambda x, y, z: x * y[:, None] + z, (X, In("b"), In("s")), GRID),
    "positions": (lambda x: x + jnp.arange(x.shape[1]), (X,), GRID),
    "strided slices": (lambda x: x[::2, ::3] * 2, (In("2*b, 3*s"),), GRID),
    "slices of packs": (lambda x: x[:, 4:8] * 2 + x[:, 1:5], (In("b, 16"),), ({"b": 5}, {"b": 300})),
    "reversed": (lambda x: x[::-1, ::-1] * 2, (X,), GRID),
    "padded": (lambda x: jnp.pad(x, ((1, 2), (3, 1))) * 2, (X,), GRID),
    "padded by packs": (lambda x: jnp.pad(x, ((1, 0), (4, 8))), (X,), GRID),
    "rows joined": (lambda x, y: jnp.concatenate([x * 2, y, x + 1]), (X, In("t, s")), JOINED),
    "rows joined with gathered ones": (
        lambda x, y, i: jnp.concatenate([x, y[i]]) * 2,
        (X, X, In("n", I32, between(-1, 3))),
        PICKED,
    ),
    "edges repeated": (lambda x: jnp.pad(x, ((2, 1), (4, 4)), mode="edge") * 2, (X,), GRID[:3]),
    "columns joined": (lambda x, y: jnp.concatenate([x, y], 1) * 2, (X, In("b, t")), JOINED),
    "halves joined": (lambda x, y: rotated(x) * y + x, (In("b, s, 64"), In("s, 64")), GRID[:2]),
    "rows gathered": (lambda x, i: x[i] * 3, (X, In("n", I32, between(-1, 3))), PICKED),
    "columns gathered": (lambda x, i: x[:, i] * 3, (X, In("n", I32, between(0, 3))), PICKED),
    "windows": (
        lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2), (1, 2), "VALID"),
        (In("b, 2*s"),),
        GRID,
    ),
    "reshaped": (lambda x, y: (x + y[:, None]).reshape(-1) * 2, (In("b, 32"), In("b")), ({"b": 5}, {"b": 64})),
    "repeated": (lambda x, y: x * jnp.tile(y, 3), (In("3*b"), In("b")), ({"b": 5}, {"b": 64})),
    "one element": (lambda x: jnp.sin(x) * 2, (In(""),), ({},)),
    "empty": (lambda x: x * 2, (In("b-1, s"),), ({"b": 1, "s": 4}, {"b": 2, "s": 4})),
    "empty columns": (lambda x, y: x.T + y, (In("b-1, s"), In("s, b-1")), ({"b": 1, "s": 4}, {"b": 40, "s": 33})),
    "transposed": (lambda x: x.T, (X,), GRID),
    "transposed i8": (lambda x: x.T, (In("b, s", I8),), (*GRID, {"b": 65, "s": 130})),
    "transposed bf16": (lambda x, y: x.T + y, (In("b, s", BF16), In("s, b", BF16)), (*GRID, {"b": 65, "s": 130})),
    "transposed complex": (lambda x: x.T * 2, (In("b, s", C64),), GRID),
    "transposed among others": (lambda x, y, z: jnp.exp(x.T) + y * z, (X, In("s, b"), In("b")), GRID),
    "two transposed": (lambda x, y, z: x.T * y.T - z, (X, X, In("s, b")), GRID),
    "two transposed, two widths": (lambda x, y: x.T * y.T, (X, In("b, s", BF16)), GRID),
    "the last two of three": (lambda x: x.transpose(0, 2, 1) + 1, (Y,), CUBES),
    "all turned round": (lambda x: x.transpose(2, 1, 0) * 2, (Y,), CUBES),
    "features first": (lambda x: x.transpose(0, 3, 1, 2).astype(np.float32), (In("a, b, c, 32", BF16),), CUBES),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_against_jax(name: str) -> None:
    function, inputs, sizes = PROGRAMS[name]
    verify(function, inputs, sizes, inside=1, wide=any(i.dtype in (np.float64, I64) for i in inputs))


FEW_BLOCKS: dict[str, Callable[..., Any]] = {"points": lambda x: x * 2, "tiles": lambda x: x.T + 1}


@pytest.mark.parametrize("name", FEW_BLOCKS)
def test_loops_over_the_grid(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer blocks than tasks, as on a GPU where there are millions."""
    monkeypatch.setattr(points, "MOST_BLOCKS", 2)
    verify(FEW_BLOCKS[name], (X,), ({"b": 61, "s": 68}, {"b": 33, "s": 96}))


def test_no_races() -> None:
    """Nobody reads a tile before it is full, or fills it while others read; and no barrier is there without need."""
    found = recordings(lambda x: x.T + 1, (X,), {"b": 40, "s": 70})
    assert set(found) == {"packs of 4", "tiles of 32", "tiles of 64", "plain"}
    for recording in found.values():
        assert races(recording).clean
        assert check(recording, "asan").clean
    assert not any(needless_barriers(found[f"tiles of {side}"]) for side in (32, 64))
