"""Contractions as matrix products: the strides of their operands, and their elementwise epilogues."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, pairwise
from math import copysign
from operator import mul
from typing import TypeAlias

from shlo_disc.analysis.access import AffineView, index_symbols, is_free, loads
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.analysis.inverse import inverse
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs
from shlo_disc.dynamic_ops.indexing import delinearize
from shlo_disc.dynamic_ops.opdef import Template
from shlo_disc.dynamic_ops.order import SortAttrs
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Const, FromDim, Index, Scalar
from shlo_disc.kernels.groups import Abilities, ProductTypes
from shlo_disc.records import record

_Strides: TypeAlias = Shape | None  # None: a computed operand


@record
class BatchDim:
    """One batch loop around the matrix product; an operand that does not vary along it has stride 0."""

    extent: Dim
    a_stride: Dim
    b_stride: Dim


@record
class MatrixForm:
    """A dot_general as `batch x (m x k) @ (k x n)` over strided memory.

    `batch` lists the loops in the order of the result's dims they stand for (`batch_dims`, `row_dims`,
    `column_dims`: result dims; the last two are flattened into m and n). `depth_dims`: the contracted dims of both
    operands, flattened into k. An operand that is None is computed: it has no memory, and its strides are meaningless.
    """

    a: AffineView | None
    b: AffineView | None
    batch: tuple[BatchDim, ...]
    batch_dims: tuple[int, ...]
    row_dims: tuple[int, ...]
    column_dims: tuple[int, ...]
    depth_dims: tuple[tuple[int, int], ...]
    m: Dim
    n: Dim
    k: Dim
    a_row: Dim
    a_k: Dim
    b_k: Dim
    b_column: Dim


def is_matrix_product(op: Op[object], abilities: Abilities) -> bool:
    """Whether a target's matrix kernel supports this dot: its dtypes, and contracted dims that flatten into one."""
    if not isinstance(op.attrs, DotAttrs) or product_types(op) not in abilities.contractions:
        return False
    left, right = (t.shape for t in op.operands)
    return _contracted(op.attrs, left, _row_major_strides(left), _row_major_strides(right)) is not None


def is_grouped_product(op: Op[object], abilities: Abilities) -> bool:
    """Whether a target has a kernel for this product of groups of rows: its dtypes."""
    return isinstance(op.attrs, GroupedDotAttrs) and product_types(op) in abilities.grouped


def is_direct_convolution(op: Op[object], abilities: Abilities) -> bool:
    """Whether a target's convolution kernel supports this op: its dtypes and groups, and at most 3 spatial dims."""
    if not isinstance(op.attrs, ConvAttrs) or len(op.attrs.strides) > 3:
        return False
    attrs, types = op.attrs, product_types(op)
    if attrs.feature_groups == attrs.batch_groups == 1 and types in abilities.whole_convolutions:
        return True
    return types in abilities.convolutions and (attrs.batch_groups == 1 or abilities.batch_groups)


def product_types(op: Op[object]) -> ProductTypes:
    """The element types of a contraction's or convolution's operands and its result."""
    (lhs, rhs, *_), (result,) = op.operands, op.results
    return lhs.dtype, rhs.dtype, result.dtype


def template_operands(op: Op[object], structures: Structures, abilities: Abilities) -> tuple[Tensor, ...]:
    """The tensors that the template of `op` reads directly: operands, or the bases of their strided views."""
    template, facts, producers = definition(op).template, structures.facts, structures.producers
    if template in (Template.ELEMENT, Template.REDUCE):
        return ()
    if template is Template.DOT:
        if not is_matrix_product(op, abilities):
            return ()
        form = matrix_form(op, structures)
        return tuple(view.base for view in (form.a, form.b) if view is not None)
    if template is Template.GROUPED_DOT:
        if not is_grouped_product(op, abilities):
            return ()
        return tuple((structures.affine_view(t) or row_major(t)).base for t in op.operands)
    if template is Template.CONVOLUTION:
        if not is_direct_convolution(op, abilities):
            return ()
        return tuple((structures.affine_view(t) or row_major(t)).base for t in op.operands)
    if template is Template.SCATTER:
        return tuple(t for t in op.operands[: len(op.operands) // 2] if not holds_zeros(t, facts, producers))
    if template is Template.SORT and isinstance(op.attrs, SortAttrs):
        dim = op.attrs.dim
        return tuple(t for t in op.operands if not holds_position(t, dim, facts, producers))
    if template is Template.SELECT_AND_SCATTER:
        return op.operands[:2]
    return op.operands


def holds_position(tensor: Tensor, dim: int, facts: Facts, producers: Producers) -> bool:
    """Whether every element of a view is its own index along `dim`, like the payload of an argsort."""
    value, index = _free_element(tensor, facts, producers)
    return isinstance(value, FromDim) and value.dim == index[dim]


def holds_zeros(tensor: Tensor, facts: Facts, producers: Producers) -> bool:
    """Whether every element of a view is +0 (all bits zero), like the buffer that a gradient is scattered into."""
    value, _ = _free_element(tensor, facts, producers)
    if not isinstance(value, Const) or value.value != 0:
        return False
    parts = complex(value.value)
    return copysign(1, parts.real) > 0 and copysign(1, parts.imag) > 0


def _free_element(tensor: Tensor, facts: Facts, producers: Producers) -> tuple[Scalar | None, Index]:
    """The formula of an element of a free op's result (None for other tensors), and the element's index."""

    def free(tensor: Tensor) -> bool:
        made = producers.get(tensor)
        return made is not None and is_free(made[0])

    index = tuple(of(Sym(f"%{k}")) for k in range(len(tensor.shape)))
    if not free(tensor):
        return None, index
    for number, extent in enumerate(tensor.shape):
        facts = facts.with_index(Sym(f"%{number}"), extent)
    return Formulas(facts, producers, free).at(tensor, index), index


def row_major(tensor: Tensor) -> AffineView:
    """The tensor as a row-major view of its own buffer."""
    return AffineView(tensor, const(0), _row_major_strides(tensor.shape))


@lru_cache(maxsize=4096)
def _row_major_strides(shape: Shape) -> Shape:
    return tuple(accumulate(reversed(shape[1:]), mul, initial=const(1)))[::-1] if shape else ()


def matrix_form(op: Op[object], structures: Structures, computed: Sequence[bool] = (False, False)) -> MatrixForm:
    """The strided matrices of a dot for which `is_matrix_product` holds; views are read in place where possible.

    `computed`: which operands are computed, and so have no memory.
    """
    assert isinstance(op.attrs, DotAttrs), "only dots have a matrix form"
    left, right = (
        (None,) if absent else (structures.affine_view(t) or row_major(t), row_major(t))
        for t, absent in zip(op.operands, computed, strict=True)
    )
    shapes = tuple(t.shape for t in op.operands)
    for lhs in left:
        for rhs in right:
            strides = (None if lhs is None else lhs.strides, None if rhs is None else rhs.strides)
            if (form := _form(op.attrs, *shapes, *strides)) is not None:
                return replace(form, a=lhs, b=rhs)
    raise AssertionError(f"{op.name}: is_matrix_product promised a form")


@record
class _Depth:
    """Contracted dims in an order in which they flatten, and both operands' strides of the flat dim."""

    dims: tuple[tuple[int, int], ...]
    a_stride: Dim
    b_stride: Dim


@lru_cache(maxsize=4096)
def _contracted(attrs: DotAttrs, shape: Shape, lhs: _Strides, rhs: _Strides) -> _Depth | None:
    """The k strides of both sides, if the contracted dims flatten into one in some order."""
    pairs = list(zip(attrs.lhs_contract, attrs.rhs_contract, strict=True))
    for order in (pairs, sorted(pairs), sorted(pairs, key=lambda p: p[1])):
        extents = [shape[p] for p, _ in order]
        a = _flatten(_chosen(lhs, [p for p, _ in order]), extents)
        b = _flatten(_chosen(rhs, [q for _, q in order]), extents)
        if a is not None and b is not None:
            return _Depth(tuple(order), a, b)
    return None


def _chosen(strides: _Strides, dims: Sequence[int]) -> list[Dim] | None:
    return None if strides is None else [strides[d] for d in dims]


def _flatten(strides: Sequence[Dim] | None, extents: Sequence[Dim]) -> Dim | None:
    """The stride of these dims flattened into one, if each stride is the next times its extent; 0 without memory."""
    if strides is None:
        return const(0)
    kept = [(s, e) for s, e in zip(strides, extents, strict=True) if e.constant != 1]
    if not kept:
        return const(1)
    for (outer, _), (inner, extent) in pairwise(kept):
        if outer != inner * extent:
            return None
    return kept[-1][0]


def _suffix(dims: Sequence[int], strides: _Strides, shape: Shape) -> int:
    """How many leading dims have to be loops so that the rest flattens into one."""
    for skip in range(len(dims) + 1):
        rest = dims[skip:]
        if _flatten(_chosen(strides, rest), [shape[d] for d in rest]) is not None:
            return skip
    return len(dims)


@lru_cache(maxsize=4096)
def _form(attrs: DotAttrs, left: Shape, right: Shape, lhs: _Strides, rhs: _Strides) -> MatrixForm | None:
    """The matrix form for these shapes and strides, with `a` and `b` left unset; None if there is none."""
    if (depth := _contracted(attrs, left, lhs, rhs)) is None:
        return None
    rows = [d for d in range(len(left)) if d not in attrs.lhs_batch + attrs.lhs_contract]
    columns = [d for d in range(len(right)) if d not in attrs.rhs_batch + attrs.rhs_contract]
    row_loops, column_loops = _suffix(rows, lhs, left), _suffix(columns, rhs, right)
    zero = const(0)

    def stride(strides: _Strides, dim: int) -> Dim:
        return zero if strides is None else strides[dim]

    batch = [
        BatchDim(left[p], stride(lhs, p), stride(rhs, q)) for p, q in zip(attrs.lhs_batch, attrs.rhs_batch, strict=True)
    ]
    batch += [BatchDim(left[d], stride(lhs, d), zero) for d in rows[:row_loops]]
    batch += [BatchDim(right[d], zero, stride(rhs, d)) for d in columns[:column_loops]]
    first_row = len(attrs.lhs_batch)
    first_column = first_row + len(rows)
    row_rest, column_rest = rows[row_loops:], columns[column_loops:]
    a_row = _flatten(_chosen(lhs, row_rest), [left[d] for d in row_rest])
    b_column = _flatten(_chosen(rhs, column_rest), [right[d] for d in column_rest])
    assert a_row is not None, "the suffix was chosen so that it flattens"
    assert b_column is not None, "the suffix was chosen so that it flattens"
    return MatrixForm(
        a=None, b=None, batch=tuple(batch),
        batch_dims=(
            *range(first_row + row_loops),
            *range(first_column, first_column + column_loops),
        ),
        row_dims=tuple(range(first_row + row_loops, first_column)),
        column_dims=tuple(range(first_column + column_loops, first_column + len(columns))),
        depth_dims=depth.dims,
        m=product(left[d] for d in row_rest),
        n=product(right[d] for d in column_rest),
        k=product(left[d] for d in attrs.lhs_contract),
        a_row=a_row, a_k=depth.a_stride, b_k=depth.b_stride, b_column=b_column,
    )  # fmt: skip


def operand_index(op: Op[object], form: MatrixForm, side: int, loops: Index, line: Dim, depth: Dim) -> Index:
    """The index of a computed operand's element at `line` (a row of A, a column of B), `depth` and batch `loops`."""
    attrs, shape = op.attrs, op.operands[side].shape
    assert isinstance(attrs, DotAttrs), "only dots have a matrix form"
    batch = attrs.rhs_batch if side else attrs.lhs_batch
    depths = [pair[side] for pair in form.depth_dims]
    lines = [d for d in range(len(shape)) if d not in batch and d not in depths]
    where = dict(zip(batch, loops, strict=False))  # further loops are over dims of the other operand
    for dims, flat in ((lines, line), (depths, depth)):
        where.update(zip(dims, delinearize(flat, tuple(shape[d] for d in dims)), strict=True))
    return tuple(where[d] for d in range(len(shape)))


@record
class EpilogueIndex:
    """Where the epilogue stores: `root` is an index into the results, in terms of the product's index `accumulator`."""

    accumulator: Index
    root: Index
    facts: Facts


def _is_one_shape(a: Shape, b: Shape, facts: Facts) -> bool:
    return len(a) == len(b) and all(facts.equal(x, y).is_true for x, y in zip(a, b, strict=True))


def epilogue_index(
    product_: Tensor,
    roots: Sequence[Tensor],
    ops: Iterable[Op[object]],
    facts: Facts,
    producers: Producers,
) -> EpilogueIndex | None:
    """How the indices of elementwise results follow from a contraction's, if they read each of its elements once.

    All results have one shape: each element of the product gives one element of every result.
    """
    shape = roots[0].shape
    if any(not _is_one_shape(root.shape, shape, facts) for root in roots):
        return None
    members = {t for op in ops for t in op.results if t is not product_}

    def inlined(tensor: Tensor) -> bool:
        made = producers.get(tensor)
        return tensor in members or (made is not None and is_free(made[0]))

    symbols, inner = index_symbols(shape, facts, "o")
    here = tuple(inner.canonical(of(s)) for s in symbols)
    formulas = Formulas(inner, producers, inlined)
    reads = {node.index for root in roots for node in loads(formulas.at(root, here)) if node.source is product_}
    if len(reads) != 1:
        return None
    (read,) = reads
    target_symbols, target_facts = index_symbols(product_.shape, facts, "t")
    target = tuple(target_facts.canonical(of(s)) for s in target_symbols)
    root = inverse(symbols, shape, read, target, product_.shape, target_facts)
    return None if root is None else EpilogueIndex(target, root, target_facts)
