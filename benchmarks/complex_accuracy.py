"""How exact the functions of complex numbers are: a table of docs/reference/accuracy.md (see accuracy.py)."""

# JAX annotates only a part of its functions.
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import jax
import numpy as np
from jax import lax
from numpy.typing import NDArray

from benchmarks import exact
from tests.device.compilers import build
from tests.device.test_complex import HARNESS

Floats: TypeAlias = NDArray[Any]
Complex: TypeAlias = NDArray[Any]

XLA: Mapping[str, Callable[[Any, Any], Any]] = {
    "abs": lambda x, _: lax.abs(x), "acos_": lambda x, _: lax.acos(x), "acosh_": lambda x, _: lax.acosh(x),
    "asin_": lambda x, _: lax.asin(x), "asinh_": lambda x, _: lax.asinh(x), "atan_": lambda x, _: lax.atan(x),
    "atanh_": lambda x, _: lax.atanh(x), "cbrt_": lambda x, _: lax.pow(x, x.dtype.type(1 / 3)),
    "cos_": lambda x, _: lax.cos(x), "cosh_": lambda x, _: lax.cosh(x), "div_": lax.div,
    "exp_": lambda x, _: lax.exp(x), "expm1_": lambda x, _: lax.expm1(x), "log_": lambda x, _: lax.log(x),
    "log1p_": lambda x, _: lax.log1p(x), "logistic_": lambda x, _: lax.logistic(x), "mul_": lax.mul,
    "pow_": lax.pow, "rsqrt_": lambda x, _: lax.rsqrt(x), "sign_": lambda x, _: lax.sign(x),
    "sin_": lambda x, _: lax.sin(x), "sinh_": lambda x, _: lax.sinh(x),
    "sqrt_": lambda x, _: lax.sqrt(x), "tan_": lambda x, _: lax.tan(x), "tanh_": lambda x, _: lax.tanh(x),
}  # fmt: skip
KINDS = {np.dtype(np.complex64): "c64", np.dtype(np.complex128): "c128"}
INFIX = {"div_": "x / y", "mul_": "x * y", "pow_": "pow_(x, y)", "abs": "{abs_(x), 0}"}
HEAD = ("function", "type", "16 lanes", "one element", "CUDA, emulated", "XLA", "parts", "parts, XLA", "largest at")

# What accuracy.py adds to the functions of CUDA's text.
LOOPS = "".join(
    f"""extern "C" void {name}_{kind}(const {kind}* a, const {kind}* b, {kind}* out, int64_t n) {{
  for (int64_t i = 0; i < n; i++) {{
    const {kind} x = a[i], y = b[i];
    (void)y;
    out[i] = {INFIX.get(name, f"{name}(x)")};
  }}
}}
"""
    for name in XLA
    for kind in KINDS.values()
)


def points(dtype: np.dtype[Any], count: int) -> tuple[Complex, Complex]:
    """Operands: in ranges about 0, of all sizes, near the unit circle, near the axes."""
    rng = np.random.default_rng(count)
    some, most = count // 6, 100 if dtype == np.complex64 else 900

    def turned(size: Floats) -> Complex:
        angle = rng.uniform(-np.pi, np.pi, some)
        return size * np.cos(angle) + 1j * (size * np.sin(angle))

    def square(size: float) -> Complex:
        return rng.uniform(-size, size, some) + 1j * rng.uniform(-size, size, some)

    apart = np.exp2(rng.uniform(-30, 0, some))
    x = [square(1), square(8), square(60), turned(np.exp2(rng.uniform(-most, most, some))), turned(1 + apart * 1e-3)]
    along = rng.uniform(-8, 8, some)
    x.append(np.where(rng.random(some) < 0.5, along + 1j * apart, apart + 1j * along))
    y = [square(1), square(3), square(8), turned(np.exp2(rng.uniform(-9, 3, some))), square(4), square(2)]
    return np.concatenate(x).astype(dtype), np.concatenate(y).astype(dtype)


def errors(got: Complex, wanted: Complex) -> tuple[Floats, Floats]:
    """Distances in ulp of the modulus, and the larger of the parts' in ulp of each; 0 where nothing normal is near."""
    limits = np.finfo(got.dtype)
    size = np.abs(wanted)
    inside = (size >= limits.tiny) & (size <= limits.max)
    unit = np.spacing(np.clip(size, limits.tiny, limits.max).astype(limits.dtype))
    norm = np.abs(got.astype(np.clongdouble) - wanted) / unit
    each = [_ulps(np.asarray(part(got)), np.asarray(part(wanted)), float(limits.tiny)) for part in (np.real, np.imag)]
    return np.where(inside, np.nan_to_num(norm, nan=np.inf), 0), np.where(inside, np.maximum(*each), 0)


def _ulps(got: Floats, wanted: Floats, tiny: float) -> Floats:
    unit = np.spacing(np.maximum(np.abs(wanted), tiny).astype(got.dtype))
    return np.where(np.abs(wanted) < tiny, 0, np.nan_to_num(np.abs(got - wanted) / unit, nan=np.inf))


def rows(count: int, truth: ctypes.CDLL, cuda: ctypes.CDLL, folder: Path, spelled: Callable[[float], str]) -> list[str]:
    """The lines of the table; `cuda`: the functions of `LOOPS`."""
    cpu = build("gcc", HARNESS, folder, "-O2")
    lines = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    for name in XLA:
        for dtype, kind in KINDS.items():
            x, y = points(dtype, count)
            with np.errstate(all="ignore"):
                wanted = exact.of_complex(truth, name, x, y)
                pairs = [errors(got, wanted) for got in _sides(name, kind, x, y, cpu, cuda)]
            lines.append(_row(name, kind, x, pairs, spelled))
            print(lines[-1], flush=True)
    return lines


def _sides(name: str, kind: str, x: Complex, y: Complex, cpu: ctypes.CDLL, cuda: ctypes.CDLL) -> Sequence[Complex]:
    """16 lanes, one element, CUDA, XLA."""

    def call(function: Any, outputs: int) -> list[Complex]:
        made = [np.empty_like(x) for _ in range(outputs)]
        function(*(ctypes.c_void_p(a.ctypes.data) for a in (x, y, *made)), ctypes.c_int64(x.size))
        return made

    found = [*call(cpu[f"{name}_{kind}"], 2), *call(cuda[f"{name}_{kind}"], 1)]
    found.append(np.asarray(jax.jit(XLA[name])(x, y)).astype(x.dtype))
    return [np.real(a).astype(x.dtype) for a in found] if name == "abs" else found


def _row(
    name: str, kind: str, x: Complex, pairs: Sequence[tuple[Floats, Floats]], spelled: Callable[[float], str]
) -> str:
    def cell(error: Floats) -> str:
        return f"{spelled(float(error.max()))} ({spelled(float(error[np.isfinite(error)].mean()))})"

    worst = x[int(pairs[0][0].argmax())]
    cells = [cell(norm) for norm, _ in pairs] + [cell(pairs[0][1]), cell(pairs[-1][1])]
    return f"| {name.removesuffix('_')} | {kind} | {' | '.join(cells)} | {np.real(worst):.6g}{np.imag(worst):+.6g}i |"
