"""How XLA runs programs on a GPU: `xla_cuda_handler.cc` queues their commands on XLA's stream.

Functions of Python cannot be called there: they would need Python's lock in XLA's threads, and CuPy, on which they are
built, has its own streams and memory. Programs that call some are refused inside of functions that JAX traces.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_void_p
from pathlib import Path
from typing import TYPE_CHECKING

from shlo_disc.diagnostics import InternalError
from shlo_disc.runtime.cuda.driver import NativeGpuProgram
from shlo_disc.runtime.cuda.table import XlaDriver
from shlo_disc.runtime.library import pointers
from shlo_disc.runtime.xla.platform import Shape, SizedProgram, XlaPlatform

if TYPE_CHECKING:
    from shlo_disc.runtime.cuda.executable import GpuExecutable

PLATFORM = XlaPlatform("cuda", "CUDA", calls_python=False)


class _CudaProgram(ctypes.Structure):
    """`ShloXlaCudaProgram` of xla_cuda_handler.cc."""

    _fields_ = [
        ("run", c_void_p),
        ("driver", POINTER(XlaDriver)),
        ("functions", POINTER(c_void_p)),
        ("choices", POINTER(c_int32)),
        ("choices_anywhere", POINTER(c_int32)),
        ("has_products", c_int64),
        ("commands", POINTER(c_char_p)),
        ("nowhere", c_void_p),
    ]


class GpuXlaProgram:
    """An `XlaProgram` on a GPU."""

    platform = PLATFORM

    def __init__(self, executable: GpuExecutable, native: NativeGpuProgram | None) -> None:
        self._executable, self._native = executable, native

    @property
    def refusal(self) -> str | None:
        return "Python runs the program step by step" if self._native is None else None

    def handlers(self, interface: str) -> Path:
        return self._known.handlers(interface)

    def result_shapes(self, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
        return self._executable.plans.of_shapes(shapes).sizes.shapes

    def at(self, shapes: Sequence[Shape]) -> SizedProgram:
        executable, native = self._executable, self._known
        plan, held = executable.plans.of_shapes(shapes), executable.arguments.held
        arguments = range(len(executable.artifact.arguments))
        # Whether the arguments of a call are aligned is known when XLA makes it: there are choices for both cases.
        aligned = executable.kernels.chosen(plan, [held[k].pointer if k in held else 0 for k in arguments])
        anywhere = executable.kernels.chosen(plan, [held[k].pointer if k in held else 1 for k in arguments])
        kernels, driver = executable.kernels.of(plan.index), executable.device.xla_driver()
        commands = (c_char_p * len(native.commands))(*[label.encode() for label in native.commands])
        program = _CudaProgram(
            native.run, ctypes.pointer(driver), kernels.handles, _numbers(aligned), _numbers(anywhere),
            executable.has_products, commands, executable.nowhere.pointer,
        )  # fmt: skip
        return SizedProgram(
            plan.sizes.shapes, pointers([held[k].pointer if k in held else 0 for k in arguments]),
            executable.constant_places, plan.sizes.symbols, plan.sizes.arena_bytes, program,
            (executable, native, plan, kernels, driver, commands),
        )  # fmt: skip

    @property
    def _known(self) -> NativeGpuProgram:
        if self._native is None:
            raise InternalError("found a program that Python runs, expected one that C runs")
        return self._native


def _numbers(choices: Sequence[int]) -> ctypes.Array[c_int32]:
    return (c_int32 * max(1, len(choices)))(*choices)
