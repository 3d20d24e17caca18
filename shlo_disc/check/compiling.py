"""Ways to compile a program and to call the result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal, TypeAlias

from shlo_disc.artifact import Artifact
from shlo_disc.check.calls import Array, repeated, twice
from shlo_disc.check.dividing import DividingPool
from shlo_disc.check.names import POOLS
from shlo_disc.check.rounding import NAN_SIGNS, perturbed_runs
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.ir.core import Module
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions, Hints
from shlo_disc.parse.printer import print_module
from shlo_disc.pipeline import Request, Stopwatch, compile_module
from shlo_disc.records import record
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.partitions import PartitionedExecutable, Runnable, load
from shlo_disc.target_names import HOST
from shlo_disc.targets import target_named

Run: TypeAlias = Callable[[Sequence[Any]], Sequence[Any]]  # from arrays to array-likes
Prepare: TypeAlias = Callable[[Module], Run]

_KEPT = 16
_MOST_THREADS = max(POOLS.values())


@record
class BuildConfig:
    """The target and the options of a compilation. `donates`: a call may overwrite all arguments."""

    options: CompileOptions
    device: str = HOST
    donates: bool = False

    def executable(self, module: Module, driver: Literal["c", "vm"] = "c", threads: int | None = None) -> Runnable:
        """Load the program to run on `threads` threads, at most as many as it is compiled for.

        Raises `ToolchainError` if there is no such device.
        """
        options = replace(self.options, driver=driver, threads=threads or self.options.threads)
        return target_named(self.device).open(options).load(_artifact_of(module, self), options)

    def divided(self, module: Module) -> Runnable:
        """Load the program on a pool that cuts launches into chunks and runs these in random order."""
        pool = DividingPool(self.options.threads or 1)

        def build_part(part: Artifact) -> CpuExecutable:
            return pool.executable(part, build(part, self.options))

        return load(_artifact_of(module, self), build_part)


@lru_cache(_KEPT)
def _artifact_of(module: Module, config: BuildConfig) -> Artifact:
    """Compile the program for both drivers, with the schedules known for this machine."""
    hints = Hints(donated=tuple(range(len(module.functions["main"].body.arguments)))) if config.donates else Hints()
    options = config.options
    known = target_named(config.device).scheduling(options, print_module(module))
    return compile_module(module, Request(config.device, options, hints=hints, scheduling=known), Stopwatch())


def compiled_ways(config: BuildConfig) -> dict[str, Prepare]:
    """The ways that need a compiler; those of threads and donation only for targets with a thread pool."""
    shared = replace(config, options=replace(config.options, threads=_MOST_THREADS))
    unfused = replace(config, options=replace(config.options, fusion="none"))
    donating = replace(config, donates=True)
    ways: dict[str, Prepare] = {
        "compiled": lambda module: _twice(module, config.executable(module)),
        "vm": lambda module: config.executable(module, "vm").mirror,
        "unfused": lambda module: _twice(module, unfused.executable(module)),
    }
    if target_named(config.device).has_thread_pool:
        ways |= {name: _on_threads(shared, threads) for name, threads in POOLS.items()}
        ways["divided"] = lambda module: shared.divided(module).mirror
        ways["donated"] = lambda module: _twice(module, donating.executable(module), donates=True)
    return ways


def _on_threads(config: BuildConfig, threads: int) -> Prepare:
    return lambda module: _twice(module, config.executable(module, "c", threads))


def _twice(module: Module, executable: Runnable, *, donates: bool = False) -> Run:
    """Poison memory, call repeatedly and compare; arrays stay on a device, so that graphs are recorded.

    `donates`: arguments may be overwritten, also by partitions of the program, which have their own donations.
    """
    nan_signs = partial(_runs_of_nan_signs, module)
    if not executable.is_on_host and not isinstance(executable, PartitionedExecutable):
        return repeated(executable, nan_signs=nan_signs)
    return twice(executable.mirror, donates=donates, nan_signs=nan_signs)


def _runs_of_nan_signs(module: Module, inputs: Sequence[Array]) -> Sequence[Sequence[Array]]:
    """The results of the reference with both signs of NaNs; nothing if it cannot run."""
    with suppress(ShloDiscError):
        return perturbed_runs(legalize(module), inputs, NAN_SIGNS, "compiled")
    return ()
