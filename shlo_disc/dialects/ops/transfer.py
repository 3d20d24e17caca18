"""Transfers with the host or one other process, asynchronous ops, and the ids of processes."""

from __future__ import annotations

from shlo_disc.dialects.checks import compare_types, each, refuse_type
from shlo_disc.dialects.groups import (
    channel_slot,
    no_negative_pairs,
    pairs_of_two,
    pairs_slot,
    unique_column,
    whole_channel,
)
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.types import Tensor
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import (
    ArrayAttr,
    BoolAttr,
    FutureType,
    IntegerAttr,
    StringAttr,
    TensorType,
    TokenType,
    Type,
)
from shlo_disc.ir.core import Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type, spell_types
from shlo_disc.ir.type_kind import TypeKind

_COLLECTIVES = ("all_gather", "all_reduce", "all_to_all", "collective_broadcast", "collective_permute")
_STARTED = (*_COLLECTIVES, "collective_reduce", "reduce_scatter", "slice", "dynamic_slice", "dynamic_update_slice")

# --- async_start and async_done


def _two_ops(view: OpView) -> Refusal | None:
    count = len(view.block(0).ops)
    return None if count == 2 else Refusal("'body' to hold one op and a return", f"{count} ops")


def _started(view: OpView) -> Op:
    return view.block(0).ops[0]


def _may_start(view: OpView) -> Refusal | None:
    name = _started(view).name
    if name.removeprefix("stablehlo.") in _STARTED:
        return None
    return Refusal(f"'body' to hold one of {', '.join(_STARTED)}", name)


def _passed(view: OpView) -> Refusal | None:
    """Demand that the body takes the operands, or that its op uses them directly."""
    passed = view.block(0).arguments or _started(view).operands
    types = tuple([value.type for value in passed])
    if view.types("operands") == types:
        return None
    expected = f"'operands' to have the types of what 'body' takes, {spell_types(types)}"
    return Refusal(expected, spell_types(view.types("operands")))


def _future(view: OpView) -> Refusal | None:
    returned = view.returned(0)
    if len(returned) != 1:
        return Refusal("'body' to return one value", str(len(returned)))
    wanted = FutureType(returned)
    return None if view.type("result") == wanted else refuse_type(spell_type(wanted), "result", view)


def _awaited(view: OpView) -> Refusal | None:
    future = view.type("operand")
    assert isinstance(future, FutureType), "the slot takes futures only"
    return compare_types(future.members, (view.type("result"),), "'result' to be what 'operand' holds")


# --- infeed and recv: tensors, then a token


def _payload(view: OpView) -> Refusal | None:
    for value in view.values["results"][:-1]:
        if not isinstance(value.type, Tensor) or None in value.type.shape:
            return Refusal("'results' but the last to be tensors of known sizes", spell_type(value.type))
    return None


def _last_is_token(view: OpView) -> Refusal | None:
    types: tuple[Type, ...] = view.types("results")
    if types and isinstance(types[-1], TokenType):
        return None
    return Refusal("the last of 'results' to be a token", spell_type(types[-1]) if types else "none")


def _some_results(view: OpView) -> Refusal | None:
    return None if view.values["results"] else Refusal("at least one result", "none")


def _layout(view: OpView) -> Refusal | None:
    layout = view.attribute("layout")
    if not isinstance(layout, ArrayAttr):
        return None
    count = len(view.values["results"]) - 1
    if len(layout.items) != count:
        return Refusal(f"{count} lists in 'layout', one for each tensor", str(len(layout.items)))
    for item in layout.items:
        if not isinstance(item, ArrayAttr) or not all(isinstance(one, IntegerAttr) for one in item.items):
            return Refusal("'layout' to hold lists of integers", "something else")
    return None


# --- send and recv

_DEVICE_TO_DEVICE = 1


def _channel_type(view: OpView) -> int:
    return view.field_number("channel_handle", "type")


def _known_type(host: int) -> Check:
    """Make the constraint that the type of a channel is a known one; `host` is that of a channel with the host."""

    def check(view: OpView) -> Refusal | None:
        found = _channel_type(view)
        if found in (_DEVICE_TO_DEVICE, host):
            return None
        return Refusal(f"a 'channel_handle' of type {_DEVICE_TO_DEVICE} or {host}", str(found))

    return check


def _transfer_type(host: int) -> Check:
    """Make the constraint that the type of a channel matches whether data goes to or comes from the host."""

    def check(view: OpView) -> Refusal | None:
        flag = view.flag("is_host_transfer")
        wanted, found = host if flag else _DEVICE_TO_DEVICE, _channel_type(view)
        if found == wanted:
            return None
        known = "as 'is_host_transfer' is " + ("true" if flag else "false")
        return Refusal(f"a 'channel_handle' of type {wanted}, {known}", str(found))

    return check


def _is_process(view: OpView) -> Refusal | None:
    return None if view.type("result") == TensorType((), DType.UI32) else refuse_type("tensor<ui32>", "result", view)


_PAIRS = {"C1": pairs_of_two, "C2": unique_column(0), "C3": unique_column(1), "C4": no_negative_pairs}
_TO_HOST, _FROM_HOST = 2, 3
_HOST_FLAG = "is_host_transfer"

OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.async_start",
        (Slot("operands", TypeKind.UNIFORM, variadic=True),),
        (Slot("result", TypeKind.FUTURE, label="C4"),),
        (),
        {"C1": _two_ops, "C2": _may_start, "C3": _passed, "C4": _future},
        ("body",),
    ),
    OpRecord(
        "stablehlo.async_done",
        (Slot("operand", TypeKind.FUTURE),),
        (Slot("result", TypeKind.UNIFORM, label="C1"),),
        (),
        {"C1": _awaited},
    ),
    OpRecord(
        "stablehlo.infeed",
        (Slot("token", TypeKind.TOKEN),),
        (Slot("results", TypeKind.TENSOR | TypeKind.TOKEN, variadic=True, least=1, label="C2"),),
        (
            AttributeSlot("infeed_config", "I2", (StringAttr,), required=False),
            AttributeSlot("layout", "I3", (ArrayAttr,), required=False),
        ),
        {"C1": _some_results, "C2": _payload, "C3": _last_is_token, "I3": _layout},
        effects=True,
    ),
    OpRecord(
        "stablehlo.outfeed",
        (Slot("inputs", TypeKind.TENSOR, variadic=True), Slot("token", TypeKind.TOKEN)),
        (Slot("result", TypeKind.TOKEN, label="C1"),),
        (AttributeSlot("outfeed_config", "I3", (StringAttr,), required=False),),
        effects=True,
    ),
    OpRecord(
        "stablehlo.send",
        (Slot("inputs", TypeKind.TENSOR, variadic=True), Slot("token", TypeKind.TOKEN)),
        (Slot("result", TypeKind.TOKEN, label="C6"),),
        (
            channel_slot("I3", required=True),
            AttributeSlot(_HOST_FLAG, "I5", (BoolAttr,), required=False),
            pairs_slot("I6"),
        ),
        {"I3": whole_channel, "I4": _known_type(_TO_HOST), **_PAIRS, "C5": _transfer_type(_TO_HOST)},
        effects=True,
    ),
    OpRecord(
        "stablehlo.recv",
        (Slot("token", TypeKind.TOKEN),),
        (Slot("results", TypeKind.TENSOR | TypeKind.TOKEN, variadic=True, least=1, label="C6"),),
        (
            channel_slot("I2", required=True),
            AttributeSlot(_HOST_FLAG, "I4", (BoolAttr,), required=False),
            pairs_slot("I5"),
        ),
        {
            "I2": whole_channel,
            "I3": _known_type(_FROM_HOST),
            **_PAIRS,
            "C5": _transfer_type(_FROM_HOST),
            "C6": each(_some_results, _payload, _last_is_token),
        },
        effects=True,
    ),
    OpRecord(
        "stablehlo.partition_id",
        (),
        (Slot("result", TypeKind.UNSIGNED, 0, label="C1"),),
        (),
        {"C1": _is_process},
        form="{attr-dict} : {result}",
    ),
    OpRecord(
        "stablehlo.replica_id",
        (),
        (Slot("result", TypeKind.UNSIGNED, 0, label="C1"),),
        (),
        {"C1": _is_process},
        form="{attr-dict} : {result}",
    ),
)
