"""`shape`: shapes, sizes, and the constraints under which ops may run."""

from __future__ import annotations

from shlo_disc.dialects.forms import ARROW
from shlo_disc.dialects.other.slots import (
    A_SIZE,
    BOOL,
    EXTENTS,
    INDEX,
    of_type,
    rank_1,
)
from shlo_disc.dialects.record import AttributeSlot, Check, OpRecord, Slot
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import SIZE, BoolAttr, DenseAttr, IntegerAttr, OpaqueType, StringAttr, TensorType
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type, spell_types
from shlo_disc.ir.type_kind import TypeKind

_TENSOR = TypeKind.TENSOR | TypeKind.INDEX
_WITNESS = TypeKind.WITNESS


def _several(name: str, kind: TypeKind, least: int = 0) -> Slot:
    return Slot(name, kind, variadic=True, least=least)


def _of_shapes(
    name: str, result: Slot, form: str, *checks: Check, least: int = 1, attributes: tuple[AttributeSlot, ...] = ()
) -> OpRecord:
    """An op of several shapes; `checks` are its constraints after that on their ranks."""
    return OpRecord(
        f"shape.{name}",
        (_several("shapes", EXTENTS, least),),
        (result,),
        attributes,
        {f"C{number}": check for number, check in enumerate((rank_1("shapes"), *checks), 1)},
        form=f" {{operands}}{{attr-dict}} : {{{form}}}",
    )


def _of_sizes(name: str) -> OpRecord:
    """Arithmetic of two sizes."""
    return OpRecord(
        f"shape.{name}",
        (Slot("lhs", A_SIZE), Slot("rhs", A_SIZE)),
        (Slot("result", A_SIZE),),
        constraints={"C1": _size_or_index("lhs", "rhs", "result"), "C2": _passes_errors("lhs", "rhs")},
        form=ARROW,
    )


def _size_or_index(*names: str) -> Check:
    """Demand that operands and results of these names are single sizes."""

    def check(view: OpView) -> Refusal | None:
        for name in names:
            for value in view.values[name]:
                if value.type not in (INDEX, SIZE):
                    return Refusal(f"'{name}' of type index or {spell_type(SIZE)}", spell_type(value.type), value)
        return None

    return check


def _passes_errors(*operands: str, result: str = "result") -> Check:
    """Demand that a result is no `index` or tensor where an operand may hold an error, as MLIR says it."""

    def check(view: OpView) -> Refusal | None:
        found = view.type(result)
        for value in [value for name in operands for value in view.values[name]]:
            if isinstance(value.type, OpaqueType) and not isinstance(found, OpaqueType):
                return Refusal(
                    f"'{result}' to hold an error, as operands of type {spell_type(value.type)} do",
                    spell_type(found),
                    view.value(result),
                )
        return None

    return check


def _one_for_each_dimension(view: OpView) -> Refusal | None:
    return _of_size(view, view.rank("arg"), None)


def _one_for_each_number(view: OpView) -> Refusal | None:
    literal = view.attribute("shape")
    assert isinstance(literal, DenseAttr), "the slot takes literals only"
    return _of_size(view, *literal.type.shape)


def _of_size(view: OpView, *sizes: int | None) -> Refusal | None:
    """Refuse a result that is a tensor of none of these sizes."""
    type_ = view.type("result")
    if not isinstance(type_, TensorType) or type_.shape[0] in sizes:
        return None
    return Refusal(f"'result' to have {sizes[0]} elements", spell_type(type_), view.value("result"))


def _yields_results(view: OpView) -> Refusal | None:
    yielded, found = view.returned(0), view.types("results")
    return (
        None
        if found == yielded
        else Refusal(f"results as they are yielded, {spell_types(yielded)}", spell_types(found))
    )


def _no_arguments(view: OpView) -> Refusal | None:
    count = len(view.block(0).arguments)
    return Refusal("a region without arguments", str(count)) if count else None


_ERROR = AttributeSlot("error", "", (StringAttr,), required=False)
_SIZES = Slot("result", EXTENTS)

OPS = (
    OpRecord(
        "shape.shape_of",
        (Slot("arg", _TENSOR),),
        (_SIZES,),
        constraints={"C1": rank_1("result"), "C2": _one_for_each_dimension},
        form=ARROW,
    ),
    _of_shapes("broadcast", _SIZES, "arrow", rank_1("result"), _passes_errors("shapes"), attributes=(_ERROR,)),
    _of_shapes("is_broadcastable", Slot("result", TypeKind.SCALAR), "listed-i1", of_type("result", BOOL)),
    _of_shapes("shape_eq", Slot("result", TypeKind.SCALAR), "listed-i1", of_type("result", BOOL)),
    _of_shapes("cstr_broadcastable", Slot("result", _WITNESS), "listed-witness", least=2),
    _of_shapes("cstr_eq", Slot("result", _WITNESS), "listed-witness"),
    OpRecord(
        "shape.concat",
        (Slot("lhs", EXTENTS), Slot("rhs", EXTENTS)),
        (_SIZES,),
        constraints={"C1": rank_1("lhs"), "C2": rank_1("rhs"), "C3": rank_1("result")},
        form=ARROW,
    ),
    OpRecord(
        "shape.split_at",
        (Slot("operand", EXTENTS), Slot("index", A_SIZE)),
        (Slot("head", EXTENTS), Slot("tail", EXTENTS)),
        constraints={
            "C1": rank_1("operand"),
            "C2": rank_1("head"),
            "C3": rank_1("tail"),
            "C4": _size_or_index("index"),
        },
    ),
    OpRecord(
        "shape.to_extent_tensor",
        (Slot("input", EXTENTS),),
        (Slot("result", TypeKind.INDEX),),
        constraints={"C1": rank_1("input"), "C2": rank_1("result")},
        form=ARROW,
    ),
    OpRecord(
        "shape.from_extent_tensor",
        (Slot("input", TypeKind.INDEX),),
        (Slot("result", TypeKind.SHAPE),),
        constraints={"C1": rank_1("input")},
        form=" {operands}{attr-dict} : {listed-shape}",
    ),
    OpRecord(
        "shape.from_extents",
        (_several("extents", A_SIZE),),
        (Slot("result", TypeKind.SHAPE),),
        constraints={"C1": _size_or_index("extents")},
        form="{spaced-operands}{attr-dict} : {listed-shape}",
    ),
    OpRecord(
        "shape.const_shape",
        (),
        (_SIZES,),
        (AttributeSlot("shape", "", (DenseAttr,), dtype=DType.INDEX, rank=1),),
        {"C1": rank_1("result"), "C2": _one_for_each_number},
        form="{attr-dict} {extents:shape} : {result}",
    ),
    OpRecord(
        "shape.const_size",
        (),
        (Slot("result", TypeKind.SIZE),),
        (AttributeSlot("value", "", (IntegerAttr,), dtype=DType.INDEX),),
        form="{attr-dict} {index:value}{gives-size}",
    ),
    OpRecord(
        "shape.dim",
        (Slot("value", _TENSOR), Slot("index", A_SIZE)),
        (Slot("extent", A_SIZE),),
        constraints={"C1": _size_or_index("index", "extent")},
        form=ARROW,
    ),
    OpRecord(
        "shape.get_extent",
        (Slot("shape", EXTENTS), Slot("dim", A_SIZE)),
        (Slot("extent", A_SIZE),),
        constraints={
            "C1": rank_1("shape"),
            "C2": _size_or_index("dim", "extent"),
            "C3": _passes_errors("shape", "dim", result="extent"),
        },
        form=ARROW,
    ),
    *[
        OpRecord(
            f"shape.{name}",
            (Slot("shape", EXTENTS),),
            (Slot("result", A_SIZE),),
            constraints={"C1": rank_1("shape"), "C2": _size_or_index("result"), "C3": _passes_errors("shape")},
            form=ARROW,
        )
        for name in ("rank", "num_elements")
    ],
    *map(_of_sizes, ("add", "mul", "div")),
    *[
        OpRecord(
            f"shape.{name}",
            (Slot("lhs", TypeKind.SIZE), Slot("rhs", TypeKind.SIZE)),
            (Slot("result", TypeKind.SIZE),),
            form=ARROW,
        )
        for name in ("max", "min")
    ],
    OpRecord(
        "shape.size_to_index",
        (Slot("arg", A_SIZE),),
        (Slot("result", TypeKind.SCALAR),),
        constraints={"C1": of_type("result", INDEX), "C2": _size_or_index("arg")},
        form=" {operands}{attr-dict} : {listed-index}",
    ),
    OpRecord(
        "shape.index_to_size",
        (Slot("arg", TypeKind.SCALAR),),
        (Slot("result", TypeKind.SIZE),),
        constraints={"C1": of_type("arg", INDEX)},
        form=" {operands}{attr-dict}{gives-size}",
    ),
    OpRecord(
        "shape.cstr_require",
        (Slot("pred", TypeKind.SCALAR),),
        (Slot("result", _WITNESS),),
        (AttributeSlot("msg", "", (StringAttr,)),),
        {"C1": of_type("pred", BOOL)},
        form=" {operands}, {string:msg}{attr-dict}{gives-witness}",
    ),
    OpRecord(
        "shape.const_witness",
        (),
        (Slot("result", _WITNESS),),
        (AttributeSlot("passing", "", (BoolAttr,)),),
        form="{attr-dict} {bool:passing}{gives-witness}",
    ),
    OpRecord(
        "shape.assuming_all",
        (_several("inputs", _WITNESS, 1),),
        (Slot("result", _WITNESS),),
        form=" {operands}{attr-dict}{gives-witness}",
    ),
    OpRecord(
        "shape.assuming",
        (Slot("witness", _WITNESS),),
        (_several("results", ~TypeKind.WITNESS),),
        constraints={"C1": _no_arguments, "C2": _yields_results},
        regions=("doRegion",),
        form=" {assuming}",
    ),
    OpRecord(
        "shape.assuming_yield",
        (_several("operands", ~TypeKind.WITNESS),),
        (),
        form="{spaced-operands}{attr-dict}{returned}",
    ),
)
