"""What JAX has to know of a program before a call: the shapes of the results, and who makes the call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError
from shlo_disc.runtime.arguments import check_sizes, show_shape
from shlo_disc.runtime.checks import broken, holds
from shlo_disc.runtime.executable import Executable
from shlo_disc.runtime.partitions import PartitionedExecutable, Runnable
from shlo_disc.runtime.steps import host_calls
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.runtime.xla.platform import Shape
from shlo_disc.size_expr import evaluate
from shlo_disc.target_names import HOST


def brought(runnable: Runnable) -> list[int]:
    """The numbers of the arguments that a call brings: of those that are not bound."""
    return [k for k in range(len(runnable.artifact.arguments)) if k not in runnable.bound]


def why_python(runnable: Runnable) -> str | None:
    """Why XLA cannot make calls inside of a traced function alone; None if it can."""
    if isinstance(runnable, PartitionedExecutable):
        return "the program runs in partitions, as the sizes of some arrays become known during a call"
    if not _knows_sizes(runnable):
        return "elements of arguments are sizes"
    if host_calls(runnable.artifact.steps):
        return "the program calls functions of Python"
    return runnable.for_xla.refusal


def trace_notes(runnable: Runnable) -> tuple[str, ...]:
    """What a user should know about calls inside of functions that JAX traces."""
    if (why := why_python(runnable)) is None:
        return ()
    if runnable.for_xla.platform.calls_python:
        return (f"inside of jax.jit calls go through Python (jax.pure_callback): {why}",)
    return (f"inside of jax.jit calls are refused: {why}",)


def refuse(runnable: Runnable) -> None:
    """Refuse a program that neither XLA nor Python can run inside of a function that JAX traces."""
    if not runnable.for_xla.platform.calls_python and (why := why_python(runnable)) is not None:
        raise ShloDiscError(
            f"found a program for {runnable.artifact.device!r} inside a function that JAX traces, expected one that "
            f"XLA can run alone: {why}\n  help: call it outside of jax.jit, or compile it for {HOST!r}, where Python "
            "makes such calls"
        )


def refuse_platforms(runnable: Runnable, platforms: Sequence[str]) -> None:
    """Refuse a program in a function that JAX compiles for other platforms than the program's."""
    if others := [one for one in platforms if one != runnable.for_xla.platform.name]:
        device, found = runnable.artifact.device, " and ".join(map(repr, others))
        raise ShloDiscError(
            f"found a program for {device!r} inside a function that JAX compiles for {found}, expected one device for "
            "both\n  help: compile the program for that device, or run the function under "
            f"jax.default_device(jax.devices({runnable.for_xla.platform.name!r})[0])"
        )


def result_shapes(runnable: Runnable, shapes: Sequence[Shape]) -> tuple[Shape, ...]:
    """The shapes of the results of a call with arrays of these shapes, whose ranks are right.

    Raises `RuntimeShapeError` for sizes that no call may have, and `ShloDiscError` if a size of a result is data.
    """
    if not isinstance(runnable, PartitionedExecutable) and _knows_sizes(runnable):
        return runnable.for_xla.result_shapes(shapes)
    artifact, bound = runnable.artifact, runnable.bound
    every = {**bound, **dict(zip(brought(runnable), shapes, strict=True))}
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


def _knows_sizes(executable: Executable) -> bool:
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
