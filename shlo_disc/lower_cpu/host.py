"""The host program as C++: bind sizes, check them, place buffers, launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.remarks import remark
from shlo_disc.emit.scopes import INDENT
from shlo_disc.emit.tidy import tidy
from shlo_disc.expr.dim import ZERO, Dim, maximum
from shlo_disc.host.program import HostCallRef, HostProgram, HostStep, KernelRef, LaunchRef, LaunchStep, PlannedRegion
from shlo_disc.host.text import (
    ARITHMETIC,
    HOST_CALL_PARAMS,
    HOST_CALLS,
    SizePrinter,
    StepPrinter,
    has_host_calls,
    kernel_names,
    print_dim,
    print_names,
    print_plan,
)
from shlo_disc.host_ir import Case, Copy, Launch, LaunchGroup, While
from shlo_disc.lower_cpu.templates import declaration

_HEADER = f"""\
// Generated. One call: shlo_plan binds and checks the sizes, shlo_run runs the kernels.
#include <stdint.h>
#include "call/runtime.h"
#include "call/sizes.h"

#ifndef SHLO_INLINE  // kernels in the same file bring these
{ARITHMETIC}#endif
"""
_RUN = """\
extern "C" int64_t shlo_run(const ShloRuntime* rt, void* const* arguments, void* const* results,
                         void* const* constants, const int64_t* symbols, char* arena{calls}) {{"""


def print_host(program: Program, host: HostProgram) -> str:
    """The whole driver file."""
    names = kernel_names(host.steps)
    declarations = [declaration(name) for name in names]
    printer = _CpuSteps(host)
    reserve = _reserved(_scratch(host.steps), printer.sizes)
    steps = printer.steps(host.steps, 1)
    run = [*print_names(program, host), *reserve, *printer.sizes.take(), *steps]
    if calls := has_host_calls(host.steps):
        declarations.append(HOST_CALLS)
    run = tidy([_RUN.format(calls=HOST_CALL_PARAMS if calls else ""), *run, f"{INDENT}return SHLO_DONE;", "}"])
    return "\n".join([_HEADER, *declarations, "", *tidy(print_plan(program, host)), "", *run]) + "\n"


def _scratch(steps: Sequence[HostStep]) -> tuple[Dim, ...]:
    """Scratch sizes of launches that need some; of regions even if 0, as `reserve` registers the calling thread."""
    found = dict[Dim, None]()
    for step in steps:
        match step:
            case LaunchStep(KernelRef(launch=Launch(scratch=scratch))):
                found |= {scratch: None} if scratch != ZERO else {}
            case LaunchGroup(members, scratch=scratch):
                found |= dict.fromkeys((scratch, *_scratch([member.launch for member in members])))
            case While(condition, _, body):
                found |= dict.fromkeys(_scratch((*condition, *body)))
            case Case(_, _, branches):
                found |= dict.fromkeys(_scratch([s for branch in branches for s in branch]))
            case LaunchStep() | Copy():
                pass
            case _:
                assert_never(step)
    return tuple(found)


def _reserved(scratch: Sequence[Dim], sizes: SizePrinter) -> list[str]:
    """Statements that reserve the scratch memory of all launches, so that none of them fails."""
    if not scratch:
        return []
    reserve = f"if (!rt->reserve(rt, {sizes.text(maximum(*scratch))})) return SHLO_NO_MEMORY;"
    return [*sizes.take(), INDENT + reserve]


class _CpuSteps(StepPrinter):
    """Prints steps; each launch lists its buffers and sizes in place."""

    def __init__(self, host: HostProgram) -> None:
        super().__init__(host)
        self.sizes = SizePrinter()

    def launch(self, kernel: LaunchRef, slots: Sequence[int]) -> list[str]:
        if isinstance(kernel, HostCallRef):
            arrays, call = self.host_call(kernel, slots)
            return ["{", *(INDENT + line for line in arrays), f"{INDENT}if (!{call}) return SHLO_RAISED;", "}"]
        assert isinstance(kernel, KernelRef), "the CPU's lowering gives kernels that threads share"
        buffers = ", ".join(f"b{s}" for s in slots) or "nullptr"
        sizes = ", ".join(map(size_name, kernel.launch.symbols)) or "0"
        return [
            "{",
            f"{INDENT}void* const buffers[] = {{{buffers}}};",
            f"{INDENT}const int64_t dims[] = {{{sizes}}};",
            f"{INDENT}shlo_launch(rt, {kernel.name}, buffers, dims, {self.sizes.text(kernel.launch.extent)},"
            f" {self.sizes.hint(kernel.launch.grain)}, {self.sizes.text(kernel.launch.scratch)});",
            "}",
        ]

    def region(self, region: PlannedRegion) -> list[str]:
        lines, members = list[str](), list[str]()
        for k, member in enumerate(region.members):
            kernel = member.launch.kernel
            assert isinstance(kernel, KernelRef), "threads share what runs on the CPU"
            buffers = ", ".join(f"b{s}" for s in member.launch.slots)
            sizes, unit_sizes = (
                ", ".join(map(size_name, names)) or "0" for names in (kernel.launch.symbols, member.symbols)
            )
            lines += [
                f"void* const buffers{k}[] = {{{buffers}}};",
                f"const int64_t dims{k}[] = {{{sizes}}}, unit_dims{k}[] = {{{unit_sizes}}};",
            ]
            text, hint = self.sizes.text, self.sizes.hint
            launch = [text(kernel.launch.extent), hint(kernel.launch.grain), text(kernel.launch.scratch)]
            unit = [f"unit_dims{k}", self.sizes.text(member.tasks), self.sizes.text(member.extent)]
            if member.held:
                rows = [f"{{{x.position}, {self.sizes.text(x.size)}}}" for x in member.held]
                lines.append(f"const ShloHeld held{k}[] = {{{', '.join(rows)}}};")
            held = f"held{k}" if member.held else "nullptr"
            unit += [held, str(len(member.held)), str(len(member.launch.slots))]
            members.append(f"{INDENT}{{{', '.join([kernel.name, f'buffers{k}', f'dims{k}', *launch, *unit])}}},")
        work = f"{self.sizes.hint(region.grain)}, {self.sizes.hint(region.work)}"
        sizes = f"{self.sizes.text(region.units)}, {work}, {self.sizes.text(region.scratch)}"
        return [
            f"{{  // a thread takes {remark(print_dim(region.rows))} rows at a time through all of these",
            *(INDENT + line for line in (*lines, "const ShloMember members[] = {", *members, "};")),
            f"{INDENT}rt->region(rt, members, {len(members)}, {sizes});",
            "}",
        ]

    def copy(self, source: int, target: int) -> list[str]:
        return [f"__builtin_memcpy(b{target}, b{source}, {self.size(target)});"]

    def read(self, slot: int, kind: str) -> tuple[list[str], str]:
        return [], f"*(const {kind}*)b{slot}"
