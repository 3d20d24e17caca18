"""StableHLO to DHLO: distribution ops where there is one process: its number is 0, and nothing is sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import ZERO
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import DenseAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import Fields, literal
from shlo_disc.legalize.builder import Bound
from shlo_disc.legalize.composer import Composer
from shlo_disc.legalize.frame import Frame, Rule

_ABSENT = -1  # fills up a group that is smaller than others


def _alone(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """A collective of groups of one: each result is its operand. Raise `UnsupportedOpError` for larger groups."""
    groups = op.attributes.get("replica_groups")
    if not isinstance(groups, DenseAttr):
        raise UnsupportedOpError(f"op '{op.name}' is supported for listed groups only", op.span)
    rows = literal(groups)
    members = max([int((row != _ABSENT).sum()) for row in rows], default=0)
    processes = frame.legalizer.processes
    has_channel = "channel_handle" in op.attributes and Fields(op, "channel_handle").integer("handle") > 0
    if members == 0:  # no group is listed: all processes are one
        members = processes.total
    elif has_channel and "use_same_device_ids" not in op.attributes:
        members *= processes.partitions
    if members > 1:
        raise UnsupportedOpError(f"op '{op.name}' is not supported for {members} processes: there is one", op.span)
    return [frame.bound(x) for x in op.operands[: len(op.results)]]


def _permuted(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`collective_permute`: from process 0 to itself, or nothing arrives, which counts as zeros."""
    pairs = op.attributes.get("source_target_pairs")
    assert isinstance(pairs, DenseAttr), "the verifier checked the attribute"
    listed = literal(pairs)
    if listed.any():
        raise UnsupportedOpError(f"op '{op.name}' is not supported for several processes: there is one", op.span)
    x = frame.tensor(op.operands[0])
    return [x if listed.size else Composer(frame, op.span).full(0, x.shape, x.dtype)]


def _number(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """`partition_id`, `replica_id`."""
    processes = frame.legalizer.processes
    count = processes.partitions if op.name == "stablehlo.partition_id" else processes.replicas
    if count > 1:
        raise UnsupportedOpError(f"op '{op.name}' is not supported for {count} processes: there is one", op.span)
    return [KnownElements((ZERO,), (), DType.UI32)]


def _same(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """An op about where values are or when they arrive: an identity."""
    return [frame.bound(x) for x in op.operands[: len(op.results)]]


def _inlined(frame: Frame, op: ir.Op) -> Sequence[Bound]:
    """Inline the region of an op; its arguments are the whole operands."""
    (block,) = op.regions[0].blocks
    for argument, operand in zip(block.arguments, op.operands, strict=True):
        if argument.type != operand.type:
            raise UnsupportedOpError(
                f"op '{op.name}' is not supported for parts of tensors: there is one process", op.span
            )
        frame.bind(argument, frame.bound(operand))
    return frame.run(block)


_COLLECTIVES = (
    "all_gather all_reduce all_to_all reduce_scatter collective_broadcast collective_reduce cross-replica-sum"
)

RULES: Mapping[str, Rule] = {
    **{f"stablehlo.{name}": _alone for name in _COLLECTIVES.split()},
    "stablehlo.collective_permute": _permuted,
    "stablehlo.async_start": _inlined,
    "stablehlo.async_done": _same,
    "stablehlo.partition_id": _number,
    "stablehlo.replica_id": _number,
    **{f"sdy.{name}": _same for name in ("propagation_barrier", "reshard", "sharding_constraint", "sharding_group")},
    "sdy.manual_computation": _inlined,
    "sdy.named_computation": _inlined,
}
