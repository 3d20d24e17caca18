"""What `compile` returns: a program to call, to bind arguments to, and to inspect."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from shlo_disc.artifact import Artifact
from shlo_disc.call_signature import Signature, SignaturePart
from shlo_disc.diagnostics import ArgumentTypeError, ShloDiscError
from shlo_disc.report.text import explain
from shlo_disc.report_model import FactText
from shlo_disc.runtime.binding import BoundMemory, check_same
from shlo_disc.runtime.dispatch import ScheduleChoice
from shlo_disc.runtime.entry import Entry
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.peak import largest_size, peak_memory
from shlo_disc.runtime.xla.function import traceable
from shlo_disc.runtime.xla.programs import trace_notes
from shlo_disc.size_expr import SizeExpr


class Compiled:
    """A program that runs at any shape. Call it like the function that was exported.

    From StableHLO text it takes flat arrays and returns a tuple. The results are arrays of the arguments' library: of
    JAX, or on a device of one of its libraries (CuPy, Torch), if an argument is, else of NumPy.
    """

    def __init__(self, executable: Runnable, signature: Signature | None) -> None:
        self._executable = executable
        self._signature = signature
        self._quick = _quick(executable, signature)
        self._as_jax = _as_jax(executable, signature, self._quick)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program.

        Args:
            *args: pytrees of arrays like those of the exported function; from text, flat arrays. C-contiguous ones in
                the memory that kernels compute in are taken as they are: NumPy's, JAX's, CuPy's, others by DLPack. What
                is not contiguous is copied. Dtypes have to be the program's.
            **kwargs: keyword arguments of the exported function.

        Returns:
            The pytree of the exported function's results; from text, a tuple of arrays.

        Raises:
            RuntimeShapeError: a size breaks a constraint; before anything is written.
            ArgumentTypeError: a dtype, a rank or a pytree is not the program's; before anything is written.
            MemoryError: there is no memory for temporaries or results.
        """
        if not kwargs and (found := self._quick(*args)) is not NotImplemented:
            return found
        return _call(self._executable, self._signature, args, kwargs)

    def bind(self, *args: Any, **kwargs: Any) -> Bound:
        """Fix the leading arguments, and keywords: `bound = run.bind(params)`, then `bound(x)` is `run(params, x)`.

        Bound arguments are checked and packed once, here; calls only check the others. Nothing is compiled. See
        docs/how-to/binding.md.

        Args:
            *args: the leading arguments. The arrays must not be written to afterwards: `bound.rebind` replaces them.
            **kwargs: keyword arguments.

        Returns:
            The program, to be called with the other arguments.

        Raises:
            RuntimeShapeError: sizes of the arrays break a constraint.
            ArgumentTypeError: a dtype or a rank is not the program's.
        """
        return Bound(self._executable, self._signature, args, kwargs)

    def as_jax(self) -> Callable[..., Any]:
        """The program as a function to call inside of `jax.jit`, `jax.lax.scan` and others, on its device.

        There a call is one custom call of XLA, without Python: see docs/how-to/inside-jax.md. Outside of a traced
        function it is a call of the program. It cannot be differentiated.

        Returns:
            A function that takes and returns what the program does, always the same one.
        """
        return self._as_jax

    def __repr__(self) -> str:
        artifact = self._executable.artifact
        arguments = _few([f"{one.name}: {_typed(one.dtype, one.shape)}" for one in artifact.arguments])
        results = _few([_typed(one.dtype, one.shape) for one in artifact.results])
        return f"<Compiled {artifact.name}({arguments}) -> ({results})>"

    @property
    def stats(self) -> Stats:
        """Compilations, calls, distinct signatures, and seconds in each stage of the compiler."""
        return self._executable.stats

    @property
    def kernels_source(self) -> str:
        """The generated kernels, in the language of the target."""
        return "\n".join(file.text for part in self._executable.artifact.parts for file in part.kernels)

    @property
    def host_source(self) -> str:
        """The generated host program (C++)."""
        return "\n".join(part.host.text for part in self._executable.artifact.parts)

    @property
    def executable(self) -> Runnable:
        """The flat program: arrays in, arrays of the device out; `trace` observes it step by step."""
        return self._executable

    def explain(self, topic: str | None = None, value: str | None = None) -> str:
        """Explain what was known and decided: "facts", "fusion", "memory" or "schedules", or everything.

        `explain("facts", value="%42")` shows why a value of the program has its shape, step by step.

        Args:
            topic: "facts", "fusion", "memory" or "schedules"; None for everything.
            value: the name of a value in the text, with the topic "facts".

        Returns:
            Lines of text for a terminal.

        Raises:
            ShloDiscError: an unknown topic, or a value whose shape does not depend on sizes.
        """
        notes = (*self._executable.notes, *trace_notes(self._executable)) if topic is None else ()
        return "\n\n".join([explain(self._executable.artifact, topic, value), *notes])

    def peak_memory(self, **sizes: int) -> int:
        """The bytes of temporaries that a call with these sizes needs: `peak_memory(b=8, s=512)`.

        Args:
            **sizes: a value for every size. Sizes that the program computes have names, too, also those of a loop's
                worst iteration: see `explain("facts")`.

        Returns:
            Bytes.

        Raises:
            ShloDiscError: a size is missing or unknown.
            RuntimeShapeError: the sizes break a constraint.
        """
        return peak_memory(self._executable.artifact, sizes)

    @property
    def peak_formula(self) -> Any:
        """What `peak_memory` computes, as a SymPy expression of the sizes."""
        return peak_formula(self._executable.artifact)

    def max_size(self, symbol: str, *, budget: int | str, **sizes: int) -> int:
        """The largest value of a size whose call keeps within a budget: `max_size("b", s=512, budget="2GiB")`.

        Args:
            symbol: the name of the size.
            budget: bytes of temporaries, as a number or a text with a unit: "2GiB", "500MB".
            **sizes: values of all other sizes.

        Returns:
            The size.

        Raises:
            ShloDiscError: an unknown size, a budget that is invalid or too small for any value, or memory that does not
                grow with the size.
        """
        return largest_size(self._executable.artifact, symbol, budget, sizes)

    def explain_dispatch(self, **sizes: int) -> str:
        """Describe which schedule each matrix product takes at these sizes: `explain_dispatch(s=77)`.

        Args:
            **sizes: a value for every size.

        Returns:
            Lines per product: the share of padding, the busy threads, the predicted time, and the measured time on
            arrays of zeros.

        Raises:
            ShloDiscError: an unknown size, a program in partitions, or one that does not run on the CPU.
        """
        return self._executable.explain_dispatch(sizes)

    @property
    def selections(self) -> tuple[tuple[ScheduleChoice, ...], ...]:
        """The schedules of the products of each call so far: of the last 65536 calls, or parts of a program.

        Raises `ShloDiscError` if the program was not compiled with `CompileOptions(trace_selection=True)`.
        """
        log = self._executable.log
        if log is None:
            raise ShloDiscError("found no trace of calls, expected CompileOptions(trace_selection=True) on the CPU")
        return tuple(log)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page: groups, kernels, facts, decisions, memory over time.

        Args:
            path: the file to write.

        Raises:
            OSError: it cannot be written.
        """
        from shlo_disc.report.page import write_page  # noqa: PLC0415  few programs need it

        write_page(self._executable.artifact, Path(path))

    def facts(self) -> tuple[FactText, ...]:
        """Everything that is known of the sizes of the program's values.

        Returns:
            The facts, each with its reason.
        """
        return self._executable.artifact.report.all_facts()


class Bound:
    """A program with bound arguments: called with the others, also from several threads at once."""

    def __init__(
        self, executable: Runnable, signature: Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self._program = executable
        self._given: SignaturePart | None = None
        self._rest: Signature | None = None
        if signature is not None:
            self._given, rest = signature.split(args, kwargs)
            self._rest = rest.signature
        self._count = len(args)
        self._executable = executable.bind(self._flatten(args, kwargs))
        self._quick = _quick(self._executable, self._rest)
        self._as_jax: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program: see `Compiled.__call__`.

        Args:
            *args: the arguments that are not bound.
            **kwargs: keyword arguments that are not bound.

        Returns:
            What the compiled program returns.

        Raises:
            RuntimeShapeError: a size breaks a constraint, or does not fit what is bound; before anything is written.
            ArgumentTypeError: a dtype, a rank or a pytree is not the program's; before anything is written.
        """
        if not kwargs and (found := self._quick(*args)) is not NotImplemented:
            return found
        return _call(self._executable, self._rest, args, kwargs)

    def rebind(self, *args: Any, **kwargs: Any) -> None:
        """Replace what is bound. Nothing is compiled.

        Calls that are running finish with the arrays that they began with; those that begin after this returns take all
        of the new arrays.

        Args:
            *args: arrays of the same shapes and dtypes as those that are bound.
            **kwargs: the same for keyword arguments.

        Raises:
            RuntimeShapeError: other shapes.
            ArgumentTypeError: other dtypes, or another number of arrays.
        """
        bound = self._program.bind(self._flatten(args, kwargs))
        check_same(bound.artifact, bound.bound, self._executable.bound)
        self._executable = bound
        self._quick = _quick(bound, self._rest)
        self._as_jax = None

    def as_jax(self) -> Callable[..., Any]:
        """The program with these bound arguments, for functions that JAX traces: see `Compiled.as_jax`.

        Returns:
            A function of the other arguments. After `rebind` it keeps the old bound arrays, and so do functions that
            were traced with it; another one is returned then.
        """
        if self._as_jax is None:
            self._as_jax = _as_jax(self._executable, self._rest, self._quick)
        return self._as_jax

    def __repr__(self) -> str:
        artifact = self._executable.artifact
        names = [one.name for k, one in enumerate(artifact.arguments) if k not in self._executable.bound]
        return f"<Bound {artifact.name}({_few(names)}), {len(self._executable.bound)} arguments bound>"

    @property
    def memory(self) -> BoundMemory:
        """Bytes of the bound arguments: given, kept, and packed."""
        return self._executable.bound_memory

    @property
    def executable(self) -> Runnable:
        """The flat program, without the arguments that are bound."""
        return self._executable

    @property
    def stats(self) -> Stats:
        """The statistics of the compiled program: calls are counted together."""
        return self._executable.stats

    def explain(self) -> str:
        """Describe what is bound, what is packed, and the memory of both.

        Returns:
            Lines of text for a terminal.
        """
        return "\n".join(self.memory.lines())

    def _flatten(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Mapping[int, Any]:
        """The arrays to bind, by the numbers of the program's arguments."""
        if self._given is not None:
            leaves = self._given.signature.flatten(args, kwargs)
            return dict(zip(self._given.places, leaves, strict=True))
        _refuse_keywords(kwargs)
        expected, most = self._count, len(self._program.artifact.arguments)
        if len(args) != expected or len(args) > most:
            wanted = f"at most {most}" if len(args) > most else f"{expected}, as many as are bound"
            raise ArgumentTypeError(f"found {len(args)} arrays to bind, expected {wanted}")
        return dict(enumerate(args))


def _quick(executable: Runnable, signature: Signature | None) -> Callable[..., Any]:
    """A function that serves calls of positional arguments; `NotImplemented` for those that it cannot."""
    served = None if executable.entry is None else served_by_c(executable.entry, signature)
    return served or partial(_call_positional, executable, signature)


def served_by_c(entry: Entry, signature: Signature | None, donated: Sequence[int] = ()) -> Callable[..., Any] | None:
    """The C function that serves a whole call, if it supports the pytrees.

    It returns `NotImplemented` for calls that need anything of Python, and deletes the JAX arrays of the leaves that
    are `donated`, where `jax.jit` does.
    """
    if signature is None:
        args, result = tuple(range(entry.arguments)), tuple(range(entry.results))
        return entry.tree(args, result, args, donated)
    args, kwargs, result = signature.example()
    return None if kwargs or signature.has_keys else entry.tree(args, result, signature.kept, donated)


def _call(executable: Runnable, signature: Signature | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        if signature is not None:
            return signature.unflatten(executable.mirror(signature.flatten(args, kwargs)))
        _refuse_keywords(kwargs)
        return executable.mirror(args)
    except ctypes.ArgumentError as error:  # ctypes raises it if there is no memory for one
        raise MemoryError("no memory for the arguments of a call") from error


def _as_jax(executable: Runnable, signature: Signature | None, quick: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and (found := quick(*args)) is not NotImplemented:
            return found
        return _call(executable, signature, args, kwargs)

    return traceable(executable, signature, call)


def _call_positional(executable: Runnable, signature: Signature | None, *args: Any) -> Any:
    return _call(executable, signature, args, {})


def _refuse_keywords(kwargs: Mapping[str, Any]) -> None:
    if kwargs:
        raise ArgumentTypeError(f"found the keyword arguments {', '.join(kwargs)}, expected positional ones only")


def peak_formula(artifact: Artifact) -> Any:
    """The bytes of temporaries of a call, as a SymPy expression of the free sizes."""
    from shlo_disc.expr.sympy_bridge import size_to_sympy  # noqa: PLC0415  a second to import

    count = artifact.given
    known: dict[str, SizeExpr] = dict(zip(artifact.symbols, artifact.raw_sizes, strict=False))
    known |= dict(zip(artifact.symbols[count:], artifact.definitions, strict=True))
    known |= {name: name for name in artifact.free}  # also where the program finds one by a division of a raw size
    return size_to_sympy(artifact.arena_bytes, known)


def _typed(dtype: str, shape: Sequence[SizeExpr]) -> str:
    return f"{dtype}[{', '.join(map(str, shape))}]"


def _few(items: list[str]) -> str:
    return ", ".join(items if len(items) <= 8 else [*items[:6], f"and {len(items) - 6} more"])
