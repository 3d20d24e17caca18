"""Rule-based rewriting of programs: `rewrite`, the builder of its rules, and `remove_unused`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from shlo_disc.diagnostics import VerifyError
from shlo_disc.dialects.table import OPS
from shlo_disc.ir.attributes import Attribute, TensorType, Type
from shlo_disc.ir.core import Block, Function, Module, Op, Region, Value
from shlo_disc.ir.depth import with_room
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.ir.rewrite import Replacement, Surroundings, copy_ops, replace_ops
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.verify import TERMINATORS
from shlo_disc.parse.fragment import parse_ops
from shlo_disc.verify.ops import verify

Rule: TypeAlias = "Callable[[Op, Build], Value | Sequence[Value] | None]"


@with_room
def rewrite(module: Module, rules: Mapping[str, Rule]) -> Module:
    """Replace ops by name.

    Args:
        module: the program, which is not changed.
        rules: by the full name of an op. A rule takes an op and a `Build`, and returns the replacement of the op's
            result: one value, or as many as the op has results, of the same types. None keeps the op, after the ops
            that were built; `()` removes it, if its results are unused. Ops that a rule makes are not rewritten again.

    Returns:
        The rewritten module, verified.

    Raises:
        VerifyError: a rule made something that is not valid StableHLO.

    >>> from shlo_disc.parse.parser import parse_module
    >>> module = parse_module('''func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
    ...   %0 = stablehlo.negate %x : tensor<?xf32>
    ...   return %0 : tensor<?xf32>
    ... }''')
    >>> print(rewrite(module, {"stablehlo.negate": lambda op, build: build.op("stablehlo.abs", *op.operands)}), end="")
    module {
      func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
        %1 = stablehlo.abs %x : tensor<?xf32>
        return %1 : tensor<?xf32>
      }
    }
    """

    def applied(op: Op, surroundings: Surroundings) -> Replacement | None:
        build = Build(op, surroundings)
        return build.replacement(rules[op.name](op, build))

    made = replace_ops(module, dict.fromkeys(rules, applied))
    verify(made)
    return made


class Build:
    """Makes the ops that replace another one: they have its location, and values with new names."""

    def __init__(self, replaced: Op, surroundings: Surroundings) -> None:
        self._replaced = replaced
        self._surroundings = surroundings
        self._ops = list[Op]()

    def op(self, name: str, *operands: Value, type: Type | None = None, **attributes: Attribute) -> Value:  # noqa: A002
        """Make an op with one result.

        Args:
            name: of the op, such as `"stablehlo.tanh"`.
            *operands: values of the program, or made by this builder.
            type: of the result; None for the first operand's.
            **attributes: of the op.

        Returns:
            The result.

        Raises:
            TypeError: there is neither a type nor an operand to take it from.
        """
        if type is None and not operands:
            raise TypeError(f"expected the type of {name}, which has no operand to take it from")
        old = self._replaced
        result = Value(next(self._surroundings.names), type or operands[0].type, old.span, old.location)
        self._ops.append(Op(name, operands, attributes, (result,), (), old.span, old.location))
        return result

    def parse(self, text: str, **given: Value | Type) -> tuple[Value, ...]:
        """Make ops from text.

        The text refers to what is given by name, to values as `%x` and to types as `!t`:
        `build.parse("stablehlo.slice %x [0:2] : (!t) -> tensor<2xf32>", x=x, t=x.type)`.

        Args:
            text: ops, one after the other.
            **given: the values and the types that the text refers to.

        Returns:
            The results of the last op.

        Raises:
            ParseError: the text is not a sequence of ops, or refers to what is not given.
        """
        ops = parse_ops(text, given)
        self._ops += copy_ops(ops, self._surroundings.names, self._replaced.location)
        return self._ops[-1].results if ops else ()

    def constant(self, number: complex, like: Value) -> Value:
        """Make a constant of one number.

        Args:
            number: the value of every element.
            like: a tensor of the constant's type; sizes `?` are those of `like` at run time.

        Returns:
            The constant.

        Raises:
            TypeError: `like` is no tensor.
        """
        type_ = like.type
        if not isinstance(type_, TensorType):
            raise TypeError(f"expected a tensor to make a constant like, found {spell_type(type_)}")
        literal = f"dense<{_spell_number(number, type_.dtype)}>"
        if None in type_.shape:
            (made,) = self.parse(_broadcast_text(literal, type_), x=like, t=type_)
        else:
            (made,) = self.parse(f"stablehlo.constant {literal} : {spell_type(type_)}")
        return made

    def add(self, op: Op) -> tuple[Value, ...]:
        """Add an op as it is: the replaced op, or a `dataclasses.replace` of it.

        Args:
            op: the op.

        Returns:
            Its results.
        """
        self._ops.append(op)
        return op.results

    def producer(self, value: Value) -> Op | None:
        """Find the op that produces a value.

        Args:
            value: a value of the program, or made by this builder.

        Returns:
            The op; None for an argument of a function or a region.
        """
        made = next((op for op in self._ops if value in op.results), None)
        return made or self._surroundings.producers.get(value)

    def replacement(self, answer: Value | Sequence[Value] | None) -> Replacement:
        """Combine the ops that were built and the rule's answer.

        Args:
            answer: the values that replace the results of the op; None if the op stays.

        Returns:
            What replaces the op.

        Raises:
            VerifyError: the values have other types than the results.
        """
        old = self._replaced
        if answer is None:
            return Replacement((*self._ops, old), old.results)
        values = (answer,) if isinstance(answer, Value) else tuple(answer)
        expected = tuple([spell_type(result.type) for result in old.results])
        found = tuple([spell_type(value.type) for value in values])
        if found not in ((), expected):
            raise VerifyError(
                f"expected values of the types {_listed(expected)} in the place of '{old.name}', "
                f"found {_listed(found)}",
                old.span,
            )
        return Replacement(tuple(self._ops), values)


@with_room
def remove_unused(module: Module) -> Module:
    """Remove ops without side effects whose results are unused; calls and custom calls stay.

    Args:
        module: the program, which is not changed.

    Returns:
        The module without these ops.
    """
    contents = [
        replace(one, body=_without_unused(one.body, set())) if isinstance(one, Function) else one
        for one in module.contents
    ]
    return replace(module, contents=tuple(contents))


def _without_unused(block: Block, used: set[Value]) -> Block:
    """Remove unused ops from a block, from its end; the operands of the others are added to `used`."""
    kept = list[Op]()
    for op in reversed(block.ops):
        if used.isdisjoint(op.results) and not _can_be_noticed(op):
            continue
        used.update(op.operands)
        regions = [Region(tuple([_without_unused(inner, used) for inner in region.blocks])) for region in op.regions]
        kept.append(replace(op, regions=tuple(regions)))
    return Block(block.arguments, tuple(reversed(kept)))


def _can_be_noticed(op: Op) -> bool:
    """Whether an op has effects, or one in it. Called functions and ops of other dialects may have some."""
    record = OPS.get(op.name)
    if op.name in TERMINATORS or record is None or record.effects:
        return True
    inside = [inner for region in op.regions for block in region.blocks for inner in block.ops]
    return any(_can_be_noticed(inner) for inner in inside if inner.name not in TERMINATORS)


def _listed(types: Sequence[str]) -> str:
    return f"({', '.join(types)})"


def _broadcast_text(literal: str, type_: TensorType) -> str:
    """Spell a constant of the sizes that `%x` of type `!t` has at run time."""
    axes = range(len(type_.shape))
    sizes = [f"%n{k} = stablehlo.get_dimension_size %x, dim = {k} : (!t) -> tensor<i32>" for k in axes]
    items = [f"%s{k} = stablehlo.reshape %n{k} : (tensor<i32>) -> tensor<1xi32>" for k in axes]
    scalar, shape = spell_type(TensorType((), type_.dtype)), f"tensor<{len(axes)}xi32>"
    return "\n".join([
        f"%c = stablehlo.constant {literal} : {scalar}",
        *sizes,
        *items,
        f"%shape = stablehlo.concatenate {', '.join(f'%s{k}' for k in axes)}, dim = 0 : "
        f"({', '.join('tensor<1xi32>' for _ in axes)}) -> {shape}",
        f"stablehlo.dynamic_broadcast_in_dim %c, %shape, dims = [] : ({scalar}, {shape}) -> !t",
    ])  # fmt: skip


def _spell_number(number: complex, dtype: DType) -> str:
    """Spell an element of a literal.

    >>> _spell_number(27, DType.F32), _spell_number(0.1 + 0.2, DType.F64), _spell_number(math.inf, DType.F32)
    ('2.700000e+01', '0.30000000000000004', '0x7F800000')
    >>> _spell_number(True, DType.I1), _spell_number(-3, DType.I8), _spell_number(1j, DType.C64)
    ('true', '-3', '(0.000000e+00, 1.000000e+00)')
    """
    if dtype.is_bool:
        return str(bool(number)).lower()
    if dtype.is_complex:
        return f"({_spell_number(number.real, dtype.part)}, {_spell_number(number.imag, dtype.part)})"
    if isinstance(number, complex) or not (dtype.is_float or number == int(number)):
        raise TypeError(f"expected a number of type {dtype.value}, found {number}")
    if not dtype.is_float:
        return str(int(number))
    if not math.isfinite(number):
        bits = np.array(number, numpy_dtype(dtype)).tobytes()
        return f"0x{bits[::-1].hex().upper()}"
    short = f"{number:e}"
    return short if float(short) == number else repr(float(number))
