"""How XLA runs programs for the CPU: by `xla_handler.cc`."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_void_p
from pathlib import Path
from typing import TYPE_CHECKING

from shlo_disc.diagnostics import InternalError
from shlo_disc.runtime.xla.platform import Shape, SizedProgram, XlaPlatform

if TYPE_CHECKING:
    from shlo_disc.runtime.cpu.executable import CpuExecutable

PLATFORM = XlaPlatform("cpu", "cpu", calls_python=True)


class _HostProgram(ctypes.Structure):
    """`ShloXlaHostProgram` of xla_handler.cc."""

    _fields_ = [("code", c_void_p), ("runtime", c_void_p)]


class CpuXlaProgram:
    """An `XlaProgram` on the CPU."""

    platform = PLATFORM

    def __init__(self, executable: CpuExecutable) -> None:
        self._executable = executable

    @property
    def refusal(self) -> str | None:
        if self._executable.native is None:
            return "Python runs the program step by step, or traces its calls"
        return None

    def handlers(self, interface: str) -> Path:
        if self._executable.xla_handlers is None:
            raise InternalError("found a program without a compiler, expected one that `build` made")
        return self._executable.xla_handlers(interface)

    def result_shapes(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        return self._executable.planned(shapes).shapes

    def at(self, shapes: Sequence[Shape]) -> SizedProgram:
        executable = self._executable
        native, binding, plan = executable.native, executable.binding, executable.planned(shapes)
        if native is None:
            raise InternalError("found a program that Python runs, expected one that C runs")
        return SizedProgram(
            plan.shapes, binding.addresses, native.constants, plan.registers, plan.arena_bytes,
            _HostProgram(native.code, executable.runtime.address), (executable, binding, native, plan),
        )  # fmt: skip
