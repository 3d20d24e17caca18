"""What the compile check reads off logs and machine code is there: spills, shared memory, wide accesses."""

from __future__ import annotations

import pytest

from shlo_disc.runtime.cuda import nvrtc
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.sass import disassembler, instructions, resources

TEXT = """#include "call/shlo.cuh"
extern "C" __global__ void __launch_bounds__(1024) spilling(const float* __restrict__ const a, float* const b) {
  float sums[96];
  SHLO_UNROLL for (int k = 0; k < 96; ++k) sums[k] = a[threadIdx.x + k * 1024];
  for (int turn = 0; turn < 9; ++turn) SHLO_UNROLL for (int k = 0; k < 96; ++k) sums[k] = sums[k] * sums[(k + 7) % 96];
  SHLO_UNROLL for (int k = 0; k < 96; ++k) b[threadIdx.x + k * 1024] = sums[k];
}
extern "C" __global__ void __launch_bounds__(256) packed(const float* __restrict__ const a, float* const b) {
  SHLO_SHARED(float, kept, 1000);
  kept[threadIdx.x] = a[threadIdx.x];
  __syncthreads();
  Pack<float, 4> pack = pack_load<4>(a + 4 * threadIdx.x);
  pack.at[0] += kept[255 - threadIdx.x];
  pack_store(b + 4 * threadIdx.x, pack);
}
extern "C" __global__ void __launch_bounds__(256) single(const float* __restrict__ const a, float* const b) {
  b[threadIdx.x] = a[threadIdx.x];
}
"""


@pytest.mark.parametrize("architecture", [80, 90, 100])
def test_resources(architecture: int) -> None:
    require_nvrtc()
    found = resources(nvrtc.compile_kernels(TEXT, "kernels.cu", architecture, "int32_t").log)
    assert found.keys() == {"spilling", "packed", "single"}
    assert found["spilling"].spilled > 0
    assert found["packed"].spilled == found["single"].spilled == 0
    assert found["packed"].shared >= 4000
    assert found["single"].shared == 0
    assert 0 < found["single"].registers < found["spilling"].registers <= 64


def test_instructions() -> None:
    require_nvrtc()
    disassembler()
    code = instructions(nvrtc.compile_kernels(TEXT, "kernels.cu", 90, "int32_t").cubin)
    assert "LDG.E.128" in code["packed"]
    assert "STG.E.128" in code["packed"]
    assert "E.128" not in code["single"]
