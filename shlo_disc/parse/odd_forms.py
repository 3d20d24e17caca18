"""The directives that belong to single ops: regions, and attributes that the text takes apart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from shlo_disc.expr.dtypes import DType
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
from shlo_disc.ir.core import Block, Op
from shlo_disc.parse.body import BodyReader, Draft, Named
from shlo_disc.parse.directives import Directive, is_enum, read_enum, write_enum
from shlo_disc.parse.literals import decode_dense
from shlo_disc.parse.spelling import (
    spell_conv_dimensions,
    spell_dictionary,
    spell_fields,
    spell_type,
)
from shlo_disc.parse.writer import BodyWriter, signature

# --- compare: `LT, %a, %b, SIGNED`


def _read_compare_type(reader: BodyReader, draft: Draft) -> None:
    if reader.accept(","):
        draft.attributes["compare_type"] = read_enum(reader, "comparison_type")


def _write_compare_type(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes.get("compare_type")
    return "" if found is None else f", {write_enum(found)}"


def _compare_type_fits(op: Op) -> bool:
    found = op.attributes.get("compare_type")
    return found is None or is_enum(found, "comparison_type")


# --- slice: `[0:20:10, 0:4]`


def _read_ranges(reader: BodyReader, draft: Draft) -> None:
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
    return len(lengths) == 1 and all(
        isinstance(c, DenseArrayAttr) and c.dtype is DType.I64 for c in columns
    )


# --- dot_general: `batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH, HIGH], algorithm = <…>`

_DOT_FIELDS = {
    "batching_dims": ("lhs_batching_dimensions", "rhs_batching_dimensions"),
    "contracting_dims": ("lhs_contracting_dimensions", "rhs_contracting_dimensions"),
}


def _integer_list(values: Sequence[int]) -> ArrayAttr:
    return ArrayAttr(tuple([IntegerAttr(value) for value in values]))


def _read_dot_dimensions(reader: BodyReader, draft: Draft) -> None:
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
    """Only lists of plain, at least one, numbers survive the pretty form."""
    numbers = op.attributes["dot_dimension_numbers"]
    known = {name for names in _DOT_FIELDS.values() for name in names}
    return (
        isinstance(numbers, RecordAttr)
        and numbers.fields.keys() <= known
        and all(
            field == _integer_list(_numbers(field)) and _numbers(field)
            for field in numbers.fields.values()
        )
    )


def _read_precision(reader: BodyReader, draft: Draft) -> None:
    if reader.tokens[reader.at] == "," and reader.tokens[reader.at + 1] == "precision":
        reader.at += 2
        reader.expect("=")
        found = reader.enclosed("[", "]", lambda: read_enum(reader, "precision"))
        draft.attributes["precision_config"] = ArrayAttr(tuple(found))


def _write_precision(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes.get("precision_config")
    return (
        f", precision = [{', '.join(map(write_enum, found.items))}]"
        if isinstance(found, ArrayAttr)
        else ""
    )


def _precision_fits(op: Op) -> bool:
    found = op.attributes.get("precision_config")
    return found is None or (
        isinstance(found, ArrayAttr) and all(is_enum(item, "precision") for item in found.items)
    )


def _read_algorithm(reader: BodyReader, draft: Draft) -> None:
    if reader.tokens[reader.at] == "," and reader.tokens[reader.at + 1] == "algorithm":
        reader.at += 2
        reader.expect("=")
        draft.attributes["algorithm"] = RecordAttr(
            "stablehlo", "dot_algorithm", reader.record_fields("stablehlo")
        )


def _write_algorithm(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes.get("algorithm")
    return f", algorithm = {spell_fields(found.fields)}" if isinstance(found, RecordAttr) else ""


def _algorithm_fits(op: Op) -> bool:
    found = op.attributes.get("algorithm")
    return found is None or isinstance(found, RecordAttr)


# --- convolution: `dim_numbers = […]x[…]->[…], window = {stride = [2], pad = [[1, 2]], …}`

_WINDOW_ARRAYS = {
    "stride": "window_strides",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
}
_WINDOW_KEYS = ("stride", "pad", "lhs_dilate", "rhs_dilate", "reverse")


def _read_conv_dimensions(reader: BodyReader, draft: Draft) -> None:
    draft.attributes["dimension_numbers"] = reader.conv_dimensions()


def _write_conv_dimensions(_writer: BodyWriter, op: Op) -> str:
    found = op.attributes["dimension_numbers"]
    assert isinstance(found, ConvDimensionsAttr), "checked by fits"
    return spell_conv_dimensions(found)


def _read_window(reader: BodyReader, draft: Draft) -> None:
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
            parts.extend(
                [f"pad = [{', '.join(_pad_pairs(found))}]"] if isinstance(found, DenseAttr) else []
            )
            continue
        found = op.attributes.get("window_reversal" if key == "reverse" else _WINDOW_ARRAYS[key])
        if isinstance(found, DenseArrayAttr):
            values = [
                ("true" if value else "false") if key == "reverse" else str(value)
                for value in found.values
            ]
            parts.append(f"{key} = [{', '.join(values)}]")
    return f"{{{', '.join(parts)}}}"


def _pad_pairs(padding: DenseAttr) -> list[str]:
    rows = padding.type.shape[0] or 0
    numbers = [
        int.from_bytes(padding.data[i : i + 8], "little", signed=True)
        for i in range(0, len(padding.data), 8)
    ] * (2 * rows if padding.splat else 1)
    return [f"[{numbers[2 * i]}, {numbers[2 * i + 1]}]" for i in range(rows)]


def _window_fits(op: Op) -> bool:
    padding = op.attributes.get("padding")
    if padding is not None and not (
        isinstance(padding, DenseAttr)
        and padding.type.dtype is DType.I64
        and len(padding.type.shape) == 2
    ):
        return False
    arrays = [op.attributes.get(name) for name in (*_WINDOW_ARRAYS.values(), "window_reversal")]
    return all(found is None or isinstance(found, DenseArrayAttr) for found in arrays)


# --- reduce_precision: `format = e5m10`

_FORMAT = re.compile(r"e(\d+)m(\d+)")


def _read_format(reader: BodyReader, draft: Draft) -> None:
    match = _FORMAT.fullmatch(reader.tokens[reader.at])
    if match is None:
        raise reader.unexpected("a number format such as 'e5m10'")
    reader.at += 1
    draft.attributes["exponent_bits"] = IntegerAttr(int(match[1]), DType.I32)
    draft.attributes["mantissa_bits"] = IntegerAttr(int(match[2]), DType.I32)


def _write_format(_writer: BodyWriter, op: Op) -> str:
    exponent, mantissa = op.attributes["exponent_bits"], op.attributes["mantissa_bits"]
    assert isinstance(exponent, IntegerAttr), "checked by fits"
    assert isinstance(mantissa, IntegerAttr), "checked by fits"
    return f"e{exponent.value}m{mantissa.value}"


# --- reduce: `(%a init: %b), (%c init: %d) applies stablehlo.add across dimensions = [0]`, or a written-out reducer

_COMMUTATIVE = frozenset(
    f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor")
)


def _read_reduced(reader: BodyReader, draft: Draft) -> None:
    while True:
        reader.expect("(")
        reader.operand(draft)
        reader.expect("init")
        reader.expect(":")
        reader.operand(draft)
        reader.expect(")")
        if not reader.accept(","):
            break
    draft.operands = [*draft.operands[::2], *draft.operands[1::2]]
    draft.operands_at = [*draft.operands_at[::2], *draft.operands_at[1::2]]
    if reader.accept("applies"):
        at = reader.at
        draft.applies = reader.word("the op that combines two elements")
        if draft.applies not in _COMMUTATIVE:
            raise reader.unexpected(f"one of {', '.join(sorted(_COMMUTATIVE))}", at)


def _write_reduced(_writer: BodyWriter, op: Op) -> str:
    count = len(op.operands) // 2
    pairs = zip(op.operands[:count], op.operands[count:], strict=True)
    listed = ", ".join([f"(%{operand.name} init: %{init.name})" for operand, init in pairs])
    return f"{listed} applies {op.regions[0].block.ops[0].name}" if _is_applied(op) else listed


def _is_applied(op: Op) -> bool:
    """Tell whether the region does one commutative op, in the place of the reduce itself."""
    block = op.regions[0].block
    if len(op.operands) != 2 or len(block.arguments) != 2 or len(block.ops) != 2:
        return False
    inner, returned = block.ops
    return (
        inner.name in _COMMUTATIVE
        and not inner.attributes
        and inner.operands == block.arguments
        and returned.operands == inner.results
        and all(value.type == op.operands[1].type for value in (*inner.operands, *inner.results))
        and inner.location == op.location
        and returned.location == op.location
        and all(value.location == op.location for value in block.arguments)
    )


def _read_reducer(reader: BodyReader, draft: Draft) -> None:
    if draft.applies:
        return
    reader.expect("reducer")
    pairs: list[list[Named]] = []
    while reader.tokens[reader.at] == "(":
        pairs.append(reader.enclosed("(", ")", reader.argument))
        if len(pairs[-1]) != 2:
            raise reader.unexpected("two arguments in each pair of parentheses", reader.at - 1)
    arguments = [*(pair[0] for pair in pairs), *(pair[1] for pair in pairs)]
    draft.regions.append(reader.region(arguments))


def _write_reducer(writer: BodyWriter, op: Op) -> str:
    if _is_applied(op):
        return ""
    arguments = op.regions[0].block.arguments
    count = len(arguments) // 2
    pairs = [
        f"({writer.argument(lhs)}, {writer.argument(rhs)})"
        for lhs, rhs in zip(arguments[:count], arguments[count:], strict=True)
    ]
    return (
        f"\n{writer.indent} reducer{' '.join(pairs)}  {writer.region(op.regions[0], label=False)}"
    )


def _reducer_fits(op: Op) -> bool:
    return len(op.operands) % 2 == 0 and len(op.regions[0].block.arguments) == len(op.operands)


# --- while: `(%iterArg = %a, %iterArg_0 = %b) : T, T cond { … } do { … }`


def _read_while(reader: BodyReader, draft: Draft) -> None:
    names: list[tuple[str, int]] = []

    def pair() -> None:
        at = reader.at
        names.append((reader.value_name(), at))
        reader.expect("=")
        reader.operand(draft)

    reader.enclosed("(", ")", pair)
    types_at = reader.at
    types = []
    if names:
        reader.expect(":")
        types = reader.types()
    reader.check_types(draft, types, types_at + 1)
    draft.results = types
    if reader.accept("attributes"):
        draft.attributes.update(reader.dictionary())
    arguments = [
        Named(name, at, type_, None) for (name, at), type_ in zip(names, types, strict=True)
    ]
    for keyword in ("cond", "do"):
        reader.expect(keyword)
        draft.regions.append(reader.region(arguments))


def _write_while(writer: BodyWriter, op: Op) -> str:
    cond, body = (region.block for region in op.regions)
    pairs = [
        f"%{value.name} = %{operand.name}"
        for value, operand in zip(cond.arguments, op.operands, strict=True)
    ]
    types = ", ".join([spell_type(type_) for type_ in signature(op).results])
    attributes = f" attributes {spell_dictionary(op.attributes)}" if op.attributes else ""
    regions = [writer.region(region, label=False) for region in op.regions]
    assert len(body.arguments) == len(pairs), "checked by fits"
    return f"({', '.join(pairs)}) : {types}{attributes}\n{writer.indent}cond {regions[0]} do {regions[1]}"


def _while_fits(op: Op) -> bool:
    """Both regions must call their arguments by the same names, and those must have no place of their own."""
    cond, body = (region.block for region in op.regions)
    type_ = signature(op)
    return (
        bool(op.operands)
        and type_.inputs == type_.results
        and _plain_arguments(cond) == _plain_arguments(body)
        and [argument.type for argument in cond.arguments] == list(type_.inputs)
        and len({argument.name for argument in cond.arguments}) == len(cond.arguments)
    )


def _plain_arguments(block: Block) -> list[str]:
    return [argument.name for argument in block.arguments]


ODD: Mapping[str, Directive] = {
    "compare-type": Directive(
        _read_compare_type, _write_compare_type, optional=("compare_type",), fits=_compare_type_fits
    ),
    "ranges": Directive(
        _read_ranges, _write_ranges, dict.fromkeys(_RANGE, DenseArrayAttr), fits=_ranges_fit
    ),
    "dot-dimensions": Directive(
        _read_dot_dimensions,
        _write_dot_dimensions,
        {"dot_dimension_numbers": RecordAttr},
        fits=_dot_dimensions_fit,
    ),
    "precision": Directive(
        _read_precision, _write_precision, optional=("precision_config",), fits=_precision_fits
    ),
    "algorithm": Directive(
        _read_algorithm, _write_algorithm, optional=("algorithm",), fits=_algorithm_fits
    ),
    "conv-dimensions": Directive(
        _read_conv_dimensions, _write_conv_dimensions, {"dimension_numbers": ConvDimensionsAttr}
    ),
    "window": Directive(
        _read_window,
        _write_window,
        optional=("padding", "window_reversal", *_WINDOW_ARRAYS.values()),
        fits=_window_fits,
    ),
    "format": Directive(
        _read_format, _write_format, {"exponent_bits": IntegerAttr, "mantissa_bits": IntegerAttr}
    ),
    "reduced": Directive(_read_reduced, _write_reduced),
    "reducer": Directive(_read_reducer, _write_reducer, fits=_reducer_fits),
    "while": Directive(_read_while, _write_while, fits=_while_fits),
}
