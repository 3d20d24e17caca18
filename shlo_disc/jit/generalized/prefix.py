"""A primitive of JAX for what its own cannot say of symbolic sizes: the first elements of an array along each axis.

JAX's `slice` has to prove that the limits are within the array, and knows two sizes to be equal by their form alone.
This one becomes a custom call, whose sizes are compared when a program is called with new ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.legalize.rules_custom_calls import PREFIX


def prefix(array: Any, shape: Sequence[Any], *, is_whole: bool) -> Any:
    """The first elements of an array. `is_whole`: these are all, though JAX may not know it."""
    return _prefix().bind(array, shape=tuple(shape), is_whole=is_whole)


@cache
def _prefix() -> Any:
    core, mlir = jax_module("jax.extend.core"), jax_module("jax.interpreters.mlir")
    primitive = core.Primitive("shlo_disc_prefix")

    def shaped(x: Any, *, shape: Sequence[Any], is_whole: bool) -> Any:
        del is_whole
        return x.update(shape=shape)

    def lower(ctx: Any, x: Any, *, shape: Sequence[Any], is_whole: bool) -> Any:
        call = internal.custom_call(
            PREFIX,
            result_types=[internal.aval_to_ir_type(ctx.module_context, *ctx.avals_out)],
            operands=[x, internal.shape_tensor(ctx.module_context, internal.eval_dynamic_shape(ctx, shape))],
            extra_attributes={"is_whole": internal.ir.BoolAttr.get(is_whole)},
        )
        return call.results

    internal = jax_module("jax._src.interpreters.mlir")
    primitive.def_abstract_eval(shaped)
    mlir.register_lowering(primitive, lower)
    return primitive
