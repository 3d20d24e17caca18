"""The values of the CUDA prelude, compiled for the CPU, against NumPy; and that NVRTC takes them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.device import headers
from shlo_disc.functions import numpy_math
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.runtime.cuda import nvrtc
from tests.device.oracles import WIDER, ulps
from tests.device.test_functions import LIMITS, points
from tests.device.test_values import corners, samples
from tests.lower_cuda import spelled
from tests.lower_cuda.compilers import require_nvrtc
from tests.lower_cuda.special import EPSILON, LIBRARY, SPECIAL, check_special, wide, zeta_pairs
from tests.lower_cuda.spelled import ALL, COMPLEX, FLOATS, INTEGERS, NARROW, SPELL, tag

Array: TypeAlias = NDArray[Any]
Apply: TypeAlias = Callable[..., Array]

SPELLED = (*spelled.functions(), *spelled.choices(), *spelled.conversions())
CONSTANTS = (0.0, -0.0, 1.0, -1.5, 0.1, 1e-40, 3e38, np.inf, -np.inf, np.nan)
INDEX = {"int32_t": np.int32, "int64_t": np.int64}
MIXED = {"floordiv": np.floor_divide, "mod": np.mod, "min_": np.minimum, "max_": np.maximum}

PLAIN = """#define __CUDA_EMU__ 1
#define __device__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline, unused))
#include <math.h>
#include <string.h>
#include "math/math.cuh"
#include "values/pack.cuh"
"""


def _constants() -> str:
    lines = list[str]()
    for dtype in (*FLOATS, *INTEGERS):
        few = CONSTANTS if dtype.is_float else _limits(dtype)
        stores = " ".join(SPELL.store("out", str(k), SPELL.const(v, dtype), dtype) for k, v in enumerate(few))
        lines.append(f'extern "C" void constants_{tag(dtype)}({SPELL.memory_type(dtype)}* out) {{ {stores} }}')
    return "\n".join(lines)


def _mixed() -> str:
    return "\n".join(
        f'extern "C" void {name}_{a}_{b}(const {a}* x, const {b}* y, int64_t* out, int64_t n) {{'
        f" for (int64_t i = 0; i < n; i++) out[i] = {name}(x[i], y[i]); }}"
        for name in MIXED
        for a, b in product(INDEX, INDEX)
    )


def _packs() -> str:
    """Copies through packs of every size that one access can have."""
    kinds = sorted({SPELL.memory_type(d) for d in ALL})
    sizes = {SPELL.memory_type(d): d.bytes for d in ALL}
    return "\n".join(
        f'extern "C" void pack_{kind}_{n}(const {kind}* x, {kind}* y, int64_t count) {{'
        f" for (int64_t i = 0; i < count; i += {n}) {{ Pack<{kind}, {n}> p = pack_load<{n}>(x + i);"
        f" static_assert(alignof(Pack<{kind}, {n}>) == {n} * sizeof({kind}));"
        f" pack_store(y + i, p); }} }}"
        for kind in kinds
        for n in (1, 2, 4, 8, 16)
        if n * sizes[kind] <= 16
    )


def _limits(dtype: DType) -> list[int]:
    info = np.iinfo(numpy_dtype(dtype))
    return [int(info.min), int(info.min) + 1, 0, 1, int(info.max)]


@pytest.fixture(autouse=True)
def overflow() -> Iterator[None]:
    """NumPy computes special values without a warning."""
    with np.errstate(all="ignore"):
        yield


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("prelude")
    source, target = folder / "prelude.cc", folder / "prelude.so"
    source.write_text(PLAIN + _constants() + _mixed() + _packs() + "".join(map(spelled.loop, SPELLED)))
    flags = ["-std=gnu++17", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off", "-shared", "-fPIC"]
    command = ["g++", *flags, f"-I{headers.ROOT}", str(source), "-o", str(target)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(target))


def call(library: ctypes.CDLL, name: str, target: np.dtype[Any], *arrays: Array) -> Array:
    out = np.zeros(arrays[0].size, target)
    pointers = [ctypes.c_void_p(np.ascontiguousarray(x).ctypes.data) for x in (*arrays, out)]
    library[name](*pointers, ctypes.c_int64(out.size))
    return out


@pytest.fixture(scope="module")
def apply(library: ctypes.CDLL) -> Apply:
    """Call a function by name on one or two arrays."""

    def run(name: str, target: DType, a: Array, b: Array | None = None) -> Array:
        return call(library, name, numpy_dtype(target), a, a if b is None else b)

    return run


def values(dtype: DType) -> Array:
    """Special values, and random ones of all sizes."""
    if dtype.is_complex:
        few, many = corners(dtype.part), samples(dtype.part)
        a, b = np.array(list(product(few, few)), few.dtype).T
        return np.concatenate([a + 1j * b, many + 1j * many[::-1]]).astype(numpy_dtype(dtype))
    if dtype in NARROW:
        return samples(DType.F32).astype(numpy_dtype(dtype))
    return samples(dtype)


def pairs(dtype: DType) -> tuple[Array, Array]:
    if dtype.is_complex:
        return values(dtype), values(dtype)[::-1].copy()
    few = corners(DType.F32 if dtype in NARROW else dtype).astype(numpy_dtype(dtype))
    a, b = np.array(list(product(few, few)), few.dtype).T
    many = values(dtype)
    return np.concatenate([a, many]), np.concatenate([b, many[::-1]])


def bits(x: Array) -> Array:
    return x.view(f"u{x.dtype.itemsize}")


def check_exact(got: Array, wanted: Array, target: DType) -> None:
    """Equal, with the signs of zeros; NaN is NaN."""
    cast = wanted.astype(got.dtype)
    if not target.is_float:
        np.testing.assert_array_equal(got, cast)
        return
    same = (bits(got) == bits(cast)) | (np.isnan(wide(got)) & np.isnan(wide(cast)))
    worst = int(np.argmin(same))
    assert same.all(), f"element {worst}: {got[worst]!r}, not {cast[worst]!r}"


def check_near(got: Array, exact: Array, dtype: DType, ulp: float) -> None:
    """At most `ulp` units in the last place from a result in a wider type."""
    if dtype in NARROW:  # rounded twice: through f32
        rounded = exact.astype(np.float32).astype(got.dtype).astype(np.float64)
        tiny = 2.0**-24 if dtype is DType.F16 else 2.0**-133
        np.testing.assert_allclose(got.astype(np.float64), rounded, rtol=EPSILON[dtype], atol=tiny)
        return
    error = ulps(got, exact)
    worst = int(error.argmax())
    assert error[worst] <= ulp, f"element {worst}: {got[worst]!r}, not {exact[worst]!r}"


@pytest.mark.parametrize("fn", UnaryFn)
def test_unary(apply: Apply, fn: UnaryFn) -> None:
    for dtype in spelled.types_of(fn):
        target, name = spelled.unary_target(fn, dtype), f"{fn.value.name}_{tag(dtype)}"
        if dtype.is_complex:
            continue
        reference = WIDER.get(fn.value.code)
        if reference is None or not dtype.is_float:
            x = values(dtype)
            got, wanted = apply(name, target, x), fn.value.evaluate(x)
            if fn in SPECIAL:
                check_special(got, wanted, dtype)
            else:
                check_exact(got, wanted, target)
            continue
        x = points(np.float64 if dtype is DType.F64 else np.float32).astype(numpy_dtype(dtype))
        got, exact = apply(name, target, x), reference(wide(x))
        limits = LIBRARY.get(fn) or LIMITS[fn.value.code]
        check_near(got, exact, dtype, limits[dtype is DType.F64])
        zeros = (exact == 0) & (wide(got) == 0)
        np.testing.assert_array_equal(np.signbit(wide(got[zeros])), np.signbit(exact[zeros]))


@pytest.mark.parametrize("fn", BinaryFn)
def test_binary(apply: Apply, fn: BinaryFn) -> None:
    for dtype in spelled.types_of(fn):
        if dtype.is_complex:
            continue
        target = spelled.binary_target(fn, dtype)
        a, b = zeta_pairs(dtype) if fn in SPECIAL else pairs(dtype)
        for name in (f"{fn.value.name}_{tag(dtype)}", f"{fn.value.name}_call_{tag(dtype)}"):
            if name not in {s.name for s in SPELLED}:
                continue
            got = apply(name, target, a, b)
            if fn in SPECIAL:
                check_special(got, fn.value.evaluate(a, b), dtype)
            elif dtype.is_float and fn in (BinaryFn.POWER, BinaryFn.ATAN2):
                x, y = (a, b) if dtype is DType.F64 else (wide(a), wide(b))
                check_near(got, fn.value.evaluate(x, y), dtype, 2)
            elif fn in (BinaryFn.MAXIMUM, BinaryFn.MINIMUM):  # of two zeros either
                np.testing.assert_array_equal(wide(got), wide(fn.value.evaluate(a, b).astype(got.dtype)))
            else:
                check_exact(got, fn.value.evaluate(a, b), target)


@pytest.mark.parametrize("dtype", ALL)
def test_choice(apply: Apply, dtype: DType) -> None:
    a, b = pairs(dtype)
    for s in spelled.choices():
        if s.source is not dtype or not s.name.startswith(("compare_", "total_")):
            continue
        kind, direction = s.name.split("_")[:2]
        wanted = numpy_math.compare(Direction(direction.upper()), a, b, total=kind == "total")
        np.testing.assert_array_equal(apply(s.name, DType.I1, a, b), wanted)
    got = apply(f"select_{tag(dtype)}", dtype, a, b)
    np.testing.assert_array_equal(wide(got), wide(np.where(a != b, b, a)))


@pytest.mark.parametrize("dtype", FLOATS)
def test_precision(apply: Apply, dtype: DType) -> None:
    x = values(dtype)
    for exponent, mantissa in spelled.PRECISIONS:
        wanted = numpy_math.reduce_precision(x, exponent, mantissa)
        check_exact(apply(f"precision_{exponent}_{mantissa}_{tag(dtype)}", dtype, x), wanted, dtype)


@pytest.mark.parametrize("dtype", ALL)
def test_convert(apply: Apply, dtype: DType) -> None:
    x = values(dtype)
    for target in ALL:
        if target is dtype:
            continue
        got, wanted = apply(f"convert_{tag(dtype)}_as_{tag(target)}", target, x), numpy_math.convert(x, target)
        if target in NARROW:  # NumPy may round once where f32 is between
            np.testing.assert_allclose(wide(got), wide(wanted), rtol=EPSILON[target])
        else:
            check_exact(got, wanted, target)


@pytest.mark.parametrize("dtype", ALL)
def test_bitcast(apply: Apply, dtype: DType) -> None:
    x = values(dtype)
    for s in spelled.conversions():
        if s.source is not dtype or not s.name.startswith("bitcast_"):
            continue
        got, wanted = bits(apply(s.name, s.target, x).view(np.uint8)), bits(x.view(np.uint8))
        if s.target in NARROW:  # on the way through f32 a signaling NaN becomes a quiet one
            quiet, kept = 0x200 if s.target is DType.F16 else 0x40, x.view(np.uint16)
            nan = np.isnan(kept.view(numpy_dtype(s.target)).astype(np.float32))
            wanted = np.where(nan, kept | quiet, kept).astype(np.uint16).view(np.uint8)
        if x.dtype.kind == "f" or dtype not in NARROW:
            np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("dtype", NARROW)
def test_narrow(apply: Apply, dtype: DType) -> None:
    narrow = ml_dtypes.bfloat16 if dtype is DType.BF16 else np.float16
    every = np.arange(1 << 16, dtype=np.uint16).view(narrow)
    between = every.astype(np.float32)
    check_exact(apply(f"convert_{tag(dtype)}_as_f32", DType.F32, every), between, DType.F32)
    rng = np.random.default_rng(0)
    random = rng.integers(0, 2**32, 40000, dtype=np.uint32).view(np.float32)
    ties = (between + np.nextafter(every, every.dtype.type(np.inf)).astype(np.float32)) / 2
    x = np.concatenate([random, between, ties, rng.uniform(-1e-4, 1e-4, 9999)]).astype(np.float32)
    check_exact(apply(f"convert_f32_as_{tag(dtype)}", dtype, x), x.astype(narrow), dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_constants(library: ctypes.CDLL, dtype: DType) -> None:
    got = np.zeros(len(CONSTANTS), numpy_dtype(dtype))
    library[f"constants_{tag(dtype)}"](ctypes.c_void_p(got.ctypes.data))
    check_exact(got, np.array(CONSTANTS).astype(np.float32 if dtype in NARROW else got.dtype), dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_constants(library: ctypes.CDLL, dtype: DType) -> None:
    wanted = _limits(dtype)
    got = np.zeros(len(wanted), numpy_dtype(dtype))
    library[f"constants_{tag(dtype)}"](ctypes.c_void_p(got.ctypes.data))
    assert got.tolist() == wanted


@pytest.mark.parametrize("name", MIXED)
def test_indices(library: ctypes.CDLL, name: str) -> None:
    x, y = np.array(list(product((0, 1, -1, 5, -5, 12, 2**31 - 1), (1, -1, 3, -3, 7, 2**31 - 1)))).T
    for (first, a), (second, b) in product(INDEX.items(), INDEX.items()):
        got = call(library, f"{name}_{first}_{second}", np.dtype(np.int64), x.astype(a), y.astype(b))
        np.testing.assert_array_equal(got, MIXED[name](x, y))
        if name in ("floordiv", "mod"):
            assert not call(library, f"{name}_{first}_{second}", np.dtype(np.int64), x.astype(a), 0 * y.astype(b)).any()


@pytest.mark.parametrize("dtype", ALL)
def test_packs(library: ctypes.CDLL, dtype: DType) -> None:
    x = values(dtype)[:64].copy()
    for n in (1, 2, 4, 8, 16):
        if n * dtype.bytes <= 16:
            out = np.zeros_like(x)
            pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, out))
            library[f"pack_{SPELL.memory_type(dtype)}_{n}"](*pointers, ctypes.c_int64(x.size))
            assert out.tobytes() == x.tobytes()


COMPLEX_UNARY: dict[UnaryFn, Callable[[Array], Array]] = {
    UnaryFn.EXPONENTIAL: np.exp, UnaryFn.EXPONENTIAL_MINUS_ONE: np.expm1, UnaryFn.LOG: np.log,
    UnaryFn.LOG_PLUS_ONE: np.log1p, UnaryFn.SQRT: np.sqrt, UnaryFn.TANH: np.tanh, UnaryFn.SINE: np.sin,
    UnaryFn.COSINE: np.cos, UnaryFn.TAN: np.tan, UnaryFn.NEGATE: np.negative, UnaryFn.ABS: np.abs,
    UnaryFn.REAL: np.real, UnaryFn.IMAG: np.imag, UnaryFn.SIGN: lambda x: x / np.abs(x),
    UnaryFn.RSQRT: lambda x: 1 / np.sqrt(x), UnaryFn.LOGISTIC: lambda x: 1 / (1 + np.exp(-x)),
    UnaryFn.ACOS: np.arccos, UnaryFn.ACOSH: np.arccosh, UnaryFn.ASIN: np.arcsin, UnaryFn.ASINH: np.arcsinh,
    UnaryFn.ATAN: np.arctan, UnaryFn.ATANH: np.arctanh, UnaryFn.COSH: np.cosh, UnaryFn.SINH: np.sinh,
    UnaryFn.ASIN_ACOS_KERNEL: UnaryFn.ASIN_ACOS_KERNEL.value.evaluate,
    UnaryFn.CBRT: lambda x: x ** (1 / np.longdouble(3)), UnaryFn.IS_FINITE: np.isfinite,
}  # fmt: skip


def complex_points(dtype: DType) -> tuple[Array, Array]:
    rng = np.random.default_rng(2)

    def one(size: float) -> Array:
        return rng.uniform(-size, size, 3000) + 1j * rng.uniform(-size, size, 3000)

    a, b = np.concatenate([one(1), one(5), one(1e-3)]), np.concatenate([one(1), one(3), one(1)])
    kind = numpy_dtype(dtype)
    return a.astype(kind), b.astype(kind)


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("fn", [f for f in UnaryFn if DType.C64 in spelled.types_of(f)])
def test_complex_unary(apply: Apply, fn: UnaryFn, dtype: DType) -> None:
    x, _ = complex_points(dtype)
    got = apply(f"{fn.value.name}_{tag(dtype)}", spelled.unary_target(fn, dtype), x)
    exact = COMPLEX_UNARY[fn](x.astype(np.clongdouble))
    if fn is UnaryFn.IS_FINITE:
        np.testing.assert_array_equal(got, exact)
        return
    loss = 40 if fn is UnaryFn.CBRT else 8
    assert np.all(np.abs(got - exact) <= loss * EPSILON[dtype.part] * np.abs(exact))


@pytest.mark.parametrize("dtype", COMPLEX)
@pytest.mark.parametrize("fn", [f for f in BinaryFn if DType.C64 in spelled.types_of(f)])
def test_complex_binary(apply: Apply, fn: BinaryFn, dtype: DType) -> None:
    x, y = complex_points(dtype)
    got = apply(f"{fn.value.name}_{tag(dtype)}", dtype, x, y)
    exact = fn.value.evaluate(x.astype(np.clongdouble), y.astype(np.clongdouble))
    loss = 40 if fn in (BinaryFn.POWER, BinaryFn.ATAN2) else 8
    size = np.maximum(np.abs(exact), 1) if fn is BinaryFn.ATAN2 else np.abs(exact)  # a logarithm of numbers near 1
    assert np.all(np.abs(got - exact) <= loss * EPSILON[dtype.part] * size)


LARGE = (0.0, 1e-200, 1.0, 30.0, 700.0, 1e200, np.inf)


@pytest.mark.parametrize("fn", [UnaryFn.EXPONENTIAL, UnaryFn.LOG, UnaryFn.SQRT, UnaryFn.TANH])
def test_complex_special_values(apply: Apply, fn: UnaryFn) -> None:
    """All signs of zeros, huge and infinite parts, as the C library has them; endless angles as XLA does."""
    x = np.array([complex(a, b) for a, b in product((*LARGE, *np.negative(LARGE)), repeat=2)])
    got, wanted = apply(f"{fn.value.name}_c128", DType.C128, x), COMPLEX_UNARY[fn](x)
    known = np.isfinite(np.imag(x)) | (~np.isfinite(np.real(x)) & (fn is UnaryFn.TANH))
    wanted = np.where(known | (fn not in (UnaryFn.EXPONENTIAL, UnaryFn.TANH)), wanted, complex(np.nan, np.nan))
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(got), part(wanted), rtol=1e-12)
        zero = (part(wanted) == 0) & (part(got) == 0)
        np.testing.assert_array_equal(np.signbit(part(got)[zero]), np.signbit(part(wanted)[zero]))


def test_complex_power_of_zero(apply: Apply) -> None:
    a, b = np.array([0, 0], np.complex128), np.array([0, 2], np.complex128)
    assert apply("power_c128", DType.C128, a, b).tolist() == [1, 0]


@pytest.mark.parametrize("index", ["int32_t", "int64_t"])
def test_nvrtc(index: nvrtc.IndexType) -> None:
    """NVRTC compiles every function in one kernel per type, without spills."""
    require_nvrtc()
    kernels = [spelled.kernel(f"all_{tag(d)}", [s for s in SPELLED if s.source is d]) for d in ALL]
    compiled = nvrtc.compile_kernels('#include "call/shlo.cuh"\n' + "".join(kernels), "prelude.cu", 80, index)
    for dtype in ALL:
        assert f"'all_{tag(dtype)}'" in compiled.log


def test_every_header_is_in_the_package() -> None:
    assert set(headers.names(".cuh")) <= nvrtc.headers().keys()
