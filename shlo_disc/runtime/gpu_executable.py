"""A program that is ready to run on a GPU."""

from __future__ import annotations

import math
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shlo_disc.artifact import Argument, Artifact, Reading
from shlo_disc.diagnostics import ArgumentTypeError, InternalError, ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.arguments import check_count, check_sizes, check_type, conform_one
from shlo_disc.runtime.binding import BoundMemory, PackedArray, Span, bound_memory, refuse_donated, span_of
from shlo_disc.runtime.build import Builder
from shlo_disc.runtime.cache import open_cache
from shlo_disc.runtime.device import Device, DeviceArray, IndexType, Memory
from shlo_disc.runtime.donation import take_on_device
from shlo_disc.runtime.driver import Sizes
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.gpu_driver import (
    GpuCall,
    GpuDriver,
    GpuHostDriver,
    GpuVm,
    has_products,
    is_wide,
)
from shlo_disc.runtime.graphs import GraphCache
from shlo_disc.runtime.interop import dtype_of, kind_of
from shlo_disc.runtime.kernel_sets import KernelSets
from shlo_disc.runtime.launch_table import Chooser, cheapest
from shlo_disc.runtime.library import open_program, pointers
from shlo_disc.runtime.steps import Observer, Places, has_control_flow, host_calls
from shlo_disc.runtime.toolchain import find_compiler

_PLANS_KEPT = 4096
_OTHER_LIBRARIES = frozenset({"jax", "dlpack"})
# The host program is long and does little: of a launch's microseconds it takes nanoseconds even so, and T5's compiles
# in 0.24 s instead of 1.8 s.
_HOST_OPTIMIZE = 0
_ALIGNED = 16  # bytes that one vectorized access moves


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a call needs that depends on its sizes alone; and the choices, by which arguments are not aligned."""

    sizes: Sizes
    signature: tuple[int, ...]  # all sizes
    index: IndexType
    result_bytes: tuple[int, ...]
    choices: dict[frozenset[int], tuple[int, ...]] = field(default_factory=dict[frozenset[int], tuple[int, ...]])


@dataclass(slots=True)
class _Tally:
    """Calls, those with bound arguments too."""

    count: int = 0


class GpuExecutable:
    """Runs one artifact at any sizes. May be called from several threads at once, each with its own current stream."""

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
        self._driver, self._kernels = driver, kernels
        self._index: IndexType | None = index
        self._products = has_products(artifact)
        self._dtypes = tuple(dtype_of(argument.dtype) for argument in artifact.arguments)
        self._constants = [device.upload(constant.data) for constant in artifact.constants]
        self._places = pointers([memory.pointer for memory in self._constants])
        self._plans: dict[tuple[tuple[int, ...], ...], _Plan] = {}
        self._signatures: set[tuple[int, ...]] = set()
        self._calls = _Tally()
        self.held: Mapping[int, DeviceArray] = {}  # what is bound, by number
        self.given: Mapping[int, Span] = {}
        self.like: tuple[Any, ...] = ()  # a bound array of the library whose arrays the results should be
        self._lock = threading.Lock()

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`, without those that are bound.

        Returns arrays of the device's library.

        Takes C-contiguous arrays on the device as they are, copies others there. All temporaries are one allocation;
        each result is one of its own, so that who keeps one does not keep the others, or a donated argument's.
        """
        device = self.device
        arrays = self._everything(arrays)
        bound = self._bind(arrays)
        plan = self._plan(bound, arrays)
        taken = take_on_device(device, self.artifact.donations, arrays, bound)
        used = [one._replace(pointer=taken[k].pointer) if k in taken else one for k, one in enumerate(bound)]
        kept = {one.result: taken[one.argument] for one in self.artifact.donations}
        results = [kept.get(k) or device.allocate(size) for k, size in enumerate(plan.result_bytes)]
        arena = device.allocate(plan.sizes.arena_bytes)
        call = self._prepare(plan, used, results, arena, (self._constants, arrays, bound, taken, results, arena))
        self._queue(call, plan)
        device.hold([array if one.owner is None else one.owner for one, array in zip(bound, arrays, strict=True)])
        with self._lock:
            self._calls.count += 1
            self._signatures.add(plan.signature)
        return tuple(
            device.export_array(memory, shape, result.dtype)
            for memory, shape, result in zip(results, plan.sizes.shapes, self.artifact.results, strict=True)
        )

    def _queue(self, call: GpuCall, plan: _Plan) -> None:
        """Run a call, through a graph if it has come with these sizes and addresses before."""

        def run(table: int) -> None:
            self._driver.run(table, call)

        if self.graphs is not None:
            places = call.places
            key = (plan.signature, bytes(places.arguments), bytes(places.results), places.arena)
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
        """Run this, or `run`, and return arrays of the library that the arguments came from, as the device knows it.

        Arguments that are bound count too, which `of_jax` says of arrays on the host.
        """
        del of_jax
        run, brought = run or self, len(arrays)
        return self.device.mirror(lambda every: run(every[:brought]), [*arrays, *self.like])

    def bind(self, given: Mapping[int, Any]) -> GpuExecutable:
        """The same program with some arguments bound, by number, which stay on the device."""
        artifact = self.artifact
        refuse_donated(artifact, given)
        held = {k: self._import(artifact.arguments[k], self._dtypes[k], given[k]) for k in sorted(given)}
        check_sizes(artifact, {k: one.shape for k, one in held.items()})
        if held:  # what is copied is there before another stream reads it
            self.device.download(next(iter(held.values())).pointer, 0)
        bound = copy(self)
        bound.held = {k: one if one.owner is not None else one._replace(owner=given[k]) for k, one in held.items()}
        bound.given = {k: span_of(given[k]) for k in held}
        bound.like = tuple([array for array in given.values() if kind_of(array) in _OTHER_LIBRARIES])[:1]
        return bound

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound, by number."""
        return {k: one.shape for k, one in self.held.items()}

    @property
    def kept(self) -> tuple[Span, ...]:
        """Where the bound arrays are: all of them are read."""
        return tuple(self.given.values())

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """Nothing: a GPU's kernels read arrays as they are."""
        return ()

    @property
    def bound_memory(self) -> BoundMemory:
        """What the bound arguments take."""
        return bound_memory(self.artifact, self.given, self.kept)

    def prepared(self, argument: Argument, value: Any) -> Any:
        """An array as the program takes it, to be bound in several parts, each of which copies it to the device."""
        return value if kind_of(value) in _OTHER_LIBRARIES else conform_one(argument, dtype_of(argument.dtype), value)

    @property
    def stats(self) -> Stats:
        """Calls, signatures, and the seconds that compiling took."""
        captured, replayed = (0, 0) if self.graphs is None else (self.graphs.captures, self.graphs.launches)
        return Stats(1, self._calls.count, len(self._signatures), self.seconds, self._driver.kind, captured, replayed)

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs."""
        arrays = self._everything(arrays)
        return self._plan(self._bind(arrays), arrays).sizes.arena_bytes

    def copied(self, argument: Argument, value: Any) -> Any:
        """An array of the caller's as this program would take it, in memory of its own on the device."""
        dtype = dtype_of(argument.dtype)
        found = self._import(argument, dtype, value)
        memory = self.device.copy(found.pointer, math.prod(found.shape) * dtype.itemsize)
        self.device.hold([value if found.owner is None else found.owner])
        return self.device.export_array(memory, found.shape, found.dtype)

    def read(self, value: Any) -> int:
        """The only element of an integer. One that is on the device is waited for."""
        return int(np.asarray(self._on_host(value)).reshape(-1)[0])

    def settled(self, argument: Argument, value: Any, *, is_read: bool) -> Any:
        """An array that many calls take: where its elements are read it is on the host, and nobody waits for them."""
        del argument
        return self._on_host(value) if is_read else value

    def _on_host(self, array: Any) -> Any:
        """An array where its elements are read without waiting; one that is on the device is waited for."""
        if kind_of(array) not in _OTHER_LIBRARIES:
            return array
        found = self.device.import_array(array)
        dtype = dtype_of(found.dtype)
        data = self.device.download(found.pointer, math.prod(found.shape) * dtype.itemsize)
        return np.frombuffer(data, dtype).reshape(found.shape)

    def choices(self, arrays: Sequence[Any]) -> tuple[int, ...]:
        """The variant of every choice, by number, that a call with these arrays takes."""
        arrays = self._everything(arrays)
        bound = self._bind(arrays)
        return self._choose(self._plan(bound, arrays), bound)

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step after it ran, and all buffers as arrays (copies of them)."""
        driver = GpuVm(self.artifact, self.device, observe)
        traced = GpuExecutable(self.artifact, self.device, driver, self._kernels, index=self._index)
        return traced(self._everything(arrays))

    # -- arguments

    def _everything(self, arrays: Sequence[Any]) -> Sequence[Any]:
        """All arguments by number; those which are bound as they are on the device."""
        check_count(self.artifact, arrays, self.held)
        if not self.held:
            return arrays
        brought = iter(arrays)
        return [self.held[k] if k in self.held else next(brought) for k in range(len(self._dtypes))]

    def _bind(self, arrays: Sequence[Any]) -> list[DeviceArray]:
        artifact = self.artifact
        return [self._import(*one) for one in zip(artifact.arguments, self._dtypes, arrays, strict=True)]

    def _import(self, argument: Argument, dtype: np.dtype[np.generic], array: object) -> DeviceArray:
        if isinstance(array, DeviceArray):
            return array
        if kind_of(array) not in _OTHER_LIBRARIES:
            return self.device.import_array(conform_one(argument, dtype, array))
        try:
            found = self.device.import_array(array)
        except ArgumentTypeError as error:
            raise ArgumentTypeError(f"{argument.name}: {error}") from error
        if found.dtype != argument.dtype or len(found.shape) != len(argument.shape):
            check_type(argument, found.dtype, found.shape, same=found.dtype == argument.dtype)
        return found

    # -- plans

    def _plan(self, bound: Sequence[DeviceArray], arrays: Sequence[Any]) -> _Plan:
        """The plan for the shapes of the arguments and what is read from them; what came before is known to be right.

        `arrays` are what is `bound`: of those that are on the host, elements are read there.
        """
        shapes = tuple([array.shape for array in bound])
        artifact = self.artifact
        if artifact.readings:
            check_sizes(artifact, dict(enumerate(shapes)), self.held)
        read = tuple([self._read(reading, bound, arrays) for reading in artifact.readings])
        key = (*shapes, read)
        if (found := self._plans.get(key)) is not None:
            return found
        check_sizes(artifact, dict(enumerate(shapes)), self.held)
        raw = (*(shapes[argument][axis] for argument, axis in artifact.raw), *read)
        sizes = self._driver.sizes(raw)
        symbols = dict(zip(artifact.symbols, sizes.symbols, strict=False))
        index: IndexType = self._index or ("int64_t" if is_wide(artifact, symbols) else "int32_t")
        wanted = zip(artifact.results, sizes.shapes, strict=True)
        plan = _Plan(
            sizes, tuple(sizes.symbols), index, tuple(math.prod(s) * dtype_of(r.dtype).itemsize for r, s in wanted)
        )
        if len(self._plans) >= _PLANS_KEPT:
            self._plans = {}
        self._plans[key] = plan
        return plan

    def _read(self, reading: Reading, bound: Sequence[DeviceArray], arrays: Sequence[Any]) -> int:
        """An element of an argument. One that is on the device is waited for."""
        number, dtype = reading.argument, self._dtypes[reading.argument]
        if not isinstance(arrays[number], DeviceArray) and kind_of(arrays[number]) not in _OTHER_LIBRARIES:
            return int(np.asarray(arrays[number]).reshape(-1)[reading.element])
        data = self.device.download(bound[number].pointer + reading.element * dtype.itemsize, dtype.itemsize)
        return int(np.frombuffer(data, dtype)[0])

    def _choose(self, plan: _Plan, bound: Sequence[DeviceArray]) -> tuple[int, ...]:
        misaligned = frozenset(k for k, array in enumerate(bound) if array.pointer % _ALIGNED)
        if (choices := plan.choices.get(misaligned)) is None:
            symbols = plan.sizes.symbols[: len(self.artifact.symbols)]
            choices = plan.choices[misaligned] = self._kernels.of(plan.index).table.choose(symbols, misaligned)
        return choices

    def _prepare(
        self, plan: _Plan, bound: Sequence[DeviceArray], results: Sequence[Memory], arena: Memory, owner: object
    ) -> GpuCall:
        """`owner` keeps all of the memory alive."""
        kernels = self._kernels.of(plan.index)
        places = Places(
            pointers([array.pointer for array in bound]),
            pointers([memory.pointer for memory in results]),
            self._places,
            arena.pointer,
        )
        choices = self._choose(plan, bound)
        return GpuCall(places, plan.sizes.symbols, kernels.handles, kernels.functions, choices, owner)


def build_gpu(
    artifact: Artifact,
    options: CompileOptions,
    device: Device,
    seconds: Mapping[str, float] | None = None,
    *,
    chooser: Chooser = cheapest,
    index: IndexType | None = None,
) -> GpuExecutable:
    """Compile an artifact's host program and kernels, or find them in the cache, and load them.

    Without a C++ compiler the VM takes the host program's place, unless the user names a compiler.
    """
    started = time.perf_counter()
    kernels = KernelSets(artifact, device, chooser)
    with ThreadPoolExecutor(1) as side:  # the host program is compiled while the kernels are
        hosting = side.submit(_driver, artifact, options, device)
        kernels.of(index or "int32_t")
        driver, note = hosting.result()
    built = time.perf_counter()
    graphs = GraphCache() if options.cuda_graphs else None
    executable = GpuExecutable(artifact, device, driver, kernels, graphs=graphs, index=index)
    missing = has_products(artifact) and not device.has_cublas
    library = "cuBLAS is missing: all matrix products run on generated kernels" if missing else ""
    executable.notes = tuple(filter(None, (note, library)))
    loaded = time.perf_counter()
    executable.seconds = {**(seconds or {}), "build": built - started, "load": loaded - built}
    return executable


def _driver(artifact: Artifact, options: CompileOptions, device: Device) -> tuple[GpuDriver, str]:
    """Who queues the commands, and why it is not the one that the options name."""
    vm = GpuVm(artifact, device)
    if options.driver == "vm":
        return vm, ""
    try:
        compiler = find_compiler(options.compiler)
    except ToolchainError as error:
        if options.compiler is not None:
            raise
        return vm, f"the host program runs on the VM, which takes longer per launch: {error}"
    builder = Builder(compiler, _HOST_OPTIMIZE, open_cache(options.cache_dir))
    try:
        program = open_program(builder.gpu_host(artifact))
    except FileNotFoundError:  # another process made room in the cache in this moment
        program = open_program(builder.gpu_host(artifact))
    return GpuHostDriver(artifact, program, device), ""
