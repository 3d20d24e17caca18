"""The primitive of JAX that stands for a call of a compiled program inside of JAX's transformations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from shlo_disc.jit.derived_at_sizes import batched, linearized, transposed
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.program import TracedProgram
from shlo_disc.runtime.xla.primitive import call_in_trace, result_types, vary_alike


def call(program: TracedProgram, arrays: Sequence[Any]) -> list[Any]:
    """Call a program on arrays, of which some may be traced. The call must fit the program."""
    return _primitive().bind(*vary_alike(arrays), program=program)


def _call_derived(program: TracedProgram, arrays: Sequence[Any], origin: TracedProgram, given: Sequence[Any]) -> Any:
    """Call a program that is derived from `origin`, in a call of that with the arrays `given`."""
    if not program.carried:
        return call(program, arrays)
    jax = jax_module()

    values = {one.name: size for one, size in origin.sizes(_shapes(given)).items()}
    carrier = jax.numpy.zeros((*[values[name] for name in program.carried], 0), bool)
    return call(program, [*arrays, carrier])


@lru_cache(maxsize=1)
def _primitive() -> Any:
    jex = jax_module("jax.extend.core")
    ad, batching, mlir = (jax_module(f"jax.interpreters.{name}") for name in ("ad", "batching", "mlir"))

    primitive = jex.Primitive("shlo_disc_jit")
    primitive.multiple_results = True
    primitive.def_impl(_run)
    primitive.def_abstract_eval(_result_avals)
    ad.primitive_jvps[primitive] = _jvp
    ad.primitive_transposes[primitive] = _transpose
    batching.primitive_batchers[primitive] = _batch
    mlir.register_lowering(primitive, mlir.lower_fun(_lowered, multiple_results=True))
    return primitive


def _run(*arrays: Any, program: TracedProgram) -> list[Any]:
    return program.run(arrays)


def _lowered(*arrays: Any, program: TracedProgram) -> list[Any]:
    runnable, further = program.served_by
    return call_in_trace(runnable, [*arrays, *further])


def _result_avals(*avals: Any, program: TracedProgram) -> list[Any]:
    return result_types(program.result_types([one.shape for one in avals]), avals)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, program: TracedProgram) -> tuple[list[Any], list[Any]]:
    """Two calls: the forward pass with residuals, and the derivative, which is linear in the tangents."""
    jax = jax_module()
    ad = jax_module("jax.interpreters.ad")

    def is_zero(tangent: Any) -> bool:
        return type(tangent) is ad.Zero or jax.typeof(tangent).dtype == jax.dtypes.float0

    mask = tuple([not is_zero(one) for one in tangents])
    parts = linearized(program, mask, _shapes(primals))
    count = len(program.trace.results)
    found = _call_derived(parts.forward, primals, program, primals)
    results, more = found[:count], found[count:]
    residuals = [primals[k] if is_argument else more[k] for is_argument, k in parts.residuals]
    varied = [one for one, used in zip(tangents, mask, strict=True) if used]
    moved: list[Any] = _call_derived(parts.linear, [*residuals, *varied], program, primals) if parts.results else []
    place = {number: k for k, number in enumerate(parts.results)}
    return results, [
        moved[place[k]] if k in place else ad.Zero(jax.typeof(one).to_tangent_aval()) for k, one in enumerate(results)
    ]


def _transpose(cotangents: Sequence[Any], *arrays: Any, program: TracedProgram) -> list[Any]:
    ad = jax_module("jax.interpreters.ad")

    linear = tuple([ad.is_undefined_primal(one) for one in arrays])
    given = tuple([type(one) is not ad.Zero for one in cotangents])
    constants = [one for one, is_linear in zip(arrays, linear, strict=True) if not is_linear]
    received = [one for one, is_given in zip(cotangents, given, strict=True) if is_given]
    avals = [one.aval if is_linear else one for one, is_linear in zip(arrays, linear, strict=True)]
    derived = transposed(program, linear, given, _shapes(avals))
    found = iter(_call_derived(derived, [*constants, *received], program, avals))
    return [next(found) if is_linear else None for is_linear in linear]


def _batch(arrays: Sequence[Any], axes: Sequence[Any], *, program: TracedProgram) -> tuple[list[Any], list[int]]:
    jax = jax_module()

    mask = tuple([axis is not None for axis in axes])
    moved = [
        x if axis is None or axis == 0 else jax.numpy.moveaxis(x, axis, 0) for x, axis in zip(arrays, axes, strict=True)
    ]
    shapes = [shape[1:] if is_batched else shape for shape, is_batched in zip(_shapes(moved), mask, strict=True)]
    size = next(x.shape[0] for x, is_batched in zip(moved, mask, strict=True) if is_batched)
    found = call(batched(program, mask, size, shapes), moved)  # the batched arguments have all sizes of the others
    return found, [0] * len(found)


def _shapes(arrays: Sequence[Any]) -> list[tuple[int, ...]]:
    return [tuple(getattr(one, "shape", ())) for one in arrays]
