"""What the compiler knew and decided, for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from shlo_disc.codegen.groups import FusionPlan, Group
from shlo_disc.codegen.host import (
    CallVariant,
    CaseStep,
    CopyStep,
    GridRef,
    HostProgram,
    HostStep,
    LaunchStep,
    WhileStep,
)
from shlo_disc.dynamic_ops.program import Program


def explain(program: Program, host: HostProgram) -> str:
    """Sizes and facts, then every fusion group, every merge and every refusal with its reason."""
    arguments = [parameter.tensor.name for parameter in program.parameters]
    lines = [f"program {program.name}", "", "sizes"]
    lines += [f"  {raw.symbol.name}: dimension {raw.axis} of {arguments[raw.argument]}" for raw in program.raw_dims]
    lines += [f"  {symbol.name} = {dim}" for symbol, dim in program.definitions]
    lines += ["", "facts"]
    lines += [f"  {fact}" for fact in program.facts.facts] or ["  none"]
    lines += ["", f"memory: arena of {host.arena_bytes} bytes", ""]
    kernels = [step.kernel for step in _launches(host.steps)]
    once = {kernel.name: kernel for kernel in kernels}
    lines.append(f"{len(kernels)} launches of {len(once)} kernels")
    lines += [f"  {name}: {_ways(kernel)}" for name, kernel in once.items() if isinstance(kernel, GridRef)]
    for number, plan in enumerate(host.plans):
        lines += ["", "main body" if number == 0 else f"loop or branch body {number}"]
        lines += [line for k, group in enumerate(plan.groups) for line in _group(k, group, plan)]
    return "\n".join(lines)


def _group(number: int, group: Group, plan: FusionPlan) -> Iterator[str]:
    roots = ", ".join(map(repr, group.roots))
    rows = "" if group.rows is None else f", one row per [{', '.join(map(str, group.rows))}]"
    yield f"group {number}: {group.kind.value}{rows} -> {roots}"
    yield f"  ops: {' '.join(op.name for op in group.ops)}"
    members = set(group.ops)
    for decision in plan.decisions:
        if decision.merged and decision.producer in members and decision.consumer == group.roots[0].name:
            yield f"  merged %{decision.producer.results[0].name} ({decision.producer.name}): {decision.reason}"
        if not decision.merged and decision.consumer == group.roots[0].name:
            yield f"  refused %{decision.producer.results[0].name} ({decision.producer.name}): {decision.reason}"


def _ways(kernel: GridRef) -> str:
    """The variants of a group, which every call compares by its sizes."""
    return " | ".join(f"{v.label} ({_demands(v)})" if v.guards or v.aligned else v.label for v in kernel.variants)


def _demands(variant: CallVariant) -> str:
    guards = [f"{g.lhs} {g.relation} {g.rhs}" for g in variant.guards]
    return "if " + ", ".join([*guards, *(["aligned to 16 bytes"] if variant.aligned else [])])


def _launches(steps: tuple[HostStep, ...]) -> Iterator[LaunchStep]:
    for step in steps:
        match step:
            case LaunchStep():
                yield step
            case WhileStep(condition, _, body):
                yield from _launches((*condition, *body))
            case CaseStep(_, _, branches):
                for branch in branches:
                    yield from _launches(branch)
            case CopyStep():
                pass
            case _:
                assert_never(step)
