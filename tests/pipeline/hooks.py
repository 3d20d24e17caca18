"""Programs with custom calls, the ways to run them, and what registers functions for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.emulator.device import EmulatedDevice

Floats = NDArray[np.float32]
Driver = Literal["c", "vm"]
DRIVERS: tuple[Driver, ...] = ("c", "vm")


def register(target: str, function: Callable[..., Any], *, out: bool = False) -> None:
    """Register a function of NumPy arrays for the CPU, and for the emulator, whose arrays are NumPy's too."""
    for device in ("cpu", "cuda"):
        shlo_disc.register_custom_call(target, function, device=device, out=out)


def by_driver(driver: Driver, text: str) -> Callable[..., Any]:
    return shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=driver))


def on_emulator(driver: Driver, text: str) -> Callable[..., Any]:
    options = CompileOptions(driver=driver, graphs=True)
    return compile_for(CudaBackend(EmulatedDevice()), text, options)


def by_interpreter(text: str) -> Callable[..., Any]:
    program = legalize(shlo_disc.parse(text))
    return lambda *arrays: tuple(interpret(program, arrays))


WAYS: Mapping[str, Callable[[str], Callable[..., Any]]] = {
    "c": lambda text: by_driver("c", text),
    "vm": lambda text: by_driver("vm", text),
    "cuda-c": lambda text: on_emulator("c", text),
    "cuda-vm": lambda text: on_emulator("vm", text),
    "interpreter": by_interpreter,
}
way = pytest.mark.parametrize("way", WAYS)
driver = pytest.mark.parametrize("driver", DRIVERS)


def call(operands: str, types: str, *, target: str = "target", config: str = "") -> str:
    return f"stablehlo.custom_call @{target}({operands}) {{{config}}} : {types}"


def program(op: str, argument: str = "tensor<2xf32>", result: str = "tensor<2xf32>") -> str:
    return f"func.func @main(%x: {argument}) -> {result} {{\n  %0 = {op}\n  return %0 : {result}\n}}\n"


SAME = program(call("%x", "(tensor<2xf32>) -> tensor<2xf32>"))
X = np.array([1, 2], np.float32)
