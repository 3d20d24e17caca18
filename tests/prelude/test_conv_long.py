"""Convolutions with long windows, gradients of dense weights, of the CPU prelude against those of JAX in doubles."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.prelude.conv_cases import CASES, SAME, Case, dense_windows
from tests.prelude.test_conv import COMPILERS, Convolve, build, caller, check, check_bits, check_infinite, task_count

# -1: the kernel left it alone.
HARNESS = r"""
template <class T, class Convolve>
static int64_t run_long(Convolve convolve, const ShloConv* c, int64_t begin, int64_t end, void* scratch, T* data,
                        int32_t* times) {
  bool taken = false;
  const auto given = [&](auto... arguments) { taken = convolve(arguments...); };
  const int64_t bad = run(given, c, begin, end, scratch, data, times);
  return taken ? bad : -1;
}
extern "C" int64_t run_f32(const ShloConv* c, int64_t begin, int64_t end, void* scratch, float* data, int32_t* times) {
  return run_long(shlo_conv_long_f32, c, begin, end, scratch, data, times);
}
extern "C" int64_t run_f64(const ShloConv* c, int64_t begin, int64_t end, void* scratch, double* data, int32_t* times) {
  return run_long(shlo_conv_long_f64, c, begin, end, scratch, data, times);
}
"""
LONG = tuple(name for name in CASES if name.startswith("gradient"))


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def convolve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Convolve:
    folder = tmp_path_factory.mktemp("conv_long")
    return caller(build(str(request.param), folder, ("long_f32", "long_f64"), HARNESS))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", LONG)
def test_case(convolve: Convolve, name: str, dtype: str) -> None:
    case = replace(CASES[name], dtype=dtype)
    check(convolve, case)
    check(convolve, case, [(k, k + 1) for k in range(task_count(case))])


@settings(max_examples=60)
@given(case=dense_windows(), cut=st.integers(1, 3))
def test_drawn(convolve: Convolve, case: Case, cut: int) -> None:
    check(convolve, case)
    check(convolve, case, [(k, k + cut) for k in range(0, task_count(case), cut)])


@pytest.mark.parametrize(
    "name", ["gradient, channels first", "gradient, padded", "gradient, few channels", "gradient, groups"]
)
def test_infinite_input_is_seen_by_its_windows_alone(convolve: Convolve, name: str) -> None:
    check_infinite(convolve, CASES[name])


@pytest.mark.parametrize("name", ["few channels", "in place", "holes", "no taps", "patches", "depthwise"])
def test_other_windows_are_left_alone(convolve: Convolve, name: str) -> None:
    """Short ones, few images, holes in the input, narrow groups."""
    with pytest.raises(AssertionError, match="does not take it"):
        convolve(CASES[name], [(0, task_count(CASES[name]))])


@pytest.mark.parametrize("layout", ["C*N", "NC*", "CN*"])
def test_bits_do_not_depend_on_pieces(convolve: Convolve, layout: str) -> None:
    check_bits(convolve, Case((9, 14), (7, 12), 3, 70, batch=37, pad=SAME, input=layout, weights="IO*"))
