"""The emulator finds what it is there to find: each planted bug is caught at its line, and correct kernels pass."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
import pytest

from shlo_disc.artifact import SourceFile
from shlo_disc.runtime.cuda.table import Functions
from tests.emulator.device import SCHEDULES, Array, EmulatedDevice, EmulatedMemory, EmulatorError, Schedule
from tests.emulator.recording import Recording, of_one_kernel
from tests.emulator.run import launch, poisoned
from tests.emulator.sanitize import How, Outcome, check, needless_barriers, races
from tests.emulator.texts import HEAD, body, line_of

# Every row of 64 numbers is reversed and divided by its sum: through shared memory, shuffles and a loop over rows.
ROWS = (
    HEAD
    + """
extern "C" __global__ void __launch_bounds__(64) rows(const float* x, float* y, const int64_t n) {
  SHLO_SHARED(float, line, 64);
  SHLO_SHARED(float, sums, 2);
  for (int64_t row = blockIdx.x; row < n; row += gridDim.x) {
    const float mine = x[row * 64 + threadIdx.x];
    float sum = mine;
    for (int mask = 1; mask < 32; mask *= 2) sum += shuffle_xor(sum, mask);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;  // writes sums
    line[threadIdx.x] = mine;  // writes line
    __syncthreads();  // first
    y[row * 64 + threadIdx.x] = line[63 - threadIdx.x] / (sums[0] + sums[1]);  // reads
    __syncthreads();  // second
  }
}
"""
)

WARP = (
    HEAD
    + """
extern "C" __global__ void __launch_bounds__(32) reversed(const float* x, float* y) {
  SHLO_SHARED(float, line, 32);
  line[threadIdx.x] = x[threadIdx.x];  // writes
  __syncwarp();
  y[threadIdx.x] = line[31 - threadIdx.x];  // reads
}
"""
)

LAST_BLOCK = (
    HEAD
    + """
extern "C" __global__ void total(float* y, unsigned* arrived) {
  SHLO_SHARED(int, last, 1);
  if (threadIdx.x == 0) {
    y[blockIdx.x + 1] = 1.f;
    __threadfence();
    last[0] = atomicAdd(arrived, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last[0] && threadIdx.x == 0) {
    float sum = 0;
    for (unsigned k = 0; k < gridDim.x; ++k) sum += y[k + 1];
    y[0] = sum;
  }
}
"""
)


def row_inputs() -> tuple[Array, Array]:
    x = np.random.default_rng(0).random((5, 64), np.float32)
    return x, x[:, ::-1] / x.sum(1, keepdims=True)


def recorded_rows(text: str, x: Array, y: Array) -> Recording:
    return of_one_kernel(text, "rows", 3, 64, [x, poisoned(x.shape, np.float32), len(x)], [x, y])


def run_rows(text: str, x: Array, schedule: Schedule, seed: int = 0) -> Array:
    return launch(text, "rows", 3, 64, [x, poisoned(x.shape, np.float32), len(x)], schedule=schedule, seed=seed)[1]


def one_kernel(
    text: str, name: str, blocks: int, threads: int, args: Sequence[Array | int], shared: int = 0
) -> Recording:
    """A recording that expects nothing of the results."""
    arrays = [arg for arg in args if not isinstance(arg, int)]
    empty = [np.zeros(0, a.dtype) for a in arrays]
    return of_one_kernel(text, name, blocks, threads, args, empty, shared)


def assert_found(outcome: Outcome, *parts: str) -> None:
    text = str(outcome)
    assert not outcome.clean, "the bug was not caught"
    for part in parts:
        assert part in text


# ---- correct kernels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_correct_kernel_passes_under_every_schedule(schedule: Schedule) -> None:
    x, wanted = row_inputs()
    for seed in range(3):
        np.testing.assert_allclose(run_rows(ROWS, x, schedule, seed), wanted, rtol=1e-6)


def test_a_correct_kernel_passes_all_sanitizers() -> None:
    x, _ = row_inputs()
    recording = recorded_rows(ROWS, x, run_rows(ROWS, x, "fifo"))
    for ordered in (False, True):
        ways = [How(schedule, 1, ordered=ordered) for schedule in SCHEDULES]
        assert check(recording, "asan", ways).clean
        assert check(recording, "tsan", ways).clean
    assert not needless_barriers(recording)


def test_a_needless_barrier_is_found() -> None:
    x, _ = row_inputs()
    text = ROWS.replace("__syncthreads();  // second", "__syncthreads();\n__syncthreads();  // third")
    (first, second) = needless_barriers(recorded_rows(text, x, run_rows(text, x, "fifo")))  # either of the two
    assert line_of(text, "// third") in (first.place, second.place)


# ---- missing synchronization ----------------------------------------------------------------------------------------


def test_a_missing_barrier_is_a_race_and_shows_under_some_schedule() -> None:
    x, wanted = row_inputs()
    text = ROWS.replace("__syncthreads();  // first", "")
    assert_found(races(recorded_rows(text, x, wanted)), "data race", line_of(text, "// reads"))
    results = [run_rows(text, x, schedule) for schedule in SCHEDULES]
    assert any(not np.allclose(y, wanted, rtol=1e-5) for y in results)


def test_a_missing_barrier_at_the_end_of_a_loop_is_a_race() -> None:
    x, wanted = row_inputs()
    text = ROWS.replace("__syncthreads();  // second", "")
    assert_found(races(recorded_rows(text, x, wanted)), "data race", line_of(text, "// reads"))


def test_a_missing_warp_barrier_is_a_race() -> None:
    x = np.arange(32, dtype=np.float32)
    args = [x, poisoned((32,), np.float32)]
    assert races(one_kernel(WARP, "reversed", 1, 32, args)).clean
    text = WARP.replace("__syncwarp();", "")
    assert_found(
        races(one_kernel(text, "reversed", 1, 32, args)), line_of(text, "// writes"), line_of(text, "// reads")
    )


def test_a_shuffle_is_no_barrier() -> None:
    text = WARP.replace("__syncwarp();", "const float other = shuffle_xor(x[0], 1);").replace(
        "] = line", "] = other + line"
    )
    args = [np.arange(32, dtype=np.float32), poisoned((32,), np.float32)]
    assert_found(races(one_kernel(text, "reversed", 1, 32, args)), "data race", line_of(text, "// reads"))


def test_an_update_without_an_atomic_is_a_race() -> None:
    y = np.zeros(1, np.float32)
    text = body("  y[0] += 1.f;  // here")
    assert_found(races(one_kernel(text, "k", 1, 32, [y])), line_of(text, "// here"))
    counter = body("  atomicAdd((int*)y, 1);")
    assert races(one_kernel(counter, "k", 2, 32, [y])).clean
    assert launch(counter, "k", 3, 64, [y])[0].view(np.int32) == 192


def test_a_race_between_blocks_shows_where_nothing_orders_them() -> None:
    text = body("  if (threadIdx.x == 0) y[0] += 1.f;  // here")
    recording = one_kernel(text, "k", 2, 32, [np.zeros(1, np.float32)])
    assert check(recording, "tsan", [How(ordered=True)]).clean
    assert_found(check(recording, "tsan", [How(ordered=False)]), line_of(text, "// here"))


def test_blocks_may_publish_by_a_fence_and_an_atomic() -> None:
    args = [poisoned((5,), np.float32), np.zeros(1, np.uint32)]
    for schedule in SCHEDULES:
        assert launch(LAST_BLOCK, "total", 4, 32, args, schedule=schedule)[0][0] == 4
    assert check(one_kernel(LAST_BLOCK, "total", 4, 32, args), "tsan").clean
    text = LAST_BLOCK.replace("__threadfence();", "")
    assert_found(check(one_kernel(text, "total", 4, 32, args), "tsan"), "data race")


# ---- divergence -----------------------------------------------------------------------------------------------------

DIVERGENT = {
    "a barrier in a branch": ("  if (threadIdx.x < 32) __syncthreads();  // here", "end"),
    "an early return": ("  if (threadIdx.x == 63) return;\n  __syncthreads();  // here", "end"),
    "two barriers": ("  if (threadIdx.x & 1) __syncthreads();\n  else __syncthreads();  // here", "divergence"),
    "a barrier and a shuffle": (
        "  if (threadIdx.x < 40) __syncthreads();\n  else y[0] = __shfl_xor_sync(~0u, 1.f, 1);  // here",
        "divergence",
    ),
    "a shuffle in a branch": ("  if (threadIdx.x < 16) y[0] = __shfl_xor_sync(~0u, 1.f, 1);  // here", "ended"),
    "a shuffle with lanes that have ended": (
        "  if (threadIdx.x > 40) return;\n  y[0] = __shfl_xor_sync(~0u, 1.f, 1);  // here",
        "ended",
    ),
    "a lane that is not in the mask": (
        "  if (threadIdx.x < 16) y[threadIdx.x] = __shfl_sync(0x0000ffffu, 1.f, 20);  // here",
        "reads lane 20",
    ),
    "a lane that leaves itself out": ("  y[0] = __shfl_sync(0xfffffffeu, 1.f, 3);  // here", "not in the mask"),
    "two shuffles": (
        "  if (threadIdx.x & 1) y[0] = shuffle_xor(1.f, 1);\n  else y[1] = __shfl_xor_sync(~0u, 1.f, 2);  // here",
        "divergence",
    ),
}


@pytest.mark.parametrize("name", DIVERGENT)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_divergence_is_an_error_with_its_line(name: str, schedule: Schedule) -> None:
    lines, message = DIVERGENT[name]
    text = body(lines)
    with pytest.raises(EmulatorError) as caught:
        launch(text, "k", 1, 64, [np.zeros(64, np.float32)], schedule=schedule)
    found = str(caught.value)
    assert message in found
    assert line_of(text, "// here") in found


def test_a_block_that_is_no_whole_number_of_warps_cannot_shuffle() -> None:
    with pytest.raises(EmulatorError, match="never were"):
        launch(body("  y[threadIdx.x] = shuffle_xor(1.f, 1);"), "k", 1, 40, [np.zeros(64, np.float32)])


# ---- memory ---------------------------------------------------------------------------------------------------------

OUTSIDE = {
    "global": "  y[64 + threadIdx.x % 4] = 1.f;  // here",
    "static shared": "  SHLO_SHARED(float, s, 64);\n  float* p = s;\n  p[threadIdx.x + 1] = 1;  // here",
    "dynamic shared": "  SHLO_DYNAMIC(s);\n  ((float*)s)[threadIdx.x + 1] = 1.f;  // here\n  y[0] = *(float*)s;",
}


@pytest.mark.parametrize("where", OUTSIDE)
def test_a_write_outside_of_memory_is_found(where: str) -> None:
    text, y = body(OUTSIDE[where]), np.zeros(64, np.float32)
    with pytest.raises(EmulatorError, match="outside"):
        launch(text, "k", 1, 64, [y], shared=256)
    assert_found(
        check(one_kernel(text, "k", 1, 64, [y], 256), "asan"), "heap-buffer-overflow", line_of(text, "// here")
    )


def test_a_read_outside_of_memory_is_found() -> None:
    text = body("  y[threadIdx.x] = y[threadIdx.x + 1];  // here")
    outcome = check(one_kernel(text, "k", 1, 64, [np.zeros(64, np.float32)]), "asan")
    assert_found(outcome, "heap-buffer-overflow", line_of(text, "// here"))


def test_a_wild_address_is_an_error_and_not_the_end_of_the_process() -> None:
    with pytest.raises(EmulatorError, match=r"k, block 0, thread 0: an access to an illegal address"):
        launch(body("  y[(int64_t)1 << 40] = 1.f;"), "k", 1, 64, [np.zeros(64, np.float32)])


def test_a_misaligned_pack_is_found_with_its_line() -> None:
    text = body("  const Pack<float, 4> p = *(const Pack<float, 4>*)(y + 1);  // here\n  y[8] = p.at[2];")
    y = np.zeros(64, np.float32)
    with pytest.raises(EmulatorError, match=f"{line_of(text, '// here')}: .* a multiple of 16 bytes"):
        launch(text, "k", 1, 1, [y])
    assert_found(check(one_kernel(text, "k", 1, 1, [y]), "asan"), "misaligned address", line_of(text, "// here"))


def test_memory_that_nobody_has_written_is_nan() -> None:
    shared = """  SHLO_SHARED(float, s, 64);
  if (threadIdx.x < 32) s[threadIdx.x] = 1;
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x];"""
    (y,) = launch(body(shared), "k", 2, 64, [np.zeros(64, np.float32)])
    assert np.array_equal(np.isnan(y), np.arange(64) >= 32)
    dynamic = "  SHLO_DYNAMIC(s);\n  y[threadIdx.x] = ((float*)s)[threadIdx.x];"
    assert np.isnan(launch(body(dynamic), "k", 1, 64, [np.zeros(64, np.float32)], shared=256)[0]).all()
    (y,) = launch(body("  if (threadIdx.x == 3) y[3] = 1;"), "k", 1, 64, [poisoned((64,), np.float32)])
    assert np.array_equal(np.isnan(y), np.arange(64) != 3)


def test_memory_that_is_gone_cannot_be_used() -> None:
    device = EmulatedDevice()
    memory = EmulatedMemory(256)
    handle = device.load([SourceFile("k", body("  y[0] = 1.f;"))], ["k"], "int32_t")["k"].handle
    value = ctypes.c_int64(memory.pointer)
    params = (ctypes.c_void_p * 1)(ctypes.addressof(value))
    table = Functions(device.table(products=False))
    assert table.launch(handle, 1, 1, 1, 64, 1, 1, 0, table.stream, params, None) == 0
    del memory
    code = table.launch(handle, 1, 1, 1, 64, 1, 1, 0, table.stream, params, None)
    assert code == 700
    assert "argument 0" in device.explain_error(code)


# ---- launches -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("blocks", "threads", "shared", "message"),
    [
        (0, 64, 0, "expected at least one of each"),
        (1, 0, 0, "expected at least one of each"),
        (1, 1025, 0, "expected at most 2\\^31 - 1 x 65535 x 65535 of 1024"),
        (2**31, 64, 0, "expected at most 2\\^31 - 1"),
        (1, 96, 0, "96 threads, but its __launch_bounds__ say 64"),
        (1, 64, 232449, "232449 bytes of dynamic shared memory, expected at most 232448"),
        (1, 64, 232448, "232704 bytes of shared memory, expected at most 232448"),
    ],
)
def test_an_impossible_launch_is_refused(blocks: int, threads: int, shared: int, message: str) -> None:
    text = body("  SHLO_SHARED(float, s, 64);\n  s[threadIdx.x] = 1;\n  y[threadIdx.x] = s[threadIdx.x];")
    with pytest.raises(EmulatorError, match=message):
        launch(text, "k", blocks, threads, [np.zeros(64, np.float32)], shared=shared)


def test_too_much_static_shared_memory_is_refused() -> None:
    text = body("  SHLO_SHARED(float, s, 12289);\n  s[threadIdx.x] = 1;\n  y[threadIdx.x] = s[threadIdx.x];")
    with pytest.raises(EmulatorError, match="49168 bytes of static shared memory"):
        launch(text, "k", 1, 64, [np.zeros(64, np.float32)])


def test_an_endless_loop_is_stopped() -> None:
    text = body("  while (__atomic_load_n((int*)y, __ATOMIC_RELAXED) != 2) {}")  # waits for another block
    with pytest.raises(EmulatorError, match="it runs too long"):
        launch(text, "k", 2, 32, [np.zeros(1, np.float32)], seconds=0.2)


def test_a_division_by_zero_is_an_error() -> None:
    with pytest.raises(EmulatorError, match="a division by zero"):
        launch(body("  ((int*)y)[0] = ((int*)y)[1] / ((int*)y)[2];"), "k", 1, 32, [np.zeros(64, np.float32)])
