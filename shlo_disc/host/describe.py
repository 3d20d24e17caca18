"""The report model of a compiled program: facts, groups and decisions, for people."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from typing import assert_never, cast

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Producers, producers_of
from shlo_disc.analysis.sizes import Point, free_symbols
from shlo_disc.diagnostics import Source, Span, one_line
from shlo_disc.dynamic_ops.create import ConstantAttrs
from shlo_disc.dynamic_ops.program import Op, Program, Shape, Tensor
from shlo_disc.expr.dim import Dim, of
from shlo_disc.fusion.traffic import traffic
from shlo_disc.host.fact_texts import fact_texts, shape_texts, size_spans
from shlo_disc.host.program import HostProgram, HostStep, LaunchStep
from shlo_disc.host_ir import Case, Copy, LaunchGroup, While
from shlo_disc.ir.core import Module
from shlo_disc.kernels.groups import FusionPlan, Group
from shlo_disc.kernels.op_graph import group_inputs, is_control
from shlo_disc.parse.origins import find_origins
from shlo_disc.report_model import BufferText, DecisionText, GroupText, OpText, ReportModel, SizesText
from shlo_disc.size_expr import SizeExpr


def describe(
    program: Program, host: HostProgram, names: Sequence[str], points: Sequence[Point], module: Module
) -> ReportModel:
    """Collect everything that reports show; `names` are those of the arguments, `points` likely sizes."""
    groups = _Groups(program, host, names, module)
    return ReportModel(
        fact_texts(program, groups.where, groups.origin),
        _sizes(program, points),
        tuple(groups.texts()),
        tuple(groups.numbers_of(host.steps)),
        shape_texts(program, groups.name, groups.where, groups.origin),
        groups.bytes(host.arena_bytes),
        tuple(groups.buffers(host)),
        program.notes,
    )


def _sizes(program: Program, points: Sequence[Point]) -> SizesText:
    """The independent sizes, from which all others follow; `b` itself rather than its quotient `b_by_8`."""
    definitions = dict(program.definitions)
    chosen = {symbol: symbol for symbol in free_symbols(program)}
    quotients = [symbol for symbol in chosen if symbol in definitions and "_by_" in symbol.name]
    for raw in program.given if quotients else ():
        for symbol in quotients:
            if symbol.name.startswith(f"{raw.name}_by_"):
                chosen[symbol] = raw
    follows = {symbol: definitions[symbol] for symbol, raw in chosen.items() if symbol is not raw}
    sizes = [program.facts.unfolded(program.facts.canonical(of(raw))).substitute(follows) for raw in program.given]
    direct = set(chosen.values())
    return SizesText(
        tuple(symbol.name for symbol in chosen.values()),
        tuple(raw.name if raw in direct else size.size_expr() for raw, size in zip(program.given, sizes, strict=True)),
        tuple(tuple(point[s] for s in chosen.values()) for point in points if point.keys() >= direct),
        tuple(symbol.name for symbol in definitions if symbol not in direct),
    )


class _Groups:
    """The groups of all bodies, numbered consecutively."""

    def __init__(self, program: Program, host: HostProgram, names: Sequence[str], module: Module) -> None:
        self._plans, self._facts = host.plans, program.facts
        self._producers: Producers = producers_of(program.body)
        arguments = {p.tensor: name for p, name in zip(program.parameters, names, strict=True)}
        self._names = {**_unique(program.names), **arguments}
        self._numbers = {group: k for k, group in enumerate(g for plan in host.plans for g in plan.groups)}
        self._slots = {buffer.made: slot for slot, buffer in enumerate(host.buffers)}
        self._launches = {step.group: step for step in _launches(host.steps)}
        ops = list(program.body.walk())
        self._order = {op: k for k, op in enumerate(ops)}
        spans = {op.span for op in ops} | {p.tensor.span for p in program.parameters} | size_spans(program)
        self._origins = find_origins(module, spans | {fact.span for fact in program.facts.facts})
        self._lines = _Lines()
        self._shapes = dict[Shape, str]()

    def texts(self) -> Iterator[GroupText]:
        parents = self._parents()
        for body, plan in enumerate(self._plans):
            decisions = _Decisions(plan, self.name)
            for group in plan.groups:
                parent = parents.get(group.ops[0])
                yield self._text(group, body, parent, decisions.of(group))

    def where(self, span: Span) -> str:
        """The file and the line of a span."""
        return f"{one_line(span.source.file)}:{self._lines.of(span)}"

    def origin(self, span: Span) -> str:
        """The line of the user's source that a span came from; empty if unknown."""
        return self._origins.get(span, "")

    def bytes(self, count: Dim) -> SizeExpr:
        """A number of bytes, or of operations, as a formula of the user's sizes."""
        return self._facts.readable(count).size_expr()

    def buffers(self, host: HostProgram) -> Iterator[BufferText]:
        """The buffers in the arena."""
        for slot, one in enumerate(host.buffers):
            if one.kind == "arena":
                yield BufferText(slot, self._typed(one.made), self.bytes(one.offset), self.bytes(one.size))

    def numbers_of(self, steps: Sequence[HostStep]) -> Iterator[int | None]:
        """The group number of every step, in program order; None for copies and launch groups."""
        for step in steps:
            match step:
                case LaunchStep():
                    yield self._numbers[step.group]
                case LaunchGroup(members):
                    yield None
                    yield from self.numbers_of([member.launch for member in members])
                case Copy():
                    yield None
                case While(condition, _, body):
                    yield self._numbers[step.made.group]
                    yield from self.numbers_of((*condition, *body))
                case Case(_, _, branches):
                    yield self._numbers[step.made.group]
                    yield from self.numbers_of([inner for branch in branches for inner in branch])
                case _:
                    assert_never(step)

    def _parents(self) -> Mapping[Op[object], int]:
        """For ops in nested bodies, the number of the group that runs the body."""
        control = [g for plan in self._plans for g in plan.groups if g.anchor is not None and is_control(g.anchor)]
        return {
            op: self._numbers[group]
            for group in control
            if group.anchor is not None
            for body in group.anchor.bodies
            for op in body.ops
        }

    def _text(self, group: Group, body: int, parent: int | None, decisions: tuple[DecisionText, ...]) -> GroupText:
        inputs = group_inputs(group, self._producers)
        made = {self._producers[t][0] for t in inputs if t in self._producers}
        free = {op for op in made if is_free(op) and not isinstance(op.attrs, ConstantAttrs)}
        inlined = free.difference(group.ops)
        ops = sorted((*group.ops, *inlined), key=self._order.__getitem__)
        cost = traffic(group, self._producers)
        reads, writes = self._buffers(group, inputs)
        return GroupText(
            kind=group.kind.value,
            rows="" if group.rows is None else f"[{self._sizes(group.rows)}]",
            roots=tuple(map(self._typed, group.roots)),
            body=body,
            parent=parent,
            ops=tuple(self._op(op, inlined=op in inlined) for op in ops),
            reads=reads,
            writes=writes,
            bytes_read=self.bytes(cost.reads),
            bytes_written=self.bytes(cost.writes),
            flops=self.bytes(cost.flops),
            decisions=decisions,
        )

    def _buffers(self, group: Group, inputs: Sequence[Tensor]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The slots that a group reads and writes; if launched, its launch's, which resolve loop-carried values."""
        if (step := self._launches.get(group)) is None:
            slots = {tensor: self._slots[tensor] for tensor in (*inputs, *group.roots) if tensor in self._slots}
        else:
            slots = dict(zip(step.kernel.tensors, step.slots, strict=False))  # workspaces follow
        reads = {slot for tensor, slot in slots.items() if tensor not in group.roots}
        return tuple(sorted(reads)), tuple(slots[tensor] for tensor in group.roots if tensor in slots)

    def _op(self, op: Op[object], *, inlined: bool) -> OpText:
        results = ", ".join(map(self._typed, op.results))
        operands = ", ".join(map(self._operand, op.operands))
        text = f"{results} = {op.name}({operands}){self._attributes(op.attrs)}"
        return OpText(op.name, text, self._lines.of(op.span), self._origins.get(op.span, ""), inlined)

    def _attributes(self, attrs: object) -> str:
        """The attributes of an op as text, without long ones."""
        if not is_dataclass(attrs) or isinstance(attrs, ConstantAttrs):
            return ""
        found = ((field.name, getattr(attrs, field.name)) for field in fields(attrs))
        texts = [f"{name}={text}" for name, value in found if (text := _short(value, self._size))]
        return f" {{{', '.join(texts)}}}" if texts else ""

    def _size(self, size: Dim) -> str:
        return str(self._facts.readable(size))

    def _operand(self, tensor: Tensor) -> str:
        made = self._producers.get(tensor)
        if made is not None and isinstance(made[0].attrs, ConstantAttrs):
            return f"{made[0].attrs.value.value}"
        return self.name(tensor)

    def _typed(self, tensor: Tensor) -> str:
        return f"{self.name(tensor)}: {tensor.dtype.value}[{self._sizes(tensor.shape)}]"

    def _sizes(self, shape: Shape) -> str:
        if (text := self._shapes.get(shape)) is None:
            text = self._shapes[shape] = ", ".join(map(self._size, shape))
        return text

    def name(self, tensor: Tensor) -> str:
        return self._names.get(tensor) or f"%{tensor.name}"


def _launches(steps: Sequence[HostStep]) -> Iterator[LaunchStep]:
    """All launches, those in loops and branches too."""
    for step in steps:
        match step:
            case LaunchStep():
                yield step
            case LaunchGroup(members):
                yield from (member.launch for member in members)
            case While(condition, _, body):
                yield from _launches((*condition, *body))
            case Case(_, _, branches):
                yield from _launches([inner for branch in branches for inner in branch])
            case Copy():
                pass
            case _:
                assert_never(step)


def _unique(names: Mapping[Tensor, str]) -> Mapping[Tensor, str]:
    """The user's names of tensors, without names that are ambiguous because a function was inlined several times."""
    times = Counter(names.values())
    return {tensor: f"%{name}" for tensor, name in names.items() if times[name] == 1}


@dataclass(slots=True, eq=False)
class _Lines:
    """Line numbers of spans, by cached line starts of the last source."""

    source: Source | None = None
    starts: tuple[int, ...] = ()

    def of(self, span: Span) -> int:
        if span.source is not self.source:
            self.source = span.source
            self.starts = tuple(match.end() for match in re.finditer("\n", span.source.text))
        return bisect_right(self.starts, span.start) + 1


class _Decisions:
    """The fusion decisions of a plan by group; those with equal reasons are merged."""

    def __init__(self, plan: FusionPlan, name: Callable[[Tensor], str]) -> None:
        self._name = name
        self._by_consumer = dict[str, list[tuple[bool, str, Op[object]]]]()
        for decision in plan.decisions:
            found = self._by_consumer.setdefault(decision.consumer, [])
            found.append((decision.merged, decision.reason, decision.producer))

    def of(self, group: Group) -> tuple[DecisionText, ...]:
        members, found = set(group.ops), dict[tuple[bool, str], dict[str, None]]()
        for root in group.roots:
            for merged, reason, producer in self._by_consumer.get(root.name, ()):
                if not merged or producer in members:
                    value = f"{self._name(producer.results[0])} ({producer.name})"
                    found.setdefault((merged, reason), {})[value] = None
        return tuple(DecisionText(merged, reason, tuple(values)) for (merged, reason), values in found.items())


def _short(value: object, show: Callable[[Dim], str]) -> str:
    """A number, a size, a name, or a tuple of numbers or sizes, as text; empty for anything else, and for False."""
    match value:
        case bool():
            return "true" if value else ""
        case Enum():
            return value.name.lower()
        case int() | str():
            return str(value)
        case Dim():
            return show(value)
        case tuple() | frozenset():
            items = cast("tuple[object, ...] | frozenset[object]", value)
            plain = items and all(isinstance(item, int | Dim) for item in items)
            return f"[{', '.join([_short(item, show) for item in items])}]" if plain else ""
        case _:
            return ""
