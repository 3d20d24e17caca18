"""Shuffles and shared memory of the CUDA prelude, for every value type, on the emulator."""

from __future__ import annotations

import numpy as np
import pytest

from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.runtime.cuda import nvrtc
from tests.emulator.device import Array, Schedule
from tests.emulator.run import launch
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.spelled import ALL, SPELL, tag

pytestmark = pytest.mark.quick

THREADS = 64
LANES = np.arange(THREADS)
WARPS = LANES - LANES % 32

# what a lane gets, and from which lane
SHUFFLES: dict[str, Array] = {
    "shuffle_xor(x, 1)": LANES ^ 1,
    "shuffle_xor(x, 16)": LANES ^ 16,
    "shuffle_down(x, 3)": np.where(LANES % 32 + 3 < 32, LANES + 3, LANES),
    "shuffle_up(x, 5)": np.where(LANES % 32 - 5 >= 0, LANES - 5, LANES),
    "shuffle_idx(x, 7)": WARPS + 7,
    "shuffle_idx(x, threadIdx.x / 2 % 32)": WARPS + LANES // 2 % 32,
}


def _kernel(dtype: DType) -> str:
    memory, value = SPELL.memory_type(dtype), SPELL.value_type(dtype)
    lines = [
        f'extern "C" __global__ void __launch_bounds__({THREADS}) shuffle_{tag(dtype)}'
        f"(const {memory}* __restrict__ const a, {memory}* __restrict__ const out) {{",
        f"  const {value} x = {SPELL.load('a', 'threadIdx.x', dtype)};",
    ]
    for k, text in enumerate(SHUFFLES):
        lines.append(f"  {SPELL.store('out', f'{k * THREADS} + threadIdx.x', text, dtype)}")
    lines += [
        f"  SHLO_SHARED({value}, own, {THREADS});",
        "  SHLO_DYNAMIC(asked);",
        f"  {value}* const more = ({value}*)asked;",
        "  own[threadIdx.x] = more[threadIdx.x] = x;",
        "  __syncthreads();",
    ]
    for k, array in enumerate(("own", "more"), len(SHUFFLES)):  # a whole block backwards
        text = f"{array}[{THREADS - 1} - threadIdx.x]"
        lines.append(f"  {SPELL.store('out', f'{k * THREADS} + threadIdx.x', text, dtype)}")
    lines.append("}")
    return "\n".join(lines)


TEXT = "\n".join(['#include "call/shlo.cuh"', *map(_kernel, ALL), ""])


@pytest.mark.parametrize("schedule", ["fifo", "lifo", "random"])
@pytest.mark.parametrize("dtype", ALL)
def test_lanes(dtype: DType, schedule: Schedule) -> None:
    x = np.arange(THREADS, dtype=np.int64) % 2 if dtype.is_bool else np.arange(THREADS) + 60
    a = x.astype(numpy_dtype(dtype))
    out = np.zeros((len(SHUFFLES) + 2) * THREADS, a.dtype)
    _, got = launch(TEXT, f"shuffle_{tag(dtype)}", 1, THREADS, [a, out], shared=16 * THREADS, schedule=schedule)
    wanted = [a[source] for source in SHUFFLES.values()] + [a[::-1], a[::-1]]
    np.testing.assert_array_equal(got.reshape(-1, THREADS), np.array(wanted))


def test_nvrtc() -> None:
    require_nvrtc()
    assert "shuffle_c128" in nvrtc.compile_kernels(TEXT, "shuffle.cu", 90, "int32_t").log
