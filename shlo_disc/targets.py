"""The table of targets."""

from __future__ import annotations

from typing import assert_never, get_args

from shlo_disc.artifact import DeviceKind
from shlo_disc.host.target import Target

TARGET_NAMES: tuple[DeviceKind, ...] = get_args(DeviceKind)


def target_named(name: DeviceKind) -> Target:
    """A target; its modules are loaded when it is asked for, so that nobody waits for one that is not used."""
    match name:
        case "cpu":
            from shlo_disc.lower_cpu.target import CPU  # noqa: PLC0415

            return CPU
        case "cuda":
            from shlo_disc.lower_cuda.target import CUDA  # noqa: PLC0415

            return CUDA
        case _:
            assert_never(name)
