"""The host program of a GPU in C++: bind sizes, check them, place buffers, launch through a table of functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.remarks import remark
from shlo_disc.emit.scopes import INDENT
from shlo_disc.emit.spelling import Spelling
from shlo_disc.emit.tidy import tidy
from shlo_disc.expr.dim import Dim
from shlo_disc.host.program import GridRef, HostCallRef, HostProgram, HostStep, LaunchRef, LaunchStep
from shlo_disc.host_ir import BatchLoop, Case, Command, Copy, Fill, GridLaunch, LaunchGroup, Product, Variant, While
from shlo_disc.ir.dtypes import DType, by_numpy_name
from shlo_disc.lower_cuda.host_parts import (
    ARITHMETIC,
    HOST_CALL_PARAMS,
    HOST_CALLS,
    has_host_calls,
    print_dim,
    print_names,
    print_plan,
)

_HEADER = f"""\
// Generated. One call: shlo_plan binds and checks the sizes, shlo_run queues the kernels.
#include <stdint.h>
#include "call/driver.h"
#include "call/sizes.h"

{ARITHMETIC}"""
_RUN = """\
extern "C" int64_t shlo_run(const ShloCuda* rt, void* const* arguments, void* const* results,
                            void* const* constants, const int64_t* symbols, char* arena, void* const* functions,
                            const int32_t* choices{calls}) {{"""


def print_host(program: Program, host: HostProgram) -> str:
    """Print the driver's file."""
    printer = _CudaSteps(host)
    calls = has_host_calls(host.steps)
    run = [_RUN.format(calls=HOST_CALL_PARAMS if calls else ""), *print_names(program, host)]
    if any(isinstance(call, Product) for variant in _variants(host.steps) for call in variant.commands):
        run.append(f"{INDENT}SHLO_TRY(0, shlo_start_products(rt));")
    run += [*printer.steps(host.steps, 1), f"{INDENT}return 0;", "}"]
    header = [_HEADER, HOST_CALLS] if calls else [_HEADER]
    return "\n".join([*header, *tidy(print_plan(program, host)), "", *tidy(run)]) + "\n"


def _variants(steps: Sequence[HostStep]) -> list[Variant[Dim]]:
    """All variants of all steps, in the order in which they are printed."""
    found = list[Variant[Dim]]()
    for step in steps:
        match step:
            case LaunchStep(GridRef() as group, _):
                found += group.variants
            case LaunchStep(HostCallRef(), _):
                pass
            case LaunchStep() | LaunchGroup():
                raise AssertionError("the GPU's lowering gives variants of grid launches")
            case While(condition, _, body):
                found += _variants((*condition, *body))
            case Case(_, _, branches):
                found += _variants([s for branch in branches for s in branch])
            case Copy():
                pass
            case _:
                assert_never(step)
    return found


class _CudaSteps:
    """Prints commands, each with a number that identifies it in errors; kernels are launched through the table.

    Choices, commands, functions and host calls are numbered in the order of the artifact's steps.
    """

    def __init__(self, host: HostProgram) -> None:
        self._host, self._host_calls = host, 0
        calls = [call for variant in _variants(host.steps) for call in variant.commands]
        kernels = dict.fromkeys(call.kernel for call in calls if isinstance(call, GridLaunch))
        self.functions = {name: k for k, name in enumerate(kernels)}
        self.choices = self.commands = 0

    def steps(self, steps: Sequence[HostStep], depth: int) -> list[str]:
        return [INDENT * depth + line for step in steps for line in self._step(step)]

    def _launch(self, kernel: LaunchRef, slots: Sequence[int]) -> list[str]:
        if isinstance(kernel, HostCallRef):
            arrays, call = self._host_call(kernel, slots)
            return ["{", *(INDENT + line for line in (*arrays, self._checked(f"{call} ? 0 : 1"))), "}"]
        assert isinstance(kernel, GridRef), "the GPU's lowering gives variants of grid launches"
        number, self.choices = self.choices, self.choices + 1
        if len(kernel.variants) == 1:
            (only,) = kernel.variants
            return ["{", *self._calls(only, slots), "}"]
        lines = [f"switch (choices[{number}]) {{  // {remark(kernel.name)}"]
        for k, variant in enumerate(kernel.variants):
            lines += [f"case {k}: {{  // {remark(variant.label)}", *self._calls(variant, slots), f"{INDENT}break;", "}"]
        return [*lines, "}"]

    def _copy(self, source: int, target: int) -> list[str]:
        return [self._checked(f"shlo_copy(rt, b{target}, b{source}, {self._size(target)})")]

    def _read(self, slot: int, kind: str) -> tuple[list[str], str]:
        return [f"{kind} found = 0;", self._checked(f"shlo_read(rt, &found, b{slot}, sizeof(found))")], "found"

    def _host_call(self, kernel: HostCallRef, slots: Sequence[int]) -> tuple[list[str], str]:
        """Statements that declare the arguments of a host call, and the expression that calls."""
        number, self._host_calls = self._host_calls, self._host_calls + 1
        buffers = ", ".join(f"b{s}" for s in slots) or "nullptr"
        dims = ", ".join(print_dim(d) for tensor in kernel.tensors for d in tensor.shape) or "0"
        arrays = [
            f"void* const buffers[] = {{{buffers}}};  // {remark(kernel.name)}",
            f"const int64_t dims[] = {{{dims}}};",
        ]
        return arrays, f"host_call(session, {number}, buffers, dims)"

    def _size(self, slot: int) -> str:
        """The bytes of a buffer."""
        return print_dim(self._host.buffers[slot].size)

    def _step(self, step: HostStep) -> list[str]:
        match step:
            case LaunchStep(kernel, slots):
                lines = self._launch(kernel, slots)
                if step.unless is None:
                    return lines
                return [f"if (b{step.unless} == nullptr) {{", *(INDENT + line for line in lines), "}"]
            case LaunchGroup():
                raise AssertionError(f"{len(step.members)} launches by rows: only threads of a CPU take these")
            case Copy(source, target):
                return self._copy(source, target)
            case While(condition, flag, body):
                decide = self.steps(condition, 1)
                fetch, value = self._read(flag, "uint8_t")
                return [
                    "for (;;) {",
                    *decide,
                    *(INDENT + line for line in fetch),
                    f"{INDENT}if (!{value}) break;",
                    *self.steps(body, 1),
                    "}",
                ]
            case Case(index, dtype, branches):
                return self._case(index, by_numpy_name(dtype), branches)
            case _:
                assert_never(step)

    def _case(self, index: int, dtype: DType, branches: Sequence[Sequence[HostStep]]) -> list[str]:
        kind = Spelling().memory_type(dtype)
        fetch, value = self._read(index, kind)
        last = len(branches) - 1
        chosen = f"const {kind} at = {value}; at >= 0 && at < {last} ? (int64_t)at : {last}"
        lines = [f"switch ({f'{value} ? 1 : 0' if dtype.is_bool else chosen}) {{"]
        for number, branch in enumerate(branches):
            lines += [f"case {number}: {{", *self.steps(branch, 1), f"{INDENT}break;", "}"]
        lines.append("}")
        return ["{", *(INDENT + line for line in (*fetch, *lines)), "}"] if fetch else lines

    def _checked(self, call: str) -> str:
        self.commands += 1
        return f"SHLO_TRY({self.commands}, {call});"

    def _calls(self, variant: Variant[Dim], slots: Sequence[int]) -> list[str]:
        lines = list[str]()
        for call in variant.commands:
            block = self._call(call, slots)
            lines += (
                block if len(variant.commands) == 1 or len(block) == 1 else ["{", *(INDENT + x for x in block), "}"]
            )
        return [INDENT + line for line in lines]

    def _call(self, call: Command[Dim], slots: Sequence[int]) -> list[str]:
        match call:
            case GridLaunch():
                return self._grid(call, slots)
            case Product():
                return self._product(call, slots)
            case Copy(source, target):
                return self._copy(slots[source], slots[target])
            case Fill(target, byte):
                return [self._checked(f"shlo_fill(rt, b{slots[target]}, {byte}, {self._size(slots[target])})")]
            case _:
                assert_never(call)

    def _grid(self, call: GridLaunch[Dim], slots: Sequence[int]) -> list[str]:
        names = [*(f"b{slots[k]}" for k in call.buffers), *map(size_name, call.symbols)]
        params = ", ".join(f"(void*)&{name}" for name in names) or "nullptr"
        function = f"functions[{self.functions[call.kernel]}]"
        shape = f"{print_dim(call.blocks)}, {call.threads}, {print_dim(call.shared)}"
        return [
            f"void* params[] = {{{params}}};  // {remark(call.kernel)}",
            self._checked(f"shlo_launch(rt, {function}, {shape}, params)"),
        ]

    def _product(self, call: Product[Dim], slots: Sequence[int]) -> list[str]:
        """Print loops over all batch dims but the last, which cuBLAS handles; empty results are skipped."""
        outer, inner = call.batch[:-1], call.batch[-1] if call.batch else None
        a, b, c = (slots[k] for k in (call.a, call.b, call.c))
        offsets = [print_dim(d) for d in (call.a_offset, call.b_offset, call.c_offset)]
        loops = list[str]()
        for k, loop in enumerate(outer):
            loops.append(f"for (int64_t i{k} = 0; i{k} < {print_dim(loop.extent)}; i{k}++)")
            strides = (loop.a_stride, loop.b_stride, loop.c_stride)
            offsets = [f"{o} + i{k} * {_factor(print_dim(d))}" for o, d in zip(offsets, strides, strict=True)]
        strides = _strides(inner)
        operands = (
            _matrix(a, offsets[0], call.dtypes[0], call.a_transposed, print_dim(call.a_leading), strides[0]),
            _matrix(b, offsets[1], call.dtypes[0], call.b_transposed, print_dim(call.b_leading), strides[1]),
            _matrix(c, offsets[2], call.dtypes[1], False, print_dim(call.c_leading), strides[2]),
        )
        zero = self._checked(f"shlo_fill(rt, b{c}, 0, {self._size(c)})")
        product = self._checked(f"shlo_product(rt, {', '.join(operands)}, m, n, k, batch, SHLO_CUBLAS_{call.compute})")
        return [
            f"const int64_t m = {print_dim(call.m)}, n = {print_dim(call.n)}, k = {print_dim(call.k)};",
            f"const int64_t batch = {'1' if inner is None else print_dim(inner.extent)};",
            "if (m > 0 && n > 0 && batch > 0) {",
            f"{INDENT}if (k == 0)",
            f"{INDENT * 2}{zero}",
            f"{INDENT}else",
            *(INDENT * (2 + depth) + line for depth, line in enumerate((*loops, product))),
            "}",
        ]


def _strides(batch: BatchLoop[Dim] | None) -> tuple[str, str, str]:
    if batch is None:
        return "0", "0", "0"
    return print_dim(batch.a_stride), print_dim(batch.b_stride), print_dim(batch.c_stride)


def _factor(text: str) -> str:
    return text if text.isalnum() else f"({text})"


def _matrix(slot: int, offset: str, dtype: str, transposed: bool, leading: str, stride: str) -> str:
    start = f"b{slot}" if offset == "0" else f"b{slot} + ({offset}) * {by_numpy_name(dtype).bytes}"
    return f"{{{start}, SHLO_CUDA_{dtype}, {int(transposed)}, {leading}, {stride}}}"
