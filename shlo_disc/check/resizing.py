"""The same program at smaller sizes: inputs are cropped on dynamic axes, types are rewritten for static sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shlo_disc.analysis.sizes import free_symbols, point_of
from shlo_disc.check.case import Array, CheckedCall, observable
from shlo_disc.check.running import program_of
from shlo_disc.check.sampling import shapes_at
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.reference import bind_sizes
from shlo_disc.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    DenseAttr,
    FunctionType,
    TensorType,
    Type,
)
from shlo_disc.ir.core import Block, Function, Op, Region, Value
from shlo_disc.records import record

_SHRUNK_LITERAL = 1 << 16  # bytes: larger literals are not cropped


def smaller_sizes(case: CheckedCall) -> Iterator[CheckedCall]:
    """Cases at smaller sizes, the smallest of each size first; those with other static sizes may be invalid."""
    yield from _smaller_open_sizes(case)
    yield from _smaller_fixed_sizes(case)


def static(case: CheckedCall, seen: Callable[[Sequence[Value]], Mapping[Value, Array]]) -> CheckedCall | None:
    """The case with all shapes static; None if they are already, or if shapes in regions are dynamic.

    `seen` gives the arrays of values.
    """
    values = observable(case)
    inside = [a for op in case.ops for a in _region_values(op)]
    if not any(_is_open(value) for value in (*case.main.body.arguments, *values)) or any(map(_is_open, inside)):
        return None
    arrays = seen(values)
    shapes = {value: arrays[value].shape for value in values if value in arrays}
    shapes |= dict(zip(case.main.body.arguments, [x.shape for x in case.inputs], strict=True))

    def type_of(value: Value) -> Type:
        type_, shape = value.type, shapes.get(value)
        return replace(type_, shape=shape) if isinstance(type_, TensorType) and None in type_.shape and shape else type_

    return replace(case, module=case.module.with_function(_retyped(case.main, type_of, lambda _, one: one)))


def cropped(arrays: Sequence[Array], shapes: Sequence[Sequence[int]]) -> tuple[Array, ...]:
    """Crop arrays to the first elements along each axis; an array that is too small is repeated."""
    found = list[Array]()
    for array, shape in zip(arrays, shapes, strict=True):
        kept = array[tuple([slice(0, size) for size in shape])]
        padding = [(0, size - old) for size, old in zip(shape, kept.shape, strict=True)]
        if kept.size or not math.prod(shape):
            kept = np.pad(kept, padding, mode="wrap") if any(more for _, more in padding) else kept
        else:
            kept = np.zeros(shape, array.dtype)
        found.append(np.ascontiguousarray(kept))
    return tuple(found)


def _smaller_open_sizes(case: CheckedCall) -> Iterator[CheckedCall]:
    try:
        program = program_of(case.module)
        sizes = bind_sizes(program, case.inputs)
    except ShloDiscError:
        return
    free = {symbol: sizes.get(symbol, 0) for symbol in free_symbols(program)}
    here = shapes_at(program, sizes)
    for symbol, value in free.items():
        for smaller in _below(value):
            point = point_of(program, {**free, symbol: smaller})
            if point is not None and (shapes := shapes_at(program, point)) != here:
                inputs = cropped(case.inputs, shapes)
                for dim in program.unbacked_dims:
                    inputs[dim.argument].reshape(-1)[dim.element] = point[dim.symbol]
                yield replace(case, inputs=inputs)


def _below(value: int) -> list[int]:
    """Smaller values to try, the smallest first."""
    return sorted({v for v in (0, 1, 2, 3, value // 2, value - 1) if 0 <= v < value})


def _smaller_fixed_sizes(case: CheckedCall) -> Iterator[CheckedCall]:
    """Replace a static size in all types and attributes, without and with its multiples in proportion."""
    fixed = {size for value in case.main.values() for size in _sizes(value.type) if size is not None and size > 1}
    for size in sorted(fixed, reverse=True):
        for smaller in _below(size):
            if smaller == 0:
                continue
            for with_multiples in (False, True):
                multiples = {n: n // size * smaller for n in fixed if n % size == 0} if with_multiples else {}
                if with_multiples and len(multiples) <= 1:
                    continue
                rename = _Renamed({**multiples, size: smaller})
                function = _retyped(case.main, rename.type_of, rename.attribute)
                shapes = [_sizes(value.type) for value in function.body.arguments]
                current = [x.shape for x in case.inputs]
                wanted = [
                    tuple([now if size is None else size for size, now in zip(shape, old, strict=True)])
                    for shape, old in zip(shapes, current, strict=True)
                ]
                yield CheckedCall(case.module.with_function(function), cropped(case.inputs, wanted))


@record
class _Renamed:
    """Static sizes, and their replacements."""

    sizes: Mapping[int, int]

    def type_of(self, value: Value) -> Type:
        return self._type(value.type)

    def _type(self, type_: Type) -> Type:
        if not isinstance(type_, TensorType):
            return type_
        return replace(type_, shape=tuple([None if n is None else self.sizes.get(n, n) for n in type_.shape]))

    def attribute(self, op: Op, one: Attribute) -> Attribute:
        """An attribute with its sizes replaced: bounds of slices, windows, literals (cropped)."""
        match one:
            case DenseArrayAttr(_, values) if "dimensions" not in op.name:
                return replace(one, values=tuple([self.sizes.get(v, v) if isinstance(v, int) else v for v in values]))
            case DenseAttr() if len(one.data) <= _SHRUNK_LITERAL:
                return self._literal(one)
            case _:
                return one

    def _literal(self, one: DenseAttr) -> DenseAttr:
        type_ = self._type(one.type)
        assert isinstance(type_, TensorType), "the type of a literal stays a tensor's"
        if type_ == one.type or one.splat:
            return replace(one, type=type_)
        old, new = [tuple([n or 0 for n in t.shape]) for t in (one.type, type_)]
        raw = np.frombuffer(one.data, np.dtype((np.void, max(1, len(one.data) // max(1, math.prod(old))))))
        kept = raw.reshape(old)[tuple([slice(0, n) for n in new])]
        return DenseAttr(type_, np.ascontiguousarray(kept).tobytes(), splat=False)


def _retyped(
    function: Function, type_of: Callable[[Value], Type], attribute: Callable[[Op, Attribute], Attribute]
) -> Function:
    """Rebuild a function with other types of values and other attributes of ops."""
    values = dict[Value, Value]()

    def new(value: Value) -> Value:
        values[value] = replace(value, type=type_of(value))
        return values[value]

    def new_op(op: Op) -> Op:
        return replace(
            op,
            operands=tuple([values[value] for value in op.operands]),
            regions=tuple([Region(tuple(map(new_block, region.blocks))) for region in op.regions]),
            results=tuple(map(new, op.results)),
            attributes={name: attribute(op, one) for name, one in op.attributes.items()},
        )

    def new_block(block: Block) -> Block:
        arguments = tuple(map(new, block.arguments))
        return Block(arguments, tuple(map(new_op, block.ops)))

    body = new_block(function.body)
    types = FunctionType(
        tuple([value.type for value in body.arguments]), tuple([value.type for value in body.ops[-1].operands])
    )
    return replace(function, body=body, type=types)


def _sizes(type_: Any) -> tuple[int | None, ...]:
    return type_.shape if isinstance(type_, TensorType) else ()


def _is_open(value: Value) -> bool:
    return None in _sizes(value.type)


def _region_values(op: Op) -> Iterator[Value]:
    for region in op.regions:
        for block in region.blocks:
            yield from block.arguments
            for inner in block.ops:
                yield from inner.results
                yield from _region_values(inner)
