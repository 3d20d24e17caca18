"""How a C-family target spells types, constants and functions. A target overrides tables first, methods second."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from shlo_disc.diagnostics import NOWHERE, UnsupportedOpError
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType

_INFIX: Mapping[BinaryFn, str] = {
    BinaryFn.ADD: "+",
    BinaryFn.SUBTRACT: "-",
    BinaryFn.MULTIPLY: "*",
    BinaryFn.DIVIDE: "/",
}

_SUFFIX: Mapping[DType, str] = {
    DType.F32: "f32", DType.F64: "f64", DType.I8: "i8", DType.I16: "i16", DType.I32: "i32", DType.I64: "i64",
    DType.UI8: "u8", DType.UI16: "u16", DType.UI32: "u32", DType.UI64: "u64", DType.C64: "c64", DType.C128: "c128",
    DType.I2: "i2", DType.I4: "i4", DType.UI2: "ui2", DType.UI4: "ui4", DType.INDEX: "i64",
    **{dtype: "f32" for dtype in DType if dtype.is_narrow_float},
}  # fmt: skip

_VALUE: Mapping[DType, str] = {
    DType.F32: "float", DType.F64: "double", DType.I8: "int8_t", DType.I16: "int16_t", DType.I32: "int32_t",
    DType.I64: "int64_t", DType.UI8: "uint8_t", DType.UI16: "uint16_t", DType.UI32: "uint32_t",
    DType.UI64: "uint64_t", DType.C64: "c64", DType.C128: "c128", DType.I1: "bool", DType.INDEX: "int64_t",
    DType.I2: "int8_t", DType.I4: "int8_t", DType.UI2: "uint8_t", DType.UI4: "uint8_t",
    **{dtype: "float" for dtype in DType if dtype.is_narrow_float},
}  # fmt: skip

_MEMORY: Mapping[DType, str] = {
    **_VALUE,
    **{dtype: dtype.value for dtype in DType if dtype.is_encoded},
    DType.I1: "uint8_t",
}

_LEAST = -(2**63)  # of 64 bits
_SMALL = 8  # bits of the floats that XLA rounds from f64 directly, not via f32, and for which no function is exact


def integer(number: int) -> str:
    """An integer as C of a signed type.

    C has no literal of the least i64: it reads `-9223372036854775808` as the negative of an unsigned number. A number
    beyond 64 bits wraps around, as the arithmetic does. Only formulas that overflow have one: a host program does not
    compute them (`size_bounds`), but it has to compile.

    >>> integer(-5), integer(-(2**63)), integer(2**63 + 1)
    ('-5', '(-9223372036854775807 - 1)', '-9223372036854775807')
    """
    wrapped = (number - _LEAST) % 2**64 + _LEAST
    return f"({_LEAST + 1} - 1)" if wrapped == _LEAST else str(wrapped)


class Spelling:
    """C++ with the prelude's vocabulary, one element at a time."""

    infixes: ClassVar[Mapping[BinaryFn, str]] = _INFIX
    suffixes: ClassVar[Mapping[DType, str]] = _SUFFIX
    values: ClassVar[Mapping[DType, str]] = _VALUE
    memory: ClassVar[Mapping[DType, str]] = _MEMORY
    index: ClassVar[str] = "int64_t"  # the type of sizes and offsets

    def value_type(self, dtype: DType) -> str:
        """The type a value is computed in: f32 for narrower floats, 8 bits for narrower integers."""
        return _known(self.values, dtype)

    def memory_type(self, dtype: DType) -> str:
        """The type of an element in memory."""
        return _known(self.memory, dtype)

    def const(self, value: complex, dtype: DType) -> str:
        """A literal of a dtype."""
        if dtype.is_complex:
            number, part = complex(value), dtype.part
            kind = _known(self.values, dtype)
            return f"{kind}{{{self.const(number.real, part)}, {self.const(number.imag, part)}}}"
        assert not isinstance(value, complex), "a complex literal has a complex dtype"
        if dtype.is_bool:
            return "true" if value else "false"
        if dtype.is_float:
            return self.float_const(float(value), dtype)
        number = int(value)
        kind = self.value_type(dtype)
        if dtype.bits == 64 and dtype.is_signed:
            return f"({kind}){integer(number)}" + ("" if number == _LEAST else "LL")
        if dtype.bits == 64:
            return f"({kind}){number}ULL"
        return f"({kind}){number}" if number != -(2**31) else "(-2147483647 - 1)"

    def float_const(self, value: float, dtype: DType) -> str:
        """A float literal that round-trips; NaN and infinities through builtins."""
        tail, builtin = ("", "") if dtype is DType.F64 else ("f", "f")
        if math.isnan(value):
            return f'__builtin_nan{builtin}("")'
        if math.isinf(value):
            return f"{'-' if value < 0 else ''}__builtin_inf{builtin}()"
        text = repr(value) if dtype is DType.F64 else _shortest_f32(value)
        return text + tail

    def infix(self, fn: BinaryFn, dtype: DType) -> str | None:
        """The operator of a function, if it has one: integers use functions, as they wrap and C promotes them."""
        return self.infixes.get(fn) if dtype.is_float or dtype.is_complex else None

    def operand_levels(self, fn: BinaryFn, dtype: DType) -> tuple[int, int]:
        """The precedences that a function's operands need (see `Emitter.value`).

        The right one binds tighter than the operator: `a - (b - c)`. The arguments of a call need none.
        """
        if self.infix(fn, dtype) is None:
            return 0, 0
        level = infix_level(fn)
        return level, level + 1

    def unary(self, fn: UnaryFn, x: str, dtype: DType) -> str:
        """A function of one value."""
        del dtype
        return f"{fn.value.code}({x})"

    def binary(self, fn: BinaryFn, a: str, b: str, dtype: DType) -> str:
        """A function of two values."""
        if dtype.is_bool and fn in (BinaryFn.MAXIMUM, BinaryFn.MINIMUM):
            return f"{'or_' if fn is BinaryFn.MAXIMUM else 'and_'}({a}, {b})"
        return f"{fn.value.code}({a}, {b})"

    def compare(self, direction: Direction, a: str, b: str, dtype: DType, *, total: bool) -> str:
        """A comparison; floats in IEEE's total order if `total`."""
        name = direction.value.lower()
        return f"{'t_' if total and dtype.is_float else ''}{name}({a}, {b})"

    def convert(self, x: str, source: DType, target: DType) -> str:
        """StableHLO's convert."""
        if source is target or (source is DType.INDEX and target is DType.I64):
            return x
        if target.is_bool:
            return f"to_bool({x})"
        if source.is_complex and not target.is_complex:
            return self.convert(f"real_({x})", source.part, target)
        if source is DType.F64 and target.is_narrow_float and target.bits <= _SMALL:
            return f"round_{target.value}(to_f32_odd({x}))"
        text = x if _SUFFIX.get(source) == _known(self.suffixes, target) else f"to_{_known(self.suffixes, target)}({x})"
        return f"round_{target.value}({text})" if target.is_narrow_float else text

    def rounded(self, x: str, dtype: DType, *, exact: bool) -> str:
        """The value rounded to its type; `exact`: floats of 16 bits hold it already.

        Smaller ones may not: they lack infinities, -0, or the integer above a largest number that is not whole.
        """
        if dtype.is_narrow_integer:
            return f"wrap_{dtype.value}({x})"
        return f"round_{dtype.value}({x})" if dtype.is_narrow_float and not (exact and dtype.bits > _SMALL) else x

    def bitcast(self, x: str, source: DType, target: DType) -> str:
        """The same bits as another type of the same width; a float of 6 bits is in the low ones of 8."""
        if source.is_narrow_float:
            x = f"pack_{source.value}({x})"
        if target.is_narrow_float:
            unsigned = "u16" if target.bits > _SMALL else "u8"
            return f"bits_{target.value}({x if source.is_narrow_float else f'bits_{unsigned}({x})'})"
        return f"bits_{_known(self.suffixes, target)}({x})"

    def load(self, pointer: str, offset: str, dtype: DType) -> str:
        """One element from memory as a value."""
        text = f"{pointer}[{offset}]"
        return f"value({text})" if dtype.is_encoded else f"({text} != 0)" if dtype.is_bool else text

    def store(self, pointer: str, offset: str, value: str, dtype: DType) -> str:
        """The statement that puts a value into memory."""
        if dtype.is_encoded:
            return f"assign({pointer} + {offset}, {value});"
        return f"{pointer}[{offset}] = {value};"

    def scratch_row(self, pointer: str, *, arrayed: bool) -> str:
        """The scratch of the current row."""
        return f"({pointer} + k * {pointer}_row)" if arrayed else pointer

    def convert_lanes(self, x: str, source: DType, target: DType) -> str:
        raise AssertionError(f"this target has no vectors of {source.value} ({x}, {target})")

    def vector_type(self, dtype: DType) -> str:
        raise AssertionError(f"this target has no vectors of {dtype.value}")

    def splat(self, value: str, dtype: DType) -> str:
        raise AssertionError(f"this target has no vectors of {dtype.value} ({value})")

    def load_vector(self, pointer: str, dtype: DType, left: str, mask: str = "") -> str:
        raise AssertionError(f"this target has no vectors of {dtype.value} ({pointer}, {left}, {mask})")

    def load_strided(self, pointer: str, stride: str, dtype: DType, left: str, mask: str = "") -> str:
        raise AssertionError(f"this target has no vectors of {dtype.value} ({pointer}, {stride}, {left}, {mask})")

    def gather(self, pointer: str, index: str, dtype: DType, left: str, mask: str = "") -> str:
        raise AssertionError(f"this target has no vectors of {dtype.value} ({pointer}, {index}, {left}, {mask})")


def _known(table: Mapping[DType, str], dtype: DType) -> str:
    if (text := table.get(dtype)) is None:
        raise UnsupportedOpError(f"generated code has no element type {dtype.value} yet", NOWHERE)
    return text


def _shortest_f32(value: float) -> str:
    """A literal of at most nine digits, which distinguish all f32.

    >>> _shortest_f32(1e-6), _shortest_f32(3.0)
    ('1e-06', '3.0')
    """
    text = f"{value:.9g}"
    return text if any(c in text for c in ".e") else text + ".0"


def infix_level(fn: BinaryFn) -> int:
    """The precedence of an operator; that of a call is 100."""
    return 12 if fn in (BinaryFn.MULTIPLY, BinaryFn.DIVIDE) else 11
