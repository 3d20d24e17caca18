"""Attention: a product, a softmax over its columns and a second product become one kernel that stores no scores.

Softmax over the last axis is `e / sum(e)` with `e = exp(x - max(x))`. What lies between the two products is read as
formulas of one element, and must match this exactly. Then scores are computed block by block, with the maximum and the
sum of the blocks so far ("online softmax", Milakov & Gimelshein 2018; FlashAttention, Dao et al. 2022).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.analysis.access import AffineView, is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.contract import DotAttrs, Precision
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, FoldResult, Index, Load, Scalar
from shlo_disc.kernels.attention.backward_kernel import RowSum, hidden_are_zero, keep_in_place
from shlo_disc.kernels.contraction import matrix_form
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, MatrixView, Param, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.softmax import GREATEST, TOTAL, Question, Replaced, Softmax, match_softmax
from shlo_disc.kernels.stages import Params
from shlo_disc.kernels.templates import epilogue_stores
from shlo_disc.records import record

ROW, KEY, DEPTH, COLUMN = Sym("%i"), Sym("%j"), Sym("%d"), Sym("%c")


@record
class AttentionKernel:
    """`softmax(score(Q @ K^T)) @ V` per point of `batch`; the epilogue gets each finished element.

    `q` is row x depth, `k` is key x depth, `v` is key x width. `score` is the softmax's input in terms of `raw`, the
    first product's element (of its type), at symbols of `batch`, `row` and `key`. Weights of V are
    `weight / sum of exponentials`, with `weight` a formula of `exponential`; it is 0 where `kept` is not true, even
    if the softmax is NaN there. Kernels that store scores need not defer the division: `sums` of rows, and `share`, the
    weight of V, are the program's own formulas, as in `BackwardKernel`; `masked`: the share of pairs whose exponential
    is 0 is 0. The epilogue reads the second product as `accumulator` at `row` and `column`.
    `precisions` are those of both products. `spaces`: the element counts of all buffers.
    """

    params: tuple[Param, ...]
    batch: tuple[Axis, ...]
    row: Axis
    key: Axis
    column: Axis
    depth: int
    width: int
    q: MatrixView
    k: MatrixView
    v: MatrixView
    raw: Arg
    score: Scalar
    exponential: Arg
    weight: Scalar
    kept: Scalar | None
    sums: tuple[RowSum, ...]
    share: Scalar
    masked: bool
    accumulator: Arg
    epilogue: tuple[Store, ...]
    precisions: tuple[Precision, Precision]
    spaces: tuple[Dim, ...]

    @property
    def precision(self) -> Precision:
        """The higher precision of the two products."""
        return max(self.precisions, key=lambda p: p.value)


@record
class _Space:
    """The loops of the second product: `weights` and `values` index its operands, `result` its result."""

    batch: tuple[Axis, ...]
    row: Axis
    key: Axis
    column: Axis
    weights: Index
    values: Index
    result: Index
    side: int  # which operand the weights are
    facts: Facts  # where there is a key
    ends: Facts  # after the keys, of which there may be none


def build_attention(group: Group, facts: Facts, producers: Producers) -> tuple[AttentionKernel, tuple[Tensor, ...]]:
    """The kernel of a group that fusion found to be attention, and the tensor behind each param."""
    built = read_attention(group, facts, producers)
    assert not isinstance(built, str), f"merged as attention, but {built}"
    return built


def read_attention(
    group: Group, facts: Facts, producers: Producers
) -> tuple[AttentionKernel, tuple[Tensor, ...]] | str:
    """Match a group as attention around `group.anchor`, its second product, or return the reason why not."""
    return _GroupReader(group, facts, producers).read()


class _GroupReader:
    """Matches a group's ops as formulas."""

    def __init__(self, group: Group, facts: Facts, producers: Producers) -> None:
        assert group.anchor is not None, "attention is built around its second product"
        self.group, self.facts, self.producers = group, facts, producers
        self.structures = Structures(facts, producers)
        self.second = group.anchor
        self.members = {t for op in group.ops for t in op.results}
        self.params = Params()

    def read(self) -> tuple[AttentionKernel, tuple[Tensor, ...]] | str:
        firsts = [op for op in self.group.ops if isinstance(op.attrs, DotAttrs) and op is not self.second]
        reduces = [op for op in self.group.ops if isinstance(op.attrs, ReduceAttrs)]
        if len(firsts) != 1 or len(reduces) != 2:
            return f"there are {len(firsts)} products before it and {len(reduces)} reductions, not 1 and 2"
        (first,) = firsts
        types = {t.dtype for op in (first, self.second) for t in op.operands}
        if len(types) != 1:
            return "its operands are not all of one type"
        space = self._space()
        if isinstance(space, str):
            return space
        weights = self.second.operands[space.side]

        def formulas(replaced: Replaced) -> Formulas:
            return Formulas(space.facts, self.producers, self._inlined, replaced, self.params.load(space.facts))

        softmax = match_softmax(Question(formulas, weights, space.weights, reduces, first.results[0], space.key))
        if isinstance(softmax, str):
            return softmax
        return self._kernel(first, space, softmax)

    def _inlined(self, tensor: Tensor) -> bool:
        made = self.producers.get(tensor)
        return made is not None and (tensor in self.members or is_free(made[0]))

    # -- loops

    def _space(self) -> _Space | str:
        """Assign symbols to the dims of the second product's operands, if keys and columns have one dim each."""
        attrs = self.second.attrs
        assert isinstance(attrs, DotAttrs), "attention is built around a product"
        sides = [k for k, t in enumerate(self.second.operands) if self._depends(t)]
        if len(sides) != 1:
            return "both operands of the second product depend on the first one"
        (side,) = sides
        weights, values = self.second.operands[side].shape, self.second.operands[1 - side].shape
        contract, batch = (attrs.lhs_contract, attrs.rhs_contract), (attrs.lhs_batch, attrs.rhs_batch)
        pairs = list(zip(contract[side], contract[1 - side], strict=True))
        keys = [(p, q) for p, q in pairs if weights[p].constant != 1]
        columns = [d for d in range(len(values)) if d not in contract[1 - side] + batch[1 - side]]
        wide = [d for d in columns if values[d].constant != 1]
        if len(keys) != 1 or len(wide) > 1:
            return "keys or values have several dims"
        width = values[wide[0]].constant if wide else 1
        if width is None:
            return f"values are {values[wide[0]]} wide, which is no constant"
        rows = [d for d in range(len(weights)) if d not in contract[side] + batch[side]]
        row, loops = row_dim(weights, rows), list[Axis]()
        at_weights = {p: const(0) for p, _ in pairs} | {p: of(KEY) for p, _ in keys}
        at_values = {q: const(0) for _, q in pairs} | {q: of(KEY) for _, q in keys}
        at_values |= {d: of(COLUMN) if d in wide else const(0) for d in columns}
        for p, q in zip(batch[side], batch[1 - side], strict=True):
            at_weights[p] = at_values[q] = self._loop(weights[p], loops)
        for d in rows:
            at_weights[d] = of(ROW) if d == row else self._loop(weights[d], loops)
        free = ([at_weights[d] for d in rows], [at_values[d] for d in columns])
        result = (*(at_weights[p] for p in batch[side]), *free[side], *free[1 - side])
        axes = (Axis(ROW, const(1) if row is None else weights[row]), Axis(KEY, weights[keys[0][0]]))
        row_axis, key = axes
        column, ends = Axis(COLUMN, const(width)), self.facts
        for axis in (*loops, row_axis, column):
            ends = ends.with_index(axis.symbol, axis.extent)
        facts = ends.with_index(key.symbol, key.extent)
        at = (_listed(at_weights), _listed(at_values), tuple(map(ends.canonical, result)))
        return _Space(tuple(loops), *axes, column, *at, side, facts, ends)

    def _loop(self, extent: Dim, loops: list[Axis]) -> Dim:
        if extent.constant == 1:
            return const(0)
        loops.append(Axis(Sym(f"%b{len(loops)}"), extent))
        return of(loops[-1].symbol)

    def _depends(self, tensor: Tensor) -> bool:
        """Whether a tensor is computed in this group, looking through free ops."""
        made = self.producers.get(tensor)
        if made is None or not is_free(made[0]):
            return tensor in self.members
        return any(map(self._depends, made[0].operands))

    # -- the kernel

    def _kernel(
        self, first: Op[object], space: _Space, softmax: Softmax
    ) -> tuple[AttentionKernel, tuple[Tensor, ...]] | str:
        assert isinstance(first.attrs, DotAttrs), "the first product is a dot"
        assert isinstance(self.second.attrs, DotAttrs), "the second product is a dot"
        if any(isinstance(node, FoldResult) for node in nodes_of([softmax.score, softmax.weight, softmax.share])):
            return "scores need sums of their own"
        depths = [size for d in first.attrs.lhs_contract if (size := first.operands[0].shape[d]).constant != 1]
        depth = depths[0].constant if depths else 1
        if len(depths) > 1 or depth is None:
            return f"queries are {' x '.join(map(str, depths))} wide, which is no constant"
        operands = self._operands(first, softmax.read, space.facts.with_index(DEPTH, const(depth)))
        form = matrix_form(self.second, self.structures)
        v = self._matrix((form.a, form.b)[1 - space.side], space.values, KEY, COLUMN, space.facts)
        if operands is None or v is None:
            return "queries, keys or values are no matrices per row of the batch"
        result = self.second.results[0]
        accumulator = Arg("acc", result.dtype)
        stores = epilogue_stores(self.group, space.result, accumulator, space.ends, self.producers, self.params)
        order = [
            RowSum(Arg(name, element.dtype), name == GREATEST, element, kept=False)
            for name, element in zip((GREATEST, TOTAL), softmax.summed, strict=True)
        ]
        sums, (share,) = keep_in_place(order, [softmax.share], softmax.raw)
        kernel = AttentionKernel(
            params=tuple(self.params.tensors.values()),
            batch=space.batch,
            row=space.row,
            key=space.key,
            column=space.column,
            depth=depth,
            width=space.column.extent.constant or 0,
            q=operands[0],
            k=operands[1],
            v=v,
            raw=softmax.raw,
            score=softmax.score,
            exponential=softmax.exponential,
            weight=softmax.weight,
            kept=softmax.kept,
            sums=sums,
            share=share,
            masked=hidden_are_zero(order, [softmax.share]),
            accumulator=accumulator,
            epilogue=stores,
            precisions=(first.attrs.precision, self.second.attrs.precision),
            spaces=tuple(product(tensor.shape) for tensor in self.params.tensors),
        )
        return kernel, tuple(self.params.tensors)

    def _operands(self, first: Op[object], read: Index, facts: Facts) -> tuple[MatrixView, MatrixView] | None:
        """Queries and keys, which are the operands of the first product in either order; `read` is its element."""
        assert isinstance(first.attrs, DotAttrs), "the first product is a dot"
        attrs, form = first.attrs, matrix_form(first, self.structures)
        index = list(read)
        shared, found = index[: len(attrs.lhs_batch)], list[Index]()
        del index[: len(shared)]
        sides = ((attrs.lhs_batch, attrs.lhs_contract), (attrs.rhs_batch, attrs.rhs_contract))
        for tensor, (batch, contract) in zip(first.operands, sides, strict=True):
            at = dict(zip(batch, shared, strict=True))
            at |= {d: const(0) if tensor.shape[d].constant == 1 else of(DEPTH) for d in contract}
            free = [d for d in range(len(tensor.shape)) if d not in at]
            at |= dict(zip(free, index, strict=False))
            del index[: len(free)]
            found.append(_listed(at))
        for q, k in ((0, 1), (1, 0)):
            views = (form.a, form.b)
            queries = self._matrix(views[q], found[q], ROW, DEPTH, facts)
            keys = self._matrix(views[k], found[k], KEY, DEPTH, facts)
            if queries is not None and keys is not None:
                return queries, keys
        return None

    def _matrix(self, view: AffineView | None, index: Index, row: Sym, column: Sym, facts: Facts) -> MatrixView | None:
        """An operand at `index` as rows and columns; None if it depends on another inner loop, or is not affine."""
        assert view is not None, "attention reads its operands from memory"
        base, offset = view.base, view.offset
        for stride, position in zip(view.strides, index, strict=True):
            offset += stride * position
        if base in self.members:  # a view that would otherwise be copied may be affine in terms of the batch
            at_base = Formulas(facts, self.producers, self._inlined).at(base, index)
            if not isinstance(at_base, Load) or not isinstance(at_base.source, Tensor):
                return None
            base, offset = at_base.source, linear(at_base.index, at_base.source.shape)
        offset = facts.canonical(offset)
        if offset.data() or (by_row := offset.linear(row)) is None or (by_column := by_row[1].linear(column)) is None:
            return None
        inner = {ROW, KEY, DEPTH, COLUMN}
        if any(inner.intersection(d.symbols()) for d in (by_row[0], *by_column)):
            return None
        return MatrixView(self.params.of(base), by_column[1], by_row[0], by_column[0])


def _listed(at: Mapping[int, Dim]) -> Index:
    return tuple(at[d] for d in range(len(at)))


def row_dim(shape: Shape, rows: Sequence[int]) -> int | None:
    """The dim of rows, which share keys in one block: one of unknown size if there is one, else the largest."""
    wide = [d for d in rows if shape[d].constant != 1]
    return max(wide, key=lambda d: (shape[d].constant is None, shape[d].constant or 0, d), default=None)
