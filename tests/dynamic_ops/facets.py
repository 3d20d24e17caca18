"""An op's element rule held against its reference, sample by sample, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.opdef import Arrays
from shlo_disc.dynamic_ops.program import Body, Op, Program, Tensor
from shlo_disc.dynamic_ops.registry import definition
from shlo_disc.expr.dim import Sym, const
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.scalar import Index, Load, Scalar
from shlo_disc.functions.table import BY_NAME
from shlo_disc.ir.dtypes import DType
from tests.dynamic_ops.sampling import Sample

Array: TypeAlias = NDArray[Any]
Rule: TypeAlias = Callable[..., Scalar]
# What is rounded otherwise by the evaluator, in the type itself, than by the reference, in a wider one. Everything else
# is the same to the last bit: arithmetic is correctly rounded, and the samples of sums are short numbers.
_CORRECTLY_ROUNDED = frozenset({"add", "divide", "multiply", "sqrt", "square", "subtract"})
ROUNDED = frozenset(name for name, function in BY_NAME.items() if not function.exact) - _CORRECTLY_ROUNDED
ROUNDED_OF_COMPLEX = ROUNDED | {"abs", "divide", "multiply", "sign", "sqrt", "square"}
# The distance from 1 to the next number.
EPSILON = {
    DType.F64: 2.0**-52, DType.F32: 2.0**-23, DType.F16: 2.0**-10, DType.BF16: 2.0**-7, DType.F8E4M3FN: 2.0**-3,
    DType.F8E5M2: 2.0**-2,
}  # fmt: skip
ULPS = 4  # of f32 and f64; of narrower floats, which are computed in f32, 1
# Relative errors in f64 of SciPy's functions, by which element rules are evaluated, where they are larger.
LOOSER = {
    "digamma": 1e-9,  # near its roots below 0, absolute errors of 1e-15 are that much
    "lgamma": 1e-9,  # near 1 and 2, and near its roots below 0, the same
    "polygamma": 1e-9,  # its order 0 is digamma
    "zeta": 1e-14,  # the terms of negative numbers cancel
}


@dataclass(slots=True)
class Concrete:
    """Answers element rules with loads, and regions by inlining them."""

    inlined: dict[Tensor, Scalar] = field(default_factory=dict[Tensor, Scalar])
    numbers: count[int] = field(default_factory=count)

    def at(self, tensor: Tensor, index: Index, /) -> Scalar:
        return self.inlined.get(tensor) or Load(tensor, index)

    def symbol(self, hint: str, /) -> Sym:
        return Sym(f"{hint}{next(self.numbers)}")

    def region(self, body: Body, arguments: tuple[Scalar, ...], /) -> tuple[Scalar, ...]:
        self.inlined.update(zip(body.arguments, arguments, strict=True))
        for op in body.ops:
            rule = definition(op).element
            assert rule is not None, f"{op.name} is in a region of rank-0 ops"
            self.inlined[op.results[0]] = rule(op, self, 0, ())
        return tuple(self.inlined[x] for x in body.results)


def run_body(body: Body | Program, arguments: Arrays) -> Arrays:
    """The results of a body by the references of its ops."""
    assert isinstance(body, Body), "no sample runs programs"
    values = dict(zip(body.arguments, arguments, strict=True))
    for op in body.ops:
        found = definition(op).reference(op, tuple(values[x] for x in op.operands), run_body)
        values.update(zip(op.results, found, strict=True))
    return tuple(values[x] for x in body.results)


def by_reference(sample: Sample) -> Arrays:
    """What the reference says of a sample."""
    with np.errstate(all="ignore"):
        return definition(sample.op).reference(sample.op, tuple(np.asarray(x) for x in sample.inputs), run_body)


def shape_of(sample: Sample, k: int) -> tuple[int, ...]:
    """The shape of result number `k`."""
    return tuple(size.evaluate({}) for size in sample.op.results[k].shape)


def formula(sample: Sample, k: int, at: tuple[int, ...], rule: Rule | None = None) -> Scalar:
    """What an element rule says of one element of result number `k`; the op's own rule if none is given."""
    rule = rule or definition(sample.op).element
    assert rule is not None, f"{sample.op.name} has an element rule"
    return rule(sample.op, Concrete(), k, tuple(map(const, at)))


def value(sample: Sample, scalar: Scalar) -> Array:
    """The value of a formula of a sample's operands."""
    return evaluate(scalar, {}, {f"x{k}": np.asarray(x) for k, x in enumerate(sample.inputs)})


def elements(sample: Sample, k: int, rule: Rule | None = None) -> Iterator[tuple[tuple[int, ...], Array]]:
    """The index and the value of each element of result number `k`, as an element rule says."""
    for at in np.ndindex(shape_of(sample, k)):
        yield at, value(sample, formula(sample, k, at, rule))


def agree(found: Array, wanted: Array, op: Op[Any]) -> bool:
    """Whether an element of an op is what the reference says.

    Types, integers, NaNs, infinities and the signs of zeros have to be the same, and all other results of ops that
    round nothing else than the reference; complex numbers may be a few units of their larger part apart.
    """
    if found.dtype != wanted.dtype:
        return False
    if wanted.dtype.kind in "biu" or wanted.dtype.name.startswith(("int", "uint")):
        return bool(found == wanted)
    is_complex = wanted.dtype.kind == "c"
    parts = [(part(found), part(wanted)) for part in ((np.real, np.imag) if is_complex else (np.asarray,))]
    sizes = [abs(float(part)) for _, part in parts]
    rounded = ROUNDED_OF_COMPLEX if any(x.dtype.is_complex for x in op.operands) else ROUNDED
    tolerance = _tolerance(op) if op.name in rounded else 0.0
    room = tolerance * max((size for size in sizes if np.isfinite(size)), default=0.0)
    return all(_near(float(a), float(b), room, signed=not is_complex) for a, b in parts)


def _tolerance(op: Op[Any]) -> float:
    dtype = op.results[0].dtype.part
    epsilon = EPSILON[dtype]
    looser = LOOSER.get(op.name, 0.0) if dtype is DType.F64 else 0.0
    return max((1 if dtype.is_narrow_float else ULPS) * epsilon, looser)


def _near(a: float, b: float, room: float, *, signed: bool) -> bool:
    if np.isnan(a) or np.isnan(b):
        return bool(np.isnan(a) and np.isnan(b))
    if signed and a == b == 0:
        return bool(np.signbit(a) == np.signbit(b))
    return a == b or abs(a - b) <= room
