"""Convolutions of the CPU prelude against `jax.lax.conv_general_dilated` in double precision."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Literal, Protocol, cast, get_args

import jax
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shlo_disc.device import headers
from tests.device.compilers import INCLUDE, LINK, require, run, write_library
from tests.device.conv_call import describe
from tests.device.conv_cases import CASES, FIRST, INFINITE, MAJOR, SAME, Case, Floats, cases
from tests.device.conv_definition import by_definition

pytestmark = pytest.mark.slow

FLAGS = (
    *("-O3", "-march=native", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math"),
    *("-ffp-contract=fast", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"),
)
COMPILERS = {
    "gcc": ["g++", "-mprefer-vector-width=512", "--param=avoid-fma-max-bits=0"],
    "zig": [sys.executable, "-m", "ziglang", "c++", "-fno-sanitize=undefined"],
}
# The epilogue counts how often it gets each element and reads the columns up to a multiple of 16.
EPILOGUES = r"""
#include "conv/conv.h"
template <class T> struct Result { T* data; int32_t* times; int64_t columns; volatile T seen; bool bad; };
template <class T>
static void store(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0, int64_t columns) {
  Result<T>& out = *(Result<T>*)context;
  if ((uint64_t)tile % 64 != 0 || ld % 16 != 0 || columns > ld) out.bad = true;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < (columns + 15) / 16 * 16; ++j) {
      const T x = ((const T*)tile)[i * ld + j];
      if (j >= columns) { out.seen = x; continue; }
      out.data[(i0 + i) * out.columns + j0 + j] = x;
      out.times[(i0 + i) * out.columns + j0 + j] += 1;
    }
}
template <class T>
static void store_transposed(void* context, const void* tile, int64_t ld, int64_t i0, int64_t rows, int64_t j0,
                         int64_t columns) {
  Result<T>& out = *(Result<T>*)context;
  if (rows > ld) out.bad = true;
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < rows; ++i) {
      out.data[(i0 + i) * out.columns + j0 + j] = ((const T*)tile)[j * ld + i];
      out.times[(i0 + i) * out.columns + j0 + j] += 1;
    }
}
template <class T, class Convolve>
static int64_t run(Convolve convolve, const ShloConv* c, int64_t begin, int64_t end, void* scratch, T* data,
                   int32_t* times) {
  Result<T> out = {data, times, c->out_features, 0, false};
  convolve(c, begin, end, scratch, c->transposed ? store_transposed<T> : store<T>, &out);
  return out.bad;
}
"""
HARNESS = r"""
extern "C" int64_t run_f32(const ShloConv* c, int64_t begin, int64_t end, void* scratch, float* data, int32_t* times) {
  return run(c->groups == 1 ? shlo_conv_f32 : shlo_conv_groups_f32, c, begin, end, scratch, data, times);
}
extern "C" int64_t run_f64(const ShloConv* c, int64_t begin, int64_t end, void* scratch, double* data, int32_t* times) {
  return run(c->groups == 1 ? shlo_conv_f64 : shlo_conv_groups_f64, c, begin, end, scratch, data, times);
}
extern "C" int64_t run_i8(const ShloConv* c, int64_t begin, int64_t end, void* scratch, int32_t* data, int32_t* times) {
  return run(shlo_conv_i8, c, begin, end, scratch, data, times);
}
extern "C" int64_t run_u8(const ShloConv* c, int64_t begin, int64_t end, void* scratch, int32_t* data, int32_t* times) {
  return run(shlo_conv_u8, c, begin, end, scratch, data, times);
}
"""


# The prelude's names, the types of results, and how many channels a packed weight holds, by the types of operands.
NAMES = {"f4": "f32", "f8": "f64", "i1": "i8", "u1": "u8"}
SUMS = {"f4": "f4", "f8": "f8", "i1": "i4", "u1": "i4"}
STEPS = {"f4": 1, "f8": 1, "i1": 4, "u1": 4}


@lru_cache(maxsize=512)
def reference(case: Case) -> Floats:
    """The result as [N, spatial, O]."""
    x, w = case.operands()
    for d, flag in enumerate(case.reverse):
        w = np.flip(w, 2 + d) if flag else w
    if prod((case.batch, *case.out, case.features, case.channels, *case.kernel, *case.sizes)) == 0:
        return np.zeros((case.batch // case.batch_groups, *case.out, case.features))
    with jax.enable_x64(True):
        result = jax.lax.conv_general_dilated(
            *(cast("jax.Array", array.astype("f8")) for array in (x, w)),  # JAX takes NumPy's arrays too
            window_strides=case.full(case.stride),
            padding=case.padding,
            lhs_dilation=case.full(case.hole),
            rhs_dilation=case.full(case.gap),
            dimension_numbers=(f"NC{case.space}", f"OI{case.space}", f"N{case.space}C"),
            feature_group_count=case.groups,
            batch_group_count=case.batch_groups,
        )
    assert result.shape == (case.batch // case.batch_groups, *case.out, case.features), (
        "the test computes the wrong shape"
    )
    return np.asarray(result)


CONSTANTS = {
    name: int(value)
    for name, value in re.findall(r"^#define SHLO_CONV_(\w+) (\d+)$", headers.text("conv/conv.h"), re.MULTILINE)
}


def is_narrow(case: Case) -> bool:
    """Whether all features count as those of one group, by the rule of conv.h."""
    groups = case.groups * case.batch_groups
    members, channels = case.features // max(groups, 1), case.channels // max(case.groups, 1)
    return groups > 1 and (members == 1 or (members in (2, 4, 8) and members == channels))


def task_count(case: Case) -> int:
    """The number of tasks, by the rule of conv.h."""
    groups = 1 if is_narrow(case) else case.groups * case.batch_groups
    positions = case.batch // case.batch_groups * prod(case.out)
    return -(-positions // CONSTANTS["ROWS"]) * groups * -(-(case.features // groups) // CONSTANTS["COLUMNS"])


CANARY = 0x5A5A5A  # a number of all types
Weights = Literal["as they are", "kept", "packed"]


class Convolve(Protocol):
    """Computes pieces of the tasks, with weights as they are, packed where there is room, or packed before.

    `transposed`: the epilogue gets its tiles transposed.
    """

    def __call__(
        self,
        case: Case,
        pieces: Sequence[tuple[int, int]],
        weights: Weights = "as they are",
        *,
        transposed: bool = False,
    ) -> Floats: ...


def packed_size(case: Case) -> tuple[int, int]:
    """How many column blocks there are to pack, and how many elements they take, by the rule of conv.h."""
    groups = max(case.groups * case.batch_groups, 1)
    features = case.features // groups
    padded = -(-features // CONSTANTS["PADDING"]) * CONSTANTS["PADDING"]
    blocks = groups * -(-features // CONSTANTS["COLUMNS"])
    channels = -(-(case.channels // max(case.groups, 1)) // STEPS[case.dtype])
    return blocks, prod(case.kernel) * channels * padded * groups


def build(compiler: str, folder: Path, names: Sequence[str], harness: str) -> Path:
    """A library of the prelude's convolutions of these names, and functions that call them."""
    require(compiler)
    source, library = folder / "harness.cc", folder / "conv.so"
    source.write_text(EPILOGUES + harness)
    kernels = [str(write_library(f"conv_{name}", folder)) for name in names]
    run(*COMPILERS[compiler], *FLAGS, *LINK[compiler], INCLUDE, *kernels, source, "-o", library)
    return library


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def convolve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Convolve:
    folder, names = tmp_path_factory.mktemp("conv"), (*NAMES.values(), "groups_f32", "groups_f64")
    return caller(build(str(request.param), folder, names, HARNESS))


def caller(path: Path) -> Convolve:
    """The tasks of all pieces, which together must hand out each element exactly once, as [N, spatial, O]."""
    library = ctypes.CDLL(str(path))
    guard, most = 4096, 4 << 20
    memory = np.full(guard + 64 + CONSTANTS["SCRATCH"] + most + guard, 0xFF, np.uint8)  # NaNs
    start = guard + -memory.ctypes.data % 64

    def run(
        case: Case, pieces: Sequence[tuple[int, int]], weights: Weights = "as they are", *, transposed: bool = False
    ) -> Floats:
        x, w = case.operands()
        shape = (case.batch // case.batch_groups, *case.out, case.features)
        result, times = np.full(shape, 7, SUMS[case.dtype]), np.zeros(shape, np.int32)
        conv = describe(case, x, w)
        conv.room, conv.transposed = most if weights == "kept" else 0, transposed
        scratch = CONSTANTS["SCRATCH"] + conv.room
        memory[:] = 0xFF
        name = NAMES[case.dtype]
        blocks, size = packed_size(case)
        packed = np.full(size + 8, CANARY, SUMS[case.dtype])
        if weights == "packed":
            getattr(library, f"shlo_conv_pack_{name}")(
                ctypes.byref(conv), ctypes.c_int64(0), ctypes.c_int64(blocks), ctypes.c_void_p(packed.ctypes.data)
            )
            assert (packed[size:] == CANARY).all(), "wrote beyond the packed weights"
            conv.packed = packed.ctypes.data
        function = getattr(library, f"run_{name}")
        for begin, end in pieces:
            bad = function(
                ctypes.byref(conv),
                ctypes.c_int64(begin),
                ctypes.c_int64(end),
                ctypes.c_void_p(memory.ctypes.data + start),
                ctypes.c_void_p(result.ctypes.data),
                ctypes.c_void_p(times.ctypes.data),
            )
            assert bad >= 0, "the kernel does not take it"
            assert not bad, "tile not aligned, or its leading dimension is too small"
        assert (times == 1).all(), "not each element exactly once"
        assert (memory[start + scratch :] == 0xFF).all(), "wrote beyond the scratch memory"
        assert (memory[:start] == 0xFF).all(), "wrote before the scratch memory"
        return result

    return run


def check(
    convolve: Convolve,
    case: Case,
    pieces: Sequence[tuple[int, int]] | None = None,
    weights: Weights = "as they are",
) -> None:
    for transposed in (False, True):
        got = convolve(case, pieces or [(0, task_count(case))], weights, transposed=transposed)
        np.testing.assert_array_equal(got, reference(case).astype(SUMS[case.dtype]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_case(convolve: Convolve, name: str, dtype: str) -> None:
    check(convolve, replace(CASES[name], dtype=dtype))


WHOLE = tuple(name for name in CASES if not is_narrow(CASES[name]))


@pytest.mark.parametrize("dtype", ["i1", "u1"])
@pytest.mark.parametrize("name", WHOLE)
def test_bytes(convolve: Convolve, name: str, dtype: str) -> None:
    case = replace(CASES[name], dtype=dtype)
    check(convolve, case)
    check(convolve, case, [(k, k + 3) for k in range(0, task_count(case), 3)], "packed")


@pytest.mark.parametrize("name", INFINITE)
def test_infinite_input_is_seen_by_its_windows_alone(convolve: Convolve, name: str) -> None:
    check_infinite(convolve, CASES[name])


def check_infinite(convolve: Convolve, case: Case) -> None:
    """XLA multiplies what groups share by zeros, so the infinite numbers are finite in the reference."""
    last = len(case.sizes) - 1
    places = np.arange(case.out[last]) * case.full(case.stride)[last] - case.padding[last][0]
    taps = np.arange(case.kernel[last]) * case.full(case.gap)[last]
    infinite = (case.sizes[last] - 1) * case.full(case.hole)[last]
    sees = (places[:, None] + taps == infinite).any(1)
    assert 0 < sees.sum() < len(sees), "the case has windows of both kinds"
    for transposed in (False, True):
        got = convolve(replace(case, infinite=True), [(0, task_count(case))], transposed=transposed)
        np.testing.assert_array_equal(got[..., ~sees, :], reference(case).astype(case.dtype)[..., ~sees, :])
        assert not np.isfinite(got[..., sees, :]).all()


MOST_PRODUCTS = 1 << 26  # that NumPy computes for a case


def is_small(case: Case) -> bool:
    return (
        prod((case.batch, *case.out, case.features, case.channels // max(case.groups, 1), *case.kernel)) < MOST_PRODUCTS
    )


def check_special(convolve: Convolve, case: Case, weights: Weights = "as they are") -> None:
    """Weights that are not finite beside padding, however the tasks are cut."""
    wanted, tasks = by_definition(case).astype(case.dtype), task_count(case)
    for transposed in (False, True):
        for cut in (max(tasks, 1), 1, 3):
            got = convolve(case, [(k, k + cut) for k in range(0, tasks, cut)], weights, transposed=transposed)
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("special", [1, 9])
@pytest.mark.parametrize("name", [name for name in CASES if is_small(CASES[name])])
def test_weights_that_are_not_finite_beside_padding(convolve: Convolve, name: str, special: int) -> None:
    check_special(convolve, replace(CASES[name], special=special))


@settings(max_examples=80)
@given(case=cases(), special=st.integers(1, 6), weights=st.sampled_from(get_args(Weights)))
def test_drawn_weights_that_are_not_finite(convolve: Convolve, case: Case, special: int, weights: Weights) -> None:
    check_special(convolve, replace(case, special=special), "kept" if is_narrow(case) else weights)


WIDE = {
    "many channels": Case((12, 40), (3, 3), 240, 80, pad=SAME),
    "many channels first": Case((12, 40), (3, 3), 240, 80, pad=SAME, input=FIRST, weights=MAJOR),
    "wide kernel groups": Case((21, 20), (3, 3), 400, 130, groups=2, pad=SAME),
}


@pytest.mark.parametrize("weights", ["kept", "packed"])
@pytest.mark.parametrize("name", [*WIDE, *WHOLE])
def test_packed_weights(convolve: Convolve, name: str, weights: Weights) -> None:
    case = (WIDE | CASES)[name]
    check(convolve, case, weights=weights)
    check(convolve, case, [(k, k + 3) for k in range(0, task_count(case), 3)], weights)


@pytest.mark.parametrize("name", WIDE)
def test_weights_that_do_not_fit(convolve: Convolve, name: str) -> None:
    check(convolve, replace(WIDE[name], dtype="f8"))


PIECES = (
    "wide groups",
    "groups of 16",
    "pointwise",
    "channels first",
    "few channels",
    "depthwise, tails",
    "depthwise lines, holes",
    "pointwise with a step, channels first",
    "column blocks of copied lines",
)


@pytest.mark.parametrize("name", [*PIECES, "depthwise lines", "depthwise lines, steps"])
def test_any_pieces(convolve: Convolve, name: str) -> None:
    case = CASES[name]
    tasks = task_count(case)
    assert tasks > 2, "too small to be cut"
    check(convolve, case, [(k, k + 1) for k in range(tasks)])
    check(convolve, case, [(0, tasks // 2), (tasks // 2, tasks)])


@pytest.mark.parametrize(
    "name", [*WIDE, *PIECES, "parts of channels", "depthwise, short lines", "holes, channels first"]
)
def test_bits_do_not_depend_on_pieces(convolve: Convolve, name: str) -> None:
    check_bits(convolve, (WIDE | CASES)[name])


def check_bits(convolve: Convolve, exact: Case) -> None:
    """Compare the bits of results whose sums are rounded."""
    case = replace(exact, rounded=True)
    tasks = task_count(case)
    whole = convolve(case, [(0, tasks)])
    for cut in (1, 3, tasks // 2 + 1):
        np.testing.assert_array_equal(convolve(case, [(k, k + cut) for k in range(0, tasks, cut)]), whole)


def test_tasks_beyond_the_last_do_nothing(convolve: Convolve) -> None:
    case = CASES["depthwise"]
    check(convolve, case, [(0, task_count(case) * case.groups), (500, 600)])


@settings(max_examples=40)
@given(case=cases(), weights=st.sampled_from(get_args(Weights)))
def test_drawn(convolve: Convolve, case: Case, weights: Weights) -> None:
    check(convolve, case, weights="kept" if is_narrow(case) else weights)


@settings(max_examples=40)
@given(case=cases(), weights=st.sampled_from(get_args(Weights)), dtype=st.sampled_from(["i1", "u1"]))
def test_drawn_bytes(convolve: Convolve, case: Case, weights: Weights, dtype: str) -> None:
    assume(not is_narrow(case))
    check(convolve, replace(case, dtype=dtype), weights=weights)
