"""Where elements are read: views as strided memory, reads through free ops, whole programs as one formula."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.analysis.access import affine_view, index_symbols, is_free
from shlo_disc.analysis.formula import Formulas, producers_of
from shlo_disc.analysis.reads import ReadTable
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.program import Op, Program, Shape
from shlo_disc.expr.dim import Sym, const, of, symbol
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.pipeline.exports import Array, In, by_jax, exported

X = In("b, s")
SIZES = ({"b": 3, "s": 4, "d": 6}, {"b": 1, "s": 7, "d": 2}, {"b": 5, "s": 1, "d": 4})


def legalized(function: Callable[..., Any], *inputs: In) -> Program:
    program = legalize(parse_module(exported(function, inputs).mlir_module(), "export.mlir"))
    for step in PASSES:
        program = step.run(program)
    return program


def symbols_of(program: Program, arrays: list[Array]) -> dict[Sym, int]:
    values = {raw.symbol: arrays[raw.argument].shape[raw.axis] for raw in program.raw_dims}
    for name, dim in program.definitions:
        values[name] = dim.evaluate(values)
    return values


def concrete(shape: Shape, values: Mapping[Sym, int]) -> tuple[int, ...]:
    return tuple(dim.evaluate(values) for dim in shape)


def part_of_the_heads(x: Any) -> Any:
    heads = x.reshape(*x.shape[:2], 3, 2)
    return lax.slice_in_dim(heads, 1, 2, axis=2).reshape(*x.shape[:2], 2).transpose(1, 0, 2)


# a function of views, its inputs, and whether it is strided memory of its argument
VIEWS: dict[str, tuple[Callable[[Any], Any], In, bool]] = {
    "transpose": (lambda x: x.transpose(2, 0, 1), In("b, s, d"), True),
    "slice": (lambda x: lax.slice(x, (0, 1), (x.shape[0], x.shape[1])), X, True),
    "strides": (lambda x: lax.slice(x, (0, 0), x.shape, (2, 3)), X, True),
    "reverse": (lambda x: lax.rev(x, (0, 1)), X, True),
    "reverse of a slice": (lambda x: lax.rev(lax.slice(x, (0, 0), x.shape, (2, 1)), (0,)), X, True),
    "broadcast": (lambda x: lax.broadcast_in_dim(x, (3, x.shape[1], x.shape[0]), (2, 1)), X, True),
    "merge": (lambda x: x.reshape(-1), X, True),
    "merge of some": (lambda x: x.reshape(x.shape[0], -1), In("b, s, d"), True),
    "split": (lambda x: x.reshape(x.shape[0], 2, x.shape[1] // 2), In("b, 2*s"), True),
    "heads": (lambda x: x.reshape(*x.shape[:2], 2, x.shape[2] // 2).transpose(0, 2, 1, 3), In("b, s, 2*d"), True),
    "part of the heads": (part_of_the_heads, In("b, s, 6"), True),
    "merge of a transpose": (lambda x: x.T.reshape(-1), X, False),
    "tile": (lambda x: jnp.tile(x, (2, 1)), X, False),
}


@pytest.mark.parametrize("name", VIEWS)
def test_an_affine_view_is_strided_memory(name: str) -> None:
    function, spec, affine = VIEWS[name]
    program = legalized(function, spec)
    (result,) = program.body.results
    view = affine_view(result, program.facts, producers_of(program.body))
    assert (view is not None) is affine
    if view is None:
        return
    assert view.base is program.parameters[0].tensor
    for sizes in SIZES:
        array = spec.array(np.random.default_rng(0), sizes)
        values = symbols_of(program, [array])
        memory = array.reshape(-1)
        (wanted,) = by_jax(function, [array])
        offset, strides = view.offset.evaluate(values), concrete(view.strides, values)
        found = [memory[offset + int(np.dot(strides, index))] for index in np.ndindex(wanted.shape)]
        assert np.array_equal(np.array(found, wanted.dtype).reshape(wanted.shape), wanted)


def test_what_is_computed_is_no_view() -> None:
    program = legalized(lambda x: x.T + 1, X)
    (result,) = program.body.results
    view = affine_view(result, program.facts, producers_of(program.body))
    assert view is not None
    assert (view.base, view.offset) == (result, const(0))


def op_named(program: Program, name: str) -> Op[object]:
    (found,) = (op for op in program.body.ops if op.name == name)
    return found


def test_reads_are_seen_through_free_ops() -> None:
    program = legalized(lambda x, y: jnp.maximum(x.T, y[::-1]), X, In("s, b"))
    (result,) = program.body.results
    (reads,) = ReadTable(Structures(program.facts, producers_of(program.body))).of(op_named(program, "maximum"))
    assert reads.space.shape == result.shape
    found = {access.tensor: tuple(map(str, access.index)) for access in reads.accesses}
    x, y = (p.tensor for p in program.parameters)
    assert found[x] == ("%i1", "%i0")
    assert set(found) <= {x, y, *(t for op in program.body.ops for t in op.results)}


def test_reads_end_at_what_is_computed() -> None:
    program = legalized(lambda x: jnp.tanh(x).T.reshape(-1) * 2, X)
    tanh = op_named(program, "tanh").results[0]
    (reads,) = ReadTable(Structures(program.facts, producers_of(program.body))).of(op_named(program, "multiply"))
    assert [(a.tensor, tuple(map(str, a.index))) for a in reads.accesses] == [(tanh, ("%i0 % b", "%i0 // b"))]


def test_a_reduction_reads_at_the_points_of_its_operand() -> None:
    program = legalized(lambda x: jnp.exp(x)[:, None].sum(2), X)
    (reads,) = ReadTable(Structures(program.facts, producers_of(program.body))).of(op_named(program, "d_reduce"))
    (exp,) = (a for a in reads.accesses if a.tensor.shape)
    assert tuple(map(str, reads.space.index)) == ("%i0", "0", "%i1")  # a dim of 1 needs no symbol
    assert (exp.tensor, tuple(map(str, exp.index))) == (op_named(program, "exponential").results[0], ("%i0", "%i1"))


def test_loops_inside_an_element_repeat_what_they_read() -> None:
    window = lambda x: lax.reduce_window(jnp.exp(x), 0.0, lax.add, (1, 3), (1, 1), "VALID")  # noqa: E731
    program = legalized(window, In("b, 8"))
    (reads,) = ReadTable(Structures(program.facts, producers_of(program.body))).of(op_named(program, "d_reduce_window"))
    (exp,) = (a for a in reads.accesses if a.tensor.shape)
    assert reads.repetitions(exp) == const(3)


def test_the_free_ops_are_those_without_arithmetic() -> None:
    program = legalized(lambda x: (x.T.reshape(-1)[None] + jnp.arange(3.0)[:, None], jnp.sort(x)), X)
    free = {op.name for op in program.body.ops if is_free(op)}
    assert {"add", "d_sort"}.isdisjoint(free)
    assert {"d_transpose", "d_reshape", "d_broadcast"} <= free


def test_offsets_are_row_major() -> None:
    shape = (symbol("a"), symbol("b"), const(5))
    assert linear((const(1), const(2), const(3)), shape) == symbol("b") * 5 + 13
    assert linear((), ()) == const(0)


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[In, ...]]] = {
    "softmax": (jax.nn.softmax, (X,)),
    "views": (lambda x: lax.rev(x.T, (0,)).reshape(-1)[1:] * 2, (X,)),
    "joins": (lambda x, y: jnp.concatenate([x, y * 2, x], 1), (X, In("b, d"))),
    "padding": (lambda x: jnp.pad(x, ((1, 2), (0, 1))) + 1, (X,)),
    "gather": (lambda x, i: x[i] * 2, (X, In("d", np.int32))),
    "product": (lambda x, y: jnp.tanh(x @ y), (X, In("s, d"))),
    "masks": (lambda x: jnp.where(jnp.arange(x.shape[1]) < x.shape[0], x, -jnp.inf), (X,)),
    "windows": (lambda x: lax.reduce_window(x, 0.0, lax.add, (2, 2), (1, 1), "SAME"), (X,)),
    "update": (lambda x, y: lax.dynamic_update_slice(x, y, (0, 1)), (In("b, s + 1"), In("1, 1"))),
    "argmax": (lambda x: jnp.argmax(x, 1), (X,)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_one_formula(name: str) -> None:
    """Fusion is inlining: with every op inlined, the formula of an element is its value."""
    function, inputs = PROGRAMS[name]
    program = legalized(function, *inputs)
    producers = producers_of(program.body)
    (result,) = program.body.results
    index, facts = index_symbols(result.shape, program.facts)
    formula = Formulas(facts, producers, lambda t: t in producers).at(result, tuple(map(of, index)))
    for seed, sizes in enumerate(SIZES):
        rng = np.random.default_rng(seed)
        arrays = [i.array(rng, sizes) for i in inputs]
        values = symbols_of(program, arrays)
        named = {p.tensor.name: array for p, array in zip(program.parameters, arrays, strict=True)}
        (wanted,) = by_jax(function, arrays)
        for _ in range(8 if wanted.size else 0):
            point = tuple(int(rng.integers(n)) for n in wanted.shape)
            found = evaluate(formula, {**values, **dict(zip(index, point, strict=True))}, named)
            np.testing.assert_allclose(found, wanted[point], 1e-5, 1e-6, err_msg=f"{name}{point}, {sizes}")
