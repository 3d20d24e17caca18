"""A small target, written after docs/how-to/add-a-target.md: plain C loops, compiled by gcc, run step by step.

It has elementwise ops, reductions and matrix products of five element types, and refuses everything else.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from shlo_disc.analysis.formula import Producers
from shlo_disc.artifact import Artifact, SourceFile
from shlo_disc.diagnostics import NOWHERE, ToolchainError, UnsupportedOpError
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.emit.emitter import Emitter
from shlo_disc.emit.indices import size_name
from shlo_disc.emit.naming import NAME, comment, require_types, title
from shlo_disc.emit.scopes import INDENT, Scope
from shlo_disc.emit.spelling import Spelling
from shlo_disc.expr.dim import Dim, const, product, total
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.host.code_generator import CodeGenerator
from shlo_disc.host.host_calls import HostLibraries, host_call
from shlo_disc.host.program import HostProgram, KernelRef, LaunchRef
from shlo_disc.host_ir import Launch
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Abilities, Group, GroupKind, Machine, ProductTypes
from shlo_disc.kernels.index_set_splitting import Seams
from shlo_disc.kernels.kernel import Axis, DotKernel, MatrixView, Param, Reduction, RowKernel, Stage, Store
from shlo_disc.kernels.simplify_kernel import stage_formulas
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.kernels.templates import build_dot
from shlo_disc.kernels.verify_kernel import verified
from shlo_disc.linear_algebra import Routine
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.cpu.vm import Vm
from shlo_disc.runtime.library import open_program, open_runtime
from shlo_disc.runtime.partitions import Runnable, load
from shlo_disc.schedules.tables import Scheduling
from shlo_disc.targets import Target

HEADER = """\
#include <stdbool.h>
#include <stdint.h>
#include <tgmath.h>
#define auto __auto_type
#define either(a, b, pick) ({ __typeof__(a) x_ = (a); __typeof__(x_) y_ = (b); x_ != x_ ? x_ : y_ != y_ ? y_ : pick; })
#define max_(a, b) either(a, b, x_ > y_ ? x_ : y_)
#define min_(a, b) either(a, b, x_ < y_ ? x_ : y_)
#define select(c, a, b) ((c) ? (a) : (b))
#define add_(a, b) ((a) + (b))
#define sub_(a, b) ((a) - (b))
#define mul_(a, b) ((a) * (b))
#define and_(a, b) ((a) & (b))
#define or_(a, b) ((a) | (b))
#define not_(a) (!(a))
#define neg_(a) (-(a))
#define abs_(a) select((a) < 0, -(a), a)
#define eq(a, b) ((a) == (b))
#define ne(a, b) ((a) != (b))
#define lt(a, b) ((a) < (b))
#define le(a, b) ((a) <= (b))
#define gt(a, b) ((a) > (b))
#define ge(a, b) ((a) >= (b))
#define exp_(a) exp(a)
#define log_(a) log(a)
#define tanh_(a) tanh(a)
#define sqrt_(a) sqrt(a)
#define rsqrt_(a) (1 / sqrt(a))
#define sin_(a) sin(a)
#define cos_(a) cos(a)
#define to_f32(a) ((float)(a))
#define to_f64(a) ((double)(a))
#define to_i32(a) ((int32_t)(a))
#define to_i64(a) ((int64_t)(a))
#define to_bool(a) ((a) != 0)
static int64_t mod(int64_t a, int64_t b) { return (a % b + b) % b; }
static int64_t floordiv(int64_t a, int64_t b) { return (a - mod(a, b)) / b; }
"""
_TYPES = (DType.F32, DType.F64, DType.I32, DType.I64, DType.I1)
_UNARIES = (
    UnaryFn.NOT, UnaryFn.NEGATE, UnaryFn.ABS, UnaryFn.EXPONENTIAL, UnaryFn.LOG, UnaryFn.TANH, UnaryFn.SQRT,
    UnaryFn.RSQRT, UnaryFn.SINE, UnaryFn.COSINE,
)  # fmt: skip
_BINARIES = (
    BinaryFn.ADD, BinaryFn.SUBTRACT, BinaryFn.MULTIPLY, BinaryFn.MAXIMUM, BinaryFn.MINIMUM, BinaryFn.AND, BinaryFn.OR,
)  # fmt: skip


class PlainSpelling(Spelling):
    """C, by the macros of `HEADER`."""

    memory: ClassVar[Mapping[DType, str]] = {dtype: Spelling.memory[dtype] for dtype in _TYPES}

    def unary(self, fn: UnaryFn, x: str, dtype: DType) -> str:
        """A function of one value. Raises `UnsupportedOpError` for one that `HEADER` lacks."""
        if fn not in _UNARIES:
            raise UnsupportedOpError(f"plain C has no {fn.value.name} yet", NOWHERE)
        return super().unary(fn, x, dtype)

    def binary(self, fn: BinaryFn, a: str, b: str, dtype: DType) -> str:
        """A function of two values. Raises `UnsupportedOpError` for one that `HEADER` lacks."""
        if fn not in _BINARIES:
            raise UnsupportedOpError(f"plain C has no {fn.value.name} of {dtype.value} yet", NOWHERE)
        return super().binary(fn, a, b, dtype)


def nest(emit: Emitter, axes: Sequence[Axis], body: Sequence[str]) -> list[str]:
    """Loops around a body."""
    names = [axis.symbol.name.removeprefix("%") for axis in axes]
    heads = [
        f"for (int64_t {name} = 0; {name} < {emit.dim_scalar(axis.extent)}; ++{name}) {{"
        for name, axis in zip(names, axes, strict=True)
    ]
    return [*(heads or ["{"]), *(INDENT + line for line in body), *("}" for _ in heads or [""])]


class Printer:
    """Prints the statements of one kernel."""

    def __init__(self) -> None:
        self.emit = Emitter(PlainSpelling())
        self.spell = self.emit.spell

    def rows(self, kernel: RowKernel) -> list[str]:
        """A loop over rows, which is one if there are none, and in it the stages."""
        self.emit.row_scope = 1
        with self.emit.inside("%row", *(axis.symbol.name for axis in kernel.rows)) as scope:
            for number, axis in enumerate(kernel.rows):
                inner = self.emit.dim_scalar(product(a.extent for a in kernel.rows[number + 1 :]))
                text = f"row / {inner} % {self.emit.dim_scalar(axis.extent)}"
                scope.lines.append(f"const int64_t {axis.symbol.name.removeprefix('%')} = {text};")
            for stage in kernel.stages:
                scope.block(self.stage(stage))
        loop = ["for (int64_t row = begin; row < end; ++row) {", *(INDENT + line for line in scope.lines), "}"]
        return [*self._pointers(kernel.params), *self._scratch(kernel), *self.emit.scopes[0].lines, *loop]

    def _pointers(self, params: Sequence[Param]) -> list[str]:
        types = [self.spell.memory_type(param.dtype) for param in params]
        named = zip(types, params, strict=True)
        return [f"{kind}* const {param.name} = ({kind}*)buffers[{k}];" for k, (kind, param) in enumerate(named)]

    def _scratch(self, kernel: RowKernel) -> list[str]:
        lines, offset = list[str](), const(0)
        for one in kernel.scratch:
            kind = self.spell.memory_type(one.dtype)
            start = self.emit.dim_scalar(offset)
            lines.append(f"{kind}* const {one.name} = ({kind}*)((char*)scratch + {start});")
            offset += one.size * 8
        return lines

    def stage(self, stage: Stage) -> list[str]:
        """Loops over the axes that are kept, and in them those that are reduced."""
        self.emit.count_uses(stage_formulas(stage))
        pairs = list(zip(stage.axes, stage.reduced, strict=True))
        kept = [axis for axis, is_reduced in pairs if not is_reduced or not stage.reductions]
        reduced = [axis for axis, is_reduced in pairs if is_reduced and stage.reductions]
        if stage.reductions and not kept:
            return self._reduced(stage, reduced)
        with self.emit.inside(*(axis.symbol.name for axis in kept)) as scope:
            scope.block(self._reduced(stage, reduced) if stage.reductions else [])
            if not stage.reductions:
                self.stores(stage.stores, scope)
        return nest(self.emit, kept, scope.lines)

    def stores(self, stores: Sequence[Store], scope: Scope) -> None:
        """Put values into memory."""
        for store in stores:
            value, at = self.emit.value(store.value), self.emit.dim_scalar(store.offset)
            scope.lines.append(self.spell.store(store.target.name, at, value, store.target.dtype))

    def _reduced(self, stage: Stage, axes: Sequence[Axis]) -> list[str]:
        """Carries before the loops, which stay visible after them."""
        emit, outer = self.emit, len(self.emit.scopes) - 1
        carried = [
            (carry, emit.value(init)) for r in stage.reductions for carry, init in zip(r.carries, r.init, strict=True)
        ]
        lines = [f"{self.spell.value_type(carry.dtype)} {carry.name} = {start};" for carry, start in carried]
        names = [carry.name for carry, _ in carried]
        with emit.inside(*(axis.symbol.name for axis in axes), *names) as scope:
            self.stores(stage.stores, scope)
            for reduction in stage.reductions:
                self._update(reduction, scope)
        lines += nest(emit, axes, scope.lines)
        for name in names:
            emit.bind(name, outer)
        with emit.inside(*names) as after:
            for reduction in stage.reductions:
                self.stores(reduction.stores, after)
        return [*lines, *after.lines]

    def _update(self, reduction: Reduction, scope: Scope) -> None:
        emit, inside = self.emit, len(self.emit.scopes) - 1
        for name, element in zip(reduction.inputs, reduction.elements, strict=True):
            scope.lines.append(f"const {self.spell.value_type(name.dtype)} {name.name} = {emit.value(element)};")
            emit.bind(name.name, inside)
        pairs = [(c.name, emit.value(new)) for c, new in zip(reduction.carries, reduction.update, strict=True)]
        scope.lines += [f"const auto next_{name} = {text};" for name, text in pairs]
        scope.lines += [f"{name} = next_{name};" for name, _ in pairs]

    def dot(self, kernel: DotKernel) -> list[str]:
        """A loop over depth for each element of each product of the batch."""
        emit, kind = self.emit, self.spell.value_type(kernel.accumulator.dtype)
        lines = [f"{kind} accumulator = 0;"]
        a, b = kernel.a, kernel.b
        assert isinstance(a, MatrixView), "abilities name no prologues"
        assert isinstance(b, MatrixView), "abilities name no prologues"
        axes = (*kernel.batch, kernel.row, kernel.column)
        with emit.inside(*(axis.symbol.name for axis in axes)) as scope:
            row, column = (axis.symbol.name.removeprefix("%") for axis in (kernel.row, kernel.column))
            places = [
                (a, self._place(a, (row, a.row_stride), ("k", a.column_stride))),
                (b, self._place(b, ("k", b.row_stride), (column, b.column_stride))),
            ]
            depth = emit.dim_scalar(kernel.depth)
            term = " * ".join(f"{view.source.name}[{place}]" for view, place in places)
            lines += [f"for (int64_t k = 0; k < {depth}; ++k) accumulator += {term};"]
            name = kernel.accumulator.name
            lines.append(f"const {kind} {name} = accumulator;")
            emit.bind(name, len(emit.scopes) - 1)
            scope.lines += lines
            self.stores(kernel.epilogue, scope)
        return [*self._pointers(kernel.params), *emit.scopes[0].lines, *nest(emit, axes, scope.lines)]

    def _place(self, view: MatrixView, *steps: tuple[str, Dim]) -> str:
        """The offset of an element: a variable and a stride for each of its two indices."""
        terms = [f"{name} * {self.emit.dim_scalar(stride)}" for name, stride in steps]
        return " + ".join([self.emit.dim_scalar(view.offset), *terms])


def _no_library(_routine: Routine) -> tuple[str, str]:
    return "host_routine", "SciPy"


LIBRARIES = HostLibraries("plain", "SciPy's pocketfft", _no_library)


@dataclass(slots=True)
class PlainLowering:
    """The kernels of one program."""

    abilities: ClassVar[Abilities] = Abilities(
        machine=Machine(additions_per_byte=1, launch=1e4, workers=1, row_bytes=1 << 15, short_row=1e4),
        convolutions=frozenset[ProductTypes](),
    )
    program: Program
    producers: Producers
    texts: dict[str, str] = field(default_factory=dict[str, str])  # a kernel, with NAME for its name -> its name

    def lower(self, group: Group) -> LaunchRef:
        """Print the kernel of a group. Raises `UnsupportedOpError` for a kind that there are no loops for."""
        if (call := host_call(group, LIBRARIES)) is not None:
            return call
        printer = Printer()
        match group.kind:
            case GroupKind.ROWS:
                seams = Seams(maps=False, hidden=False, strips=False)
                built = build_row_kernel(group, self.program.facts, self.producers, seams)
                kernel, tensors = verified(built, group)
                scratch = total(one.size for one in kernel.scratch) * 8
                extent = product(axis.extent for axis in kernel.rows)
                return self._launch(group, printer, printer.rows(kernel), tensors, extent, scratch)
            case GroupKind.DOT:
                dot, tensors = verified(build_dot(group, self.program.facts, self.producers), group)
                return self._launch(group, printer, printer.dot(dot), tensors, const(1), const(0))
            case _:
                raise UnsupportedOpError(f"plain C has no loops for a {group.kind.value} yet", group.ops[0].span)

    def _launch(
        self, group: Group, printer: Printer, body: list[str], tensors: tuple[Tensor, ...], extent: Dim, scratch: Dim
    ) -> KernelRef:
        sizes = tuple(printer.emit.sizes)
        lines = [f"const int64_t {size_name(name)} = dims[{k}];" for k, name in enumerate(sizes)]
        head = [comment(group), f"void {NAME}(void* runtime, void** buffers, const int64_t* dims,"]
        head.append(f"{INDENT * 2}int64_t begin, int64_t end, void* scratch) {{")
        text = "\n".join([*head, *(INDENT + line for line in (*lines, *body)), "}", ""])
        name = self.texts.setdefault(text, f"{title(group)}_{len(self.texts)}")
        return KernelRef(Launch(name, (), sizes, extent, const(1), scratch), tensors)

    def sources(self, most: int) -> tuple[SourceFile, ...]:
        """All kernels in one file."""
        del most
        texts = [text.replace(NAME, name) for text, name in self.texts.items()]
        return (SourceFile("kernels.c", "\n".join([HEADER, *texts])),)


def _start(program: Program, producers: Producers, _scheduling: Scheduling) -> PlainLowering:
    require_types(program, PlainSpelling.memory, "plain C")
    return PlainLowering(program, producers)


def _no_host(_program: Program, _host: HostProgram) -> str:
    return "// The steps are executed one by one.\n"


GENERATOR = CodeGenerator(spelling=PlainSpelling, first=(), last=(), start=_start, print_host=_no_host)


@dataclass(frozen=True, slots=True)
class PlainBackend:
    """This machine's CPU, by gcc."""

    gcc: str
    target: str = "plain"

    def load(self, artifact: Artifact, options: CompileOptions, seconds: Mapping[str, float] | None = None) -> Runnable:
        """Compile the kernels, and let the VM launch them."""
        del seconds
        return load(artifact, lambda part: self._executable(part, options))

    def _executable(self, artifact: Artifact, options: CompileOptions) -> CpuExecutable:
        with tempfile.TemporaryDirectory() as folder:
            source, target = Path(folder) / "kernels.c", Path(folder) / "kernels.so"
            source.write_text(artifact.kernels[0].text)
            command = [self.gcc, "-std=gnu17", "-O1", "-fwrapv", "-shared", "-fPIC", str(source), "-o", str(target)]
            done = subprocess.run([*command, "-lm"], capture_output=True, text=True, check=False)
            if done.returncode:
                raise ToolchainError(f"gcc does not compile the kernels:\n{done.stderr}\n{artifact.kernels[0].text}")
            program = open_program(target)
        builder = Builder(find_compiler(options.compiler), options.optimize, open_cache(options.cache_dir))
        runtime = open_runtime(builder.runtime, 1)
        executable = CpuExecutable(artifact, program, runtime, Vm(artifact, program, runtime))
        executable.seconds = {"load": 0.0, "build": 0.0}
        return executable


def _open(_options: CompileOptions) -> PlainBackend:
    if (gcc := shutil.which("gcc")) is None:
        raise ToolchainError("found no gcc, which compiles plain C")
    return PlainBackend(gcc)


PLAIN = Target("plain", "cpu", lambda: GENERATOR, _open, lambda: False)
