"""Prologues of contractions: operands of a product that are computed where it loads them."""

from __future__ import annotations

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.elementwise import converted
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.contraction import MatrixForm, operand_index
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, Panel
from shlo_disc.kernels.rewrite import dims_of
from shlo_disc.kernels.stages import Params
from shlo_disc.records import record


def computed_operands(group: Group, producers: Producers) -> tuple[bool, ...]:
    """Which operands of a group's anchor the group itself computes, looking through free ops."""
    assert group.anchor is not None, "a template is built around an op"
    inside = {t for op in group.ops if op is not group.anchor for t in op.results}

    def computed(tensor: Tensor) -> bool:
        if tensor in inside:
            return True
        made = producers.get(tensor)
        return made is not None and is_free(made[0]) and any(map(computed, made[0].operands))

    return tuple(map(computed, group.anchor.operands))


@record
class PanelReader:
    """Builds the panels of one product's computed operands."""

    group: Group
    form: MatrixForm
    loops: Index  # of the batch
    depth: Axis
    facts: Facts  # with the ranges of the batch, the row and the column
    producers: Producers
    params: Params

    def panel(self, side: int, line: Axis, dtype: DType) -> Panel:
        """Operand `side` as a formula of this type."""
        op = self.group.anchor
        assert op is not None, "a product has its op"
        facts = self.facts.with_index(self.depth.symbol, self.depth.extent)
        index = operand_index(op, self.form, side, self.loops, of(line.symbol), of(self.depth.symbol))
        inside = {t for member in self.group.ops if member is not op for t in member.results}

        def inlined(tensor: Tensor) -> bool:
            made = self.producers.get(tensor)
            return made is not None and (tensor in inside or is_free(made[0]))

        tensor = op.operands[side]
        element = Formulas(facts, self.producers, inlined, {}, self.params.load(facts)).at(tensor, index)
        value = converted(element, dtype)
        return Panel(dtype, line, self.depth, value, _along_depth(value, line, self.depth))


def _along_depth(value: Scalar, line: Axis, depth: Axis) -> bool:
    """Whether at least as many index terms of a formula have stride 1 along the depth as along the line."""
    counts = [0, 0]
    for dim in dims_of([value]):
        for number, axis in enumerate((depth, line)):
            counts[number] += _step(dim, axis) == 1
    return counts[0] >= counts[1]


def _step(dim: Dim, axis: Axis) -> int | None:
    split = dim.linear(axis.symbol)
    return None if split is None else split[0].constant
