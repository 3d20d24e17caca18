"""Computes scalars with NumPy, one element at a time: the reference semantics of `expr.scalar`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import product
from typing import Any, assert_never

import numpy as np
from numpy.typing import NDArray

from shlo_disc.expr.dim import Atom, Data, Dim, Sym, const, of
from shlo_disc.expr.scalar import (
    Arg,
    Binary,
    Bitcast,
    Compare,
    Const,
    Convert,
    Fold,
    FoldResult,
    FromDim,
    InRange,
    Load,
    ReducePrecision,
    Scalar,
    Select,
    Unary,
)
from shlo_disc.functions import numpy_math as np_math
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.records import record

Value = NDArray[Any]


@record
class Environment:
    """The values of a scalar's leaves: sizes and indices, tensors by name, named scalars.

    `known` memoizes what was computed from them, as scalars are graphs with much sharing.
    """

    symbols: Mapping[Sym, int]
    arrays: Mapping[str, Value]
    arguments: Mapping[str, Value]
    known: dict[Scalar, Value] = field(default_factory=dict[Scalar, Value])


def evaluate(
    scalar: Scalar,
    symbols: Mapping[Sym, int],
    arrays: Mapping[str, Value],
    arguments: Mapping[str, Value] | None = None,
) -> Value:
    """Compute a scalar as a rank-0 array. Raise IndexError for a load that is out of range."""
    with np.errstate(all="ignore"):
        return _value(scalar, Environment(symbols, arrays, arguments or {}))


def evaluate_dim(dim: Dim, environment: Environment) -> int:
    """Compute a dim, reading tensors for its data atoms."""
    if data := dim.data():
        values = {atom: const(int(_formula(atom, environment))) for atom in data}

        def known(atom: Atom) -> Dim:
            return values[atom] if isinstance(atom, Data) else of(atom)

        dim = dim.map_atoms(known)
    return dim.evaluate(environment.symbols)


def _formula(atom: Data, environment: Environment) -> Value:
    formula: Any = atom.formula  # a Scalar, which expr.dim cannot name
    return _value(formula, environment)


def _value(scalar: Scalar, env: Environment) -> Value:
    match scalar:
        case Const(value, dtype):
            return np_math.cast(np.asarray(value), dtype)
        case FromDim(dim, dtype):
            return np_math.cast(np.asarray(evaluate_dim(dim, env)), dtype)
        case InRange(dim, lower, upper):
            at = evaluate_dim(dim, env)
            return np.asarray(evaluate_dim(lower, env) <= at < evaluate_dim(upper, env))
        case Arg(name, _):
            return env.arguments[name]
        case Load():
            return _load(scalar, env)
        case FoldResult(fold, position):
            return _fold(fold, env)[position]
        case Select(condition, then, other):
            return _value(then if bool(_value(condition, env)) else other, env)
        case _:
            if (known := env.known.get(scalar)) is None:
                known = env.known[scalar] = _computed(scalar, env)
            return known


def _computed(scalar: Unary | Binary | Compare | Convert | Bitcast | ReducePrecision, env: Environment) -> Value:
    match scalar:
        case Unary(fn, x, dtype):
            return np_math.cast(fn.value.evaluate(_value(x, env)), dtype)
        case Binary(fn, a, b, dtype):
            return np_math.cast(fn.value.evaluate(_value(a, env), _value(b, env)), dtype)
        case Compare(direction, a, b, total):
            return np_math.compare(direction, _value(a, env), _value(b, env), total=total)
        case Convert(x, dtype):
            return np_math.convert(_value(x, env), dtype)
        case Bitcast(x, dtype):
            return _value(x, env).view(numpy_dtype(dtype))
        case ReducePrecision(x, exponent_bits, mantissa_bits):
            found = np_math.reduce_precision(_value(x, env), exponent_bits, mantissa_bits)
            return np_math.cast(found, scalar.dtype)
        case _:
            assert_never(scalar)


def _load(load: Load, env: Environment) -> Value:
    array = env.arrays[load.source.name]
    index = tuple(evaluate_dim(at, env) for at in load.index)
    if len(index) != array.ndim or not all(0 <= at < n for at, n in zip(index, array.shape, strict=True)):
        raise IndexError(f"{load.source.name}[{index}] of shape {array.shape}")
    return np.asarray(array[index])


def _fold(fold: Fold, env: Environment) -> tuple[Value, ...]:
    carries = tuple(_value(x, env) for x in fold.init)
    extents = [range(evaluate_dim(extent, env)) for _, extent in fold.axes]
    names = [carry.name for carry in fold.carries]
    for point in product(*extents):
        symbols = {**env.symbols, **{axis: at for (axis, _), at in zip(fold.axes, point, strict=True)}}
        arguments = {**env.arguments, **dict(zip(names, carries, strict=True))}
        inner = Environment(symbols, env.arrays, arguments)
        carries = tuple(_value(x, inner) for x in fold.update)
    return carries
