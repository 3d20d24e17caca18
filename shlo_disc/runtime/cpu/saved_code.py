"""Machine code that is compiled for other processes, and loaded there without a compiler."""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shlo_disc.artifact import Artifact
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.executable import CpuExecutable, assemble
from shlo_disc.runtime.dispatch import Log
from shlo_disc.runtime.host_code import host_code_of
from shlo_disc.runtime.library import code_in_memory, code_path, load_program
from shlo_disc.runtime.partitions import Runnable, load
from shlo_disc.runtime.saved_code import MachineCode

if TYPE_CHECKING:
    from shlo_disc.runtime.building.machines import TargetMachine

XLA_HANDLER = "call/xla_handler.cc"


def compile_code(artifact: Artifact, options: CompileOptions, machine: TargetMachine) -> MachineCode:
    """Compile a program for a machine, or find its code in the cache. Raises `ToolchainError`."""
    from shlo_disc.runtime.cpu.build import compile_code as compile_for  # noqa: PLC0415  compilers are not needed else

    return compile_for(artifact, options, machine)


def load_code(artifact: Artifact, code: MachineCode, options: CompileOptions) -> Runnable:
    """Make the code of a program ready to run.

    Raises `ToolchainError` if the system cannot load it, and `codec.DamagedError` if it is not the program's.
    """
    log = Log() if options.trace_selection else None
    parts = iter(code.parts)

    def loaded(part: Artifact) -> CpuExecutable:
        started = time.perf_counter()
        found = next(parts)
        host = host_code_of(part, found.host)
        program = load_program(found.kernels, part.name)
        executable = assemble(part, program, partial(_path, code.runtime), options, log, host)
        executable.xla_handlers = partial(_xla_handlers, options)
        executable.seconds = {"load": time.perf_counter() - started}
        return executable

    return load(artifact, loaded)


def _path(runtime: bytes) -> str:
    return code_path(code_in_memory(runtime, "runtime"))


def _xla_handlers(options: CompileOptions, interface: str) -> Path:
    """The functions that XLA calls: they are compiled against the headers of the JAX that is there."""
    from shlo_disc.runtime.building import build  # noqa: PLC0415  compilers are not needed otherwise
    from shlo_disc.runtime.building.cache import open_cache  # noqa: PLC0415
    from shlo_disc.runtime.building.toolchain import find_compiler  # noqa: PLC0415

    if (found := build.prebuilt_handlers(XLA_HANDLER, interface, options.optimize)) is not None:
        return found
    compiler = find_compiler(options.compiler, options.compiler_seconds)
    return build.Builder(compiler, options.optimize, open_cache(options.cache_dir)).xla_handlers(XLA_HANDLER, interface)
