"""Conversions of narrow floats are exact on the emulator, and votes count what they should."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from shlo_disc.functions import numpy_math
from tests.emulator.device import SCHEDULES, Schedule
from tests.emulator.run import launch, poisoned
from tests.emulator.texts import HEAD, body

pytestmark = pytest.mark.quick

NARROW = (
    HEAD
    + """
extern "C" __global__ void narrow(const float* x, f16* h, bf16* b, const f16* halves, float* wide, const int64_t n) {
  for (int64_t k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += gridDim.x * blockDim.x) {
    assign(h + k, x[k]);
    assign(b + k, x[k]);
    if (k < 65536) wide[k] = value(halves[k]);
  }
}
"""
)


def test_narrow_floats_are_exact() -> None:
    rng = np.random.default_rng(0)
    count = 1 << 17
    scales = 10.0 ** rng.uniform(-9, 6, count // 2)
    random_bits = rng.integers(0, 2**32, count // 2, dtype=np.uint32).view(np.float32)
    x = np.concatenate([(rng.standard_normal(count // 2) * scales).astype(np.float32), random_bits])
    halves = np.arange(65536, dtype=np.uint16).view(np.float16)
    out = [poisoned((count,), np.uint16), poisoned((count,), np.uint16), halves, poisoned((65536,), np.float32)]
    _, h, b, _, wide = launch(NARROW, "narrow", 64, 256, [x, *out, count])
    known = ~np.isnan(x)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(h[known], x[known].astype(np.float16).view(np.uint16))
    np.testing.assert_array_equal(b[known], x[known].astype(ml_dtypes.bfloat16).view(np.uint16))
    assert np.isnan(h[~known].view(np.float16)).all()
    assert np.isnan(b[~known].view(ml_dtypes.bfloat16).astype(np.float32)).all()
    exact = ~np.isnan(halves)
    np.testing.assert_array_equal(wide[exact].view(np.uint32), halves[exact].astype(np.float32).view(np.uint32))
    assert np.isnan(wide[~exact]).all()


EXTREMES = (
    HEAD
    + """
template <class T>
__device__ void extremes(const T* a, const T* b, T* y, const int n) {
  const int k = threadIdx.x;
  if (k < n) y[k] = max_(a[k], b[k]), y[n + k] = min_(a[k], b[k]);
}
extern "C" __global__ void of_f32(const float* a, const float* b, float* y, const int n) { extremes(a, b, y, n); }
extern "C" __global__ void of_f64(const double* a, const double* b, double* y, const int n) { extremes(a, b, y, n); }
"""
)


@pytest.mark.parametrize(("kernel", "dtype"), [("of_f32", np.float32), ("of_f64", np.float64)])
def test_extremes_order_zeros_and_keep_nan(kernel: str, dtype: type[np.float32 | np.float64]) -> None:
    few = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan], dtype)
    a, b = np.repeat(few, few.size), np.tile(few, few.size)
    *_, y = launch(EXTREMES, kernel, 1, 64, [a, b, poisoned((2, a.size), dtype), a.size])
    for got, wanted in zip(y, (numpy_math.maximum(a, b), numpy_math.minimum(a, b)), strict=True):
        np.testing.assert_array_equal(got, wanted)
        np.testing.assert_array_equal(np.signbit(got[got == 0]), np.signbit(wanted[got == 0]))


VOTES = body(
    """  const int odd = __syncthreads_count(threadIdx.x & 1), all = __syncthreads_and(threadIdx.x < 64);
  const int any = __syncthreads_or(threadIdx.x == 70);
  const unsigned mask = __ballot_sync(~0u, threadIdx.x % 3 == 0);
  y[threadIdx.x] = odd + 100 * all + 1000 * any + 10000 * __popc(mask) +
                   (__any_sync(~0u, threadIdx.x == 5) ? 1e6f : 0) +
                   (__all_sync(~0u, threadIdx.x < 32) ? 5e6f : 0) + shuffle_up(0.25f * (threadIdx.x % 2), 1);"""
)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_votes_count_threads_and_lanes(schedule: Schedule) -> None:
    (y,) = launch(VOTES, "k", 1, 64, [np.zeros(64, np.float32)], schedule=schedule)
    lanes = np.arange(64)
    third = np.array([[k % 3 == 0 for k in range(w, w + 32)] for w in (0, 32)]).sum(1)
    wanted = 32 + 100 + 10000 * third[lanes // 32] + np.where(lanes < 32, 6e6, 0)
    wanted = wanted + 0.25 * np.where(lanes % 32 == 0, lanes % 2, (lanes - 1) % 2)
    np.testing.assert_allclose(y, wanted, rtol=1e-6)
