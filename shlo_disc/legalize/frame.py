"""Walking a StableHLO function: binds each of its values to a DHLO tensor or to known elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import TypeAlias, TypeGuard

from shlo_disc.diagnostics import Span, UnsupportedOpError, VerifyError
from shlo_disc.dynamic_ops.program import Body, Shape, Tensor
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import Dim
from shlo_disc.ir import core as ir
from shlo_disc.ir.attributes import StringAttr
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.legalize.attribute_values import symbols
from shlo_disc.legalize.builder import Bound, OpBuilder, tensor_type
from shlo_disc.legalize.outline import Outliner
from shlo_disc.legalize.shape_value_folding import ShapeArithmetic
from shlo_disc.legalize.unbacked_dims import UnbackedDims
from shlo_disc.limits import MOST_NESTED_CALLS, MOST_REGION_DEPTH, MOST_SIZES
from shlo_disc.records import record


@record
class Processes:
    """The numbers of processes for which a module was written."""

    replicas: int = 1
    partitions: int = 1

    @property
    def total(self) -> int:
        """All of them."""
        return self.replicas * self.partitions


@record
class Legalizer:
    """State that all frames of one run share."""

    builder: OpBuilder
    arithmetic: ShapeArithmetic
    functions: Mapping[str, ir.Function]
    rules: Mapping[str, Rule]
    unbacked_dims: UnbackedDims
    processes: Processes
    outliner: Outliner
    around: ir.Op | None  # the op of which the program is a region


class Frame:
    """The values of one function call; regions see the values around them. `calls`: the calls that lead to it."""

    def __init__(self, legalizer: Legalizer, calls: tuple[Span, ...] = (), inside: tuple[str, ...] = ()) -> None:
        self.legalizer = legalizer
        self.build = legalizer.builder
        self._values: dict[ir.Value, Bound] = {}
        self._producers: dict[ir.Value, ir.Op] = {}
        self.calls = calls
        self._inside = inside  # the functions that are being called

    # values

    def bind(self, value: ir.Value, bound: Bound) -> None:
        """Bind a value."""
        self._values[value] = bound

    def bound(self, value: ir.Value) -> Bound:
        """What a value is bound to."""
        return self._values[value]

    def find(self, value: ir.Value) -> Bound | None:
        """What a value is bound to, or None."""
        return self._values.get(value)

    def tensor(self, value: ir.Value) -> Tensor:
        """The value as a tensor."""
        return self.build.materialized(self._values[value], value.span)

    def tensors(self, values: Sequence[ir.Value]) -> tuple[Tensor, ...]:
        """Several values as tensors."""
        return tuple(self.tensor(value) for value in values)

    def dims(self, value: ir.Value, op: ir.Op) -> tuple[Dim, ...]:
        """The elements of a value as dims, for a shape; data is read before anything of that shape is computed."""
        found, unbacked_dims = self._values[value], self.legalizer.unbacked_dims
        if prod(size for size in tensor_type(value.type, op.span).shape if size is not None) > MOST_SIZES:
            message = f"expected at most {MOST_SIZES} elements that are read as sizes, found {spell_type(value.type)}"
            raise UnsupportedOpError(message, op.span)
        if isinstance(found, Tensor):
            return unbacked_dims.dims(found, op)
        unbacked_dims.demand_steps(found.steps)
        return found.dims

    def producer(self, value: ir.Value) -> ir.Op | None:
        """The op of this function that computed a value from data, or None."""
        return self._producers.get(value)

    # ops

    def run(self, block: ir.Block) -> tuple[Bound, ...]:
        """Walk a block; return what it returns."""
        for op in block.ops[:-1]:
            self._op(op)
        return tuple(self._values[x] for x in block.ops[-1].operands)

    def _op(self, op: ir.Op) -> None:
        self.build.count_op(op)
        operands = [self._values[x] for x in op.operands]
        known = [x for x in operands if isinstance(x, KnownElements)]
        if len(known) == len(operands):
            found = self.legalizer.arithmetic.evaluate(op, known)
            if found is not None:
                self._values[op.results[0]] = found.made_by(op, known)
                return
        rule = self.legalizer.rules.get(op.name)
        if rule is None:
            raise UnsupportedOpError(f"op '{op.name}' is not supported", op.span)
        for number, (value, bound) in enumerate(zip(op.results, rule(self, op), strict=True)):
            self._values[value] = bound
            self._producers[value] = op
            if isinstance(bound, Tensor):
                self.build.demand_declared(bound.shape, value.type, f"the result of {op.name}", op.span)
                self.legalizer.unbacked_dims.made(bound, op, number, operands, self.calls)
                self.build.names.setdefault(bound, value.name)
                if known and bound.span is op.span:
                    self.build.sized[bound] = tuple(known)

    def call(self, name: str, arguments: Sequence[Bound], span: Span) -> tuple[Bound, ...]:
        """Inline a function."""
        function = self.legalizer.functions.get(name)
        if function is None:
            raise UnsupportedOpError(f"call of an unknown function @{name}", span)
        if name in self._inside:
            raise UnsupportedOpError(f"recursive call of @{name}, expected functions that can be inlined", span)
        if len(self.calls) == MOST_NESTED_CALLS:
            message = f"expected at most {MOST_NESTED_CALLS} calls inside each other, found another one, of @{name}"
            raise UnsupportedOpError(message, span, hint="inline functions that do nothing but call another one")
        inner = Frame(self.legalizer, (*self.calls, span), (*self._inside, name))
        for value, attributes, bound in zip(
            function.body.arguments, function.argument_attributes, arguments, strict=True
        ):
            inner.bind(value, bound)
            match attributes.get("jax.global_constant"):
                case StringAttr(value=constant) if _is_size(bound):
                    self.build.name_size(constant, bound.scalar)  # JAX passes its dimension variables under their names
                case _:
                    pass
        return inner.run(function.body)

    # bodies

    def body(self, region: ir.Region, arguments: Sequence[tuple[Shape, DType]]) -> Body:
        """Legalize a region as a body of its own."""
        self.build.begin()
        block = region.block
        made = [
            self.build.tensor(shape, dtype, value.span)
            for value, (shape, dtype) in zip(block.arguments, arguments, strict=True)
        ]
        for value, tensor in zip(block.arguments, made, strict=True):
            self.bind(value, tensor)
        results = self.run(block)
        return self.build.end(made, self._stored(results, block))

    def _stored(self, results: Sequence[Bound], block: ir.Block) -> tuple[Tensor, ...]:
        return tuple(self.build.materialized(x, block.ops[-1].span) for x in results)

    def combiner(self, region: ir.Region) -> Body:
        """Legalize a region of rank-0 ops whose arguments have the types that the text states."""
        types = (tensor_type(value.type, value.span) for value in region.block.arguments)
        return _demand_shallow(self.body(region, [((), type_.dtype) for type_ in types]))

    def function_combiner(self, op: ir.Op, takes: Sequence[DType], gives: Sequence[DType]) -> Body:
        """The same for the function that a custom call names; `takes` and `gives`: the types of its scalars."""
        names, span = symbols(op, "called_computations"), op.span
        name = names[0] if names else ""
        function = self.legalizer.functions.get(name)
        wanted = [ir.TensorType((), dtype) for dtype in (*takes, *gives)]
        if function is None or [*function.type.inputs, *function.type.results] != wanted:
            spelled = ", ".join(map(spell_type, wanted[: len(takes)])), ", ".join(map(spell_type, wanted[len(takes) :]))
            message = f"expected 'called_computations' to name a function ({spelled[0]}) -> ({spelled[1]})"
            raise VerifyError(f"{message}, found @{name}" if function else f"{message}, found none", span)
        self.build.begin()
        arguments = [
            self.build.tensor((), tensor_type(value.type, span).dtype, span) for value in function.body.arguments
        ]
        results = self.call(name, arguments, span)
        return _demand_shallow(self.build.end(arguments, self._stored(results, function.body)))


def _demand_shallow(body: Body) -> Body:
    """Refuse a region whose formula is too deep: regions cannot be split."""
    depths = dict[Tensor, int]()
    for op in body.ops:
        depth = 1 + max((depths.get(x, 0) for x in op.operands), default=0)
        if depth > MOST_REGION_DEPTH:
            message = f"expected at most {MOST_REGION_DEPTH} ops that need each other in a region, found more"
            raise UnsupportedOpError(message, op.span, hint="compute what does not need both elements before the op")
        depths.update(dict.fromkeys(op.results, depth))
    return body


def computed(legalizer: Legalizer, op: ir.Op, operands: Sequence[KnownElements]) -> Tensor:
    """Compute an op on known integers as on tensors: results wrap around their type."""
    frame = Frame(legalizer)
    for value, operand in zip(op.operands, operands, strict=True):
        frame.bind(value, legalizer.builder.materialized(operand, op.span) if operand.steps else operand)
    (found,) = legalizer.rules[op.name](frame, op)
    return legalizer.builder.materialized(found, op.span)


def _is_size(bound: Bound) -> TypeGuard[KnownElements]:
    return isinstance(bound, KnownElements) and len(bound.dims) == 1 and not bound.steps


Rule: TypeAlias = Callable[[Frame, ir.Op], Sequence[Bound]]
