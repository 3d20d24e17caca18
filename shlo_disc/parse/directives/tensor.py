"""Directives for attributes with a syntax that only one or two ops have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DenseAttr,
    IntegerAttr,
    RecordAttr,
    TensorType,
)
from shlo_disc.ir.core import Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import (
    spell_conv_dimensions,
    spell_fields,
)
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.directives.attribute import is_enum, read_enum, write_enum
from shlo_disc.parse.draft import OpDraft
from shlo_disc.parse.form import Directive
from shlo_disc.parse.literals import decode_dense
from shlo_disc.parse.writer import BodyWriter

# --- compare: `LT, %a, %b, SIGNED`


def _read_compare_type(reader: BodyReader, draft: OpDraft) -> None:
    if reader.accept(","):
        draft.attributes["compare_type"] = read_enum(reader, "comparison_type")


def _write_compare_type(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes.get("compare_type")
    return "" if found is None else f", {write_enum(found)}"


def _compare_type_fits(op: Op) -> bool:
    found = op.attributes.get("compare_type")
    return found is None or is_enum(found, "comparison_type")


# --- slice: `[0:20:10, 0:4]`


def _read_ranges(reader: BodyReader, draft: OpDraft) -> None:
    def one() -> tuple[int, int, int]:
        start = reader.integer()
        reader.expect(":")
        limit = reader.integer()
        return start, limit, reader.integer() if reader.accept(":") else 1

    ranges = reader.enclosed("[", "]", one)
    for k, name in enumerate(_RANGE):
        draft.attributes[name] = DenseArrayAttr(DType.I64, tuple([parts[k] for parts in ranges]))


_RANGE = ("start_indices", "limit_indices", "strides")


def _i64s(attribute: Attribute) -> tuple[int | float, ...]:
    assert isinstance(attribute, DenseArrayAttr), "checked by fits"
    return attribute.values


def _write_ranges(_writer: BodyWriter, op: Op) -> str:
    columns = [_i64s(op.attributes[name]) for name in _RANGE]
    ranges = [
        f"{start}:{limit}" if stride == 1 else f"{start}:{limit}:{stride}"
        for start, limit, stride in zip(*columns, strict=True)
    ]
    return f"[{', '.join(ranges)}]"


def _ranges_fit(op: Op) -> bool:
    columns = [op.attributes[name] for name in _RANGE]
    lengths = {len(column.values) for column in columns if isinstance(column, DenseArrayAttr)}
    return len(lengths) == 1 and all(isinstance(c, DenseArrayAttr) and c.dtype is DType.I64 for c in columns)


# --- dot_general: `batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH]`

_DOT_FIELDS = {
    "batching_dims": ("lhs_batching_dimensions", "rhs_batching_dimensions"),
    "contracting_dims": ("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
}


def _integer_list(values: Sequence[int]) -> ArrayAttr:
    return ArrayAttr(tuple([IntegerAttr(value) for value in values]))


def _read_dot_dimensions(reader: BodyReader, draft: OpDraft) -> None:
    fields: dict[str, Attribute] = {}
    if reader.tokens[reader.at] == "batching_dims":
        _read_dimension_pair(reader, "batching_dims", fields)
        reader.expect(",")
    _read_dimension_pair(reader, "contracting_dims", fields)
    draft.attributes["dot_dimension_numbers"] = RecordAttr("stablehlo", "dot", fields)


def _read_dimension_pair(reader: BodyReader, keyword: str, fields: dict[str, Attribute]) -> None:
    lhs, rhs = _DOT_FIELDS[keyword]
    reader.expect(keyword)
    reader.expect("=")
    found = reader.integers()
    reader.expect("x")
    for name, values in ((lhs, found), (rhs, reader.integers())):
        if values:
            fields[name] = _integer_list(values)


def _write_dot_dimensions(_writer: BodyWriter, op: Op) -> str:
    numbers = op.attributes["dot_dimension_numbers"]
    assert isinstance(numbers, RecordAttr), "checked by fits"
    parts: list[str] = []
    for keyword, names in _DOT_FIELDS.items():
        lhs, rhs = (_numbers(numbers.fields.get(name)) for name in names)
        if keyword == "contracting_dims" or lhs or rhs:
            parts.append(f"{keyword} = [{', '.join(map(str, lhs))}] x [{', '.join(map(str, rhs))}]")
    return ", ".join(parts)


def _numbers(attribute: Attribute | None) -> list[int]:
    if not isinstance(attribute, ArrayAttr):
        return []
    return [item.value for item in attribute.items if isinstance(item, IntegerAttr)]


def _dot_dimensions_fit(op: Op) -> bool:
    """Whether all lists are nonempty and of plain numbers, which the pretty form can express."""
    numbers = op.attributes["dot_dimension_numbers"]
    known = {name for names in _DOT_FIELDS.values() for name in names}
    return (
        isinstance(numbers, RecordAttr)
        and (numbers.dialect, numbers.name) == ("stablehlo", "dot")
        and numbers.fields.keys() <= known
        and all(field == _integer_list(_numbers(field)) and _numbers(field) for field in numbers.fields.values())
    )


def _read_precision(reader: BodyReader, draft: OpDraft) -> None:
    if reader.tokens[reader.at] == "," and reader.tokens[reader.at + 1] == "precision":
        reader.at += 2
        reader.expect("=")
        found = reader.enclosed("[", "]", lambda: read_enum(reader, "precision"))
        draft.attributes["precision_config"] = ArrayAttr(tuple(found))


def _write_precision(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes.get("precision_config")
    return f", precision = [{', '.join(map(write_enum, found.items))}]" if isinstance(found, ArrayAttr) else ""


def _precision_fits(op: Op) -> bool:
    found = op.attributes.get("precision_config")
    return found is None or (isinstance(found, ArrayAttr) and all(is_enum(item, "precision") for item in found.items))


def _read_algorithm(reader: BodyReader, draft: OpDraft) -> None:
    if reader.tokens[reader.at] == "," and reader.tokens[reader.at + 1] == "algorithm":
        reader.at += 2
        reader.expect("=")
        fields = reader.record_fields("stablehlo", "dot_algorithm")
        draft.attributes["algorithm"] = RecordAttr("stablehlo", "dot_algorithm", fields)


def _write_algorithm(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes.get("algorithm")
    return f", algorithm = {spell_fields(found.fields)}" if isinstance(found, RecordAttr) else ""


def _algorithm_fits(op: Op) -> bool:
    match op.attributes.get("algorithm"):
        case None | RecordAttr(dialect="stablehlo", name="dot_algorithm"):
            return True
        case _:
            return False


# --- convolution: `dim_numbers = […]x[…]->[…], window = {stride = [2], pad = [[1, 2]], …}`

_WINDOW_ARRAYS = {
    "stride": "window_strides",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
}
_WINDOW_KEYS = ("stride", "pad", "lhs_dilate", "rhs_dilate", "reverse")


def _read_conv_dimensions(reader: BodyReader, draft: OpDraft) -> None:
    draft.attributes["dimension_numbers"] = reader.conv_dimensions()


def _write_conv_dimensions(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes["dimension_numbers"]
    assert isinstance(found, ConvDimensionsAttr), "checked by fits"
    return spell_conv_dimensions(found)


def _read_window(reader: BodyReader, draft: OpDraft) -> None:
    reader.expect("{")
    seen: set[str] = set()
    while not reader.accept("}"):
        if seen:
            reader.expect(",")
        at = reader.at
        key = reader.word(f"one of {', '.join(_WINDOW_KEYS)}")
        if key not in _WINDOW_KEYS or key in seen:
            raise reader.unexpected(f"one of {', '.join(_WINDOW_KEYS)}, each at most once", at)
        seen.add(key)
        reader.expect("=")
        if key == "pad":
            draft.attributes["padding"] = _read_padding(reader)
        elif key == "reverse":
            draft.attributes["window_reversal"] = DenseArrayAttr(DType.I1, _read_flags(reader))
        else:
            draft.attributes[_WINDOW_ARRAYS[key]] = DenseArrayAttr(DType.I64, reader.integers())


def _read_flags(reader: BodyReader) -> tuple[int, ...]:
    def flag() -> int:
        token = reader.tokens[reader.at]
        if token not in ("true", "false", "0", "1"):
            raise reader.unexpected("'true' or 'false'")
        reader.at += 1
        return int(token in ("true", "1"))

    return tuple(reader.enclosed("[", "]", flag))


def _read_padding(reader: BodyReader) -> DenseAttr:
    at = reader.at

    def pair() -> tuple[int, int]:
        numbers = reader.integers()
        if len(numbers) != 2:
            raise reader.unexpected("a pair of numbers, such as '[1, 1]'", reader.at - 1)
        return numbers[0], numbers[1]

    pairs = reader.enclosed("[", "]", pair)
    flat = [number for numbers in pairs for number in numbers]
    # as MLIR spells it in generic form: once, if all numbers are the same
    listed = f"[{', '.join(f'[{low}, {high}]' for low, high in pairs)}]"
    spelling = str(flat[0]) if len(set(flat)) == 1 else listed if flat else ""
    return decode_dense(spelling, TensorType((len(pairs), 2), DType.I64), reader.span(at))


def _write_window(_writer: BodyWriter, op: Op) -> str:
    parts: list[str] = []
    for key in _WINDOW_KEYS:
        if key == "pad":
            found = op.attributes.get("padding")
            parts.extend([f"pad = [{', '.join(_pad_pairs(found))}]"] if isinstance(found, DenseAttr) else [])
            continue
        found = op.attributes.get("window_reversal" if key == "reverse" else _WINDOW_ARRAYS[key])
        if isinstance(found, DenseArrayAttr):
            values = [("true" if value else "false") if key == "reverse" else str(value) for value in found.values]
            parts.append(f"{key} = [{', '.join(values)}]")
    return f"{{{', '.join(parts)}}}"


def _pad_pairs(padding: DenseAttr) -> list[str]:
    rows = padding.type.shape[0] or 0
    numbers = [
        int.from_bytes(padding.data[i : i + 8], "little", signed=True) for i in range(0, len(padding.data), 8)
    ] * (2 * rows if padding.splat else 1)
    return [f"[{numbers[2 * i]}, {numbers[2 * i + 1]}]" for i in range(rows)]


def _window_fits(op: Op) -> bool:
    padding = op.attributes.get("padding")
    if padding is not None and not (
        isinstance(padding, DenseAttr)
        and padding.type.dtype is DType.I64
        and len(padding.type.shape) == 2
        and padding.type.shape[1] == 2
    ):
        return False
    dtypes = {"window_reversal": DType.I1, **dict.fromkeys(_WINDOW_ARRAYS.values(), DType.I64)}
    arrays = [(op.attributes.get(name), dtype) for name, dtype in dtypes.items()]
    return all(found is None or (isinstance(found, DenseArrayAttr) and found.dtype is dtype) for found, dtype in arrays)


# --- reduce_precision: `format = e5m10`

_FORMAT_BITS = ("exponent_bits", "mantissa_bits")
_FORMAT = re.compile(r"e(\d{1,9})m(\d{1,9})")


def _read_format(reader: BodyReader, draft: OpDraft) -> None:
    match = _FORMAT.fullmatch(reader.tokens[reader.at])
    if match is None:
        raise reader.unexpected("a number format such as 'e5m10'")
    reader.at += 1
    draft.attributes["exponent_bits"] = IntegerAttr(int(match[1]), DType.I32)
    draft.attributes["mantissa_bits"] = IntegerAttr(int(match[2]), DType.I32)


def _write_format(_writer: BodyWriter, op: Op) -> str:
    exponent, mantissa = (op.attributes[name] for name in _FORMAT_BITS)
    assert isinstance(exponent, IntegerAttr), "checked by fits"
    assert isinstance(mantissa, IntegerAttr), "checked by fits"
    return f"e{exponent.value}m{mantissa.value}"


def _format_fits(op: Op) -> bool:
    bits = [op.attributes[name] for name in _FORMAT_BITS]
    return all(isinstance(each, IntegerAttr) and 0 <= each.value < 10**9 and each.dtype is DType.I32 for each in bits)


TENSOR_DIRECTIVES: Mapping[str, Directive] = {
    "compare-type": Directive(
        _read_compare_type, _write_compare_type, optional=("compare_type",), fits=_compare_type_fits
    ),
    "ranges": Directive(_read_ranges, _write_ranges, dict.fromkeys(_RANGE, DenseArrayAttr), fits=_ranges_fit),
    "dot-dimensions": Directive(
        _read_dot_dimensions,
        _write_dot_dimensions,
        {"dot_dimension_numbers": RecordAttr},
        fits=_dot_dimensions_fit,
    ),
    "precision": Directive(_read_precision, _write_precision, optional=("precision_config",), fits=_precision_fits),
    "algorithm": Directive(_read_algorithm, _write_algorithm, optional=("algorithm",), fits=_algorithm_fits),
    "conv-dimensions": Directive(
        _read_conv_dimensions, _write_conv_dimensions, {"dimension_numbers": ConvDimensionsAttr}
    ),
    "window": Directive(
        _read_window,
        _write_window,
        optional=("padding", "window_reversal", *_WINDOW_ARRAYS.values()),
        fits=_window_fits,
    ),
    "format": Directive(_read_format, _write_format, dict.fromkeys(_FORMAT_BITS, IntegerAttr), fits=_format_fits),
}
