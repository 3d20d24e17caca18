"""Loops whose index is divided: into which two loops they are taken apart, and which stay one."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

from shlo_disc.expr.dim import Dim, FloorDiv, Mod, const, symbol
from shlo_disc.kernels.index_set_splitting import Seams
from shlo_disc.kernels.kernel import RowKernel
from shlo_disc.kernels.simplify_kernel import stage_dims
from shlo_disc.kernels.stages import build_row_kernel
from tests.pipeline.exports import In
from tests.pipeline.programs import planned

pytestmark = pytest.mark.quick

X = In("b, s")
B, S = symbol("b"), symbol("s")


def mined(function: Callable[..., Any], *inputs: In, strips: bool = True) -> RowKernel:
    """The kernel of a program that has only one."""
    found = planned(function, *inputs)
    (group,) = found.plan.groups
    return build_row_kernel(group, found.program.facts, found.producers, Seams(True, True, strips))[0]


def divisions(kernel: RowKernel) -> int:
    atoms = [a for stage in kernel.stages for dim in stage_dims(stage) for a in dim.atoms()]
    return sum(isinstance(a, FloorDiv | Mod) for a in atoms)


STRIPS: dict[str, tuple[Callable[..., Any], tuple[In, ...], list[Dim]]] = {
    "tile": (lambda x: jnp.tile(x, 3) * 2, (In("s"),), [const(3), S]),
    "repeat": (lambda x: jnp.repeat(x[:, None], 40, 1).reshape(-1), (In("s"),), [S, const(40)]),
    "a reshape of a transpose": (lambda x, y: x.T.reshape(-1) + y, (X, In("b*s")), [S, B]),
}


@pytest.mark.parametrize("name", STRIPS)
def test_nothing_is_divided(name: str) -> None:
    function, inputs, sizes = STRIPS[name]
    kernel = mined(function, *inputs)
    (stage,) = kernel.stages
    assert [axis.extent for axis in (*kernel.rows, *stage.axes)] == sizes
    assert divisions(kernel) == 0


KEPT: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "not wanted": (lambda x: jnp.tile(x, 3), (In("s"),)),
    "short": (lambda x: jnp.repeat(x, 3), (In("s"),)),
    "steps that are not divided": (lambda x: jnp.tile(x, 3)[1:], (In("s"),)),
    "a sum": (lambda x: jnp.tile(x, (1, 3)).sum(1), (X,)),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_stays_one_loop(name: str) -> None:
    function, inputs = KEPT[name]
    kernel = mined(function, *inputs, strips=name != "not wanted")
    assert [len(stage.axes) for stage in kernel.stages] == [1]
    assert divisions(kernel) > 0
