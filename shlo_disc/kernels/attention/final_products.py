"""The products at the end of attention's backward pass: formulas of scores times keys, queries or gradients."""

from __future__ import annotations

from collections.abc import Iterable

from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.dim import Sym, const, of
from shlo_disc.expr.scalar import Arg, Index
from shlo_disc.kernels.attention.backward_kernel import BackwardProduct
from shlo_disc.kernels.attention.forward import COLUMN
from shlo_disc.kernels.attention.score_dims import require
from shlo_disc.kernels.attention.score_scope import ScoreScope
from shlo_disc.kernels.contraction import epilogue_index
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis
from shlo_disc.kernels.templates import epilogue_stores
from shlo_disc.records import record


@record
class FinalProduct:
    """A product: its group, which operand the weights are, and the symbols of their dims and of its sum.

    `index` is that of the weights at a score.
    """

    group: Group
    op: Op[object]
    attrs: DotAttrs
    side: int
    index: Index
    summed: frozenset[Sym]

    @property
    def weights(self) -> Tensor:
        """The operand that depends on the scores."""
        return self.op.operands[self.side]


def read_product(part: Group, scope: ScoreScope, stops: Iterable[Tensor], key: Sym) -> FinalProduct:
    """Match a part of the group as a product of weights, which depend on the scores other than through `stops`.

    `key` is the symbol of keys. Raises `RefusedError` if it is no such product.
    """
    op = part.anchor
    assert op is not None, "a product has its op"
    assert isinstance(op.attrs, DotAttrs), "a product is a dot"
    sides = [k for k, t in enumerate(op.operands) if scope.depends(t)]
    require(len(sides) == 1, "both operands of a product depend on the scores")
    (side,) = sides
    index = scope.aligned(op.operands[side], stops)
    contracted = (op.attrs.lhs_contract, op.attrs.rhs_contract)[side]
    summed = frozenset(symbol for d in contracted for symbol in index[d].symbols())
    require(key not in summed or len(summed) == 1, "a product sums over keys and more")
    return FinalProduct(part, op, op.attrs, side, index, summed)


def product_of(end: FinalProduct, scope: ScoreScope, number: int, line: Sym, *, by_key: bool) -> BackwardProduct:
    """A product for the kernel, of the weights with a number; its sums run over `line`."""
    attrs, other = end.attrs, end.op.operands[1 - end.side]
    contract, batch = (attrs.lhs_contract, attrs.rhs_contract), (attrs.lhs_batch, attrs.rhs_batch)
    at = {q: end.index[p] for p, q in zip(contract[end.side], contract[1 - end.side], strict=True)}
    at |= {q: end.index[p] for p, q in zip(batch[end.side], batch[1 - end.side], strict=True)}
    free = [d for d in range(len(other.shape)) if d not in at]
    wide = [d for d in free if other.shape[d].constant != 1]
    width = other.shape[wide[0]].constant if wide else 1
    require(len(wide) <= 1 and width is not None, "a product has several columns' dims, or of no constant size")
    assert width is not None, "it was required"
    at |= {d: of(COLUMN) if d in wide else const(0) for d in free}
    facts = scope.facts.with_index(COLUMN, const(width))
    right = scope.view(other, [at[d] for d in range(len(other.shape))], line, COLUMN, facts)
    require(right is not None, "what weights are multiplied with is no matrix per row of the batch")
    assert right is not None, "it was required"
    kept = [end.index[d] for d in range(len(end.weights.shape)) if d not in contract[end.side] + batch[end.side]]
    sides = (kept, [at[d] for d in free])
    result = (*(end.index[d] for d in batch[end.side]), *sides[end.side], *sides[1 - end.side])
    tensor, part = end.op.results[0], end.group
    require(
        epilogue_index(tensor, part.roots, part.ops, scope.plain, scope.producers) is not None,
        "what follows a product does not read each of its elements once",
    )
    acc, ends = Arg("acc", tensor.dtype), scope.plain.with_index(COLUMN, const(width))
    indexed = frozenset(symbol for dim in result for symbol in dim.symbols())
    for symbol, size in zip(scope.symbols, scope.scores.shape, strict=True):
        if symbol is not None and symbol in indexed:  # the sums over the others may have no terms
            ends = ends.with_index(symbol, size)
    stores = epilogue_stores(part, tuple(result), acc, ends, scope.producers, scope.params)
    return BackwardProduct(number, by_key, attrs.precision, right, Axis(COLUMN, const(width)), acc, stores)
