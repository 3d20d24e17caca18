"""The custom calls that `shlo_disc.jit` writes, as text: for all sizes, and with what does not fit."""

# NumPy's arrays of results are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import numpy as np
import pytest

import shlo_disc
from shlo_disc import RuntimeShapeError, ShloDiscError
from tests.pipeline.exports import FAST


def transform(kind: str, given: str, result: str, lengths: int = 1) -> str:
    """A transform of a matrix along its last dims, whose lengths are an argument."""
    return f"""func.func @main(%x: tensor<?x?x{given}>, %n: tensor<{lengths}xi32>) -> tensor<?x?x{result}> {{
  %0 = stablehlo.custom_call @shlo_disc.dynamic_fft(%x, %n) {{fft_type = "{kind}"}}
    : (tensor<?x?x{given}>, tensor<{lengths}xi32>) -> tensor<?x?x{result}>
  return %0 : tensor<?x?x{result}>
}}"""


def prefix(is_whole: str, sizes: int = 2) -> str:
    """The first elements of a matrix, of which an argument says how many."""
    return f"""func.func @main(%x: tensor<?x?xf32>, %n: tensor<{sizes}xi32>) -> tensor<?x?xf32> {{
  %0 = stablehlo.custom_call @shlo_disc.prefix(%x, %n) {{is_whole = {is_whole}}}
    : (tensor<?x?xf32>, tensor<{sizes}xi32>) -> tensor<?x?xf32>
  return %0 : tensor<?x?xf32>
}}"""


def numbers(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


@pytest.mark.parametrize("n", [1, 2, 7, 16])
def test_transforms_of_all_kinds(n: int) -> None:
    x = np.random.default_rng().normal(size=(3, n)).astype(np.float32)
    forward = shlo_disc.compile(transform("RFFT", "f32", "complex<f32>"), device="cpu", options=FAST)
    (found,) = forward(x, numbers(n))
    np.testing.assert_allclose(found, np.fft.rfft(x), rtol=1e-4, atol=1e-4)
    back = shlo_disc.compile(transform("IRFFT", "complex<f32>", "f32"), device="cpu", options=FAST)
    np.testing.assert_allclose(back(found, numbers(n))[0], x, rtol=1e-4, atol=1e-4)
    for kind, wanted in (("FFT", np.fft.fft), ("IFFT", np.fft.ifft)):
        run = shlo_disc.compile(transform(kind, "complex<f32>", "complex<f32>"), device="cpu", options=FAST)
        np.testing.assert_allclose(run(x.astype(np.complex64), numbers(n))[0], wanted(x), rtol=1e-4, atol=1e-4)


def test_lengths_are_those_of_the_tensor() -> None:
    run = shlo_disc.compile(transform("RFFT", "f32", "complex<f32>"), device="cpu", options=FAST)
    for wrong in (4, 6, 0, -1):
        with pytest.raises(RuntimeShapeError):
            run(np.ones((3, 5), np.float32), numbers(wrong))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (transform("RFFT", "i32", "complex<f32>"), "'fft_type' to fit the types"),
        (transform("RFFT", "f32", "f32"), "'fft_type' to fit the types"),
        (transform("FFT", "complex<f32>", "complex<f64>"), "'fft_type' to fit the types"),
        (transform("ABC", "complex<f32>", "complex<f32>"), "'fft_type' to fit the types"),
        (transform("FFT", "complex<f32>", "complex<f32>", lengths=3), "lengths of some of the last dims"),
        (transform("FFT", "complex<f32>", "complex<f32>", lengths=0), "lengths of some of the last dims"),
        (prefix("true", sizes=3), "rank|dims"),
        (prefix("false", sizes=1), "rank|dims"),
    ],
)
def test_what_does_not_fit_is_refused(text: str, message: str) -> None:
    with pytest.raises(ShloDiscError, match=message):
        shlo_disc.compile(text, device="cpu", options=FAST)


def test_a_prefix() -> None:
    x = np.random.default_rng().normal(size=(5, 7)).astype(np.float32)
    run = shlo_disc.compile(prefix("false"), device="cpu", options=FAST)
    for rows, columns in ((5, 7), (3, 2), (0, 7), (1, 1)):
        np.testing.assert_array_equal(run(x, numbers(rows, columns))[0], x[:rows, :columns])
    for wrong in ((6, 7), (5, 8), (-1, 3)):
        with pytest.raises(RuntimeShapeError):
            run(x, numbers(*wrong))


def test_a_prefix_that_is_whole() -> None:
    x = np.random.default_rng().normal(size=(5, 7)).astype(np.float32)
    run = shlo_disc.compile(prefix("true"), device="cpu", options=FAST)
    np.testing.assert_array_equal(run(x, numbers(5, 7))[0], x)
    for wrong in ((4, 7), (5, 6), (6, 7)):
        with pytest.raises(RuntimeShapeError):
            run(x, numbers(*wrong))
