"""A program with bound arguments."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shlo_disc.artifact import Artifact
from shlo_disc.call_signature import Signature, SignaturePart
from shlo_disc.calling import Served, few, refuse_keywords, serve
from shlo_disc.diagnostics import ArgumentTypeError, ShloDiscError
from shlo_disc.program_file.origin import Origin
from shlo_disc.runtime.binding import BoundMemory, check_same
from shlo_disc.runtime.building.machines import NATIVE
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.xla.function import traceable

if TYPE_CHECKING:  # few programs need them
    from shlo_disc.profiling.profile import Profile
    from shlo_disc.program_file.writer import BoundProgram


class Bound(Served):
    """A program with bound arguments: called with the others, also from several threads at once."""

    __slots__ = {
        "__call__": """Run the program: see `Compiled.__call__`.

        Args:
            *args: the arguments that are not bound.
            **kwargs: keyword arguments that are not bound.

        Returns:
            What the compiled program returns.

        Raises:
            RuntimeShapeError: a size breaks a constraint, or does not fit what is bound; before anything is written.
            ArgumentTypeError: a dtype, a rank or a pytree is not the program's; before anything is written.
        """
    }

    def __init__(  # noqa: PLR0913, PLR0917  only this package makes them
        self,
        executable: Runnable,
        signature: Signature | None,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        origin: Origin | None = None,
        restored: Runnable | None = None,
        describe: Callable[[], Artifact] | None = None,
    ) -> None:
        """`restored`: the program with arguments that an earlier process bound, in the places of `args`, `kwargs`.

        `describe`: the artifact with its report, if the executable's has none.
        """
        self._describe = describe or (lambda: executable.artifact)
        self._program = executable
        self._signature, self._origin, self._keywords = signature, origin, tuple(kwargs)
        self._given: SignaturePart | None = None
        self._rest: Signature | None = None
        if signature is not None:
            self._given, rest = signature.split(args, kwargs)
            self._rest = rest.signature
        self._count = len(args)
        self._executable = executable.bind(self._flatten(args, kwargs)) if restored is None else restored
        self.serve_by(serve(self._executable, self._rest))
        self._as_jax: Callable[..., Any] | None = None

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
        self.serve_by(serve(bound, self._rest))
        self._as_jax = None

    def as_jax(self) -> Callable[..., Any]:
        """The program with these bound arguments, for functions that JAX traces: see `Compiled.as_jax`.

        Returns:
            A function of the other arguments. After `rebind` it keeps the old bound arrays, and so do functions that
            were traced with it; another one is returned then.
        """
        if self._as_jax is None:
            self._as_jax = traceable(self._executable, self._rest, self.__call__)
        return self._as_jax

    def save(self, path: str | os.PathLike[str], *, targets: Sequence[str] | None = None) -> None:
        """Write the program with its bound arguments, packed, to a file: see `Compiled.save`.

        Args:
            path: the file to write; one that is there is replaced.
            targets: as of `Compiled.save`; this machine has to be one of them.

        Raises:
            ShloDiscError: as of `Compiled.save`; or the arguments are packed for this very CPU, or in several parts.
            ToolchainError: there is no C++ compiler.
            OSError: the file cannot be written.
        """
        self._save(Path(path), targets)

    def build(
        self,
        directory: str | os.PathLike[str],
        name: str = "model",
        target: str | None = None,
        *,
        weights: Literal["file", "given"] = "file",
    ) -> None:
        """Write the program as a library for C, whose calls do not pass what is bound: see `Compiled.build`.

        Args:
            directory: as of `Compiled.build`.
            name: as of `Compiled.build`.
            target: as of `Compiled.build`.
            weights: "file" writes the bound arguments, packed where that is possible, to `<name>.weights`, too, which
                models map into memory; or they are given arrays. "given" writes no file: they are given arrays alone.

        Raises:
            ShloDiscError: as of `Compiled.build`; or only packed forms of bound arguments are kept, and the target
                reads another form.
            ToolchainError: as of `Compiled.build`.
            OSError: a file cannot be written.
        """
        from shlo_disc.c_package import build_package  # noqa: PLC0415  few programs need it

        build_package(known_origin(self._origin), Path(directory), name, target, self._described(), weights)

    def profile(self, *args: Any, repeat: int = 10, **kwargs: Any) -> Profile:
        """Measure where calls with these arguments spend their time: see `Compiled.profile`.

        Args:
            *args: the arguments that are not bound.
            repeat: how many calls are measured, after a first one that is not.
            **kwargs: keyword arguments that are not bound.

        Returns:
            The profile.

        Raises:
            RuntimeShapeError: as of a call.
            ArgumentTypeError: as of a call.
            ShloDiscError: as of `Compiled.profile`.
        """
        from shlo_disc.profiling.measure import ProfiledCall, profile_call  # noqa: PLC0415  few programs need it

        call = ProfiledCall(self, self._executable, self._rest, args, kwargs)
        return profile_call(call, self._describe(), repeat, cache_dir_of(self._origin))

    def _save(self, path: Path | None, targets: Sequence[str] | None = None) -> bytes:
        from shlo_disc.program_file.writer import save  # noqa: PLC0415  few programs need it

        return save(known_origin(self._origin), self._signature, path, targets, self._described())

    def _described(self) -> BoundProgram:
        """What is bound, for files."""
        from shlo_disc.program_file.writer import BoundProgram  # noqa: PLC0415  few programs need it

        return BoundProgram(self._executable, self._program, self._count, self._keywords)

    def __reduce__(self) -> tuple[Callable[[bytes], Any], tuple[bytes]]:
        return load_function(), (self._save(None),)

    def __repr__(self) -> str:
        artifact = self._executable.artifact
        names = [one.name for k, one in enumerate(artifact.arguments) if k not in self._executable.bound]
        return f"<Bound {artifact.name}({few(names)}), {len(self._executable.bound)} arguments bound>"

    @property
    def memory(self) -> BoundMemory:
        """Bytes of the bound arguments: given, kept, and packed."""
        return self._executable.bound_memory

    @property
    def executable(self) -> Runnable:
        """The flat program, without the arguments that are bound."""
        return self._executable

    @property
    def machine(self) -> str:
        """The CPUs that the machine code is for: see `Compiled.machine`."""
        return machine_of(self._origin)

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
        refuse_keywords(kwargs)
        expected, most = self._count, len(self._program.artifact.arguments)
        if len(args) != expected or len(args) > most:
            wanted = f"at most {most}" if len(args) > most else f"{expected}, as many as are bound"
            raise ArgumentTypeError(f"found {len(args)} arrays to bind, expected {wanted}")
        return dict(enumerate(args))


def known_origin(origin: Origin | None) -> Origin:
    """The origin of a program that is to be saved. Raises `ShloDiscError` if it is not known."""
    if origin is None:
        raise ShloDiscError("found a program that was loaded from parts, expected one that compile or load returned")
    return origin


def machine_of(origin: Origin | None) -> str:
    """The machine that the code of a program is for."""
    return NATIVE if origin is None else origin.machine


def cache_dir_of(origin: Origin | None) -> Path | None:
    """The folder of the cache that a program was compiled with; None for the default one."""
    return None if origin is None else origin.options.cache_dir


def load_function() -> Callable[[bytes], Any]:
    """`shlo_disc.load`, by its name, as it imports this module."""
    return import_module("shlo_disc").load
