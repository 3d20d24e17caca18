"""Ops that draw numbers."""

from __future__ import annotations

from shlo_disc.dialects.checks import has_elements, has_static_shape, refuse_type, same_baseline_elements, same_types
from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.types import Shape, shapes_agree, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import EnumAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.type_kind import TypeKind

# --- rng


def _normal_of_floats(view: OpView) -> Refusal | None:
    element = view.element("a")
    if view.enum("rng_distribution") != "NORMAL" or (isinstance(element, DType) and element.is_float):
        return None
    return refuse_type("a float, for normally distributed numbers", "a", view)


def _shape(view: OpView) -> Refusal | None:
    wanted: Shape | None = view.constant("shape")
    if wanted is None:
        (rank,) = view.shape("shape")
        wanted = view.shape("result") if rank is None else (None,) * rank
    if shapes_agree(wanted, view.shape("result")):
        return None
    return refuse_type(f"of shape {spell_shape(wanted)}, as 'shape' says", "result", view)


# --- rng_bit_generator

_STATE_SIZES = {"THREE_FRY": (2,), "PHILOX": (2, 3)}


def _state_size(view: OpView) -> Refusal | None:
    (size,) = view.shape("initial_state")
    algorithm = view.enum("rng_algorithm") or "DEFAULT"
    allowed = _STATE_SIZES.get(algorithm)
    if allowed is None or any(sizes_agree(size, one) for one in allowed):
        return None
    return Refusal(f"an 'initial_state' of {' or '.join(map(str, allowed))} numbers for {algorithm}", str(size))


_DRAWN = TypeKind.BOOL | TypeKind.INTEGER | TypeKind.FLOAT

OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.rng",
        (
            Slot("a", _DRAWN, rank=0),
            Slot("b", _DRAWN, rank=0),
            Slot("shape", TypeKind.INTEGER | TypeKind.INDEX, rank=1, sized=True),
        ),
        (Slot("result", _DRAWN),),
        (AttributeSlot("rng_distribution", "I4", (EnumAttr,), values=("UNIFORM", "NORMAL")),),
        {"C1": same_baseline_elements("a", "b", "result"), "C2": _normal_of_floats, "C3": _shape},
        form=" {operands}, distribution = {enum:rng_distribution}{attr-dict} : {functional}",
        effects=True,
    ),
    OpRecord(
        "stablehlo.rng_bit_generator",
        (Slot("initial_state", TypeKind.UNSIGNED, rank=1, label="I2"),),
        (
            Slot("output_state", TypeKind.UNSIGNED, rank=1, label="C1"),
            Slot("output", TypeKind.INTEGER | TypeKind.FLOAT),
        ),
        (AttributeSlot("rng_algorithm", "I1", (EnumAttr,), values=("DEFAULT", "THREE_FRY", "PHILOX")),),
        {
            "I2": has_elements("initial_state", DType.UI64),
            "C1": same_types("initial_state", "output_state"),
            "C2": _state_size,
            "C3": has_static_shape("output"),  # ours: nothing else determines how many numbers to draw
        },
        form=" {operands}, algorithm = {enum:rng_algorithm}{attr-dict} : {functional}",
    ),
)
