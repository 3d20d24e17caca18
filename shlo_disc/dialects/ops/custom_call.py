"""`custom_call`: its versions, layouts and aliases."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.types import shapes_agree
from shlo_disc.dialects.view import OpView, Refusal, numbers_of
from shlo_disc.ir.attributes import (
    ArrayAttr,
    Attribute,
    BoolAttr,
    BufferType,
    DenseAttr,
    DictAttr,
    IntegerAttr,
    QuantizedTensorType,
    RecordAttr,
    StringAttr,
    SymbolAttr,
    TensorType,
    TupleType,
    Type,
)
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_attribute, spell_type
from shlo_disc.ir.type_kind import TypeKind
from shlo_disc.records import record

_TYPED = 4  # the version whose `backend_config` is a dictionary
_VALUE = TypeKind.TENSOR | TypeKind.TOKEN | TypeKind.TUPLE | TypeKind.BUFFER | TypeKind.FUTURE | TypeKind.UNRANKED


def _version(view: OpView) -> Refusal | None:
    version = view.integer("api_version")
    return None if 0 <= version <= _TYPED else Refusal(f"'api_version' from 0 to {_TYPED}", str(version))


def _config(view: OpView) -> Refusal | None:
    config, version = view.attribute("backend_config"), view.integer("api_version")
    kind, name = (DictAttr, "a dictionary") if version == _TYPED else (StringAttr, "a string")
    if config is None or isinstance(config, kind):
        return None
    return Refusal(f"'backend_config' to be {name}, as 'api_version' is {version}", spell_attribute(config))


def _computations(view: OpView) -> Refusal | None:
    wrong = [item for item in _items(view, "called_computations") if not isinstance(item, SymbolAttr)]
    return Refusal("'called_computations' to name functions", spell_attribute(wrong[0])) if wrong else None


def _items(view: OpView, name: str) -> tuple[Attribute, ...]:
    found = view.attribute(name)
    return found.items if isinstance(found, ArrayAttr) else ()


# --- aliases

_FIELDS = {"output_tuple_indices": ArrayAttr, "operand_index": IntegerAttr, "operand_tuple_indices": ArrayAttr}


@record
class _Alias:
    """A part of the outputs that shares memory with a part of an operand."""

    output: tuple[int, ...]
    operand: int
    part: tuple[int, ...]


def _aliases(view: OpView) -> Iterator[_Alias]:
    for item in _items(view, "output_operand_aliases"):
        if isinstance(item, RecordAttr):
            operand = item.fields.get("operand_index")
            yield _Alias(
                _numbers(item.fields.get("output_tuple_indices")),
                operand.value if isinstance(operand, IntegerAttr) else 0,
                _numbers(item.fields.get("operand_tuple_indices")),
            )


def _numbers(attribute: Attribute | None) -> tuple[int, ...]:
    items = attribute.items if isinstance(attribute, ArrayAttr) else ()
    return tuple([item.value for item in items if isinstance(item, IntegerAttr)])


def _part(type_: Type, indices: Sequence[int]) -> Type | None:
    """Return the member of a tuple that indices lead to, None if there is none."""
    for index in indices:
        if not isinstance(type_, TupleType) or not 0 <= index < len(type_.members):
            return None
        type_ = type_.members[index]
    return type_


def _output(view: OpView) -> Type:
    types = view.types("results")
    return types[0] if len(types) == 1 else TupleType(types)


def _is_whole(alias: RecordAttr) -> bool:
    fields = alias.fields
    return fields.keys() == _FIELDS.keys() and all(isinstance(fields[name], kind) for name, kind in _FIELDS.items())


def _same_parts(view: OpView) -> Refusal | None:
    inputs, output = view.types("inputs"), _output(view)
    for item in _items(view, "output_operand_aliases"):
        if not isinstance(item, RecordAttr) or item.name != "output_operand_alias" or not _is_whole(item):
            return Refusal(f"'#stablehlo.output_operand_alias' with {', '.join(_FIELDS)}", spell_attribute(item))
    for alias in _aliases(view):
        if not 0 <= alias.operand < len(inputs):
            return Refusal(f"'operand_index' of an alias below {len(inputs)}", str(alias.operand))
        pair = (
            ("operand_tuple_indices", inputs[alias.operand], alias.part),
            ("output_tuple_indices", output, alias.output),
        )
        parts: list[Type] = []
        for name, type_, indices in pair:
            part = _part(type_, indices)
            if part is None:
                return Refusal(f"'{name}' of an alias to lead to a part of {spell_type(type_)}", str(list(indices)))
            parts.append(part)
        if parts[0] != parts[1]:
            return Refusal("an alias between parts of one type", " and ".join(map(spell_type, parts)))
    return None


# --- buffers


def _buffers(view: OpView) -> Refusal | None:
    name = view.attribute("call_target_name")
    match name:
        case StringAttr("CreateBuffer"):
            return _one_to_one(view, "CreateBuffer", (), BufferType)
        case StringAttr("Pin"):
            return _one_to_one(view, "Pin", (TensorType, QuantizedTensorType), BufferType)
        case StringAttr("Unpin"):
            return _one_to_one(view, "Unpin", (BufferType,), (TensorType, QuantizedTensorType))
        case _:
            return _aliased_once(view)


def _one_to_one(
    view: OpView, target: str, wanted: tuple[type[Type], ...], result: type[Type] | tuple[type[Type], ...]
) -> Refusal | None:
    inputs, results = view.types("inputs"), view.types("results")
    if len(inputs) != bool(wanted) or not all(isinstance(type_, wanted) for type_ in inputs):
        kinds = {"CreateBuffer": "no inputs", "Pin": "one tensor as input", "Unpin": "one memref as input"}
        return Refusal(f"'{target}' to have {kinds[target]}", _spelled(inputs))
    if len(results) != 1 or not isinstance(results[0], result):
        kinds = {"CreateBuffer": "one memref", "Pin": "one memref", "Unpin": "one tensor"}
        return Refusal(f"'{target}' to have {kinds[target]} as result", _spelled(results))
    if inputs and not _alike(inputs[0], results[0]):
        return Refusal(f"'{target}' to keep shape and elements", _spelled((*inputs, *results)))
    return None


def _alike(first: Type, second: Type) -> bool:
    """Whether a tensor and a buffer hold the same elements in the same shape."""
    return (
        isinstance(first, TensorType | BufferType)
        and isinstance(second, TensorType | BufferType)
        and first.dtype is second.dtype
        and shapes_agree(first.shape, second.shape)
    )


def _spelled(types: tuple[Type, ...]) -> str:
    return ", ".join(map(spell_type, types)) or "none"


def _aliased_once(view: OpView) -> Refusal | None:
    inputs, output = view.types("inputs"), _output(view)
    aliased = [alias for alias in _aliases(view) if isinstance(_part(output, alias.output), BufferType)]
    operands = [(alias.operand, alias.part) for alias in aliased]
    outputs = [alias.output for alias in aliased]
    for place in operands:
        if operands.count(place) > 1:
            buffer = spell_type(inputs[place[0]])
            return Refusal("each buffer in one alias at most", f"operand {place[0]}, {buffer}, in several")
    for indices in _leaves(output):
        count = outputs.count(indices)
        if isinstance(_part(output, indices), BufferType) and count != 1:
            return Refusal("each buffer that is returned in one alias", f"output {list(indices)} in {count}")
    return None


def _leaves(type_: Type) -> Iterator[tuple[int, ...]]:
    """Return the indices of every part of a type that is no tuple."""
    if not isinstance(type_, TupleType):
        yield ()
        return
    for index, member in enumerate(type_.members):
        for rest in _leaves(member):
            yield (index, *rest)


# --- layouts


def _layouts(view: OpView) -> Refusal | None:
    if view.has("operand_layouts") != view.has("result_layouts"):
        return Refusal("'operand_layouts' and 'result_layouts' both or neither", "one of them")
    if not view.has("operand_layouts"):
        return None
    output = _output(view)
    results = output.members if isinstance(output, TupleType) else (output,)
    for name, types in (("operand_layouts", view.types("inputs")), ("result_layouts", results)):
        layouts = _items(view, name)
        if len(layouts) != len(types):
            return Refusal(f"{len(types)} layouts in '{name}'", str(len(layouts)))
        for type_, layout in zip(types, layouts, strict=True):
            if not _is_layout(layout, type_):
                expected = f"a layout in '{name}' that orders the dimensions of {spell_type(type_)}"
                return Refusal(expected, spell_attribute(layout))
    return None


def _is_layout(attribute: Attribute, type_: Type) -> bool:
    """Whether an attribute orders the dimensions of a type; a type without dimensions has an empty layout."""
    if not isinstance(attribute, DenseAttr) or attribute.type.dtype is not DType.INDEX or isinstance(type_, TupleType):
        return False
    shape = type_.shape if isinstance(type_, TensorType | QuantizedTensorType | BufferType) else ()
    return attribute.type.shape == (len(shape),) and sorted(numbers_of(attribute)) == list(range(len(shape)))


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.custom_call",
        (Slot("inputs", _VALUE, variadic=True),),
        (Slot("results", _VALUE, variadic=True, label="O1"),),
        (
            AttributeSlot("call_target_name", "I2", (StringAttr,)),
            AttributeSlot("has_side_effect", "I3", (BoolAttr,), required=False),
            AttributeSlot("backend_config", "I4", (StringAttr, DictAttr), required=False),
            AttributeSlot("api_version", "I5", (IntegerAttr,), default=IntegerAttr(1, DType.I32), dtype=DType.I32),
            AttributeSlot("called_computations", "I6", (ArrayAttr,), required=False),
            AttributeSlot("output_operand_aliases", "I7", (ArrayAttr,), required=False),
            AttributeSlot("operand_layouts", "I8", (ArrayAttr,), required=False),
            AttributeSlot("result_layouts", "I9", (ArrayAttr,), required=False),
        ),
        {"I5": _version, "I4": _config, "I6": _computations, "I7": _same_parts, "C1": _buffers, "C2": _layouts},
        form=" {symbol-string:call_target_name}({operands}){attr-dict} : {functional}",
        effects=True,
    ),
)
