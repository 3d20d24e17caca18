"""What a derivative keeps of the forward pass, and where it comes from."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from shlo_disc.jit.jax_modules import jax_module


def sources_of(jaxpr: Any, count: int) -> tuple[tuple[int, ...], tuple[tuple[bool, int], ...]]:
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


def results_agree(symbolic: Sequence[Any], fixed: Sequence[Any]) -> bool:
    """Whether two programs have the same results; numbers that are computed of sizes may be additional residuals."""
    rest = iter(symbolic)
    return all(one in rest for one in fixed)


def spec_of(aval: Any) -> Any:
    """JAX's description of an array, for `jax.jit(...).trace`."""
    jax = jax_module()

    return jax.ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=getattr(aval, "weak_type", False))


def depending_on(jaxpr: Any, mask: Sequence[bool]) -> list[bool]:
    """Which results depend on the arguments that are set in `mask`: the others have no tangents."""
    reached = set[Any](compress(jaxpr.invars, mask))
    for equation in jaxpr.eqns:
        if not reached.isdisjoint([one for one in equation.invars if not hasattr(one, "val")]):
            reached.update(equation.outvars)
    return [not hasattr(one, "val") and one in reached for one in jaxpr.outvars]
