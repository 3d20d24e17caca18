"""The calls of a variant find what they read: those in a wrong order are refused."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import jax.numpy as jnp
import pytest

from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.host_ir import Fill, GridLaunch, Variant
from shlo_disc.kernels.scatter import build_scatter
from shlo_disc.kernels.stages import build_row_kernel
from shlo_disc.lower_cuda.call_order import check_calls
from shlo_disc.lower_cuda.printed import Printed
from shlo_disc.lower_cuda.rows.schedules import SEAMS, print_rows
from shlo_disc.lower_cuda.scatter import print_scatter
from tests.pipeline.exports import In
from tests.pipeline.programs import planned

pytestmark = pytest.mark.quick

Tensors = Sequence[Tensor]


def rows(function: Callable[..., Any], *inputs: In) -> tuple[Printed, Tensors, Tensors]:
    """A printed row kernel, its tensors and its results."""
    one = planned(function, *inputs)
    (group,) = one.plan.groups
    kernel, tensors = build_row_kernel(group, one.program.facts, one.producers, SEAMS)
    return print_rows(kernel, one.program.facts), tensors, group.roots


def of_several_calls(printed: Printed) -> Variant[Dim]:
    return next(variant for variant in printed.variants if len(variant.commands) > 1)


def test_parts_are_joined_after_they_are_there() -> None:
    printed, *tensors = rows(lambda x: x.sum(0), In("a, b"))
    check_calls(printed, *tensors)
    variant = of_several_calls(printed)
    for calls in (variant.commands[::-1], variant.commands[1:]):
        with pytest.raises(InternalError, match=f"call 0 of {len(calls)} .* which no call has filled yet"):
            check_calls(replace(printed, variants=(replace(variant, commands=calls),)), *tensors)


def test_every_variant_fills_the_results() -> None:
    printed, *tensors = rows(lambda x: x.sum(0), In("a, b"))
    variant = of_several_calls(printed)
    with pytest.raises(InternalError, match="does not fill"):
        check_calls(replace(printed, variants=(replace(variant, commands=variant.commands[:-1]),)), *tensors)


def test_what_may_be_one_memory_is_not_said_to_be_apart() -> None:
    printed, *tensors = rows(lambda x, y: jnp.tanh(x) + y, In("a, b"), In("a, b"))
    check_calls(printed, *tensors)
    assert printed.in_place
    name = f"p{printed.in_place[0][0]}"
    wrong = printed.text.replace(f"* const {name}", f"* __restrict__ const {name}")
    assert wrong != printed.text
    with pytest.raises(InternalError, match="are apart, which may be one memory"):
        check_calls(replace(printed, text=wrong), *tensors)


def test_an_operand_is_read_before_it_is_overwritten() -> None:
    printed, *tensors = rows(lambda x, y: jnp.tanh(x) + y, In("a, b"), In("a, b"))
    variant, (_, written) = printed.variants[0], printed.in_place[0]
    wrong = replace(variant, commands=(Fill(written, 0), *variant.commands))
    with pytest.raises(InternalError, match="after it was overwritten"):
        check_calls(replace(printed, variants=(wrong,)), *tensors)


def test_a_kernel_gets_as_many_buffers_as_it_takes() -> None:
    printed, *tensors = rows(lambda x: x + 1, In("a"))
    variant = printed.variants[0]
    (call,) = variant.commands
    assert isinstance(call, GridLaunch)
    wrong = replace(variant, commands=(replace(call, buffers=call.buffers[:-1]),))
    with pytest.raises(InternalError, match="takes 2 buffers, found 1"):
        check_calls(replace(printed, variants=(wrong,)), *tensors)


def test_a_scatter_begins_with_its_operand() -> None:
    one = planned(lambda x, at, y: x.at[at].add(y), In("s, t"), In("n", "int32"), In("n, t"))
    group = one.group_of("d_scatter")
    kernel, tensors = build_scatter(group, one.program.facts, one.producers)
    printed = print_scatter(kernel, one.program.facts)
    check_calls(printed, tensors, group.roots)
    variant = of_several_calls(printed)
    turned = replace(variant, commands=variant.commands[::-1])
    with pytest.raises(InternalError):
        check_calls(replace(printed, variants=(turned,)), tensors, group.roots)
