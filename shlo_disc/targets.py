"""The table of targets: what programs can be compiled for.

Another target registers itself: `register_target(Target(...))`. See docs/how-to/add-a-target.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from shlo_disc.host.code_generator import CodeGenerator
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.backend import Backend
from shlo_disc.runtime.cpu.backend import CpuBackend, known_scheduling
from shlo_disc.runtime.cuda.backend import open_backend
from shlo_disc.runtime.cuda.cupy_device import cuda_is_available
from shlo_disc.schedules.tables import UNKNOWN, Scheduling
from shlo_disc.target_names import HOST, add_target_name, check_target_name, target_names


def _unknown(_options: CompileOptions, _text: str) -> Scheduling:
    return UNKNOWN


@dataclass(frozen=True, slots=True)
class Target:
    """A kind of device: how code is generated for it, and how that runs.

    `generator` is called when a program is compiled, so that nobody waits for the modules of other targets. `platform`:
    JAX's name for it, by which the branches of exports for several platforms are chosen. `open`: the device of this
    machine; raises `ToolchainError` if there is none. `is_present`: whether a program without a device takes it.
    `has_thread_pool`: kernels are cut into tasks of a pool of threads. `scheduling`: what
    is known of the speed of products on this machine, for a program with this text.
    """

    name: str
    platform: str
    generator: Callable[[], CodeGenerator]
    open: Callable[[CompileOptions], Backend]
    is_present: Callable[[], bool]
    has_thread_pool: bool = False
    scheduling: Callable[[CompileOptions, str], Scheduling] = _unknown


_targets = dict[str, Target]()


def register_target(target: Target) -> None:
    """Add a target under its name. Raises `ShloDiscError` if the name is taken."""
    add_target_name(target.name)
    _targets[target.name] = target


def target_named(name: str) -> Target:
    """A target by its name. Raises `ShloDiscError` if there is none."""
    return _targets[check_target_name(name)]


def default_target() -> Target:
    """The target of programs that name none: the last one registered whose device is there."""
    return next(_targets[name] for name in reversed(target_names()) if _targets[name].is_present())


def _cpu() -> CodeGenerator:
    from shlo_disc.lower_cpu.code_generator import CPU  # noqa: PLC0415

    return CPU


def _cuda() -> CodeGenerator:
    from shlo_disc.lower_cuda.code_generator import CUDA  # noqa: PLC0415

    return CUDA


register_target(Target(HOST, "cpu", _cpu, lambda _: CpuBackend(), lambda: True, True, known_scheduling))
register_target(Target("cuda", "cuda", _cuda, open_backend, cuda_is_available))
