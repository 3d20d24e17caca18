"""What `jax.export` writes into a module beside the function: an argument for the platform, demands of sizes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from shlo_disc.ir.attributes import DenseAttr, FunctionType, StringAttr, TensorType
from shlo_disc.ir.core import Block, Function, Module, Op
from shlo_disc.ir.dtypes import DType


def bind_platform(module: Module, platform: int) -> Module:
    """Make the platform a constant, if @main takes it as an argument: the branches for others are never read."""
    main = module.functions.get("main")
    index = None if main is None else _platform_argument(main)
    if main is None or index is None:
        return module
    value = main.body.arguments[index]
    data = platform.to_bytes(4, "little")
    literal = DenseAttr(TensorType((), DType.I32), data, splat=True, spelling=str(platform))
    constant = Op("stablehlo.constant", (), {"value": literal}, (value,), (), value.span)
    bound = replace(
        main,
        type=FunctionType(_without(main.type.inputs, index), main.type.results),
        body=Block(_without(main.body.arguments, index), (constant, *main.body.ops)),
        argument_attributes=_without(main.argument_attributes, index),
    )
    return module.with_function(bound)


_AT_LEAST_ONE = "Expected value >= 1 for dimension variable"  # JAX's message


def allow_empty(module: Module) -> Module:
    """Remove JAX's demands that sizes be at least 1. Its constraints and all other demands stay."""
    main = module.functions.get("main")
    if main is None:
        return module
    ops = tuple([op for op in main.body.ops if not _demands_one(op)])
    return module.with_function(replace(main, body=replace(main.body, ops=ops)))


def _demands_one(op: Op) -> bool:
    if op.attributes.get("call_target_name") != StringAttr("shape_assertion"):
        return False
    message = op.attributes.get("error_message")
    return isinstance(message, StringAttr) and _AT_LEAST_ONE in message.value


def _platform_argument(main: Function) -> int | None:
    for number, attributes in enumerate(main.argument_attributes):
        if attributes.get("jax.global_constant") == StringAttr("_platform_index"):
            return number
    return None


def _without(items: tuple[Any, ...], index: int) -> tuple[Any, ...]:
    return items[:index] + items[index + 1 :]
