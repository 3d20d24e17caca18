"""What fusion decides: groups of ops, and why."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.expr.dtypes import DType

ProductTypes: TypeAlias = tuple[DType, DType, DType]  # of both operands and the result


class GroupKind(Enum):
    """Which form a group's kernel has."""

    ROWS = "rows x stages"
    DOT = "matrix product"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    SORT = "sort"
    SCATTER = "scatter"
    WINDOW_SCATTER = "select_and_scatter"
    SCAN = "scan"
    WHILE = "while"
    CASE = "case"


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a target has templates for: contractions and convolutions of these types, attention."""

    contractions: frozenset[ProductTypes] = frozenset(
        {
            (DType.F32, DType.F32, DType.F32),
            (DType.F64, DType.F64, DType.F64),
        }
    )
    attention: bool = False


REAL_PRODUCTS = Abilities()


@dataclass(frozen=True, slots=True)
class Group:
    """Ops that become one kernel (or one control-flow step), in program order.

    `rows` is the shared row space where reductions fix one. `roots` are the tensors that other groups, or the caller,
    read: they get memory. `anchor` is the op that a template is built around.
    """

    kind: GroupKind
    ops: tuple[Op[object], ...]
    roots: tuple[Tensor, ...]
    rows: Shape | None
    anchor: Op[object] | None


@dataclass(frozen=True, slots=True)
class Decision:
    """One merge that was made, or refused, and why."""

    producer: Op[object]
    consumer: str
    merged: bool
    reason: str


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """Groups in an order in which they can run, and every decision on the way."""

    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...]
