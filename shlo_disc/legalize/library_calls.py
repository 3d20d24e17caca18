"""Custom calls of linear algebra libraries: their operands, options and results, in all spellings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from shlo_disc.diagnostics import UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import ArrayAttr, BoolAttr, DenseAttr, IntegerAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.attribute_values import dictionary, integers, literal, string
from shlo_disc.legalize.builder import Bound, tensor_type
from shlo_disc.legalize.frame import Frame, Rule
from shlo_disc.legalize.known_calls import demand_count
from shlo_disc.legalize.rules_move import asked_shape, stated
from shlo_disc.records import record

LETTERS = {DType.F32: "s", DType.F64: "d", DType.C64: "c", DType.C128: "z"}
_TYPES: Mapping[str, tuple[DType, ...]] = {
    "T": tuple(LETTERS),
    "R": (DType.F32, DType.F64),
    "C": (DType.C64, DType.C128),
    "i": (DType.I32,),
}


@record
class _Operand:
    """`element`: a name of `_TYPES`; `dims`: those after the batch, None for a scalar shared by the whole batch."""

    element: str
    dims: tuple[str, ...] | None


@record
class RoutineSignature:
    """The operands of a routine, and the number of its results."""

    operands: tuple[_Operand, ...]
    results: int

    @classmethod
    def read(cls, text: str) -> RoutineSignature:
        """Read the notation of NumPy's generalized functions, with element types: `T(m,n) T(k) -> 2`.

        T is any type of LAPACK's, R a real and C a complex one, the same for all operands; i is a 32-bit integer. All
        operands have the same leading batch dims, but those without parentheses, which are scalars.

        >>> RoutineSignature.read("T(n) T -> 1").operands[1]
        _Operand(element='T', dims=None)
        """
        operands, _, results = text.partition("->")
        found = [
            _Operand(match[1], tuple(match[2].split(",")) if match[2] is not None else None)
            for match in re.finditer(r"(\w)(?:\(([\w,]+)\))?", operands)
        ]
        return cls(tuple(found), int(results))


def _types(element: str, letter: str) -> tuple[DType, ...]:
    """The types that an operand may have; a LAPACK letter restricts them to its type, except for integers."""
    return tuple([dtype for dtype in _TYPES[element] if element == "i" or letter in ("", LETTERS[dtype])])


class LibraryCall:
    """One custom call: its operands without shape operands, and its options in either spelling."""

    def __init__(self, frame: Frame, op: ir.Op) -> None:
        self.frame, self.op = frame, op
        self.shapes = integers(op, "indices_of_shape_operands", ())
        given = len(op.operands) - len(self.shapes)
        if tuple(self.shapes) != tuple(range(given, len(op.operands))):
            found = list(self.shapes)
            raise VerifyError(f"expected 'indices_of_shape_operands' to be the last operands, found {found}", op.span)
        self.operands = frame.tensors(op.operands[:given])
        self.config = dictionary(op, "mhlo.backend_config") or dictionary(op, "backend_config")

    def hold(self, signature: RoutineSignature, letter: str) -> None:
        """Demand the operands and results of a signature, in the type of a LAPACK letter if it is given."""
        target, span = string(self.op, "call_target_name"), self.op.span
        demand_count("operands", len(self.operands), (len(signature.operands),), self.op)
        demand_count("results", len(self.op.results), (signature.results,), self.op)
        pairs, sizes = list(zip(self.operands, signature.operands, strict=True)), dict[str, Dim]()
        batch = next((max(0, len(x.shape) - len(wanted.dims)) for x, wanted in pairs if wanted.dims is not None), 0)
        for k, (x, wanted) in enumerate(pairs):
            what, rank = f"operand {k} of @{target}", len(x.shape)
            types = _types(wanted.element, letter if k == 0 else LETTERS.get(self.dtype, ""))
            if x.dtype not in types:
                names = " or ".join(dtype.value for dtype in types)
                raise VerifyError(f"expected {what} to hold {names}, found {x.dtype.value}", span)
            leading = [] if wanted.dims is None else [f"{dim} of the batch" for dim in range(batch)]
            names = (*leading, *(wanted.dims or ()))
            if rank != len(names):
                raise VerifyError(f"expected {what} to have {len(names)} dims, found {rank}", span)
            for name, size in zip(names, x.shape, strict=True):
                self.frame.build.demand_equal(size, sizes.setdefault(name, size), f"{what}, dim {name}", span)

    @property
    def dtype(self) -> DType:
        """The element type of the first operand."""
        return self.operands[0].dtype

    @property
    def batch(self) -> Shape:
        """The dims before the matrices."""
        return self.operands[0].shape[:-2]

    @property
    def sizes(self) -> tuple[Dim, Dim]:
        """Rows and columns of the first operand."""
        m, n = self.operands[0].shape[-2:]
        return m, n

    def letter(self, name: str, letters: str) -> str:
        """An option that is given as one of these LAPACK letters; libraries behave differently on others."""
        value = self.number(name)
        if value not in letters.encode():
            codes = ", ".join(f"{ord(each)} ({each})" for each in letters)
            raise VerifyError(f"expected one of {codes} as '{name}', found {value}", self.op.span)
        return chr(value)

    def flag(self, name: str) -> bool:
        """An option that is spelled as a boolean."""
        match self.config.get(name):
            case BoolAttr(value=value):
                return value
            case other:
                raise VerifyError(f"expected a boolean as '{name}', found {other}", self.op.span)

    def number(self, name: str) -> int:
        """An option that is a number."""
        match self.config.get(name):
            case IntegerAttr(value=value):
                return value
            case other:
                raise VerifyError(f"expected an integer as '{name}', found {other}", self.op.span)

    @property
    def triangle(self) -> str:
        """Which triangle of a matrix is used."""
        return self.letter("uplo", "LU") if "uplo" in self.config else "L" if self.flag("lower") else "U"

    def job(self) -> str:
        """Which singular vectors are requested."""
        if "mode" in self.config:
            return self.letter("mode", "ASNOV")
        return ("A" if self.flag("full_matrices") else "S") if self.flag("compute_uv") else "N"

    def emit(self, name: str, attrs: object, results: Sequence[tuple[Shape, DType]]) -> tuple[Tensor, ...]:
        """Append an op on the call's operands."""
        return self.frame.build.emit(name, self.operands, attrs, results, self.op.span)

    def undefined(self, k: int) -> Tensor:
        """Zeros for a result that the routine leaves undefined, in the shape that the text gives."""
        type_ = tensor_type(self.op.results[k].type, self.op.span)
        return self.frame.build.constant(0, self._asked(k), type_.dtype, self.op.span)

    def _asked(self, k: int) -> Shape:
        """The shape of a result by the text alone: its shape operand, else its type; JAX gives all or none."""
        if len(self.shapes) == len(self.op.results):
            return asked_shape(self.frame, self.op, self.op.operands[self.shapes[k]], k)
        shape = tensor_type(self.op.results[k].type, self.op.span).shape
        if None in shape:
            raise VerifyError(f"expected an operand with the shape of result {k}, found none", self.op.span)
        return tuple(const(size) for size in shape if size is not None)

    def finish(self, results: Sequence[Tensor]) -> Sequence[Bound]:
        """Demand that the results have the shapes that the text states, in types and in operands."""
        for k, x in enumerate(results):
            stated(self.frame, self.op, x.shape, k)
            if self.shapes:
                for found, wanted in zip(x.shape, self._asked(k), strict=True):
                    self.frame.build.demand_equal(found, wanted, f"the result of {self.op.name}", self.op.span)
        return results


CallRule: TypeAlias = Callable[[LibraryCall], Sequence[Tensor]]


def _column_major(op: ir.Op) -> bool:
    """Whether the stated layouts of all matrices (values of the highest rank among the operands) are column-major.

    jaxlib's handlers assume column-major memory whatever the text states; another layout would mean other matrices.
    """
    sides = [(op.operands, op.attributes.get("operand_layouts")), (op.results, op.attributes.get("result_layouts"))]
    ranks = [len(tensor_type(x.type, op.span).shape) for x in op.operands]
    for values, layouts in sides:
        if not isinstance(layouts, ArrayAttr):
            return False
        for value, layout in zip(values, layouts.items, strict=True):
            rank = len(tensor_type(value.type, op.span).shape)
            if rank != max(ranks) or not isinstance(layout, DenseAttr):
                continue
            if tuple(literal(layout).reshape(-1).tolist()) != (rank - 2, rank - 1, *range(rank - 3, -1, -1)):
                return False
    return True


def as_rule(rule: CallRule, signature: str, letter: str = "", *, columns: bool = True) -> Rule:
    """A rule for custom calls of a signature (`RoutineSignature.read`), in the type of the letter, if there is one.

    `columns`: matrices have to be column-major.
    """
    wanted = RoutineSignature.read(signature)

    def apply(frame: Frame, op: ir.Op) -> Sequence[Bound]:
        call = LibraryCall(frame, op)
        call.hold(wanted, letter)
        if columns and not _column_major(op):
            target = string(op, "call_target_name")
            raise UnsupportedOpError(f"@{target} is supported for layouts by columns only, as JAX states them", op.span)
        return call.finish(rule(call))

    return apply
