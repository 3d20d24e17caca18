"""Run a StableHLO text with `?` dims by XLA, for arrays of given shapes. Needs JAX.

The text is specialised as `jax.export` does it when an exported function is called: a `@main` of static types converts
its arguments and calls the dynamic one, then XLA's shape refinement turns every `?` into a number. So the result is
that of `jax.jit` on the exported function.
"""

# jaxlib's MLIR bindings are untyped; only XLA's executable leaves this file untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportMissingTypeStubs=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def without_locations(text: str) -> str:
    """The same module without locations in Python sources."""
    from jax._src.interpreters import mlir  # noqa: PLC0415
    from jaxlib.mlir import ir  # noqa: PLC0415

    with mlir.make_ir_context():
        return str(ir.Module.parse(text))


def _call_statically(module: Any, shapes: Sequence[tuple[int, ...]]) -> None:
    """Give `module` a `@main` that takes arrays of `shapes` and calls the former `@main`."""
    from jaxlib.mlir import ir  # noqa: PLC0415
    from jaxlib.mlir.dialects import func, stablehlo  # noqa: PLC0415

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


def refined(text: str, shapes: Sequence[tuple[int, ...]]) -> str:
    """The same module with these shapes of its arguments, and all others that follow from them.

    Raises `ValueError` where XLA's shape refinement does not end with static shapes.
    """
    from jax._src.interpreters import mlir  # noqa: PLC0415
    from jaxlib.mlir import ir  # noqa: PLC0415

    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _call_statically(module, shapes)
        return str(mlir.refine_polymorphic_shapes(module))


def xla_executable(text: str, shapes: Sequence[tuple[int, ...]], device: Any, *, fast: bool = False) -> Any:
    """`@main` of a StableHLO text, compiled by XLA for these shapes; `execute` takes arrays on `device`.

    `fast` compiles with little optimization.
    """
    from jax._src.interpreters import mlir  # noqa: PLC0415
    from jaxlib import xla_client  # noqa: PLC0415
    from jaxlib.mlir import ir  # noqa: PLC0415

    with mlir.make_ir_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        _call_statically(module, shapes)
        module = mlir.refine_polymorphic_shapes(module)
        options = xla_client.CompileOptions()
        if fast:
            build = options.executable_build_options.debug_options
            build.xla_backend_optimization_level = 0
            build.xla_llvm_disable_expensive_passes = True
        return device.client.compile_and_load(
            mlir.module_to_bytecode(module), xla_client.DeviceList((device,)), options
        )


class XlaRunner:
    """`@main` of a StableHLO text, run by XLA on the CPU; compiled once for each shape of its inputs."""

    def __init__(self, text: str, *, fast: bool = False) -> None:
        import jaxlib.lapack  # noqa: PLC0415  # custom calls have no routines before the first request

        jaxlib.lapack.prepare_lapack_call("potrf_ffi", np.float32)
        self._text = text
        self._fast = fast
        self._executables = dict[tuple[tuple[int, ...], ...], Any]()

    def __call__(self, inputs: Sequence[Array]) -> list[Array]:
        """Run on arrays."""
        import jax  # noqa: PLC0415

        shapes = tuple([array.shape for array in inputs])
        with jax.enable_x64(True):
            device = jax.devices("cpu")[0]
            if shapes not in self._executables:
                self._executables[shapes] = xla_executable(self._text, shapes, device, fast=self._fast)
            outputs = self._executables[shapes].execute([jax.device_put(array, device) for array in inputs])
            return [np.asarray(output) for output in outputs]


def xla_reference(text: str, inputs: Sequence[Array]) -> list[Array]:
    """Run `@main` of a StableHLO text by XLA on the CPU, compiled for the shapes of `inputs`."""
    return XlaRunner(text)(inputs)
