"""Programs that are derived from a traced one, at its own symbolic sizes.

- `derivative_of`: the function with its residuals, and the linear function of tangents and residuals (jax.linearize);
- `transpose_of`: the transpose of a linear function (jax.linear_transpose), which the backward pass runs;
- `batch_of`: the function over one more leading axis, whose size may be one more symbol (jax.vmap).

Each is made once. Rules of derivatives may read sizes in Python, as functions do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.program import Derivation, TracedProgram
from shlo_disc.jit.residuals import depending_on, sources_of, spec_of
from shlo_disc.jit.tracing import retraced, sizes_in_scope

Mask: TypeAlias = "tuple[bool, ...]"


@dataclass(frozen=True)
class Linearized:
    """A function with its residuals, and its derivative.

    `forward` returns the results and the residuals that are not arguments of the function. `residuals` are all of them,
    in the order of `linear`: a number of an argument, or of an additional result (from 0 on). `linear` takes residuals
    and tangents, and returns tangents of the results whose numbers are `results`. `transpose` is that of `linear` in
    reverse mode; None if it has none.
    """

    forward: TracedProgram
    linear: TracedProgram
    residuals: tuple[tuple[bool, int], ...]
    results: tuple[int, ...]
    transpose: TracedProgram | None


def derivative_of(program: TracedProgram, mask: Mask) -> Linearized:
    """The derivative with respect to the arguments that are set in `mask`."""
    return program.derived.once(("linearized", mask), lambda: _linearize(program, mask))


def transpose_of(program: TracedProgram, linear: Mask, cotangents: Mask) -> TracedProgram:
    """The transpose with respect to the arguments `linear`, given the cotangents of the results `cotangents`.

    It takes the other arguments, then these cotangents, and returns the cotangents of the linear arguments.
    """
    key = ("transposed", linear, cotangents)
    return program.derived.once(key, lambda: _transpose(program, linear, cotangents))


def transpose_of_all(program: TracedProgram, linear: Mask) -> TracedProgram | None:
    """The transpose of a linear function, given all cotangents; None if JAX cannot transpose it."""
    linear = (*linear, *[False] * len(program.trace.specs[len(linear) :]))
    key = ("transposed", linear, (True,) * len(program.trace.results))
    found = program.derived.attempt(key, lambda: _transpose(program, *key[1:]))
    return None if isinstance(found, Exception) else found


def batch_of(program: TracedProgram, mask: Mask, size: int | str) -> TracedProgram:
    """The function over a leading axis of the arguments that are set in `mask`, and of all results.

    `size` is that of the axis: a number, or the name of one more symbol.
    """
    return program.derived.once(("batched", mask, size), lambda: _batch(program, mask, size))


def batch_name(program: TracedProgram) -> str:
    """A name for the size of one more axis."""
    names = program.trace.abstraction.names if program.origin is None else program.origin.names
    return next(one for one in (f"batch_{k}" for k in range(len(names) + 1)) if one not in names)


def _linearize(program: TracedProgram, mask: Mask) -> Linearized:
    jax = jax_module()

    specs, names = program.trace.specs, program.trace.abstraction.names
    structure = list[Any]()
    exact = [jax.numpy.issubdtype(aval.dtype, jax.numpy.inexact) for aval in program.trace.jaxpr.out_avals]
    reached = depending_on(program.trace.jaxpr.jaxpr, mask)
    results = tuple([k for k, one in enumerate(exact) if one and reached[k]])

    def with_residuals(*arrays: Any) -> list[Any]:
        varied = [x for x, one in zip(arrays, mask, strict=True) if one]

        def of_varied(*given: Any) -> list[Any]:
            rest = iter(given)
            return program.flat(*[next(rest) if one else x for x, one in zip(arrays, mask, strict=True)])

        found, derivative = jax.linearize(of_varied, *varied)
        residuals, tree = jax.tree_util.tree_flatten(derivative)
        structure[:] = [tree]
        return [*found, *residuals]

    whole = retraced(with_residuals, specs, names)
    (tree,) = structure
    count = len(program.trace.results)
    kept, sources = sources_of(whole.jaxpr, count)

    def forward(*arrays: Any) -> list[Any]:
        jex = jax_module("jax.extend.core")

        found = jex.jaxpr_as_fun(whole.jaxpr)(*arrays)
        return [*found[:count], *[found[count + k] for k in kept]]

    def linear(*arrays: Any) -> list[Any]:
        derivative = jax.tree_util.tree_unflatten(tree, arrays[: len(sources)])
        found = derivative(*arrays[len(sources) :])
        return [found[k] for k in results]

    residual_specs = [spec_of(aval) for aval in whole.jaxpr.out_avals[count:]]
    tangent_specs = [spec_of(one) for one, is_varied in zip(specs, mask, strict=True) if is_varied]
    name, all_specs = f"derivative of {program.name}", [*residual_specs, *tangent_specs]
    as_linear = Derivation(("linear", mask), lambda one, _: derivative_of(one, mask).linear)
    derivative = program.derive(name, linear, all_specs, names, as_linear)
    is_linear = tuple([k >= len(residual_specs) for k in range(len(all_specs))])
    return Linearized(
        forward=program.derive(
            f"forward pass of {program.name}",
            forward,
            specs,
            names,
            Derivation(("forward", mask), lambda one, _: derivative_of(one, mask).forward),
            whole.assumptions,
        ),
        linear=derivative,
        residuals=sources,
        results=results,
        transpose=transpose_of_all(derivative, is_linear),
    )


def _transpose(program: TracedProgram, linear: Mask, cotangents: Mask) -> TracedProgram:
    jax = jax_module()

    specs, names = program.trace.specs, program.trace.abstraction.names
    constant = [one for one, is_linear in zip(specs, linear, strict=True) if not is_linear]
    varied = [one for one, is_linear in zip(specs, linear, strict=True) if is_linear]
    given = [spec_of(aval) for aval, one in zip(program.trace.jaxpr.out_avals, cotangents, strict=True) if one]

    def transpose(*arrays: Any) -> list[Any]:
        constants, received = arrays[: len(constant)], arrays[len(constant) :]

        def of_varied(*tangents: Any) -> list[Any]:
            rest, others = iter(tangents), iter(constants)
            found = program.flat(*[next(rest) if one else next(others) for one in linear])
            return [x for x, one in zip(found, cotangents, strict=True) if one]

        return list(jax.linear_transpose(of_varied, *varied)(list(received)))

    return program.derive(
        f"transpose of {program.name}",
        transpose,
        [*constant, *given],
        names,
        Derivation(("transposed", linear, cotangents), lambda one, _: transpose_of(one, linear, cotangents)),
    )


def _batch(program: TracedProgram, mask: Mask, size_or_name: int | str) -> TracedProgram:
    jax = jax_module()

    specs, names = program.trace.specs, program.trace.abstraction.names
    size: Any = size_or_name
    if isinstance(size_or_name, str):
        (size,), names = sizes_in_scope(specs, [size_or_name]), (*names, size_or_name)
        added, length = dict[Symbol, int](), Symbol(size_or_name)
    else:
        length = Symbol(batch_name(program))
        added = {length: size_or_name}
    batched = [
        jax.ShapeDtypeStruct((size, *one.shape), one.dtype, weak_type=one.weak_type) if is_batched else one
        for one, is_batched in zip(specs, mask, strict=True)
    ]
    axes = tuple([0 if one else None for one in mask])
    return program.derive(
        f"batch of {program.name}",
        jax.vmap(program.flat, in_axes=axes),
        batched,
        names,
        Derivation(("batched", mask), lambda one, sizes: batch_of(one, mask, sizes[length]), added),
    )
