"""Donated arguments: after a call those are deleted whose memory a result could have had, as `jax.jit` does.

Our results have memory of their own; so that a call needs no more memory after it than with XLA, what was donated is
freed when the call returns.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from shlo_disc.jit.arguments import Call
from shlo_disc.jit.jax_modules import jax_module
from shlo_disc.jit.tracing import Trace


def donated_leaves(call: Call, positions: Collection[int], names: Collection[str]) -> tuple[int, ...]:
    """The numbers of the leaves of donated arguments."""
    args, kwargs = call.tree.children()
    whole = [*[place in positions for place in call.positions], *[name in names for name in sorted(call.dynamic[1])]]
    leaves = list[bool]()
    for is_donated, tree in zip(whole, [*args.children(), *kwargs.children()], strict=True):
        leaves += [is_donated] * tree.num_leaves
    return tuple([k for k, is_donated in enumerate(leaves) if is_donated])


def delete_donated(donated: Sequence[int], values: Sequence[Any], results: Sequence[Any]) -> None:
    """Delete the donated arrays whose memory the results could have: one for each result of the same type."""
    kind = jax_module().Array
    free = Counter([_type(one) for one in results])
    for value in [values[k] for k in donated]:
        if isinstance(value, kind) and free[_type(value)] > 0:
            free[_type(value)] -= 1
            value.delete()


def warn_of_unusable(donated: Sequence[int], found: Trace) -> None:
    """Warn, in JAX's words, of donated arguments that are used and whose memory no result of the program can have."""
    jaxpr = found.jaxpr.jaxpr
    used = {id(one) for equation in jaxpr.eqns for one in equation.invars} | {id(one) for one in jaxpr.outvars}
    free = Counter([_type(one.aval) for one in jaxpr.outvars])
    unusable = list[str]()
    for variable in [jaxpr.invars[k] for k in donated]:
        if id(variable) not in used:
            continue
        if free[_type(variable.aval)] > 0:
            free[_type(variable.aval)] -= 1
        else:
            unusable.append(str(variable.aval))
    if unusable:
        warnings.warn(f"Some donated buffers were not usable: {', '.join(unusable)}.", stacklevel=2)


def _type(one: Any) -> tuple[tuple[Any, ...], str]:
    return tuple(one.shape), str(one.dtype)
