"""The emulated driver: cuBLAS' product, copies, fills and graphs do what CUDA's do, and check their addresses."""

from __future__ import annotations

import ctypes
from itertools import product
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from shlo_disc.device.headers import integer_macros
from shlo_disc.runtime.cuda.table import CUBLAS_ERROR, Functions
from tests.emulator.device import Array, EmulatedArray, EmulatedDevice
from tests.emulator.run import poisoned

pytestmark = pytest.mark.quick

MACROS = integer_macros("call/driver.h")

BF16 = ml_dtypes.bfloat16
# Inputs, output, compute type; how far a sum of 5 products may be off.
TYPES = (
    (np.float32, np.float32, "f32", 1e-6),
    (np.float32, np.float32, "tf32", 3e-3),
    (np.float64, np.float64, "f64", 1e-14),
    (np.float16, np.float16, "f32", 2e-3),
    (np.float16, np.float32, "f32", 1e-6),
    (BF16, BF16, "f32", 2e-2),
    (BF16, np.float32, "f32", 1e-6),
    (np.complex64, np.complex64, "f32", 1e-6),
    (np.complex128, np.complex128, "f64", 1e-14),
)


def random(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Array:
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def multiply(
    device: EmulatedDevice,
    matrices: tuple[EmulatedArray, EmulatedArray, EmulatedArray],
    transposed: tuple[int, int],
    sizes: tuple[int, int, int],
    scalars: tuple[complex, complex],
    compute: str,
) -> int:
    """C = alpha A B + beta C for batches of column-major matrices: arrays of shape (batch, columns, rows)."""
    c = matrices[2]
    table = Functions(device.table(products=True))
    assert table.set_stream(table.cublas, table.stream) == 0
    real: Any = np.float64 if compute == "f64" else np.float32
    kind: Any = c.dtype if c.dtype.startswith("complex") else real
    alpha, beta = np.array(scalars[0], kind), np.array(scalars[1], kind)
    parts: list[tuple[int, ...]] = [
        (x.pointer, MACROS[f"SHLO_CUDA_{x.dtype}"], x.shape[2], x.shape[1] * x.shape[2]) for x in matrices
    ]
    return table.gemm(
        table.cublas, *transposed, *sizes, alpha.ctypes.data, *parts[0], *parts[1], beta.ctypes.data, *parts[2],
        len(c.numpy()), MACROS[f"SHLO_CUBLAS_{compute}"], -1,
    )  # fmt: skip


@pytest.mark.parametrize(("inputs", "output", "compute", "tolerance"), TYPES)
@pytest.mark.parametrize("transposed", [*product((0, 1), (0, 1))])
def test_product(inputs: Any, output: Any, compute: str, tolerance: float, transposed: tuple[int, int]) -> None:
    rng, device = np.random.default_rng(0), EmulatedDevice()
    m, n, k, batch = 3, 4, 5, 2
    a = random(rng, (batch, *((m, k + 1) if transposed[0] else (k, m + 1))), inputs)  # columns are one element longer
    b = random(rng, (batch, *((k, n + 2) if transposed[1] else (n, k + 2))), inputs)
    c = random(rng, (batch, n, m), output)
    placed = device.array(a), device.array(b), device.array(c)
    alpha, beta = 0.5, 2.0
    assert multiply(device, placed, transposed, (m, n, k), (alpha, beta), compute) == 0
    wide = np.complex128 if c.dtype.kind == "c" else np.float64
    left = a.astype(wide)[..., :k] if transposed[0] else a.astype(wide)[..., :m].transpose(0, 2, 1)
    right = b.astype(wide)[..., :n].transpose(0, 2, 1) if transposed[1] else b.astype(wide)[..., :k]
    right = right.transpose(0, 2, 1)
    wanted = alpha * left @ right + beta * c.astype(wide).transpose(0, 2, 1)
    found = placed[2].numpy().astype(wide).transpose(0, 2, 1)
    assert np.abs(found - wanted).max() <= tolerance * np.abs(wanted).max()


def test_nan_comes_through_a_product_and_beta_0_does_not_read() -> None:
    device = EmulatedDevice()
    a = np.ones((1, 2, 2), np.float32)
    a[0, 0, 0] = np.nan
    placed = (
        device.array(a),
        device.array(np.zeros((1, 2, 2), np.float32)),
        device.array(poisoned((1, 2, 2), np.float32)),
    )
    assert multiply(device, placed, (0, 0), (2, 2, 2), (1, 0), "f32") == 0
    np.testing.assert_array_equal(placed[2].numpy(), [[[np.nan, 0], [np.nan, 0]]])


def test_a_product_outside_of_its_buffers_is_refused() -> None:
    device = EmulatedDevice()
    placed = tuple(device.array(np.ones((1, 2, 2), np.float32)) for _ in range(3))
    assert multiply(device, (placed[0], placed[1], placed[2]), (0, 0), (2, 3, 2), (1, 0), "f32") == 13
    assert "not inside of its buffer" in device.explain_error(CUBLAS_ERROR + 13)
    assert multiply(device, (placed[0], placed[1], placed[2]), (0, 0), (3, 2, 2), (1, 0), "f32") == 7
    mixed = placed[0], device.array(np.ones((1, 2, 2), np.float64)), placed[2]
    assert multiply(device, mixed, (0, 0), (2, 2, 2), (1, 0), "f32") == 15


def test_copies_fills_and_reads() -> None:
    device = EmulatedDevice()
    a, b = device.array(np.arange(6, dtype=np.int32)), device.array(np.zeros(6, np.int32))
    table = Functions(device.table(products=False))
    assert table.copy(b.pointer, a.pointer, 24, table.stream) == 0
    assert table.fill(b.pointer + 4, 255, 4, table.stream) == 0
    np.testing.assert_array_equal(b.numpy(), [0, -1, 2, 3, 4, 5])
    number = ctypes.c_int32()
    assert table.read(ctypes.addressof(number), b.pointer + 8, 4, table.stream) == 0
    assert table.synchronize(table.stream) == 0
    assert number.value == 2
    assert table.copy(b.pointer, a.pointer, 25, table.stream) == 700
    assert table.fill(b.pointer + 4, 0, 24, table.stream) == 700
    assert table.read(ctypes.addressof(number), b.pointer + 24, 4, table.stream) == 700
    assert "not inside of a buffer" in device.explain_error(700)


def test_a_graph_runs_when_it_is_launched() -> None:
    device = EmulatedDevice()
    a = device.array(np.zeros(4, np.uint8))

    def run(address: int) -> None:
        table = Functions(address)
        assert table.fill(a.pointer, 7, 4, table.stream) == 0
        assert table.synchronize(table.stream) == 900

    graph = device.capture(run, products=False)
    np.testing.assert_array_equal(a.numpy(), 0)
    graph.launch()
    np.testing.assert_array_equal(a.numpy(), 7)
