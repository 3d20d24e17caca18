"""Ops by themselves, with one thing changed: a size, an element type, a number, an order, something left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random
from typing import TypeVar

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dialects.table import OTHER_OPS
from shlo_disc.dialects.view import numbers_of
from shlo_disc.ir.attributes import (
    SHAPE,
    SIZE,
    WITNESS,
    ArrayAttr,
    Attribute,
    BoolAttr,
    ConvDimensionsAttr,
    DenseArrayAttr,
    DenseAttr,
    EnumAttr,
    FloatAttr,
    FunctionType,
    IntegerAttr,
    OpaqueType,
    RecordAttr,
    ScalarType,
    StringAttr,
    TensorType,
    TokenType,
    TupleType,
    Type,
)
from shlo_disc.ir.core import Block, Declaration, Function, Module, Op, Region, Value
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.attributes import ENUMS
from shlo_disc.parse.printer import print_module

T = TypeVar("T")

_DIALECTS = ("stablehlo.", "chlo.", "func.call", *OTHER_OPS)
_ENDS = frozenset({"stablehlo.return", "shape.assuming_yield"})
_NAMING = frozenset({"callee", "decomposition", "called_computations"})
SMALL = 64  # elements of literals that are changed
DTYPES = (
    *(DType.I1, DType.I4, DType.I8, DType.I32, DType.I64, DType.UI8, DType.UI32),
    *(DType.F8E4M3FN, DType.F16, DType.BF16, DType.F32, DType.F64, DType.C64, DType.C128),
)

SINGLE = (  # types of the values of dialects that compute sizes
    *(ScalarType(dtype) for dtype in (DType.INDEX, DType.I1, DType.I32, DType.I64, DType.UI32, DType.F32)),
    *(SHAPE, SIZE, WITNESS),
    TensorType((None,), DType.INDEX),
)


@dataclass(frozen=True, slots=True)
class Subject:
    """An op, the constants that it uses, and what else it uses as arguments of a function."""

    arguments: tuple[Value, ...]
    constants: tuple[Op, ...]
    op: Op
    beside: tuple[Function | Declaration | Op, ...] = ()  # what the module holds of other names

    def text(self) -> str:
        """Print the function in generic form."""
        end = Op("func.return", (), {}, (), (), NOWHERE)
        type_ = FunctionType(tuple([argument.type for argument in self.arguments]), ())
        nothing: Mapping[str, Attribute] = {}
        body = Block(self.arguments, (*self.constants, self.op, end))
        function = Function("subject", type_, body, None, (nothing,) * len(self.arguments), (), {}, NOWHERE)
        return print_module(Module(None, (function, *self.beside), {}, NOWHERE), generic=True)

    def with_op(self, op: Op) -> Subject:
        return replace(self, op=op)

    def retyped(self, old: Value, type_: Type) -> Subject:
        """Give a value another type, wherever it is used."""
        new = replace(old, type=type_)
        arguments = tuple([new if argument is old else argument for argument in self.arguments])
        return replace(self, arguments=arguments, op=substitute(self.op, {old: new}))


# --- ops by themselves


def subjects(module: Module) -> Iterator[Subject]:
    """Give each op of StableHLO, CHLO and the dialects that compute sizes, and each call, by itself."""
    for function in module.functions.values():
        producers = {result: op for op in function.walk() for result in op.results}
        for op in function.walk():
            if op.name.startswith(_DIALECTS) and op.name not in _ENDS:
                own = {name: attribute for name, attribute in op.attributes.items() if "." not in name}
                alone = _alone(replace(op, attributes=own), producers)
                names_functions = any(inner.attributes.keys() & _NAMING for inner in _walk(op))
                yield replace(alone, beside=module.contents) if names_functions else alone


def _alone(op: Op, producers: Mapping[Value, Op]) -> Subject:
    inner = {value for one in _walk(op) for value in (*one.results, *_arguments(one))}
    captured = [value for one in _walk(op) for value in one.operands if one is not op and value not in inner]
    new: dict[Value, Value] = {}
    arguments: list[Value] = []
    constants: list[Op] = []
    for value in (*op.operands, *captured):
        if value in new:
            continue
        name = f"in{len(new)}"
        new[value] = Value(name, value.type, NOWHERE)
        producer = producers.get(value)
        if producer is not None and producer.name == "stablehlo.constant":
            constants.append(replace(producer, results=(new[value],)))
        else:
            arguments.append(new[value])
    for number, result in enumerate(op.results):
        suffix = f"#{number}" if len(op.results) > 1 else ""
        new[result] = Value(f"out{suffix}", result.type, NOWHERE)
    return Subject(tuple(arguments), tuple(constants), substitute(op, new))


def substitute(op: Op, new: Mapping[Value, Value]) -> Op:
    """Put other values in the places of some, in an op and all that it holds."""

    def swapped(values: tuple[Value, ...]) -> tuple[Value, ...]:
        return tuple([new.get(value, value) for value in values])

    def block(old: Block) -> Block:
        return Block(swapped(old.arguments), tuple([substitute(inner, new) for inner in old.ops]))

    regions = tuple([Region(tuple(map(block, region.blocks))) for region in op.regions])
    return replace(op, operands=swapped(op.operands), results=swapped(op.results), regions=regions)


def _walk(op: Op) -> Iterator[Op]:
    yield op
    for region in op.regions:
        for inner in region.block.ops:
            yield from _walk(inner)


def _arguments(op: Op) -> tuple[Value, ...]:
    return tuple([argument for region in op.regions for argument in region.block.arguments])


# --- changes


def mutated(subject: Subject, random: Random) -> Subject | None:
    """Change one thing, or give None where there is no such thing."""
    change = random.choice((_type, _type, _type, _attribute, _attribute, _left_out, _operands, _results, _returned))
    return change(subject, random)


def _type(subject: Subject, random: Random) -> Subject | None:
    values = [*subject.arguments, *subject.op.results]
    values += [value for inner in _walk(subject.op) for value in _arguments(inner)]
    values += [result for inner in _walk(subject.op) for result in inner.results if inner is not subject.op]
    if not values:
        return None
    value = random.choice(values)
    return subject.retyped(value, _other_type(value.type, random))


def _attribute(subject: Subject, random: Random) -> Subject | None:
    attributes = subject.op.attributes
    if not attributes:
        return None
    name = random.choice(list(attributes))
    found = _other_attribute(attributes[name], random)
    return None if found is None else subject.with_op(replace(subject.op, attributes={**attributes, name: found}))


def _left_out(subject: Subject, random: Random) -> Subject | None:
    attributes = dict(subject.op.attributes)
    if not attributes:
        return None
    del attributes[random.choice(list(attributes))]
    return subject.with_op(replace(subject.op, attributes=attributes))


def _operands(subject: Subject, random: Random) -> Subject | None:
    return _listed(subject, random, "operands")


def _results(subject: Subject, random: Random) -> Subject | None:
    """Add or leave out a result: only one that has a name of its own can be."""
    results = subject.op.results
    if len(results) != 1:
        return None
    found = () if random.random() < 0.5 else (replace(results[0], name="out#0"), replace(results[0], name="out#1"))
    return subject.with_op(replace(subject.op, results=found))


def _returned(subject: Subject, random: Random) -> Subject | None:
    """Change what a region returns."""
    if not subject.op.regions:
        return None
    index = random.randrange(len(subject.op.regions))
    block = subject.op.regions[index].block
    end = Subject((), (), block.ops[-1])
    changed = _listed(end, random, "operands")
    if changed is None:
        return None
    region = Region((replace(block, ops=(*block.ops[:-1], changed.op)),))
    regions = (*subject.op.regions[:index], region, *subject.op.regions[index + 1 :])
    return subject.with_op(replace(subject.op, regions=regions))


def _listed(subject: Subject, random: Random, name: str) -> Subject | None:
    found = _other_list(subject.op.operands, random)
    return None if found is None else subject.with_op(replace(subject.op, **{name: tuple(found)}))


def _other_list(items: tuple[T, ...], random: Random) -> list[T] | None:
    """Swap two, leave one out, or repeat one."""
    if not items:
        return None
    found, first, second = list(items), random.randrange(len(items)), random.randrange(len(items))
    match random.randrange(3):
        case 0:
            found[first], found[second] = found[second], found[first]
        case 1:
            del found[first]
        case _:
            found.insert(first, found[second])
    return found


def _other_type(type_: Type, random: Random) -> Type:
    if isinstance(type_, TupleType):
        return TupleType(tuple(_other_list(type_.members, random) or ()))
    if isinstance(type_, ScalarType | OpaqueType) and random.random() < 0.9:
        return random.choice([other for other in SINGLE if other != type_])
    if isinstance(type_, TensorType) and type_.dtype is DType.INDEX and random.random() < 0.2:
        return SHAPE
    if not isinstance(type_, TensorType) or random.random() < 0.05:
        return random.choice([TokenType(), TensorType((), DType.F32), TupleType((type_,))])
    if random.random() < 0.3:
        return replace(type_, dtype=random.choice(DTYPES))
    return TensorType(_other_shape(type_.shape, random), type_.dtype)


def _other_shape(shape: tuple[int | None, ...], random: Random) -> tuple[int | None, ...]:
    sizes = list(shape)
    if not sizes or random.random() < 0.3:
        if sizes and random.random() < 0.5:
            del sizes[random.randrange(len(sizes))]
        else:
            sizes.insert(random.randint(0, len(sizes)), random.choice([1, 2, None]))
        return tuple(sizes)
    place = random.randrange(len(sizes))
    sizes[place] = random.choice([_other_number(sizes[place] or 1, random), None, 1])
    return tuple([None if size is None else max(0, size) for size in sizes])


def _other_number(number: int, random: Random) -> int:
    return random.choice([number + 1, number - 1, 2 * number, 0, -1, 1])


def _other_attribute(attribute: Attribute, random: Random) -> Attribute | None:
    match attribute:
        case IntegerAttr(value, dtype):
            other = DType.I32 if dtype is DType.I64 else DType.I64
            if dtype is not None and random.random() < 0.2:
                return IntegerAttr(value, other)
            return IntegerAttr(_other_number(value, random), dtype)
        case DenseArrayAttr(dtype, values):
            return _other_array(dtype, values, random)
        case DenseAttr(type_) if type_.dtype.is_integer and 0 < len(attribute.data) <= SMALL * type_.dtype.bytes:
            return _other_literal(attribute, random)
        case EnumAttr(dialect, family, value):
            others = [other for other in ENUMS.get(family, ()) if other != value]
            return EnumAttr(dialect, family, random.choice(others)) if others else None
        case RecordAttr(dialect, name, fields):
            return _other_record(dialect, name, fields, random)
        case ArrayAttr(items):
            found = _other_list(items, random) if random.random() < 0.5 else None
            return ArrayAttr(tuple(found)) if found is not None else _other_item(items, random)
        case ConvDimensionsAttr():
            name = random.choice(("input", "kernel", "output"))
            letters = {"input": attribute.input, "kernel": attribute.kernel, "output": attribute.output}[name]
            return replace(attribute, **{name: tuple(_other_list(letters, random) or ())})
        case BoolAttr():
            return IntegerAttr(1, DType.I32)
        case StringAttr() | FloatAttr():
            return random.choice([IntegerAttr(1, DType.I64), BoolAttr(True), FloatAttr(1.0, DType.F64, "1.0")])
        case _:
            return None


def _other_array(dtype: DType, values: tuple[int | float, ...], random: Random) -> Attribute:
    if random.random() < 0.1:
        return DenseArrayAttr(DType.I32 if dtype is DType.I64 else DType.I64, values)
    if not values or dtype is not DType.I64 or random.random() < 0.3:
        return DenseArrayAttr(dtype, tuple(_other_list(values, random) or [1]))
    place = random.randrange(len(values))
    changed = _other_number(int(values[place]), random)
    return DenseArrayAttr(dtype, (*values[:place], changed, *values[place + 1 :]))


def _other_literal(literal: DenseAttr, random: Random) -> Attribute | None:
    """Change a number of a small literal, or its shape."""
    numbers, shape = list(numbers_of(literal)), [size or 0 for size in literal.type.shape]
    if not numbers or not shape or not 1 <= len(shape) <= 2:
        return None
    if random.random() < 0.7:
        place = random.randrange(len(numbers))
        numbers[place] = _other_number(numbers[place], random)
    else:
        shape = [len(numbers)] if len(shape) == 2 else [1, len(numbers)]
    width = shape[-1]
    rows = [str(numbers[at : at + width]) for at in range(0, len(numbers), width)]
    spelling = f"[{', '.join(rows)}]" if len(shape) > 1 else rows[0]
    return DenseAttr(TensorType(tuple(shape), literal.type.dtype), b"", splat=False, spelling=spelling)


def _other_record(dialect: str, name: str, fields: Mapping[str, Attribute], random: Random) -> Attribute | None:
    if not fields:
        return None
    field = random.choice(list(fields))
    if random.random() < 0.2:
        return RecordAttr(dialect, name, {other: value for other, value in fields.items() if other != field})
    found = _other_attribute(fields[field], random)
    return None if found is None else RecordAttr(dialect, name, {**fields, field: found})


def _other_item(items: tuple[Attribute, ...], random: Random) -> Attribute | None:
    if not items:
        return None
    place = random.randrange(len(items))
    found = _other_attribute(items[place], random)
    return None if found is None else ArrayAttr((*items[:place], found, *items[place + 1 :]))
