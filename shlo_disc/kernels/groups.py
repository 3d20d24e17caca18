"""The results of fusion: groups of ops, and the decisions behind them."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import field
from enum import Enum
from typing import TypeAlias

from shlo_disc.analysis.formula import Producers
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.facts import Facts
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

ProductTypes: TypeAlias = tuple[DType, DType, DType]  # of both operands and the result


class GroupKind(Enum):
    """The form of a group's kernel."""

    ROWS = "rows x stages"
    DOT = "matrix product"
    GROUPED_DOT = "grouped product"
    CONVOLUTION = "convolution"
    ATTENTION = "attention"
    ATTENTION_BACKWARD = "attention, backward"
    SORT = "sort"
    SCATTER = "scatter"
    WINDOW_SCATTER = "select_and_scatter"
    LIBRARY = "library call"
    SCAN = "scan"
    WHILE = "while"
    CASE = "case"
    PARALLEL = "parallel"


@record
class Launches:
    """Launches of several independent groups: the kinds that may share one, and what a launch costs.

    A launch takes as long as moving `bytes` through memory, or as `work` additions; groups that take less should share
    a launch.
    """

    kinds: frozenset[GroupKind]
    bytes: int
    work: int


@record
class Machine:
    """Machine parameters of fusion's cost model; one vector addition counts as one addition per lane.

    `additions_per_byte`: additions in the time that moving a byte takes. `launch`: the cost of starting a kernel, in
    additions. `workers`: the number of parallel rows that keeps the machine busy. `row_bytes`: bytes of a row that stay
    in memory near its worker. `short_row`: additions that one worker does in the time of a launch.
    """

    additions_per_byte: float
    launch: float
    workers: int
    row_bytes: int
    short_row: float


WIDE_FLOATS: frozenset[ProductTypes] = frozenset(
    {
        (DType.F32, DType.F32, DType.F32),
        (DType.F64, DType.F64, DType.F64),
    }
)


@record
class AttentionAbility:
    """A target's attention kernels: their element types, largest width, and element types of the `backward` pass."""

    dtypes: frozenset[DType]
    width: int
    backward: frozenset[DType] = frozenset()


@record
class Abilities:
    """The templates of a target: contractions and convolutions of some types, attention.

    `grouped`: products of groups of rows, of some types.

    `whole_convolutions`: further types of convolutions, without groups only. `batch_groups`: convolutions may group the
    batch as well as the features. `parallel`: one launch may hold several groups. `prologues`: products may compute an
    operand, once for the whole result or, with `product_tile`, once per that many columns (for a left operand) or rows
    (for a right one).
    """

    machine: Machine
    contractions: Container[ProductTypes] = WIDE_FLOATS
    grouped: Container[ProductTypes] = frozenset[ProductTypes]()
    convolutions: Container[ProductTypes] = WIDE_FLOATS
    whole_convolutions: Container[ProductTypes] = frozenset[ProductTypes]()
    attention: AttentionAbility | None = None
    parallel: Launches | None = None
    prologues: bool = False
    product_tile: int = 0
    batch_groups: bool = False


@record
class Context:
    """The inputs of fusion decisions about a program.

    `points`: likely sizes, each with a value for every symbol of the program; cost formulas are compared there.
    `structures`: analyses, memoized on demand. Donated arguments are none of them: donation changes no bits.
    """

    facts: Facts
    producers: Producers
    abilities: Abilities
    points: tuple[Mapping[Sym, int], ...]
    structures: Structures = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "structures", Structures(self.facts, self.producers))


@record
class Group:
    """Ops that become one kernel (or one control-flow step), in program order.

    `rows` is the shared row space where reductions fix one. `roots` are the tensors that other groups, or the caller,
    read: they get memory. `anchor` is the op that a template is built around. `parts`: the groups of one launch, if
    the kind is PARALLEL; `ops` and `roots` are then their concatenation. If it is ATTENTION_BACKWARD: the final
    products, with their epilogues.
    """

    kind: GroupKind
    ops: tuple[Op[object], ...]
    roots: tuple[Tensor, ...]
    rows: Shape | None
    anchor: Op[object] | None
    parts: tuple[Group, ...] = ()


@record
class Claim:
    """An equality of sizes that was required but not proven."""

    lhs: Dim
    rhs: Dim


@record
class Decision:
    """One merge that was made, or refused, and why.

    `claims`: the unproven equalities behind a refusal; if all were proven, this reason would not apply.
    """

    producer: Op[object]
    consumer: str
    merged: bool
    reason: str
    claims: tuple[Claim, ...] = ()


@record
class FusionPlan:
    """Groups in a legal order of execution, and every decision made."""

    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...]


Fuse: TypeAlias = Callable[[Body, Context], FusionPlan]  # a fusion planner: decides which ops share a kernel
