"""Which derivative, transpose or batch of a program serves a call: that at symbolic sizes, wherever it is right.

Where JAX cannot derive at symbolic sizes, or what it derives is something else at the sizes of a call, that call gets
what is derived at these very sizes. One program may run for many of them (`generalized/derivations.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.expr.dim import Sym as Symbol
from shlo_disc.jit.abstraction import Sizes
from shlo_disc.jit.derivatives import Linearized, Mask, batch_name, batch_of, derivative_of, transpose_of
from shlo_disc.jit.program import Shapes, TracedProgram
from shlo_disc.jit.residuals import results_agree
from shlo_disc.jit.same_trace import same_trace

_Derived = TypeVar("_Derived", Linearized, TracedProgram)


def linearized(program: TracedProgram, mask: Mask, shapes: Shapes) -> Linearized:
    """The derivative with respect to the arguments that are set in `mask`, for a call with these shapes."""
    sizes, key = program.sizes(shapes), ("linearized", mask)
    return _at_sizes(
        program, sizes, key, lambda: derivative_of(program, mask), lambda: derivative_of(program.at(sizes), mask)
    )


def transposed(program: TracedProgram, linear: Mask, cotangents: Mask, shapes: Shapes) -> TracedProgram:
    """The transpose of a linear function for a call with these shapes: see `transpose_of`."""
    sizes, key = program.sizes(shapes), ("transposed", linear, cotangents)
    return _at_sizes(
        program,
        sizes,
        key,
        lambda: transpose_of(program, linear, cotangents),
        lambda: transpose_of(program.at(sizes), linear, cotangents),
    )


def batched(program: TracedProgram, mask: Mask, size: int, shapes: Shapes) -> TracedProgram:
    """The function over a leading axis of the arguments that are set in `mask`, and of all results.

    `size` is that of the axis; `shapes` are those of a call without the axis.
    """
    sizes, name = program.sizes(shapes), batch_name(program)
    return _at_sizes(
        program,
        {**sizes, Symbol(name): size},
        ("batched", mask),
        lambda: batch_of(program, mask, name),
        lambda: batch_of(program.at(sizes), mask, size),
    )


def _at_sizes(
    program: TracedProgram,
    sizes: Sizes,
    key: object,
    symbolic: Callable[[], _Derived],
    fixed: Callable[[], _Derived],
) -> _Derived:
    """What is derived at symbolic sizes, if that is right at these sizes; else what is derived at these."""
    derived = program.derived
    if program.origin is not None or (sizes and not program.is_differentiable):
        return fixed()
    if not sizes:
        return derived.once(key, symbolic)
    found: _Derived | Exception = derived.attempt(key, symbolic)
    return derived.at_sizes(key, sizes, lambda: _choose(program, key, sizes, found, fixed))


def _choose(
    program: TracedProgram, key: object, sizes: Sizes, found: _Derived | Exception, fixed: Callable[[], _Derived]
) -> _Derived:
    if isinstance(found, Exception):
        return fixed()
    untransposable = program.derived.untransposable
    lacks = isinstance(found, Linearized) and found.transpose is None and key not in untransposable
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
    if lacks:
        untransposable.add(key)
    pairs = [(one.trace, other.trace) for one, other in zip(programs, others, strict=True)]
    if all(one.by_library for one in broken):
        is_valid = all(results_agree(one.result_types(sizes), other.result_types({})) for one, other in pairs)
        is_valid = is_valid and (not broken or all(one.accepts(sizes) for one in programs))
    else:
        is_valid = all(same_trace(one.jaxpr, sizes, other.jaxpr) for one, other in pairs)
    return found if is_valid else right


def _programs(derived: Linearized | TracedProgram) -> list[TracedProgram]:
    if isinstance(derived, TracedProgram):
        return [derived]
    return [one for one in (derived.forward, derived.linear, derived.transpose) if one is not None]
