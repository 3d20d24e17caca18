"""Every function of the CUDA prelude as the spelling writes it, per element type, and a loop around each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shlo_disc.expr.scalar import BinaryFn, Direction, UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.lower_cuda.spelling import CudaSpelling

SPELL = CudaSpelling()

SIGNED = (DType.I8, DType.I16, DType.I32, DType.I64)
UNSIGNED = (DType.UI8, DType.UI16, DType.UI32, DType.UI64)
INTEGERS = (*SIGNED, *UNSIGNED)
NARROW = (DType.F16, DType.BF16)
FLOATS = (*NARROW, DType.F32, DType.F64)
COMPLEX = (DType.C64, DType.C128)
REALS = (*INTEGERS, *FLOATS)
NUMBERS = (*REALS, *COMPLEX)
ALL = (DType.I1, *NUMBERS)
PRECISIONS = ((5, 10), (8, 7), (4, 3), (11, 20), (8, 23), (2, 0))

UNARY: Mapping[UnaryFn, tuple[DType, ...]] = {
    **dict.fromkeys((UnaryFn.ABS, UnaryFn.NEGATE, UnaryFn.SIGN), NUMBERS),
    **dict.fromkeys((UnaryFn.COUNT_LEADING_ZEROS, UnaryFn.POPCNT), INTEGERS),
    UnaryFn.NOT: (DType.I1, *INTEGERS),
    **dict.fromkeys((UnaryFn.REAL, UnaryFn.IMAG), (DType.F32, DType.F64, *COMPLEX)),
    **dict.fromkeys(
        (UnaryFn.CEIL, UnaryFn.FLOOR, UnaryFn.ROUND_NEAREST_AFZ, UnaryFn.ROUND_NEAREST_EVEN, UnaryFn.ERF,
         UnaryFn.BESSEL_I1E, UnaryFn.DIGAMMA, UnaryFn.ERF_INV, UnaryFn.ERFC, UnaryFn.LGAMMA), FLOATS
    ),
    UnaryFn.ASIN_ACOS_KERNEL: COMPLEX,
    **dict.fromkeys(
        (UnaryFn.ACOS, UnaryFn.ACOSH, UnaryFn.ASIN, UnaryFn.ASINH, UnaryFn.ATAN, UnaryFn.ATANH, UnaryFn.COSH,
         UnaryFn.SINH, UnaryFn.CBRT, UnaryFn.COSINE, UnaryFn.EXPONENTIAL, UnaryFn.EXPONENTIAL_MINUS_ONE,
         UnaryFn.IS_FINITE,
         UnaryFn.LOG, UnaryFn.LOG_PLUS_ONE, UnaryFn.LOGISTIC, UnaryFn.RSQRT, UnaryFn.SINE, UnaryFn.SQRT, UnaryFn.TAN,
         UnaryFn.TANH),
        (*FLOATS, *COMPLEX),
    ),
}  # fmt: skip
BINARY: Mapping[BinaryFn, tuple[DType, ...]] = {
    **dict.fromkeys((BinaryFn.ADD, BinaryFn.MULTIPLY), ALL),
    **dict.fromkeys((BinaryFn.SUBTRACT, BinaryFn.DIVIDE, BinaryFn.POWER), NUMBERS),
    **dict.fromkeys((BinaryFn.MAXIMUM, BinaryFn.MINIMUM), ALL),
    BinaryFn.REMAINDER: REALS,
    **dict.fromkeys((BinaryFn.AND, BinaryFn.OR, BinaryFn.XOR), (DType.I1, *INTEGERS)),
    **dict.fromkeys((BinaryFn.SHIFT_LEFT, BinaryFn.SHIFT_RIGHT_ARITHMETIC, BinaryFn.SHIFT_RIGHT_LOGICAL), INTEGERS),
    BinaryFn.ATAN2: (*FLOATS, *COMPLEX),
    **dict.fromkeys((BinaryFn.POLYGAMMA, BinaryFn.ZETA), FLOATS),
    BinaryFn.COMPLEX: (DType.F32, DType.F64),
}


@dataclass(frozen=True, slots=True)
class Spelled:
    """A formula of x and y of one type."""

    name: str
    source: DType
    target: DType
    text: str


def tag(dtype: DType) -> str:
    return dtype.name.lower()


def unary_target(fn: UnaryFn, dtype: DType) -> DType:
    if fn is UnaryFn.IS_FINITE:
        return DType.I1
    return dtype.part if fn in (UnaryFn.ABS, UnaryFn.REAL, UnaryFn.IMAG) else dtype


def binary_target(fn: BinaryFn, dtype: DType) -> DType:
    if fn is BinaryFn.COMPLEX:
        return DType.C64 if dtype is DType.F32 else DType.C128
    return dtype


def functions() -> Iterator[Spelled]:
    """Unary and binary functions."""
    for fn in UnaryFn:
        for dtype in UNARY[fn]:
            target = unary_target(fn, dtype)
            text = SPELL.rounded(SPELL.unary(fn, "x", dtype), target, exact=False)
            yield Spelled(f"{fn.value}_{tag(dtype)}", dtype, target, text)
    for fn in BinaryFn:
        for dtype in BINARY[fn]:
            target = binary_target(fn, dtype)
            sign = SPELL.infix(fn, dtype)
            text = SPELL.binary(fn, "x", "y", dtype) if sign is None else f"x {sign} y"
            yield Spelled(f"{fn.value}_{tag(dtype)}", dtype, target, SPELL.rounded(text, target, exact=False))
            if sign is not None:  # reductions call the function
                called = SPELL.rounded(SPELL.binary(fn, "x", "y", dtype), target, exact=False)
                yield Spelled(f"{fn.value}_call_{tag(dtype)}", dtype, target, called)


def choices() -> Iterator[Spelled]:
    """Comparisons, selection, precision."""
    for dtype in ALL:
        for direction in Direction if not dtype.is_complex else (Direction.EQ, Direction.NE):
            for total in (False, True) if dtype.is_float else (False,):
                name = f"{'total' if total else 'compare'}_{direction.value.lower()}_{tag(dtype)}"
                yield Spelled(name, dtype, DType.I1, SPELL.compare(direction, "x", "y", dtype, total=total))
        yield Spelled(f"select_{tag(dtype)}", dtype, dtype, "select(ne(x, y), y, x)")
    for dtype in FLOATS:
        for exponent, mantissa in PRECISIONS:
            text = SPELL.rounded(f"reduce_precision(x, {exponent}, {mantissa})", dtype, exact=False)
            yield Spelled(f"precision_{exponent}_{mantissa}_{tag(dtype)}", dtype, dtype, text)


def conversions() -> Iterator[Spelled]:
    """Every type as every other, by value and by bits."""
    for source in ALL:
        for target in ALL:
            name = f"{tag(source)}_as_{tag(target)}"
            if source is not target:
                yield Spelled(f"convert_{name}", source, target, SPELL.convert("x", source, target))
            if source.bits == target.bits and not source.is_bool and not target.is_bool and source is not target:
                yield Spelled(f"bitcast_{name}", source, target, SPELL.bitcast("x", source, target))


def loop(spelled: Spelled) -> str:
    """A C function that applies a formula to arrays."""
    source, target = SPELL.memory_type(spelled.source), SPELL.memory_type(spelled.target)
    kind = SPELL.value_type(spelled.source)
    return (
        f'extern "C" void {spelled.name}(const {source}* a, const {source}* b, {target}* out, int64_t n) {{\n'
        f"  for (int64_t i = 0; i < n; i++) {{\n"
        f"    const {kind} x = {SPELL.load('a', 'i', spelled.source)}, y = {SPELL.load('b', 'i', spelled.source)};\n"
        f"    (void)y;\n"
        f"    {SPELL.store('out', 'i', spelled.text, spelled.target)}\n"
        f"  }}\n"
        f"}}\n"
    )


def kernel(name: str, some: list[Spelled]) -> str:
    """A kernel that applies formulas of one source type to one element; output k goes to 16 k bytes."""
    source = some[0].source
    kind, memory = SPELL.value_type(source), SPELL.memory_type(source)
    x, y = (SPELL.load("a", at, source) for at in ("threadIdx.x", "threadIdx.x + 1"))
    lines = [
        f'extern "C" __global__ void {name}(const {memory}* __restrict__ const a, char* __restrict__ const out) {{',
        f"  const {kind} x = {x}, y = {y};",
    ]
    for k, spelled in enumerate(some):
        assert spelled.source is source
        pointer = f"(({SPELL.memory_type(spelled.target)}*)(out + {16 * k}))"
        lines.append(f"  {SPELL.store(pointer, 'threadIdx.x', spelled.text, spelled.target)}")
    return "\n".join([*lines, "}", ""])
