"""The backward pass of attention as one kernel that stores neither scores nor their gradients.

Scores are the product of queries and keys; gradients are the product of the result's gradient and the values. Softmax
and its transposed ops are formulas of both, of sums and maxima over the keys of a row, and of loads. They are
multiplied with keys (the gradient of queries), or, transposed, with queries and with the result's gradient (the
gradients of keys and values). Each block of rows, with all its keys, is recomputed from the operands (FlashAttention,
Dao et al. 2022, section 3.1) by the program's own formulas: nothing of the forward pass is kept. What other groups read
of it, such as the gradient of a bias, is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.contract import DotAttrs, accumulator
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Sym, const
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, FoldResult, Index, Scalar
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
from shlo_disc.kernels.attention.final_products import FinalProduct, product_of, read_product
from shlo_disc.kernels.attention.forward import row_dim
from shlo_disc.kernels.attention.score_dims import RefusedError, require
from shlo_disc.kernels.attention.score_scope import ScoreScope
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, Store
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.kernels.softmax import GREATEST, RAW, TOTAL, args_of, reduction_name
from shlo_disc.records import record

GRADIENT = "gradient"


def build_backward(group: Group, facts: Facts, producers: Producers) -> tuple[BackwardKernel, tuple[Tensor, ...]]:
    """The kernel of a group that was found to be the backward pass of attention, and the tensor behind each param."""
    built = read_backward(group, facts, producers)
    assert not isinstance(built, str), f"merged as attention's backward pass, but {built}"
    return built


def read_backward(group: Group, facts: Facts, producers: Producers) -> tuple[BackwardKernel, tuple[Tensor, ...]] | str:
    """Match a group as attention's backward pass around `anchor`, Q @ K^T; return the reason if it is none."""
    try:
        scope = ScoreScope(group, facts, producers)
        return _kernel(_ScoreReader(group, scope).read(), scope)
    except RefusedError as refused:
        return str(refused)


@record
class _Parts:
    """What `_ScoreReader` has found: `stands` has the args of the scores, their gradients and reductions.

    `read`: the index of the element of `second`, the gradients of weights, that belongs to a score.
    """

    reduces: Sequence[Op[object]]
    elements: Sequence[Scalar]
    weights: Sequence[Scalar]
    stored: Sequence[Store]
    ends: Sequence[FinalProduct]
    stands: Mapping[Tensor, Arg]
    second: Op[object]
    read: Index
    key: Sym


class _ScoreReader:
    """Builds formulas in terms of the symbols of the scores' dims."""

    def __init__(self, group: Group, scope: ScoreScope) -> None:
        self.group, self.scope, self.dims = group, scope, scope.dims
        self.reads = dict[Tensor, set[Index]]()

    def read(self) -> _Parts:
        """The parts of the kernel. Raises `RefusedError` if the group is no backward pass."""
        scope = self.scope
        ends = {part.anchor for part in self.group.parts}
        second = [op for op in self.group.ops if isinstance(op.attrs, DotAttrs) and op not in ends | {scope.product}]
        require(len(second) == 1, f"{len(second)} products, not one, look like the gradients of weights")
        reduces = [op for op in self.group.ops if isinstance(op.attrs, ReduceAttrs)]
        require(all(len(op.results) == 1 for op in reduces), "a reduction has several results")
        gradients = second[0].results[0]
        indices = {
            op: self.dims.aligned(op.operands[0], {gradients, *(o.results[0] for o in reduces)}) for op in reduces
        }
        key = self._key(indices)
        stands = {scope.scores: Arg(RAW, scope.scores.dtype), gradients: Arg(GRADIENT, gradients.dtype)}
        totals = 0
        for op in reduces:
            name = reduction_name(Formulas(scope.plain, scope.producers, self.dims.inlined), op)
            require(name is not None, "a reduction is neither a maximum from -inf nor a sum from 0")
            stands[op.results[0]] = Arg(GREATEST if name == GREATEST else f"{TOTAL}{totals}", op.results[0].dtype)
            totals += name != GREATEST
        require([a.name for a in stands.values()].count(GREATEST) == 1, "there is not one maximum of scores")
        inlining = {t: self._noting(t, arg) for t, arg in stands.items()}
        formulas = Formulas(scope.facts, scope.producers, self.dims.inlined, inlining, scope.params.load(scope.facts))
        found = [read_product(part, scope, stands, key) for part in self.group.parts]
        elements = [formulas.at(op.operands[0], indices[op]) for op in reduces]
        weights = [formulas.at(end.weights, end.index) for end in found]
        stored = [scope.stored(tensor, stands, formulas) for tensor in self._others()]
        self._check_reads(gradients, reduces, indices, key)
        (read,) = self.reads[gradients]
        return _Parts(reduces, elements, weights, stored, found, stands, second[0], read, key)

    def _others(self) -> list[Tensor]:
        """The group's results other than those of the final products."""
        roots = {root for part in self.group.parts for root in part.roots}
        return [root for root in self.group.roots if root not in roots]

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
        require(self.reads.get(self.scope.scores) == {self.scope.here}, "a score depends on several products")
        require(len(self.reads.get(gradients, ())) == 1, "gradients of weights are read in several places, or nowhere")
        for op in reduces:
            rest = tuple(dim for dim, at in zip(indices[op], range(9), strict=False) if at not in _dims(op))
            require(self.reads.get(op.results[0], {rest}) == {rest}, "a row reads the sum of another one")
            require(all(key not in dim.symbols() for dim in rest), "a sum is not one of a row")


def _kernel(parts: _Parts, scope: ScoreScope) -> tuple[BackwardKernel, tuple[Tensor, ...]]:
    """The kernel of these parts, and the tensor behind each param. Raises `RefusedError` if there is none."""
    sizes = scope.sizes
    key = Axis(parts.key, sizes[parts.key])
    row, inner = _rows(parts.ends, scope, parts.key)
    outer = [Axis(s, n) for s, n in sizes.items() if s not in (None, row.symbol, parts.key) and s not in inner]
    order, distinct = _ordered(parts), list(dict.fromkeys(parts.weights))
    masked = hidden_are_zero(order, [*distinct, *(one.value for one in parts.stored)])
    raw, gradient = parts.stands[scope.scores], parts.stands[parts.second.results[0]]
    sums, changed = keep_in_place(order, [*distinct, *(one.value for one in parts.stored)], raw)
    weights, values = changed[: len(distinct)], changed[len(distinct) :]
    stores = [
        PairStore(nearest(value, weights), Store(one.target, one.offset, value))
        for one, value in zip(parts.stored, values, strict=True)
    ]
    q, k = scope.pair(scope.product, scope.here, row.symbol, parts.key, depth := _depth(scope.product))
    g, v = scope.pair(parts.second, parts.read, row.symbol, parts.key, width := _depth(parts.second))
    products = list[BackwardProduct]()
    for end, weight in zip(parts.ends, parts.weights, strict=True):
        by_key = parts.key not in end.summed
        line = row.symbol if by_key else parts.key
        products.append(product_of(end, scope, distinct.index(weight), line, by_key=by_key))
    formulas = [*(one.element for one in sums), *changed]
    require(not any(isinstance(n, FoldResult) for n in nodes_of(formulas)), "formulas need sums of their own")
    types = {view.dtype for view in (q, k, g, v, *(one.right for one in products))}
    between = {raw.dtype, gradient.dtype} | {formula.dtype for formula in formulas}
    require(len(types) == 1, "its operands are not all of one type")
    require(between <= {q.dtype, accumulator(q.dtype)}, "what is between its products has other types than these")
    kernel = BackwardKernel(
        params=tuple(scope.params.tensors.values()),
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
        precisions=(_dot(scope.product).precision, _dot(parts.second).precision),
        masked=masked and q.dtype is not DType.F16,  # f16 products may overflow, so blocks are never skipped
    )
    return kernel, tuple(scope.params.tensors)


def _rows(ends: Sequence[FinalProduct], scope: ScoreScope, key: Sym) -> tuple[Axis, list[Sym]]:
    """The dim of rows, and the other dims that sums over rows run over."""
    sizes = scope.sizes
    turned = {end.summed for end in ends if key not in end.summed}
    require(len(turned) == 1, "no product, or several different ones, sum over rows")
    (summed,) = turned
    places = [d for d, symbol in enumerate(scope.symbols) if symbol in summed]
    found = row_dim(scope.scores.shape, places)
    symbol = Sym("%x") if found is None else scope.symbols[found]
    assert symbol is not None, "a dim of 1 is no row"
    inner = [s for s in sizes if s is not None and s in summed and s != symbol]
    return Axis(symbol, const(1) if found is None else sizes[symbol]), inner


def _ordered(parts: _Parts) -> list[RowSum]:
    """The reductions in order of their dependences, the maximum first."""
    waiting = {parts.stands[op.results[0]]: element for op, element in zip(parts.reduces, parts.elements, strict=True)}
    found, known = list[RowSum](), {RAW, GRADIENT}
    while waiting:
        ready = [arg for arg, element in waiting.items() if args_of(element) <= known]
        require(bool(ready), "sums need each other")
        for arg in sorted(ready, key=lambda one: (one.name != GREATEST, one.name)):
            found.append(RowSum(arg, arg.name == GREATEST, waiting.pop(arg), kept=False))
            known.add(arg.name)
    require(found[0].greatest, "the first reduction is no maximum")
    return found


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
