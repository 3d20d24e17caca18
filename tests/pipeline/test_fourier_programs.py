"""Fourier transforms: every form, rank, dtype and odd size, against XLA and against the sum that defines them."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from numpy.typing import NDArray

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.runtime import fourier
from tests.emulator.run import emulate
from tests.pipeline.exports import In, program, verify

_PI = 4 * np.arctan(np.longdouble(1))
LENGTHS = (1, 2, 3, 8, 13, 31, 33, 64)


def every_form(x: Any, y: Any) -> Any:
    """Real and complex transforms of one to three dimensions, between ops that are fused around them."""
    z = lax.complex(x, y)
    return (
        [jnp.fft.fft(z[:, :n]).imag * 2 for n in LENGTHS],
        [jnp.fft.irfft(z[:, :n], 2 * n - 1) for n in LENGTHS],
        [jnp.fft.irfft(z[:, 1 : n + 1], 2 * n) + 1 for n in LENGTHS],
        [abs(jnp.fft.rfft(jnp.tanh(x[:, :n]))) for n in LENGTHS],
        jnp.fft.ifft2(z.reshape(-1, 5, 13)), jnp.fft.rfft2(y.reshape(-1, 13, 5)),
        jnp.fft.irfft2(z[:, :60].reshape(-1, 10, 6)),
        jnp.fft.fftn(z[:, :60].reshape(-1, 3, 4, 5), axes=(1, 2, 3)),
        jnp.fft.ifftn(z[:, :30].reshape(-1, 5, 3, 2), axes=(1, 2, 3)),
        jnp.fft.rfftn(x[:, :60].reshape(-1, 5, 4, 3), axes=(1, 2, 3)),
        jnp.fft.irfftn(z[:, :48].reshape(-1, 4, 4, 3), axes=(1, 2, 3)),
    )  # fmt: skip


def in_a_loop(z: Any) -> Any:
    """The lengths stand in the text, the number of turns and the sizes around them do not."""
    return lax.fori_loop(0, z.shape[0], lambda _, x: jnp.fft.fft(x) / 4, z), jnp.fft.fft(z[:, :0])


@pytest.mark.parametrize("one", [
    program("f32", every_form, In("b, 65"), In("b, 65")),
    program("f64", every_form, In("b, 65", np.float64), In("b, 65", np.float64), wide=True),
    program("loop", in_a_loop, In("b, 16", np.complex64), fixed={"b": 7}),
], ids=lambda one: one.name)  # fmt: skip
def test_transforms_are_xlas(one: Any) -> None:
    verify(one)


def definition(x: NDArray[Any], sign: int) -> NDArray[Any]:
    """The discrete Fourier transform of the last dimension, by its sum, in long doubles."""
    n = x.shape[-1]
    turns = np.outer(np.arange(n), np.arange(n)) % n / np.longdouble(n)
    return x.astype(np.clongdouble) @ np.exp(2j * sign * _PI * turns).T


FORMS = """
func.func @main(%x: tensor<?x{n}xcomplex<f32>>, %r: tensor<?x{n}xf32>)
    -> (tensor<?x{n}xcomplex<f32>>, tensor<?x{n}xcomplex<f32>>, tensor<?x{h}xcomplex<f32>>, tensor<?x{n}xf32>) {{
  %0 = stablehlo.fft %x, type = FFT, length = [{n}] : (tensor<?x{n}xcomplex<f32>>) -> tensor<?x{n}xcomplex<f32>>
  %1 = stablehlo.fft %x, type = IFFT, length = [{n}] : (tensor<?x{n}xcomplex<f32>>) -> tensor<?x{n}xcomplex<f32>>
  %2 = stablehlo.fft %r, type = RFFT, length = [{n}] : (tensor<?x{n}xf32>) -> tensor<?x{h}xcomplex<f32>>
  %3 = stablehlo.fft %2, type = IRFFT, length = [{n}] : (tensor<?x{h}xcomplex<f32>>) -> tensor<?x{n}xf32>
  return %0, %1, %2, %3
    : tensor<?x{n}xcomplex<f32>>, tensor<?x{n}xcomplex<f32>>, tensor<?x{h}xcomplex<f32>>, tensor<?x{n}xf32>
}}
"""


def forms(n: int) -> str:
    """All four forms of one length."""
    return FORMS.format(n=n, h=n // 2 + 1 if n else 0)


@pytest.mark.parametrize("n", [0, 1, 2, 97, 128])
@pytest.mark.parametrize("way", ["c", "vm", "interpreter", "cuda"])
def test_transforms_are_what_defines_them(n: int, way: str) -> None:
    text = forms(n)
    for rows in (0, 3):
        rng = np.random.default_rng(n + rows)
        x = (rng.standard_normal((rows, n)) + 1j * rng.standard_normal((rows, n))).astype(np.complex64)
        r = rng.standard_normal((rows, n)).astype(np.float32)
        found = _run(way, text, x, r)
        wanted = (definition(x, -1), definition(x, 1) / max(n, 1), definition(r, -1)[:, : found[2].shape[1]], r)
        for ours, exact, dtype in zip(
            found, wanted, (np.complex64, np.complex64, np.complex64, np.float32), strict=True
        ):
            assert ours.dtype == dtype
            assert ours.shape == exact.shape
            # pocketfft's error grows with the square root of the logarithm of n
            np.testing.assert_allclose(ours, exact, atol=1e-6 * abs(exact).max(initial=1))


def _run(way: str, text: str, *arrays: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    match way:
        case "interpreter":
            return tuple(interpret(legalize(shlo_disc.parse(text)), arrays))
        case "cuda":
            return emulate(text, arrays)
        case _:
            driver: Any = way
            return tuple(shlo_disc.compile(text, device="cpu", options=CompileOptions(driver=driver))(*arrays))


@pytest.mark.parametrize("form", ["FFT", "IFFT"])
@pytest.mark.parametrize(("rows", "columns", "threads"), [(128, 512, 1), (257, 512, 2), (64, 1024, 2), (97, 1021, 1)])
def test_columns_a_power_of_two_apart(form: str, rows: int, columns: int, threads: int) -> None:
    """Such a matrix is transformed in padded memory, with the same result; and in batches."""
    kind = f"tensor<2x{rows}x{columns}xcomplex<f32>>"
    text = f"""func.func @main(%x: {kind}) -> {kind} {{
      %0 = stablehlo.fft %x, type = {form}, length = [{rows}, {columns}] : ({kind}) -> {kind}
      return %0 : {kind}
    }}"""
    rng = np.random.default_rng(rows)
    x = (rng.standard_normal((2, rows, columns)) + 1j * rng.standard_normal((2, rows, columns))).astype(np.complex64)
    (found,) = shlo_disc.compile(text, device="cpu", threads=threads)(x)
    exact = (np.fft.fft2 if form == "FFT" else np.fft.ifft2)(x.astype(np.complex128))
    np.testing.assert_allclose(found, exact, atol=1e-6 * abs(exact).max())


def test_nan_stays_in_its_line() -> None:
    x = np.ones((3, 12), np.complex64)
    x[1, 5] = np.nan
    found, *_ = _run("c", forms(12), x, x.real.astype(np.float32))
    assert np.isnan(found[1]).all()
    assert np.isfinite(found[[0, 2]]).all()


def test_sizes_that_a_transform_does_not_have_are_refused() -> None:
    text = forms(12).replace("%x: tensor<?x12x", "%x: tensor<?x?x")
    text = text.replace("(tensor<?x12xcomplex<f32>>) -> tensor<?x12xc", "(tensor<?x?xcomplex<f32>>) -> tensor<?x12xc")
    run = shlo_disc.compile(text, device="cpu")
    real = np.ones((2, 12), np.float32)
    run(np.ones((2, 12), np.complex64), real)
    with pytest.raises(shlo_disc.RuntimeShapeError, match="found 11 and 12"):
        run(np.ones((2, 11), np.complex64), real)


@pytest.mark.parametrize(
    ("shape", "wanted"),
    [((331, 101), 3), ((256, 256), 3), ((128, 128), 1), ((8, 4096), 1), ((4099, 8), 3), ((1, 1), 1)],
)
def test_threads_are_started_for_what_takes_long(
    shape: tuple[int, int], wanted: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the steps of a transform: a large prime factor costs more than many small ones."""
    seen = list[int]()

    def to_complex(*arguments: Any) -> None:
        seen.append(arguments[-1])

    monkeypatch.setattr(fourier, "pocketfft", lambda: (to_complex, None, None))
    x = np.ones(shape, np.complex64)
    fourier.bind_fft("FFT", 2, threads=3)([x], [x.copy()])
    assert set(seen) == {wanted}


@pytest.mark.parametrize(
    ("shape", "dtype", "padded"),
    [
        ((64, 512), np.complex64, True),
        ((32, 512), np.complex64, False),  # few elements
        ((300, 256), np.complex64, True),
        ((300, 128), np.complex64, False),
        ((300, 128), np.complex128, True),
        ((2, 128, 1536), np.complex64, True),
        ((1024, 1000), np.complex64, False),
    ],
)
@pytest.mark.parametrize("form", ["FFT", "IFFT"])
def test_columns_that_share_sets_of_a_cache_are_apart(
    form: fourier.Transform, shape: tuple[int, ...], dtype: Any, *, padded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The columns are transformed where lines are a cache line further apart, else in the result."""
    seen = list[tuple[tuple[int, ...], int]]()

    def to_complex(_x: Any, axes: tuple[int, ...], *rest: Any) -> None:
        seen.append((axes, rest[2].strides[-2]))

    monkeypatch.setattr(fourier, "pocketfft", lambda: (to_complex, None, None))
    x, last = np.ones(shape, dtype), len(shape) - 1
    fourier.bind_fft(form, 2, threads=1)([x], [x.copy()])
    apart = x.strides[-2]
    assert seen == ([((last,), apart + 64), ((last - 1,), apart + 64)] if padded else [((last - 1, last), apart)])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(511,), (512,), (3, 171), (4, 512), (1, 1021)])
def test_few_lines_are_transformed_back_by_conjugates(
    shape: tuple[int, ...], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where they have enough elements to pay for it; the result is the same."""
    seen, inner = list[bool](), fourier.pocketfft()

    def to_complex(*arguments: Any) -> None:
        seen.append(arguments[2])
        inner[0](*arguments)

    monkeypatch.setattr(fourier, "pocketfft", lambda: (to_complex, *inner[1:]))
    rng = np.random.default_rng(0)
    x = (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    found = np.empty_like(x)
    fourier.bind_fft("IFFT", 1, threads=1)([x], [found])
    wanted = np.fft.ifft(x.astype(np.complex128))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=4 * np.finfo(dtype).eps * abs(wanted).max())
    assert seen == [dtype == np.complex64 and x.size >= 512 and len(x) != 4]


@pytest.fixture
def without_inner_functions(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A SciPy that keeps pocketfft elsewhere."""
    import_module("scipy.fft")  # which itself needs it
    monkeypatch.setitem(sys.modules, "scipy.fft._pocketfft.pypocketfft", None)
    fourier.pocketfft.cache_clear()
    yield
    fourier.pocketfft.cache_clear()


@pytest.mark.usefixtures("without_inner_functions")
def test_what_scipy_documents_is_enough() -> None:
    test_transforms_are_what_defines_them(97, "vm")


def test_without_scipy_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy.fft", None)
    fourier.pocketfft.cache_clear()
    with pytest.raises(shlo_disc.ToolchainError, match="pip install scipy"):
        shlo_disc.compile(forms(3), device="cpu")
    fourier.pocketfft.cache_clear()
