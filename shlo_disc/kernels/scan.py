"""Scans: a reduce_window whose windows all begin (or all end) at one end of an axis, as JAX exports cumsum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from shlo_disc.analysis.access import children, is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops import reduce
from shlo_disc.dynamic_ops.indexing import delinearize
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceWindowAttrs, split
from shlo_disc.expr.dim import Dim, Sym, const, of, product
from shlo_disc.expr.evaluate import evaluate
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Const, Load, Scalar
from shlo_disc.ir.dtypes import DType, numpy_dtype
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.kernel import Axis, ScanKernel
from shlo_disc.kernels.stages import Params

SHORT = 4  # extent up to which a fold per element is as fast, and can be fused
_OUTER, _ALONG, _INNER = Sym("%o"), Sym("%s"), Sym("%j")


def is_scan(op: Op[Any], facts: Facts, producers: Producers) -> bool:
    """Whether a reduce_window is a scan along one axis."""
    if not reduce.REDUCE_WINDOW.defines(op) or (found := _direction(op, facts)) is None:
        return False
    extent = op.operands[0].shape[found[0]]
    return (extent.constant is None or extent.constant > SHORT) and _starts_neutral(op, facts, producers)


def _direction(op: Op[ReduceWindowAttrs], facts: Facts) -> tuple[int, bool] | None:
    """The axis of a scan, and whether it runs from the end."""
    attrs, shape = op.attrs, op.operands[0].shape
    steps = (*attrs.strides, *attrs.base_dilations, *attrs.window_dilations)
    wide = [k for k, size in enumerate(attrs.window) if size.constant != 1]
    same = all(facts.equal(a, b).is_true for a, b in zip(op.results[0].shape, shape, strict=True))
    if len(wide) != 1 or not same or any(step.constant != 1 for step in steps):
        return None
    (axis,) = wide
    others = (low for k, low in enumerate(attrs.low) if k != axis)
    if any(low.constant != 0 for low in others) or not facts.equal(attrs.window[axis], shape[axis]).is_true:
        return None
    if facts.equal(attrs.low[axis], shape[axis] - 1).is_true:
        return axis, False
    return (axis, True) if attrs.low[axis].constant == 0 else None


def _starts_neutral(op: Op[Any], facts: Facts, producers: Producers) -> bool:
    """Whether the initial values are neutral: each window starts with them, a scan only once, or once per part.

    StableHLO requires an associative body; whether its initial values are neutral is tested on a few samples.
    """
    read, (tensors, inits) = _reader(facts, producers, Params()), split(op)
    starts = [read.at(x, ()) for x in inits]
    before = tuple(Arg(f"before{k}", x.dtype) for k, x in enumerate(tensors))
    after = tuple(Arg(f"after{k}", x.dtype) for k, x in enumerate(tensors))
    combined = read.region(op.bodies[0], (*before, *after))
    if not all(isinstance(start, Const) for start in starts) or any(map(_loads, combined)):
        return False
    neutral = [np.asarray(cast("Const", start).value, numpy_dtype(start.dtype)) for start in starts]
    for sample in zip(*(_samples(x.dtype) for x in tensors), strict=False):
        for first, second in ((neutral, sample), (sample, neutral)):
            names = {a.name: v for a, v in zip((*before, *after), (*first, *second), strict=True)}
            found = [evaluate(value, {}, {}, names) for value in combined]
            if any(x != y for x, y in zip(found, sample, strict=True)):
                return False
    return True


def _samples(dtype: DType) -> list[Any]:
    """Sample values that distinguish functions."""
    kind = numpy_dtype(dtype)
    if dtype.is_bool:
        values: Sequence[Any] = (False, True, False, True, True, False)
    elif dtype.is_complex:
        values = (0.0, 1 + 2j, -0.5j, 3.0, -2 + 1j, 0.25)
    elif dtype.is_float:
        values = (0.0, 1.0, -2.5, 3.0, 0.25, -1.0)
    else:
        smallest, largest = dtype.integer_bounds
        values = (0, 1, smallest, 7, largest, 100)
        values = tuple(map(dtype.wrapped, values))
    return [np.asarray(value, kind) for value in values]


def _loads(formula: Scalar) -> bool:
    """Whether a formula reads memory."""
    stack, seen = list[Node]([formula]), set[Node]()
    while stack:
        node = stack.pop()
        if isinstance(node, Load):
            return True
        if node not in seen:
            seen.add(node)
            stack.extend(children(node))
    return False


def _reader(facts: Facts, producers: Producers, params: Params) -> Formulas:
    """Formulas that inline free ops and load everything else from memory."""

    def free(tensor: Tensor) -> bool:
        made = producers.get(tensor)
        return made is not None and is_free(made[0])

    return Formulas(facts, producers, free, {}, params.load(facts))


def build_scan(group: Group, facts: Facts, producers: Producers) -> tuple[ScanKernel, tuple[Tensor, ...]]:
    """A scan over `outer x extent x inner` elements."""
    op = cast("Op[ReduceWindowAttrs]", group.anchor)
    found = _direction(op, facts)
    assert found is not None, "fusion found the scan"
    axis, backwards = found
    shape, params = op.operands[0].shape, Params()
    tensors, inits = split(op)
    outer, along, inner = (
        Axis(symbol, facts.canonical(extent))
        for symbol, extent in (
            (_OUTER, product(shape[:axis])), (_ALONG, shape[axis]), (_INNER, product(shape[axis + 1 :])),
        )
    )  # fmt: skip
    for one in (outer, along, inner):
        facts = facts.with_index(one.symbol, one.extent)
    index = (*delinearize(of(_OUTER), shape[:axis]), of(_ALONG), *delinearize(of(_INNER), shape[axis + 1 :]))
    read = _reader(facts, producers, params)
    elements = tuple(read.at(x, index) for x in tensors)
    outputs = tuple(params.of(x) for x in op.results)
    carries = tuple(Arg(f"carry{k}", x.dtype) for k, x in enumerate(tensors))
    inputs = tuple(Arg(f"next{k}", x.dtype) for k, x in enumerate(tensors))
    arguments = (*inputs, *carries) if backwards else (*carries, *inputs)
    offset: Dim = (of(_OUTER) * along.extent + of(_ALONG)) * inner.extent + of(_INNER)
    kernel = ScanKernel(
        params=tuple(params.tensors.values()),
        outer=outer,
        along=along,
        inner=inner,
        backwards=backwards,
        init=tuple(read.at(x, ()) for x in inits),
        elements=elements,
        carries=carries,
        inputs=inputs,
        combined=read.region(op.bodies[0], arguments),
        outputs=outputs,
        offset=facts.canonical(offset) if inner.extent != const(1) else of(_OUTER) * along.extent + of(_ALONG),
    )
    return kernel, tuple(params.tensors)
