"""Which loops are cut, where, and what is left of their conditions."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

from shlo_disc.expr.dim import Dim, const, symbol, total
from shlo_disc.expr.prover import Prover
from shlo_disc.expr.scalar import Arg, InRange, Select
from shlo_disc.fusion.fuse import plan_fusion
from shlo_disc.kernels.dependence import Dependence
from shlo_disc.kernels.index_set_splitting import MOST_SEGMENTS, Seams
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.pipeline.exports import In
from tests.pipeline.programs import context_of, planned

X, Y = In("b, s"), In("b, t")
S, T = symbol("s"), symbol("t")
ALL, NONE = Seams(maps=True, hidden=True, strips=True), Seams(maps=False, hidden=False, strips=False)


def cut(function: Callable[..., Any], *inputs: In, seams: Seams = ALL) -> RowKernel:
    """The kernel of a program that has only one."""
    found = planned(function, *inputs)
    (group,) = found.plan.groups
    return build_row_kernel(group, found.program.facts, found.producers, seams)[0]


def conditions(kernel: RowKernel) -> int:
    """How many selects and conditions of indices are left."""
    nodes = (n for stage in kernel.stages for n in nodes_of(stage_formulas(stage)))
    return sum(isinstance(n, Select | InRange) for n in nodes)


def join(x: Any, y: Any) -> Any:
    return jnp.concatenate([x, y], 1) * 2


def below(x: Any) -> Any:
    return jnp.where(jnp.arange(x.shape[1])[None] <= jnp.arange(x.shape[0])[:, None], x, 0).sum(1)


CUTS = {
    "columns": (join, (X, Y), [S, T]),
    "rows, flat": (lambda x, y: jnp.concatenate([x, y]) * 2, (X, In("t, s")), [symbol("b") * S, S * T]),
    "a join that is summed": (lambda x, y: join(x, y).sum(1), (X, Y), [S, T]),
    "joins of joins": (lambda x, y: join(jnp.concatenate([x, y], 1), x), (X, Y), [S, T, S]),
    "a pad": (lambda x: jnp.pad(x, ((0, 0), (9, 8))), (X,), [const(9), S, const(8)]),
    "a crop, flat": (lambda x, y: join(x, y)[:, : x.shape[1]] + x, (X, Y), [symbol("b") * S]),
    "neutral elements": (lambda x: jnp.pad(x, ((0, 0), (9, 8)), constant_values=-jnp.inf).max(1), (X,), [S]),
}


@pytest.mark.parametrize("name", CUTS)
def test_no_element_asks_where_it_is(name: str) -> None:
    function, inputs, sizes = CUTS[name]
    kernel = cut(function, *inputs)
    assert [stage.axes[-1].extent for stage in kernel.stages] == sizes
    assert conditions(kernel) == 0


def test_segments_go_on_where_the_one_before_ended() -> None:
    first, second = cut(lambda x, y: join(x, y).sum(1), X, Y).stages
    assert second.reductions[0].init == first.reductions[0].carries
    assert not first.reductions[0].stores
    assert [s.value for s in second.reductions[0].stores] == list(second.reductions[0].carries)
    assert isinstance(first.reductions[0].carries[0], Arg)


def test_a_seam_moves_with_the_row_and_the_sizes_add_up() -> None:
    kernel, deps = cut(below, X), Dependence()
    sizes = [stage.axes[0].extent for stage in kernel.stages]
    assert len(sizes) == 2
    assert deps.of(sizes[0]) == {"%x0"}
    assert total(sizes) == S


@pytest.mark.parametrize(
    ("function", "inputs", "seams"),
    [
        (join, (X, Y), NONE),
        (below, (X,), NONE),
        (lambda x, y: jnp.concatenate([x, y], 1), (In("b, 3"), In("b, 4")), ALL),
        (lambda x, y: jnp.concatenate([x, y] * (MOST_SEGMENTS // 2 + 1), 1), (X, Y), ALL),
        (lambda x, y: jnp.concatenate([x, y], 1).reshape(-1, 6)[:, 1], (In("b, 2*s"), In("b, 4*s")), ALL),
    ],
    ids=["maps not wanted", "hidden not wanted", "a short axis", "too many", "an index that is divided"],
)
def test_what_keeps_its_conditions(function: Callable[..., Any], inputs: tuple[In, ...], seams: Seams) -> None:
    kernel = cut(function, *inputs, seams=seams)
    assert len(kernel.stages) == 1
    assert conditions(kernel) > 0


def _pads(depth: int) -> str:
    """A pad of a pad of …, each by amounts of its own that are known when the program runs."""
    sizes, line = ["%x: tensor<?xf32>"], list[str]()
    for k in range(depth):
        before = "%x" if k == 0 else f"%p{k - 1}"
        sizes += [f"%{side}{k}: tensor<1xi64>" for side in ("low", "high", "interior")]
        types = "tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>"
        amounts = ", ".join(sizes[-3 + n].partition(":")[0] for n in range(3))
        line.append(f"%p{k} = stablehlo.dynamic_pad {before}, %z, {amounts} : ({types}) -> tensor<?xf32>")
    zero = "%z = stablehlo.constant dense<0.0> : tensor<f32>"
    body = "\n".join([zero, *line, f"return %p{depth - 1} : tensor<?xf32>"])
    return f"func.func @main({', '.join(sizes)}) -> tensor<?xf32> {{\n{body}\n}}"


def test_pads_of_pads_are_proven_in_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """The formula of a size doubles with each pad; the steps of proofs must not."""
    proofs, prove = [0], Prover._prove  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]

    def counted(self: Prover, dim: Dim, depth: int) -> bool:
        proofs[-1] += 1
        return prove(self, dim, depth)

    monkeypatch.setattr(Prover, "_prove", counted)
    for depth in (1, 2, 6):
        program = legalize(parse_module(_pads(depth), "pads.mlir"))
        context = context_of(program)
        proofs.append(0)
        for group in plan_fusion(program.body, context).groups:
            build_row_kernel(group, program.facts, context.producers, ALL)
    assert max(proofs) < 1500, "one pad alone took 5,852 where its loop was cut"
