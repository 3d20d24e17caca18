"""Linear algebra and Fourier transforms."""

from __future__ import annotations

from shlo_disc.dialects.checks import refuse_type, same_baseline_elements, same_baseline_types
from shlo_disc.dialects.dims import list_slot
from shlo_disc.dialects.record import AttributeSlot, OpRecord, Slot
from shlo_disc.dialects.types import expressed_type, shapes_agree, sizes_agree, spell_shape
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.ir.attributes import BoolAttr, EnumAttr
from shlo_disc.ir.type_kind import TypeKind

_MATRICES = TypeKind.FLOAT | TypeKind.COMPLEX | TypeKind.PER_TENSOR


def _flag(name: str, label: str, *, required: bool = True) -> AttributeSlot:
    return AttributeSlot(name, label, (BoolAttr,), required)


# --- cholesky


def _matrices(view: OpView) -> Refusal | None:
    return None if view.rank("a") >= 2 else refuse_type("of two or more dimensions", "a", view)


def _square(view: OpView) -> Refusal | None:
    if sizes_agree(*view.shape("a")[-2:]):
        return None
    return refuse_type("of square matrices: its last two dimensions of one size", "a", view)


# --- triangular_solve


def _equal_ranks(view: OpView) -> Refusal | None:
    if view.rank("a") == view.rank("b"):
        return _matrices(view)
    return Refusal("'a' and 'b' to have equally many dimensions", f"{view.rank('a')} and {view.rank('b')}")


def _systems(view: OpView) -> Refusal | None:
    left, shapes = view.flag("left_side"), (view.shape("a"), view.shape("b"))
    size, side = view.shape("b")[-2 if left else -1], "rows" if left else "columns"
    if shapes_agree(*[shape[:-2] for shape in shapes]) and sizes_agree(*view.shape("a")[-2:], size):
        return None
    return Refusal(
        f"a square matrix in 'a' for each matrix in 'b', with as many rows as that has {side}",
        " and ".join(map(spell_shape, shapes)),
    )


# --- fft


def _length_count(view: OpView) -> Refusal | None:
    count = len(view.integers("fft_length"))
    return None if 1 <= count <= 3 else Refusal("'fft_length' to have one to three numbers", str(count))


def _length_fits(view: OpView) -> Refusal | None:
    count, rank = len(view.integers("fft_length")), view.rank("operand")
    if count <= rank:
        return None
    return Refusal(f"'fft_length' to have at most {rank} numbers, as many as 'operand' dimensions", str(count))


_SIDES = ("operand", "result")
_FLOATS, _COMPLEX = "floats", "complex numbers"
_TRANSFORMS = {  # what the sides hold
    "FFT": (_COMPLEX, _COMPLEX),
    "IFFT": (_COMPLEX, _COMPLEX),
    "RFFT": (_FLOATS, _COMPLEX),
    "IRFFT": (_COMPLEX, _FLOATS),
}


def _sorts(view: OpView) -> tuple[str, str]:
    return _TRANSFORMS[view.enum("fft_type") or ""]


def _real(view: OpView) -> str | None:
    """Return the side that holds floats."""
    return next((side for side, sort in zip(_SIDES, _sorts(view), strict=True) if sort == _FLOATS), None)


def _transformed_elements(view: OpView) -> Refusal | None:
    wanted, dtypes = _sorts(view), [expressed_type(view.tensor(side)) for side in _SIDES]
    found = tuple([_FLOATS if dtype.is_float else _COMPLEX for dtype in dtypes])
    if found == wanted and dtypes[0].part is dtypes[1].part:
        return None
    return Refusal(
        f"{wanted[0]} as 'operand' and {wanted[1]} as 'result', of one precision",
        " and ".join([dtype.value for dtype in dtypes]),
    )


def _real_sizes(view: OpView) -> Refusal | None:
    name, length = _real(view), view.integers("fft_length")
    if name is None or shapes_agree(view.shape(name)[-len(length) :], length):
        return None
    return refuse_type(f"a tensor that ends in the sizes 'fft_length', {spell_shape(length)}", name, view)


def _transformed_shape(view: OpView) -> Refusal | None:
    name = "operand" if _real(view) == "result" else "result"
    other = view.shape("result" if name == "operand" else "operand")
    if _real(view) is not None:
        # the last size that 'fft_length' gives is that of the floats, known or not: C4
        last = view.integers("fft_length")[-1]
        other = (*other[:-1], last // 2 + 1 if last else 0)
    return None if shapes_agree(view.shape(name), other) else refuse_type(f"of shape {spell_shape(other)}", name, view)


OPS: tuple[OpRecord, ...] = (
    OpRecord(
        "stablehlo.cholesky",
        (Slot("a", _MATRICES),),
        (Slot("result", _MATRICES),),
        (_flag("lower", "I2", required=False),),
        {"C2": _matrices, "C3": _square, "C1": same_baseline_types("a", "result")},
        form=" {operands}(?, lower = {bool:lower}){attr-dict} : {same}",
    ),
    OpRecord(
        "stablehlo.triangular_solve",
        (Slot("a", _MATRICES), Slot("b", _MATRICES)),
        (Slot("result", _MATRICES),),
        (
            _flag("left_side", "I3"),
            _flag("lower", "I4"),
            _flag("unit_diagonal", "I5"),
            AttributeSlot(
                "transpose_a", "I6", (EnumAttr,), values=("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"), enum="transpose"
            ),
        ),
        {
            "C1": same_baseline_elements("a", "b"),
            "C2": _equal_ranks,
            "C3": _systems,
            "C4": same_baseline_types("b", "result"),
        },
    ),
    OpRecord(
        "stablehlo.fft",
        (Slot("operand", TypeKind.FLOAT | TypeKind.COMPLEX),),
        (Slot("result", TypeKind.FLOAT | TypeKind.COMPLEX),),
        (
            AttributeSlot("fft_type", "I2", (EnumAttr,), values=tuple(_TRANSFORMS)),
            list_slot("fft_length", "I3"),
        ),
        {
            "C3": _length_count,
            "C1": _length_fits,
            "C2": _transformed_elements,
            "C4": _real_sizes,
            "C5": _transformed_shape,
        },
        form=" {operands}, type = {enum:fft_type}, length = {i64s:fft_length}{attr-dict} : {functional}",
    ),
)
