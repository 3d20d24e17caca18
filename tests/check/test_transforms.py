"""What legal runs of Fourier transforms may differ in, and what not."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc import parse
from shlo_disc.check.rounding import perturbed_runs
from shlo_disc.check.running import program_of

pytestmark = pytest.mark.quick


@pytest.mark.parametrize("points", [1, 2, 7, 8])
def test_sums_of_real_lines_have_no_imaginary_parts(points: int) -> None:
    text = f"""func.func @main(%x: tensor<3x{points}xf32>) -> tensor<3x{points // 2 + 1}xcomplex<f32>> {{
      %0 = stablehlo.fft %x, type = RFFT, length = [{points}]
        : (tensor<3x{points}xf32>) -> tensor<3x{points // 2 + 1}xcomplex<f32>>
      return %0 : tensor<3x{points // 2 + 1}xcomplex<f32>>
    }}"""
    x = np.random.default_rng().normal(size=(3, points)).astype(np.float32)
    runs = perturbed_runs(program_of(parse(text)), [x], range(16), "compiled")
    parts: NDArray[np.float32] = np.stack([np.imag(found) for (found,) in runs])
    exact = [0, *([points // 2] if points % 2 == 0 else [])]
    assert not parts[..., exact].any()
    others = np.delete(parts, exact, axis=-1)
    assert others.size == 0 or (others.max(axis=0) > others.min(axis=0)).all(), "the others are rounded"


def test_what_a_transform_may_cancel_is_zero_in_some_runs_and_not_in_others() -> None:
    """0 times an infinity is NaN, and the least number times it is not; equal zeros have an order."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<2x9xcomplex<f32>>) -> tensor<2x16xf32> {\n"
            "  %0 = stablehlo.fft %x, type = IRFFT, length = [16] : (tensor<2x9xcomplex<f32>>) -> tensor<2x16xf32>\n"
            "  return %0 : tensor<2x16xf32>\n}"
        )
    )
    wave = np.cos(2 * np.pi * 3 * np.arange(16) / 16)  # 0 at two of them, but for rounding
    x = np.stack([np.fft.rfft(wave), np.fft.rfft(wave + np.arange(16))]).astype(np.complex64)
    runs = np.array([run[0] for run in perturbed_runs(program, [x], range(8), "compiled")])
    near = abs(wave) < 1e-6
    assert near.sum() == 2
    assert (runs[:6, 0, near] != 0).all(axis=1).any()
    assert (runs[6:, 0, near] == 0).all()
    assert (runs[:, 0, ~near] != 0).all()
    assert (abs(runs[:, 1, 1:]) > 0.01).all()
    x[1, 0] = np.inf
    runs = np.array([run[0] for run in perturbed_runs(program, [x], range(8), "compiled")])
    assert np.isposinf(runs[:, 1]).all()  # never 0: these became 0, as what is no more than the rounding of others


@pytest.mark.parametrize("scale", [1e37, 1e39])
def test_sums_of_an_inverse_transform_may_overflow(scale: float) -> None:
    """Its results are divided by their number, and may be small: a tenth of the largest number, or nothing."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<1x9xcomplex<f32>>) -> tensor<1x16xf32> {\n"
            "  %0 = stablehlo.fft %x, type = IRFFT, length = [16] : (tensor<1x9xcomplex<f32>>) -> tensor<1x16xf32>\n"
            "  return %0 : tensor<1x16xf32>\n}"
        )
    )
    wave = np.cos(2 * np.pi * 3 * np.arange(16) / 16)
    x = (np.fft.rfft(wave) / 8 * scale / 4).astype(np.complex64)[None]
    assert np.isfinite(x).all()
    runs = np.array([run[0] for run in perturbed_runs(program, [x], range(16), "compiled")])
    assert np.isfinite(runs[0]).all()
    overflows = scale > 1e38
    assert np.isnan(runs).any() == np.isposinf(runs).any() == np.isneginf(runs).any() == overflows


def test_what_a_transform_and_its_inverse_cancel_is_zero_in_some_runs() -> None:
    """Errors that the first one was given were too large for the second: the order of zeros was that of noise."""
    program = program_of(
        parse(
            "func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {\n"
            "  %0 = stablehlo.fft %x, type = RFFT, length = [16] : (tensor<16x16xf32>) -> tensor<16x9xcomplex<f32>>\n"
            "  %1 = stablehlo.fft %0, type = IRFFT, length = [16] : (tensor<16x9xcomplex<f32>>) -> tensor<16x16xf32>\n"
            "  return %1 : tensor<16x16xf32>\n}"
        )
    )
    x = 1.5 * np.eye(16, dtype=np.float32) + 1.5 * np.eye(16, k=3, dtype=np.float32)
    runs = np.array([run[0] for run in perturbed_runs(program, [x], range(8), "compiled")])
    assert (runs[6:, x == 0] == 0).all()
    assert (runs[:6, x == 0] != 0).mean() > 0.5
    np.testing.assert_allclose(runs[:, x != 0], 1.5, rtol=1e-4)
