"""StableHLO to DHLO: custom calls on matrices in compressed rows.

A row is the elements from `starts[row]` to `starts[row + 1]`, each with its column; elements after the last row are
ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.dynamic_ops.gather import GatherAttrs
from shlo_disc.dynamic_ops.linear_algebra import LapackAttrs
from shlo_disc.dynamic_ops.order import ScatterAttrs
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceWindowAttrs
from shlo_disc.expr.dim import ONE, Dim
from shlo_disc.ir import core as ir
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.known_calls import takes
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.legalize.rules_move import stated


def _product(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """A sparse matrix times a dense one, or a vector: every element times a row of `rhs`, added to its own row."""
    data, starts, columns, rhs = frame.tensors(op.operands)
    compose, (count,) = Composer(frame, op.span), data.shape
    _demand_one_column_each(compose, data, columns)
    shape = stated(frame, op, (starts.shape[0] - 1, *rhs.shape[1:]))
    terms = (count, *rhs.shape[1:])
    factors = compose.convert(compose.broadcast(data, (0,), terms), result_dtype(op))
    parts = compose.multiply(factors, compose.convert(_taken(compose, rhs, columns, terms), result_dtype(op)))
    return [_added(compose, shape, _rows(compose, starts, count), parts)]


def _demand_one_column_each(compose: Composer, data: Tensor, columns: Tensor) -> None:
    compose.build.demand_equal(columns.shape[0], data.shape[0], "each element has a column", compose.span)


def _taken(compose: Composer, x: Tensor, rows: Tensor, shape: Shape) -> Tensor:
    """Gather rows of a tensor."""
    inner = tuple(range(1, len(shape)))
    attrs = GatherAttrs(inner, (0,), (), (), (0,), 1, (ONE, *shape[1:]))
    return compose.build.one("d_gather", (x, rows), attrs, shape, x.dtype, compose.span)


def _added(compose: Composer, shape: Shape, rows: Tensor, parts: Tensor) -> Tensor:
    """Scatter-add `parts` to rows of zeros; rows out of bounds are skipped."""
    build, span, dtype = compose.build, compose.span, parts.dtype
    inner = tuple(range(1, len(shape)))
    attrs = ScatterAttrs(inner, (0,), (), (), (0,), 1, unique_indices=False)
    zeros = compose.full(0, shape, dtype)
    return build.emit("d_scatter", (zeros, rows, parts), attrs, [(shape, dtype)], span, (compose.adder(dtype),))[0]


def _rows(compose: Composer, starts: Tensor, count: Dim) -> Tensor:
    """The row of each of `count` elements: the number of rows that have ended by then."""
    (ends,), dtype = starts.shape, starts.dtype
    ended = compose.slice(starts, (ONE,), (ends - 1,))
    once = compose.full(1, (ends - 1,), dtype)
    ending = _added(compose, (count,), ended, once)
    attrs = ReduceWindowAttrs((count,), (ONE,), (ONE,), (ONE,), (count - 1,))
    operands, results = (ending, compose.full(0, (), dtype)), [((count,), dtype)]
    body = compose.adder(dtype)
    return compose.build.emit("d_reduce_window", operands, attrs, results, compose.span, (body,))[0]


def _solve(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """A sparse system. `tol` and `reorder` configure cuSOLVER's factorization; SuperLU ignores them."""
    data, columns, starts, b = operands = frame.tensors(op.operands)
    compose = Composer(frame, op.span)
    _demand_one_column_each(compose, data, columns)
    compose.build.demand_equal(starts.shape[0] - 1, b.shape[0], "a sparse system has square matrices", op.span)
    shape = stated(frame, op, b.shape)
    return [frame.build.one("d_sparse_solve", operands, LapackAttrs(), shape, b.dtype, op.span)]


CALLS: Mapping[str, Rule] = {
    "cpu_csr_sparse_dense_ffi": takes(_product, (4,), 1, 1, 1, 1, whole=(1, 2)),
    "cusolver_csrlsvqr_ffi": takes(_solve, (4,), 1, 1, 1, 1, 1, whole=(1, 2)),
}
