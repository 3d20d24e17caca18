"""Verifies that a kernel reads nothing that it writes: results are complete only when it ends.

Rows, blocks and threads of a launch run in any order, so a formula that loads a result of its own launch may read an
element that is not written yet, or one left by an earlier call. Templates pass values within a launch by carries, args
of sums and scratch instead. The one exception is the sweep of a scatter, which runs after all updates and reads only
the element that it overwrites.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import TypeVar, cast

from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Fold, FoldResult, Load
from shlo_disc.kernels.groups import Context, Group
from shlo_disc.kernels.kernel import Axis, Param, ScatterKernel, Scratch, Start, Store, Sweep
from shlo_disc.kernels.op_graph import group_inputs
from shlo_disc.kernels.rewrite import nodes_of

K = TypeVar("K")
_TARGETS = frozenset({"target", "outputs"})  # fields with params that a kernel writes


def verified(built: tuple[K, tuple[Tensor, ...]], group: Group) -> tuple[K, tuple[Tensor, ...]]:
    """Check a kernel that was built for a group; return it with the tensors of its params.

    Raises `InternalError` if it reads a tensor that it writes, or if two of its variables have one name.
    """
    kernel, tensors = built
    if clashes := shared_names(kernel):
        raise InternalError(
            f"the kernel of a {group.kind.value} group has several variables named {', '.join(clashes)} "
            f"({group.ops[-1].span.where()}): expected a name for each"
        )
    both = read_and_written(kernel)
    if both:
        params: tuple[Param, ...] = getattr(kernel, "params")  # noqa: B009  (every kernel has them)
        names = ", ".join(f"%{tensors[params.index(param)].name}" for param in both)
        where = group.ops[-1].span.where()
        raise InternalError(
            f"the kernel of a {group.kind.value} group reads {names}, which the same launch writes ({where}): expected "
            "what reads it to be a group of its own"
        )
    return built


def read_and_written(kernel: object) -> tuple[Param, ...]:
    """The params that a kernel both reads and writes, except where its template allows it."""
    if isinstance(kernel, ScatterKernel) and kernel.sweep is not None and _sweeps_in_place(kernel, kernel.sweep):
        swept = replace(kernel, sweep=None)
        written = set(_written(kernel))
        own = {start.target for start in kernel.starts}
        reads = (*_read(swept), *(p for p in _read(kernel.sweep) if p not in own))
    else:
        written, reads = set(_written(kernel)), tuple(_read(kernel))
    return tuple(dict.fromkeys(param for param in reads if param in written))


def shared_names(kernel: object) -> tuple[str, ...]:
    """Names that generated code would give to several variables: buffers, loops, and values of either."""
    kinds = dict[str, set[object]]()
    formulas = list[Node]()
    for part in _walked(kernel, formulas):
        name = part.symbol.name if isinstance(part, Axis) else part.name
        kinds.setdefault(name.removeprefix("%"), set()).add(
            "loop" if isinstance(part, Axis) else (type(part), part.dtype)
        )
    for node in nodes_of(formulas):
        match node:
            case Load(source, _):
                kinds.setdefault(source.name, set()).add((type(source), source.dtype))
            case FoldResult(Fold(axes, carries, _, _), _):
                for symbol, _ in axes:
                    kinds.setdefault(symbol.name.removeprefix("%"), set()).add("loop inside of an element")
                for carry in carries:
                    kinds.setdefault(carry.name.removeprefix("%"), set()).add((Arg, carry.dtype))
            case _:
                pass
    return tuple([name for name, found in kinds.items() if len(found) > 1])


def _sweeps_in_place(kernel: ScatterKernel, sweep: Sweep) -> bool:
    """Whether a sweep reads only the current element of each target, and overwrites it last."""
    targets = {start.target for start in kernel.starts}
    loads = [x for x in nodes_of(store.value for store in sweep.stores) if isinstance(x, Load) and x.source in targets]
    places = {(load.source, load.index) for load in loads}
    places |= {(store.target, (store.offset,)) for store in sweep.stores if store.target in targets}
    overwrites = [k for k, store in enumerate(sweep.stores) if store.target in targets]
    return len(places) <= len(targets) and overwrites in ([], [len(sweep.stores) - 1])


def _written(value: object) -> Iterator[Param]:
    """Every param that a part of a kernel writes."""
    match value:
        case Store(target=Param() as target) | Start(target=target):
            yield target
        case tuple() | list():
            for one in cast("Iterable[object]", value):
                yield from _written(one)
        case _ if is_dataclass(value) and not isinstance(value, Node):
            for field in fields(value):
                found: object = getattr(value, field.name)
                if field.name in _TARGETS:
                    yield from _params(found)
                elif field.name != "params":
                    yield from _written(found)
        case _:
            pass


def _read(value: object) -> Iterator[Param]:
    """Every param that a part of a kernel loads from, or passes to its template to read."""
    formulas = list[Node]()
    yield from _operands(value, formulas)
    for node in nodes_of(formulas):
        if isinstance(node, Load) and isinstance(node.source, Param):
            yield node.source


def _operands(value: object, formulas: list[Node]) -> Iterator[Param]:
    """The params of fields that are read; formulas are appended to `formulas`."""
    for part in _walked(value, formulas, _TARGETS):
        if isinstance(part, Param):
            yield part


def _walked(value: object, formulas: list[Node], without: Collection[str] = ()) -> Iterator[Param | Scratch | Axis]:
    """The buffers and loops of all fields but `params` and `without`; formulas are appended to `formulas`."""
    match value:
        case Param() | Scratch():
            yield value
        case Dim():
            formulas.extend(data.formula for data in value.data())
        case Node():
            formulas.append(value)
        case tuple() | list():
            for one in cast("Iterable[object]", value):
                yield from _walked(one, formulas, without)
        case _ if is_dataclass(value):
            if isinstance(value, Axis):
                yield value
            for field in fields(value):
                if field.name != "params" and field.name not in without:
                    yield from _walked(getattr(value, field.name), formulas, without)
        case _:
            pass


def _params(value: object) -> Iterator[Param]:
    match value:
        case Param():
            yield value
        case tuple() | list():
            for one in cast("Iterable[object]", value):
                yield from _params(one)
        case _:
            pass


def parts_that_meet(group: Group, context: Context) -> Iterator[tuple[Tensor, Tensor]]:
    """Tensors that a part of a launch reads and another part writes, each with the reader's first result."""
    if group.parts and set(group.roots) == {root for part in group.parts for root in part.roots}:
        for part in group.parts:
            others = set(group.roots) - set(part.roots)
            for tensor in others.intersection(group_inputs(part, context.producers)):
                yield tensor, part.roots[0]
