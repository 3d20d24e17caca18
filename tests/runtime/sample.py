"""Small programs as the compiler would hand them over, written by hand."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Argument, Artifact, CheckText, Result, SourceFile
from shlo_disc.host_ir import Buffer, Case, Constant, Copy, Launch, While
from shlo_disc.options import CompileOptions
from shlo_disc.report_model import ReportModel
from shlo_disc.runtime.building.cache import Cache, digest
from shlo_disc.runtime.cpu.build import build
from tests.size_text import parsed

DOUBLE = """
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %y = stablehlo.add %x, %x : tensor<?xf32>
  return %y : tensor<?xf32>
}
"""

_KERNELS = r"""
#include "call/runtime.h"

// square[i, j] = x[i, j] * x[i, j]
extern "C" void square(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin,
                       int64_t end, void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  for (int64_t i = begin * dims[0]; i < end * dims[0]; i++) y[i] = x[i] * x[i];
}

// sums[i] = sum over j of (square[i, j] * weight[j]) + bias[i % 2], by way of scratch
extern "C" void rows(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin,
                     int64_t end, void* scratch) {
  const float* x = static_cast<const float*>(buffers[0]);
  const float* weight = static_cast<const float*>(buffers[1]);
  const float* bias = static_cast<const float*>(buffers[2]);
  float* y = static_cast<float*>(buffers[3]);
  float* row = static_cast<float*>(scratch);
  for (int64_t i = begin; i < end; i++) {
    for (int64_t j = 0; j < dims[0]; j++) row[j] = x[i * dims[0] + j] * weight[j];
    float sum = 0;
    for (int64_t j = 0; j < dims[0]; j++) sum += row[j];
    y[i] = sum + bias[i % 2];
  }
}
"""

BIAS = (0.5, -1.0)

SAMPLE = Artifact(
    name="sample",
    arguments=(
        Argument("args[0]['x']", "float32", ("b", "s")),
        Argument("args[1]", "float32", ("w",)),
    ),
    results=(Result("float32", ("b", "s")), Result("float32", ("b",))),
    symbols=("b", "s", "w", "n"),
    raw=((0, 0), (0, 1), (1, 0)),
    definitions=(parsed("b * s"),),
    checks=(
        CheckText("w", "==", "s", "args[1], dim 0: found {0}, expected s = {1}", ("w", "s"), "m.mlir:3:5"),
        CheckText("s", "<=", 512, "Expected 's <= 512', got s = {0}", ("s",), "m.mlir:4:7"),
    ),
    buffers=(
        Buffer("argument", 0, 0, parsed("n * 4"), "x", "float32", ("b", "s")),
        Buffer("argument", 1, 0, parsed("w * 4"), "weight", "float32", ("w",)),
        Buffer("constant", 0, 0, 8, "bias", "float32", (2,)),
        Buffer("arena", 0, 0, parsed("n * 4"), "square", "float32", ("b", "s")),
        Buffer("result", 0, 0, parsed("n * 4"), "square copied", "float32", ("b", "s")),
        Buffer("result", 1, 0, parsed("b * 4"), "sums", "float32", ("b",)),
    ),
    constants=(Constant("float32", (2,), struct.pack("<2f", *BIAS)),),
    arena_bytes=parsed("n * 4"),
    steps=(
        Launch("square", (0, 3), ("s",), "b", 1, 0),
        Copy(3, 4),
        Launch("rows", (3, 1, 2, 5), ("s",), "b", 1, parsed("s * 4")),
    ),
    kernels=(SourceFile("kernels.cc", _KERNELS),),
    host=SourceFile("host", ""),
    report=ReportModel(),
)


def expected(x: NDArray[np.float32], weight: NDArray[np.float32]) -> tuple[NDArray[np.float32], ...]:
    """What the sample computes."""
    bias = np.resize(np.array(BIAS, np.float32), x.shape[0])
    return x * x, ((x * x) @ weight + bias).astype(np.float32)


_LOOP_KERNELS = r"""
#include "call/runtime.h"

// step = 0, power[i] = 1, go = step < count
extern "C" void begin_loop(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t, int64_t, void*) {
  *static_cast<int32_t*>(buffers[0]) = 0;
  for (int64_t i = 0; i < dims[0]; i++) static_cast<float*>(buffers[1])[i] = 1;
}

extern "C" void test_loop(const ShloRuntime*, void* const* buffers, const int64_t*, int64_t, int64_t, void*) {
  *static_cast<bool*>(buffers[2]) =
      *static_cast<const int32_t*>(buffers[0]) < *static_cast<const int32_t*>(buffers[1]);
}

extern "C" void multiply(const ShloRuntime*, void* const* buffers, const int64_t*, int64_t begin, int64_t end,
                         void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* power = static_cast<float*>(buffers[1]);
  for (int64_t i = begin; i < end; i++) power[i] *= x[i];
}

extern "C" void advance(const ShloRuntime*, void* const* buffers, const int64_t*, int64_t, int64_t, void*) {
  ++*static_cast<int32_t*>(buffers[0]);
}

extern "C" void negate(const ShloRuntime*, void* const* buffers, const int64_t*, int64_t begin, int64_t end,
                       void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  for (int64_t i = begin; i < end; i++) y[i] = -x[i];
}
"""

LOOP = Artifact(
    name="loop",
    arguments=(
        Argument("x", "float32", ("n",)),
        Argument("count", "int32", ()),
        Argument("branch", "int32", ()),
    ),
    results=(Result("float32", ("n",)),),
    symbols=("n",),
    raw=((0, 0),),
    definitions=(),
    checks=(),
    buffers=(
        Buffer("argument", 0, 0, parsed("n * 4"), "x", "float32", ("n",)),
        Buffer("argument", 1, 0, 4, "count", "int32", ()),
        Buffer("argument", 2, 0, 4, "branch", "int32", ()),
        Buffer("arena", 0, 0, 4, "step", "int32", ()),
        Buffer("arena", 0, 64, 1, "go", "bool", ()),
        Buffer("arena", 0, 128, parsed("n * 4"), "power", "float32", ("n",)),
        Buffer("result", 0, 0, parsed("n * 4"), "result", "float32", ("n",)),
    ),
    constants=(),
    arena_bytes=parsed("128 + n * 4"),
    steps=(
        Launch("begin_loop", (3, 5), ("n",), 1, 1, 0),
        While(
            (Launch("test_loop", (3, 1, 4), (), 1, 1, 0),),
            4,
            (
                Launch("multiply", (0, 5), (), "n", 1, 0),
                Launch("advance", (3,), (), 1, 1, 0),
            ),
        ),
        Case(2, "int32", ((Copy(5, 6),), (Launch("negate", (5, 6), (), "n", 1, 0),))),
    ),
    kernels=(SourceFile("kernels.cc", _LOOP_KERNELS),),
    host=SourceFile("host", ""),
    report=ReportModel(),
)

_PROBE = r"""
#include "call/runtime.h"

extern "C" unsigned long pthread_self();

// visits[i]++, who[i] = this thread, where[i] = its scratch, which it fills with its own mark
extern "C" void probe(const ShloRuntime*, void* const* buffers, const int64_t* dims, int64_t begin, int64_t end,
                      void* scratch) {
  int64_t* mine = static_cast<int64_t*>(scratch);
  const int64_t me = static_cast<int64_t>(pthread_self());
  for (int64_t i = begin; i < end; i++) {
    for (int64_t j = 0; j < 64; j++) mine[j] = me;
    for (volatile int64_t spin = 0; spin < dims[0]; spin = spin + 1) {}
    for (int64_t j = 0; j < 64; j++)
      if (mine[j] != me) __builtin_trap();
    static_cast<int64_t*>(buffers[0])[i]++;
    static_cast<int64_t*>(buffers[1])[i] = me;
    static_cast<int64_t*>(buffers[2])[i] = reinterpret_cast<int64_t>(scratch);
    static_cast<int64_t*>(buffers[3])[i] = end - begin;
  }
}

extern "C" int64_t wide_vectors() {
#ifdef __AVX512F__
  return 1;
#else
  return 0;
#endif
}

extern "C" int64_t keeps_nan(const double* x) { return *x != *x; }
"""

PROBE = replace(SAMPLE, name="probe", kernels=(SourceFile("probe.cc", _PROBE), *SAMPLE.kernels))


def store_many(root: Path, rounds: int) -> None:
    """Write the same entries again and again, and read each one back (run in several processes)."""
    cache = Cache(root)
    for i in range(rounds):
        key = digest(str(i % 4))
        data = bytes([i % 4]) * 100_000
        path = cache.store("objects", key, data)
        found = cache.find("objects", key)
        assert found == path, f"round {i}: found {found}, expected {path}"
        assert path.read_bytes().startswith(data), f"round {i}: the entry is not what was stored"


def build_and_run(root: Path) -> None:
    """Build the sample in a fresh process, and check a result."""
    run = build(SAMPLE, CompileOptions(cache_dir=root, threads=2))
    x, weight = np.ones((2, 3), np.float32), np.ones(3, np.float32)
    for found, wanted in zip(run((x, weight)), expected(x, weight), strict=True):
        np.testing.assert_array_equal(found, wanted)
