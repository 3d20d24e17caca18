"""Load a program for a GPU: compile its host program and its kernels, or find them in the cache."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cuda.device import Device, IndexType
from shlo_disc.runtime.cuda.driver import GpuDriver, GpuHostDriver, GpuVm, has_products
from shlo_disc.runtime.cuda.executable import GpuExecutable
from shlo_disc.runtime.cuda.graphs import GraphCache
from shlo_disc.runtime.cuda.kernel_sets import KernelSets
from shlo_disc.runtime.cuda.launch_table import Chooser, cheapest
from shlo_disc.runtime.library import open_program

# The host program is long and does little: unoptimized it takes nanoseconds of a launch's microseconds, and T5's
# compiles in 0.24 s instead of 1.8 s.
XLA_HANDLER = "call/xla_cuda_handler.cc"
_HOST_OPTIMIZE = 0


def build_gpu(
    artifact: Artifact,
    options: CompileOptions,
    device: Device,
    seconds: Mapping[str, float] | None = None,
    *,
    chooser: Chooser = cheapest,
    index: IndexType | None = None,
) -> GpuExecutable:
    """Compile an artifact's host program and kernels, or find them in the cache, and load them.

    Without a C++ compiler the VM takes the host program's place, unless the user names a compiler.
    """
    started = time.perf_counter()
    kernels = KernelSets(artifact, device, chooser)
    with ThreadPoolExecutor(1) as side:  # the host program is compiled while the kernels are
        hosting = side.submit(_driver, artifact, options, device)
        kernels.of(index or "int32_t")
        driver, note = hosting.result()
    built = time.perf_counter()
    graphs = GraphCache() if options.graphs else None
    executable = GpuExecutable(artifact, device, driver, kernels, graphs=graphs, index=index)
    missing = has_products(artifact) and not device.has_cublas
    library = "cuBLAS is missing: all matrix products run on generated kernels" if missing else ""
    executable.notes = tuple(filter(None, (note, library)))
    loaded = time.perf_counter()
    executable.seconds = {**(seconds or {}), "build": built - started, "load": loaded - built}
    return executable


def _driver(artifact: Artifact, options: CompileOptions, device: Device) -> tuple[GpuDriver, str]:
    """The driver that queues the commands, and why it is not the one that the options name."""
    vm = GpuVm(artifact, device)
    if options.driver == "vm":
        return vm, ""
    try:
        compiler = find_compiler(options.compiler, options.compiler_seconds)
    except ToolchainError as error:
        if options.compiler is not None:
            raise
        return vm, f"the host program runs on the VM, which takes longer per launch: {error}"
    builder = Builder(compiler, _HOST_OPTIMIZE, open_cache(options.cache_dir))
    try:
        program = open_program(builder.host_program(artifact))
    except FileNotFoundError:  # another process has just trimmed the cache
        program = open_program(builder.host_program(artifact))
    handlers = partial(replace(builder, optimize=options.optimize).xla_handlers, XLA_HANDLER)
    return GpuHostDriver(artifact, program, device, handlers), ""
