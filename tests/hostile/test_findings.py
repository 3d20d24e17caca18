"""Programs that once ended in an exception that was not for users: they run, or are refused and say why."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions, RuntimeShapeError, UnsupportedOpError, VerifyError
from shlo_disc.expr.numpy_math import numpy_dtype
from shlo_disc.ir.dtypes import DType
from tests.hostile.known_calls import known_calls

ONE_LESS = """func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %k = stablehlo.add %n, %c : tensor<i32>
"""
TOP = """  %0:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %k) {api_version = 2 : i32}
      : (tensor<?xf32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
  return %0#0 : tensor<?xf32>
}"""
OWN = """  %s = stablehlo.reshape %k : (tensor<i32>) -> tensor<1xi32>
  %0 = stablehlo.custom_call @hostile_test(%x, %s) {indices_of_shape_operands = dense<[1]> : tensor<1xi64>}
      : (tensor<?xf32>, tensor<1xi32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}"""


def all_but_one(x: NDArray[np.float32]) -> NDArray[np.float32]:
    return x[1:]


@pytest.mark.parametrize("driver", ["c", "vm"])
@pytest.mark.parametrize("text", [ONE_LESS + TOP, ONE_LESS + OWN], ids=["top_k", "a custom call"])
def test_a_computed_size_is_not_negative(text: str, driver: Literal["c", "vm"]) -> None:
    shlo_disc.register_custom_call("hostile_test", all_but_one)
    run = shlo_disc.compile(text, options=CompileOptions(driver=driver))
    assert run(np.zeros(3, np.float32))[0].shape == (2,)
    with pytest.raises(RuntimeShapeError, match=r"no negative (.|\n)*found s0 - 1 = -1, expected >= 0"):
        run(np.zeros(0, np.float32))


COLUMNS = "dense<[0, 1]> : tensor<2xindex>"
LETTERS = {"diag": 78, "side": 76, "trans_x": 78, "uplo": 85}


@pytest.mark.parametrize("number", [0, 1, 88, 255])
@pytest.mark.parametrize("name", LETTERS)
def test_letters_for_libraries_are_those_that_they_know(name: str, number: int) -> None:
    def text(letters: dict[str, int]) -> str:
        config = ", ".join(f"{key} = {value} : ui8" for key, value in letters.items())
        return f"""func.func @main(%a: tensor<4x4xf32>, %b: tensor<4x1xf32>) -> tensor<4x1xf32> {{
  %0 = stablehlo.custom_call @lapack_strsm_ffi(%a, %b) {{mhlo.backend_config = {{{config}}}, api_version = 4 : i32,
      operand_layouts = [{COLUMNS}, {COLUMNS}], result_layouts = [{COLUMNS}]}}
      : (tensor<4x4xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}}"""

    shlo_disc.compile(text(LETTERS))
    with pytest.raises(VerifyError, match=rf"expected one of .*{LETTERS[name]} \(.*\) as '{name}', found {number}"):
        shlo_disc.compile(text({**LETTERS, name: number}))


SCAN = """func.func @main(%x: tensor<4x5xf32>, %y: tensor<2xf32>) -> (tensor<4x5xf32>, tensor<2xf32>) {
  %0:2 = "chlo.scan"(%x, %y) <{
    dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>
  }> ({
  ^bb0(%a: tensor<5xf32>, %b: tensor<2xf32>):
    stablehlo.return %a, %b : tensor<5xf32>, tensor<2xf32>
  }) : (tensor<4x5xf32>, tensor<2xf32>) -> (tensor<4x5xf32>, tensor<2xf32>)
  return %0#0, %0#1 : tensor<4x5xf32>, tensor<2xf32>
}"""


@pytest.mark.parametrize("driver", ["c", "vm"])
def test_a_carry_that_a_loop_hands_on_may_be_copied_after_it(driver: Literal["c", "vm"]) -> None:
    x, y = np.arange(20, dtype=np.float32).reshape(4, 5), np.array([5, 7], np.float32)
    run = shlo_disc.compile(SCAN, options=CompileOptions(driver=driver))
    for found, wanted in zip(run(x, y), (x, y), strict=True):
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("words", ["0", "1", "4", "?"])
@pytest.mark.parametrize("algorithm", ["DEFAULT", "PHILOX", "THREE_FRY"])
def test_a_generator_of_random_bits_takes_states_of_its_sizes(algorithm: str, words: str) -> None:
    state = f"tensor<{words}xui64>"
    text = f"""func.func @main(%s: {state}) -> ({state}, tensor<5x7xui32>) {{
  %0, %1 = stablehlo.rng_bit_generator %s, algorithm = {algorithm} : ({state}) -> ({state}, tensor<5x7xui32>)
  return %0, %1 : {state}, tensor<5x7xui32>
}}"""
    with pytest.raises((VerifyError, UnsupportedOpError), match=r"\b2( or 3)? numbers for"):
        shlo_disc.compile(text)


@pytest.mark.parametrize("element", ["i2", "ui2", "i4", "ui4", "i8"])
@pytest.mark.parametrize(("combine", "start"), [("add", "0"), ("multiply", "1"), ("maximum", "0")])
def test_scans_of_narrow_integers(element: str, combine: str, start: str) -> None:
    run = shlo_disc.compile(f"""func.func @main(%x: tensor<9x2x{element}>) -> tensor<9x2x{element}> {{
  %c = stablehlo.constant dense<{start}> : tensor<{element}>
  %0 = "stablehlo.reduce_window"(%x, %c) <{{
    padding = dense<[[8, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 9, 1>
  }}> ({{
  ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
    %1 = stablehlo.{combine} %a, %b : tensor<{element}>
    stablehlo.return %1 : tensor<{element}>
  }}) : (tensor<9x2x{element}>, tensor<{element}>) -> tensor<9x2x{element}>
  return %0 : tensor<9x2x{element}>
}}""")
    x = np.random.default_rng().integers(0, 2, (9, 2)).astype(numpy_dtype(DType(element)))
    scans = {"add": np.cumsum, "multiply": np.cumprod, "maximum": np.maximum.accumulate}
    wanted = scans[combine](x.astype(np.int64), 0)
    (found,), modulus = run(x), 1 << DType(element).bits
    np.testing.assert_array_equal(np.asarray(found).astype(np.int64) % modulus, wanted % modulus)


def test_a_long_number_in_a_message_is_text() -> None:
    number = "7" * 5000
    text = f"""func.func @main(%x: tensor<i1>) {{
  stablehlo.custom_call @shape_assertion(%x) {{error_message = "found {{{number}}}", has_side_effect = true}}
      : (tensor<i1>) -> ()
  return
}}"""
    with pytest.raises(RuntimeShapeError, match=r"found \{7777"):
        shlo_disc.compile(text)(np.asarray(False))


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("routine", ["gesvd", "gesdd"])
@pytest.mark.parametrize(("letter", "dtype"), [("s", np.float32), ("z", np.complex128)])
def test_singular_values_of_what_is_not_finite(letter: str, dtype: Any, routine: str, number: float) -> None:
    """LAPACK may never end."""
    call = next(call for call in known_calls() if call.target == f"lapack_{letter}{routine}_ffi")
    a: NDArray[Any] = np.random.default_rng().standard_normal((2, 5, 3)).astype(dtype)
    a[1, 4, 0] = number
    _, s, u, v, info = map(np.asarray, shlo_disc.compile(call.text)(a))
    assert info.tolist() == [0, -4]
    np.testing.assert_allclose((u[0, :, :3] * s[0]) @ v[0], a[0], atol=1e-4)
    for found in (s, u, v):
        assert np.isnan(found[1]).all()


def test_a_tensor_of_many_sizes_is_refused() -> None:
    """Each element becomes a size: a million took more than 20 s."""
    text = """func.func @main(%x: tensor<1048577xi1>) {
  stablehlo.custom_call @shape_assertion(%x) {error_message = "no", has_side_effect = true} : (tensor<1048577xi1>) -> ()
  return
}"""
    with pytest.raises(UnsupportedOpError, match="expected at most 4096 elements that are read as sizes"):
        shlo_disc.compile(text)
