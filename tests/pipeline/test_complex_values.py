"""Functions of complex numbers with infinite parts, NaN and zeros of both signs: one meaning everywhere, that of XLA.

Where ours differs from XLA's, `DIFFERS` says for which operands; docs/reference/accuracy.md has the reasons.
"""

# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import jax
import numpy as np
import pytest
from jax import lax
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled

pytestmark = pytest.mark.slow

Array = NDArray[Any]
UNARY: dict[str, Callable[[Any], Any]] = {
    "stablehlo.abs": lax.abs, "stablehlo.exponential": lax.exp, "stablehlo.exponential_minus_one": lax.expm1,
    "stablehlo.log": lax.log, "stablehlo.log_plus_one": lax.log1p, "stablehlo.sine": lax.sin,
    "stablehlo.cosine": lax.cos, "stablehlo.tan": lax.tan, "stablehlo.tanh": lax.tanh, "stablehlo.sqrt": lax.sqrt,
    "stablehlo.rsqrt": lax.rsqrt, "stablehlo.sign": lax.sign, "stablehlo.negate": lax.neg,
    "stablehlo.logistic": lax.logistic, "chlo.acos": lax.acos, "chlo.acosh": lax.acosh, "chlo.asin": lax.asin,
    "chlo.asinh": lax.asinh, "chlo.atan": lax.atan, "chlo.atanh": lax.atanh, "chlo.cosh": lax.cosh,
    "chlo.sinh": lax.sinh, "chlo.square": lax.square,
}  # fmt: skip
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "stablehlo.add": lax.add, "stablehlo.subtract": lax.sub, "stablehlo.multiply": lax.mul, "stablehlo.divide": lax.div,
}  # fmt: skip
TYPES = {"complex<f32>": np.complex64, "complex<f64>": np.complex128}
PARTS = (np.inf, -np.inf, np.nan, 0.0, -0.0, 1.0, -2.5, 0.3)
SPECIAL = np.array([complex(re, im) for re, im in product(PARTS, PARTS)])


def negative_zero(x: Array) -> Array:
    return (x == 0) & np.signbit(x)


def on_cut(z: Array) -> Array:
    """On the lower side of the real axis: XLA takes the root above it, which is that of the upper side."""
    return negative_zero(np.imag(z))


def left_of_cut(z: Array) -> Array:
    return negative_zero(np.real(z))


def nan_and_infinity(z: Array) -> Array:
    return (np.isnan(np.real(z)) | np.isnan(np.imag(z))) & (np.isinf(np.real(z)) | np.isinf(np.imag(z)))


DIFFERS: dict[str, Callable[..., Array]] = {
    "stablehlo.sqrt": on_cut,
    "stablehlo.rsqrt": nan_and_infinity,
    "chlo.acos": on_cut,
    "chlo.acosh": on_cut,
    "chlo.asin": lambda z: on_cut(z) | left_of_cut(z),
    "chlo.asinh": left_of_cut,
    "chlo.atan": lambda z: np.isnan(z) | left_of_cut(z),
    "chlo.atanh": lambda z: np.isnan(z) | on_cut(z),
    "stablehlo.divide": lambda a, b: np.isinf(np.real(a)) | np.isinf(np.imag(a)) | nan_and_infinity(b),
}


def text_of(name: str, dtype: str) -> str:
    result = dtype[8:11] if name == "stablehlo.abs" else dtype
    t, r = f"tensor<?x{dtype}>", f"tensor<?x{result}>"
    if name in BINARY:
        return f"func.func @main(%a: {t}, %b: {t}) -> {r} {{\n  %r = {name} %a, %b : {t}\n  return %r : {r}\n}}"
    kind = t if t == r and name.startswith("stablehlo") else f"({t}) -> {r}"
    return f"func.func @main(%a: {t}) -> {r} {{\n  %r = {name} %a : {kind}\n  return %r : {r}\n}}"


def operands(name: str, dtype: str) -> list[Array]:
    z = SPECIAL.astype(TYPES[dtype])
    return [np.repeat(z, len(z)), np.tile(z, len(z))] if name in BINARY else [z]


def differing(a: Array, b: Array) -> Array:
    """Where two results have parts of which one is NaN or infinite, or which are not nearly the same."""
    wrong = np.zeros(a.shape, bool)
    for one, other in ((np.real(a), np.real(b)), (np.imag(a), np.imag(b))):
        with np.errstate(invalid="ignore"):
            wrong |= ~np.isclose(one, other, 2e-6, 1e-6, equal_nan=True)
    return wrong


def check(found: Array, wanted: Array, arguments: list[Array], what: str, allowed: Array | None = None) -> None:
    wrong = differing(found, wanted) & (True if allowed is None else ~allowed)
    shown = [([x[k] for x in arguments], found[k], wanted[k]) for k in np.flatnonzero(wrong)[:5]]
    assert not shown, f"{what}: operands, found, wanted: {shown}"


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", [*UNARY, *BINARY])
def test_special_parts(name: str, dtype: str) -> None:
    text, arguments = text_of(name, dtype), operands(name, dtype)
    run = shlo_disc.compile(text, device="cpu", options=CompileOptions(optimize=1))
    (lanes,) = run(*arguments)
    some = range(0, len(arguments[0]), 1 if name in UNARY else 61)
    alone = np.concatenate([run(*(x[k : k + 1] for x in arguments))[0] for k in some])
    check(alone, lanes[list(some)], [x[list(some)] for x in arguments], "one element beside 16 lanes")
    check(interpret(legalize(parse_module(text)), arguments)[0], lanes, arguments, "the reference beside the kernel")
    with jax.enable_x64(True):
        wanted = np.asarray(jax.jit({**UNARY, **BINARY}[name])(*arguments))
    allowed = DIFFERS[name](*arguments) if name in DIFFERS else None
    check(lanes, wanted, arguments, "the kernel beside XLA", allowed)


@pytest.mark.parametrize("name", ["stablehlo.maximum", "stablehlo.minimum"])
def test_a_number_with_a_nan_is_the_extreme(name: str) -> None:
    t = "tensor<?xcomplex<f32>>"
    text = f"func.func @main(%a: {t}, %b: {t}) -> {t} {{\n  %r = {name} %a, %b : {t}\n  return %r : {t}\n}}"
    z = SPECIAL.astype(np.complex64)
    arguments = [np.repeat(z, len(z)), np.tile(z, len(z))]
    wanted = interpret(legalize(parse_module(text)), arguments)[0]
    assert (np.isnan(wanted) == (np.isnan(arguments[0]) | np.isnan(arguments[1]))).all()
    (found,) = shlo_disc.compile(text, device="cpu", options=CompileOptions(optimize=1))(*arguments)
    np.testing.assert_array_equal(found, wanted)
    on_gpu = compiled(text, EmulatedDevice()).executable(arguments)
    np.testing.assert_array_equal(np.asarray(on_gpu[0]), wanted)


def test_literals_mean_what_arguments_do() -> None:
    z = SPECIAL[::7].astype(np.complex64)
    names = [name for name in UNARY if name != "chlo.square"]
    kind, lines, results = "tensor<complex<f32>>", list[str](), list[str]()
    for k, (re, im) in enumerate(zip(z.real.view(np.uint32), z.imag.view(np.uint32), strict=True)):
        lines.append(f"  %c{k} = stablehlo.constant dense<(0x{re:08X}, 0x{im:08X})> : {kind}")
        for number, name in enumerate(names):
            made = "tensor<f32>" if name == "stablehlo.abs" else kind
            typed = kind if made == kind and name.startswith("stablehlo") else f"({kind}) -> {made}"
            lines.append(f"  %r{number}_{k} = {name} %c{k} : {typed}")
            wide = f"%r{number}_{k}"
            if name == "stablehlo.abs":
                lines.append(f"  %w{k} = stablehlo.convert {wide} : (tensor<f32>) -> {kind}")
                wide = f"%w{k}"
            lines.append(f"  %s{number}_{k} = stablehlo.reshape {wide} : ({kind}) -> tensor<1xcomplex<f32>>")
    for number in range(len(names)):
        parts = [f"%s{number}_{k}" for k in range(len(z))]
        types = ", ".join(["tensor<1xcomplex<f32>>"] * len(z))
        results.append(f"%t{number}")
        lines.append(
            f"  %t{number} = stablehlo.concatenate {', '.join(parts)}, dim = 0 "
            f": ({types}) -> tensor<{len(z)}xcomplex<f32>>"
        )
    types = ", ".join([f"tensor<{len(z)}xcomplex<f32>>"] * len(names))
    body = "\n".join(lines)
    text = f"func.func @main() -> ({types}) {{\n{body}\n  return {', '.join(results)} : {types}\n}}"
    found = shlo_disc.compile(text, device="cpu", options=CompileOptions(optimize=0))()
    for name, literal in zip(names, found, strict=True):
        (argument,) = shlo_disc.compile(text_of(name, "complex<f32>"), device="cpu")(z)
        check(literal, argument, [z], f"a literal beside an argument of {name}")


@pytest.mark.parametrize("name", [*UNARY, "stablehlo.divide"])
def test_special_parts_on_the_emulated_gpu(name: str) -> None:
    text, arguments = text_of(name, "complex<f64>"), operands(name, "complex<f64>")
    arguments = [x[:: 1 if name in UNARY else 7].copy() for x in arguments]
    found = np.asarray(compiled(text, EmulatedDevice()).executable(arguments)[0])
    (wanted,) = shlo_disc.compile(text, device="cpu")(*arguments)
    check(found, wanted, arguments, "a GPU beside the CPU")


def test_a_part_of_an_exponential_less_one_is_finite_where_that_of_the_exponential_is() -> None:
    """exp(710.5) is too large, and not its product with 8e-8. NumPy and XLA give infinity, as we did."""
    z = np.array([complex(re, im) for re in (699.9, 700.1, 710.5, 712.0) for im in (8e-8, -3e-9, 3.1415926, 1.5)])
    z = np.tile(z, 3)
    text = text_of("stablehlo.exponential_minus_one", "complex<f64>")
    with np.errstate(over="ignore"):
        wanted: Array = np.exp(z)
    assert np.isinf(np.real(wanted)).any()
    assert np.isfinite(np.imag(wanted)[np.real(z) > 710]).any()
    (on_cpu,) = shlo_disc.compile(text, device="cpu")(z)
    for found in (on_cpu, np.asarray(compiled(text, EmulatedDevice()).executable([z])[0])):
        for part in (np.real, np.imag):
            np.testing.assert_allclose(part(found), part(wanted), rtol=1e-13)
