"""The host program as C++: bind sizes, check them, place buffers, launch."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.codegen.emitter import Emitter
from shlo_disc.codegen.host import (
    CaseStep,
    CopyStep,
    HostBuffer,
    HostProgram,
    HostStep,
    LaunchStep,
    WhileStep,
)
from shlo_disc.codegen.indices import size_name
from shlo_disc.codegen.scopes import INDENT
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim
from shlo_disc.lower_cpu.spelling import VectorSpelling

_HEADER = """\
// Generated. One call: shlo_plan binds and checks the sizes, shlo_run runs the kernels.
#include <stdint.h>
#include "runtime.h"

#ifndef SHLO_INLINE  // kernels in the same file bring these
static inline int64_t floordiv(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - ((a % b != 0) & ((a < 0) != (b < 0)));
}
static inline int64_t mod(int64_t a, int64_t b) { return b == 0 ? 0 : a - floordiv(a, b) * b; }
static inline int64_t min_(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_(int64_t a, int64_t b) { return a > b ? a : b; }
#endif
"""


def print_host(program: Program, host: HostProgram) -> str:
    """The whole driver file."""
    names = kernel_names(host.steps)
    declarations = [f'extern "C" void {n}(void* const*, const int64_t*, int64_t, int64_t, void*);' for n in names]
    parts = [_HEADER, *declarations, "", *_plan(program, host), "", *_run(program, host)]
    return "\n".join(parts) + "\n"


def kernel_names(steps: Sequence[HostStep]) -> list[str]:
    """Every kernel the program launches, once, in order."""
    found = dict[str, None]()
    for step in steps:
        match step:
            case LaunchStep(kernel, _):
                found[kernel.name] = None
            case WhileStep(condition, _, body):
                found |= dict.fromkeys(kernel_names((*condition, *body)))
            case CaseStep(_, _, branches):
                found |= dict.fromkeys(kernel_names([s for b in branches for s in b]))
            case CopyStep():
                pass
    return list(found)


def symbol_names(program: Program) -> list[str]:
    """Raw sizes first, then what is computed from them."""
    return [
        *(raw.symbol.name for raw in program.raw_dims),
        *(s.name for s, _ in program.definitions),
    ]


def _dim(dim: Dim) -> str:
    return Emitter(VectorSpelling()).dim_scalar(dim)


def _plan(program: Program, host: HostProgram) -> list[str]:
    lines = [
        'extern "C" int64_t shlo_plan(const int64_t* raw, int64_t* symbols, int64_t* result_dims,',
        "                             int64_t* arena_bytes) {",
    ]
    for k, raw in enumerate(program.raw_dims):
        lines.append(f"{INDENT}const int64_t {size_name(raw.symbol.name)} = symbols[{k}] = raw[{k}];")
    for k, (symbol, dim) in enumerate(program.definitions, start=len(program.raw_dims)):
        lines.append(f"{INDENT}const int64_t {size_name(symbol.name)} = symbols[{k}] = {_dim(dim)};")
    for number, check in enumerate(program.checks, start=1):
        condition = f"{_dim(check.lhs)} {check.relation.value} {_dim(check.rhs)}"
        lines.append(f"{INDENT}if (!({condition})) return {number};  // {check.span.where()}")
    sizes = [d for tensor in program.body.results for d in tensor.shape]
    lines += [f"{INDENT}result_dims[{k}] = {_dim(d)};" for k, d in enumerate(sizes)]
    return [*lines, f"{INDENT}*arena_bytes = {_dim(host.arena_bytes)};", f"{INDENT}return 0;", "}"]


def _run(program: Program, host: HostProgram) -> list[str]:
    lines = [
        'extern "C" void shlo_run(const ShloRuntime* rt, void* const* arguments, void* const* results,',
        "                         void* const* constants, const int64_t* symbols, char* arena) {",
    ]
    for k, name in enumerate(symbol_names(program)):
        lines.append(f"{INDENT}[[maybe_unused]] const int64_t {size_name(name)} = symbols[{k}];")
    lines += [INDENT + _declare(slot, buffer) for slot, buffer in enumerate(host.buffers)]
    printer = _StepPrinter(host)
    lines += printer.steps(host.steps, 1)
    return [*lines, "}"]


def _declare(slot: int, buffer: HostBuffer) -> str:
    """A pointer per buffer, with what it is."""
    source = {
        "argument": f"(char*)arguments[{buffer.number}]",
        "result": f"(char*)results[{buffer.number}]",
        "constant": f"(char*)constants[{buffer.number}]",
        "arena": f"arena + {_dim(buffer.offset)}",
    }[buffer.kind]
    return f"[[maybe_unused]] char* const b{slot} = {source};  // {buffer.tensor!r}"


class _StepPrinter:
    """Prints steps; each launch names its buffers and sizes in place."""

    def __init__(self, host: HostProgram) -> None:
        self.host = host

    def steps(self, steps: Sequence[HostStep], depth: int) -> list[str]:
        return [INDENT * depth + line for step in steps for line in self._step(step)]

    def _step(self, step: HostStep) -> list[str]:
        match step:
            case LaunchStep(kernel, slots):
                buffers = ", ".join(f"b{s}" for s in slots) or "nullptr"
                sizes = ", ".join(map(size_name, kernel.symbols)) or "0"
                return [
                    "{",
                    f"{INDENT}void* const buffers[] = {{{buffers}}};",
                    f"{INDENT}const int64_t dims[] = {{{sizes}}};",
                    f"{INDENT}rt->parallel(rt, {kernel.name}, buffers, dims, {_dim(kernel.extent)},"
                    f" {_dim(kernel.grain)}, {_dim(kernel.scratch)});",
                    "}",
                ]
            case CopyStep(source, target):
                size = _dim(self.host.buffers[target].size)
                return [f"__builtin_memcpy(b{target}, b{source}, {size});"]
            case WhileStep(condition, flag, body):
                return [
                    "for (;;) {",
                    *self.steps(condition, 1),
                    f"{INDENT}if (!*(const uint8_t*)b{flag}) break;",
                    *self.steps(body, 1),
                    "}",
                ]
            case CaseStep(index, dtype, branches):
                kind = VectorSpelling().memory_type(dtype)
                last = len(branches) - 1
                chosen = f"at >= 0 && at < {last} ? (int64_t)at : {last}"
                lines = [f"switch (const {kind} at = *(const {kind}*)b{index}; {chosen}) {{"]
                if dtype.is_bool:
                    lines = [f"switch (*(const uint8_t*)b{index} ? 1 : 0) {{"]
                for number, branch in enumerate(branches):
                    lines += [f"case {number}: {{", *self.steps(branch, 1), f"{INDENT}break;", "}"]
                return [*lines, "}"]
