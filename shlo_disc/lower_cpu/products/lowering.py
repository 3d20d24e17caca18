"""Matrix products: which kernel multiplies, under which schedule, and with which operand packed."""

from __future__ import annotations

from dataclasses import replace

from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.emit.naming import NAME
from shlo_disc.expr.dim import Dim, Sym, of
from shlo_disc.host.division import product_accesses
from shlo_disc.kernels.contraction import product_types
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.inplace import epilogue_pairs, positions
from shlo_disc.kernels.templates import build_dot
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.lower_cpu.lowered import LoweredGroup
from shlo_disc.lower_cpu.lowering_context import LoweringContext
from shlo_disc.lower_cpu.products import packing
from shlo_disc.lower_cpu.products.blocks import (
    blocks_of,
    column_blocks,
    dot_extent,
    dot_scratch,
    is_by_rows,
    print_dot,
    read_transposed,
)
from shlo_disc.lower_cpu.products.multiplication import Multiplication, multiplication
from shlo_disc.lower_cpu.products.selection import select
from shlo_disc.lower_cpu.work import product_work


def lower_product(group: Group, context: LoweringContext) -> LoweredGroup:
    """A task computes a block, under the schedule that the sizes select; B may be prepacked."""
    kind, facts, definitions = _multiplication(group), context.facts, dict[Sym, Dim]()

    def name(formula: Dim) -> Dim:
        size, found = context.symbols.named(formula)
        definitions.update(found)
        return size

    found, tensors = verified(build_dot(group, facts, context.producers, kind.read_as), group)
    kernel = read_transposed(found)
    schedule = select(kernel, kind, context.scheduling, name)
    operand = packing.packed_operand(kernel, kind, context.loop_invariant.among(tensors, group))
    blocks, block = blocks_of(kernel, schedule, is_packed=operand is not None), None
    if is_by_rows(kernel):
        block = context.symbols.symbol(blocks.rows)
        definitions[block], blocks = blocks.rows, replace(blocks, rows=of(block))
    lowered = LoweredGroup(
        print_dot(kernel, kind, NAME, blocks, facts),
        tensors,
        dot_extent(kernel, blocks),
        product_work(kernel, blocks.rows, blocks.columns),
        dot_scratch(kernel, kind, blocks),
        in_place=positions(epilogue_pairs(kernel), kernel.params),
        definitions=tuple(definitions.items()),
        selections=(schedule,),
    )
    if operand is not None:
        body = packing.print_packing(kernel, kind, operand, NAME, facts)
        lowered = replace(lowered, packing=packing.packing_of(operand, kernel.params, body))
    if block is None:
        return lowered
    line, threads, tasks = of(kernel.row.symbol), context.scheduling.threads, column_blocks(kernel, blocks)
    return lowered.divided(line, kernel.row.extent, product_accesses(kernel), threads, tasks, block)


def _multiplication(group: Group) -> Multiplication:
    """The micro-kernel for the types of a product."""
    assert group.anchor is not None, "a product has its op"
    assert isinstance(group.anchor.attrs, DotAttrs), "the op of a product is a dot"
    kind = multiplication(product_types(group.anchor), group.anchor.attrs.precision)
    assert kind is not None, "fusion makes a product only of types that there is a kernel for"
    return kind
