"""A small program as the compiler would hand it over, written by hand."""

from __future__ import annotations

import struct

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import (
    Argument,
    Artifact,
    Buffer,
    CheckText,
    Constant,
    Copy,
    Launch,
    Result,
    SourceFile,
)

_KERNELS = r"""
#include "runtime.h"

// square[i, j] = x[i, j] * x[i, j]
extern "C" void square(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end,
                       void*) {
  const float* x = static_cast<const float*>(buffers[0]);
  float* y = static_cast<float*>(buffers[1]);
  for (int64_t i = begin * dims[0]; i < end * dims[0]; i++) y[i] = x[i] * x[i];
}

// sums[i] = sum over j of (square[i, j] * weight[j]) + bias[i % 2], by way of scratch
extern "C" void rows(void* const* buffers, const int64_t* dims, int64_t begin, int64_t end,
                     void* scratch) {
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

_HOST = r"""
#include "runtime.h"

extern "C" void square(void* const*, const int64_t*, int64_t, int64_t, void*);
extern "C" void rows(void* const*, const int64_t*, int64_t, int64_t, void*);

extern "C" int64_t shlo_plan(const int64_t* raw, int64_t* symbols, int64_t* result_dims,
                             int64_t* arena_bytes) {
  const int64_t b = raw[0], s = raw[1], w = raw[2];
  if (!(s == w)) return 1;
  if (!(s <= 512)) return 2;
  const int64_t n = b * s;
  symbols[0] = b; symbols[1] = s; symbols[2] = w; symbols[3] = n;
  result_dims[0] = b; result_dims[1] = s;
  result_dims[2] = b;
  *arena_bytes = n * 4;
  return 0;
}

extern "C" void shlo_run(const ShloRuntime* rt, void* const* arguments, void* const* results,
                         void* const* constants, const int64_t* symbols, char* arena) {
  const int64_t b = symbols[0], s = symbols[1], n = symbols[3];
  if (b > 0) {
    void* const buffers[] = {arguments[0], arena};
    const int64_t dims[] = {s};
    rt->parallel(rt, square, buffers, dims, b, 1, 0);
  }
  __builtin_memcpy(results[0], arena, static_cast<unsigned long>(n * 4));
  if (b > 0) {
    void* const buffers[] = {arena, arguments[1], constants[0], results[1]};
    const int64_t dims[] = {s};
    rt->parallel(rt, rows, buffers, dims, b, 1, s * 4);
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
    definitions=("b * s",),
    checks=(
        CheckText(
            "w", "==", "s", "args[1], dim 0: found {0}, expected s = {1}", ("w", "s"), "m.mlir:3:5"
        ),
        CheckText("s", "<=", "512", "Expected 's <= 512', got s = {0}", ("s",), "m.mlir:4:7"),
    ),
    buffers=(
        Buffer("argument", 0, "0", "n * 4", "x", "float32", ("b", "s")),
        Buffer("argument", 1, "0", "w * 4", "weight", "float32", ("w",)),
        Buffer("constant", 0, "0", "8", "bias", "float32", ("2",)),
        Buffer("arena", 0, "0", "n * 4", "square", "float32", ("b", "s")),
        Buffer("result", 0, "0", "n * 4", "square copied", "float32", ("b", "s")),
        Buffer("result", 1, "0", "b * 4", "sums", "float32", ("b",)),
    ),
    constants=(Constant("float32", (2,), struct.pack("<2f", *BIAS)),),
    arena_bytes="n * 4",
    steps=(
        Launch("square", (0, 3), ("s",), "b", "1", "0"),
        Copy(3, 4),
        Launch("rows", (3, 1, 2, 5), ("s",), "b", "1", "s * 4"),
    ),
    kernels=(SourceFile("kernels.cc", _KERNELS),),
    host=SourceFile("host.cc", _HOST),
    explanation="",
)


def expected(
    x: NDArray[np.float32], weight: NDArray[np.float32]
) -> tuple[NDArray[np.float32], ...]:
    """What the sample computes."""
    bias = np.resize(np.array(BIAS, np.float32), x.shape[0])
    return x * x, ((x * x) @ weight + bias).astype(np.float32)
