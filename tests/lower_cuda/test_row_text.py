"""Row kernels as CUDA C++: which teams there are, where they wait, and how points are spread."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.emit.reductions import picks_position
from shlo_disc.expr.dim import Dim, Sym, symbol
from shlo_disc.host_ir import GridLaunch, Variant
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.rows.schedules import EVERY_SHARED, SEAMS, print_rows, print_teams, spilled_bytes
from shlo_disc.runtime.cuda import device
from shlo_disc.runtime.cuda.launch_table import launch_cycles, occupancy
from tests.emulator.device import H200
from tests.lower_cuda.test_row_kernels import BOXES, last_of, normalized_columns
from tests.pipeline.exports import F16, In
from tests.pipeline.programs import chain, layer_norm, planned, softmax

pytestmark = pytest.mark.quick

X, BOX = In("b, s"), In("b, s, t")
Function = Callable[..., Any]


def printed(function: Function, *inputs: In) -> Printed:
    """The last kernel of a program, by teams."""
    found = planned(function, *inputs)
    group = found.plan.groups[-1]
    return print_teams(build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0], found.program.facts)


# what the text holds, and what it must not hold
TEXTS: dict[str, tuple[Function, tuple[In, ...], tuple[str, ...], tuple[str, ...]]] = {
    # Every thread reads only what it wrote itself.
    "softmax": (softmax, (X,), ("team_reduce<TEAM>(", "pack_load<R>(p0", "pack_store(p1"), ("team_sync", "run_first")),
    "chain": (chain, (X, In("s"), In("s")), ("team_reduce<TEAM>(", "pack_load<R>(p0"), ("team_sync",)),
    # Columns of a row wait in scratch: others read them, and the next row overwrites them.
    "columns": (normalized_columns, (BOX,), ("team_sync_reduced<TEAM>();", "team_sync<TEAM>();"), ()),
    "kept between": (
        lambda x: x * jnp.exp(x).sum((1, 3), keepdims=True),
        (BOXES,),
        ("squad_reduce<SQUAD<TEAM>>(", "team_sync<TEAM>();"),
        ("team_reduce<TEAM>(",),
    ),
    # Positions say which partial result is the first, so threads need no runs of neighbours.
    "argmax": (lambda x: jnp.argmax(x, 1), (X,), ("swaps", "c0 += TEAM", "pack_load"), ("run_first", "has_")),
    "not commutative": (lambda x: last_of(x, (1,)), (X,), ("run_first<TEAM>(lane",), ("c0 += TEAM", "pack_load")),
    "f16": (softmax, (In("b, s", F16),), ("Pack<f16, R>", "constexpr int R = 8;"), ()),
    "odd rows": (lambda x: x - x.max(1, keepdims=True), (In("b, 33"),), ("c0 += TEAM",), ("pack_load",)),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text(name: str) -> None:
    function, inputs, present, absent = TEXTS[name]
    text = printed(function, *inputs).text
    assert [p for p in present if p not in text] == []
    assert [a for a in absent if a in text] == []
    assert [line for line in text.splitlines() if "\t" in line or line.rstrip() != line] == []


LABELS: dict[str, tuple[Function, tuple[In, ...], list[str]]] = {
    "any length": (
        softmax,
        (X,),
        [
            "thread",
            "warp",
            "wide",
            "spill",
            "octet, packs",
            "warp, packs",
            "block, packs",
            "wide, packs",
            "spill, packs",
            "warp, held",
            "quarter, held",
            "block, held",
            "half, held",
        ],
    ),
    "no packs": (lambda x: last_of(x, (1,)), (X,), ["thread", "octet", "warp", "block", "wide"]),
    "short rows": (
        layer_norm,
        (In("b, 64"), In("64"), In("64")),
        ["octet", "octet, packs", "warp, packs", "warp, held"],
    ),
    "tiny rows": (softmax, (In("b, 4"),), ["thread", "thread, packs"]),
    "tiny odd rows": (softmax, (In("b, 5"),), ["thread"]),
    "rows that fit nowhere": (softmax, (In("b, 65540"),), ["spill", "spill, packs"]),
}


@pytest.mark.parametrize("name", LABELS)
def test_variants(name: str) -> None:
    function, inputs, labels = LABELS[name]
    assert [v.label for v in printed(function, *inputs).variants] == labels


def test_guards() -> None:
    """Packs ask for sizes and alignment, shared memory for room; one element per thread asks for nothing else."""
    variants = {v.label: v for v in printed(softmax, X).variants}
    s = symbol("s")
    assert [v.aligned for v in variants.values()] == [label.endswith(("packs", "held")) for label in variants]
    assert any(g.lhs == s % 4 and g.relation == "==" for g in variants["warp, packs"].guards)
    assert [g.relation for g in variants["wide"].guards] == ["<="]
    assert [g.relation for g in variants["spill"].guards] == [">="]
    assert printed(lambda x: x.sum(1), X).variants[0].guards == ()


@pytest.mark.parametrize(("length", "wanted"), [(EVERY_SHARED, 0), (EVERY_SHARED + 1, 10 * (EVERY_SHARED + 1))])
def test_workspace_only_for_rows_that_do_not_fit(length: int, wanted: int) -> None:
    size = spilled_bytes(symbol("b"), symbol("s"))
    assert size.evaluate({Sym("b"): 10, Sym("s"): length}) == wanted


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda x: x * 2, "plain"),
        (lambda x: x.sum(0), "grid"),
        (lambda x: x.sum(1), "grid"),
        (softmax, "warp"),
    ],
)
def test_dispatch(function: Function, wanted: str) -> None:
    found = planned(function, X)
    (group,) = found.plan.groups
    kernel = build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0]
    assert any(wanted in v.label for v in print_rows(kernel, found.program.facts).variants)


@pytest.mark.parametrize("dtype", [np.float32, np.int32, bool])
def test_positions(dtype: Any) -> None:
    """JAX's argmax and argmin are known; another reducer of a value and a position is not."""
    for function, known in (
        (jnp.argmax, True),
        (jnp.argmin, True),
        (lambda x, _: last_of(x * np.float32(1), (1,)), False),
    ):
        found = planned(lambda x, f=function: f(x, 1), In("b, s", dtype))
        group = found.plan.groups[-1]
        kernel = build_row_kernel(group, found.program.facts, found.producers, SEAMS)[0]
        stage = kernel.stages[0]
        assert [picks_position(stage, r) for r in stage.reductions] == [known]


def test_rows_that_the_blocks_divide() -> None:
    """As many rows as all teams take in one turn cost a block what fewer do; one and a half turns cost that."""
    (call,) = next(v for v in printed(softmax, X).variants if v.label == "warp, packs").commands
    assert isinstance(call, GridLaunch)
    few, even, half_more = (call.cycles.evaluate({Sym("b"): 4 * rows, Sym("s"): 1024}) for rows in (99, 16384, 24576))
    assert few == even
    assert half_more == pytest.approx(1.5 * even, rel=1e-3)


def cheapest(variants: tuple[Variant[Dim], ...], sizes: Mapping[str, int]) -> str:
    """The label that the launch table takes on a large card."""
    values = {Sym(name): size for name, size in sizes.items()}
    holds = {"==": operator.eq, "<=": operator.le, ">=": operator.ge}

    def cycles(variant: Variant[Dim]) -> float:
        (call,) = variant.commands
        assert isinstance(call, GridLaunch)
        resident = occupancy(H200, device.LoadedKernel(0, 48, 512), call.threads, call.shared.evaluate(values))
        blocks, work, latency = (d.evaluate(values) for d in (call.blocks, call.cycles, call.latency))
        return launch_cycles(H200, resident, blocks, work, latency)

    legal = [
        v for v in variants if all(holds[g.relation](g.lhs.evaluate(values), g.rhs.evaluate(values)) for g in v.guards)
    ]
    return min(legal, key=cycles).label


@pytest.mark.parametrize(
    ("rows", "length", "label"),
    [
        (1, 1, "thread"),
        (1_000_000, 4, "thread"),
        (100_000, 64, "octet, packs"),
        (16_384, 1001, "warp"),
        (4096, 1024, "quarter, held"),
        (128, 1024, "block, held"),
        (8, 50_257, "wide"),
        (8, 50_256, "wide, packs"),
        (1, 1_000_000, "spill, packs"),
    ],
)
def test_choices(rows: int, length: int, label: str) -> None:
    """Teams grow with the length of rows, and shrink where there are many."""
    assert cheapest(printed(softmax, X).variants, {"b": rows, "s": length}) == label
