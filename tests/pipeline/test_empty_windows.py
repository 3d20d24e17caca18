"""Convolutions whose windows have no elements are zeros, whatever was in the memory."""

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.pipeline import compile_for
from shlo_disc.runtime.cuda.backend import CudaBackend
from tests.emulator.device import EmulatedDevice

DTYPES = {"f32": "float32", "f64": "float64", "i8": "int8", "i32": "int32"}
# (batch, length, window): the result has length + 4 - window + 1 positions.
SIZES = ((2, 5, 3), (2, 1, 0), (3, 0, 0), (1, 700, 0), (40, 3, 0))


# Of input, window and result; each as the axes of `[b, 0, f]`, `[0, i, o]`, `[b, 0, f]`.
LAYOUTS = {
    "[b, 0, f]x[0, i, o]->[b, 0, f]": ((0, 1, 2), (0, 1, 2), (0, 1, 2)),
    "[f, 0, b]x[i, 0, o]->[0, b, f]": ((2, 1, 0), (1, 0, 2), (1, 0, 2)),
    "[b, f, 0]x[o, i, 0]->[b, f, 0]": ((0, 2, 1), (2, 1, 0), (0, 2, 1)),
}


def text(dtype: str, groups: int, layout: str) -> str:
    def spell(shape: tuple[str, ...], axes: tuple[int, ...]) -> str:
        return f"tensor<{'x'.join(shape[axis] for axis in axes)}x{dtype}>"

    given, window, result = LAYOUTS[layout]
    x, k, y = (
        spell(("?", "?", "8"), given), spell(("?", f"{8 // groups}", "12"), window), spell(("?", "?", "12"), result)
    )  # fmt: skip
    counts = f"{{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}"
    numbers = f"{layout}, window = {{pad = [[2, 2]]}}"
    return f"""func.func @main(%x: {x}, %k: {k}) -> {y} {{
      %0 = stablehlo.convolution(%x, %k) dim_numbers = {numbers} {counts} : ({x}, {k}) -> {y}
      return %0 : {y} }}"""


def expected(x: np.ndarray, k: np.ndarray, groups: int) -> np.ndarray:
    """The sums by their definition."""
    padded = np.pad(x, ((0, 0), (2, 2), (0, 0)))
    count = padded.shape[1] - k.shape[0] + 1
    found = np.zeros((x.shape[0], count, k.shape[2]), x.dtype)
    per_input, per_output = 8 // groups, 12 // groups
    for group in range(groups):
        inputs = padded[:, :, group * per_input : (group + 1) * per_input]
        outputs = slice(group * per_output, (group + 1) * per_output)
        for tap in range(k.shape[0]):
            found[:, :, outputs] += inputs[:, tap : tap + count] @ k[tap, :, outputs]
    return found


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("groups", [1, 2, 4])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_sums_of_nothing_are_zeros(dtype: str, groups: int, threads: int, layout: str) -> None:
    run = shlo_disc.compile(text(dtype, groups, layout), device="cpu", threads=threads)
    check(run, dtype, groups, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_on_the_emulator(layout: str) -> None:
    check(compile_for(CudaBackend(EmulatedDevice()), text("f32", 2, layout), CompileOptions()), "f32", 2, layout)


def check(run: shlo_disc.Compiled, dtype: str, groups: int, layout: str) -> None:
    rng = np.random.default_rng()
    given, kernel, result = LAYOUTS[layout]
    for batch, length, window in SIZES:
        x = rng.integers(-3, 3, (batch, length, 8)).astype(DTYPES[dtype])
        k = rng.integers(-3, 3, (window, 8 // groups, 12)).astype(DTYPES[dtype])
        wanted = expected(x, k, groups).transpose(result)
        for _ in range(3):
            (found,) = run(np.ascontiguousarray(x.transpose(given)), np.ascontiguousarray(k.transpose(kernel)))
            np.testing.assert_array_equal(found, wanted)
            found.fill(9)  # the next results lie in this memory
