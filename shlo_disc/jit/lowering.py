"""Lower functions with what JAX does not lower: Fourier transforms whose lengths are symbolic.

While this package lowers a function, such a transform becomes a custom call that has the lengths as its second operand.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.tracing import is_tracing, tracing
from shlo_disc.legalize.rules_custom_calls import DYNAMIC_FFT, PREFIX
from shlo_disc.target_names import target_names
from shlo_disc.targets import target_named

_Rule = Callable[..., Any]


@contextmanager
def lowering() -> Generator[None]:
    """Trace and lower a function in order to compile it."""
    _extend_rules()
    with tracing():
        yield


def allowed(*targets: str) -> list[Any]:
    """What lets JAX export a function with custom calls of these targets, and of this package's own."""
    check = jax_module("jax.export").DisabledSafetyCheck
    return [check.custom_call(one) for one in (*targets, DYNAMIC_FFT, PREFIX)]


@lru_cache(maxsize=1)
def _extend_rules() -> None:
    """Let JAX lower transforms where this package traces; JAX has no public way to extend a rule."""
    transform = jax_module("jax._src.lax.fft")
    mlir = jax_module("jax._src.interpreters.mlir")
    for platform in (None, *{target_named(name).platform for name in target_names()}):
        specific = mlir._platform_specific_lowerings.get(platform, {}).get(transform.fft_p)  # noqa: SLF001
        rule = transform._fft_lowering if specific is None else specific.rule  # noqa: SLF001
        mlir.register_lowering(transform.fft_p, _extended(rule), platform=platform)


def _extended(original: _Rule) -> _Rule:
    core = jax_module("jax._src.core")

    def lower(ctx: Any, x: Any, *, fft_type: Any, fft_lengths: Sequence[Any]) -> Any:
        if core.is_constant_shape(fft_lengths) or not is_tracing():
            return original(ctx, x, fft_type=fft_type, fft_lengths=fft_lengths)
        mlir = jax_module("jax._src.interpreters.mlir")
        lengths = mlir.shape_tensor(ctx.module_context, mlir.eval_dynamic_shape(ctx, fft_lengths))
        call = mlir.custom_call(
            DYNAMIC_FFT,
            result_types=[mlir.aval_to_ir_type(ctx.module_context, *ctx.avals_out)],
            operands=[x, lengths],
            extra_attributes={"fft_type": mlir.ir.StringAttr.get(fft_type.name)},
        )
        return call.results

    return lower
