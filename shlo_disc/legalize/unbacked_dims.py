"""Unbacked dims, sizes that data decides: elements of integer tensors as dims.

A shape operand that is not size arithmetic is traced back through the ops that computed it. Integer arithmetic on
the way becomes arithmetic of dims, so that `dynamic_iota(n + 1)` has the size `n + 1`; where it ends, an element of a
tensor is *read*: it becomes a symbol whose value is known when the tensor is. Dims are exact integers and tensors wrap
around, so each step is demanded to stay within its type.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field
from math import prod

from shlo_disc.analysis.assumptions import Assumption
from shlo_disc.diagnostics import Span, UnsupportedOpError
from shlo_disc.dynamic_ops.program import Body, LateUnbackedDim, Parameter, Relation, Tensor, UnbackedDim
from shlo_disc.dynamic_ops.size_values import KnownElements, Step
from shlo_disc.expr.dim import ZERO, Dim, Sym, const, of, product
from shlo_disc.expr.naming import MOST_EXTREMES, extremes
from shlo_disc.expr.symbol_names import is_symbol_name
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.builder import Bound, OpBuilder
from shlo_disc.legalize.outline import NeedsOutlining
from shlo_disc.legalize.shape_value_folding import MOST_ELEMENTS, ShapeArithmetic, is_arithmetic, moved_from
from shlo_disc.records import record

_SIZE_BITS = 64  # with a sign
_ADDRESSABLE = 1 << 47  # bytes: no process has more
_ARITHMETIC = frozenset(
    f"stablehlo.{name}"
    for name in (
        "abs", "add", "and", "clamp", "compare", "convert", "divide", "maximum", "minimum", "multiply", "negate", "not",
        "or", "remainder", "select", "sign", "subtract",
    )
)  # fmt: skip


@dataclass(slots=True)
class SymbolNames:
    """Names of unbacked dims, the same in every run over a program. `taken`: names of other symbols.

    `size_prefix`: the prefix of names of large sizes, which end in a number.
    """

    prefix: str
    taken: set[str]
    size_prefix: str = field(init=False)
    _names: dict[Hashable, str] = field(default_factory=dict[Hashable, str])

    def __post_init__(self) -> None:
        self.size_prefix = f"{self.prefix[:-1]}d"
        while any(name.startswith(self.size_prefix) for name in self.taken):
            self.size_prefix += "d"

    def of_value(self, place: Hashable) -> str:
        """The name of a computed element; it sorts after the names of sizes, so that facts are written in those."""
        return self._names.setdefault(place, f"{self.prefix}{len(self._names)}")

    def of_argument(self, number: int, element: int, wanted: str) -> str:
        """The name of an element of an argument: `wanted`, if it is valid and free."""
        if (known := self._names.get((number, element))) is not None:
            return known
        of_size = wanted.startswith(self.size_prefix) and wanted.removeprefix(self.size_prefix).isdecimal()
        if not is_symbol_name(wanted) or wanted in self.taken or of_size:
            wanted = f"{self.prefix}{len(self._names)}"
        self.taken.add(wanted)
        self._names[number, element] = wanted
        return wanted


@record
class _Made:
    """How the text computed a tensor."""

    op: ir.Op
    result: int
    operands: tuple[Bound, ...]
    calls: tuple[Span, ...]
    depth: int


@record
class _FoundElement:
    """An element as a dim, valid if what it was computed from stays within the types of `steps`."""

    dim: Dim
    steps: tuple[Step, ...] = ()


class UnbackedDims:
    """The elements that are read in one run over a program, each once."""

    def __init__(self, builder: OpBuilder, arithmetic: ShapeArithmetic, names: SymbolNames) -> None:
        self._build, self._arithmetic, self._names = builder, arithmetic, names
        self._made = dict[Tensor, _Made]()
        self._arguments = dict[Tensor, int]()
        self._known = dict[tuple[Tensor, int], _FoundElement]()
        self._taken = dict[tuple[int, int], UnbackedDim]()
        self._late = dict[tuple[Tensor, int], tuple[Sym, Span]]()
        self._bound_at = dict[Tensor, int]()
        self._depth = 0

    @property
    def taken(self) -> tuple[UnbackedDim, ...]:
        """All elements of arguments that decide sizes."""
        return tuple(self._taken.values())

    def late(self, results: Sequence[Tensor]) -> tuple[Sequence[Tensor], tuple[LateUnbackedDim, ...]]:
        """The results of a body followed by the tensors that are read during a call, and the late sizes in them."""
        read = list(dict.fromkeys(tensor for tensor, _ in self._late))
        found = tuple(
            LateUnbackedDim(symbol, len(results) + read.index(tensor), element, span)
            for (tensor, element), (symbol, span) in self._late.items()
        )
        return (*results, *read), found

    def enter(self, parameters: Sequence[Parameter]) -> None:
        """Register the arguments of the program whose body is being built."""
        self._arguments = {parameter.tensor: k for k, parameter in enumerate(parameters)}
        self._depth = self._build.depth

    def bound(self, arguments: Sequence[Tensor]) -> None:
        """Register the arguments of a loop's region that is being built."""
        self._bound_at.update(dict.fromkeys(arguments, self._build.depth))

    def demand_outermost(self, op: ir.Op) -> None:
        """Demand that an op that runs programs is in no region. Raises `NeedsOutlining` for what is around it."""
        if self._build.depth == self._depth:
            return
        if (around := self._build.control_at(None)) is not None:
            raise NeedsOutlining(around)
        raise UnsupportedOpError(f"{op.name} computes sizes in a region that is no loop's and no branch's", op.span)

    def size_after(self, op: ir.Op, calls: tuple[Span, ...], result: int, axis: int) -> Sym:
        """A symbol for a size of a result that is known only after the op ran."""
        symbol = Sym(self._names.of_value((op, "size", calls, result, axis)))
        self._build.read_late(symbol)
        self._build.assume(Relation.GE, of(symbol), ZERO, "sizes are not negative", op.span)
        return symbol

    def read_after(self, sizes: Tensor, symbols: Sequence[Sym]) -> None:
        """Register the tensor whose elements are such sizes."""
        for element, symbol in enumerate(symbols):
            self._late[sizes, element] = symbol, sizes.span

    def made(self, tensor: Tensor, op: ir.Op, result: int, operands: Sequence[Bound], calls: tuple[Span, ...]) -> None:
        """Record how a tensor was computed, unless it is an operand; the first record, of the innermost op, is kept."""
        if (tensor.dtype.is_integer or tensor.dtype.is_bool) and all(x is not tensor for x in operands):
            self._made.setdefault(tensor, _Made(op, result, tuple(operands), calls, self._build.depth))

    def dims(self, tensor: Tensor, op: ir.Op) -> tuple[Dim, ...]:
        """The elements of a tensor, row-major, that `op` takes sizes from."""
        count = _count(tensor)
        if count is None:
            raise UnsupportedOpError(f"{op.name} takes sizes from {tensor!r}: how many, is known too late", op.span)
        found = [self._element(tensor, k, op) for k in range(count)]
        for each in found:
            self.demand_steps(each.steps)
        return tuple([each.dim for each in found])

    def demand_steps(self, steps: Sequence[Step]) -> None:
        """Demand that no integer from which a size is computed wraps around."""
        for step in steps:
            self._demand_within(step.dim, step.dtype, step.op)

    def _element(self, value: Bound, element: int, op: ir.Op) -> _FoundElement:
        if isinstance(value, KnownElements):
            return _FoundElement(value.dims[element], value.steps)
        key = value, element
        if (known := self._known.get(key)) is None:
            followed = self._followed(value, element, op)
            if followed is None or extremes(followed.dim) > MOST_EXTREMES:  # then the element itself is read
                followed = _FoundElement(self._read(value, element, op))
            known = self._known[key] = followed
        return known

    def _followed(self, tensor: Tensor, element: int, op: ir.Op) -> _FoundElement | None:
        """The element in terms of those of the operands, if its op is arithmetic or rearranges."""
        made = self._made.get(tensor)
        if made is None or not all(isinstance(x, KnownElements) or _is_small_integer(x) for x in made.operands):
            return None
        if not is_arithmetic(made.op):
            return self._moved(tensor, made, element, op)
        if made.op.name not in _ARITHMETIC or not made.operands:
            return None
        operands = [self._element(x, element if x.shape else 0, op) for x in made.operands]
        scalars = [KnownElements((each.dim,), (), x.dtype) for each, x in zip(operands, made.operands, strict=True)]
        result = self._arithmetic.evaluate(made.op, scalars)
        if result is None:
            return None
        steps = [step for each in operands for step in each.steps]
        return _FoundElement(result.scalar, (*steps, Step(result.scalar, tensor.dtype, made.op)))

    def _moved(self, tensor: Tensor, made: _Made, element: int, op: ir.Op) -> _FoundElement | None:
        shapes = [KnownElements((ZERO,) * (_count(x) or 0), _shape(x), x.dtype) for x in made.operands]
        moved = moved_from(made.op, shapes, element)
        if moved is None or (tensor.dtype.is_bool and not shapes[0].dtype.is_bool):  # conversion to i1 tests for 0
            return None
        found = self._element(made.operands[moved[0]], moved[1], op)
        if tensor.dtype is shapes[0].dtype:
            return found
        return _FoundElement(found.dim, (*found.steps, Step(found.dim, tensor.dtype, made.op)))

    def _demand_within(self, dim: Dim, dtype: DType, op: ir.Op) -> None:
        """Demand that a dim fits into the type of its tensor, so that nothing wrapped around."""
        what = f"the size that {op.name} computes does not overflow {dtype.value}"
        low, high = map(const, _limits(dtype))
        for greater, less in ((dim, low), (high, dim)):
            if dtype.bits < _SIZE_BITS:
                self._build.demand_at_least(greater, less, what, op.span)
            else:  # the limit of all sizes: no new fact
                message = f"{what}: found {{0}}, expected {low} to {high}"
                self._build.check(greater, Relation.GE, less, message, (dim,), op.span)

    def _read(self, tensor: Tensor, element: int, op: ir.Op) -> Dim:
        """A symbol for the element."""
        if (number := self._arguments.get(tensor)) is not None:
            wanted = f"{tensor.name}_{element}" if tensor.shape else tensor.name
            symbol = Sym(self._names.of_argument(number, element, wanted))
            self._taken.setdefault((number, element), UnbackedDim(symbol, number, element))
        else:
            symbol = self._read_late(tensor, element, op)
        self._bound(of(symbol), tensor.dtype, tensor.span)
        return of(symbol)

    def _read_late(self, tensor: Tensor, element: int, op: ir.Op) -> Sym:
        made = self._made.get(tensor)
        depth = self._bound_at.get(tensor) if made is None else made.depth
        if made is None or depth != self._depth:
            if (around := self._build.control_at(depth)) is not None:
                raise NeedsOutlining(around)
            raise UnsupportedOpError(
                f"{op.name} takes its shape from data: {tensor!r} is computed in a region of another op",
                op.span,
                hint="what decides a size may be computed before the op, or be an argument",
            )
        symbol = Sym(self._names.of_value((made.op, made.result, made.calls, element)))
        self._late[tensor, element] = symbol, tensor.span
        self._build.read_late(symbol)
        return symbol

    def _bound(self, dim: Dim, dtype: DType, span: Span) -> None:
        """Assume the limits of the type that an element is read from."""
        low, high = map(const, _limits(dtype))
        if dtype is DType.UI64:
            self._build.demand_at_least(dim, 0, "what is read from ui64 is a 64-bit size", span)
        for greater, less in ((dim, low), (high, dim)) if dtype.bits < _SIZE_BITS else ():
            if not self._build.facts.at_least(greater, less).is_true:
                self._build.assume(
                    Relation.GE, greater, less, f"a size that is read from {dtype.value} has a value of that type", span
                )


def _limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer of a type that a size is computed in: sizes are 64-bit signed."""
    if dtype.is_bool:
        return 0, 1
    if dtype.is_signed:
        return -(1 << (dtype.bits - 1)), (1 << (dtype.bits - 1)) - 1
    return 0, (1 << min(dtype.bits, _SIZE_BITS - 1)) - 1


def _shape(value: Bound) -> tuple[int, ...]:
    return value.shape if isinstance(value, KnownElements) else tuple(size.constant or 0 for size in value.shape)


def _count(value: Bound) -> int | None:
    """The number of elements, if it is known."""
    if isinstance(value, KnownElements):
        return len(value.dims)
    sizes = [size.constant for size in value.shape]
    known = [size for size in sizes if size is not None]
    return prod(known) if len(known) == len(sizes) else None


def _is_small_integer(tensor: Tensor) -> bool:
    count = _count(tensor)
    return (tensor.dtype.is_integer or tensor.dtype.is_bool) and count is not None and count <= MOST_ELEMENTS


def demand_room(build: OpBuilder, body: Body, unbacked_dims: Collection[UnbackedDim | LateUnbackedDim]) -> None:
    """Demand that every tensor with a size that was read has no negative size, and can be addressed.

    Then no formula of the sizes of an accepted call overflows.
    """
    read = {each.symbol for each in unbacked_dims}
    seen = set[tuple[Dim, ...]]()
    for op in body.walk():
        for tensor in op.results:
            sizes = tuple([size for size in tensor.shape if not build.facts.sources(build.raw(size)).isdisjoint(read)])
            if not sizes or tensor.shape in seen:
                continue
            seen.add(tensor.shape)
            name = op.name.removeprefix("d_")
            for size in sizes:
                build.demand_at_least(size, 0, f"the result of {name} has no negative sizes", op.span)
            holes = ", ".join([f"{{{k}}}" for k in range(len(tensor.shape))])
            message = f"the result of {name} fits into memory: found {tensor.dtype.value}[{holes}]"
            room = product(tensor.shape) * tensor.dtype.bytes
            build.check(const(_ADDRESSABLE), Relation.GE, room, message, tensor.shape, op.span)


def demand_early(build: OpBuilder) -> None:
    """Demand what demands on late sizes imply for sizes that are known earlier."""
    demands = [each for each in build.assumptions if isinstance(each, Assumption)]
    demands += [Assumption(c.relation, c.lhs, c.rhs, c.subject, c.span) for c in build.checks.values()]
    for one in build.late.early(demands, build.facts):
        message = f"{one.reason}: found {{0}} and {{1}}, expected {one.lhs} {one.relation.value} {one.rhs}"
        build.check(one.lhs, one.relation, one.rhs, message, (one.lhs, one.rhs), one.span)
