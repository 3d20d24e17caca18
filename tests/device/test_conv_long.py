"""Convolutions with long windows, gradients of weights, of the CPU prelude against those of JAX in doubles."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.device.conv_cases import SAME, Case, long_windows
from tests.device.conv_long_cases import LONG, dense_windows
from tests.device.test_conv import (
    COMPILERS,
    Convolve,
    build,
    caller,
    check,
    check_bits,
    check_infinite,
    check_special,
    task_count,
)

pytestmark = pytest.mark.slow

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


@pytest.fixture(scope="module", params=tuple(COMPILERS))
def convolve(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Convolve:
    folder = tmp_path_factory.mktemp("conv_long")
    return caller(build(str(request.param), folder, ("long_f32", "long_f64"), HARNESS))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", LONG)
def test_case(convolve: Convolve, name: str, dtype: str) -> None:
    case = replace(LONG[name], dtype=dtype)
    check(convolve, case)
    check(convolve, case, [(k, k + 1) for k in range(task_count(case))])


@settings(max_examples=60)
@given(case=dense_windows(), cut=st.integers(1, 3), special=st.integers(1, 6))
def test_drawn(convolve: Convolve, case: Case, cut: int, special: int) -> None:
    check(convolve, case)
    check(convolve, case, [(k, k + cut) for k in range(0, task_count(case), cut)])
    check_special(convolve, replace(case, special=special))


@settings(max_examples=60)
@given(case=long_windows(), cut=st.integers(1, 3), layouts=st.sampled_from((("CN*", "IO*"), ("C*N", "I*O"))))
def test_drawn_depthwise(convolve: Convolve, case: Case, cut: int, layouts: tuple[str, str]) -> None:
    """Features first, whose windows are not reversed, and features last, a vector of them."""
    is_first = layouts[0] == "CN*"
    reverse = (case.reverse[0], case.reverse[1] and not is_first)
    drawn = replace(case, hole=() if is_first else case.hole, reverse=reverse, input=layouts[0], weights=layouts[1])
    if not is_first:  # neighbours are images of one feature, if it has several
        drawn = replace(drawn, batch=case.batch_groups)
    assume(drawn.out[-1] <= drawn.kernel[-1] and (is_first or drawn.features >= 16))
    check(convolve, drawn)
    check(convolve, drawn, [(k, k + cut) for k in range(0, task_count(drawn), cut)])
    check_special(convolve, replace(drawn, special=cut))


DENSE, DEPTHWISE = LONG["gradient, channels first"], LONG["gradient of depthwise weights"]
STEPS = LONG["gradient of depthwise weights, steps"]


@pytest.mark.parametrize(
    "case",
    [
        *(LONG[name] for name in ("gradient, padded", "gradient, few channels", "gradient, groups")),
        *(DENSE, DEPTHWISE, STEPS),
        *(LONG[f"gradient of depthwise weights, {name}"] for name in ("5 places", "images", "volume")),
        *(LONG[f"gradient of depthwise weights, {name}"] for name in ("gaps of 3", "last", "last, steps")),
    ],
)
def test_infinite_input_is_seen_by_its_windows_alone(convolve: Convolve, case: Case) -> None:
    check_infinite(convolve, case)


OTHERS = {
    "holes": replace(DENSE, hole=(2, 1)),
    "few images": replace(DENSE, batch=2),
    "channels are neighbours": replace(DENSE, input="N*C"),
    "more places than taps": replace(DENSE, kernel=(9, 4)),
    "few taps": replace(DENSE, sizes=(9, 3), kernel=(9, 3)),
    "narrow groups": Case((9, 10), (9, 10), 4, 4, groups=2, batch=5, input="NC*", weights="OI*"),
    "depthwise, holes": replace(DEPTHWISE, hole=(2, 1)),
    "depthwise, neither first nor last": replace(DEPTHWISE, input="N*C"),
    "depthwise, few features last": replace(STEPS, input="C*N", weights="I*O"),
    "depthwise, reversed": replace(DEPTHWISE, reverse=(False, True)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_are_left_alone(convolve: Convolve, name: str) -> None:
    with pytest.raises(AssertionError, match="does not take it"):
        convolve(OTHERS[name], [(0, task_count(OTHERS[name]))])


@pytest.mark.parametrize("layout", ["C*N", "NC*", "CN*"])
def test_bits_do_not_depend_on_pieces(convolve: Convolve, layout: str) -> None:
    check_bits(convolve, Case((9, 14), (7, 12), 3, 70, batch=37, pad=SAME, input=layout, weights="IO*"))


@pytest.mark.parametrize("name", ["images", "last, images"])
def test_bits_of_depthwise_ones_do_not_depend_on_pieces(convolve: Convolve, name: str) -> None:
    check_bits(convolve, replace(LONG[f"gradient of depthwise weights, {name}"], batch=40))
