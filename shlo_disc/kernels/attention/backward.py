"""The backward pass of attention as one kernel that stores neither scores nor their gradients.

Scores are the product of queries and keys; gradients are the product of the result's gradient and the values. Softmax
and its transposed ops are formulas of both, of sums and maxima over the keys of a row, and of loads. They are
multiplied with keys (the gradient of queries), or, transposed, with queries and with the result's gradient (the
gradients of keys and values). Each block of rows, with all its keys, is recomputed from the operands (FlashAttention,
Dao et al. 2022, section 3.1) by the program's own formulas: nothing of the forward pass is kept. What other groups read
of it, such as the gradient of a bias, is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.contract import DotAttrs, accumulator
from shlo_disc.dynamic_ops.indexing import linear
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, FoldResult, Index, Load, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.backward_kernel import (
    BackwardKernel,
    BackwardProduct,
    PairStore,
    RowSum,
    hidden_are_zero,
    keep_in_place,
    nearest,
)
from shlo_disc.kernels.attention.forward import COLUMN, DEPTH, row_dim
from shlo_disc.kernels.attention.score_dims import RefusedError, ScoreDims, require
from shlo_disc.kernels.contraction import epilogue_index
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, MatrixView, Param, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.softmax import GREATEST, RAW, TOTAL, args_of, reduction_name
from shlo_disc.kernels.stages import Params
from shlo_disc.kernels.templates import epilogue_stores

GRADIENT = "gradient"


def build_backward(group: Group, facts: Facts, producers: Producers) -> tuple[BackwardKernel, tuple[Tensor, ...]]:
    """The kernel of a group that was found to be the backward pass of attention, and the tensor behind each param."""
    built = read_backward(group, facts, producers)
    assert not isinstance(built, str), f"merged as attention's backward pass, but {built}"
    return built


def read_backward(group: Group, facts: Facts, producers: Producers) -> tuple[BackwardKernel, tuple[Tensor, ...]] | str:
    """Match a group as attention's backward pass around `anchor`, Q @ K^T; return the reason if it is none."""
    try:
        return _ScoreReader(group, facts, producers).read()
    except RefusedError as refused:
        return str(refused)


@dataclass(frozen=True, slots=True)
class _End:
    """A final product: its group, which operand the weights are, and the symbols of their dims and of its sum."""

    group: Group
    op: Op[object]
    attrs: DotAttrs
    side: int
    index: Index
    summed: frozenset[Sym]


class _ScoreReader:
    """Builds formulas in terms of the symbols of the scores' dims."""

    def __init__(self, group: Group, facts: Facts, producers: Producers) -> None:
        assert group.anchor is not None, "the backward pass is built around the scores"
        self.group, self.producers, self.first = group, producers, group.anchor
        self.members = {t for op in group.ops for t in op.results}
        self.params, self.plain = Params(), facts
        self.scores = self.first.results[0]
        self.dims = ScoreDims(self.first, facts, producers, self.members)
        self.symbols = self.dims.symbols
        for symbol, size in zip(self.symbols, self.scores.shape, strict=True):
            facts = facts if symbol is None else facts.with_index(symbol, size)
        self.facts = facts
        self.here = tuple(const(0) if symbol is None else of(symbol) for symbol in self.symbols)
        self.reads = dict[Tensor, set[Index]]()

    def read(self) -> tuple[BackwardKernel, tuple[Tensor, ...]]:
        ends = {part.anchor for part in self.group.parts}
        second = [op for op in self.group.ops if isinstance(op.attrs, DotAttrs) and op not in ends | {self.first}]
        require(len(second) == 1, f"{len(second)} products, not one, look like the gradients of weights")
        reduces = [op for op in self.group.ops if isinstance(op.attrs, ReduceAttrs)]
        require(all(len(op.results) == 1 for op in reduces), "a reduction has several results")
        gradients = second[0].results[0]
        indices = {
            op: self.dims.aligned(op.operands[0], {gradients, *(o.results[0] for o in reduces)}) for op in reduces
        }
        key = self._key(indices)
        stands = {self.scores: Arg(RAW, self.scores.dtype), gradients: Arg(GRADIENT, gradients.dtype)}
        totals = 0
        for op in reduces:
            name = reduction_name(Formulas(self.plain, self.producers, self.dims.inlined), op)
            require(name is not None, "a reduction is neither a maximum from -inf nor a sum from 0")
            stands[op.results[0]] = Arg(GREATEST if name == GREATEST else f"{TOTAL}{totals}", op.results[0].dtype)
            totals += name != GREATEST
        require([a.name for a in stands.values()].count(GREATEST) == 1, "there is not one maximum of scores")
        inlining = {t: self._noting(t, arg) for t, arg in stands.items()}
        formulas = Formulas(self.facts, self.producers, self.dims.inlined, inlining, self.params.load(self.facts))
        found = [self._end(part, stands, key) for part in self.group.parts]
        elements = [formulas.at(op.operands[0], indices[op]) for op in reduces]
        weights = [formulas.at(end.op.operands[end.side], end.index) for end in found]
        stored = [self._stored(tensor, stands, formulas) for tensor in self._others()]
        self._check_reads(gradients, reduces, indices, key)
        return self._kernel(_Parts(reduces, elements, weights, stored, found, stands, second[0], key))

    def _others(self) -> list[Tensor]:
        """The group's results other than those of the final products."""
        roots = {root for part in self.group.parts for root in part.roots}
        return [root for root in self.group.roots if root not in roots]

    def _stored(self, tensor: Tensor, stops: Iterable[Tensor], formulas: Formulas) -> Store:
        """The store into a tensor that has an element for each pair of a row and a key."""
        index = self.dims.aligned(tensor, [t for t in stops if t is not self.scores])
        symbols = {symbol for dim in index for symbol in dim.symbols()}
        require(symbols == {s for s in self.symbols if s is not None}, "what is stored has no element for each score")
        offset = self.facts.canonical(linear(index, tensor.shape))
        return Store(self.params.of(tensor), offset, formulas.at(tensor, index))

    def _noting(self, tensor: Tensor, arg: Arg) -> Callable[[Index], Scalar]:
        def stand_in(index: Index) -> Scalar:
            self.reads.setdefault(tensor, set()).add(index)
            return arg

        return stand_in

    def _key(self, indices: Mapping[Op[object], Index]) -> Sym:
        """The symbol of the dim that all reductions run over."""
        keys = set[Sym]()
        for op, index in indices.items():
            assert isinstance(op.attrs, ReduceAttrs), "only reductions are asked about"
            reduced = {symbol for d in op.attrs.dims for symbol in index[d].symbols()}
            require(len(reduced) == 1, "a reduction is not taken over keys alone")
            keys |= reduced
        require(len(keys) == 1, "reductions are taken over different dims")
        return keys.pop()

    def _check_reads(
        self, gradients: Tensor, reduces: Sequence[Op[object]], indices: Mapping[Op[object], Index], key: Sym
    ) -> None:
        """Check that each element that an arg stands for is read at its own index."""
        require(self.reads.get(self.scores) == {self.here}, "a score depends on several products")
        require(len(self.reads.get(gradients, ())) == 1, "gradients of weights are read in several places, or nowhere")
        for op in reduces:
            rest = tuple(dim for dim, at in zip(indices[op], range(9), strict=False) if at not in _dims(op))
            require(self.reads.get(op.results[0], {rest}) == {rest}, "a row reads the sum of another one")
            require(all(key not in dim.symbols() for dim in rest), "a sum is not one of a row")

    # -- products at the end

    def _end(self, part: Group, stops: Iterable[Tensor], key: Sym) -> _End:
        op = part.anchor
        assert op is not None, "a product has its op"
        assert isinstance(op.attrs, DotAttrs), "a product is a dot"
        sides = [k for k, t in enumerate(op.operands) if self._depends(t)]
        require(len(sides) == 1, "both operands of a product depend on the scores")
        (side,) = sides
        index = self.dims.aligned(op.operands[side], [t for t in stops if t is not self.scores])
        contracted = (op.attrs.lhs_contract, op.attrs.rhs_contract)[side]
        summed = frozenset(symbol for d in contracted for symbol in index[d].symbols())
        require(key not in summed or len(summed) == 1, "a product sums over keys and more")
        return _End(part, op, op.attrs, side, index, summed)

    def _depends(self, tensor: Tensor) -> bool:
        made = self.producers.get(tensor)
        if made is None or not is_free(made[0]):
            return tensor in self.members
        return any(map(self._depends, made[0].operands))

    def _view(self, tensor: Tensor, index: Sequence[Dim], row: Sym, column: Sym, facts: Facts) -> MatrixView | None:
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

    def _pair(self, op: Op[object], read: Index, row: Sym, key: Sym, depth: int) -> tuple[MatrixView, MatrixView]:
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
            rows = self._view(op.operands[a], found[a], row, DEPTH, facts)
            keys = self._view(op.operands[b], found[b], key, DEPTH, facts)
            if rows is not None and keys is not None:
                return rows, keys
        raise RefusedError("operands of a product are no matrices per row of the batch")

    def _product(self, end: _End, number: int, line: Sym, *, by_key: bool) -> BackwardProduct:
        """A final product for the kernel; its sums run over `line`."""
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
        facts = self.facts.with_index(COLUMN, const(width))
        right = self._view(other, [at[d] for d in range(len(other.shape))], line, COLUMN, facts)
        require(right is not None, "what weights are multiplied with is no matrix per row of the batch")
        assert right is not None, "it was required"
        weights = end.op.operands[end.side]
        kept = [end.index[d] for d in range(len(weights.shape)) if d not in contract[end.side] + batch[end.side]]
        sides = (kept, [at[d] for d in free])
        result = (*(end.index[d] for d in batch[end.side]), *sides[end.side], *sides[1 - end.side])
        tensor, part = end.op.results[0], end.group
        require(
            epilogue_index(tensor, part.roots, part.ops, self.plain, self.producers) is not None,
            "what follows a product does not read each of its elements once",
        )
        acc, ends = Arg("acc", tensor.dtype), self.plain.with_index(COLUMN, const(width))
        indexed = frozenset(symbol for dim in result for symbol in dim.symbols())
        for symbol, size in zip(self.symbols, self.scores.shape, strict=True):
            if symbol is not None and symbol in indexed:  # the sums over the others may have no terms
                ends = ends.with_index(symbol, size)
        stores = epilogue_stores(part, tuple(result), acc, ends, self.producers, self.params)
        return BackwardProduct(number, by_key, attrs.precision, right, Axis(COLUMN, const(width)), acc, stores)

    # -- the kernel

    def _kernel(self, parts: _Parts) -> tuple[BackwardKernel, tuple[Tensor, ...]]:
        sizes = dict(zip(self.symbols, self.scores.shape, strict=True))
        key = Axis(parts.key, sizes[parts.key])
        row, inner = self._rows(parts.ends, sizes, parts.key)
        outer = [Axis(s, n) for s, n in sizes.items() if s not in (None, row.symbol, parts.key) and s not in inner]
        order, distinct = self._ordered(parts), list(dict.fromkeys(parts.weights))
        masked = hidden_are_zero(order, [*distinct, *(one.value for one in parts.stored)])
        raw, gradient = parts.stands[self.scores], parts.stands[parts.second.results[0]]
        sums, changed = keep_in_place(order, [*distinct, *(one.value for one in parts.stored)], raw)
        weights, values = changed[: len(distinct)], changed[len(distinct) :]
        stores = [
            PairStore(nearest(value, weights), Store(one.target, one.offset, value))
            for one, value in zip(parts.stored, values, strict=True)
        ]
        q, k = self._pair(self.first, self.here, row.symbol, parts.key, depth := _depth(self.first))
        (read,) = self.reads[parts.second.results[0]]
        g, v = self._pair(parts.second, read, row.symbol, parts.key, width := _depth(parts.second))
        products = list[BackwardProduct]()
        for end, weight in zip(parts.ends, parts.weights, strict=True):
            by_key = parts.key not in end.summed
            line = row.symbol if by_key else parts.key
            products.append(self._product(end, distinct.index(weight), line, by_key=by_key))
        formulas = [*(one.element for one in sums), *changed]
        require(not any(isinstance(n, FoldResult) for n in nodes_of(formulas)), "formulas need sums of their own")
        types = {view.dtype for view in (q, k, g, v, *(one.right for one in products))}
        between = {raw.dtype, gradient.dtype} | {formula.dtype for formula in formulas}
        require(len(types) == 1, "its operands are not all of one type")
        require(between <= {q.dtype, accumulator(q.dtype)}, "what is between its products has other types than these")
        kernel = BackwardKernel(
            params=tuple(self.params.tensors.values()),
            batch=tuple(outer),
            inner=tuple(Axis(s, sizes[s]) for s in inner),
            row=row,
            key=key,
            depth=depth,
            width=width,
            q=q,
            k=k,
            g=g,
            v=v,
            raw=raw,
            gradient=gradient,
            score=order[0].element,
            sums=sums,
            weights=weights,
            products=tuple(products),
            stores=tuple(stores),
            precisions=(_dot(self.first).precision, _dot(parts.second).precision),
            masked=masked and q.dtype is not DType.F16,  # f16 products may overflow, so blocks are never skipped
        )
        return kernel, tuple(self.params.tensors)

    def _rows(self, ends: Sequence[_End], sizes: Mapping[Sym | None, Dim], key: Sym) -> tuple[Axis, list[Sym]]:
        """The dim of rows, and the other dims that sums over rows run over."""
        turned = {end.summed for end in ends if key not in end.summed}
        require(len(turned) == 1, "no product, or several different ones, sum over rows")
        (summed,) = turned
        places = [d for d, symbol in enumerate(self.symbols) if symbol in summed]
        found = row_dim(self.scores.shape, places)
        symbol = Sym("%x") if found is None else self.symbols[found]
        assert symbol is not None, "a dim of 1 is no row"
        inner = [s for s in sizes if s is not None and s in summed and s != symbol]
        return Axis(symbol, const(1) if found is None else sizes[symbol]), inner

    def _ordered(self, parts: _Parts) -> list[RowSum]:
        """The reductions in order of their dependences, the maximum first."""
        waiting = {
            parts.stands[op.results[0]]: element for op, element in zip(parts.reduces, parts.elements, strict=True)
        }
        found, known = list[RowSum](), {RAW, GRADIENT}
        while waiting:
            ready = [arg for arg, element in waiting.items() if args_of(element) <= known]
            require(bool(ready), "sums need each other")
            for arg in sorted(ready, key=lambda one: (one.name != GREATEST, one.name)):
                found.append(RowSum(arg, arg.name == GREATEST, waiting.pop(arg), kept=False))
                known.add(arg.name)
        require(found[0].greatest, "the first reduction is no maximum")
        return found


@dataclass(frozen=True, slots=True)
class _Parts:
    """What `_ScoreReader` has found: `stands` has the args of the scores, their gradients and reductions."""

    reduces: Sequence[Op[object]]
    elements: Sequence[Scalar]
    weights: Sequence[Scalar]
    stored: Sequence[Store]
    ends: Sequence[_End]
    stands: Mapping[Tensor, Arg]
    second: Op[object]
    key: Sym


def _dims(op: Op[object]) -> Sequence[int]:
    assert isinstance(op.attrs, ReduceAttrs), "only reductions are asked about"
    return op.attrs.dims


def _dot(op: Op[object]) -> DotAttrs:
    assert isinstance(op.attrs, DotAttrs), "a product is a dot"
    return op.attrs


def _depth(op: Op[object]) -> int:
    """The number of terms in one element of a product, which must be a constant."""
    shape: Shape = op.operands[0].shape
    sizes = [shape[d] for d in _dot(op).lhs_contract if shape[d].constant != 1]
    depth = sizes[0].constant if sizes else 1
    require(len(sizes) <= 1 and depth is not None, "queries or values have several dims, or one of no constant size")
    assert depth is not None, "it was required"
    return depth
