"""Elementwise ops that could be the epilogue of a product, were they the end of its group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import product
from shlo_disc.fusion.state import FusionState
from shlo_disc.kernels.contraction import is_direct_convolution, is_grouped_product, is_matrix_product

_STARTS = (is_matrix_product, is_grouped_product, is_direct_convolution)


@dataclass(slots=True, eq=False)
class Chain:
    """The results of elementwise ops that depend on a product, node number `started`; `pending`: reads not visited."""

    product: Tensor
    started: int
    tensors: set[Tensor]
    pending: int = 0


def product_chains(state: FusionState) -> Mapping[Op[object], Chain]:
    """The chains of the ops that could end one: all paths from the product lead through them."""
    found = dict[Op[object], Chain]()
    chains = dict[Op[object], list[Chain]]()  # by the ops that continue them
    for op in state.nodes.nodes:
        mine = chains.pop(op, [])
        if any(starts(op, state.context.abilities) for starts in _STARTS):
            chain = Chain(op.results[0], state.nodes.position[op], set())
        else:
            fitting = [c for c in mine if _continues(op, c, state)]
            if not fitting:
                continue
            chain = max(fitting, key=lambda c: (c.pending == mine.count(c), c.started))
        chain.pending -= mine.count(chain)
        if chain.pending == 0 and mine:
            found[op] = chain
        if any(t in state.nodes.outputs for t in op.results):
            continue
        chain.tensors.update(op.results)
        for reader in state.nodes.consumers[op]:
            chains.setdefault(reader, []).append(chain)
            chain.pending += 1
    return found


def _continues(op: Op[object], chain: Chain, state: FusionState) -> bool:
    """Whether `op` computes one element for each of the product's."""
    if definition(op).template is not Template.ELEMENT:
        return False
    if op.results[0].shape == chain.product.shape:  # the common case
        return True
    size, wanted = product(op.results[0].shape), product(chain.product.shape)
    return size == wanted or state.facts.canonical(size) == state.facts.canonical(wanted)
