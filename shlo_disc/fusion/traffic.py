"""The cost of a group as formulas of sizes: the bytes that it moves, and its floating-point operations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.expr.dim import Dim, const, product
from shlo_disc.kernels.flops import flops
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.op_graph import group_inputs
from shlo_disc.records import record


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
    """Every buffer that the group reads or writes, once and whole.

    A gather or a slice may read less of a tensor than all of it: then the bytes read are an upper bound.
    """
    read = buffers_read(group, producers)
    operations = const(0)
    for op in group.ops:
        operations += flops(op)
    return Traffic(total(read), total(group.roots), operations)


def buffers_read(group: Group, producers: Producers) -> list[Tensor]:
    """The buffers that a group reads, each once."""
    inside = {t for op in group.ops for t in op.results}
    return [t for t in group_inputs(group, producers) if t not in inside and not _is_view(t, producers)]


def _is_view(tensor: Tensor, producers: Producers) -> bool:
    made = producers.get(tensor)
    return made is not None and is_free(made[0])
