"""Kernels that read what the same launch writes are refused, whatever their template."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from shlo_disc.diagnostics import InternalError
from shlo_disc.expr.dim import Sym, of
from shlo_disc.expr.scalar import Arg, Binary, Const, Fold, FoldResult, Load
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.fusion.backward_groups import merge_backward
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.backward import build_backward
from shlo_disc.kernels.attention.backward_kernel import BackwardProduct
from shlo_disc.kernels.groups import Group, GroupKind
from shlo_disc.kernels.kernel import Param, ScatterKernel, Store
from shlo_disc.kernels.scatter import build_scatter
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.kernels.templates import build_dot
from shlo_disc.kernels.verify_kernel import read_and_written, shared_names, verified
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cpu.rows import SEAMS
from tests.pipeline.exports import In
from tests.pipeline.programs import context_of, planned, softmax

pytestmark = pytest.mark.quick

ZERO = Const(0.0, DType.F32)


def plus(store: Store, source: Param) -> Store:
    """The same store of what `source` holds there, too."""
    load = Load(source, (store.offset,))
    return replace(store, value=Binary(BinaryFn.ADD, store.value, load, store.value.dtype))


def test_an_epilogue_reads_no_result() -> None:
    one = planned(lambda x, y: jnp.tanh(x @ y), In("m, k"), In("k, n"))
    group = one.group_of("d_dot")
    kernel, tensors = build_dot(group, one.program.facts, one.producers)
    assert verified((kernel, tensors), group) == (kernel, tensors)
    (store,) = kernel.epilogue
    assert isinstance(store.target, Param)
    wrong = replace(kernel, epilogue=(plus(store, store.target),))
    with pytest.raises(InternalError, match=r"a matrix product group reads %\w+, which the same launch writes"):
        verified((wrong, tensors), group)


def test_a_stage_reads_no_result_of_another() -> None:
    one = planned(softmax, In("b, s"))
    group = one.plan.groups[0]
    kernel, tensors = build_row_kernel(group, one.program.facts, one.producers, SEAMS)
    assert not read_and_written(kernel)
    last = kernel.stages[-1]
    (store,) = last.stores
    assert isinstance(store.target, Param)
    wrong = replace(kernel, stages=(*kernel.stages[:-1], replace(last, stores=(plus(store, store.target),))))
    with pytest.raises(InternalError, match="reads"):
        verified((wrong, tensors), group)


def swept() -> tuple[ScatterKernel, Group]:
    def function(x: Any, at: Any, y: Any) -> Any:
        return jnp.tanh(x.at[at].add(y)) * 2

    one = planned(function, In("s, t"), In("n", "int32"), In("n, t"))
    group = one.group_of("d_scatter")
    return build_scatter(group, one.program.facts, one.producers)[0], group


def test_a_sweep_reads_the_element_that_it_overwrites_and_no_other() -> None:
    kernel, _ = swept()
    assert kernel.sweep is not None
    assert not read_and_written(kernel)
    (store,) = kernel.sweep.stores
    assert isinstance(store.target, Param)
    shifted = replace(store, offset=store.offset + 1)
    assert read_and_written(replace(kernel, sweep=replace(kernel.sweep, stores=(shifted,)))) == (store.target,)
    twice = (store, plus(store, store.target))
    assert read_and_written(replace(kernel, sweep=replace(kernel.sweep, stores=twice))) == (store.target,)


def test_an_update_reads_no_result() -> None:
    kernel, _ = swept()
    (target,) = kernel.targets
    assert isinstance(target.target, Param)
    assert read_and_written(replace(kernel, targets=(plus(target, target.target),))) == (target.target,)


def core(q: jax.Array, k: jax.Array, v: jax.Array) -> jax.Array:
    return jax.nn.softmax(q @ k.T * 0.25, -1) @ v


def gradients() -> tuple[Any, Group]:
    """Of attention whose queries are keys and values: all gradients are added."""
    one = planned(jax.grad(lambda x: (core(x, x, x) ** 2).sum()), In("s, 16"))
    context = context_of(one.program, CpuLowering.abilities)
    plan = merge_backward(one.plan, one.program.body, context)
    (group,) = (g for g in plan.groups if g.kind is GroupKind.ATTENTION_BACKWARD)
    return build_backward(group, one.program.facts, one.producers)[0], group


def test_gradients_are_added_by_another_launch() -> None:
    kernel, group = gradients()
    assert not read_and_written(kernel)
    assert len(group.roots) == 3, "each gradient is stored by itself"
    (first, second, *rest) = kernel.products
    wrong = replace(kernel, products=(first, _reading(second, first), *rest))
    (store,) = first.epilogue
    assert read_and_written(wrong) == (store.target,)


def _reading(one: BackwardProduct, other: BackwardProduct) -> BackwardProduct:
    (store,), (target,) = one.epilogue, other.epilogue
    assert isinstance(target.target, Param)
    return replace(one, epilogue=(plus(store, target.target),))


def test_a_right_operand_may_be_no_result() -> None:
    kernel, _ = gradients()
    first, *rest = kernel.products
    (store,) = first.epilogue
    assert isinstance(store.target, Param)
    right = replace(first.right, source=store.target, offset=first.right.offset + of(kernel.row.symbol))
    assert read_and_written(replace(kernel, products=(replace(first, right=right), *rest))) == (store.target,)


def test_every_variable_has_a_name_of_its_own() -> None:
    one = planned(softmax, In("b, s"))
    group = one.plan.groups[0]
    kernel, tensors = build_row_kernel(group, one.program.facts, one.producers, SEAMS)
    assert not shared_names(kernel)
    row = kernel.stages[0].axes[-1]
    (param, *others) = kernel.params
    for name in (param.name, "e0"):
        fold = Fold(((Sym(f"%{name}"), row.extent),), (Arg("acc", DType.F32),), (ZERO,), (ZERO,))
        inside = replace(kernel.stages[-1].stores[0], value=FoldResult(fold, 0))
        axis = replace(row, symbol=Sym("%e0"))
        stages = (*kernel.stages, replace(kernel.stages[-1], axes=(axis,), stores=(inside,)))
        wrong = replace(kernel, stages=stages, params=(param, *others))
        with pytest.raises(InternalError, match=f"several variables named {name} "):
            verified((wrong, tensors), group)
