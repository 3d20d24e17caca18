"""A program that is ready to run on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from ctypes import py_object
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shlo_disc.artifact import Argument, Artifact
from shlo_disc.bytecode import HostCode, encode
from shlo_disc.diagnostics import InternalError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.arguments import check_sizes, conform, conform_each, conform_one
from shlo_disc.runtime.binding import (
    Binding,
    BoundMemory,
    PackedArray,
    SavedBinding,
    Span,
    bind_arrays,
    bound_memory,
    restore_binding,
)
from shlo_disc.runtime.cpu.lapack import bind_lapack
from shlo_disc.runtime.cpu.vm import Vm
from shlo_disc.runtime.cpu.xla import CpuXlaProgram
from shlo_disc.runtime.dispatch import Log, TracingDriver, explain_dispatch
from shlo_disc.runtime.donation import own, take
from shlo_disc.runtime.driver import CallPlan, Driver, HostDriver
from shlo_disc.runtime.entry import Entry, NativeProgram, open_entry, refusal
from shlo_disc.runtime.executable import Stats
from shlo_disc.runtime.interop import Array, dtype_of, jax_types, to_jax
from shlo_disc.runtime.library import (
    Binder,
    LoadedProgram,
    Runtime,
    open_runtime,
    pointers,
    words,
)
from shlo_disc.runtime.steps import Observer, host_calls
from shlo_disc.runtime.threads import default_threads

if TYPE_CHECKING:  # few programs are profiled
    from shlo_disc.runtime.building.cache import Cache
    from shlo_disc.runtime.machine_rates import Processor
    from shlo_disc.runtime.step_times import Note

_PLANS_KEPT = 4096


class _CallFrame:
    """The C arrays of one call. Used by one call at a time, and kept for the next."""

    def __init__(self, results: int, binding: Binding) -> None:
        self.results = pointers([0] * results)
        self.calls = 0
        self.begin(binding)

    def begin(self, binding: Binding) -> None:
        """Copy the initial frame of a binding, without keeping the binding alive."""
        self.token = binding.token
        self.pointers = type(binding.addresses).from_buffer_copy(binding.addresses)
        self.raw = type(binding.raw).from_buffer_copy(binding.raw)
        self.key = memoryview(self.raw).cast("B")


class CpuExecutable:
    """An `Executable` whose arrays are in the host's memory."""

    is_on_host = True

    def __init__(self, artifact: Artifact, program: LoadedProgram, runtime: Runtime, driver: Driver) -> None:
        self.artifact = artifact
        self.program = program
        self.runtime = runtime
        self.xla_handlers: Callable[[str], Path] | None = None  # builds what XLA calls; see `Builder`
        self.seconds: Mapping[str, float] = {}
        self.log: Log | None = None
        why = refusal(artifact, runtime)
        self.notes: tuple[str, ...] = () if why is None else (f"calls cross into C three times: {why}",)
        self._driver = driver
        self._run = driver.run
        self._dtypes = tuple(dtype_of(argument.dtype) for argument in artifact.arguments)
        self.binding = bind_arrays(driver.constants, self._dtypes, {})
        self._served = words([0])
        self.entry = open_entry(artifact, self.binding, driver.entry_point, runtime, self._served)
        self._bind = runtime.bind
        self._locate = runtime.locate
        self._has_host_calls = bool(host_calls(artifact.steps))
        self._kept = {one.result: one.argument for one in artifact.donations if one.result is not None}
        self._plans: dict[bytes, CallPlan] = {}
        self._signatures: set[bytes] = set()
        self._idle: list[_CallFrame] = []
        self._frames: list[_CallFrame] = []

    def __call__(self, arrays: Sequence[Any]) -> tuple[Array, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`, without those that are bound.

        Takes C-contiguous NumPy arrays and CPU arrays of JAX and DLPack as they are, and copies
        others contiguous. Returns fresh arrays, 64-byte aligned, or arrays on the memory of donated arguments.
        """
        if self.entry is not None:
            return self._serve(self.entry, tuple(arrays))
        idle, binding = self._idle, self.binding
        try:
            frame = idle.pop()
        except IndexError:
            frame = self._new_frame()
        if frame.token is not binding.token:
            frame.begin(binding)
        try:
            held = self._bind_arrays(frame, binding, tuple(arrays))
            key = frame.key.tobytes()
            plan = self._plans.get(key) or self._new_plan(frame, key)
            taken: Mapping[int, Array] = {}
            if self.artifact.donations:
                every = binding.everything
                taken = take(self.artifact.donations, every(arrays), every(held), frame.pointers)
                found = self._outputs(plan, taken)
            else:
                found = tuple([shelf.array(shape, dtype) for shelf, shape, dtype in plan.outputs])
            self._locate(binding.binder.pointer, py_object(found), frame.results)
            arena = plan.arena.take()
            if self._has_host_calls:
                self._run(
                    frame.pointers, frame.results, plan, arena.pointer, (binding, held, taken, found, arena.lend())
                )
            else:
                self._run(frame.pointers, frame.results, plan, arena.pointer)
                arena.give_back()
            del held, taken  # the arrays had to live until here
            frame.calls += 1
            return found
        finally:
            idle.append(frame)

    def mirror(
        self,
        arrays: Sequence[Any],
        run: Callable[[Sequence[Any]], tuple[Array, ...]] | None = None,
        *,
        of_jax: bool = False,
    ) -> tuple[object, ...]:
        """Run this, or `run`, and return arrays of the library that the arguments came from.

        They are JAX's if any argument is, also a bound one (`of_jax`: one that is bound elsewhere), else NumPy's.
        """
        run = run or self
        types = jax_types(arrays)
        if not (types or of_jax or self.binding.of_jax):
            return run(arrays)
        results = to_jax(run([np.asarray(array) if type(array) in types else array for array in arrays]))
        if self.entry is not None and results:
            self.entry.know_jax(type(results[0]))
        return results

    @property
    def stats(self) -> Stats:
        """Calls, signatures, and the seconds that compiling took."""
        calls = self._served[0] + sum(frame.calls for frame in self._frames)
        return Stats(1, calls, len(self._signatures), self.seconds, self._driver.kind)

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs."""
        binding = self.binding
        frame = _CallFrame(len(self.artifact.results), binding)
        self._bind_arrays(frame, binding, tuple(arrays))
        return self._driver.plan(self._raw(frame)).arena_bytes

    def planned(self, shapes: Sequence[tuple[int, ...]]) -> CallPlan:
        """The plan of calls with arrays of these shapes, of the right ranks, if no element of them is a size.

        Raises `RuntimeShapeError` as such a call does.
        """
        binding = self.binding
        given = dict(zip(binding.binder.places, shapes, strict=True))
        check_sizes(self.artifact, {**binding.shapes, **given}, binding.shapes)
        frame = _CallFrame(0, binding)
        for symbol, (argument, axis) in enumerate(self.artifact.raw):
            if argument in given:
                frame.raw[symbol] = given[argument][axis]
        key = frame.key.tobytes()
        return self._plans.get(key) or self._new_plan(frame, key)

    @property
    def native(self) -> NativeProgram | None:
        """The program as C runs it; None if Python does."""
        return self._driver.entry_point

    @property
    def for_xla(self) -> CpuXlaProgram:
        """The program as XLA calls it."""
        return CpuXlaProgram(self)

    def copied(self, argument: Argument, value: Any) -> Array:
        """A copy of a caller's array, converted to what this program takes."""
        return np.array(conform_one(argument, dtype_of(argument.dtype), value), order="C")

    def upload(self, array: Array) -> Array:
        """A copy."""
        return array.copy()

    def download(self, value: Any) -> Array:
        """The array itself, as NumPy sees it."""
        return np.asarray(value)

    def read(self, value: Any) -> int:
        """The only element of an integer array."""
        return int(value) if type(value) is np.ndarray else int(np.asarray(value).reshape(-1)[0])

    def settled(self, argument: Argument, value: Any, *, is_read: bool) -> Array:
        """An array converted once for many calls."""
        del is_read
        return conform_one(argument, dtype_of(argument.dtype), value)

    def explain_dispatch(self, sizes: Mapping[str, int]) -> str:
        """The schedule and time of each product at these sizes."""
        return explain_dispatch(self.artifact, self.program, self.runtime, sizes)

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Array, ...]:
        """Run on the VM; `observe` gets each step after it ran, and all buffers as arrays."""
        vm = Vm(self.artifact, self.program, self.runtime, observe)
        traced = CpuExecutable(self.artifact, self.program, self.runtime, vm)
        traced.binding = self.binding
        return traced(arrays)

    def timed(self, note: Note, *, apart: bool = False) -> CpuExecutable:
        """The same program with the same arguments bound, that notes the times of the steps of each call."""
        from shlo_disc.runtime.cpu.step_times import ApartVm, TimedDriver  # noqa: PLC0415  few programs are profiled

        given = (self.artifact, self.program, self.runtime)
        driver = ApartVm(*given, note) if apart else TimedDriver(*given, self._driver.constants, note)
        timed = CpuExecutable(self.artifact, self.program, self.runtime, driver)
        timed.binding = self.binding
        return timed

    def processor(self, cache: Cache) -> Processor:
        """This CPU, and its limits with the threads of the pool."""
        from shlo_disc.runtime.building.machines import cpu_title  # noqa: PLC0415  few programs are profiled
        from shlo_disc.runtime.cpu.machine_rates import machine_rates  # noqa: PLC0415
        from shlo_disc.runtime.machine_rates import Processor  # noqa: PLC0415

        return Processor(cpu_title(), machine_rates(self.runtime, cache))

    def wait(self) -> None:
        """Do nothing: calls return when their results are there."""

    def bind(self, given: Mapping[int, Any]) -> CpuExecutable:
        """The same program with some arguments bound, by number: calls supply only the others. Nothing is compiled.

        Calls are counted together. Arrays that are kept as they are must not be written to any more.
        """
        return self._bound(bind_arrays(self._driver.constants, self._dtypes, given))

    def _bound(self, binding: Binding) -> CpuExecutable:
        bound = copy(self)
        bound.binding = binding
        bound.entry = open_entry(self.artifact, bound.binding, self._driver.entry_point, self.runtime, self._served)
        return bound

    @property
    def saved_binding(self) -> SavedBinding:
        """What `restored` needs of the bound arguments."""
        found, constants = self.binding, self._driver.constants
        packed = {number: array for number, array in found.packed.items() if number not in constants.packed}
        return SavedBinding(found.shapes, found.arrays, packed, found.known)

    def restored(self, saved: SavedBinding) -> CpuExecutable:
        """The same program with arguments bound that an earlier process kept.

        Raises `ValueError` if they are not all that it needs.
        """
        return self._bound(restore_binding(self._driver.constants, self._dtypes, saved))

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound, by number."""
        return self.binding.shapes

    @property
    def kept(self) -> tuple[Span, ...]:
        """The spans of the bound arrays that calls read unpacked."""
        return self.binding.kept

    @property
    def bound_memory(self) -> BoundMemory:
        """The memory of the bound arguments."""
        return bound_memory(self.artifact, self.binding.given, self.kept, self.packed)

    @property
    def packed(self) -> tuple[PackedArray, ...]:
        """The packed forms of bound arguments."""
        return self.binding.packed_arrays

    def prepared(self, argument: Argument, value: Any) -> Array:
        """An array converted to what the program takes, to be bound in several parts."""
        return conform_one(argument, dtype_of(argument.dtype), value)

    def _serve(self, entry: Entry, arrays: tuple[Any, ...]) -> tuple[Array, ...]:
        """Run in one call into C; arrays are converted, and a plan is added, where it refuses them."""
        found = entry.flat(arrays)
        if found is NotImplemented:
            given = arrays
            arrays = tuple(conform_each(self.artifact, self._dtypes, given, self.binding.shapes))
            arrays = own(self.artifact.donations, self.binding.binder.places, given, arrays)
            found = entry.flat(arrays)
        if found is NotImplemented:
            conform(self.artifact, self._dtypes, arrays, self.binding.shapes)  # raises if a size is wrong
            raise _cannot_bind(arrays)
        while found is None:  # repeats if another thread has just dropped the plan
            frame = _CallFrame(0, self.binding)
            self._bind_arrays(frame, self.binding, arrays)
            key = frame.key.tobytes()
            plan = self._plans.get(key) or self._new_plan(frame, key)
            entry.add(key, plan.registers, plan.shapes, plan.arena_bytes)
            found = entry.flat(arrays)
        return found

    def _outputs(self, plan: CallPlan, taken: Mapping[int, Array]) -> tuple[Array, ...]:
        """Arrays for the results: fresh, or on the memory of an argument that was taken."""
        found = list[Array]()
        for number, (shelf, shape, dtype) in enumerate(plan.outputs):
            argument = self._kept.get(number)
            found.append(shelf.array(shape, dtype) if argument is None else np.ndarray(shape, dtype, taken[argument]))
        return tuple(found)

    def _bind_arrays(self, frame: _CallFrame, binding: Binding, arrays: tuple[Any, ...]) -> tuple[Any, ...]:
        """Fill the frame's pointers and raw sizes; returns what must live during the call."""
        if self._fits(frame, binding.binder, arrays):
            return arrays
        usable = tuple(conform(self.artifact, self._dtypes, arrays, binding.shapes))
        if not self._fits(frame, binding.binder, usable):
            raise _cannot_bind(usable)
        return usable

    def _fits(self, frame: _CallFrame, binder: Binder, arrays: tuple[Any, ...]) -> bool:
        """Bind the arrays if all are exactly as the program takes them."""
        if len(arrays) != len(binder.places):
            return False
        return self._bind(binder.pointer, py_object(arrays), frame.pointers, frame.raw) == 0

    def _new_frame(self) -> _CallFrame:
        frame = _CallFrame(len(self.artifact.results), self.binding)
        self._frames.append(frame)
        return frame

    def _raw(self, frame: _CallFrame) -> tuple[int, ...]:
        return tuple(frame.raw)[: self.artifact.given]

    def _new_plan(self, frame: _CallFrame, key: bytes) -> CallPlan:
        plan = self._driver.plan(self._raw(frame))
        if len(self._plans) >= _PLANS_KEPT:
            self._plans = {}
        self._plans[key] = plan
        self._signatures.add(key)
        return plan


def _cannot_bind(arrays: Sequence[Array]) -> InternalError:
    shapes = ", ".join(f"{array.dtype}{list(array.shape)}" for array in arrays)
    return InternalError(f"cannot bind the arrays of a call: found {shapes}")


def assemble(
    artifact: Artifact,
    program: LoadedProgram,
    runtime: Callable[[], Path | str],
    options: CompileOptions,
    log: Log | None = None,
    host: HostCode | None = None,
) -> CpuExecutable:
    """Make loaded code ready to run. `runtime` is the thread pool's library, for the first program of this process.

    `host` is the host program, if it is known already.
    """
    bind_lapack(artifact, program)
    pool = open_runtime(runtime, options.threads or default_threads())
    is_vm = options.driver == "vm"
    driver = Vm(artifact, program, pool) if is_vm else HostDriver(artifact, program, pool, host or encode(artifact))
    traced = driver if log is None else TracingDriver(artifact, driver, log)
    executable = CpuExecutable(artifact, program, pool, traced)
    executable.log = log
    return executable
