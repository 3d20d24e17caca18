"""A traced function that is compiled when it is first run, and what is derived from it.

Derivatives and batches are traced at the same symbolic sizes (`derivatives.py`), so each of them is compiled once for
all sizes, too. A call gets them, or what is derived at its very sizes (`derived_at_sizes.py`). What is derived at given
sizes may be run by one program for many sizes as well (`generalized/derivations.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np

from shlo_disc.diagnostics import InternalError, Source, Span, UnsupportedOpError
from shlo_disc.expr.dim import Dim, const
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.comparisons import SizeAssumption
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.tracing import Trace, retraced, sizes_in_scope
from shlo_disc.runtime.interop import to_jax
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.xla.programs import takes_shapes

Compile: TypeAlias = "Callable[[TracedProgram], Runnable]"
At: TypeAlias = "Callable[[Sizes], TracedProgram]"
Shapes: TypeAlias = "Sequence[Sequence[int]]"
SIZES_KEPT = 512  # for which a program keeps what is derived at these very sizes: whole traces


@dataclass(frozen=True)
class Derivation:
    """How a program is derived from another one: a key that says it, and what does it at given sizes.

    `added` are the values of the symbols that the other program does not have, if it is at given sizes.
    """

    key: object
    apply: Callable[[TracedProgram, Sizes], TracedProgram]
    added: Sizes = field(default_factory=dict[Any, int])


class DerivationOrigin(Protocol):
    """Where a program at given sizes comes from."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the sizes."""
        ...

    def derived(self, derivation: Derivation) -> DerivationOrigin:
        """The origin of a program that is derived from this one."""
        ...

    def served_by(self, program: TracedProgram) -> tuple[Runnable, Sequence[Any]]:
        """The compiled program that runs in place of this one, and its further arguments."""
        ...


class DerivedPrograms:
    """What is derived from a program, by keys: each is made once, also where several threads need it.

    Attributes:
        untransposable: keys of derivatives that have no transpose at the fixed sizes of a call either.
    """

    def __init__(self) -> None:
        self.untransposable = set[object]()
        self._made = dict[object, Any]()
        self._at_sizes = dict[object, Any]()
        self._lock = threading.RLock()

    def once(self, key: object, make: Callable[[], Any]) -> Any:
        """What is derived by a key."""
        with self._lock:
            if key not in self._made:
                self._made[key] = make()
            return self._made[key]

    def attempt(self, key: object, make: Callable[[], Any]) -> Any | Exception:
        """What is derived by a key, or why it cannot be: `once` still makes it, or raises that."""

        def made() -> Any | Exception:
            try:
                return self.once(key, make)
            except Exception as error:  # noqa: BLE001  rules of derivatives may raise anything
                return error.with_traceback(None)

        return self.once(("attempt", key), made)

    def at_sizes(self, key: object, sizes: Sizes, make: Callable[[], Any]) -> Any:
        """What serves calls at these sizes, by a key; it is made again if `SIZES_KEPT` others were used since."""
        with self._lock:
            place = key, frozenset(sizes.items())
            found = self._at_sizes.pop(place) if place in self._at_sizes else make()
            self._at_sizes[place] = found  # the last used are last
            if len(self._at_sizes) > SIZES_KEPT:
                del self._at_sizes[next(iter(self._at_sizes))]
            return found


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
        self.origin: DerivationOrigin | None = None  # of a program at given sizes that has symbols elsewhere
        self.is_original = True  # not derived from another program
        self.is_differentiable = True  # at symbolic sizes, and can be batched there
        self._compile = compile_
        self._lock = threading.Lock()
        self.derived = DerivedPrograms()

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
    def served_by(self) -> tuple[Runnable, Sequence[Any]]:
        """The compiled program that runs, and its arguments after those of this program."""
        return (self.runnable, ()) if self.origin is None else self.origin.served_by(self)

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

    def agrees(self, sizes: Sizes, fixed: Trace) -> bool:
        """Whether it takes these sizes, and returns there what a trace at the very sizes does: types, not values."""
        return self.trace.result_types(sizes) == fixed.result_types({}) and self.accepts(sizes)

    def run(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the compiled program. Returns arrays of JAX, with the weak types that the function's results have."""
        kind = jax_module().Array
        runnable, further = self.served_by
        found = runnable.mirror([*arrays, *further])
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
        return self.derived.at_sizes("traced", own, lambda: self.traced_at(own))

    def traced_at(self, sizes: Sizes) -> TracedProgram:
        """The same, traced anew. It must have symbols, and `sizes` the values of these alone."""
        assert self._at is not None
        return self._checked(self._at(sizes), sizes)

    def flat(self, *arrays: Any) -> list[Any]:
        """The function on tracers with this program's own symbolic sizes."""
        jex = jax_module("jax.extend.core")

        return jex.jaxpr_as_fun(self.trace.jaxpr)(*arrays)

    def alike(self, found: Trace) -> TracedProgram:
        """A program of another trace, that is compiled as this one."""
        program = TracedProgram(self.name, found, self._compile)
        program.is_original = False
        return program

    def derive(
        self,
        name: str,
        flat: Callable[..., list[Any]],
        specs: Sequence[Any],
        names: Sequence[str],
        derivation: Derivation | None = None,
        assumptions: Sequence[SizeAssumption] = (),
    ) -> TracedProgram:
        """A program of a function `flat` that is derived from this one, of arguments `specs`, at symbols `names`.

        `assumptions` are additional ones, of what the function was made from.
        """
        found = retraced(flat, specs, names)
        missing = found.abstraction.undefined
        missing += tuple([one for one in names if one not in found.abstraction.names])
        if missing:
            jax = jax_module()

            carrier = jax.ShapeDtypeStruct((*sizes_in_scope(self.trace.specs, missing), 0), bool)
            found = retraced(lambda *arrays: flat(*arrays[:-1]), [*specs, carrier], names)
        found = replace(found, assumptions=(*found.assumptions, *assumptions))

        def same_at(sizes: Sizes) -> TracedProgram:
            assert derivation is not None
            return derivation.apply(self.at(sizes), sizes)

        program = TracedProgram(name, found, self._compile, same_at if derivation and names else None, missing)
        program.is_original = False
        if derivation is not None and self.origin is not None and not names:
            program.origin = self.origin.derived(derivation)
        return program

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
        found = self.derive(self.name, lambda *arrays: self.flat(*arrays[:count]), [*self.trace.specs, *unused], ())
        found.origin = self.origin
        return found
