"""The state of legalization: DHLO ops, facts about sizes, and checks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.analysis.assumptions import Assumption, Definition, Name
from shlo_disc.analysis.late_sizes import LateSizes
from shlo_disc.diagnostics import ShapeError, Span, UnsupportedOpError
from shlo_disc.dynamic_ops.create import ConstantAttrs, FromDimsAttrs, IotaAttrs
from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Check, Op, Relation, Shape, Tensor
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import ZERO, Dim, DimLike, Sym, as_dim, const, maximum, minimum, of, symbol
from shlo_disc.expr.facts import Facts, Truth
from shlo_disc.expr.naming import is_large
from shlo_disc.expr.scalar import Const
from shlo_disc.expr.symbol_names import is_symbol_name
from shlo_disc.functions.direction import Direction
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import BoundsAttr, QuantizedTensorType
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.legalize.constraints import Constraint
from shlo_disc.limits import LARGEST_FACTOR, LARGEST_SIZE, MOST_OPS
from shlo_disc.records import record

Bound: TypeAlias = Tensor | KnownElements


@dataclass(slots=True)
class _Scope:
    ops: list[Op[Any]] = field(default_factory=list[Op[Any]])
    known: dict[KnownElements, Tensor] = field(default_factory=dict[KnownElements, Tensor])


@record
class Learned:
    """Facts about sizes and checks of a builder up to some op."""

    facts: Facts
    assumptions: tuple[Assumption | Definition | Name, ...]
    eliminated: Mapping[Sym, Dim]
    checks: Mapping[tuple[Dim, Relation, Dim], Check]


class FirstOp(Exception):  # noqa: N818 - it is no error
    """Ends a run that is for sizes only, at the first op."""


class OpBuilder:
    """Collects ops body by body. Shapes are canonical under the facts known when a tensor is made."""

    def __init__(self, facts: Facts, prefix: str, *, sizes_only: bool = False) -> None:
        self.facts = facts
        self._prefix = prefix  # of names of large sizes
        self._names_given = 0
        self.sizes_only = sizes_only  # stop where the arithmetic of sizes at the start of a program ends
        self.assumptions: list[Assumption | Definition | Name] = []
        self.known_before = 0  # how many assumptions earlier runs learned
        self.checks: dict[tuple[Dim, Relation, Dim], Check] = {}
        self.constants: dict[Tensor, NDArray[np.generic]] = {}
        self.raw_shapes: dict[Tensor, Shape] = {}
        self.names: dict[Tensor, str] = {}
        self.sized: dict[Tensor, tuple[KnownElements, ...]] = {}
        self.sizes: dict[str, Dim] = {}
        self.compute: Callable[[ir.Op, Sequence[KnownElements]], Tensor]  # an op whose results wrap around
        self.late = LateSizes()
        self.draws = 0  # draws of ops that have no state in the program
        self._control: list[tuple[int, ir.Op]] = []  # enclosing loops and branches, as (depth, op)
        self._literals: dict[tuple[bytes, tuple[int, ...], DType], Tensor] = {}
        self._scopes = [_Scope()]
        self._count = 0
        self._ops = 0  # of the text, counted each time they are built

    @property
    def learned_more(self) -> bool:
        """Whether a fact was learned on the way, so that earlier shapes may not be canonical."""
        return len(self.assumptions) > self.known_before

    def again(self, facts: Facts, names: dict[Sym, Dim]) -> OpBuilder:
        """A new builder with what was learned, under new names of raw sizes. `facts`: what holds for all sizes."""
        assumptions = [each.renamed(names) for each in self.assumptions]
        late = LateSizes(list(self.late.symbols))
        fresh = OpBuilder(late.learn_all(facts, assumptions).settled(), self._prefix)
        fresh._names_given, fresh.late = self._names_given, late
        fresh.assumptions, fresh.known_before = assumptions, len(assumptions)
        for check in self.checks.values():
            lhs, rhs = (side.substitute(names) for side in (check.lhs, check.rhs))
            values = [value.substitute(names) for value in check.values]
            fresh.check(lhs, check.relation, rhs, check.message, values, check.span)
        return fresh

    # tensors and ops

    def count_op(self, op: ir.Op) -> None:
        """Refuse a program that is too long once its calls are inlined."""
        self._ops += 1
        if self._ops > MOST_OPS:
            message = f"expected at most {MOST_OPS} ops, those of a function once for every call, found more"
            raise UnsupportedOpError(message, op.span, hint="put what is repeated into a loop, or compile it in parts")

    @property
    def depth(self) -> int:
        """How many bodies are being built."""
        return len(self._scopes)

    @contextmanager
    def within(self, op: ir.Op) -> Generator[None]:
        """Build the regions of a loop or a branch."""
        self._control.append((self.depth + 1, op))
        yield
        self._control.pop()

    def control_at(self, depth: int | None) -> ir.Op | None:
        """The innermost enclosing loop or branch whose regions are at most `depth` deep."""
        around = [op for found, op in self._control if depth is None or found <= depth]
        return around[-1] if around else None

    def tensor(self, shape: Iterable[Dim], dtype: DType, span: Span) -> Tensor:
        """Make a new value."""
        self._count += 1
        made = tuple(map(self.size, shape))
        for size in made:
            if any(abs(weight) > (LARGEST_FACTOR if factors else LARGEST_SIZE) for factors, weight in size.terms):
                text = f"expected sizes of at most {LARGEST_SIZE}, and {LARGEST_FACTOR} times another"
                message = f"{text}, found one of {self._text(size)}"
                raise ShapeError(message, span, hint="no memory holds such an array, if it has elements at all")
        return Tensor(f"t{self._count}", made, dtype, span)

    def size(self, dim: Dim) -> Dim:
        """Write a size in its simplest form, or as a new symbol if that is large: dims computed from it stay small."""
        found = self.facts.named(dim)
        if not is_large(found):
            return found
        name = Name(Sym(f"{self._prefix}{self._names_given}"), self.raw(found))
        self._names_given += 1
        self.assumptions.append(name)
        self.facts = name.add_to(self.facts)
        return of(name.symbol)

    def parameter(self, name: str, raw_shape: Shape, dtype: DType, span: Span) -> Tensor:
        """Make the tensor of an argument; its raw shape is what `get_dimension_size` reads."""
        made = Tensor(name, tuple(map(self.facts.canonical, raw_shape)), dtype, span)
        self.raw_shapes[made] = raw_shape
        return made

    def emit(
        self,
        name: str,
        operands: Sequence[Tensor],
        attrs: object,
        results: Sequence[tuple[Iterable[Dim], DType]],
        span: Span,
        bodies: tuple[Body, ...] = (),
    ) -> tuple[Tensor, ...]:
        """Append an op to the body being built. Raise `FirstOp` in a run that is for sizes only."""
        if self.sizes_only:
            raise FirstOp
        op = Op(name, tuple(operands), attrs, tuple(self.tensor(*result, span) for result in results), bodies, span)
        self._scopes[-1].ops.append(op)
        return op.results

    def one(
        self, name: str, operands: Sequence[Tensor], attrs: object, shape: Iterable[Dim], dtype: DType, span: Span
    ) -> Tensor:
        """Append an op with one result."""
        return self.emit(name, operands, attrs, [(shape, dtype)], span)[0]

    def begin(self) -> None:
        """Start an inner body."""
        self._scopes.append(_Scope())

    def end(self, arguments: Sequence[Tensor], results: Sequence[Tensor]) -> Body:
        """Finish the innermost body."""
        return Body(tuple(arguments), tuple(self._scopes.pop().ops), tuple(results))

    def constant(self, value: float | complex, shape: Shape, dtype: DType, span: Span) -> Tensor:
        """A tensor of equal elements."""
        return self.one("d_constant", (), ConstantAttrs(Const(value, dtype)), shape, dtype, span)

    def iota(self, dim: int, shape: Shape, dtype: DType, span: Span) -> Tensor:
        """Indices along `dim`, which wrap around an integer type that does not hold them."""
        wraps = dtype.is_integer and not self.facts.fits(shape[dim] - 1, dtype)
        return self.one("d_iota", (), IotaAttrs(dim, wraps), shape, dtype, span)

    def literal(self, values: NDArray[Any], dtype: DType, span: Span) -> Tensor:
        """A tensor of given elements."""
        key = (values.tobytes(), values.shape, dtype)
        if key not in self._literals:
            made = self.tensor(map(const, values.shape), dtype, span)
            if dtype.is_integer and values.size:
                made = replace(made, bounds=(const(int(values.min())), const(int(values.max()))))
            self._literals[key] = made
            self.constants[made] = values.copy()
        return self._literals[key]

    def materialized(self, value: Bound, span: Span) -> Tensor:
        """The value as a tensor; dims are stored by an op."""
        if isinstance(value, Tensor):
            return value
        for scope in reversed(self._scopes):
            if (known := scope.known.get(value)) is not None:
                return known
        made = self._materialize(value, span)
        self._scopes[-1].known[value] = made
        return made

    def _materialize(self, value: KnownElements, span: Span) -> Tensor:
        if value.steps:
            assert value.made is not None, "what may wrap around was computed by an op"
            return self.compute(value.made.op, value.made.operands)
        shape = tuple(map(const, value.shape))
        if (known := value.constants) is not None:
            if len(set(known)) == 1:
                return self.constant(_element(known[0], value.dtype), shape, value.dtype, span)
            wide = np.uint64 if value.dtype is DType.UI64 else np.int64
            numbers = np.array(known, wide).astype(numpy_dtype(value.dtype)).reshape(value.shape)
            return self.literal(numbers, value.dtype, span)
        if value.dtype.is_bool:
            flags = self._materialize(KnownElements(value.dims, value.shape, DType.I32), span)
            zeros = self.constant(0, shape, DType.I32, span)
            return self.one("compare", (flags, zeros), CompareAttrs(Direction.NE), shape, DType.I1, span)
        dims = tuple(map(self.facts.canonical, value.dims))
        flat = shape if len(shape) <= 1 else (const(len(dims)),)
        made = self.one("d_from_dims", (), FromDimsAttrs(dims), flat, value.dtype, span)
        return made if len(shape) <= 1 else self.one("d_reshape", (made,), NoAttrs(), shape, value.dtype, span)

    # facts and checks

    @property
    def learned(self) -> Learned:
        """A snapshot of what is known of sizes."""
        return Learned(self.facts, tuple(self.assumptions), dict(self.late.eliminated), dict(self.checks))

    def go_back(self, learned: Learned) -> None:
        """Restore a snapshot."""
        self.facts, self.assumptions, self.checks = learned.facts, list(learned.assumptions), dict(learned.checks)
        self.late.eliminated = dict(learned.eliminated)

    def raw(self, dim: Dim) -> Dim:
        """Write a dim in the raw sizes of the arguments, and in symbols of large sizes."""
        return self.facts.in_raw(dim)

    def check(self, lhs: Dim, relation: Relation, rhs: Dim, message: str, values: Sequence[Dim], span: Span) -> None:
        """Demand something of sizes at run time."""
        lhs, rhs = self.raw(lhs), self.raw(rhs)
        check = Check(lhs, relation, rhs, message, tuple(map(self.raw, values)), span)
        self.checks.setdefault((lhs, relation, rhs), check)

    def assume(self, relation: Relation, lhs: Dim, rhs: Dim, reason: str, span: Span) -> None:
        """Learn a fact about sizes, unless something could rely on it before it is checked."""
        assumption = Assumption(relation, self.raw(lhs), self.raw(rhs), reason, span)
        facts = self.late.learn(self.facts, assumption)
        if facts is not None:
            self.assumptions.append(assumption)
            self.facts = facts

    def read_late(self, symbol: Sym) -> None:
        """Register a size that becomes known during a call."""
        if symbol not in self.late.symbols:
            self.late.symbols.append(symbol)
            self.facts = self.facts.with_late((symbol,))

    def _text(self, dim: Dim) -> str:
        return str(self.facts.readable(dim))

    def name_size(self, name: str, size: Dim) -> None:
        """Record the user's name of a dim of raw sizes: a raw size is renamed later, another dim gets a symbol.

        A name that is no valid symbol is recorded, but no formula is written in it.
        """
        if name in self.sizes:
            return
        self.sizes[name] = size
        if not is_symbol_name(name) or self.facts.canonical(size) == symbol(name) or isinstance(size.atom, Sym):
            return
        definition = Definition(Sym(name), self.raw(size))
        self.assumptions.append(definition)
        self.facts = definition.add_to(self.facts)

    def demand_all(self, constraints: Sequence[Constraint]) -> None:
        """Check and assume the caller's constraints; refuse one that contradicts what is known before it."""
        for one in constraints:
            assumption = one.assumption
            if assumption.truth(self.facts).is_false:
                known = "".join(f"\n  {fact}" for fact in self.facts.about(assumption.lhs - assumption.rhs))
                message = f"the constraint '{one.text}' holds for no sizes; known are{known}"
                raise ShapeError(message, assumption.span)
            message = f"the constraint '{one.text}' does not hold"
            self.check(assumption.lhs, assumption.relation, assumption.rhs, message, (), assumption.span)
            self.assumptions.append(assumption)
            self.facts = assumption.add_to(self.facts)

    def impossible(self, message: str, span: Span) -> NoReturn:
        """Refuse a program whose demand on sizes no sizes can satisfy."""
        raise ShapeError(f"an assertion fails whatever the inputs' sizes are: {message}", span)

    def demand_equal(self, lhs: Dim, rhs: Dim, what: str, span: Span) -> None:
        """Demand that two sizes agree: prove it, or check it at run time and assume it from there on."""
        if lhs == rhs:
            return
        match self.facts.equal(lhs, rhs):
            case Truth.TRUE:
                return
            case Truth.FALSE:
                sizes = f"{self._text(lhs)} and {self._text(rhs)}"
                raise ShapeError(f"{what}: sizes {sizes} differ whatever the inputs' sizes are", span)
            case Truth.UNKNOWN:
                message = f"{what}: found {{0}} and {{1}}, expected {self._text(lhs)} == {self._text(rhs)}"
                self.check(lhs, Relation.EQ, rhs, message, (lhs, rhs), span)
                self.assume(Relation.EQ, lhs, rhs, what, span)

    def demand_at_least(self, lhs: Dim, rhs: DimLike, what: str, span: Span) -> None:
        """Demand that a size is at least another: prove it, or check it at run time and assume it from there on."""
        difference = lhs - rhs
        if (known := difference.constant) is not None and known >= 0:
            return
        match self.facts.at_least(difference, 0):
            case Truth.TRUE:
                return
            case Truth.FALSE:
                sizes = f"{self._text(lhs)} is less than {self._text(as_dim(rhs))}"
                raise ShapeError(f"{what}: {sizes} whatever the inputs' sizes are", span)
            case Truth.UNKNOWN:
                message = f"{what}: found {{0}} and {{1}}, expected {self._text(lhs)} >= {self._text(as_dim(rhs))}"
                self.check(lhs, Relation.GE, as_dim(rhs), message, (lhs, as_dim(rhs)), span)
                self.assume(Relation.GE, lhs, as_dim(rhs), what, span)

    def demand_one_or(self, size: Dim, target: Dim, what: str, span: Span) -> None:
        """Demand that a size is 1 or `target`: checked at run time; the range that follows is assumed from there on."""
        one, other = self._text(size), self._text(target)
        message = f"{what}: found {{0}} and {{1}}, expected {one} == 1 or {one} == {other}"
        self.check((size - 1) * (size - target), Relation.EQ, ZERO, message, (size, target), span)
        for high, low in ((maximum(target, 1), size), (size, minimum(target, 1))):
            if not self.facts.at_least(high, low).is_true:
                self.assume(Relation.GE, high, low, what, span)

    def same_shape(self, shapes: Sequence[Shape], what: str, span: Span) -> Shape:
        """Demand that all `shapes` are equal, and return one; constants are preferred to formulas."""
        first = shapes[0]
        if all(shape == first for shape in shapes):
            return first
        if len({len(shape) for shape in shapes}) != 1:
            raise ShapeError(f"{what}: expected equal ranks, found {[len(shape) for shape in shapes]}", span)
        found = list[Dim]()
        for sizes in zip(*shapes, strict=True):
            best = next((size for size in sizes if size.constant is not None), sizes[0])
            for size in sizes:
                self.demand_equal(size, best, what, span)
            found.append(best)
        return tuple(found)

    def declared(self, shape: Iterable[Dim], type_: ir.Type, what: str, span: Span) -> Shape:
        """Demand that a computed shape agrees with the type that the text states; return it with the stated sizes."""
        stated, sizes = tensor_type(type_, span).shape, tuple(shape)
        if len(stated) != len(sizes):
            raise ShapeError(f"{what}: expected rank {len(sizes)}, found {len(stated)}", span)
        found = list[Dim]()
        for size, text in zip(sizes, stated, strict=True):
            if text is not None and size.constant != text:
                self.demand_equal(size, const(text), what, span)
                size = const(text)  # noqa: PLW2901
            found.append(size)
        self.bound_by(found, type_, what, span)
        return tuple(found)

    def demand_declared(self, shape: Shape, type_: ir.Type, what: str, span: Span) -> None:
        """Demand the sizes that the text states, for example of a result that has the sizes of its operands."""
        if isinstance(type_, ir.TensorType) and type_.shape != shape and len(type_.shape) == len(shape):
            for size, text in zip(shape, type_.shape, strict=True):
                if text is not None:
                    self.demand_equal(size, const(text), what, span)

    def bound_by(self, shape: Iterable[Dim], type_: ir.Type, what: str, span: Span) -> None:
        """Demand that sizes are within the bounds that a type states."""
        bounds = tensor_type(type_, span).encoding
        for size, most in zip(shape, bounds.sizes if isinstance(bounds, BoundsAttr) else (), strict=False):
            if most is not None:
                self.demand_at_least(const(most), size, f"{what} is within the bounds of its type", span)


def _element(value: int, dtype: DType) -> int | bool:
    return bool(value) if dtype.is_bool else value


def tensor_type(type_: ir.Type, span: Span) -> ir.TensorType:
    """The type as a tensor type; a quantized tensor is that of its stored integers. Tokens are not supported."""
    if isinstance(type_, ir.TensorType):
        return type_
    if isinstance(type_, QuantizedTensorType):
        return ir.TensorType(type_.shape, type_.element.storage)
    raise UnsupportedOpError(f"expected a tensor, found {type(type_).__name__}", span)
