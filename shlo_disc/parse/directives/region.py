"""The forms of `reduce` and `while`, which hold regions."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.ir.attributes import DenseArrayAttr, IntegerAttr
from shlo_disc.ir.core import Block, Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import (
    spell_dictionary,
    spell_type,
)
from shlo_disc.parse.body import BodyReader, element_type
from shlo_disc.parse.draft import Named, OpDraft
from shlo_disc.parse.form import Directive
from shlo_disc.parse.writer import BodyWriter, operand_names, signature

# --- reduce: `(%a init: %b) applies stablehlo.add across dimensions = [0]`, or with a reducer

_COMMUTATIVE = frozenset(f"stablehlo.{name}" for name in ("add", "multiply", "maximum", "minimum", "and", "or", "xor"))


def _read_reduced(reader: BodyReader, draft: OpDraft) -> None:
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


def _write_reduced(writer: BodyWriter, op: Op) -> str:
    count = len(op.operands) // 2
    pairs = zip(op.operands[:count], op.operands[count:], strict=True)
    listed = ", ".join([f"(%{operand.name} init: %{init.name})" for operand, init in pairs])
    return f"{listed} applies {op.regions[0].block.ops[0].name}" if _is_applied(writer, op) else listed


def _is_applied(writer: BodyWriter, op: Op) -> bool:
    """Whether the region is one commutative op, located at the reduce if locations are written."""
    block = op.regions[0].block
    if len(op.operands) != 2 or len(block.arguments) != 2 or len(block.ops) != 2:
        return False
    inner, returned = block.ops
    return (
        inner.name in _COMMUTATIVE
        and not inner.attributes
        and inner.operands == block.arguments
        and returned.operands == inner.results
        and not returned.attributes
        and all(value.type == element_type(op.operands[0].type) for value in (*inner.operands, *inner.results))
        and not (writer.located and any(part.location != op.location for part in (inner, returned, *block.arguments)))
    )


def _read_reducer(reader: BodyReader, draft: OpDraft) -> None:
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
    if _is_applied(writer, op):
        return ""
    arguments = op.regions[0].block.arguments
    count = len(arguments) // 2
    pairs = [
        f"({writer.argument(lhs)}, {writer.argument(rhs)})"
        for lhs, rhs in zip(arguments[:count], arguments[count:], strict=True)
    ]
    return f"\n{writer.indent} reducer{' '.join(pairs)}  {writer.region(op.regions[0], label=False)}"


def _reducer_fits(op: Op) -> bool:
    return len(op.operands) % 2 == 0 and len(op.regions[0].block.arguments) == len(op.operands)


# --- while: `(%iterArg = %a, %iterArg_0 = %b) : T, T cond { … } do { … }`


def _read_while(reader: BodyReader, draft: OpDraft) -> None:
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
    arguments = [Named(name, at, type_, None) for (name, at), type_ in zip(names, types, strict=True)]
    for keyword in ("cond", "do"):
        reader.expect(keyword)
        draft.regions.append(reader.region(arguments))


def _write_while(writer: BodyWriter, op: Op) -> str:
    cond, body = (region.block for region in op.regions)
    pairs = [f"%{value.name} = %{operand.name}" for value, operand in zip(cond.arguments, op.operands, strict=True)]
    types = f" : {', '.join([spell_type(type_) for type_ in signature(op).results])}" if pairs else ""
    attributes = f" attributes {spell_dictionary(op.attributes)}" if op.attributes else ""
    regions = [writer.region(region, label=False) for region in op.regions]
    assert len(body.arguments) == len(pairs), "checked by fits"
    head = f"({', '.join(pairs)}){types}{attributes}"
    return f"{head}\n{writer.indent}cond {regions[0]} do {regions[1]}"


def _while_fits(op: Op) -> bool:
    """Whether both regions have the same argument names, as the form requires."""
    cond, body = (region.block for region in op.regions)
    type_ = signature(op)
    return (
        type_.inputs == type_.results
        and _plain_arguments(cond) == _plain_arguments(body)
        and all(tuple([value.type for value in block.arguments]) == type_.inputs for block in (cond, body))
        and len({argument.name for argument in cond.arguments}) == len(cond.arguments)
    )


def _while_locates(op: Op) -> bool:
    """Whether no argument has a location: the form has no place for one."""
    return all(argument.location is None for region in op.regions for argument in region.block.arguments)


def _plain_arguments(block: Block) -> list[str]:
    return [argument.name for argument in block.arguments]


# --- scan: `(%a) inits (%b) dimension=0 attributes {…} { … } : (T, U) -> (T, U)`

_SEGMENTS = ("operandSegmentSizes", "resultSegmentSizes")


def _read_scan(reader: BodyReader, draft: OpDraft) -> None:
    reader.expect("(")
    reader.operands(draft)
    reader.expect(")")
    inputs = len(draft.operands)
    reader.expect("inits")
    reader.expect("(")
    reader.operands(draft)
    reader.expect(")")
    reader.expect("dimension")
    reader.expect("=")
    draft.attributes["dimension"] = IntegerAttr(reader.integer(), DType.I64)
    if reader.accept("attributes"):
        draft.attributes.update(reader.dictionary())
    draft.regions.append(reader.region())
    reader.expect(":")
    at = reader.at
    reader.functional(draft)
    carries = len(draft.operands) - inputs
    if len(draft.results) < carries:
        raise reader.unexpected(f"at least {carries} results, one for each initial value", at)
    sizes = (inputs, carries), (len(draft.results) - carries, carries)
    draft.attributes |= {name: DenseArrayAttr(DType.I32, pair) for name, pair in zip(_SEGMENTS, sizes, strict=True)}


def _write_scan(writer: BodyWriter, op: Op) -> str:
    dimension = op.attributes["dimension"]
    assert isinstance(dimension, IntegerAttr), "checked by fits"
    inputs = _segments(op)[0]
    rest = {name: value for name, value in op.attributes.items() if name not in (*_SEGMENTS, "dimension")}
    head = f"({operand_names(op.operands[:inputs])}) inits ({operand_names(op.operands[inputs:])})"
    attributes = f"attributes {spell_dictionary(rest)}" if rest else ""
    region = writer.region(op.regions[0])
    return f"{head} dimension={dimension.value} {attributes} {region} : {spell_type(signature(op))}"


def _segments(op: Op) -> list[int]:
    """Return how many operands are inputs and how many initial values, and the same for results."""
    found = [op.attributes[name] for name in _SEGMENTS]
    return [int(size) for sizes in found if isinstance(sizes, DenseArrayAttr) for size in sizes.values]


def _scan_fits(op: Op) -> bool:
    sizes = _segments(op)
    if len(sizes) != 4:
        return False
    inputs, carries, outputs, carried = sizes
    dimension = op.attributes["dimension"]
    return (
        carries == carried
        and (inputs + carries, outputs + carried) == (len(op.operands), len(op.results))
        and isinstance(dimension, IntegerAttr)
        and dimension.dtype is DType.I64
    )


# --- composite: `({ … }, { … })`, if it has regions


def _read_regions(reader: BodyReader, draft: OpDraft) -> None:
    if reader.tokens[reader.at] == "(":
        draft.regions.extend(reader.enclosed("(", ")", reader.region))


def _write_regions(writer: BodyWriter, op: Op) -> str:
    return f" ({', '.join(map(writer.region, op.regions))})" if op.regions else ""


REGION_DIRECTIVES: Mapping[str, Directive] = {
    "reduced": Directive(_read_reduced, _write_reduced),
    "reducer": Directive(_read_reducer, _write_reducer, fits=_reducer_fits),
    "regions": Directive(_read_regions, _write_regions),
    "scan": Directive(
        _read_scan,
        _write_scan,
        {"dimension": IntegerAttr, **dict.fromkeys(_SEGMENTS, DenseArrayAttr)},
        fits=_scan_fits,
    ),
    "while": Directive(_read_while, _write_while, fits=_while_fits, locates=_while_locates),
}
