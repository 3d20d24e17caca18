"""The reference interpreter: a whole DHLO program in NumPy, op by op."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Body, Check, Op, Parameter, Program, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, Sym, const
from shlo_disc.expr.numpy_math import numpy_dtype

Watch: TypeAlias = Callable[[Op[object], Arrays], None]
Evaluate: TypeAlias = Callable[[Op[object], Arrays, RunBody], Arrays]


def _unwatched(_op: Op[object], _results: Arrays) -> None:
    pass


def by_definition(op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
    """The results of one op with constant dims, as its definition says."""
    return definition(op).reference(op, inputs, run)


def interpret(
    program: Program,
    inputs: Sequence[NDArray[Any]],
    watch: Watch = _unwatched,
    evaluate: Evaluate = by_definition,
) -> list[NDArray[Any]]:
    """Run a program. Raise RuntimeShapeError where the sizes of the inputs break a check.

    `watch` is told the results of every op; regions of scalars may be run on whole arrays. `evaluate` computes one op.
    """
    sizes = bind_sizes(program, inputs)
    values: dict[Tensor, NDArray[Any]] = dict(program.constants)
    arguments = tuple(np.asarray(x) for x in inputs)
    with np.errstate(all="ignore"):
        return [np.array(x) for x in _Interpreter(sizes, values, watch, evaluate).run(program.body, arguments)]


def bind_sizes(program: Program, inputs: Sequence[NDArray[Any]]) -> dict[Sym, int]:
    """The value of every symbol for these inputs, with all checks passed."""
    if len(inputs) != len(program.parameters):
        raise ArgumentTypeError(f"expected {len(program.parameters)} arrays, found {len(inputs)}")
    sizes: dict[Sym, int] = {}
    for dim in program.raw_dims:
        if dim.axis < inputs[dim.argument].ndim:
            sizes[dim.symbol] = inputs[dim.argument].shape[dim.axis]
    for parameter, array in zip(program.parameters, inputs, strict=True):
        _check_argument(parameter, array, sizes)
    for reading in program.readings:
        sizes[reading.symbol] = int(inputs[reading.argument].reshape(-1)[reading.element])
    for symbol, dim in program.definitions:
        sizes[symbol] = dim.evaluate(sizes)
    for check in program.checks:
        if not check.holds(sizes):
            raise RuntimeShapeError(filled(check, sizes))
    return sizes


def _check_argument(parameter: Parameter, array: NDArray[Any], sizes: dict[Sym, int]) -> None:
    name, shape = parameter.tensor.name, parameter.raw_shape
    wanted = numpy_dtype(parameter.tensor.dtype)
    if array.dtype != wanted or array.ndim != len(shape):
        raise ArgumentTypeError(
            f"argument {name}: expected {wanted} of rank {len(shape)}, found {array.dtype} of rank {array.ndim}"
        )
    expected = tuple(dim.evaluate(sizes) for dim in shape)
    if expected != array.shape:
        raise RuntimeShapeError(f"argument {name}: expected shape {expected}, found {array.shape}")


def filled(check: Check, sizes: dict[Sym, int]) -> str:
    """The message of a check with `{0}`, `{1}` … replaced by its values."""
    values = [dim.evaluate(sizes) for dim in check.values]

    def value(found: re.Match[str]) -> str:
        k = int(found[1])
        return str(values[k]) if k < len(values) else found[0]

    return re.sub(r"\{(\d+)\}", value, check.message)


class _Interpreter:
    def __init__(
        self,
        sizes: dict[Sym, int],
        values: dict[Tensor, NDArray[Any]],
        watch: Watch = _unwatched,
        evaluate: Evaluate = by_definition,
    ) -> None:
        self._sizes, self._values, self._watch, self._evaluate = sizes, values, watch, evaluate

    def run(self, body: Body, arguments: Arrays) -> Arrays:
        self._values.update(zip(body.arguments, arguments, strict=True))
        for op in body.ops:
            inputs = tuple(self._values[x] for x in op.operands)
            results = self._evaluate(_concrete(op, self._sizes), inputs, self.run)
            self._values.update(zip(op.results, results, strict=True))
            self._watch(op, results)
        return tuple(self._values[x] for x in body.results)


def _concrete(op: Op[Any], sizes: dict[Sym, int]) -> Op[Any]:
    """The op with constant dims everywhere, also in its attributes."""
    results = tuple(
        Tensor(x.name, tuple(const(dim.evaluate(sizes)) for dim in x.shape), x.dtype, x.span) for x in op.results
    )
    return replace(op, attrs=_evaluated(op.attrs, sizes), results=results)


def _evaluated(value: Any, sizes: dict[Sym, int]) -> Any:
    if isinstance(value, Dim):
        return const(value.evaluate(sizes))
    if isinstance(value, tuple):
        members: tuple[Any, ...] = value  # pyright: ignore[reportUnknownVariableType]  # isinstance forgets
        return tuple(_evaluated(x, sizes) for x in members)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {f.name: _evaluated(getattr(value, f.name), sizes) for f in fields(value) if f.init}
        return replace(value, **changed)
    return value
