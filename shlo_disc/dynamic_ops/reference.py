"""The reference interpreter: a whole DHLO program in NumPy, op by op."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import ArgumentTypeError, RuntimeShapeError, filled
from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Body, Check, Op, Parameter, Program, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Dim, Sym, const
from shlo_disc.ir.dtypes import numpy_dtype

Watch: TypeAlias = Callable[[Op[object], Arrays], None]
Evaluate: TypeAlias = Callable[[Op[object], Arrays, RunBody], Arrays]


def _unwatched(_op: Op[object], _results: Arrays) -> None:
    pass


def by_definition(op: Op[object], inputs: Arrays, run: RunBody) -> Arrays:
    """Evaluate one op with constant dims by its definition's `reference`."""
    return definition(op).reference(op, inputs, run)


def interpret(
    program: Program,
    inputs: Sequence[NDArray[Any]],
    watch: Watch = _unwatched,
    evaluate: Evaluate = by_definition,
) -> list[NDArray[Any]]:
    """Run a program. Raise RuntimeShapeError where the sizes of the inputs break a check.

    `watch` is called with the results of every op; regions of scalars may be run on whole arrays. `evaluate` computes
    one op.
    """
    sizes = bind_sizes(program, inputs)
    late = _Late(program, sizes)
    values: dict[Tensor, NDArray[Any]] = dict(program.constants)
    arguments = tuple(np.asarray(x) for x in inputs)
    late.look_at(values)
    late.look_at(dict(zip(program.body.arguments, arguments, strict=True)))

    def watched(op: Op[object], results: Arrays) -> None:
        late.look_at(dict(zip(op.results, results, strict=True)))
        watch(op, results)

    with np.errstate(all="ignore"):
        run = _Interpreter(sizes, values, watched if program.late else watch, evaluate).run
        found = run(program.body, arguments)
    return [np.array(x) for x in found[: len(program.returned)]]


class _Late:
    """Late sizes of one run: binds each when it is computed, then the definitions and checks that depend on it."""

    def __init__(self, program: Program, sizes: dict[Sym, int]) -> None:
        self._sizes = sizes
        self._unbacked_dims = dict[Tensor, list[tuple[Sym, int]]]()
        for each in program.late:
            self._unbacked_dims.setdefault(program.body.results[each.result], []).append((each.symbol, each.element))
        self._definitions = [each for each in program.definitions if each[0] not in sizes]
        self._checks = [check for check in program.checks if not _symbols(check) <= sizes.keys()]

    def look_at(self, values: Mapping[Tensor, NDArray[Any]]) -> None:
        """Read the late sizes that are elements of these values."""
        for tensor in values.keys() & self._unbacked_dims.keys():
            for symbol, element in self._unbacked_dims.pop(tensor):
                self._sizes[symbol] = int(values[tensor].reshape(-1)[element])
            self._definitions = _bind_definitions(self._definitions, self._sizes)
            self._checks = _pass_checks(self._checks, self._sizes)


def _bind_definitions(definitions: Sequence[tuple[Sym, Dim]], sizes: dict[Sym, int]) -> list[tuple[Sym, Dim]]:
    """Evaluate the definitions whose symbols are known; return the others."""
    left = list[tuple[Sym, Dim]]()
    for symbol, dim in definitions:
        if dim.symbols() <= sizes.keys():
            sizes[symbol] = dim.evaluate(sizes)
        else:
            left.append((symbol, dim))
    return left


def _pass_checks(checks: Sequence[Check], sizes: dict[Sym, int]) -> list[Check]:
    """Test the checks whose symbols are known and raise RuntimeShapeError for a broken one; return the others."""
    left = list[Check]()
    for check in checks:
        if not _symbols(check) <= sizes.keys():
            left.append(check)
        elif not check.holds(sizes):
            raise RuntimeShapeError(filled(check.message, [dim.evaluate(sizes) for dim in check.values]))
    return left


def _symbols(check: Check) -> frozenset[Sym]:
    return check.lhs.symbols() | check.rhs.symbols()


def bind_sizes(program: Program, inputs: Sequence[NDArray[Any]]) -> dict[Sym, int]:
    """Bind every symbol that the inputs determine, and test all checks on these symbols."""
    if len(inputs) != len(program.parameters):
        raise ArgumentTypeError(f"expected {len(program.parameters)} arrays, found {len(inputs)}")
    sizes: dict[Sym, int] = {}
    for dim in program.raw_dims:
        if dim.axis < inputs[dim.argument].ndim:
            sizes[dim.symbol] = inputs[dim.argument].shape[dim.axis]
    for parameter, array in zip(program.parameters, inputs, strict=True):
        _check_argument(parameter, array, sizes)
    for dim in program.unbacked_dims:
        sizes[dim.symbol] = int(inputs[dim.argument].reshape(-1)[dim.element])
    _bind_definitions(program.definitions, sizes)
    _pass_checks(program.checks, sizes)
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


class _Interpreter:
    def __init__(
        self,
        sizes: dict[Sym, int],
        values: dict[Tensor, NDArray[Any]],
        watch: Watch = _unwatched,
        evaluate: Evaluate = by_definition,
    ) -> None:
        self._sizes, self._values, self._watch, self._evaluate = sizes, values, watch, evaluate

    def run(self, body: Body | Program, arguments: Arrays) -> Arrays:
        """Run a body in the current environment, or a program, which has its own and is not watched."""
        if isinstance(body, Program):
            return tuple(interpret(body, arguments, evaluate=self._evaluate))
        self._values.update(zip(body.arguments, arguments, strict=True))
        for op in body.ops:
            inputs = tuple(self._values[x] for x in op.operands)
            results = self._evaluate(_concrete(op, self._sizes), inputs, self.run)
            self._values.update(zip(op.results, results, strict=True))
            self._watch(op, results)
        return tuple(self._values[x] for x in body.results)


def _concrete(op: Op[Any], sizes: dict[Sym, int]) -> Op[Any]:
    """The op with constant dims, also in its attributes. Ops that run programs stay as they are: these bind sizes."""
    if isinstance(op.attrs, OutlinedAttrs):
        return op
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
