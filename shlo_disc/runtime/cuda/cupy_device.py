# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# CuPy has no types here; nothing untyped leaves this module.
"""A GPU through CuPy: detection, kernels, memory, streams. CuPy is imported only when a GPU is used.

What this module does with a real GPU is checked by benchmarks/gpu_check.py, not by the tests: these need none.
CuPy's pool and JAX's share the memory of the GPU. JAX takes three quarters of it when it starts; where that is too
much, XLA_PYTHON_CLIENT_PREALLOCATE=false prevents it.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from shlo_disc.artifact import SourceFile
from shlo_disc.diagnostics import InternalError, ToolchainError
from shlo_disc.runtime.building.cache import Cache, digest, open_cache
from shlo_disc.runtime.cuda import nvrtc
from shlo_disc.runtime.cuda.detection import DRIVER, import_cupy, missing_parts
from shlo_disc.runtime.cuda.device import DeviceMemory, IndexType, Limits, LoadedKernel
from shlo_disc.runtime.cuda.interop import Interop
from shlo_disc.runtime.cuda.table import CUBLAS_ERROR, OUT_OF_MEMORY, Functions, Table, XlaDriver
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.memory import POISON, POOL
from shlo_disc.runtime.threads import available_threads

OLDEST = 80  # compute capability 8.0: the first with bf16 and TF32 on tensor cores
CUBLAS = ("libcublas.so.13", "libcublas.so.12")
_DRIVER_FUNCTIONS = {
    "launch": "cuLaunchKernel",
    "copy": "cuMemcpyDtoDAsync_v2",
    "read": "cuMemcpyDtoHAsync_v2",
    "synchronize": "cuStreamSynchronize",
    "fill": "cuMemsetD8Async",
}
_CONTEXT_FUNCTIONS = {
    "stream_context": "cuStreamGetCtx",
    "enter": "cuCtxPushCurrent_v2",
    "leave": "cuCtxPopCurrent_v2",
    "error_name": "cuGetErrorName",
    "error_text": "cuGetErrorString",
}
_CUBLAS_FUNCTIONS = {"gemm": "cublasGemmStridedBatchedEx_64", "set_stream": "cublasSetStream_v2"}
_LIMITS = (  # cudaDeviceAttr, in the order of `Limits`
    16,  # cudaDevAttrMultiProcessorCount
    39,  # cudaDevAttrMaxThreadsPerMultiProcessor
    106,  # cudaDevAttrMaxBlocksPerMultiprocessor
    82,  # cudaDevAttrMaxRegistersPerMultiprocessor
    81,  # cudaDevAttrMaxSharedMemoryPerMultiprocessor
    97,  # cudaDevAttrMaxSharedMemoryPerBlockOptin
)
_SHARED_SIZE, _REGISTERS, _MOST_DYNAMIC_SHARED = 1, 4, 8  # CUfunction_attribute


_devices: dict[tuple[int, Path | None], CudaDevice] = {}
_lock = threading.Lock()


def open_gpu(cache_dir: Path | None = None) -> CudaDevice:
    """CuPy's current device. Raises `ToolchainError` that lists everything that is missing, and how to get it."""
    if missing := missing_parts():
        raise ToolchainError("\n".join(["no GPU can be used (device='cuda')", *missing]))
    cupy = import_cupy()
    number = int(cupy.cuda.runtime.getDevice())
    with _lock:
        if (found := _devices.get((number, cache_dir))) is None:
            found = _devices[number, cache_dir] = CudaDevice(cupy, number, open_cache(cache_dir))
        return found


class _Memory:
    """Bytes of CuPy's pool, freed in the order of the stream that they were allocated for."""

    __slots__ = ("owner", "pointer")

    def __init__(self, owner: Any) -> None:
        self.owner = owner  # a MemoryPointer
        self.pointer: int = owner.ptr


class _Loaded(dict[str, LoadedKernel]):
    """Functions, and the modules that hold them."""

    modules: tuple[object, ...] = ()


class _Graph:
    def __init__(self, graph: Any) -> None:
        self.launch: Callable[[], object] = graph.launch  # CuPy's own method: no wrapper to call


class _ThreadState(threading.local):
    """State per thread: a table, a stream to record on, and whether it has CUDA's context."""

    ready: bool = False
    table: Table | None = None
    recorder: Any = None
    recording: Table | None = None


class CudaDevice(Interop):
    """One GPU through CuPy: its context, current stream, memory pool and cuBLAS handle."""

    def __init__(self, cupy: Any, number: int, cache: Cache) -> None:
        super().__init__(cupy, number)
        self._cache = cache
        self._local = _ThreadState()
        self._alloc = cupy.cuda.alloc
        self._driver = ctypes.CDLL(DRIVER)
        device = cupy.cuda.Device(number)
        self.architecture = architecture_for(int(device.compute_capability))
        self.name = cast("bytes", cupy.cuda.runtime.getDeviceProperties(number)["name"]).decode()
        found = [int(cupy.cuda.runtime.deviceGetAttribute(attribute, number)) for attribute in _LIMITS]
        self.limits = Limits(*found)

    # -- kernels

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, LoadedKernel]:
        self._enter()
        with ThreadPoolExecutor(available_threads()) as pool:
            longest_first = sorted(files, key=lambda file: -len(file.text))
            cubins = list(pool.map(partial(self._cubin, index), longest_first))
        loaded = _Loaded()
        modules: list[Any] = []
        for cubin in cubins:
            module = self.cupy.cuda.function.Module()
            module.load(cubin)
            modules.append(module)
        for name in names:
            loaded[name] = self._function(_handle(modules, name))
        loaded.modules = tuple(modules)
        return loaded

    def _cubin(self, index: IndexType, file: SourceFile) -> bytes:
        """Machine code of one file, from the cache if it was compiled before."""
        flags = nvrtc.options(self.architecture, index)
        prelude = [text for header in nvrtc.headers().items() for text in header]
        key = digest(repr(nvrtc.version()), *flags, *prelude, file.text)
        cubin = self._cache.load("cubins", key)
        if cubin is None:
            cubin = nvrtc.compile_kernels(file.text, f"{file.name}.cu", self.architecture, index).cubin
            self._cache.keep("cubins", key, cubin)
        return cubin

    def _function(self, handle: int) -> LoadedKernel:
        """The resources of a kernel; it is allowed all shared memory that a block can have."""
        function, value = ctypes.c_void_p(handle), ctypes.c_int()
        found = list[int]()
        for attribute in (_REGISTERS, _SHARED_SIZE):
            self._check(self._driver.cuFuncGetAttribute(ctypes.byref(value), attribute, function))
            found.append(value.value)
        registers, shared = found
        most = self.limits.shared_per_block - shared
        self._check(self._driver.cuFuncSetAttribute(function, _MOST_DYNAMIC_SHARED, most))
        return LoadedKernel(handle, registers, shared)

    def _check(self, code: int) -> None:
        if code:
            kind = MemoryError if code in OUT_OF_MEMORY else InternalError
            raise kind(f"a call of CUDA's driver failed: {self.explain_error(code)}")

    # -- streams

    def table(self, *, products: bool) -> int:
        self._enter()
        local = self._local
        if local.table is None:
            local.table = self._new_table()
        return self._point(local.table, self.cupy.cuda.get_current_stream(), products=products)

    def capture(self, run: Callable[[int], None], *, products: bool) -> _Graph:
        """Record on a stream of its own: the caller's may be the default one, which cannot be recorded."""
        self._enter()
        local = self._local
        if local.recorder is None or local.recording is None:
            local.recorder, local.recording = self.cupy.cuda.Stream(non_blocking=True), self._new_table()
        stream = local.recorder
        stream.begin_capture()
        try:
            run(self._point(local.recording, stream, products=products))
        except BaseException:
            with suppress(RuntimeError):  # the recording is broken; the error that broke it is raised
                stream.end_capture()
            raise
        return _Graph(stream.end_capture())

    def _enter(self) -> None:
        """Make CUDA's context current in this thread; the driver's functions expect one."""
        runtime = self.cupy.cuda.runtime
        if (current := int(runtime.getDevice())) != self.number:
            raise ToolchainError(f"found GPU {current} as CuPy's current device, expected {self.number}, compiled for")
        if not self._local.ready:
            runtime.free(0)
            self._local.ready = True

    def _new_table(self) -> Table:
        names = {field: _address(self._driver, name) for field, name in _DRIVER_FUNCTIONS.items()}
        return Table(**names)

    def _point(self, table: Table, stream: Any, *, products: bool) -> int:
        """Direct the commands of a table to a stream."""
        table.stream = int(stream.ptr) or None
        if products and self.has_cublas and not table.cublas:
            for field, address in self._cublas.items():
                setattr(table, field, address)
            table.cublas = int(self.cupy.cuda.device.get_cublas_handle())
        return ctypes.addressof(table)

    def xla_driver(self) -> XlaDriver:
        self._enter()
        return self._xla_driver

    @cached_property
    def _xla_driver(self) -> XlaDriver:
        context = ctypes.c_void_p()
        self._check(self._driver.cuCtxGetCurrent(ctypes.byref(context)))
        table, library = self._new_table(), self._cublas_library
        for field, address in self._cublas.items():
            setattr(table, field, address)
        more = {field: _address(self._driver, name) for field, name in _CONTEXT_FUNCTIONS.items()}
        create = None if library is None else _address(library, "cublasCreate_v2")
        return XlaDriver(cuda=table, create_cublas=create, context=context.value, **more)

    @property
    def has_cublas(self) -> bool:
        return bool(self._cublas)

    @cached_property
    def _cublas(self) -> Mapping[str, int]:
        """The functions of cuBLAS; none if the library is missing."""
        library = self._cublas_library
        if library is None:
            return {}
        return {field: _address(library, function) for field, function in _CUBLAS_FUNCTIONS.items()}

    @cached_property
    def _cublas_library(self) -> ctypes.CDLL | None:
        try:
            import_module("cupy_backends.cuda.libs.cublas")  # loads the library that CuPy goes with
        except (ImportError, RuntimeError):
            return None
        for name in CUBLAS:
            with suppress(OSError):
                return ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
        return None

    # -- memory

    def allocate(self, size: int) -> _Memory:
        memory = _Memory(self._alloc(size or 1))
        if POOL.poisons:
            memory.owner.memset_async(POISON, size)
        return memory

    def upload(self, data: bytes) -> _Memory:
        memory = self.allocate(len(data))
        memory.owner.copy_from_host_async(ctypes.cast(ctypes.c_char_p(data), ctypes.c_void_p), len(data))
        self.cupy.cuda.get_current_stream().synchronize()  # other streams will read it
        return memory

    def download(self, pointer: int, size: int) -> bytes:
        functions = Functions(self.table(products=False))
        target = ctypes.create_string_buffer(max(size, 1))
        self._check(functions.read(ctypes.addressof(target), pointer, size, functions.stream))
        self._check(functions.synchronize(functions.stream))
        return target.raw[:size]

    def writable(self, array: object) -> _Memory | None:
        return _Memory(cast("Any", array).data) if isinstance(array, self.cupy.ndarray) else None

    def copy(self, pointer: int, size: int) -> _Memory:
        functions, memory = Functions(self.table(products=False)), self.allocate(size)
        self._check(functions.copy(memory.pointer, pointer, size, functions.stream) if size else 0)
        return memory

    def export_array(self, memory: DeviceMemory, shape: tuple[int, ...], dtype: str) -> Any:
        assert isinstance(memory, _Memory), "all memory is CuPy's"
        return self._own(shape, dtype_of(dtype), memory.owner)

    def explain_error(self, code: int) -> str:
        if code >= CUBLAS_ERROR:
            return f"cuBLAS status {code - CUBLAS_ERROR}"
        name, text = ctypes.c_char_p(), ctypes.c_char_p()
        self._driver.cuGetErrorName(code, ctypes.byref(name))
        self._driver.cuGetErrorString(code, ctypes.byref(text))
        return f"{(name.value or b'').decode()} ({code}): {(text.value or b'').decode()}"


def architecture_for(capability: int) -> int:
    """The newest architecture that NVRTC supports and the GPU runs: machine code runs within a major version."""
    if capability < OLDEST:
        raise ToolchainError(
            f"found a GPU of compute capability {capability / 10}, expected at least {OLDEST / 10} (Ampere or newer)"
        )
    known = [a for a in nvrtc.architectures() if a // 10 == capability // 10 and a <= capability]
    if not known:
        raise ToolchainError(
            f"found a GPU of compute capability {capability / 10}, which NVRTC {nvrtc.version()} does not know\n"
            "  help: install a newer NVRTC, as new as the driver allows"
        )
    return max(known)


def _handle(modules: Sequence[Any], name: str) -> int:
    """The handle of a kernel by name, from whichever module has it."""
    for module in modules:
        try:
            return int(module.get_function(name).ptr)
        except RuntimeError:  # CUDADriverError: not in this one
            continue
    raise InternalError(f"no kernel {name} in the modules of its program")


def _address(library: ctypes.CDLL, name: str) -> int:
    return ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0
