"""Trace functions with symbolic sizes, and find out under which conditions the trace is valid.

What a trace with symbolic sizes assumes of them is in `comparisons.py`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.jit.abstraction import Abstraction, Sizes
from shlo_disc.jit.comparisons import SizeAssumption, all_assumptions, assumptions_of
from shlo_disc.jit.constraint_text import first_broken, for_jax, text_of
from shlo_disc.jit.jax_modules import SEQUENCES, jax_module, without_mesh
from shlo_disc.jit.leaves import LeafType
from shlo_disc.legalize.constraints import read_size

_COMPARISON = re.compile(r"Symbolic dimension comparison '(.+?)' (>=|<=|>|<) '(.+?)' is inconclusive")
_REMAINDER = re.compile(r"(?:remainder|rest is|rest:?) (mod\(.*\))(?: should be 0|\s|$)")
_MOST_CONSTRAINTS = 16  # that one trace may need


@dataclass(frozen=True)
class Trace:
    """A function traced at symbolic sizes.

    `flat` takes and returns lists of arrays. `specs` are JAX's types of its arguments, with sizes of one scope. `jaxpr`
    is what was traced. `assumptions` are what JAX took for granted of the sizes.
    """

    flat: Callable[..., list[Any]]
    jitted: Any
    specs: tuple[Any, ...]
    jaxpr: Any
    abstraction: Abstraction
    results: tuple[tuple[Dim, ...], ...]
    constraints: tuple[str, ...]
    assumptions: tuple[SizeAssumption, ...]

    @property
    def has_effects(self) -> bool:
        """Whether it calls functions of Python that have to be called even if nobody needs what they return."""
        return any(type(one).__name__ != "NamedAxisEffect" for one in self.jaxpr.effects)

    def broken(self, sizes: Sizes) -> tuple[SizeAssumption, ...]:
        """What the trace assumes that is not true of these sizes; it is valid if there is nothing."""
        return tuple([one for one in self.assumptions if not one.holds(sizes)])

    def result_types(self, sizes: Sizes) -> list[tuple[tuple[int, ...], Any, bool]]:
        """Shapes, dtypes and weak types of the results."""
        return [
            (tuple([dim.evaluate(sizes) for dim in dims]), aval.dtype, bool(aval.weak_type))
            for dims, aval in zip(self.results, self.jaxpr.out_avals, strict=True)
        ]

    def allows(self, sizes: Sizes) -> bool:
        """Whether the sizes keep all constraints that the trace needs."""
        values = _named(sizes)
        return first_broken(self.constraints, values) is None


class FunctionError(Exception):
    """The function cannot be traced at the very sizes of a call; `cause` is its own exception."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


class ClosesOverTracers(Exception):  # noqa: N818  a condition, not an error of the user's
    """The function uses values or axes that JAX traces outside of it, so that it cannot be a program of its own."""


class Untraceable(Exception):  # noqa: N818  a condition, not an error of the user's
    """JAX cannot trace the function at symbolic sizes; `cause` is its exception."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def trace(
    flat: Callable[..., list[Any]],
    types: Sequence[LeafType],
    abstraction: Abstraction,
    constraints: Sequence[str] = (),
    seen: Sequence[Sizes] = (),
) -> Trace:
    """Trace a function of flat arrays.

    Constraints that JAX asks for are added if the call keeps them, whose sizes are the first of those that were `seen`.

    Raises `Untraceable` if there are symbols and JAX cannot trace with them, `FunctionError` without symbols.
    """
    asked = list[str]()  # in JAX's own words
    while True:
        try:
            return _trace(flat, types, abstraction, constraints, asked)
        except ClosesOverTracers:
            raise
        except Exception as error:  # a function may raise anything
            if not abstraction.symbols:
                raise FunctionError(error) from error
            wanted = _wanted(error, seen)
            if wanted is None or wanted in asked or len(asked) >= _MOST_CONSTRAINTS:
                raise Untraceable(error) from error
            asked.append(wanted)


def _trace(
    flat: Callable[..., list[Any]],
    types: Sequence[LeafType],
    abstraction: Abstraction,
    constraints: Sequence[str],
    asked: Sequence[str],
) -> Trace:
    jax = jax_module()
    export = jax_module("jax.export")

    scope = export.SymbolicScope([*for_jax(constraints), *asked])
    specs = tuple(
        [_spec(jax, one, _sizes_of_jax(shape, scope)) for one, shape in zip(types, abstraction.shapes, strict=True)]
    )
    jitted = jax.jit(flat, keep_unused=True)
    with tracing(), assumptions_of(scope) as assumed:
        traced = jitted.trace(*specs)
    jaxpr = traced.jaxpr
    _refuse_groups(jaxpr.jaxpr)
    of_outside = any(isinstance(one, jax.core.Tracer) for one in jaxpr.consts)
    if len(jaxpr.in_avals) != len(specs) or of_outside or _named_axes(jaxpr):
        raise ClosesOverTracers
    names = {name: symbol(name) for name in abstraction.names}
    return Trace(
        flat=flat,
        jitted=jitted,
        specs=specs,
        jaxpr=jaxpr,
        abstraction=abstraction,
        results=tuple([dims_of(aval.shape, names) for aval in jaxpr.out_avals]),
        constraints=(*constraints, *asked),
        assumptions=tuple(dict.fromkeys([one.named(names) for one in assumed])),
    )


def retraced(flat: Callable[..., list[Any]], specs: Sequence[Any], names: Sequence[str]) -> Trace:
    """Trace a function that is derived from a trace, with sizes of the same scope: `specs` are JAX's types."""
    jax = jax_module()

    jitted, scope = jax.jit(flat, keep_unused=True), _scope_of(specs)
    with tracing(), assumptions_of(scope) as assumed:
        traced = jitted.trace(*specs)
    assumed = all_assumptions(scope, assumed) if scope is not None else assumed
    _refuse_groups(traced.jaxpr.jaxpr)
    symbols = {name: symbol(name) for name in names}
    shapes = tuple([dims_of(one.shape, symbols) for one in specs])
    results = tuple([dims_of(aval.shape, symbols) for aval in traced.jaxpr.out_avals])
    assumptions = tuple(dict.fromkeys([one.named(symbols) for one in assumed]))
    return Trace(flat, jitted, tuple(specs), traced.jaxpr, Abstraction(shapes), results, (), assumptions)


def sizes_in_scope(specs: Sequence[Any], names: Sequence[str]) -> Any:
    """New symbolic sizes of JAX, in the scope of the sizes of `specs` (a new scope if they have none)."""
    export = jax_module("jax.export")

    return export.symbolic_shape(", ".join(names), scope=_scope_of(specs) or export.SymbolicScope())


def _scope_of(specs: Sequence[Any]) -> Any:
    return next((size.scope for one in specs for size in one.shape if not isinstance(size, int)), None)


def dims_of(shape: Sequence[Any], names: Mapping[str, Dim]) -> tuple[Dim, ...]:
    """Dims of a shape of JAX."""
    return tuple([const(size) if isinstance(size, int) else read_size(str(size), names) for size in shape])


def _refuse_groups(jaxpr: Any) -> None:
    """Raise if a convolution has a symbolic number of groups, as batches of weights have: JAX cannot lower it."""
    for one in jaxpr.eqns:
        groups = [one.params.get(f"{what}_group_count", 1) for what in ("feature", "batch")]
        if any(type(count).__name__ == "_DimExpr" for count in groups):
            raise NotImplementedError(f"convolution with {groups[0]} groups of features, {groups[1]} of the batch")
        for value in one.params.values():
            inner = value if isinstance(value, SEQUENCES) else (value,)
            for part in inner:
                found = getattr(part, "jaxpr", part)
                if hasattr(found, "eqns"):
                    _refuse_groups(found)


def _named_axes(jaxpr: Any) -> bool:
    """Whether the function communicates along axes that `jax.vmap` or `jax.shard_map` name."""
    return any(type(one).__name__ == "NamedAxisEffect" for one in jaxpr.effects)


def _sizes_of_jax(shape: Sequence[Dim], scope: Any) -> Any:
    export = jax_module("jax.export")

    return export.symbolic_shape(", ".join([text_of(one) for one in shape]), scope=scope) if shape else ()


def _spec(jax: Any, one: LeafType, shape: Sequence[Any]) -> Any:
    return jax.ShapeDtypeStruct(tuple(shape), one.dtype, weak_type=one.weak)


def _wanted(error: Exception, seen: Sequence[Sizes]) -> str | None:
    """The constraint that would let JAX go on: one that all sizes that were seen keep, else one that this call keeps.

    The sizes of this call are the first of those that were seen.
    """
    text = str(error)
    candidates = list[str]()
    if found := _COMPARISON.search(text):
        lhs, sign, rhs = found.groups()
        candidates = {
            ">=": [f"{lhs} >= {rhs}", f"{lhs} <= {rhs} - 1"],
            ">": [f"{lhs} >= {rhs} + 1", f"{lhs} <= {rhs}"],
            "<=": [f"{lhs} <= {rhs}", f"{lhs} >= {rhs} + 1"],
            "<": [f"{lhs} <= {rhs} - 1", f"{lhs} >= {rhs}"],
        }[sign]
    elif found := _REMAINDER.search(text):
        candidates = [f"{found[1]} == 0"]
    kept = [one for one in candidates if first_broken([one], _named(seen[0])) is None]
    agreed = [one for one in kept if all(first_broken([one], _named(sizes)) is None for sizes in seen)]
    return next(iter([*agreed, *kept]), None)


def _named(sizes: Sizes) -> dict[str, int]:
    return {one.name: size for one, size in sizes.items()}


class _Tracing(threading.local):
    depth = 0


_state = _Tracing()


@contextmanager
def tracing() -> Generator[None]:
    """Mark that this thread traces a function in order to compile it: calls of `jit` functions are inlined.

    The program runs on one device, whichever mesh of devices the call is made under.
    """
    _state.depth += 1
    try:
        with without_mesh():
            yield
    finally:
        _state.depth -= 1


def is_tracing() -> bool:
    """Whether this thread traces a function in order to compile it."""
    return _state.depth > 0
