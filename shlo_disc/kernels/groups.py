"""What fusion decides: groups of ops, and why."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from shlo_disc.analysis.formula import Producers
from shlo_disc.analysis.structure import Structures
from shlo_disc.dynamic_ops.program import Body, Op, Shape, Tensor
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.facts import Facts
from shlo_disc.ir.dtypes import DType

ProductTypes: TypeAlias = tuple[DType, DType, DType]  # of both operands and the result


class GroupKind(Enum):
    """Which form a group's kernel has."""

    ROWS = "rows x stages"
    DOT = "matrix product"
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


@dataclass(frozen=True, slots=True)
class Launches:
    """Launches of groups that do not need each other: of which kinds, and what a launch costs.

    It takes as long as moving `bytes` through memory, or as `work` additions: what takes less is better launched
    together with others.
    """

    kinds: frozenset[GroupKind]
    bytes: int
    work: int


@dataclass(frozen=True, slots=True)
class Machine:
    """What the costs of fusion are weighed by; one addition of a whole vector unit is one addition per lane.

    `additions_per_byte`: how many additions take the time of moving a byte. `launch`: what it costs to start a kernel,
    in additions. `workers`: how many rows must be at work for the machine to be busy. `row_bytes`: what stays close to
    a worker while it is in one row. `short_row`: what one worker does, in additions, in the time of a launch.
    """

    additions_per_byte: float
    launch: float
    workers: int
    row_bytes: int
    short_row: float


# `python -m benchmarks.machine` on two cores of a Zen 4 server which other work shared: one adds 57 floats per ns, its
# memory moves 21 to 41 bytes per ns for one core and 30 to 50 for both, so that a byte takes the time of 1.6 to 3.8
# additions (of 1 from caches); a launch that both share takes 1.1 us. Eight workers: the cores of a desktop. 256 KiB: a
# quarter of a second-level cache.
CPU = Machine(additions_per_byte=3, launch=6e4, workers=8, row_bytes=1 << 18, short_row=6e4)
# H100 SXM5, by NVIDIA's data sheet (2023): 67 TFLOPS in f32 are 3.35e13 multiply-adds per s, memory moves 3.35e12 bytes
# per s. By its architecture white paper (2022): 132 multiprocessors, with 227 KiB of shared memory each. Not in either:
# 4 blocks per multiprocessor, which have 56 KiB each and use half of it, and 3 us per launch.
GPU = Machine(additions_per_byte=10, launch=1e8, workers=4 * 132, row_bytes=1 << 15, short_row=1.9e5)


WIDE_FLOATS: frozenset[ProductTypes] = frozenset(
    {
        (DType.F32, DType.F32, DType.F32),
        (DType.F64, DType.F64, DType.F64),
    }
)


@dataclass(frozen=True, slots=True)
class AttentionAbility:
    """Attention that a target has a kernel for: of these types, at most so wide, and its pass `backward` of those."""

    dtypes: frozenset[DType]
    width: int
    backward: frozenset[DType] = frozenset()


@dataclass(frozen=True, slots=True)
class Abilities:
    """What a target has templates for: contractions and convolutions of some types, attention.

    `whole_convolutions`: those of further types, without groups.
    `batch_groups`: convolutions whose groups share the batch, not the features, too.
    `parallel`: one launch may hold several groups. `prologues`: products compute their operands, once for all of the
    result, or once for `product_tile` of its columns (of a left operand) or rows.
    """

    contractions: Container[ProductTypes] = WIDE_FLOATS
    convolutions: Container[ProductTypes] = WIDE_FLOATS
    whole_convolutions: Container[ProductTypes] = frozenset[ProductTypes]()
    attention: AttentionAbility | None = None
    parallel: Launches | None = None
    prologues: bool = False
    product_tile: int = 0
    batch_groups: bool = False
    machine: Machine = CPU


REAL_PRODUCTS = Abilities()


@dataclass(frozen=True, slots=True)
class Context:
    """What decisions about a program rest on.

    `points`: likely sizes, a value for every symbol of the program each; formulas of costs are compared there.
    `kept` arguments of the program are never overwritten.
    `structures` grow with what is asked of them.
    """

    facts: Facts
    producers: Producers
    abilities: Abilities
    points: tuple[Mapping[Sym, int], ...]
    kept: frozenset[Tensor] = frozenset()
    structures: Structures = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "structures", Structures(self.facts, self.producers))


@dataclass(frozen=True, slots=True)
class Group:
    """Ops that become one kernel (or one control-flow step), in program order.

    `rows` is the shared row space where reductions fix one. `roots` are the tensors that other groups, or the caller,
    read: they get memory. `anchor` is the op that a template is built around. `parts`: the groups of one launch, if
    the kind is PARALLEL; `ops` and `roots` are then theirs, one after the other. If it is ATTENTION_BACKWARD: the
    products at the end, with their epilogues.
    """

    kind: GroupKind
    ops: tuple[Op[object], ...]
    roots: tuple[Tensor, ...]
    rows: Shape | None
    anchor: Op[object] | None
    parts: tuple[Group, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """An equality of sizes that was asked for and not proven."""

    lhs: Dim
    rhs: Dim


@dataclass(frozen=True, slots=True)
class Decision:
    """One merge that was made, or refused, and why.

    `claims`: the equalities that a refusal rests on; were they all proven, this reason would not stand.
    """

    producer: Op[object]
    consumer: str
    merged: bool
    reason: str
    claims: tuple[Claim, ...] = ()


@dataclass(frozen=True, slots=True)
class FusionPlan:
    """Groups in an order in which they can run, and every decision on the way."""

    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...]


Fuse: TypeAlias = Callable[[Body, Context], FusionPlan]
