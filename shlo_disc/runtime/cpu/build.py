"""Compile the code of a program for the CPU, and load it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from shlo_disc.artifact import Artifact
from shlo_disc.bytecode import encode
from shlo_disc.bytecode.binary import to_bytes
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.machines import TargetMachine
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.executable import CpuExecutable, assemble
from shlo_disc.runtime.cpu.saved_code import XLA_HANDLER
from shlo_disc.runtime.dispatch import Log
from shlo_disc.runtime.library import open_program
from shlo_disc.runtime.saved_code import MachineCode, PartCode
from shlo_disc.runtime.threads import available_threads


def build(
    artifact: Artifact,
    options: CompileOptions | None = None,
    seconds: Mapping[str, float] | None = None,
    pool: Executor | None = None,
    log: Log | None = None,
) -> CpuExecutable:
    """Compile an artifact's code, in the threads of a pool, or find it in the cache, and load it.

    `seconds` are those of the earlier stages; `build` and `load` are added. `log` gets the schedules that calls take.
    """
    options = CompileOptions() if options is None else options
    started = time.perf_counter()
    compiler = find_compiler(options.compiler, options.compiler_seconds)
    builder = Builder(compiler, options.optimize, open_cache(options.cache_dir), pool)
    path = builder.program(artifact)
    built = time.perf_counter()
    try:
        program = open_program(path)
    except FileNotFoundError:  # another process has just trimmed the cache
        program = open_program(builder.program(artifact))
    executable = assemble(artifact, program, builder.runtime, options, log)
    executable.xla_handlers = partial(replace(builder, pool=None).xla_handlers, XLA_HANDLER)
    loaded = time.perf_counter()
    executable.seconds = {**(seconds or {}), "build": built - started, "load": loaded - built}
    return executable


def compile_code(artifact: Artifact, options: CompileOptions, machine: TargetMachine) -> MachineCode:
    """Compile a program for a machine, or find its code in the cache. Raises `ToolchainError`."""
    compiler = find_compiler(options.compiler, options.compiler_seconds, machine)
    with ThreadPoolExecutor(available_threads()) as pool:
        builder = Builder(compiler, options.optimize, open_cache(options.cache_dir), pool)
        parts = [PartCode(builder.code(builder.program(part)), to_bytes(encode(part))) for part in artifact.parts]
        return MachineCode(tuple(parts), builder.code(builder.runtime()))
