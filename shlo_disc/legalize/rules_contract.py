"""StableHLO to DHLO: einsum and ragged_dot, as products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import ascii_letters

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dynamic_ops.contract import DotAttrs, Precision, free_dims
from shlo_disc.dynamic_ops.grouped import GroupedDotAttrs, Ragged
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.expr.dim import product
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import ArrayAttr, Attribute, EnumAttr, RecordAttr, StringAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import Fields, string
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.rules_compute import contracted, precision_of
from shlo_disc.legalize.rules_elementwise import result_dtype
from shlo_disc.legalize.rules_move import stated
from shlo_disc.records import record

_INDEX = DType.I64
_COUNT = DType.I32

# einsum


def _einsum(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """One operand (`unary_einsum`) or two: dims of only one operand are summed first, the rest is a product."""
    compose, operands = Composer(frame, op.span), frame.tensors(op.operands)
    letters, result = _letters(op, operands)
    terms = list[tuple[Tensor, str]]()
    for k, (x, names) in enumerate(zip(operands, letters, strict=True)):
        others = {*result, *(name for at, one in enumerate(letters) if at != k for name in one)}
        terms.append(_summed(compose, *_diagonal(compose, x, names), others))
    found, names = terms[0] if len(terms) == 1 else _product(frame, op, terms, result)
    ordered = compose.transpose(found, [names.index(name) for name in result])
    stated(frame, op, ordered.shape)
    return [compose.convert(ordered, result_dtype(op))]


def _letters(op: ir.Op, operands: Sequence[Tensor]) -> tuple[list[str], str]:
    """A letter for each dim of each operand and of the result; `...` expands to the remaining dims."""
    config = string(op, "einsum_config").replace(" ", "")
    inputs, arrow, result = config.partition("->")
    terms = inputs.split(",")
    if not arrow or len(terms) != len(operands):
        raise VerifyError(f"expected an equation of {len(operands)} operands with '->', found '{config}'", op.span)
    fresh = [name for name in ascii_letters if name not in config]
    widest = max(
        (len(x.shape) - len(term) + 3 for x, term in zip(operands, terms, strict=True) if "..." in term), default=0
    )
    found = list[str]()
    for x, term in zip(operands, terms, strict=True):
        hidden = len(x.shape) - len(term) + 3 if "..." in term else 0
        found.append(term.replace("...", "".join(fresh[widest - hidden : widest])))
        if len(found[-1]) != len(x.shape):
            raise VerifyError(f"expected a letter for each of {len(x.shape)} dimensions, found '{term}'", op.span)
    return found, result.replace("...", "".join(fresh[:widest]))


def _diagonal(compose: Composer, x: Tensor, names: str) -> tuple[Tensor, str]:
    """Take the diagonal of dims that share a letter."""
    for k in range(len(names) - 1, -1, -1):
        if (first := names.index(names[k])) == k:
            continue
        compose.build.demand_equal(x.shape[first], x.shape[k], "dims of one letter need equal sizes", compose.span)
        rows, columns = (compose.iota(dim, x.shape, _INDEX) for dim in (first, k))
        same = compose.compare(Direction.EQ, rows, columns)
        x = compose.sum(compose.select(same, x, compose.full(0, x.shape, x.dtype)), (k,))
        names = names[:k] + names[k + 1 :]
    return x, names


def _summed(compose: Composer, x: Tensor, names: str, kept: set[str]) -> tuple[Tensor, str]:
    dims = [k for k, name in enumerate(names) if name not in kept]
    return compose.sum(x, dims), "".join(name for name in names if name in kept)


def _product(frame: Frame, op: ir.Op, terms: Sequence[tuple[Tensor, str]], result: str) -> tuple[Tensor, str]:
    (lhs, left), (rhs, right) = terms
    batch = [name for name in left if name in right and name in result]
    summed = [name for name in left if name in right and name not in result]
    attrs = DotAttrs(
        lhs_batch=tuple(map(left.index, batch)),
        rhs_batch=tuple(map(right.index, batch)),
        lhs_contract=tuple(map(left.index, summed)),
        rhs_contract=tuple(map(right.index, summed)),
        precision=Precision.DEFAULT,
    )
    free = [name for one, other in ((left, right), (right, left)) for name in one if name not in other]
    return contracted(frame, op, attrs, lhs, rhs, is_result=False), "".join([*batch, *free])


# ragged_dot

RAGGED_DOT = "chlo.ragged_dot"
_NUMBERS = "ragged_dot_dimension_numbers"
_LISTS = (
    "lhs_batching_dimensions", "rhs_batching_dimensions", "lhs_contracting_dimensions", "rhs_contracting_dimensions",
    "lhs_ragged_dimensions", "rhs_group_dimensions",
)  # fmt: skip


def ragged_dot_attributes(attributes: Mapping[str, Attribute]) -> Mapping[str, Attribute]:
    """The attributes of a ragged_dot, from those of the composite that exports have for it."""
    numbers, precisions = attributes.get(_NUMBERS), attributes.get("precision_config", ArrayAttr(()))
    if not isinstance(numbers, ArrayAttr) or not isinstance(precisions, ArrayAttr):
        return attributes
    names = [item.value for item in precisions.items if isinstance(item, StringAttr)]
    return {
        _NUMBERS: RecordAttr("chlo", "ragged_dot", dict(zip(_LISTS, numbers.items, strict=False))),
        "precision_config": ArrayAttr(tuple([EnumAttr("chlo", "precision", name) for name in names])),
    }


def _ragged_dot(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """A product in which one dim of `lhs` is cut into consecutive groups of given sizes.

    Without batch dims, and if the groups are the same along the other dims of `lhs`, it is one op. In all other cases
    elements of other groups count as 0. Groups of a free dim use their own part of `rhs`: the group is an additional
    contracted dim. Groups of a contracted dim give one product each. Groups of a batch dim change nothing.
    """
    lhs, rhs, sizes = frame.tensors(op.operands)
    fields, compose = Fields(op, _NUMBERS), Composer(frame, op.span)
    batch = fields.integers("lhs_batching_dimensions"), fields.integers("rhs_batching_dimensions")
    contract = fields.integers("lhs_contracting_dimensions"), fields.integers("rhs_contracting_dimensions")
    (ragged,) = fields.integers("lhs_ragged_dimensions")
    precision = precision_of(op)
    numbers = _RaggedDims(batch, contract, ragged, fields.integers("rhs_group_dimensions"))
    if (kind := _grouped_kind(numbers, len(lhs.shape), len(sizes.shape))) is not None:
        return [_grouped(frame, op, numbers, GroupedDotAttrs(kind, precision))]
    if ragged in batch[0]:
        attrs = DotAttrs(*batch, *contract, precision)
    elif ragged in contract[0]:
        at = contract[0].index(ragged)
        lhs, rhs = (
            _by_group(compose, x, dims[at], sizes, (*outer, *dims[:at]))
            for x, dims, outer in zip((lhs, rhs), contract, batch, strict=True)
        )
        later = ((0, *_later(batch[0])), (0, *_later(batch[1])))
        attrs = DotAttrs(*later, _later(contract[0]), _later(contract[1]), precision)
    else:
        before = [k for k in free_dims(len(lhs.shape), batch[0], contract[0]) if k < ragged]
        lhs = _by_group(compose, lhs, ragged, sizes, (*batch[0], *before))
        summed = ((*_later(contract[0]), 0), (*contract[1], *numbers.groups))
        attrs = DotAttrs(_later(batch[0]), batch[1], *summed, precision)
    return [contracted(frame, op, attrs, lhs, rhs)]


@record
class _RaggedDims:
    """The dims of both operands of a ragged_dot: `groups` are those of rhs that the groups of a free dim number."""

    batch: tuple[tuple[int, ...], tuple[int, ...]]
    contract: tuple[tuple[int, ...], tuple[int, ...]]
    ragged: int
    groups: tuple[int, ...]


def _grouped_kind(dims: _RaggedDims, rank: int, sizes_rank: int) -> Ragged | None:
    """What the groups are, if the product is one of groups of rows; else None."""
    if dims.batch[0] or sizes_rank != 1:
        return None
    if dims.contract[0] == (dims.ragged,):
        return Ragged.DEPTH
    return Ragged.ROWS if free_dims(rank, dims.contract[0]) == (dims.ragged,) else None


def _grouped(frame: Frame, op: ir.Op, dims: _RaggedDims, attrs: GroupedDotAttrs) -> Tensor:
    """The product of groups of rows: dims are brought into their order, and free ones and contracted ones joined."""
    (lhs, rhs, sizes), compose = frame.tensors(op.operands), Composer(frame, op.span)
    for a, b in zip(*dims.contract, strict=True):
        frame.build.demand_equal(lhs.shape[a], rhs.shape[b], "dims that dot pairs need equal sizes", op.span)
    columns = free_dims(len(rhs.shape), dims.contract[1], dims.groups)
    free = tuple([rhs.shape[k] for k in columns])
    if attrs.ragged is Ragged.ROWS:
        count = sizes.shape[0]
        frame.build.demand_equal(rhs.shape[dims.groups[0]], count, "each group needs a part of the operand", op.span)
        lhs = _joined(compose, lhs, (dims.ragged,), dims.contract[0])
        rhs = _joined(compose, rhs, dims.groups, dims.contract[1], columns)
        shape, result = (lhs.shape[0], rhs.shape[2]), (lhs.shape[0], *free)
    else:
        rows = free_dims(len(lhs.shape), dims.contract[0])
        result = (sizes.shape[0], *[lhs.shape[k] for k in rows], *free)
        lhs, rhs = _joined(compose, lhs, dims.contract[0], rows), _joined(compose, rhs, dims.contract[1], columns)
        shape = (sizes.shape[0], lhs.shape[1], rhs.shape[1])
    found = frame.build.one("d_grouped_dot", (lhs, rhs, sizes), attrs, shape, result_dtype(op), op.span)
    return compose.reshape(found, stated(frame, op, result))


def _joined(compose: Composer, x: Tensor, *parts: Sequence[int]) -> Tensor:
    """Transpose a tensor to these parts of its dims, each of which becomes one dim."""
    ordered = compose.transpose(x, [k for part in parts for k in part])
    return compose.reshape(ordered, tuple([product([x.shape[k] for k in part]) for part in parts]))


def _later(dims: Sequence[int]) -> tuple[int, ...]:
    """The positions of dims after a dim is added in front."""
    return tuple(k + 1 for k in dims)


def _by_group(compose: Composer, x: Tensor, dim: int, sizes: Tensor, outer: Sequence[int]) -> Tensor:
    """Copy `x` for each group along a new first dim, with 0 where the index along `dim` is outside the group.

    `sizes` has the sizes of groups along its last dim; its other dims, if any, correspond to `outer` dims of `x`.
    """
    if sizes.dtype.bits < _COUNT.bits:  # so that sums of sizes do not wrap around
        sizes = compose.convert(sizes, _COUNT)
    shape: Shape = (sizes.shape[-1], *x.shape)
    places = (*_later(outer[: len(sizes.shape) - 1]), 0)
    last = _running_sum(compose, sizes)
    first, last = (compose.broadcast(one, places, shape) for one in (compose.subtract(last, sizes), last))
    at = compose.iota(dim + 1, shape, sizes.dtype)
    inside = compose.binary(
        BinaryFn.AND, compose.compare(Direction.LE, first, at), compose.compare(Direction.LT, at, last)
    )
    copies = compose.broadcast(x, _later(range(len(x.shape))), shape)
    return compose.select(inside, copies, compose.full(0, shape, x.dtype))


def _running_sum(compose: Composer, x: Tensor) -> Tensor:
    """Inclusive prefix sums along the last dim; it is short, so each is summed separately."""
    rank = len(x.shape)
    shape = (*x.shape, x.shape[-1])
    copies = compose.broadcast(x, (*range(rank - 1), rank), shape)
    to, at = (compose.iota(dim, shape, x.dtype) for dim in (rank - 1, rank))
    counted = compose.select(compose.compare(Direction.LE, at, to), copies, compose.full(0, shape, x.dtype))
    return compose.sum(counted, (rank,))


RULES: Mapping[str, Rule] = {
    "stablehlo.einsum": _einsum,
    "stablehlo.unary_einsum": _einsum,
    RAGGED_DOT: _ragged_dot,
}
