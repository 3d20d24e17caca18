"""Row kernels run in Python, element by element: what fusion and stages say, without a compiler's help or delay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.dynamic_ops.reference import bind_sizes, interpret
from shlo_disc.expr.dim import Sym
from shlo_disc.expr.evaluate import Environment, evaluate, evaluate_dim
from shlo_disc.kernels.groups import GroupKind
from shlo_disc.kernels.kernel import Axis, Reduction, RowKernel, Stage, Store
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cpu.rows import SEAMS
from tests.pipeline.programs import Planned

Array = NDArray[Any]


def run_kernel(kernel: RowKernel, buffers: dict[str, Array], sizes: Mapping[Sym, int]) -> None:
    """Run all rows; `buffers` are flat arrays by the names of the params."""
    arrays = dict(buffers)
    for scratch in kernel.scratch:
        arrays[scratch.name] = np.zeros(scratch.size.evaluate(sizes), np.int8)
    for row in _points(kernel.rows, Environment(sizes, arrays, {})):
        for scratch in kernel.scratch:  # nothing of another row is there
            arrays[scratch.name] = np.full(scratch.size.evaluate(sizes), None, object)
        arguments = dict[str, Array]()
        for stage in kernel.stages:
            _run_stage(stage, {**sizes, **row}, arrays, arguments)


def _run_stage(stage: Stage, symbols: Mapping[Sym, int], arrays: dict[str, Array], arguments: dict[str, Array]) -> None:
    kept = [a for a, reduced in zip(stage.axes, stage.reduced, strict=True) if not reduced]
    reduced = [a for a, reduced in zip(stage.axes, stage.reduced, strict=True) if reduced]
    for outer in _points(kept, Environment(symbols, arrays, arguments)):
        here = {**symbols, **outer}
        for reduction in stage.reductions:
            for carry, init in zip(reduction.carries, reduction.init, strict=True):
                arguments[carry.name] = evaluate(init, here, arrays, arguments)
        for inner in _points(reduced, Environment(here, arrays, arguments)):
            point = {**here, **inner}
            for store in stage.stores:
                _store(store, point, arrays, arguments)
            for reduction in stage.reductions:
                _update(reduction, point, arrays, arguments)
        for reduction in stage.reductions:
            for store in reduction.stores:
                _store(store, here, arrays, arguments)


def _update(
    reduction: Reduction, point: Mapping[Sym, int], arrays: dict[str, Array], arguments: dict[str, Array]
) -> None:
    elements = [evaluate(x, point, arrays, arguments) for x in reduction.elements]
    inner = {**arguments, **{name.name: value for name, value in zip(reduction.inputs, elements, strict=True)}}
    news = [evaluate(x, point, arrays, inner) for x in reduction.update]
    arguments.update({carry.name: value for carry, value in zip(reduction.carries, news, strict=True)})


def _store(store: Store, point: Mapping[Sym, int], arrays: dict[str, Array], arguments: dict[str, Array]) -> None:
    offset = evaluate_dim(store.offset, Environment(point, arrays, arguments))
    target = arrays[store.target.name]
    assert 0 <= offset < len(target), f"{store.target.name}[{offset}] of {len(target)}"
    target[offset] = evaluate(store.value, point, arrays, arguments)


def _points(axes: Sequence[Axis], here: Environment) -> list[dict[Sym, int]]:
    """Every point of some loops, the last one innermost."""
    ranges = [range(evaluate_dim(axis.extent, here)) for axis in axes]
    return [dict(zip((axis.symbol for axis in axes), at, strict=True)) for at in product(*ranges)]


def check_row_kernels(found: Planned, inputs: Sequence[Array], tolerance: float = 1e-5) -> int:
    """Compare every group of rows with the reference interpreter; the number of groups that were compared."""
    values, sizes = _all_values(found.program, inputs), bind_sizes(found.program, inputs)
    groups = [group for group in found.plan.groups if group.kind is GroupKind.ROWS]
    for group in groups:
        kernel, tensors = build_row_kernel(group, found.program.facts, found.producers, SEAMS)
        buffers = dict[str, Array]()
        for param, tensor in zip(kernel.params, tensors, strict=True):
            flat = values[tensor].reshape(-1)
            buffers[param.name] = flat.copy() if tensor not in group.roots else np.full(flat.shape, None, object)
        run_kernel(kernel, buffers, sizes)
        for param, tensor in zip(kernel.params, tensors, strict=True):
            if tensor in group.roots:
                wanted = values[tensor].reshape(-1)
                got = buffers[param.name].astype(wanted.dtype)  # fails where nothing was stored
                np.testing.assert_allclose(got, wanted, tolerance, tolerance, err_msg=str(tensor))
    return len(groups)


def _all_values(program: Program, inputs: Sequence[Array]) -> dict[Tensor, Array]:
    """Every tensor of the main body, by the reference interpreter."""
    body = program.body
    tensors = [*body.arguments, *program.constants, *(t for op in body.ops for t in op.results)]
    every = replace(program, body=replace(body, results=tuple(tensors)))
    return dict(zip(tensors, interpret(every, inputs), strict=True))
