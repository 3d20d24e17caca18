"""A program that is ready to run on a GPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Argument, Artifact
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.runtime.arguments import conform_one
from shlo_disc.runtime.binding import BoundMemory, PackedArray, Span, bound_memory
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.cuda.arguments import GpuArguments
from shlo_disc.runtime.cuda.device import Device, DeviceArray, DeviceMemory, IndexType
from shlo_disc.runtime.cuda.donation import take_on_device
from shlo_disc.runtime.cuda.driver import GpuCall, GpuDriver, GpuVm, has_products
from shlo_disc.runtime.cuda.graphs import GraphCache
from shlo_disc.runtime.cuda.kernel_sets import KernelSets
from shlo_disc.runtime.cuda.plans import GpuPlan, GpuPlans
from shlo_disc.runtime.cuda.queueing import CallQueue
from shlo_disc.runtime.cuda.step_times import TimedGpuVm
from shlo_disc.runtime.cuda.transfer import ArrayTransfer, is_foreign
from shlo_disc.runtime.cuda.xla import GpuXlaProgram
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.library import pointers
from shlo_disc.runtime.machine_rates import Processor
from shlo_disc.runtime.step_times import Note
from shlo_disc.runtime.steps import BufferPlaces, Observer

_NONE_TAKEN: Mapping[Any, DeviceMemory] = MappingProxyType({})


class _CallCounter:
    """Counts calls and their signatures, also of calls with bound arguments."""

    def __init__(self) -> None:
        self.calls = 0
        self._signatures: dict[int, tuple[int, ...]] = {}  # by the numbers of plans
        self._lock = threading.Lock()

    @property
    def signatures(self) -> int:
        """The number of distinct signatures."""
        return len(set(self._signatures.values()))

    def add(self, plan: GpuPlan) -> None:
        """Count a call."""
        with self._lock:
            self.calls += 1
            if plan.number not in self._signatures:
                self._signatures[plan.number] = plan.signature


class GpuExecutable:
    """An `Executable` on a GPU. Threads that call it may have current streams of their own."""

    is_on_host = False
    entry = None
    log = None

    def __init__(
        self,
        artifact: Artifact,
        device: Device,
        driver: GpuDriver,
        kernels: KernelSets,
        *,
        graphs: GraphCache | None = None,
        index: IndexType | None = None,
    ) -> None:
        """`index` forces the width of indices, for tests."""
        self.artifact = artifact
        self.device = device
        self.kernels = kernels
        self.seconds: Mapping[str, float] = {}
        self.notes: tuple[str, ...] = ()  # what a user should know about how it runs
        self.has_products = has_products(artifact) and device.has_cublas
        self._constants = [device.upload(constant.data) for constant in artifact.constants]
        self.constant_places = pointers([memory.pointer for memory in self._constants])
        self.nowhere = device.allocate(0)  # where there are no temporaries
        self._transfer = ArrayTransfer(device)
        self.arguments = GpuArguments(artifact, self._transfer, {}, {})
        self.plans = GpuPlans(self.arguments, artifact, driver.sizes, index)
        self._index: IndexType | None = index
        self._queue = CallQueue(artifact, device, driver, graphs)
        self._counter = _CallCounter()
        self._result_dtypes = tuple(result.dtype for result in artifact.results)
        self._donates = bool(artifact.donations)

    # -- calls

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`, without those that are bound.

        Returns arrays of the device's library.

        Takes C-contiguous arrays on the device as they are, copies others there. All temporaries are one allocation;
        each result has its own or that of a donated argument, so that keeping one does not keep the others.
        """
        device, arguments = self.device, self.arguments
        bound = arguments.on_device(arrays)
        plan = self.plans.of_call(bound, arrays)
        used, taken, kept = self._take(bound, arrays) if self._donates else (bound, _NONE_TAKEN, _NONE_TAKEN)
        addresses, owners = [plan.number], arrays
        results: list[DeviceMemory] = []
        for one in used:
            addresses.append(one.pointer)
            if one.owner is not None:
                owners = [array if x.owner is None else x.owner for x, array in zip(bound, arrays, strict=True)]
        for number, size in enumerate(plan.result_bytes):
            memory = kept.get(number) or device.allocate(size)
            results.append(memory)
            addresses.append(memory.pointer)
        arena = device.allocate(plan.sizes.arena_bytes) if plan.sizes.arena_bytes else self.nowhere
        addresses.append(arena.pointer)
        key = tuple(addresses)
        if not self._queue.replay(key):
            owner = (self._constants, arrays, bound, used, arguments.held, taken, results, arena)
            call = self._prepare(plan, arguments.with_bound(used), results, arena, owner)
            self._queue.run(key, call, self._add_note)
        device.hold([*owners, *arguments.owners] if arguments.owners else owners)
        self._counter.add(plan)
        export = device.export_array
        return tuple([export(*one) for one in zip(results, plan.sizes.shapes, self._result_dtypes, strict=True)])

    def _take(
        self, bound: Sequence[DeviceArray], arrays: Sequence[Any]
    ) -> tuple[Sequence[DeviceArray], Mapping[int, DeviceMemory], Mapping[int | None, DeviceMemory]]:
        """The arrays as the call reads them; the memory that it overwrites, by argument and by result number."""
        arguments, donations = self.arguments, self.artifact.donations
        taken = take_on_device(self.device, donations, arguments.with_bound(arrays), arguments.with_bound(bound))
        every = zip(arguments.places, bound, strict=True)
        used = [one._replace(pointer=taken[k].pointer) if k in taken else one for k, one in every]
        return used, taken, {one.result: taken[one.argument] for one in donations}

    def _prepare(
        self,
        plan: GpuPlan,
        every: Sequence[DeviceArray],
        results: Sequence[DeviceMemory],
        arena: DeviceMemory,
        owner: object,
    ) -> GpuCall:
        """A call on `every` argument. `owner` keeps all of the memory alive."""
        kernels = self.kernels.of(plan.index)
        places = BufferPlaces(
            pointers([array.pointer for array in every]),
            pointers([memory.pointer for memory in results]),
            self.constant_places,
            arena.pointer,
        )
        choices = self.kernels.chosen(plan, [array.pointer for array in every])
        return GpuCall(places, plan.sizes.symbols, kernels.handles, kernels.functions, choices, owner)

    def _add_note(self, note: str) -> None:
        self.notes += (note,)

    def mirror(
        self,
        arrays: Sequence[Any],
        run: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None,
        *,
        of_jax: bool = False,
    ) -> tuple[object, ...]:
        """Run this, or `run`, and return arrays of the library that the arguments came from.

        Arguments that are bound count, too: here by `arguments.like`; `of_jax` is for arrays on the host.
        """
        del of_jax
        return self.device.mirror(run or self, arrays, self.arguments.like)

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step after it ran, and all buffers as arrays (copies of them)."""
        driver = GpuVm(self.artifact, self.device, observe)
        traced = GpuExecutable(self.artifact, self.device, driver, self.kernels, index=self._index)
        self.arguments.check_count(arrays)
        return traced(self.arguments.with_bound(arrays))

    def timed(self, note: Note, *, apart: bool = False) -> GpuExecutable:
        """The same program with the same arguments bound, that notes the times of the steps of each call."""
        del apart  # there are no groups of launches
        driver = TimedGpuVm(self.artifact, self.device, note)
        timed = copy(self)
        timed._queue = CallQueue(self.artifact, self.device, driver, None)  # noqa: SLF001  (a copy of ours)
        timed._counter = _CallCounter()  # noqa: SLF001
        return timed

    def processor(self, cache: Cache) -> Processor:
        """This GPU. Its limits are not measured."""
        del cache
        return Processor(self.device.name, None)

    def wait(self) -> None:
        """Wait until the current stream has completed its queued work."""
        self.device.wait()

    @property
    def for_xla(self) -> GpuXlaProgram:
        """The program as XLA calls it."""
        return GpuXlaProgram(self, self._queue.driver.native)

    # -- bound arguments

    def bind(self, given: Mapping[int, Any]) -> GpuExecutable:
        """The same program with some arguments bound, by number, which stay on the device."""
        bound = copy(self)
        bound.arguments = self.arguments.bind(given)
        bound.plans = self.plans.of_other_arguments(bound.arguments)
        bound._queue = copy(self._queue)  # noqa: SLF001  (a copy of ours)
        return bound

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound, by number."""
        return self.arguments.bound

    @property
    def kept(self) -> tuple[Span, ...]:
        """The spans of the bound arrays: all of them are read."""
        return tuple(self.arguments.given.values())

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """Nothing: a GPU's kernels read arrays as they are."""
        return ()

    @property
    def bound_memory(self) -> BoundMemory:
        """The memory of the bound arguments."""
        return bound_memory(self.artifact, self.arguments.given, self.kept)

    # -- arrays on the device and on the host

    def prepared(self, argument: Argument, value: Any) -> Any:
        """An array converted to what the program takes, to be bound in several parts, each of which copies it."""
        return value if is_foreign(value) else conform_one(argument, dtype_of(argument.dtype), value)

    def copied(self, argument: Argument, value: Any) -> Any:
        """A copy of a caller's array on the device, converted to what this program takes."""
        return self._transfer.copied(argument, value)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """A copy on the device."""
        return self._transfer.upload(array)

    def download(self, value: Any) -> NDArray[Any]:
        """A copy on the host."""
        return self._transfer.download(value)

    def read(self, value: Any) -> int:
        """The only element of an integer array; waits for it if it is on the device."""
        return int(np.asarray(self._transfer.on_host(value)).reshape(-1)[0])

    def settled(self, argument: Argument, value: Any, *, is_read: bool) -> Any:
        """An array that many calls take; on the host if its elements are read, so that no call waits for them."""
        del argument
        return self._transfer.on_host(value) if is_read else value

    # -- statistics and explanations

    @property
    def graphs(self) -> GraphCache | None:
        """The recorded calls; None if calls are not recorded."""
        return self._queue.graphs

    @property
    def stats(self) -> Stats:
        """Calls, signatures, and the seconds that compiling took."""
        graphs, counter = self.graphs, self._counter
        captured, replayed = (0, 0) if graphs is None else (graphs.captures, graphs.launches)
        kind = self._queue.driver.kind
        return Stats(1, counter.calls, counter.signatures, self.seconds, kind, captured, replayed)

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs."""
        return self.plans.of_call(self.arguments.on_device(arrays), arrays).sizes.arena_bytes

    def explain_dispatch(self, sizes: Mapping[str, int]) -> str:
        """Raise `ShloDiscError`: products have no schedules on a GPU."""
        del sizes
        raise ShloDiscError("found a program on a GPU, expected one whole program on the CPU")

    def choices(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The variant of every choice, by number, that a call with these arrays takes."""
        bound = self.arguments.on_device(arrays)
        plan = self.plans.of_call(bound, arrays)
        return self.kernels.chosen(plan, [one.pointer for one in self.arguments.with_bound(bound)])
