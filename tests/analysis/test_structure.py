"""What is found for one op holds for all of equal structure, with their own tensors in its places."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from shlo_disc.analysis.access import affine_view
from shlo_disc.analysis.formula import Producers, producers_of
from shlo_disc.analysis.reads import Reads, ReadTable
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import symbol
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.pipeline.exports import In, exported

pytestmark = pytest.mark.quick


def attention(x: Any, w: Any, v: Any) -> Any:
    """Two layers of products, of which one reads its operand twice."""
    for weights in (w, v):
        q = (x @ weights).reshape(x.shape[0], -1, 4, 4)
        scores = jnp.einsum("bihd,bjhd->bhij", q, q) * jnp.tril(jnp.ones((x.shape[1], x.shape[1])))
        x = x + jnp.einsum("bhij,bjhd->bihd", jax.nn.softmax(scores), q).reshape(x.shape)
    return x


def moved(x: Any, y: Any) -> Any:
    """Equal ops on different operands, swapped, repeated, and of literals."""
    return (x.T + y, y.T + x, x + y, y + x, x + x, x[::-1] - y[:, ::-1], y[::-1] - x[:, ::-1], x * 2.0, x * -0.0)


PROGRAMS: dict[str, tuple[Any, tuple[In, ...]]] = {
    "attention": (attention, (In("b, t, 16"), In("16, 16"), In("16, 16"))),
    "moved": (moved, (In("n, n"), In("n, n"))),
    "gathered": (lambda x, i, j: x[i] + x[j] + x[i + j], (In("n, 4"), In("b", "int32"), In("b", "int32"))),
}


def described(reads: Reads) -> object:
    """Reads, with loops by their number."""
    names = {loop: symbol(f"loop{k}") for k, loop in enumerate(reads.loops)}
    accesses = [(a.tensor, tuple(dim.substitute(names) for dim in a.index)) for a in reads.accesses]
    return accesses, [extent.substitute(names) for extent in reads.loops.values()]


def analysed(name: str) -> tuple[Program, Producers]:
    function, inputs = PROGRAMS[name]
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    return program, producers_of(program.body)


@pytest.mark.parametrize("name", PROGRAMS)
def test_reads_of_a_pattern_are_those_of_the_op_alone(name: str) -> None:
    program, producers = analysed(name)
    table = ReadTable(Structures(program.facts, producers))
    for op in program.body.ops:
        alone = ReadTable(Structures(program.facts, producers))
        assert [*map(described, table.of(op))] == [*map(described, alone.of(op))], op.name


@pytest.mark.parametrize("name", PROGRAMS)
def test_views_of_equal_structure_are_those_of_the_tensor_alone(name: str) -> None:
    program, producers = analysed(name)
    structures = Structures(program.facts, producers)
    for op in program.body.ops:
        for tensor in (*op.operands, *op.results):
            assert structures.affine_view(tensor) == affine_view(tensor, program.facts, producers)


def test_structure_tells_apart_what_differs() -> None:
    program, producers = analysed("moved")
    structures = Structures(program.facts, producers)
    numbers = {
        name: [
            structures.of_op(op).number for op in program.body.ops if op.name == name and op.results[0].dtype.is_float
        ]
        for name in ("add", "multiply")
    }
    first, second, *others = numbers["add"]
    assert first == second  # x.T + y, y.T + x
    assert len({first, *others}) == 3  # x + y as y + x; x + x
    assert len(set(numbers["multiply"])) == 2  # 2.0 and -0.0
