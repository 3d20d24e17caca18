"""What a program that is ready to run can do, whichever device it is on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from numpy.typing import NDArray

from shlo_disc.artifact import Argument, Artifact
from shlo_disc.runtime.binding import BoundMemory, PackedArray, Span
from shlo_disc.runtime.dispatch import Log
from shlo_disc.runtime.entry import Entry
from shlo_disc.runtime.steps import Observer


@dataclass(frozen=True, slots=True)
class Stats:
    """What an executable did so far."""

    compilations: int
    calls: int
    signatures: int  # distinct sizes it was called with
    seconds: Mapping[str, float]  # of each stage of the compiler
    driver: Literal["c", "vm"] = "c"  # what runs the host program
    graphs: int = 0  # graphs of launches that were recorded
    replays: int = 0  # calls that were one launch of a graph


class Executable(Protocol):
    """Runs one artifact at any sizes. May be called from several threads at once.

    Arrays are those of the device's library. Arguments may be bound, by number: calls bring the others.
    """

    artifact: Artifact
    seconds: Mapping[str, float]  # of each stage of the compiler
    notes: tuple[str, ...]  # what a user should know about how it runs

    def __call__(self, arrays: Sequence[Any], /) -> tuple[Any, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`, without those that are bound.

        Raises `RuntimeShapeError` or `ArgumentTypeError` before anything is written.
        """
        ...

    def mirror(
        self,
        arrays: Sequence[Any],
        run: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None,
        *,
        of_jax: bool = False,
    ) -> tuple[object, ...]:
        """Run this, or `run`, and return arrays of the library that the arguments came from.

        `of_jax`: some argument that is bound elsewhere is an array of JAX.
        """
        ...

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step after it ran, and all buffers as arrays."""
        ...

    def bind(self, given: Mapping[int, Any]) -> Executable:
        """The same program with some arguments bound, by number. Nothing is compiled; calls are counted together."""
        ...

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs."""
        ...

    def explain_dispatch(self, sizes: Mapping[str, int]) -> str:
        """What each product takes at these sizes, and how long that is. Raises `ShloDiscError` if it is not known."""
        ...

    def copied(self, argument: Argument, value: Any) -> Any:
        """An array of the caller's as this program would take it, in memory of its own."""
        ...

    def prepared(self, argument: Argument, value: Any) -> Any:
        """An array as the program takes it, to be bound in several parts."""
        ...

    def settled(self, argument: Argument, value: Any, *, is_read: bool) -> Any:
        """An array that many calls take, as they take it: where its elements are read (`is_read`), on the host."""
        ...

    def read(self, value: Any) -> int:
        """The only element of an integer; one that is not on the host is waited for."""
        ...

    def upload(self, array: NDArray[Any]) -> Any:
        """A copy of an array in the memory that kernels compute in, as calls take it."""
        ...

    def download(self, value: Any) -> NDArray[Any]:
        """The array that `upload` or a call has given, on the host."""
        ...

    @property
    def is_on_host(self) -> bool:
        """Whether kernels compute in the host's memory."""
        ...

    @property
    def entry(self) -> Entry | None:
        """The function of C that serves a whole call, if there is one."""
        ...

    @property
    def log(self) -> Log | None:
        """The schedules that calls took, if they are traced."""
        ...

    @property
    def stats(self) -> Stats:
        """Calls, signatures, and the seconds that compiling took."""
        ...

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound, by number."""
        ...

    @property
    def kept(self) -> tuple[Span, ...]:
        """Where the bound arrays are that calls read as they are."""
        ...

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """What is packed of bound arguments."""
        ...

    @property
    def bound_memory(self) -> BoundMemory:
        """What the bound arguments take."""
        ...
