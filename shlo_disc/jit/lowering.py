"""Lower functions with what JAX does not lower, or lowers to much more work.

While this package lowers a function, a Fourier transform whose lengths are symbolic becomes a custom call that has the
lengths as its second operand, a collective (`psum`, `pmax`, `pmin`) at symbolic sizes over an axis that `vmap` names is
a reduction, and `ragged_dot` becomes its op: for a CPU, JAX would write a product of all rows with the matrices of all
groups.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import lru_cache, partial
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
    """Extend JAX's rules where this package traces; JAX has no public way to do so."""
    mlir = jax_module("jax._src.interpreters.mlir")
    lax, collectives = jax_module("jax.lax"), jax_module("jax._src.lax.parallel")
    primitives: dict[Any, Callable[[_Rule], _Rule]] = {
        jax_module("jax._src.lax.fft").fft_p: _of_transform,
        jax_module("jax._src.lax.lax").ragged_dot_general_p: _of_ragged_dot,
        collectives.psum_p: partial(_of_collective, lax.reduce_sum),
        collectives.pmax_p: partial(_of_collective, lax.reduce_max),
        collectives.pmin_p: partial(_of_collective, lax.reduce_min),
    }
    for primitive, extended in primitives.items():
        common = mlir._lowerings[primitive].rule  # noqa: SLF001
        for platform in (None, *{target_named(name).platform for name in target_names()}):
            specific = mlir._platform_specific_lowerings.get(platform, {}).get(primitive)  # noqa: SLF001
            mlir.register_lowering(primitive, extended(specific.rule if specific else common), platform=platform)


def _of_ragged_dot(original: _Rule) -> _Rule:
    """Lower a `ragged_dot` to its op, unless it names an algorithm."""
    lax, chlo = jax_module("jax._src.lax.lax"), jax_module("jaxlib.mlir.dialects.chlo")

    def lower(ctx: Any, *operands: Any, **parameters: Any) -> Any:
        precision, numbers = parameters["precision"], parameters["ragged_dot_dimension_numbers"]
        is_algorithm = isinstance(precision, lax.DotAlgorithm | lax.DotAlgorithmPreset)
        if is_algorithm or parameters.get("group_offset") is not None or not is_tracing():
            return original(ctx, *operands, **parameters)
        contracting, batching = numbers.dot_dimension_numbers
        dims = chlo.RaggedDotDimensionNumbers.get(
            lhs_batching_dimensions=list(batching[0]),
            rhs_batching_dimensions=list(batching[1]),
            lhs_contracting_dimensions=list(contracting[0]),
            rhs_contracting_dimensions=list(contracting[1]),
            lhs_ragged_dimensions=list(numbers.lhs_ragged_dimensions),
            rhs_group_dimensions=list(numbers.rhs_group_dimensions),
        )
        mlir = jax_module("jax._src.interpreters.mlir")
        result = mlir.aval_to_ir_type(ctx.module_context, *ctx.avals_out)
        return [chlo.ragged_dot(result, *operands, dims, precision_config=lax.chlo_precision_attr(precision))]

    return lower


def _of_collective(reduction: Callable[..., Any], original: _Rule) -> _Rule:
    """The rule, with symbolic shapes where all axes are numbers: those over which `vmap` maps."""
    core = jax_module("jax._src.core")

    def lower(ctx: Any, x: Any, *, axes: Sequence[Any], axis_index_groups: Any) -> Any:
        is_mapped = all(isinstance(axis, int) for axis in axes)
        if not is_mapped or core.is_constant_shape(ctx.avals_in[0].shape) or not is_tracing():
            return original(ctx, x, axes=axes, axis_index_groups=axis_index_groups)
        mlir = jax_module("jax._src.interpreters.mlir")
        return mlir.lower_fun(reduction, multiple_results=False)(ctx, x, axes=tuple(axes))

    return lower


def _of_transform(original: _Rule) -> _Rule:
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
