"""A traced function that is compiled when it is first run, and the functions that are derived from it.

Derivatives and batches are traced at the same symbolic sizes, so each of them is compiled once for all sizes, too:

- `linearized`: the function with its residuals, and the linear function of tangents and residuals (jax.linearize);
- `transposed`: the transpose of a linear function (jax.linear_transpose), which the backward pass runs;
- `batched`: the function over one more leading axis, whose size is one more symbol (jax.vmap).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from typing import Any, TypeAlias

import numpy as np

from shlo_disc.diagnostics import InternalError
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.tracing import Trace, retraced, sizes_in_scope
from shlo_disc.runtime.interop import to_jax
from shlo_disc.runtime.partitions import Runnable

Mask: TypeAlias = "tuple[bool, ...]"
Compile: TypeAlias = "Callable[[TracedProgram], Runnable]"


@dataclass(frozen=True)
class Linearized:
    """A function with its residuals, and its derivative.

    `forward` returns the results and the residuals that are not arguments of the function. `residuals` are all of them,
    in the order of `linear`: a number of an argument, or of an additional result (from 0 on). `linear` takes residuals
    and tangents, and returns tangents of the results whose numbers are `results`.
    """

    forward: TracedProgram
    linear: TracedProgram
    residuals: tuple[tuple[bool, int], ...]
    results: tuple[int, ...]


class TracedProgram:
    """A function of flat arrays at symbolic sizes. Compared by identity: it is a parameter of JAX's equations."""

    def __init__(self, name: str, trace: Trace, compile_: Compile, carried: tuple[str, ...] = ()) -> None:
        """`carried`: sizes that the other arguments do not give; those of one more, last argument without elements."""
        self.name = name
        self.trace = trace
        self.carried = carried
        self.is_original = True  # not derived from another program
        self._compile = compile_
        self._lock = threading.RLock()
        self._derived = dict[object, Any]()

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def runnable(self) -> Runnable:
        """The compiled program."""
        with self._lock:
            if (found := self.__dict__.get("runnable")) is not None:
                return found
            return self._compile(self)

    @property
    def is_compiled(self) -> bool:
        """Whether it was run."""
        return "runnable" in self.__dict__

    def sizes(self, shapes: Sequence[Sequence[int]]) -> Sizes:
        """The values of its symbols in a call. The call must fit."""
        found = self.trace.abstraction.solve(tuple(map(tuple, shapes)))
        if found is None:
            raise InternalError(
                f"a call of {self.name} with shapes {list(shapes)} does not fit {self.trace.abstraction}"
            )
        return found

    def result_types(self, shapes: Sequence[Sequence[int]]) -> list[tuple[tuple[int, ...], Any, bool]]:
        """Shapes, dtypes and weak types of the results of a call."""
        return self.trace.result_types(self.sizes(shapes))

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the compiled program. Returns arrays of JAX, with the weak types that the function's results have."""
        kind = jax_module().Array
        found = self.runnable.mirror(arrays)
        weak = [bool(aval.weak_type) for aval in self.trace.jaxpr.out_avals]
        return [
            x if isinstance(x, kind) and not is_weak else to_jax([np.asarray(x)], weak=is_weak)[0]
            for x, is_weak in zip(found, weak, strict=True)
        ]

    def linearized(self, mask: Mask) -> Linearized:
        """The derivative with respect to the arguments that are set in `mask`."""
        return self._once(("linearized", mask), lambda: self._linearize(mask))

    def transposed(self, linear: Mask, cotangents: Mask) -> TracedProgram:
        """The transpose with respect to the arguments `linear`, given the cotangents of the results `cotangents`.

        It takes the other arguments, then these cotangents, and returns the cotangents of the linear arguments.
        """
        return self._once(("transposed", linear, cotangents), lambda: self._transpose(linear, cotangents))

    def batched(self, mask: Mask) -> TracedProgram:
        """The function over a leading axis of the arguments that are set in `mask`, and of all results."""
        return self._once(("batched", mask), lambda: self._batch(mask))

    def flat(self, *arrays: Any) -> list[Any]:
        """The function on tracers with this program's own symbolic sizes."""
        jex = jax_module("jax.extend.core")

        return jex.jaxpr_as_fun(self.trace.jaxpr)(*arrays)

    def _once(self, key: object, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]

    def _derive(self, name: str, flat: Callable[..., list[Any]], specs: Sequence[Any], names: Sequence[str]) -> Any:
        name = f"{name} of {self.name}"
        found = retraced(flat, specs, names)
        missing = found.abstraction.undefined
        missing += tuple([one for one in names if one not in found.abstraction.names])
        if missing:
            jax = jax_module()

            carrier = jax.ShapeDtypeStruct((*sizes_in_scope(self.trace.specs, missing), 0), bool)
            found = retraced(lambda *arrays: flat(*arrays[:-1]), [*specs, carrier], names)
        program = TracedProgram(name, found, self._compile, missing)
        program.is_original = False
        return program

    def _linearize(self, mask: Mask) -> Linearized:
        jax = jax_module()

        specs, names = self.trace.specs, self.trace.abstraction.names
        structure = list[Any]()
        exact = [jax.numpy.issubdtype(aval.dtype, jax.numpy.inexact) for aval in self.trace.jaxpr.out_avals]
        reached = _depending(self.trace.jaxpr.jaxpr, mask)
        results = tuple([k for k, one in enumerate(exact) if one and reached[k]])

        def with_residuals(*arrays: Any) -> list[Any]:
            varied = [x for x, one in zip(arrays, mask, strict=True) if one]

            def of_varied(*given: Any) -> list[Any]:
                rest = iter(given)
                return self.flat(*[next(rest) if one else x for x, one in zip(arrays, mask, strict=True)])

            found, derivative = jax.linearize(of_varied, *varied)
            residuals, tree = jax.tree_util.tree_flatten(derivative)
            structure[:] = [tree]
            return [*found, *residuals]

        whole = retraced(with_residuals, specs, names)
        (tree,) = structure
        count = len(self.trace.results)
        kept, sources = _sources(whole.jaxpr, count)

        def forward(*arrays: Any) -> list[Any]:
            jex = jax_module("jax.extend.core")

            found = jex.jaxpr_as_fun(whole.jaxpr)(*arrays)
            return [*found[:count], *[found[count + k] for k in kept]]

        def linear(*arrays: Any) -> list[Any]:
            derivative = jax.tree_util.tree_unflatten(tree, arrays[: len(sources)])
            found = derivative(*arrays[len(sources) :])
            return [found[k] for k in results]

        residual_specs = [_spec_of(aval) for aval in whole.jaxpr.out_avals[count:]]
        tangent_specs = [_spec_of(one) for one, is_varied in zip(specs, mask, strict=True) if is_varied]
        return Linearized(
            forward=self._derive("forward pass", forward, specs, names),
            linear=self._derive("derivative", linear, [*residual_specs, *tangent_specs], names),
            residuals=sources,
            results=results,
        )

    def _transpose(self, linear: Mask, cotangents: Mask) -> TracedProgram:
        jax = jax_module()

        specs, names = self.trace.specs, self.trace.abstraction.names
        constant = [one for one, is_linear in zip(specs, linear, strict=True) if not is_linear]
        varied = [one for one, is_linear in zip(specs, linear, strict=True) if is_linear]
        given = [_spec_of(aval) for aval, one in zip(self.trace.jaxpr.out_avals, cotangents, strict=True) if one]

        def transpose(*arrays: Any) -> list[Any]:
            constants, received = arrays[: len(constant)], arrays[len(constant) :]

            def of_varied(*tangents: Any) -> list[Any]:
                rest, others = iter(tangents), iter(constants)
                found = self.flat(*[next(rest) if one else next(others) for one in linear])
                return [x for x, one in zip(found, cotangents, strict=True) if one]

            return list(jax.linear_transpose(of_varied, *varied)(list(received)))

        return self._derive("transpose", transpose, [*constant, *given], names)

    def _batch(self, mask: Mask) -> TracedProgram:
        jax = jax_module()

        specs, names = self.trace.specs, self.trace.abstraction.names
        name = next(one for one in (f"batch_{k}" for k in range(len(names) + 1)) if one not in names)
        (size,) = sizes_in_scope(specs, [name])
        batched = [
            jax.ShapeDtypeStruct((size, *one.shape), one.dtype, weak_type=one.weak_type) if is_batched else one
            for one, is_batched in zip(specs, mask, strict=True)
        ]
        axes = tuple([0 if one else None for one in mask])
        return self._derive("batch", jax.vmap(self.flat, in_axes=axes), batched, [*names, name])


def _spec_of(aval: Any) -> Any:
    jax = jax_module()

    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def _depending(jaxpr: Any, mask: Mask) -> list[bool]:
    """Which results depend on the arguments that are set in `mask`: the others have no tangents."""
    reached = set[Any](compress(jaxpr.invars, mask))
    for equation in jaxpr.eqns:
        if not reached.isdisjoint([one for one in equation.invars if not hasattr(one, "val")]):
            reached.update(equation.outvars)
    return [not hasattr(one, "val") and one in reached for one in jaxpr.outvars]


def _sources(jaxpr: Any, count: int) -> tuple[tuple[int, ...], tuple[tuple[bool, int], ...]]:
    """Where residuals come from, which are the results after the first `count`.

    Returns the numbers of those that have to be returned, and for each one whether it is an argument, and which
    argument or which of those that are returned.
    """
    arguments = {one: k for k, one in enumerate(jaxpr.jaxpr.invars)}
    kept, sources, places = list[int](), list[tuple[bool, int]](), dict[Any, int]()
    for number, one in enumerate(jaxpr.jaxpr.outvars[count:]):
        is_variable = not hasattr(one, "val")  # a literal has one, and is not hashable
        if is_variable and one in arguments:
            sources.append((True, arguments[one]))
            continue
        if is_variable and one in places:
            sources.append((False, places[one]))
            continue
        if is_variable:
            places[one] = len(kept)
        sources.append((False, len(kept)))
        kept.append(number)
    return tuple(kept), tuple(sources)
