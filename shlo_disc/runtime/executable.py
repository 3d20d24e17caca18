"""The interface of a program that is ready to run, on any device."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from numpy.typing import NDArray

from shlo_disc.artifact import Argument, Artifact
from shlo_disc.records import record
from shlo_disc.runtime.binding import BoundMemory, PackedArray, Span
from shlo_disc.runtime.dispatch import Log
from shlo_disc.runtime.entry import Entry
from shlo_disc.runtime.steps import Observer
from shlo_disc.runtime.xla.platform import XlaProgram

if TYPE_CHECKING:  # few programs are profiled
    from shlo_disc.runtime.building.cache import Cache
    from shlo_disc.runtime.machine_rates import Processor
    from shlo_disc.runtime.step_times import Note


@record
class Stats:
    """Counters and times of an executable."""

    compilations: int
    calls: int
    signatures: int  # distinct sizes it was called with
    seconds: Mapping[str, float]  # of each stage of the compiler
    driver: Literal["c", "vm"] = "c"  # what runs the host program
    graphs: int = 0  # graphs of launches that were recorded
    replays: int = 0  # calls that launched one graph


class Executable(Protocol):
    """Runs one artifact at any sizes. May be called from several threads at once.

    Arrays are those of the device's library. Arguments may be bound, by number: calls supply the others.
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

        `of_jax`: an argument that is bound elsewhere is a JAX array.
        """
        ...

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step after it ran, and all buffers as arrays."""
        ...

    def timed(self, note: Note, *, apart: bool = False) -> Executable:
        """The same program, to be called by one thread at a time, that notes the times of the steps of each call.

        `apart`: the launches of each group run one after the other, and are numbered among `leaves`.

        Raises `ShloDiscError` if it was loaded with a runtime that cannot.
        """
        ...

    def processor(self, cache: Cache) -> Processor:
        """What it runs on; limits that are not in the cache yet are measured."""
        ...

    def wait(self) -> None:
        """Wait until everything is computed that this thread has called programs for."""
        ...

    def bind(self, given: Mapping[int, Any]) -> Executable:
        """The same program with some arguments bound, by number. Nothing is compiled; calls are counted together."""
        ...

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs."""
        ...

    def explain_dispatch(self, sizes: Mapping[str, int]) -> str:
        """The schedule and time of each product at these sizes. Raises `ShloDiscError` if they are not known."""
        ...

    def copied(self, argument: Argument, value: Any) -> Any:
        """A copy of a caller's array, converted to what this program takes."""
        ...

    def prepared(self, argument: Argument, value: Any) -> Any:
        """An array converted to what the program takes, to be bound in several parts."""
        ...

    def settled(self, argument: Argument, value: Any, *, is_read: bool) -> Any:
        """An array converted once for many calls; on the host if its elements are read (`is_read`)."""
        ...

    def read(self, value: Any) -> int:
        """The only element of an integer array; waits for it if it is not on the host."""
        ...

    def upload(self, array: NDArray[Any]) -> Any:
        """A copy of an array in the memory of kernels, as calls take it."""
        ...

    def download(self, value: Any) -> NDArray[Any]:
        """An array that `upload` or a call returned, on the host."""
        ...

    @property
    def is_on_host(self) -> bool:
        """Whether kernels compute in the host's memory."""
        ...

    @property
    def for_xla(self) -> XlaProgram:
        """The program as XLA calls it, inside of functions that JAX traces."""
        ...

    @property
    def entry(self) -> Entry | None:
        """The entry in C that serves whole calls, if there is one."""
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
        """The spans of the bound arrays that calls read unpacked."""
        ...

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """The packed forms of bound arguments."""
        ...

    @property
    def bound_memory(self) -> BoundMemory:
        """The memory of the bound arguments."""
        ...
