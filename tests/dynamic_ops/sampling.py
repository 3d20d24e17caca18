"""How samples of ops are made: operands with special values among the first, attributes, result shapes, bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.diagnostics import NOWHERE
from shlo_disc.dynamic_ops.elementwise import CompareAttrs
from shlo_disc.dynamic_ops.opdef import NoAttrs
from shlo_disc.dynamic_ops.program import Body, Op, Tensor
from shlo_disc.expr.dim import Dim, const
from shlo_disc.functions.direction import Direction
from shlo_disc.ir.dtypes import DType, numpy_dtype

Array = NDArray[Any]
SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 2.5, 1e-30)
DTYPES = {numpy_dtype(dtype): dtype for dtype in DType if dtype is not DType.INDEX}


@dataclass(frozen=True, slots=True)
class Sample:
    """One use of an op."""

    op: Op[Any]
    inputs: tuple[Array, ...]

    def __repr__(self) -> str:
        shapes = [x.shape for x in self.inputs]
        return f"{self.op.name}-{'-'.join('x'.join(map(str, shape)) for shape in shapes)}"


def floats(*shape: int, dtype: DType = DType.F32, seed: int = 0) -> Array:
    """Random numbers with every special value among the first."""
    values = np.random.default_rng([seed, *shape]).normal(size=shape) * 3
    flat = values.reshape(-1)
    flat[: min(len(SPECIAL), max(0, flat.size - 2))] = SPECIAL[: max(0, flat.size - 2)]
    return values.astype(numpy_dtype(dtype))


def plain(*shape: int, seed: int = 0) -> Array:
    """Finite numbers that products and sums keep exact enough to compare."""
    return np.random.default_rng([seed, *shape]).integers(-4, 5, size=shape).astype(np.float32)


def integers(*shape: int, dtype: DType = DType.I32, seed: int = 0) -> Array:
    """Random integers with the extreme ones, 0 and -1 among the first."""
    low, high = dtype.integer_bounds
    drawn = np.int64 if dtype.is_signed else np.uint64
    values = np.random.default_rng([seed, *shape]).integers(low, high, size=shape, dtype=drawn, endpoint=True)
    first = np.array([0, 1, low, high, high // 3], drawn)
    values.reshape(-1)[: len(first)] = first[: values.size]
    return values.astype(numpy_dtype(dtype))


def booleans(*shape: int) -> Array:
    """Alternating truth values."""
    return np.arange(int(np.prod(shape))).reshape(shape) % 2 == 0


def dims(*values: int) -> tuple[Dim, ...]:
    """Constant dims."""
    return tuple(map(const, values))


def tensor(name: str, shape: Sequence[int], dtype: DType) -> Tensor:
    """A tensor of constant shape."""
    return Tensor(name, dims(*shape), dtype, NOWHERE)


def sample(
    name: str,
    inputs: Sequence[Array],
    attrs: object,
    shape: Sequence[int],
    dtype: DType | None = None,
    bodies: tuple[Body, ...] = (),
) -> Sample:
    """An op on these inputs; the results (half as many as inputs if there are several) have the first one's type."""
    operands = tuple(tensor(f"x{k}", x.shape, DTYPES[x.dtype]) for k, x in enumerate(inputs))
    count = len(inputs) // 2 if name in ("d_reduce", "d_reduce_window", "d_threefry") else 1
    results = tuple(tensor(f"y{k}", shape, dtype or operands[k].dtype) for k in range(count))
    return Sample(Op(name, operands, attrs, results, bodies, NOWHERE), tuple(inputs))


def body(count: int, dtypes: Sequence[DType], *ops: tuple[str, tuple[int, ...], object, DType]) -> Body:
    """A body of rank-0 ops: values are numbered, arguments first; it returns the last `count` values."""
    arguments = [tensor(f"a{k}", (), dtype) for k, dtype in enumerate(dtypes)]
    values, made = list(arguments), list[Op[object]]()
    for name, operands, attrs, dtype in ops:
        result = tensor(f"b{len(values)}", (), dtype)
        made.append(Op(name, tuple(values[k] for k in operands), attrs, (result,), (), NOWHERE))
        values.append(result)
    return Body(tuple(arguments), tuple(made), tuple(values[-count:]))


F32, I32 = DType.F32, DType.I32
NONE = NoAttrs()
ADD = body(1, [F32, F32], ("add", (0, 1), NONE, F32))
MAX = body(1, [F32, F32], ("maximum", (0, 1), NONE, F32))
# argmax: (value, position, value, position) -> the larger value and its position, the first of equals
ARGMAX = body(
    2,
    [F32, I32, F32, I32],
    ("compare", (0, 2), CompareAttrs(Direction.GE), DType.I1),
    ("select", (4, 0, 2), NONE, F32),
    ("select", (4, 1, 3), NONE, I32),
)
