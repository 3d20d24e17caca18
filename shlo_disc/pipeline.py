"""The whole compiler, in the order it runs."""

from __future__ import annotations

import os
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal, TypeAlias, cast

from shlo_disc.analysis.formula import producers_of
from shlo_disc.artifact import Artifact, CompileOptions, SourceFile
from shlo_disc.codegen.assemble import assemble
from shlo_disc.codegen.explain import explain
from shlo_disc.codegen.host import HostProgram, plan_host
from shlo_disc.diagnostics import ArgumentTypeError, ShloDiscError
from shlo_disc.dynamic_ops.legalize import legalize
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.exported import Signature, bind_platform, is_exported, read_exported
from shlo_disc.ir.core import Module
from shlo_disc.lower_cpu.host import print_host
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.parse.bytecode import read_program
from shlo_disc.parse.origins import naming_origins
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.passes import PASSES
from shlo_disc.passes.precision import demand_highest_precision
from shlo_disc.runtime.cache import digest, open_cache, package_digest
from shlo_disc.runtime.cuda import cuda_is_available, open_gpu
from shlo_disc.runtime.device import Device, IndexType
from shlo_disc.runtime.executable import Executable, Stats, build
from shlo_disc.runtime.gpu_executable import GpuExecutable, build_gpu
from shlo_disc.runtime.launch_table import Chooser, cheapest
from shlo_disc.verify.ops import verify

DeviceKind: TypeAlias = Literal["cpu", "cuda"]
KERNEL_FILES = 2  # compiled side by side; more files cost more in headers than they save


class Stopwatch:
    """Seconds spent in each named stage."""

    def __init__(self) -> None:
        self.seconds = dict[str, float]()

    @contextmanager
    def stage(self, name: str) -> Generator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


def compile_text(
    text: str,
    file: str,
    signature: Signature | None,
    options: CompileOptions,
    watch: Stopwatch,
    device: DeviceKind = "cpu",
) -> Artifact:
    """StableHLO text to an artifact: parse, verify, prove, fuse, generate."""
    with watch.stage("parse"):
        module = parse_module(text, file)
        if signature is not None:
            module = bind_platform(module, signature.platform)
    return compile_module(module, signature, options, watch, device)


def compile_module(
    module: Module, signature: Signature | None, options: CompileOptions, watch: Stopwatch, device: DeviceKind = "cpu"
) -> Artifact:
    """The same from a module on."""
    names = () if signature is None else signature.arguments
    with watch.stage("verify"):
        verify(module)
    with naming_origins(module), watch.stage("legalize"):
        program = legalize(module, names)
    with watch.stage("passes"):
        for step in PASSES:
            program = step.run(program)
        if options.matmul_precision == "highest":
            program = demand_highest_precision(program)
    with naming_origins(module), watch.stage("fuse and generate"):
        host, driver, kernels = _generate(program, device, merge=options.fusion == "full")
    known = names or tuple(f"argument {k}" for k in range(len(program.parameters)))
    return replace(assemble(program, host, kernels, driver, known, explain(program, host)), device=device)


def _generate(
    program: Program, device: DeviceKind, *, merge: bool
) -> tuple[HostProgram, SourceFile, tuple[SourceFile, ...]]:
    """The host program, its driver, and the kernels of one target."""
    if device == "cuda":
        return _generate_cuda(program, merge=merge)
    producers = producers_of(program.body)
    cpu = CpuLowering(program, producers)
    host = plan_host(program, producers, cpu.lower, cpu.abilities, merge=merge)
    return host, SourceFile("host", print_host(program, host)), cpu.sources(KERNEL_FILES)


def _generate_cuda(program: Program, *, merge: bool) -> tuple[HostProgram, SourceFile, tuple[SourceFile, ...]]:
    """The same for a GPU, whose modules are loaded here: who has none does not wait for them."""
    from shlo_disc.lower_cuda.host import print_host as print_cuda_host  # noqa: PLC0415
    from shlo_disc.lower_cuda.kernels import CudaLowering  # noqa: PLC0415

    producers = producers_of(program.body)
    cuda = CudaLowering(program, producers)
    host = plan_host(program, producers, cuda.lower, cuda.abilities, merge=merge)
    return host, SourceFile("host", print_cuda_host(program, host)), cuda.sources()


class Compiled:
    """A program that runs at any shape. Call it like the function that was exported.

    From StableHLO text it takes flat arrays and returns a tuple. The results are arrays of the library that the
    arguments are of: JAX, or on a GPU CuPy or Torch, if one of them is, else NumPy.
    """

    def __init__(self, executable: Executable | GpuExecutable, signature: Signature | None) -> None:
        self._executable = executable
        self._signature = signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run. Raises `RuntimeShapeError` or `ArgumentTypeError` before anything is written."""
        signature = self._signature
        if signature is not None:
            return signature.unflatten(self._executable.mirror(signature.flatten(args, kwargs)))
        if kwargs:
            raise ArgumentTypeError(f"found the keyword arguments {', '.join(kwargs)}, expected positional ones only")
        return self._executable.mirror(args)

    def __repr__(self) -> str:
        artifact = self._executable.artifact
        arguments = _few([f"{one.name}: {_typed(one.dtype, one.shape)}" for one in artifact.arguments])
        results = _few([_typed(one.dtype, one.shape) for one in artifact.results])
        return f"<Compiled {artifact.name}({arguments}) -> ({results})>"

    @property
    def stats(self) -> Stats:
        """Compilations, calls, distinct signatures, and seconds in each stage of the compiler."""
        return self._executable.stats

    @property
    def kernels_source(self) -> str:
        """The generated kernels (C++, or CUDA C++)."""
        return "\n".join(file.text for file in self._executable.artifact.kernels)

    @property
    def host_source(self) -> str:
        """The generated host program (C++)."""
        return self._executable.artifact.host.text

    @property
    def executable(self) -> Executable | GpuExecutable:
        """The flat program: arrays in, arrays of the device out; `trace` observes it step by step."""
        return self._executable

    def explain(self) -> str:
        """Sizes and facts, fusion groups, and the reason for each merge and each refusal."""
        return "\n".join([self._executable.artifact.explanation, *self._executable.notes])


def _typed(dtype: str, shape: Sequence[int | str]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _few(items: list[str]) -> str:
    return ", ".join(items if len(items) <= 8 else [*items[:6], f"and {len(items) - 6} more"])


def compile_program(program: Any, *, device: str | None = None, options: CompileOptions | None = None) -> Compiled:
    """Compile a StableHLO program once, for every shape.

    `program`: a `jax.export.Exported` (if it has several platforms, the branches of the device's count), StableHLO
    text, a path to it, MLIR bytecode (read through jaxlib), or a `Module`. `device`: "cpu", "cuda", or None for the
    best there is: a GPU if CuPy finds one. Raises `ParseError`, `VerifyError`, `UnsupportedOpError` with the place in
    the source, `ToolchainError` if a compiler, or for "cuda" a GPU or a library, is missing.
    """
    options = options or CompileOptions()
    _check_choices(device, options)
    wants_gpu = device == "cuda" or (device is None and cuda_is_available())
    return compile_for(open_gpu(options.cache_dir) if wants_gpu else None, program, options)


def compile_for(
    gpu: Device | None,
    program: Any,
    options: CompileOptions,
    *,
    chooser: Chooser = cheapest,
    index: IndexType | None = None,
) -> Compiled:
    """Compile for a GPU, or for this machine's CPU; `chooser` and `index` are those of `GpuExecutable`."""
    device: DeviceKind = "cpu" if gpu is None else "cuda"
    watch = Stopwatch()
    with watch.stage("read"):
        text, file, signature = _read(program, device)
    known = () if signature is None else (*signature.arguments, str(signature.platform))
    cache = open_cache(options.cache_dir)
    chosen = (options.fusion, options.matmul_precision, device)
    key = digest(text, file, repr(known), repr(chosen), package_digest())
    artifact = cache.load_artifact(key)
    if artifact is None:
        artifact = compile_text(text, file, signature, options, watch, device)
        cache.store_artifact(key, artifact)
    if gpu is None:
        return Compiled(build(artifact, options, watch.seconds), signature)
    return Compiled(build_gpu(artifact, options, gpu, watch.seconds, chooser=chooser, index=index), signature)


def _check_choices(device: str | None, options: CompileOptions) -> None:
    """Refuse a device or an option that does not exist."""
    choices: dict[str, tuple[object, tuple[object, ...]]] = {
        "device": (device, (None, "cpu", "cuda")),
        "driver": (options.driver, ("c", "vm")),
        "fusion": (options.fusion, ("full", "none")),
        "matmul_precision": (options.matmul_precision, ("default", "highest")),
        "optimize": (options.optimize, (0, 1, 2, 3)),
    }
    for name, (found, known) in choices.items():
        if found not in known:
            raise ShloDiscError(f"found {name} {found!r}, expected {' or '.join(map(repr, known))}")
    if options.threads is not None and options.threads < 1:
        raise ShloDiscError(f"found threads {options.threads}, expected None or at least 1")


def _read(program: Any, device: DeviceKind) -> tuple[str, str, Signature | None]:
    """The text, the name that errors call it by, and the pytrees of a program in any form."""
    if is_exported(program):
        text, name, signature = read_exported(program, device)
        return text, f"<{name}>", signature
    match program:
        case Module():
            return print_module(program, locations=True), "<module>", None
        case bytearray() | memoryview():
            return *read_program(bytes(cast("bytearray", program))), None
        case str() | bytes() | os.PathLike():
            return *read_program(cast("str", program)), None
        case _:
            raise ArgumentTypeError(
                f"found a program of type {type(program).__name__}, "
                "expected a jax.export.Exported, StableHLO text, a path to it, or MLIR bytecode\n"
                "  help: export a JAX function first: jax.export.export(jax.jit(function))(*specs)"
            )
