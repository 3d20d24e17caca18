"""What XLA makes of a StableHLO text with `?` dims, for arrays of any one shape.

The text is specialised as `jax.export` does it when an exported function is called: a `@main` of
static types converts its arguments and calls the dynamic one, then XLA's shape refinement turns
every `?` into a number. So the result is that of `jax.jit` on the exported function.
"""

# jaxlib's MLIR bindings are untyped; this file is where the tests reach them.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax._src.interpreters import mlir
from jaxlib import xla_client
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import func, stablehlo
from numpy.typing import NDArray

Array = NDArray[Any]


def _call_statically(module: ir.Module, shapes: Sequence[tuple[int, ...]]) -> None:
    """Give `module` a `@main` that takes arrays of `shapes` and calls what was `@main`."""
    functions = (op for op in module.body.operations if isinstance(op, func.FuncOp))
    (main,) = (function for function in functions if function.name.value == "main")
    main.attributes["sym_name"] = ir.StringAttr.get("dynamic_main")
    main.attributes["sym_visibility"] = ir.StringAttr.get("private")
    dynamic = main.type.inputs
    static = [
        ir.RankedTensorType.get(shape, ir.RankedTensorType(type).element_type)
        for shape, type in zip(shapes, dynamic, strict=True)  # noqa: A001 - MLIR's word
    ]
    with ir.InsertionPoint(module.body):
        entry = func.FuncOp("main", (static, main.type.results), visibility="public")
        with ir.InsertionPoint(entry.add_entry_block()):
            arguments = [
                argument if argument.type == wanted else stablehlo.convert(wanted, argument)
                for argument, wanted in zip(entry.arguments, dynamic, strict=True)
            ]
            callee = ir.FlatSymbolRefAttr.get("dynamic_main")
            func.ReturnOp(func.CallOp(main.type.results, callee, arguments).results)


def xla_executable(text: str, shapes: Sequence[tuple[int, ...]], device: Any) -> Any:
    """`@main` of a StableHLO text, compiled by XLA for these shapes; `execute` takes arrays on `device`."""
    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _call_statically(module, shapes)
        module = mlir.refine_polymorphic_shapes(module)
        return device.client.compile_and_load(
            mlir.module_to_bytecode(module),
            xla_client.DeviceList((device,)),
            xla_client.CompileOptions(),
        )


def xla_reference(text: str, inputs: Sequence[Array]) -> list[Array]:
    """Run `@main` of a StableHLO text by XLA on the CPU, compiled for the shapes of `inputs`."""
    with jax.enable_x64(True):
        device = jax.devices("cpu")[0]
        executable = xla_executable(text, [array.shape for array in inputs], device)
        outputs = executable.execute([jax.device_put(array, device) for array in inputs])
        return [np.asarray(output) for output in outputs]
