"""What JAX has to know of a program before a call: the shapes of the results, and who makes the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError
from shlo_disc.runtime.arguments import check_sizes, show_shape
from shlo_disc.runtime.checks import broken, holds
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.steps import host_calls
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import evaluate

Shape = tuple[int, ...]


def why_python(runnable: Runnable) -> str | None:
    """Why calls inside of a traced function go through Python; None if XLA makes them alone."""
    if not isinstance(runnable, CpuExecutable):
        return "the program runs in partitions, as the sizes of some arrays become known during a call"
    if not _knows_sizes(runnable):
        return "elements of arguments are sizes"
    if host_calls(runnable.artifact.steps):
        return "the program calls functions of Python"
    if runnable.native is None:
        return "Python runs the program step by step, or traces its calls"
    return None


def trace_notes(runnable: Runnable) -> tuple[str, ...]:
    """What a user should know about calls inside of functions that JAX traces."""
    why = why_python(runnable) if runnable.is_on_host else None
    return () if why is None else (f"inside of jax.jit calls go through Python (jax.pure_callback): {why}",)


def refuse_device(runnable: Runnable) -> None:
    """Refuse a program that does not compute in the host's memory."""
    if not runnable.is_on_host:
        raise ShloDiscError(
            f"found a program for {runnable.artifact.device!r} inside a function that JAX traces, expected one for the "
            "CPU\n  help: call it outside of jax.jit, or compile it for the CPU"
        )


def result_shapes(runnable: Runnable, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """The shapes of the results of a call with arrays of these shapes, whose ranks are right.

    Raises `RuntimeShapeError` for sizes that no call may have, and `ShloDiscError` if a size of a result is data.
    """
    if isinstance(runnable, CpuExecutable) and _knows_sizes(runnable):
        return runnable.planned(shapes).shapes
    artifact, bound = runnable.artifact, runnable.bound
    places = [k for k in range(len(artifact.arguments)) if k not in bound]
    every = {**bound, **dict(zip(places, shapes, strict=True))}
    check_sizes(artifact, every, bound)
    symbols = _known(artifact, every)
    for check in artifact.checks:
        with suppress(KeyError):  # it depends on a size that is not known yet: the call makes this check
            if not holds(check, symbols):
                raise broken(artifact, check, symbols)
    return tuple([_result_shape(artifact, number, symbols) for number in range(len(artifact.results))])


def takes_shapes(runnable: Runnable, shapes: Sequence[Shape]) -> bool:
    """Whether a call may have arrays of these shapes, whose ranks are right."""
    try:
        result_shapes(runnable, shapes)
    except RuntimeShapeError:
        return False
    return True


def _result_shape(artifact: Artifact, number: int, symbols: Symbols) -> Shape:
    sizes = artifact.results[number].shape
    try:
        return tuple([evaluate(size, symbols) for size in sizes])
    except KeyError as error:
        raise ShloDiscError(
            f"{artifact.name}: result {number} has the shape {show_shape(tuple(map(str, sizes)))}, in which "
            f"{error.args[0]} becomes known only during the call; expected sizes that follow from those of the "
            "arguments, as JAX traces this call\n  help: call the program outside of jax.jit"
        ) from error


def _knows_sizes(executable: CpuExecutable) -> bool:
    """Whether all sizes follow from the shapes of a call's arrays, and from what is bound."""
    return all(size.argument in executable.bound for size in executable.artifact.unbacked_sizes)


def _known(artifact: Artifact, shapes: Mapping[int, Shape]) -> Symbols:
    """The symbols that the shapes of all arguments give."""
    raw = [shapes[argument][axis] for argument, axis in artifact.raw]
    missing = artifact.given - len(raw)
    symbols = Symbols(artifact, (*raw, *[0] * missing))
    for name in artifact.symbols[len(raw) : artifact.given]:
        del symbols[name]
    return symbols
