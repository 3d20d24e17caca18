"""The scores of a group that is the backward pass of attention, and what is read at their elements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.contract import DotAttrs
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Index, Load
from shlo_disc.kernels.attention.forward import DEPTH
from shlo_disc.kernels.attention.score_dims import RefusedError, ScoreDims, require
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import MatrixView, Param, Store
from shlo_disc.kernels.stages import Params


class ScoreScope:
    """The scores of a group, with a symbol for each of their dims.

    Attributes:
        product: the op of the scores.
        plain: the facts of the program.
        facts: the same, with those of the symbols.
        here: the index of a score, by the symbols.
        params: what the kernel reads and writes, collected by those who build formulas.
    """

    def __init__(self, group: Group, facts: Facts, producers: Producers) -> None:
        assert group.anchor is not None, "the backward pass is built around the scores"
        self.producers, self.product = producers, group.anchor
        self.params, self.plain = Params(), facts
        self.scores = group.anchor.results[0]
        self._members = {t for op in group.ops for t in op.results}
        self.dims = ScoreDims(group.anchor, facts, producers, self._members)
        self.symbols = self.dims.symbols
        for symbol, size in zip(self.symbols, self.scores.shape, strict=True):
            facts = facts if symbol is None else facts.with_index(symbol, size)
        self.facts = facts
        self.here = tuple(const(0) if symbol is None else of(symbol) for symbol in self.symbols)

    @property
    def sizes(self) -> dict[Sym | None, Dim]:
        """The sizes of the scores' dims, by their symbols."""
        return dict(zip(self.symbols, self.scores.shape, strict=True))

    def depends(self, tensor: Tensor) -> bool:
        """Whether the group computes a tensor, or what it is a view of."""
        made = self.producers.get(tensor)
        if made is None or not is_free(made[0]):
            return tensor in self._members
        return any(map(self.depends, made[0].operands))

    def aligned(self, tensor: Tensor, stops: Iterable[Tensor]) -> Index:
        """The index at which a tensor depends on the score at the symbols, other than through one of `stops`."""
        return self.dims.aligned(tensor, [t for t in stops if t is not self.scores])

    def stored(self, tensor: Tensor, stops: Iterable[Tensor], formulas: Formulas) -> Store:
        """The store into a tensor that has an element for each pair of a row and a key."""
        index = self.aligned(tensor, stops)
        symbols = {symbol for dim in index for symbol in dim.symbols()}
        require(symbols == {s for s in self.symbols if s is not None}, "what is stored has no element for each score")
        offset = self.facts.canonical(linear(index, tensor.shape))
        return Store(self.params.of(tensor), offset, formulas.at(tensor, index))

    def view(self, tensor: Tensor, index: Sequence[Dim], row: Sym, column: Sym, facts: Facts) -> MatrixView | None:
        """A tensor at an index as rows and columns of memory; None if it has another form."""
        at = Formulas(facts, self.producers, self.dims.inlined, {}, self.params.load(facts)).at(tensor, tuple(index))
        if not isinstance(at, Load) or not isinstance(at.source, Param):
            return None
        offset = at.index[0]
        if offset.data() or (by_row := offset.linear(row)) is None or (by_column := by_row[1].linear(column)) is None:
            return None
        if any({row, column}.intersection(d.symbols()) for d in (by_row[0], *by_column)):
            return None
        return MatrixView(at.source, by_column[1], by_row[0], by_column[0])

    def pair(self, op: Op[object], read: Index, row: Sym, key: Sym, depth: int) -> tuple[MatrixView, MatrixView]:
        """The operands of a product whose element `read` belongs to a score: first that of rows, then that of keys."""
        assert isinstance(op.attrs, DotAttrs), "a product is a dot"
        attrs, index, found = op.attrs, list(read), list[list[Dim]]()
        shared = index[: len(attrs.lhs_batch)]
        del index[: len(shared)]
        sides = ((attrs.lhs_batch, attrs.lhs_contract), (attrs.rhs_batch, attrs.rhs_contract))
        for tensor, (batch, contract) in zip(op.operands, sides, strict=True):
            at = dict(zip(batch, shared, strict=True))
            at |= {d: const(0) if tensor.shape[d].constant == 1 else of(DEPTH) for d in contract}
            for d in range(len(tensor.shape)):
                if d not in at:
                    at[d] = index.pop(0)
            found.append([at[d] for d in range(len(tensor.shape))])
        facts = self.facts.with_index(DEPTH, const(depth))
        for a, b in ((0, 1), (1, 0)):
            if any(key in d.symbols() for d in found[a]) or any(row in d.symbols() for d in found[b]):
                continue
            rows = self.view(op.operands[a], found[a], row, DEPTH, facts)
            keys = self.view(op.operands[b], found[b], key, DEPTH, facts)
            if rows is not None and keys is not None:
                return rows, keys
        raise RefusedError("operands of a product are no matrices per row of the batch")
