"""Marks sorts of which only the first elements are read, such as the decomposition of top_k."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from shlo_disc.dynamic_ops.order import SortAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.dynamic_ops.slices import SliceAttrs
from shlo_disc.expr.dim import Dim, const, maximum
from shlo_disc.passes.rewriting import Pass, Producers, rewrite


def mark_leading_elements(program: Program) -> Program:
    """Set `SortAttrs.keep` to the largest end of the slices of a sort, if all its readers are unstrided slices."""
    slices, whole = dict[Tensor, list[Op[SliceAttrs]]](), set(program.body.results)
    for op in program.body.walk():
        whole.update(t for body in op.bodies for t in body.results)
        if isinstance(op.attrs, SliceAttrs):
            slices.setdefault(op.operands[0], []).append(cast("Op[SliceAttrs]", op))
            whole.update(op.operands[1:])
        else:
            whole.update(op.operands)

    def change(op: Op[Any], producers: Producers) -> Op[Any]:
        del producers
        if not isinstance(op.attrs, SortAttrs) or not whole.isdisjoint(op.results):
            return op
        dim = op.attrs.dim
        ends = [_end(one, dim) for result in op.results for one in slices.get(result, ())]
        if not ends or any(end is None for end in ends):
            return op
        keep = maximum(*(end for end in ends if end is not None))
        return replace(op, attrs=replace(op.attrs, keep=keep))

    return rewrite(program, change)


def _end(op: Op[SliceAttrs], dim: int) -> Dim | None:
    """The end of a slice along `dim`; None if it has a stride or depends on data."""
    end = op.attrs.starts[dim] + op.results[0].shape[dim]
    return end if op.attrs.strides[dim] == const(1) and not end.data() else None


SORT_TO_TOP_K = Pass("sort_to_top_k", mark_leading_elements)
