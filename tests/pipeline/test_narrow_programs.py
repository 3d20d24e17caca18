"""Integers of 2 and 4 bits and floats of 8 bits and fewer: arithmetic, reductions, order, products, bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import shlo_disc
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled

pytestmark = pytest.mark.slow

Array = NDArray[Any]
INTEGERS = tuple(dtype for dtype in DType if dtype.is_narrow_integer)
SMALL = tuple(dtype for dtype in DType if dtype.is_float and dtype.bits <= 8)
SIZES = (0, 1, 17)


def everywhere(text: str, inputs: Sequence[Array]) -> Iterator[tuple[str, list[Array]]]:
    """The results of the CPU, of the emulated GPU and of the reference interpreter."""
    yield "cpu", list(shlo_disc.compile(text)(*inputs))
    yield "cuda", [np.asarray(x) for x in compiled(text, EmulatedDevice()).executable(list(inputs))]
    yield "reference", list(interpret(legalize(parse_module(text)), list(inputs)))


def same(found: Array, wanted: Array, what: str) -> None:
    """Equal bits; NaNs are alike."""
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    raw = [np.frombuffer(x.tobytes(), np.uint8).reshape(x.size, -1) for x in (found, wanted)]
    with np.errstate(invalid="ignore"):
        numbers = [x.astype(np.complex128).reshape(-1) for x in (found, wanted)]
    apart = (raw[0] != raw[1]).any(axis=1) & ~(np.isnan(numbers[0]) & np.isnan(numbers[1]))
    flat = [x.reshape(-1)[apart][:5] for x in (found, wanted)]
    assert not apart.any(), f"{what}: {flat[0]}, expected {flat[1]}"


def signature(results: Sequence[str], arguments: str, body: Sequence[str]) -> str:
    names = ", ".join(f"%{k}" for k in range(len(results)))
    types = ", ".join(results)
    return f"func.func @main({arguments}) -> ({types}) {{\n" + "\n".join(body) + f"\n  return {names} : {types}\n}}"


# --- integers: the oracle is Python's


def _divide(a: int, b: int) -> int:
    return -1 if b == 0 else int(Fraction(a, b))


def _remainder(a: int, b: int) -> int:
    return a if b == 0 else a - b * int(Fraction(a, b))


def _power(a: int, b: int) -> int:
    return a**b if b >= 0 else {1: 1, -1: 1 if b % 2 == 0 else -1}.get(a, 0)


def integer_functions(dtype: DType) -> Mapping[str, Callable[[int, int], int]]:
    bits, mask = dtype.bits, (1 << dtype.bits) - 1

    def signed(a: int) -> int:
        return (a & mask) - ((a & mask) >> (bits - 1) << bits)

    return {
        "add": lambda a, b: a + b,
        "subtract": lambda a, b: a - b,
        "multiply": lambda a, b: a * b,
        "divide": _divide,
        "remainder": _remainder,
        "power": _power,
        "maximum": max,
        "minimum": min,
        "and": lambda a, b: a & b,
        "or": lambda a, b: a | b,
        "xor": lambda a, b: a ^ b,
        "shift_left": lambda a, b: 0 if b & mask >= bits else a << (b & mask),
        "shift_right_logical": lambda a, b: 0 if b & mask >= bits else (a & mask) >> (b & mask),
        "shift_right_arithmetic": lambda a, b: signed(a) >> min(b & mask, bits - 1),
        "not": lambda a, _: ~a,
        "negate": lambda a, _: -a,
        "popcnt": lambda a, _: (a & mask).bit_count(),
        "count_leading_zeros": lambda a, _: bits - (a & mask).bit_length(),
        **({"abs": lambda a, _: abs(a), "sign": lambda a, _: (a > 0) - (a < 0)} if dtype.is_signed else {}),
    }


UNARY = frozenset({"not", "negate", "popcnt", "count_leading_zeros", "abs", "sign"})


def wrapped(value: int, dtype: DType) -> int:
    least, _ = dtype.integer_bounds
    return (value - least) % (1 << dtype.bits) + least


@pytest.mark.parametrize("dtype", INTEGERS, ids=lambda dtype: dtype.value)
def test_integers(dtype: DType) -> None:
    functions, kind = integer_functions(dtype), f"tensor<?x{dtype.value}>"
    body = [
        f"  %{k} = stablehlo.{name} %x{'' if name in UNARY else ', %y'} : {kind}" for k, name in enumerate(functions)
    ]
    count = len(functions)
    body.append(f"  %{count} = stablehlo.compare LT, %x, %y : ({kind}, {kind}) -> tensor<?xi1>")
    text = signature([kind] * count + ["tensor<?xi1>"], f"%x: {kind}, %y: {kind}", body)
    least, most = dtype.integer_bounds
    pairs = list(product(range(least, most + 1), repeat=2))
    x, y = (np.array(column, np.int8).astype(numpy_dtype(dtype)) for column in zip(*pairs, strict=True))
    wanted = [
        np.array([wrapped(function(a, b), dtype) for a, b in pairs], np.int8).astype(x.dtype)
        for function in functions.values()
    ]
    for where, found in everywhere(text, [x, y]):
        for name, one, other in zip(functions, found, wanted, strict=False):
            same(one, other, f"{where}, {name}")
        same(found[-1], np.array([a < b for a, b in pairs]), where)


# --- floats: computed in f32, rounded by ml_dtypes

FLOATS: Mapping[str, Callable[..., Array]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "negate": np.negative,
    "abs": np.abs,
    "sqrt": np.sqrt,
    "floor": np.floor,
    "ceil": np.ceil,
    "round_nearest_even": np.rint,
}
ONE_OPERAND = frozenset({"negate", "abs", "sqrt", "floor", "ceil", "round_nearest_even"})


@pytest.mark.parametrize("dtype", SMALL, ids=lambda dtype: dtype.value)
def test_floats(dtype: DType) -> None:
    kind, wanted_type = f"tensor<?x{dtype.value}>", numpy_dtype(dtype)
    body = [f"  %{k} = stablehlo.{f} %x{'' if f in ONE_OPERAND else ', %y'} : {kind}" for k, f in enumerate(FLOATS)]
    count = len(FLOATS)
    body += [
        f"  %s = stablehlo.add %x, %y : {kind}",
        f"  %{count} = stablehlo.multiply %s, %y : {kind}",
        f"  %{count + 1} = stablehlo.compare LE, %x, %y : ({kind}, {kind}) -> tensor<?xi1>",
    ]
    text = signature([kind] * (count + 1) + ["tensor<?xi1>"], f"%x: {kind}, %y: {kind}", body)
    codes = np.arange(1 << dtype.bits, dtype=np.uint8)
    pairs = np.random.default_rng(dtype.bits).integers(0, len(codes), (2, 3001))
    x, y = (codes[column].view(wanted_type) for column in pairs)
    with np.errstate(all="ignore"):
        a, b = x.astype(np.float32), y.astype(np.float32)
        total = (a + b).astype(wanted_type).astype(np.float32)
        wanted = [f(a, *(() if name in ONE_OPERAND else (b,))).astype(wanted_type) for name, f in FLOATS.items()]
        wanted += [(total * b).astype(wanted_type), a <= b]
        for where, found in everywhere(text, [x, y]):
            for name, one, other in zip((*FLOATS, "add, multiply", "compare"), found, wanted, strict=True):
                if name in ("maximum", "minimum"):  # either zero is right
                    one, other = one + numpy_dtype(dtype).type(0), other + numpy_dtype(dtype).type(0)  # noqa: PLW2901
                same(one, other, f"{where}, {name}")


# --- what moves, orders and sums

MOVES = """
func.func @main(%x: tensor<?x5xT>, %i: tensor<3x1xi32>) -> (tensor<?xT>, tensor<?x5xT>, tensor<5xT>, tensor<?x7xT>,
    tensor<3x5xT>, tensor<5x?xT>, tensor<?x10xT>, tensor<?x5xT>) {
  %zero = stablehlo.constant dense<0> : tensor<i8>
  %init = stablehlo.convert %zero : (tensor<i8>) -> tensor<T>
  %0 = stablehlo.reduce(%x init: %init) applies stablehlo.maximum across dimensions = [1]
    : (tensor<?x5xT>, tensor<T>) -> tensor<?xT>
  %1 = "stablehlo.sort"(%x) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%p: tensor<T>, %q: tensor<T>):
    %c = stablehlo.compare LT, %p, %q : (tensor<T>, tensor<T>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<?x5xT>) -> tensor<?x5xT>
  %2 = stablehlo.reduce(%x init: %init) applies stablehlo.add across dimensions = [0]
    : (tensor<?x5xT>, tensor<T>) -> tensor<5xT>
  %3 = stablehlo.pad %x, %init, low = [0, 1], high = [0, 1], interior = [0, 0]
    : (tensor<?x5xT>, tensor<T>) -> tensor<?x7xT>
  %4 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 5>}>
    : (tensor<?x5xT>, tensor<3x1xi32>) -> tensor<3x5xT>
  %5 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x5xT>) -> tensor<5x?xT>
  %6 = stablehlo.concatenate %x, %x, dim = 1 : (tensor<?x5xT>, tensor<?x5xT>) -> tensor<?x10xT>
  %7 = stablehlo.reverse %x, dims = [1] : tensor<?x5xT>
  return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<?xT>, tensor<?x5xT>, tensor<5xT>, tensor<?x7xT>, tensor<3x5xT>,
    tensor<5x?xT>, tensor<?x10xT>, tensor<?x5xT>
}
"""


@pytest.mark.parametrize("dtype", [DType.I4, DType.UI2, DType.F8E5M2, DType.F4E2M1FN], ids=lambda dtype: dtype.value)
def test_moves_and_reductions(dtype: DType) -> None:
    """Sums of the floats are of small whole numbers: they are exact in any order."""
    text, kind = MOVES.replace("xT>", f"x{dtype.value}>").replace("<T>", f"<{dtype.value}>"), numpy_dtype(dtype)
    run, gpu = shlo_disc.compile(text), compiled(text, EmulatedDevice()).executable
    for size in (1, 3, 67):
        rng = np.random.default_rng(size)
        least, most = (0, 2) if dtype.is_float else dtype.integer_bounds
        whole = rng.integers(least, most + 1, (size, 5))
        if dtype.is_float:
            whole[2:] = 0
        x, index = whole.astype(np.int8).astype(kind), np.array([[0], [size // 2], [size - 1]], np.int32)
        total = whole.sum(0)
        if dtype.is_integer:
            total = np.array([wrapped(int(n), dtype) for n in total])
        wanted = [
            np.maximum(whole.max(1), 0),
            np.sort(whole, 1),
            total,
            np.pad(whole, ((0, 0), (1, 1))),
            whole[index[:, 0]],
            whole.T,
            np.concatenate([whole, whole], 1),
            whole[:, ::-1],
        ]
        for where, found in (("cpu", run(x, index)), ("cuda", gpu([x, index]))):
            for k, (one, other) in enumerate(zip(found, wanted, strict=True)):
                same(np.asarray(one), other.astype(np.int8).astype(kind), f"{where}, result {k}, {size} rows")


# --- products

PRODUCTS = (
    (DType.I4, DType.I4, DType.I32),
    (DType.UI4, DType.UI4, DType.UI8),
    (DType.I8, DType.I8, DType.I32),
    (DType.UI8, DType.UI8, DType.UI32),
    (DType.I16, DType.I16, DType.I64),
    (DType.F8E4M3FN, DType.F8E4M3FN, DType.F32),
    (DType.F8E4M3FN, DType.F8E5M2, DType.F32),
    (DType.F8E5M2, DType.F8E5M2, DType.BF16),
    (DType.F4E2M1FN, DType.F4E2M1FN, DType.F32),
    (DType.F8E3M4, DType.F8E3M4, DType.F8E3M4),
    (DType.BF16, DType.BF16, DType.F32),
    (DType.F16, DType.F16, DType.F32),
    (DType.F32, DType.F32, DType.F64),
    (DType.C64, DType.C64, DType.C64),
    (DType.I1, DType.I1, DType.I1),
)


def test_products() -> None:
    """Every product is one of whole numbers, so that it is exact in any order."""
    arguments = [f"%a{k}: tensor<?x7x{a.value}>, %b{k}: tensor<7x3x{b.value}>" for k, (a, b, _) in enumerate(PRODUCTS)]
    body = [
        f"  %{k} = stablehlo.dot_general %a{k}, %b{k}, contracting_dims = [1] x [0]"
        f" : (tensor<?x7x{a.value}>, tensor<7x3x{b.value}>) -> tensor<?x3x{c.value}>"
        for k, (a, b, c) in enumerate(PRODUCTS)
    ]
    text = signature([f"tensor<?x3x{c.value}>" for *_, c in PRODUCTS], ", ".join(arguments), body)
    rng = np.random.default_rng(0)
    pairs = [(rng.integers(0, 2, (5, 7)), rng.integers(0, 2, (7, 3))) for _ in PRODUCTS]
    inputs = [
        whole.astype(np.int8).astype(numpy_dtype(dtype))
        for pair, types in zip(pairs, PRODUCTS, strict=True)
        for whole, dtype in zip(pair, types, strict=False)
    ]
    for where, found in everywhere(text, inputs):
        for one, (a, b), (*_, result) in zip(found, pairs, PRODUCTS, strict=True):
            total = (a @ b > 0) if result.is_bool else (a @ b).astype(np.int8)
            same(one, total.astype(numpy_dtype(result)), f"{where}, {result}")


# --- bits

WIDTHS = (
    DType.I1, DType.I4, DType.F4E2M1FN, DType.F6E3M2FN, DType.F8E4M3FN, DType.UI16, DType.F32, DType.I64, DType.C64,
    DType.C128,
)  # fmt: skip


def regrouped(x: Array, source: DType, target: DType) -> Array:
    """The bits of the elements of a row in one big number, cut up anew."""
    rows = list[list[int]]()
    for row in x.reshape(x.shape[0], -1):
        whole = 0
        for k, element in enumerate(row):
            whole |= (int.from_bytes(element.tobytes(), "little") & ((1 << source.bits) - 1)) << (k * source.bits)
        count = len(row) * source.bits // target.bits
        rows.append([whole >> (k * target.bits) & ((1 << target.bits) - 1) for k in range(count)])
    data = b"".join(number.to_bytes(target.bytes, "little") for row in rows for number in row)
    return np.frombuffer(data, numpy_dtype(target))


def test_bitcasts() -> None:
    pairs = [
        (a, b)
        for a, b in product(WIDTHS, repeat=2)
        if a is not b and max(a.bits, b.bits) % min(a.bits, b.bits) == 0 and a.is_complex == b.is_complex
    ]
    shapes = [(3, max(1, b.bits // a.bits)) for a, b in pairs]
    kinds = list[tuple[str, str, tuple[int, ...]]]()
    for a, b in pairs:
        grows, shrinks = b.bits // a.bits, a.bits // b.bits
        taken = f"?x{grows}x" if grows > 1 else "?x"
        given = f"?x{shrinks}x" if shrinks > 1 else "?x"
        kinds.append((f"tensor<{taken}{a.value}>", f"tensor<{given}{b.value}>", (3, shrinks) if shrinks > 1 else (3,)))
    arguments = ", ".join(f"%x{k}: {taken}" for k, (taken, *_) in enumerate(kinds))
    body = [
        f"  %{k} = stablehlo.bitcast_convert %x{k} : ({taken}) -> {given}" for k, (taken, given, _) in enumerate(kinds)
    ]
    text = signature([given for _, given, _ in kinds], arguments, body)
    rng = np.random.default_rng(3)
    inputs = list[Array]()
    for (a, _), shape in zip(pairs, shapes, strict=True):
        octets = rng.integers(0, 256, (*shape, a.bytes), np.uint8)
        if a.bits < 8:
            octets &= (1 << a.bits) - 1
        elif a.is_float or a.is_complex:
            octets[..., -1] &= 0x3F  # no NaN: what it holds may change on the way
            octets[..., a.part.bytes - 1] &= 0x3F
        array = np.frombuffer(octets.tobytes(), numpy_dtype(a)).reshape(shape)
        inputs.append(array if shape[1] > 1 else array.reshape(3))
    for where, found in everywhere(text, inputs):
        for one, x, (a, b), (*_, shape) in zip(found, inputs, pairs, kinds, strict=True):
            same(one, regrouped(x, a, b).reshape(shape), f"{where}, {a.value} to {b.value}")
