"""Groups become row kernels: which value is computed in which stage, and where it waits until it is needed again.

A value is inlined where it is read, unless it is a reduction (a row scalar, or row scratch if dims are kept), or an
earlier stage of the same row has computed it and it costs more than a load: then it waits in row scratch. This is
loop fusion, input fusion and stitch fusion (BladeDISC) in one form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from shlo_disc.analysis.access import flat_offset, is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.codegen.groups import Group
from shlo_disc.codegen.kernel import (
    Axis,
    Param,
    Reduction,
    RowKernel,
    Scratch,
    Stage,
    Store,
)
from shlo_disc.codegen.seams import Seams, split_at_seams
from shlo_disc.codegen.simplify_kernel import merge_loops
from shlo_disc.codegen.weights import weight
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Binary, BinaryFn, Index, Load, Scalar

RELOAD_COST = 4  # a value cheaper than this is computed again rather than kept


@dataclass(slots=True, eq=False)
class Params:
    """The buffers of one kernel, numbered in the order in which they are met."""

    tensors: dict[Tensor, Param] = field(default_factory=dict[Tensor, Param])

    def of(self, tensor: Tensor) -> Param:
        if (known := self.tensors.get(tensor)) is None:
            known = self.tensors[tensor] = Param(f"p{len(self.tensors)}", tensor.dtype, tensor.bounds)
        return known

    def load(self, facts: Facts) -> Callable[[Tensor, Index], Scalar]:
        """How a formula reads a tensor from its buffer."""

        def read(tensor: Tensor, index: Index) -> Scalar:
            return Load(self.of(tensor), (facts.canonical(flat_offset(index, tensor.shape)),))

        return read


@dataclass(slots=True, eq=False)
class _Plan:
    """One stage while it is planned."""

    level: int
    shape: Shape  # of the inner space
    reduced: tuple[bool, ...]
    reduces: list[Op[object]] = field(default_factory=list[Op[object]])
    stores: list[Tensor] = field(default_factory=list[Tensor])
    kept: list[Tensor] = field(default_factory=list[Tensor])
    computed: set[Tensor] = field(default_factory=set[Tensor])


def build_row_kernel(
    group: Group, facts: Facts, producers: Producers, seams: Seams
) -> tuple[RowKernel, tuple[Tensor, ...]]:
    """The kernel of a group of element and reduce ops, and the tensor behind each of its params."""
    builder = _Builder(group, facts, producers)
    kernel = merge_loops(split_at_seams(builder.build(), facts, seams))
    return kernel, tuple(builder.params.tensors)


class _Builder:
    def __init__(self, group: Group, facts: Facts, producers: Producers) -> None:
        self.group, self.producers = group, producers
        self.members = {t for op in group.ops for t in op.results}
        rows = group.rows if group.rows is not None else group.roots[0].shape[:-1]
        self.rank = len(rows)
        self.row_axes, self.row_index = _axes(rows, "x")
        for axis in self.row_axes:
            facts = facts.with_index(axis.symbol, axis.extent)
        self.facts = facts
        self.params = Params()
        self.plans = self._plans()
        self.kept = dict[Tensor, Scratch]()
        self.scratch = list[Scratch]()
        self.args = dict[Tensor, Arg]()
        self.count = 0
        self.numbers = count(1)

    # -- which stage

    def _plans(self) -> list[_Plan]:
        levels = self._levels()
        plans = list[_Plan]()
        for op in self.group.ops:
            if isinstance(op.attrs, ReduceAttrs):
                shape = op.operands[0].shape
                reduced = tuple(d in op.attrs.dims for d in range(self.rank, len(shape)))
                plan = _find(plans, 2 * levels[op.results[0]] - 1, shape[self.rank :], reduced)
                plan.reduces.append(op)
        for root in self.group.roots:
            if isinstance(self.producers[root][0].attrs, ReduceAttrs):
                continue
            self._place_root(root, 2 * levels[root], plans)
        return sorted(plans, key=lambda p: p.level)

    def _place_root(self, root: Tensor, level: int, plans: list[_Plan]) -> None:
        shape = root.shape[self.rank :]
        later = [p for p in plans if p.level >= level and p.shape == shape]
        if later:
            min(later, key=lambda p: p.level).stores.append(root)
        else:
            plans.append(_Plan(level, shape, (False,) * len(shape), stores=[root]))

    def _levels(self) -> dict[Tensor, int]:
        """How many reductions of the group lie, one after the other, below each value."""
        levels = dict[Tensor, int]()

        def level(tensor: Tensor) -> int:
            if (known := levels.get(tensor)) is not None:
                return known
            made = self.producers.get(tensor)
            if made is None or not (tensor in self.members or is_free(made[0])):
                return 0
            below = max(map(level, made[0].operands), default=0)
            levels[tensor] = below + isinstance(made[0].attrs, ReduceAttrs)
            return levels[tensor]

        for op in self.group.ops:
            for result in op.results:
                level(result)
        return levels

    # -- which value waits

    def _choose_kept(self) -> None:
        """Find the values that one stage computes and a later one reads again, at a cost worth keeping them for."""
        home = {t: plan for plan in self.plans for t in plan.stores}
        for number, plan in enumerate(self.plans):
            earlier = self.plans[:number]
            targets = [*plan.stores, *(x for op in plan.reduces for x in op.operands)]
            for target in targets:
                self._visit(target, plan, earlier, home)

    def _visit(self, tensor: Tensor, plan: _Plan, earlier: Sequence[_Plan], home: dict[Tensor, _Plan]) -> None:
        made = self.producers.get(tensor)
        if made is None or tensor in plan.computed:
            return
        if tensor in self.members:
            if isinstance(made[0].attrs, ReduceAttrs) or tensor in self.kept:
                return
            first = next((p for p in earlier if tensor in p.computed and self._fills(tensor, p)), None)
            if first is not None and (home.get(tensor) in earlier or self._cost(tensor) >= RELOAD_COST):
                self._keep(tensor, first)
                return
            plan.computed.add(tensor)
        elif not is_free(made[0]):
            return
        for operand in made[0].operands:
            self._visit(operand, plan, earlier, home)

    def _fills(self, tensor: Tensor, plan: _Plan) -> bool:
        return tensor.shape[self.rank :] == plan.shape and len(tensor.shape) >= self.rank

    def _keep(self, tensor: Tensor, first: _Plan) -> None:
        size = product(tensor.shape[self.rank :])
        scratch = Scratch(f"t{len(self.kept)}", tensor.dtype, size)
        self.kept[tensor] = scratch
        self.scratch.append(scratch)
        first.kept.append(tensor)

    def _cost(self, tensor: Tensor) -> float:
        """The work of computing `tensor` again from what is stored."""
        seen, total, stack = set[Tensor](), 0.0, [tensor]
        while stack:
            current = stack.pop()
            made = self.producers.get(current)
            if made is None or current in seen or current in self.kept:
                continue
            seen.add(current)
            inside = current in self.members and not isinstance(made[0].attrs, ReduceAttrs)
            if not inside and not is_free(made[0]):
                continue
            total += weight(made[0])
            stack.extend(made[0].operands)
        return total

    # -- formulas

    def build(self) -> RowKernel:
        self._choose_kept()
        stages = list[Stage]()
        available = dict[Tensor, Callable[[Index], Scalar | None]]()
        for plan in self.plans:
            stages.append(self._stage(plan, available))
            for tensor in plan.kept:
                available[tensor] = self._scratch_reader(self.kept[tensor], tensor.shape)
        return RowKernel(tuple(self.params.tensors.values()), self.row_axes, tuple(stages), tuple(self.scratch))

    def _stage(self, plan: _Plan, available: dict[Tensor, Callable[[Index], Scalar | None]]) -> Stage:
        axes, inner = _axes(plan.shape, "c")
        facts = self.facts
        for axis in axes:
            facts = facts.with_index(axis.symbol, axis.extent)
        here = (*self.row_index, *inner)
        readers = dict(available)
        formulas = Formulas(
            facts, self.producers, self._inlined, readers, self.params.load(facts), numbers=self.numbers
        )
        stores = [Store(self.kept[t], flat_offset(inner, plan.shape), formulas.at(t, here)) for t in plan.kept]
        stores += [
            Store(self.params.of(t), facts.canonical(flat_offset(here, t.shape)), formulas.at(t, here))
            for t in plan.stores
        ]
        reductions = [self._reduction(op, formulas, here, plan, inner, available) for op in plan.reduces]
        live = [flag for flag, size in zip(plan.reduced, plan.shape, strict=True) if size.constant != 1]
        return Stage(axes, tuple(live), tuple(stores), tuple(reductions))

    def _inlined(self, tensor: Tensor) -> bool:
        made = self.producers.get(tensor)
        return made is not None and (tensor in self.members or is_free(made[0]))

    def _reduction(
        self,
        op: Op[object],
        formulas: Formulas,
        here: Index,
        plan: _Plan,
        inner: Index,
        available: dict[Tensor, Callable[[Index], Scalar | None]],
    ) -> Reduction:
        assert isinstance(op.attrs, ReduceAttrs), "only reductions are planned as such"
        count = len(op.results)
        carries = tuple(self._arg(t, "a") for t in op.results)
        inputs = tuple(self._arg(t, "e") for t in op.results)
        elements = tuple(formulas.at(x, here) for x in op.operands[:count])
        init = tuple(formulas.at(x, ()) for x in op.operands[count:])
        update = formulas.region(op.bodies[0], (*carries, *inputs))
        kept_shape = tuple(n for n, flag in zip(plan.shape, plan.reduced, strict=True) if not flag)
        kept_index = tuple(i for i, flag in zip(inner, plan.reduced, strict=True) if not flag)
        stores = list[Store]()
        for result, carry in zip(op.results, carries, strict=True):
            if result in self.group.roots:
                offset = formulas.facts.canonical(flat_offset((*self.row_index, *kept_index), result.shape))
                stores.append(Store(self.params.of(result), offset, carry))
            if any(n.constant != 1 for n in kept_shape):
                scratch = Scratch(f"k{len(self.scratch)}", result.dtype, product(kept_shape))
                self.scratch.append(scratch)
                stores.append(Store(scratch, flat_offset(kept_index, kept_shape), carry))
                available[result] = self._scratch_reader(scratch, result.shape)
            else:
                available[result] = _constant_reader(carry)
        fn = _associative(update, carries, inputs)
        return Reduction(carries, init, inputs, elements, update, fn, tuple(stores))

    def _arg(self, tensor: Tensor, letter: str) -> Arg:
        self.count += 1
        return Arg(f"{letter}{self.count}", tensor.dtype)

    def _scratch_reader(self, scratch: Scratch, shape: Shape) -> Callable[[Index], Scalar | None]:
        here = tuple(map(self.facts.canonical, self.row_index))

        def read(index: Index) -> Scalar | None:
            if index[: self.rank] != here:  # another row: its value is not in the scratch of this one
                return None
            return Load(scratch, (flat_offset(index[self.rank :], shape[self.rank :]),))

        return read


def _constant_reader(value: Scalar) -> Callable[[Index], Scalar]:
    return lambda index: value  # noqa: ARG005


def _associative(update: Sequence[Scalar], carries: Sequence[Arg], inputs: Sequence[Arg]) -> BinaryFn | None:
    """The one operation of a simple reduction, which vector lanes may apply in any order."""
    if len(update) != 1:
        return None
    match update[0]:
        case Binary(fn, a, b, _) if {a, b} == {carries[0], inputs[0]} and fn in _ASSOCIATIVE:
            return fn
        case _:
            return None


_ASSOCIATIVE = frozenset({
    BinaryFn.ADD, BinaryFn.MULTIPLY, BinaryFn.MAXIMUM, BinaryFn.MINIMUM, BinaryFn.AND, BinaryFn.OR, BinaryFn.XOR,
})  # fmt: skip


def _axes(shape: Shape, letter: str) -> tuple[tuple[Axis, ...], Index]:
    """A loop per dim that is not 1, and the index that the loops stand at."""
    axes, index = list[Axis](), list[Dim]()
    for number, extent in enumerate(shape):
        if extent.constant == 1:
            index.append(const(0))
        else:
            symbol = Sym(f"%{letter}{number}")
            axes.append(Axis(symbol, extent))
            index.append(of(symbol))
    return tuple(axes), tuple(index)


def _find(plans: list[_Plan], level: int, shape: Shape, reduced: tuple[bool, ...]) -> _Plan:
    for plan in plans:
        if (plan.level, plan.shape, plan.reduced) == (level, shape, reduced):
            return plan
    plans.append(_Plan(level, shape, reduced))
    return plans[-1]
