"""Builds row kernels from groups: the stage that computes each value, and where it is kept for later ones.

A value is inlined where it is read, unless it is a reduction (a row scalar, or row scratch if dims are kept), or an
earlier stage of the same row has computed it and it costs more than a load: then it is kept in row scratch. This is
loop fusion, input fusion and stitch fusion (BladeDISC) in one form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.indexing import delinearize, linear
from shlo_disc.dynamic_ops.program import Op, Shape, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Binary, Index, Load, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.index_set_splitting import Seams, split_at_seams
from shlo_disc.kernels.kernel import (
    Axis,
    Param,
    Reduction,
    RowKernel,
    Scratch,
    Stage,
    Store,
)
from shlo_disc.kernels.kernel_check import check_rows
from shlo_disc.kernels.op_cost import element_cost
from shlo_disc.kernels.row_spaces import leading, row_number, rows_of, without_ones
from shlo_disc.kernels.simplify_kernel import merge_loops
from shlo_disc.kernels.strip_mining import mine_strips
from shlo_disc.records import record

RELOAD_COST = 4  # in additions: a cheaper value is recomputed rather than kept


@dataclass(slots=True, eq=False)
class Params:
    """The buffers of one kernel, numbered in the order of first use."""

    tensors: dict[Tensor, Param] = field(default_factory=dict[Tensor, Param])

    def of(self, tensor: Tensor) -> Param:
        if (known := self.tensors.get(tensor)) is None:
            known = self.tensors[tensor] = Param(f"p{len(self.tensors)}", tensor.dtype, tensor.bounds)
        return known

    def load(self, facts: Facts) -> Callable[[Tensor, Index], Scalar]:
        """How a formula reads a tensor from its buffer."""

        def read(tensor: Tensor, index: Index) -> Scalar:
            return Load(self.of(tensor), (facts.canonical(linear(index, tensor.shape)),))

        return read


@dataclass(slots=True, eq=False)
class _StagePlan:
    """A stage while it is planned."""

    level: int
    shape: Shape  # of the inner space, without dims of 1
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
    if seams.strips:
        kernel = mine_strips(kernel, facts)
    return check_rows(kernel), tuple(builder.params.tensors)


class _Builder:
    def __init__(self, group: Group, facts: Facts, producers: Producers) -> None:
        self.group, self.producers = group, producers
        self.members = {t for op in group.ops for t in op.results}
        rows = group.rows if group.rows is not None else group.roots[0].shape[:-1]
        self.rows, self.count_of_rows = rows, rows_of(rows, facts)
        self.row_axes, self.row_index = _axes(rows, "x")
        for axis in self.row_axes:
            facts = facts.with_index(axis.symbol, axis.extent)
        self.facts = facts
        self.row = row_number(self.row_index, rows, len(rows), facts)
        self.spaces = dict[Shape, _RowSpace | None]()
        self.params = Params()
        self.plans = self._plans()
        self.kept = dict[Tensor, Scratch]()
        self.scratch = list[Scratch]()
        self.args = dict[Tensor, Arg]()
        self.count = 0
        self.numbers = count(1)

    # -- rows

    def _space(self, shape: Shape) -> _RowSpace | None:
        """How the rows index a tensor of this shape; None if it does not have the rows."""
        if shape not in self.spaces:
            self.spaces[shape] = self._find_space(shape)
        return self.spaces[shape]

    def _find_space(self, shape: Shape) -> _RowSpace | None:
        number = leading(shape, self.count_of_rows, self.facts)
        if number is None:
            return None
        dims = [i for i, extent in zip(self.row_index, self.rows, strict=True) if extent.constant != 1]
        if without_ones(shape[:number]) == without_ones(self.rows):
            left = iter(dims)
            index = tuple(const(0) if extent.constant == 1 else next(left) for extent in shape[:number])
        else:
            index = tuple(map(self.facts.canonical, delinearize(self.row, shape[:number])))
        return _RowSpace(index, shape[number:])

    def _inner(self, shape: Shape) -> Shape | None:
        """The dims of a shape inside a row that need a loop; None if it does not have the rows."""
        space = self._space(shape)
        return None if space is None else without_ones(space.inner)

    def _at(self, shape: Shape, inner: Index) -> Index:
        """The index of a tensor of this shape at the current row and at `inner`, the indices of the inner loops."""
        space = self._space(shape)
        assert space is not None, "fusion proved that it has the rows"
        left = iter(inner)
        return (*space.index, *(const(0) if extent.constant == 1 else next(left) for extent in space.inner))

    # -- which stage

    def _plans(self) -> list[_StagePlan]:
        levels = self._levels()
        plans = list[_StagePlan]()
        for op in self.group.ops:
            if isinstance(op.attrs, ReduceAttrs):
                space = self._space(op.operands[0].shape)
                assert space is not None, "fusion proved that it has the rows"
                inner = list(enumerate(space.inner, len(space.index)))
                reduced = tuple(d in op.attrs.dims for d, extent in inner if extent.constant != 1)
                plan = _find(plans, 2 * levels[op.results[0]] - 1, without_ones(space.inner), reduced)
                plan.reduces.append(op)
        for root in self.group.roots:
            if isinstance(self.producers[root][0].attrs, ReduceAttrs):
                continue
            self._place_root(root, 2 * levels[root], plans)
        return sorted(plans, key=lambda p: p.level)

    def _place_root(self, root: Tensor, level: int, plans: list[_StagePlan]) -> None:
        shape = self._inner(root.shape)
        assert shape is not None, "fusion proved that it has the rows"
        later = [p for p in plans if p.level >= level and p.shape == shape]
        if later:
            min(later, key=lambda p: p.level).stores.append(root)
        else:
            plans.append(_StagePlan(level, shape, (False,) * len(shape), stores=[root]))

    def _levels(self) -> dict[Tensor, int]:
        """The most reductions of the group on any path up to each value, itself included."""
        levels = dict[Tensor, int]()
        waiting = [result for op in self.group.ops for result in op.results]
        while waiting:
            tensor = waiting.pop()
            if tensor in levels:
                continue
            op, _ = self.producers[tensor]
            computed = [x for x in op.operands if self._inlined(x)]
            if missing := [x for x in computed if x not in levels]:
                waiting += [tensor, *missing]
                continue
            below = max((levels[x] for x in computed), default=0)
            levels.update(dict.fromkeys(op.results, below + isinstance(op.attrs, ReduceAttrs)))
        return levels

    # -- which values are kept

    def _choose_kept(self) -> None:
        """Choose the values to keep: computed by one stage, read again by a later one, and not cheap to recompute."""
        home = {t: plan for plan in self.plans for t in plan.stores}
        for number, plan in enumerate(self.plans):
            earlier = self.plans[:number]
            targets = [*plan.stores, *(x for op in plan.reduces for x in op.operands)]
            for target in targets:
                self._visit(target, plan, earlier, home)

    def _visit(
        self, target: Tensor, plan: _StagePlan, earlier: Sequence[_StagePlan], home: dict[Tensor, _StagePlan]
    ) -> None:
        waiting = [target]
        while waiting:
            tensor = waiting.pop()
            made = self.producers.get(tensor)
            if made is None or tensor in plan.computed:
                continue
            if tensor in self.members:
                if isinstance(made[0].attrs, ReduceAttrs) or tensor in self.kept:
                    continue
                first = next((p for p in earlier if tensor in p.computed and self._fills(tensor, p)), None)
                if first is not None and (home.get(tensor) in earlier or self._cost(tensor) >= RELOAD_COST):
                    self._keep(tensor, first)
                    continue
                plan.computed.add(tensor)
            elif not is_free(made[0]):
                continue
            waiting += reversed(made[0].operands)

    def _fills(self, tensor: Tensor, plan: _StagePlan) -> bool:
        return self._inner(tensor.shape) == plan.shape

    def _keep(self, tensor: Tensor, first: _StagePlan) -> None:
        scratch = Scratch(f"t{len(self.kept)}", tensor.dtype, product(first.shape))
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
            total += element_cost(made[0])
            stack.extend(made[0].operands)
        return total

    # -- formulas

    def build(self) -> RowKernel:
        self._choose_kept()
        stages = list[Stage]()
        available = dict[Tensor, Scratch | Arg]()
        for plan in self.plans:
            stages.append(self._stage(plan, available))
            available.update({tensor: self.kept[tensor] for tensor in plan.kept})
        return RowKernel(tuple(self.params.tensors.values()), self.row_axes, tuple(stages), tuple(self.scratch))

    def _stage(self, plan: _StagePlan, available: dict[Tensor, Scratch | Arg]) -> Stage:
        axes, inner = _axes(plan.shape, "c")
        facts = ends = self.facts
        for axis, is_reduced in zip(axes, plan.reduced, strict=True):
            facts = facts.with_index(axis.symbol, axis.extent)
            ends = ends if is_reduced else ends.with_index(axis.symbol, axis.extent)
        formulas = self._formulas(facts, available)
        kept = linear(inner, plan.shape)
        stores = [Store(self.kept[t], kept, formulas.at(t, self._at(t.shape, inner))) for t in plan.kept]
        for tensor in plan.stores:
            here = self._at(tensor.shape, inner)
            offset = facts.canonical(linear(here, tensor.shape))
            stores.append(Store(self.params.of(tensor), offset, formulas.at(tensor, here)))
        at_ends = self._formulas(ends, available) if plan.reduces else formulas
        reductions = [self._reduction(op, formulas, at_ends, plan, inner, available) for op in plan.reduces]
        return Stage(axes, plan.reduced, tuple(stores), tuple(reductions))

    def _formulas(self, facts: Facts, available: Mapping[Tensor, Scratch | Arg]) -> Formulas:
        """Formulas of tensors where these facts hold."""
        readers = {tensor: self._reader(tensor.shape, source, facts) for tensor, source in available.items()}
        return Formulas(facts, self.producers, self._inlined, readers, self.params.load(facts), numbers=self.numbers)

    def _inlined(self, tensor: Tensor) -> bool:
        made = self.producers.get(tensor)
        return made is not None and (tensor in self.members or is_free(made[0]))

    def _reduction(
        self,
        op: Op[object],
        formulas: Formulas,
        at_ends: Formulas,
        plan: _StagePlan,
        inner: Index,
        available: dict[Tensor, Scratch | Arg],
    ) -> Reduction:
        """`at_ends`: formulas before and after the loops over reduced axes, where these may have no elements."""
        assert isinstance(op.attrs, ReduceAttrs), "only reductions are planned as such"
        count, here = len(op.results), self._at(op.operands[0].shape, inner)
        carries = tuple(self._arg(t, "a") for t in op.results)
        inputs = tuple(self._arg(t, "e") for t in op.results)
        elements = tuple(formulas.at(x, here) for x in op.operands[:count])
        init = tuple(at_ends.at(x, ()) for x in op.operands[count:])
        update = formulas.region(op.bodies[0], (*carries, *inputs))
        kept_shape = tuple(n for n, flag in zip(plan.shape, plan.reduced, strict=True) if not flag)
        kept_index = tuple(i for i, flag in zip(inner, plan.reduced, strict=True) if not flag)
        stores = list[Store]()
        for result, carry in zip(op.results, carries, strict=True):
            if result in self.group.roots:
                offset = at_ends.facts.canonical(linear(self._at(result.shape, kept_index), result.shape))
                stores.append(Store(self.params.of(result), offset, carry))
            if kept_shape:
                scratch = Scratch(f"k{len(self.scratch)}", result.dtype, product(kept_shape))
                self.scratch.append(scratch)
                stores.append(Store(scratch, linear(kept_index, kept_shape), carry))
                available[result] = scratch
            else:
                available[result] = carry
        fn = _associative(update, carries, inputs)
        return Reduction(carries, init, inputs, elements, update, fn, tuple(stores))

    def _arg(self, tensor: Tensor, letter: str) -> Arg:
        self.count += 1
        return Arg(f"{letter}{self.count}", tensor.dtype)

    def _reader(self, shape: Shape, source: Scratch | Arg, facts: Facts) -> Callable[[Index], Scalar | None]:
        """Make a reader of a value that an earlier stage computed for this row; it returns None for other rows."""
        space = self._space(shape)
        assert space is not None, "it was computed in the rows"
        number = len(space.index)

        def read(index: Index) -> Scalar | None:
            if index[:number] != space.index and row_number(index, shape, number, facts) != self.row:
                return None
            if isinstance(source, Arg):
                return source
            return Load(source, (facts.canonical(linear(index[number:], space.inner)),))

        return read


@record
class _RowSpace:
    """The leading index of a shape at the current row, and its other dims."""

    index: Index
    inner: Shape


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
    """A loop per dim of a size other than 1, and the index that the loops form."""
    axes, index = list[Axis](), list[Dim]()
    for number, extent in enumerate(shape):
        if extent.constant == 1:
            index.append(const(0))
        else:
            symbol = Sym(f"%{letter}{number}")
            axes.append(Axis(symbol, extent))
            index.append(of(symbol))
    return tuple(axes), tuple(index)


def _find(plans: list[_StagePlan], level: int, shape: Shape, reduced: tuple[bool, ...]) -> _StagePlan:
    for plan in plans:
        if (plan.level, plan.shape, plan.reduced) == (level, shape, reduced):
            return plan
    plans.append(_StagePlan(level, shape, reduced))
    return plans[-1]
