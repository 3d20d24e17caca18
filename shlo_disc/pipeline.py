"""The whole compiler, in the order it runs."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

from shlo_disc.analysis.formula import producers_of
from shlo_disc.artifact import Artifact, CompileOptions, SourceFile
from shlo_disc.codegen.assemble import assemble
from shlo_disc.codegen.explain import explain
from shlo_disc.codegen.host import plan_host
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.legalize import legalize
from shlo_disc.exported import Signature, is_exported, read_exported
from shlo_disc.lower_cpu.host import print_host
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.parse.bytecode import read_program
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from shlo_disc.runtime.cache import Cache, digest, package_digest
from shlo_disc.runtime.executable import Executable, Stats, build
from shlo_disc.runtime.interop import kind_of_call, like

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


def compile_text(text: str, file: str, names: tuple[str, ...], options: CompileOptions, watch: Stopwatch) -> Artifact:
    """StableHLO text to an artifact: parse, prove, fuse, generate."""
    with watch.stage("parse"):
        module = parse_module(text, file)
    with watch.stage("legalize"):
        program = legalize(module, names)
    with watch.stage("passes"):
        for step in PASSES:
            program = step.run(program)
    producers = producers_of(program.body)
    lowering = CpuLowering(program, producers)
    with watch.stage("fuse and generate"):
        host = plan_host(program, producers, lowering.lower, merge=options.fusion == "full")
        driver = SourceFile("host", print_host(program, host))
        kernels = lowering.sources(KERNEL_FILES)
    known = names or tuple(f"argument {k}" for k in range(len(program.parameters)))
    return assemble(program, host, kernels, driver, known, explain(program, host))


class Compiled:
    """A program that runs at any shape. Call it like the function that was exported.

    From StableHLO text it takes flat arrays and returns a tuple. JAX arrays in give JAX arrays out, else NumPy.
    """

    def __init__(self, executable: Executable, signature: Signature | None) -> None:
        self._executable = executable
        self._signature = signature

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run. Raises `RuntimeShapeError` or `ArgumentTypeError` before anything is written."""
        signature = self._signature
        if signature is None:
            if kwargs:
                raise TypeError(f"found keyword arguments {sorted(kwargs)}, expected positional arrays only")
            leaves: Sequence[Any] = args
        else:
            leaves = signature.flatten(args, kwargs)
        kind = kind_of_call(leaves)
        results = self._executable(leaves)
        if kind != "numpy":
            results = tuple(like(kind, r) for r in results)
        return tuple(results) if signature is None else signature.unflatten(results)

    @property
    def stats(self) -> Stats:
        """Compilations, calls, distinct signatures, and seconds in each stage of the compiler."""
        return self._executable.stats

    @property
    def kernels_source(self) -> str:
        """The generated kernels (C++)."""
        return "\n".join(file.text for file in self._executable.artifact.kernels)

    @property
    def host_source(self) -> str:
        """The generated host program (C++)."""
        return self._executable.artifact.host.text

    @property
    def executable(self) -> Executable:
        """The flat program: arrays in, NumPy arrays out; `trace` observes it step by step."""
        return self._executable

    def explain(self) -> str:
        """Sizes and facts, fusion groups, and the reason for each merge and each refusal."""
        return self._executable.artifact.explanation


def compile_program(program: Any, *, device: str | None = None, options: CompileOptions | None = None) -> Compiled:
    """Compile a StableHLO program once, for every shape.

    `program`: a `jax.export.Exported`, StableHLO text, a path to it, or MLIR bytecode (read through jaxlib). `device`:
    None picks the best there is; today that is "cpu". Raises `ParseError`, `VerifyError`, `UnsupportedOpError` with the
    place in the source, `ToolchainError` if there is no C++ compiler.
    """
    options = options or CompileOptions()
    if device not in (None, "cpu"):
        raise ShloDiscError(f"found device {device!r}, expected None or 'cpu'")
    watch = Stopwatch()
    signature: Signature | None = None
    with watch.stage("read"):
        if is_exported(program):
            text, file, signature = read_exported(program)
            file = f"<{file}>"
        else:
            text, file = read_program(program)
    names = () if signature is None else tuple(signature.names[k] for k in signature.kept)
    cache = Cache(options.cache_dir)
    key = digest(text, file, repr(names), repr(options.fusion), package_digest())
    artifact = cache.load_artifact(key)
    if artifact is None:
        artifact = compile_text(text, file, names, options, watch)
        cache.store_artifact(key, artifact)
    with watch.stage("build and load"):
        executable = build(artifact, options)
    executable.seconds = dict(watch.seconds)
    return Compiled(executable, signature)
