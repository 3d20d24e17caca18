"""A program that is ready to run on a GPU."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from shlo_disc.artifact import Argument, Artifact, UnbackedSize
from shlo_disc.diagnostics import ArgumentTypeError, InternalError, ShloDiscError
from shlo_disc.runtime.arguments import check_count, check_sizes, check_type, conform_one
from shlo_disc.runtime.binding import BoundMemory, PackedArray, Span, bound_memory, refuse_donated, span_of
from shlo_disc.runtime.cuda.device import Device, DeviceArray, DeviceMemory, IndexType
from shlo_disc.runtime.cuda.donation import take_on_device
from shlo_disc.runtime.cuda.driver import GpuCall, GpuDriver, GpuVm, has_products
from shlo_disc.runtime.cuda.graphs import GraphCache
from shlo_disc.runtime.cuda.kernel_sets import KernelSets
from shlo_disc.runtime.cuda.plans import GpuPlan, GpuPlans, Shape
from shlo_disc.runtime.cuda.xla import GpuXlaProgram
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.interop import dtype_of, kind_of
from shlo_disc.runtime.library import pointers
from shlo_disc.runtime.steps import BufferPlaces, Observer, has_control_flow, host_calls

_NONE_TAKEN: Mapping[Any, DeviceMemory] = MappingProxyType({})
_OTHER_LIBRARIES = frozenset({"jax", "dlpack"})
_ALIGNED = 16  # bytes that one vectorized access moves

_T = TypeVar("_T")
_Numbered: TypeAlias = Sequence[_T] | Mapping[int, _T]


@dataclass(slots=True)
class _Tally:
    """The number of calls, also those with bound arguments."""

    count: int = 0


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
        self.seconds: Mapping[str, float] = {}
        self.notes: tuple[str, ...] = ()  # what a user should know about how it runs
        self.graphs = None if has_control_flow(artifact.steps) or host_calls(artifact.steps) else graphs
        self._driver, self.kernels = driver, kernels
        self._index: IndexType | None = index
        self._products = has_products(artifact)
        self.has_products = self._products and device.has_cublas
        self._dtypes = tuple(dtype_of(argument.dtype) for argument in artifact.arguments)
        self._result_dtypes = tuple(result.dtype for result in artifact.results)
        self._constants = [device.upload(constant.data) for constant in artifact.constants]
        self.constant_places = pointers([memory.pointer for memory in self._constants])
        self._plans = GpuPlans(artifact, driver.sizes, index)
        self._donates = bool(artifact.donations)
        self._signatures: dict[int, tuple[int, ...]] = {}  # of the plans that were called, by number
        self._calls = _Tally()
        self.nowhere = device.allocate(0)  # where there are no temporaries
        self._brought = tuple(
            [  # the arguments that a call supplies
                (argument, dtype, argument.dtype, len(argument.shape))
                for argument, dtype in zip(artifact.arguments, self._dtypes, strict=True)
            ]
        )
        self._places: Sequence[int] = range(len(self._dtypes))  # their numbers
        self._owners: tuple[object, ...] = ()  # keep bound arrays alive that are not the device's own
        self.held: Mapping[int, DeviceArray] = {}  # what is bound, by number
        self.given: Mapping[int, Span] = {}
        self.like: tuple[Any, ...] = ()  # a bound array of the library whose arrays the results should be
        self._lock = threading.Lock()

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`, without those that are bound.

        Returns arrays of the device's library.

        Takes C-contiguous arrays on the device as they are, copies others there. All temporaries are one allocation;
        each result has its own or that of a donated argument, so that keeping one does not keep the others.
        """
        device = self.device
        bound = self._bind(arrays)
        plan = self._plan(bound, arrays)
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
        graph = None if self.graphs is None else self.graphs.get(key)
        if graph is None:
            owner = (self._constants, arrays, bound, used, self.held, taken, results, arena)
            self._queue(key, self._prepare(plan, self._among(used), results, arena, owner))
        else:
            graph.launch()
        device.hold([*owners, *self._owners] if self._owners else owners)
        with self._lock:
            self._calls.count += 1
            if plan.number not in self._signatures:
                self._signatures[plan.number] = plan.signature
        export = device.export_array
        return tuple([export(*one) for one in zip(results, plan.sizes.shapes, self._result_dtypes, strict=True)])

    def _take(
        self, bound: Sequence[DeviceArray], arrays: Sequence[Any]
    ) -> tuple[Sequence[DeviceArray], Mapping[int, DeviceMemory], Mapping[int | None, DeviceMemory]]:
        """The arrays as the call reads them; the memory that it overwrites, by argument and by result number."""
        taken = take_on_device(self.device, self.artifact.donations, self._among(arrays), self._among(bound))
        every = zip(self._places, bound, strict=True)
        used = [one._replace(pointer=taken[k].pointer) if k in taken else one for k, one in every]
        return used, taken, {one.result: taken[one.argument] for one in self.artifact.donations}

    def _queue(self, key: tuple[int, ...], call: GpuCall) -> None:
        """Run a call whose commands are not recorded yet; record them if its key has come often enough."""

        def run(table: int) -> None:
            self._driver.run(table, call)

        if self.graphs is not None:
            try:
                graph = self.graphs.find(key, lambda: self.device.capture(run, products=self._products))
            except (RuntimeError, InternalError) as error:  # something that this driver cannot record
                graph = self.graphs = None
                self.notes += (f"CUDA graphs are off, recording failed: {error}",)
                warnings.warn(self.notes[-1], RuntimeWarning, stacklevel=2)
            if graph is not None:
                graph.launch()
                return
        run(self.device.table(products=self._products))

    def mirror(
        self,
        arrays: Sequence[Any],
        run: Callable[[Sequence[Any]], tuple[Any, ...]] | None = None,
        *,
        of_jax: bool = False,
    ) -> tuple[object, ...]:
        """Run this, or `run`, and return arrays of the library that the arguments came from.

        Arguments that are bound count, too: here by `like`; `of_jax` is for arrays on the host.
        """
        del of_jax
        return self.device.mirror(run or self, arrays, self.like)

    def bind(self, given: Mapping[int, Any]) -> GpuExecutable:
        """The same program with some arguments bound, by number, which stay on the device."""
        artifact = self.artifact
        refuse_donated(artifact, given)
        held = {k: self._import(artifact.arguments[k], self._dtypes[k], given[k]) for k in sorted(given)}
        check_sizes(artifact, {k: one.shape for k, one in held.items()})
        if held:  # copies are complete before another stream reads them
            self.device.download(next(iter(held.values())).pointer, 0)
        bound = copy(self)
        bound.held = {k: one if one.owner is not None else one._replace(owner=given[k]) for k, one in held.items()}
        bound._places = [k for k in range(len(artifact.arguments)) if k not in held]  # noqa: SLF001  (a copy of ours)
        bound._brought = tuple([self._brought[k] for k in bound._places])  # noqa: SLF001
        bound._plans = self._plans.of_other_arguments()  # noqa: SLF001
        lent = any(self.device.writable(one.owner) is None for one in bound.held.values())
        bound._owners = (bound.held,) if lent else ()  # noqa: SLF001
        bound.given = {k: span_of(given[k]) for k in held}
        bound.like = tuple([array for array in given.values() if kind_of(array) in _OTHER_LIBRARIES])[:1]
        return bound

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound, by number."""
        return {k: one.shape for k, one in self.held.items()}

    @property
    def kept(self) -> tuple[Span, ...]:
        """The spans of the bound arrays: all of them are read."""
        return tuple(self.given.values())

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """Nothing: a GPU's kernels read arrays as they are."""
        return ()

    @property
    def bound_memory(self) -> BoundMemory:
        """The memory of the bound arguments."""
        return bound_memory(self.artifact, self.given, self.kept)

    def prepared(self, argument: Argument, value: Any) -> Any:
        """An array converted to what the program takes, to be bound in several parts, each of which copies it."""
        return value if kind_of(value) in _OTHER_LIBRARIES else conform_one(argument, dtype_of(argument.dtype), value)

    @property
    def for_xla(self) -> GpuXlaProgram:
        """The program as XLA calls it."""
        return GpuXlaProgram(self, self._driver.native)

    @property
    def stats(self) -> Stats:
        """Calls, signatures, and the seconds that compiling took."""
        captured, replayed = (0, 0) if self.graphs is None else (self.graphs.captures, self.graphs.launches)
        signatures = len(set(self._signatures.values()))
        return Stats(1, self._calls.count, signatures, self.seconds, self._driver.kind, captured, replayed)

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs."""
        return self._plan(self._bind(arrays), arrays).sizes.arena_bytes

    def copied(self, argument: Argument, value: Any) -> Any:
        """A copy of a caller's array on the device, converted to what this program takes."""
        dtype = dtype_of(argument.dtype)
        found = self._import(argument, dtype, value)
        memory = self.device.copy(found.pointer, math.prod(found.shape) * dtype.itemsize)
        self.device.hold([value if found.owner is None else found.owner])
        return self.device.export_array(memory, found.shape, found.dtype)

    def upload(self, array: NDArray[Any]) -> DeviceArray:
        """A copy on the device."""
        memory = self.device.upload(array.tobytes())
        return DeviceArray(memory.pointer, array.shape, array.dtype.name, memory)

    def download(self, value: Any) -> NDArray[Any]:
        """A copy on the host."""
        found = value if isinstance(value, DeviceArray) else self.device.import_array(value)
        dtype = dtype_of(found.dtype)
        data = self.device.download(found.pointer, math.prod(found.shape) * dtype.itemsize)
        return np.frombuffer(bytearray(data), dtype).reshape(found.shape)

    def explain_dispatch(self, sizes: Mapping[str, int]) -> str:
        """Raise `ShloDiscError`: products have no schedules on a GPU."""
        del sizes
        raise ShloDiscError("found a program on a GPU, expected one whole program on the CPU")

    def read(self, value: Any) -> int:
        """The only element of an integer array; waits for it if it is on the device."""
        return int(np.asarray(self._on_host(value)).reshape(-1)[0])

    def settled(self, argument: Argument, value: Any, *, is_read: bool) -> Any:
        """An array that many calls take; on the host if its elements are read, so that no call waits for them."""
        del argument
        return self._on_host(value) if is_read else value

    def _on_host(self, array: Any) -> Any:
        """An array whose elements can be read on the host; waits for one that is on the device."""
        if kind_of(array) not in _OTHER_LIBRARIES:
            return array
        return self.download(array)

    def choices(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The variant of every choice, by number, that a call with these arrays takes."""
        bound = self._bind(arrays)
        return self.chosen(self._plan(bound, arrays), [one.pointer for one in self._among(bound)])

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step after it ran, and all buffers as arrays (copies of them)."""
        driver = GpuVm(self.artifact, self.device, observe)
        traced = GpuExecutable(self.artifact, self.device, driver, self.kernels, index=self._index)
        check_count(self.artifact, arrays, self.held)
        return traced(self._among(arrays))

    # -- arguments

    def _among(self, brought: Sequence[Any]) -> Sequence[Any]:
        """All arguments by number: those that a call supplies, and bound ones as they are on the device."""
        if not self.held:
            return brought
        every: dict[int, Any] = {**self.held, **dict(zip(self._places, brought, strict=True))}
        return [every[k] for k in range(len(every))]

    def _bind(self, arrays: Sequence[Any]) -> list[DeviceArray]:
        """The arrays that a call supplies, on the device."""
        if len(arrays) != len(self._brought):
            check_count(self.artifact, arrays, self.held)
        known = self.device.known
        found: list[DeviceArray] = []  # made in a tenth of the time of list[DeviceArray]()
        for array, (argument, dtype, name, rank) in zip(arrays, self._brought):  # noqa: B905  (as many: see above)
            one = known(array)
            if one is None or one.dtype != name or len(one.shape) != rank:
                one = self._import(argument, dtype, array)
            found.append(one)
        return found

    def _import(self, argument: Argument, dtype: np.dtype[np.generic], array: object) -> DeviceArray:
        if kind_of(array) not in _OTHER_LIBRARIES:
            return (
                array
                if isinstance(array, DeviceArray)
                else self.device.import_array(conform_one(argument, dtype, array))
            )
        try:
            found = self.device.import_array(array)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{argument.name}: {error}") from error
        if found.dtype != argument.dtype or len(found.shape) != len(argument.shape):
            check_type(argument, found.dtype, found.shape, same=found.dtype == argument.dtype)
        return found

    # -- plans

    def _plan(self, brought: Sequence[DeviceArray], arrays: Sequence[Any]) -> GpuPlan:
        """The plan for the shapes of the arguments and the sizes read from them; a known plan needs no more checks.

        `brought` are the `arrays` on the device; elements of arrays on the host are read there.
        """
        shapes = tuple([array.shape for array in brought])
        if not self.artifact.unbacked_sizes:
            return self._plans.get(shapes) or self._new_plan(shapes, self._among(brought), ())
        bound = self._among(brought)
        check_sizes(self.artifact, {k: one.shape for k, one in enumerate(bound)}, self.held)
        given = self._among(arrays)
        read = tuple([self._read(size, bound, given) for size in self.artifact.unbacked_sizes])
        key = (*shapes, read)
        return self._plans.get(key) or self._new_plan(key, bound, read)

    def planned(self, shapes: Sequence[Shape]) -> GpuPlan:
        """The plan of calls with arrays of these shapes, of the right ranks, none of whose elements is a size.

        Raises `RuntimeShapeError` as such a call does.
        """
        read = tuple([self._read(size, self.held, self.held) for size in self.artifact.unbacked_sizes])
        key = (*shapes, read) if read else tuple(shapes)
        every = {**self.bound, **dict(zip(self._places, shapes, strict=True))}
        return self._plans.get(key) or self._plans.add(key, every, self.bound, read)

    def _new_plan(self, key: tuple[Shape, ...], bound: Sequence[DeviceArray], read: tuple[int, ...]) -> GpuPlan:
        return self._plans.add(key, {k: one.shape for k, one in enumerate(bound)}, self.bound, read)

    def _read(self, size: UnbackedSize, bound: _Numbered[DeviceArray], arrays: _Numbered[Any]) -> int:
        """An element of an argument; waits for it if it is on the device."""
        number, dtype = size.argument, self._dtypes[size.argument]
        if not isinstance(arrays[number], DeviceArray) and kind_of(arrays[number]) not in _OTHER_LIBRARIES:
            return int(np.asarray(arrays[number]).reshape(-1)[size.element])
        data = self.device.download(bound[number].pointer + size.element * dtype.itemsize, dtype.itemsize)
        return int(np.frombuffer(data, dtype)[0])

    def chosen(self, plan: GpuPlan, addresses: Iterable[int]) -> tuple[int, ...]:
        """The variant of every choice, by number, where the arguments have these addresses."""
        misaligned = frozenset(k for k, address in enumerate(addresses) if address % _ALIGNED)
        if (choices := plan.choices.get(misaligned)) is None:
            symbols = plan.sizes.symbols[: len(self.artifact.symbols)]
            choices = plan.choices[misaligned] = self.kernels.of(plan.index).table.choose(symbols, misaligned)
        return choices

    def _prepare(
        self,
        plan: GpuPlan,
        bound: Sequence[DeviceArray],
        results: Sequence[DeviceMemory],
        arena: DeviceMemory,
        owner: object,
    ) -> GpuCall:
        """`owner` keeps all of the memory alive."""
        kernels = self.kernels.of(plan.index)
        places = BufferPlaces(
            pointers([array.pointer for array in bound]),
            pointers([memory.pointer for memory in results]),
            self.constant_places,
            arena.pointer,
        )
        choices = self.chosen(plan, [array.pointer for array in bound])
        return GpuCall(places, plan.sizes.symbols, kernels.handles, kernels.functions, choices, owner)
