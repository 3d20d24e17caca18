"""Turns dynamic slices at known indices into views, such as `keys[3]`, whose index JAX computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas, producers_of
from shlo_disc.dynamic_ops import move, slices
from shlo_disc.dynamic_ops.gather import GATHER, GatherAttrs
from shlo_disc.dynamic_ops.indexing import as_dim, clamped
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Shape, Tensor
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.scalar import Const, Index, Load, Scalar
from shlo_disc.passes.rewriting import Changed, Pass, Producers, rewrite


def view_known_places(program: Program) -> Program:
    """Turn dynamic slices, and gathers of one slice, into slices where the start depends on no tensor element."""
    made, facts = producers_of(program.body), program.facts

    def is_view(tensor: Tensor) -> bool:
        return tensor in made and is_free(made[tensor][0])

    def load(tensor: Tensor, index: Index) -> Scalar:
        literal, where = program.constants.get(tensor), [dim.constant for dim in index]
        if literal is None or None in where:
            return Load(tensor, index)
        return Const(literal[tuple(where)].item(), tensor.dtype)

    formulas = Formulas(facts, made, is_view, load=load)

    def place(tensor: Tensor, index: Index) -> Dim:
        return facts.canonical(as_dim(formulas.at(tensor, index)))

    def change(op: Op[Any], _producers: Producers) -> Changed:
        if slices.DYNAMIC_SLICE.defines(op):
            starts = [place(start, ()) for start in op.operands[1:]]
            return _sliced(op, starts, op.results[0].shape)
        if GATHER.defines(op) and _takes_one_slice(op):
            attrs, starts = op.attrs, [const(0)] * len(op.operands[0].shape)
            vector = len(op.operands[1].shape) == 1
            for component, dim in enumerate(attrs.start_index_map):
                starts[dim] = place(op.operands[1], (const(component),) if vector else ())
            return _sliced(op, starts, attrs.slice_sizes)
        return op

    def _sliced(op: Op[Any], starts: Sequence[Dim], window: Shape) -> Changed:
        """A slice of this window, reshaped to drop the dims that the result lacks."""
        (result,), source = op.results, op.operands[0]
        first = tuple(facts.canonical(clamped(*each)) for each in zip(starts, source.shape, window, strict=True))
        if any(start.data() for start in first):
            return op
        attrs = SliceAttrs(first, (const(1),) * len(window))
        if result.shape == window:
            return slices.SLICE.op((source,), attrs, (result,), op.span)
        part = Tensor(f"{result.name}_part", tuple(map(facts.canonical, window)), result.dtype, op.span, result.bounds)
        return (
            slices.SLICE.op((source,), attrs, (part,), op.span),
            move.RESHAPE.op((part,), NoAttrs(), (result,), op.span),
        )

    return rewrite(program, change)


def _takes_one_slice(op: Op[GatherAttrs]) -> bool:
    """Whether there is one vector of start indices, so that the result is one window."""
    return len(op.attrs.offset_dims) == len(op.results[0].shape) and not op.attrs.operand_batching_dims


DYNAMIC_SLICE_TO_VIEW = Pass("dynamic_slice_to_view", view_known_places)
