"""The table of targets that programs can be compiled for.

Another target is added by `register_target(Target(...))`. See docs/how-to/add-a-target.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from shlo_disc.options import CompileOptions
from shlo_disc.records import record
from shlo_disc.runtime.backend import Backend
from shlo_disc.runtime.building.machines import TargetMachine
from shlo_disc.runtime.cpu.backend import CpuBackend, known_scheduling
from shlo_disc.runtime.cpu.schedules import scheduling_for
from shlo_disc.runtime.cuda.detection import cuda_is_available
from shlo_disc.schedules.tables import UNKNOWN, Scheduling
from shlo_disc.target_names import HOST, add_target_name, check_target_name, remove_target_name, target_names

if TYPE_CHECKING:  # programs in the cache need no generator
    from shlo_disc.host.code_generator import CodeGenerator


def _unknown(_options: CompileOptions, _text: str) -> Scheduling:
    return UNKNOWN


def _as_here(_machine: TargetMachine, here: Scheduling) -> Scheduling:
    return here


@record
class Target:
    """A kind of device: how code is generated for it, and how that runs.

    Attributes:
        name: what users call it, as in `compile(..., device="cpu")`.
        platform: JAX's name for it, which picks the branches of exports for several platforms.
        generator: called when a program is compiled, so that modules of other targets are not imported.
        open: the device of this machine. Raises `ToolchainError` if there is none. Called when a program is loaded, so
            that the runtimes of other targets are not imported.
        is_present: whether programs that name no device may be compiled for it.
        version: distinguishes artifacts of different generators in the cache; None: artifacts are not cached.
        has_thread_pool: kernels are cut into tasks of a thread pool; `check` then tests other cuts, too.
        scheduling: what is known of the speed of products on this machine, for a program with this text.
        scheduling_for: the same of another machine, for which a program is saved, from what is known of this one.
    """

    name: str
    platform: str
    generator: Callable[[], CodeGenerator]
    open: Callable[[CompileOptions], Backend]
    is_present: Callable[[], bool]
    version: str | None = None
    has_thread_pool: bool = False
    scheduling: Callable[[CompileOptions, str], Scheduling] = _unknown
    scheduling_for: Callable[[TargetMachine, Scheduling], Scheduling] = _as_here


_VERSION = ""  # the digest of this package, in the key of every artifact, suffices


def register_target(target: Target) -> None:
    """Add a target under its name, in this process.

    Args:
        target: the record. Programs that name no device are compiled for it if its device is there (`is_present`).

    Raises:
        ShloDiscError: the name is taken.
    """
    add_target_name(target.name)
    _targets[target.name] = target


def unregister_target(name: str) -> None:
    """Remove a target. Programs that are compiled for it still run.

    Args:
        name: of the target.

    Raises:
        ShloDiscError: there is none of this name.
    """
    remove_target_name(name)
    del _targets[name]


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


def _open_cuda(options: CompileOptions) -> Backend:
    from shlo_disc.runtime.cuda.backend import open_backend  # noqa: PLC0415

    return open_backend(options)


_targets = {  # `target_names` has their names from the beginning
    target.name: target
    for target in (
        Target(
            HOST, "cpu", _cpu, lambda _: CpuBackend(), lambda: True, _VERSION, True, known_scheduling, scheduling_for
        ),
        Target("cuda", "cuda", _cuda, _open_cuda, cuda_is_available, _VERSION),
    )
}
