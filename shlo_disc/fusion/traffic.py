"""The cost of a group as formulas of sizes: the bytes that it moves, and its floating-point operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.gather import GATHER
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.slices import DYNAMIC_SLICE, SLICE
from shlo_disc.expr.dim import Dim, const, minimum, product
from shlo_disc.kernels.flops import flops
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.op_graph import all_operands, group_inputs
from shlo_disc.records import record

_PARTS = (SLICE.name, DYNAMIC_SLICE.name, GATHER.name)  # they read at most as many elements as they have


@record
class Traffic:
    """Bytes read from and written to memory by one run of a group, and its floating-point operations."""

    reads: Dim
    writes: Dim
    flops: Dim

    @property
    def moved(self) -> Dim:
        """All bytes."""
        return self.reads + self.writes


def bytes_of(tensor: Tensor) -> Dim:
    """The bytes of a tensor."""
    return elements(tensor.shape) * tensor.dtype.bytes


@lru_cache(maxsize=4096)
def elements(shape: Shape) -> Dim:
    """The number of elements of a shape."""
    return product(shape)


def total(tensors: Sequence[Tensor]) -> Dim:
    """The bytes of several tensors."""
    found = const(0)
    for tensor in tensors:
        found += bytes_of(tensor)
    return found


def traffic(group: Group, producers: Producers) -> Traffic:
    """Every buffer that the group reads or writes, once: whole, or what slices and gathers read of it at most."""
    operations = const(0)
    for op in group.ops:
        operations += flops(op)
    return Traffic(_bytes_read(group, producers), total(group.roots), operations)


def _bytes_read(group: Group, producers: Producers) -> Dim:
    """The bytes of the buffers that a group reads; of one that only slices and gathers read, those of their results."""
    inside = {t for op in group.ops for t in op.results}
    parts, whole, seen = dict[Tensor, Dim](), set[Tensor](), set[Tensor]()
    waiting = [(t, _part(op, k)) for op in group.ops for k, t in enumerate(all_operands(op))]
    while waiting:
        tensor, part = waiting.pop()
        made = producers.get(tensor)
        if tensor in inside or (part is None and tensor in seen):
            continue
        if part is None:
            seen.add(tensor)
        if made is not None and is_free(made[0]):
            smaller = _part(made[0], 0) if part is None else part
            waiting += [(t, smaller) for t in made[0].operands]
        elif part is None:
            whole.add(tensor)
        else:
            parts[tensor] = parts.get(tensor, const(0)) + part
    found = total([*whole])
    for tensor, part in parts.items():
        found += const(0) if tensor in whole else minimum(part, bytes_of(tensor))
    return found


def _part(op: Op[object], operand: int) -> Dim | None:
    """The bytes that an op reads at most of an operand; None: all of them."""
    return bytes_of(op.results[0]) if operand == 0 and op.name in _PARTS else None


def buffers_read(group: Group, producers: Producers) -> list[Tensor]:
    """The buffers that a group reads, each once."""
    inside = {t for op in group.ops for t in op.results}
    return [t for t in group_inputs(group, producers) if t not in inside and not _is_view(t, producers)]


def _is_view(tensor: Tensor, producers: Producers) -> bool:
    made = producers.get(tensor)
    return made is not None and is_free(made[0])
