"""`convert` from every element type to every other: compiled and interpreted, against XLA where it has the types."""

# JAX's functions are partly untyped; nothing untyped leaves this file but arrays of any dtype.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.functions import numpy_math
from shlo_disc.functions.numpy_math import wide
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled

pytestmark = pytest.mark.slow

Array = NDArray[Any]
TYPES = tuple(dtype for dtype in DType if dtype is not DType.INDEX)
NARROW = tuple(dtype for dtype in TYPES if dtype.is_encoded)
PLAIN = (DType.I1, DType.UI8, DType.I16, DType.I64, DType.UI64, DType.F32, DType.F64, DType.C64, DType.C128)
SOURCES = tuple(dtype for dtype in TYPES if dtype not in (DType.I8, DType.UI16, DType.I16, DType.UI32))
SPECIAL = (0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1e-45, -1e-45, 1e30, -1e30, 3.5, -0.5, 2.0**63, 2.0**64)

NOT_IN_XLA = (DType.F6E2M3FN, DType.F6E3M2FN)
LEAST_NORMAL = 2.0**-126
LEAST_NORMAL_F16 = 2.0**-14


def text(source: DType, targets: Sequence[DType]) -> str:
    results = ", ".join(f"tensor<?x{target.value}>" for target in targets)
    lines = "\n".join(
        f"  %{k} = stablehlo.convert %x : (tensor<?x{source.value}>) -> tensor<?x{target.value}>"
        for k, target in enumerate(targets)
    )
    names = ", ".join(f"%{k}" for k in range(len(targets)))
    return f"func.func @main(%x: tensor<?x{source.value}>) -> ({results}) {{\n{lines}\n  return {names} : {results}\n}}"


def codes(dtype: DType) -> Array:
    """Every value of a type of 8 bits and fewer."""
    return np.arange(1 << dtype.bits, dtype=np.uint8).view(numpy_dtype(dtype))


def midpoints() -> Array:
    """Every value of every small float, what lies halfway between two of them, and their neighbours in f64 and f32."""
    small = [codes(dtype).astype(np.float64) for dtype in TYPES if dtype.is_float and dtype.bits <= 8]
    values = np.unique(np.concatenate(small))
    values = values[np.isfinite(values)]
    found = [values, (values[1:] + values[:-1]) / 2]
    for one in found[:2]:
        for epsilon in (2.0**-52, 2.0**-30, 2.0**-22):
            found += [one * (1 + epsilon), one * (1 - epsilon)]
    return np.concatenate(found)


def points(dtype: DType, rng: np.random.Generator) -> Array:
    """All values of a small type; corners, midpoints and random ones of a larger type."""
    if dtype.is_bool:
        return np.array([False, True, True])
    if dtype.bits <= 8:
        return codes(dtype)
    wanted = numpy_dtype(dtype)
    if dtype.is_integer:
        least, most = dtype.integer_bounds
        near = np.arange(-300, 300).astype(wanted)
        limits = np.array([least, least + 1, most, most - 1, most // 2 + 1]).astype(wanted)
        return np.concatenate([near, limits, rng.integers(least, most, 500, wanted.type, endpoint=True)])
    real = np.concatenate([midpoints(), SPECIAL, rng.standard_normal(500) * 10.0 ** rng.integers(-40, 40, 500)])
    if dtype.is_complex:
        return real.astype(wanted) + 1j * rng.standard_normal(real.shape).astype(wanted)
    return real.astype(np.float32 if dtype.is_narrow_float else wanted).astype(wanted)


def equal(found: Array, wanted: Array, what: str) -> None:
    """Equal bits; NaNs are alike."""
    assert found.dtype == wanted.dtype, what
    wide = [x.astype(np.complex128 if x.dtype.kind == "c" else np.float64) for x in (found, wanted)]
    raw = [np.frombuffer(x.tobytes(), np.uint8).reshape(x.size, -1) for x in (found, wanted)]
    apart = (raw[0] != raw[1]).any(axis=1) & ~(np.isnan(wide[0]) & np.isnan(wide[1]))
    assert not apart.any(), f"{what}: {found[apart][:5]}, expected {wanted[apart][:5]}"


def compared(x: Array, source: DType, target: DType) -> Array:
    """Where XLA is the oracle: it flushes subnormal f32, on some CPUs subnormal f16 of f64, and differs for f4E2M1FN.

    A NaN as f4E2M1FN is 0 there, and in ml_dtypes a zero of the other sign. To clamp an f4E2M1FN to the range of an
    integer, it rounds the limits to 6 and -6.
    """
    number = wide(x).astype(np.complex128)
    real, imag = np.abs(np.real(number)), np.abs(np.imag(number))
    kept = ~((real > 0) & (real < LEAST_NORMAL)) & ~((imag > 0) & (imag < LEAST_NORMAL))
    if target is DType.F16 and source in (DType.F64, DType.C128):
        kept &= (real == 0) | (real >= LEAST_NORMAL_F16)
    if source is DType.F4E2M1FN and target.is_integer:
        return kept & (real < 6)
    return kept & ~np.isnan(real) if target is DType.F4E2M1FN else kept


def by_xla(x: Array, targets: Sequence[DType]) -> Mapping[DType, Array]:
    """JAX's conversions; complex numbers are cut down to their real parts first, as `convert` does."""
    known = [target for target in targets if target not in NOT_IN_XLA]

    def convert(x: Any) -> list[Any]:
        return [(x if t.is_complex else x.real).astype(numpy_dtype(t)) for t in known]

    return dict(zip(known, map(np.asarray, jax.jit(convert)(x)), strict=True))


@pytest.mark.parametrize("source", SOURCES, ids=lambda dtype: dtype.value)
def test_conversions(source: DType) -> None:
    targets = TYPES if source.is_encoded else (*NARROW, *PLAIN)
    with np.errstate(all="ignore"), jax.enable_x64(True):
        x = points(source, np.random.default_rng(source.bits))
        found = shlo_disc.compile(text(source, targets))(x)
        oracle = {} if source in NOT_IN_XLA else by_xla(x, targets)
        for one, target in zip(found, targets, strict=True):
            equal(one, numpy_math.convert(x, target), f"{source.value} to {target.value}")
            if target in oracle:
                kept = compared(x, source, target)
                equal(one[kept], oracle[target][kept], f"{source.value} to {target.value} by XLA")


@pytest.mark.parametrize("source", [DType.F32, DType.F64, DType.I32, DType.F8E4M3FNUZ, DType.UI4])
def test_conversions_on_the_emulator(source: DType) -> None:
    with np.errstate(all="ignore"):
        x = points(source, np.random.default_rng(1))
        found = compiled(text(source, NARROW), EmulatedDevice()).executable([x])
        for one, target in zip(found, NARROW, strict=True):
            equal(np.asarray(one), numpy_math.convert(x, target), f"{source.value} to {target.value}")


FORMATS = ((5, 10), (5, 3), (5, 1), (8, 7), (11, 2), (4, 3), (2, 1))


@pytest.mark.parametrize(("dtype", "most"), [(DType.F16, 10), (DType.F8E5M2, 2)])
def test_precision_is_reduced_where_numbers_lie(dtype: DType, most: int) -> None:
    """Every value, subnormal ones too, by the compiled program, the interpreter and XLA, which all agree."""
    width = 16 if dtype is DType.F16 else 8
    x = np.arange(1 << width, dtype=f"u{width // 8}").view(numpy_dtype(dtype))
    formats = [(exponent, min(mantissa, most)) for exponent, mantissa in FORMATS]
    kind = f"tensor<?x{dtype.value}>"
    lines = [f"  %{k} = stablehlo.reduce_precision %x, format = e{e}m{m} : {kind}" for k, (e, m) in enumerate(formats)]
    names, types = ", ".join(f"%{k}" for k in range(len(formats))), ", ".join([kind] * len(formats))
    program = "\n".join([f"func.func @main(%x: {kind}) -> ({types}) {{", *lines, f"  return {names} : {types}", "}"])
    by_program, by_reference = shlo_disc.compile(program)(x), interpret(legalize(parse_module(program)), [x])
    for k, one in enumerate(formats):
        by_xla = np.asarray(jax.jit(lambda v, one=one: jax.lax.reduce_precision(v, *one))(x))
        for found in (by_program[k], by_reference[k]):
            np.testing.assert_array_equal(wide(np.asarray(found)), wide(by_xla), f"e{one[0]}m{one[1]}")
            zero = wide(by_xla) == 0
            np.testing.assert_array_equal(np.signbit(wide(np.asarray(found))[zero]), np.signbit(wide(by_xla)[zero]))
