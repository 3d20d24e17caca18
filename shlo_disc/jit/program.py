"""A traced function that is compiled when it is first run, and the functions that are derived from it.

Derivatives and batches are traced at the same symbolic sizes, so each of them is compiled once for all sizes, too:

- `linearized`: the function with its residuals, and the linear function of tangents and residuals (jax.linearize);
- `transposed`: the transpose of a linear function (jax.linear_transpose), which the backward pass runs;
- `batched`: the function over one more leading axis, whose size is one more symbol (jax.vmap).

Rules of derivatives may read sizes in Python, as functions do. Where JAX cannot derive at symbolic sizes, or what it
derives is something else at the sizes of a call, that call gets what is derived at these very sizes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import numpy as np

from shlo_disc.diagnostics import InternalError, Source, Span, UnsupportedOpError
from shlo_disc.expr.dim import Dim, const
from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.comparisons import SizeAssumption
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.residuals import depending_on, results_agree, sources_of, spec_of
from shlo_disc.jit.same_trace import same_trace
from shlo_disc.jit.tracing import Trace, retraced, sizes_in_scope
from shlo_disc.runtime.interop import to_jax
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.xla.programs import takes_shapes

Mask: TypeAlias = "tuple[bool, ...]"
Compile: TypeAlias = "Callable[[TracedProgram], Runnable]"
At: TypeAlias = "Callable[[Sizes], TracedProgram]"
Shapes: TypeAlias = "Sequence[Sequence[int]]"
_CHOICES_KEPT = 4096
_Derived = TypeVar("_Derived", "Linearized", "TracedProgram")


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


class TracedProgram:
    """A function of flat arrays at symbolic sizes. Compared by identity: it is a parameter of JAX's equations."""

    def __init__(
        self, name: str, trace: Trace, compile_: Compile, at: At | None = None, carried: tuple[str, ...] = ()
    ) -> None:
        """`at` traces the same function at given values of all symbols; None if there are no symbols.

        `carried`: sizes that the other arguments do not give; those of one more, last argument without elements.
        """
        self.name = name
        self.trace = trace
        self.carried = carried
        self._at = at
        self.is_original = True  # not derived from another program
        self.is_differentiable = True  # at symbolic sizes, and can be batched there
        self._compile = compile_
        self._lock = threading.RLock()
        self._derived = dict[object, Any]()
        self._chosen = dict[object, Any]()  # which derived program serves which sizes

    def __repr__(self) -> str:
        return self.name

    @cached_property
    def runnable(self) -> Runnable:
        """The compiled program."""
        with self._lock:
            if (found := self.__dict__.get("runnable")) is not None:
                return found
            return self._compile(self)

    def sizes(self, shapes: Shapes) -> Sizes:
        """The values of its symbols in a call. The call must fit."""
        found = self.trace.abstraction.solve(tuple(map(tuple, shapes)))
        if found is None:
            raise InternalError(
                f"a call of {self.name} with shapes {list(shapes)} does not fit {self.trace.abstraction}"
            )
        return found

    def result_types(self, shapes: Shapes) -> list[tuple[tuple[int, ...], Any, bool]]:
        """Shapes, dtypes and weak types of the results of a call."""
        return self.trace.result_types(self.sizes(shapes))

    def accepts(self, sizes: Sizes) -> bool:
        """Whether the compiled program takes these sizes: its ops may demand more of them than JAX's trace says."""
        shapes = self.trace.abstraction.shapes
        return takes_shapes(self.runnable, [tuple([dim.evaluate(sizes) for dim in dims]) for dims in shapes])

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the compiled program. Returns arrays of JAX, with the weak types that the function's results have."""
        kind = jax_module().Array
        found = self.runnable.mirror(arrays)
        weak = [bool(aval.weak_type) for aval in self.trace.jaxpr.out_avals]
        return [
            x if isinstance(x, kind) and not is_weak else to_jax([np.asarray(x)], weak=is_weak)[0]
            for x, is_weak in zip(found, weak, strict=True)
        ]

    def at(self, sizes: Sizes) -> TracedProgram:
        """The same function with the same arguments, traced at values of all symbols."""
        if self._at is None:
            return self
        own = {one: sizes[one] for one in self.trace.abstraction.symbols}
        at = self._at
        return self._once(("at", frozenset(own.items())), lambda: self._checked(at(own), own))

    def linearized(self, mask: Mask, shapes: Shapes) -> Linearized:
        """The derivative with respect to the arguments that are set in `mask`, for a call with these shapes."""
        sizes, key = self.sizes(shapes), ("linearized", mask)
        return self._at_sizes(sizes, key, lambda: self._linearize(mask), lambda: self.at(sizes).linearize_once(mask))

    def transposed(self, linear: Mask, cotangents: Mask, shapes: Shapes) -> TracedProgram:
        """The transpose with respect to the arguments `linear`, given the cotangents of the results `cotangents`.

        It takes the other arguments, then these cotangents, and returns the cotangents of the linear arguments.
        """
        sizes, key = self.sizes(shapes), ("transposed", linear, cotangents)
        return self._at_sizes(
            sizes,
            key,
            lambda: self._transpose(linear, cotangents),
            lambda: self.at(sizes).transpose_once(linear, cotangents),
        )

    def batched(self, mask: Mask, size: int, shapes: Shapes) -> TracedProgram:
        """The function over a leading axis of the arguments that are set in `mask`, and of all results.

        `size` is that of the axis; `shapes` are those of a call without the axis.
        """
        sizes = self.sizes(shapes)
        name = self._batch_name
        return self._at_sizes(
            {**sizes, Symbol(name): size},
            ("batched", mask),
            lambda: self._batch(mask, name),
            lambda: self.at(sizes).batch_once(mask, size),
        )

    def linearize_once(self, mask: Mask) -> Linearized:
        """The derivative of a program at fixed sizes."""
        return self._once(("linearized", mask), lambda: self._linearize(mask))

    def transpose_once(self, linear: Mask, cotangents: Mask) -> TracedProgram:
        """The transpose of a program at fixed sizes."""
        return self._once(("transposed", linear, cotangents), lambda: self._transpose(linear, cotangents))

    def batch_once(self, mask: Mask, size: int) -> TracedProgram:
        """The batch of a program at fixed sizes."""
        return self._once(("batched", mask, size), lambda: self._batch(mask, size))

    def flat(self, *arrays: Any) -> list[Any]:
        """The function on tracers with this program's own symbolic sizes."""
        jex = jax_module("jax.extend.core")

        return jex.jaxpr_as_fun(self.trace.jaxpr)(*arrays)

    def _once(self, key: object, make: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._derived:
                self._derived[key] = make()
            return self._derived[key]

    def _at_sizes(
        self, sizes: Sizes, key: object, symbolic: Callable[[], _Derived], fixed: Callable[[], _Derived]
    ) -> _Derived:
        """What is derived at symbolic sizes, if that is right at these sizes; else what is derived at these."""
        if not sizes or not self.is_differentiable:
            return fixed() if sizes else self._once(key, symbolic)
        found: _Derived | Exception = self._once(key, lambda: _attempt(symbolic))
        with self._lock:
            if len(self._chosen) >= _CHOICES_KEPT:
                self._chosen.clear()
            place = key, frozenset(sizes.items())
            if place not in self._chosen:
                self._chosen[place] = self._choose(sizes, key, found, fixed)
            return self._chosen[place]

    def _choose(
        self, sizes: Sizes, key: object, found: _Derived | Exception, fixed: Callable[[], _Derived]
    ) -> _Derived:
        if isinstance(found, Exception):
            return fixed()
        lacks = isinstance(found, Linearized) and found.transpose is None and ("lacks", key) not in self._derived
        programs = _programs(found)
        broken = [one for program in programs for one in program.trace.broken(sizes)]
        if not broken and not lacks:
            return found
        try:
            others = _programs(right := fixed())
        except UnsupportedOpError:
            if any(not one.by_library and one.relation != "read" for one in broken):
                raise
            return found  # nothing that a rule of a derivative asked has another answer here
        if len(programs) != len(others):
            return right
        self._derived["lacks", key] = lacks
        pairs = [(one.trace, other.trace) for one, other in zip(programs, others, strict=True)]
        if all(one.by_library for one in broken):
            is_valid = all(results_agree(one.result_types(sizes), other.result_types({})) for one, other in pairs)
            is_valid = is_valid and (not broken or all(one.accepts(sizes) for one in programs))
        else:
            is_valid = all(same_trace(one.jaxpr, sizes, other.jaxpr) for one, other in pairs)
        return found if is_valid else right

    def _checked(self, found: TracedProgram, sizes: Sizes) -> TracedProgram:
        """A program at given sizes; raise if it takes other arguments than this one."""
        shapes = self.trace.abstraction.substitute(sizes).shapes
        count = len(found.trace.specs)
        found = found._with_unused(self.trace.specs[count:], shapes[count:])
        specs = [(dims, one.dtype) for dims, one in zip(shapes, self.trace.specs, strict=True)]
        if specs != [(tuple(map(const, one.shape)), one.dtype) for one in found.trace.specs]:
            raise UnsupportedOpError(
                f"{self.name} takes other arguments where {', '.join(f'{x} = {sizes[x]}' for x in sizes)}",
                Span(Source(self.name, ""), 0, 0),
            )
        return found

    def _with_unused(self, specs: Sequence[Any], shapes: Sequence[Sequence[Dim]]) -> TracedProgram:
        """A program at given sizes with further arguments, which it does not use: types of JAX, and their shapes."""
        if not specs:
            return self
        kind, count = jax_module().ShapeDtypeStruct, len(self.trace.specs)
        pairs = zip(specs, shapes, strict=True)
        unused = [kind(tuple([dim.evaluate({}) for dim in dims]), one.dtype) for one, dims in pairs]
        return self._derive(self.name, lambda *arrays: self.flat(*arrays[:count]), [*self.trace.specs, *unused], ())

    def _derive(
        self,
        name: str,
        flat: Callable[..., list[Any]],
        specs: Sequence[Any],
        names: Sequence[str],
        at: At | None = None,
        assumptions: Sequence[SizeAssumption] = (),
    ) -> TracedProgram:
        """A program of a function; `assumptions` are additional ones, of what that was made from."""
        found = retraced(flat, specs, names)
        missing = found.abstraction.undefined
        missing += tuple([one for one in names if one not in found.abstraction.names])
        if missing:
            jax = jax_module()

            carrier = jax.ShapeDtypeStruct((*sizes_in_scope(self.trace.specs, missing), 0), bool)
            found = retraced(lambda *arrays: flat(*arrays[:-1]), [*specs, carrier], names)
        found = replace(found, assumptions=(*found.assumptions, *assumptions))
        program = TracedProgram(name, found, self._compile, at if names else None, missing)
        program.is_original = False
        return program

    def _linearize(self, mask: Mask) -> Linearized:
        jax = jax_module()

        specs, names = self.trace.specs, self.trace.abstraction.names
        structure = list[Any]()
        exact = [jax.numpy.issubdtype(aval.dtype, jax.numpy.inexact) for aval in self.trace.jaxpr.out_avals]
        reached = depending_on(self.trace.jaxpr.jaxpr, mask)
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
        name, all_specs = f"derivative of {self.name}", [*residual_specs, *tangent_specs]
        derivative = self._derive(name, linear, all_specs, names, lambda at: self.at(at).linearize_once(mask).linear)
        is_linear = tuple([k >= len(residual_specs) for k in range(len(all_specs))])
        return Linearized(
            forward=self._derive(
                f"forward pass of {self.name}",
                forward,
                specs,
                names,
                lambda at: self.at(at).linearize_once(mask).forward,
                whole.assumptions,
            ),
            linear=derivative,
            residuals=sources,
            results=results,
            transpose=derivative.transpose_of_all(is_linear),
        )

    def transpose_of_all(self, linear: Mask) -> TracedProgram | None:
        """The transpose of a linear function, given all cotangents; None if JAX cannot transpose it."""
        linear = (*linear, *[False] * len(self.trace.specs[len(linear) :]))
        key = ("transposed", linear, (True,) * len(self.trace.results))
        found = self._once(key, lambda: _attempt(lambda: self._transpose(*key[1:])))
        return None if isinstance(found, Exception) else found

    def _transpose(self, linear: Mask, cotangents: Mask) -> TracedProgram:
        jax = jax_module()

        specs, names = self.trace.specs, self.trace.abstraction.names
        constant = [one for one, is_linear in zip(specs, linear, strict=True) if not is_linear]
        varied = [one for one, is_linear in zip(specs, linear, strict=True) if is_linear]
        given = [spec_of(aval) for aval, one in zip(self.trace.jaxpr.out_avals, cotangents, strict=True) if one]

        def transpose(*arrays: Any) -> list[Any]:
            constants, received = arrays[: len(constant)], arrays[len(constant) :]

            def of_varied(*tangents: Any) -> list[Any]:
                rest, others = iter(tangents), iter(constants)
                found = self.flat(*[next(rest) if one else next(others) for one in linear])
                return [x for x, one in zip(found, cotangents, strict=True) if one]

            return list(jax.linear_transpose(of_varied, *varied)(list(received)))

        return self._derive(
            f"transpose of {self.name}",
            transpose,
            [*constant, *given],
            names,
            lambda at: self.at(at).transpose_once(linear, cotangents),
        )

    @property
    def _batch_name(self) -> str:
        """A name for the size of one more axis."""
        names = self.trace.abstraction.names
        return next(one for one in (f"batch_{k}" for k in range(len(names) + 1)) if one not in names)

    def _batch(self, mask: Mask, size_or_name: int | str) -> TracedProgram:
        jax = jax_module()

        specs, names = self.trace.specs, self.trace.abstraction.names
        size: Any = size_or_name
        if isinstance(size_or_name, str):
            (size,), names = sizes_in_scope(specs, [size_or_name]), (*names, size_or_name)
        batched = [
            jax.ShapeDtypeStruct((size, *one.shape), one.dtype, weak_type=one.weak_type) if is_batched else one
            for one, is_batched in zip(specs, mask, strict=True)
        ]
        axes = tuple([0 if one else None for one in mask])
        return self._derive(
            f"batch of {self.name}",
            jax.vmap(self.flat, in_axes=axes),
            batched,
            names,
            lambda at: self.at(at).batch_once(mask, at[Symbol(names[-1])]),
        )


def _attempt(make: Callable[[], _Derived]) -> _Derived | Exception:
    """What is made, or why it cannot be."""
    try:
        return make()
    except Exception as error:  # noqa: BLE001  rules of derivatives may raise anything
        return error.with_traceback(None)


def _programs(derived: Linearized | TracedProgram) -> list[TracedProgram]:
    if isinstance(derived, TracedProgram):
        return [derived]
    return [one for one in (derived.forward, derived.linear, derived.transpose) if one is not None]
