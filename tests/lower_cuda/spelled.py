"""Every function of the CUDA prelude as the spelling writes it, per element type, and a loop around each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
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

# Functions whose results or operands are of fewer types than their references', or of more.
_OWN_TYPES: Mapping[UnaryFn | BinaryFn, tuple[DType, ...]] = {
    UnaryFn.IS_FINITE: (*FLOATS, *COMPLEX),
    **dict.fromkeys((UnaryFn.REAL, UnaryFn.IMAG), (DType.F32, DType.F64, *COMPLEX)),
    BinaryFn.COMPLEX: (DType.F32, DType.F64),
}


def types_of(fn: UnaryFn | BinaryFn) -> tuple[DType, ...]:
    """The types of elements that a function takes."""
    return _OWN_TYPES.get(fn) or tuple([dtype for dtype in ALL if fn.value.reference.takes(dtype)])


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
        for dtype in types_of(fn):
            target = unary_target(fn, dtype)
            text = SPELL.rounded(SPELL.unary(fn, "x", dtype), target, exact=False)
            yield Spelled(f"{fn.value.name}_{tag(dtype)}", dtype, target, text)
    for fn in BinaryFn:
        for dtype in types_of(fn):
            target = binary_target(fn, dtype)
            sign = SPELL.infix(fn, dtype)
            text = SPELL.binary(fn, "x", "y", dtype) if sign is None else f"x {sign} y"
            yield Spelled(f"{fn.value.name}_{tag(dtype)}", dtype, target, SPELL.rounded(text, target, exact=False))
            if sign is not None:  # reductions call the function
                called = SPELL.rounded(SPELL.binary(fn, "x", "y", dtype), target, exact=False)
                yield Spelled(f"{fn.value.name}_call_{tag(dtype)}", dtype, target, called)


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
