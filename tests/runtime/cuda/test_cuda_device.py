"""The lines of `runtime.cuda`, its `cupy_device` and `interop`, on stubs of CuPy; no claim about a real GPU."""

# JAX's functions are partly untyped; this file is about their arrays.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ctypes
import gc
import weakref
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.artifact import SourceFile
from shlo_disc.diagnostics import ArgumentTypeError, InternalError, ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.cuda import cupy_device, nvrtc
from shlo_disc.runtime.cuda.build import build_gpu
from shlo_disc.runtime.cuda.cupy_device import CudaDevice
from shlo_disc.runtime.cuda.table import Functions, Launch
from tests.runtime.cuda import cupy_stub
from tests.runtime.cuda.gpu_stub import StubDevice, lowered

_jax = cast("Any", import_module("jaxlib._jax"))
LIMITS = {16: 132, 39: 2048, 106: 32, 82: 65536, 81: 233472, 97: 232448}
CHAIN = """
func.func @main(%x: tensor<?xf32>, %y: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %y : tensor<?xf32>
  %1 = stablehlo.multiply %0, %x : tensor<?xf32>
  return %1 : tensor<?xf32>
}
"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return cupy_stub.build_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture
def device(driver: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CudaDevice:
    monkeypatch.setattr(cupy_device, "DRIVER", str(driver))
    monkeypatch.setattr(nvrtc, "architectures", lambda: (80, 90))
    cupy_stub.Stream.launched.clear()
    cupy_stub.Event.finished = False
    cupy_stub.Event.made = 0
    cupy_stub.Event.recorded.clear()
    return CudaDevice(cupy_stub.stub_cupy(LIMITS), 0, Cache(tmp_path))


class OnGpu:
    """NumPy's memory, given out by DLPack as if it were on a GPU."""

    def __init__(self, array: Any, number: int = 0) -> None:
        self.array, self.number = array, number
        self.streams = list[int]()

    def __dlpack__(self, *, stream: int) -> object:
        self.streams.append(stream)
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, self.number


def test_limits_come_in_order(device: CudaDevice) -> None:
    limits = device.limits
    assert (limits.multiprocessors, limits.threads, limits.blocks, limits.registers) == (132, 2048, 32, 65536)
    assert (limits.shared, limits.shared_per_block) == (233472, 232448)
    assert (device.name, device.architecture) == ("Stub GPU", 90)


def test_a_whole_program_runs(device: CudaDevice, driver: Path, options: CompileOptions) -> None:
    """By its C driver; kernels go to a stand-in that computes."""
    artifact, kernels = lowered(CHAIN)
    stand_in = StubDevice(kernels)
    compute = Launch(stand_in.launch)
    ctypes.CDLL(str(driver)).stub_hook(compute)
    device.load = stand_in.load  # pyright: ignore[reportAttributeAccessIssue]
    run = build_gpu(artifact, options, device)
    x, y = np.arange(8, dtype=np.float32), np.ones(8, np.float32)
    (found,) = run.mirror((x, y))
    np.testing.assert_array_equal(np.asarray(found), (x + y) * x)
    assert isinstance(found, np.ndarray)
    on_device = cupy_stub.ndarray((8,), np.float32)
    on_device.view[:] = 3
    (kept,) = run((on_device, y))
    assert isinstance(kept, cupy_stub.ndarray)
    np.testing.assert_array_equal(kept.view, 12)


def test_kernels_are_compiled_once_and_found_in_their_modules(
    device: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[str] = []

    def compile_kernels(text: str, name: str, architecture: int, index: str) -> nvrtc.Cubin:
        compiled.append(f"{name} sm_{architecture} {index}")
        return nvrtc.Cubin(text.encode(), "")

    monkeypatch.setattr(nvrtc, "compile_kernels", compile_kernels)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    files = (SourceFile("kernels_0", "add_0"), SourceFile("kernels_1", "mul_1"))
    for index in ("int32_t", "int64_t", "int32_t"):
        found = device.load(files, ("mul_1", "add_0"), index)
        assert {name: function.handle for name, function in found.items()} == {"mul_1": 2, "add_0": 1}
        assert (found["add_0"].registers, found["add_0"].shared) == (40, 1000)
    assert sorted(compiled) == sorted(
        f"kernels_{k}.cu sm_90 {index}" for k in (0, 1) for index in ("int32_t", "int64_t")
    )
    with pytest.raises(InternalError, match="no kernel sub_2"):
        device.load(files, ("sub_2",), "int32_t")


def test_functions_may_ask_for_all_shared_memory(
    device: CudaDevice, driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compile_kernels(text: str, *_: object) -> nvrtc.Cubin:
        return nvrtc.Cubin(text.encode(), "")

    monkeypatch.setattr(nvrtc, "compile_kernels", compile_kernels)
    monkeypatch.setattr(nvrtc, "version", lambda: (13, 0))
    device.load((SourceFile("kernels_0", "add_0"),), ("add_0",), "int32_t")
    shared = (ctypes.c_int64 * 4).in_dll(ctypes.CDLL(str(driver)), "stub_shared")
    assert shared[1] == 232448 - 1000


def test_the_table_follows_the_current_stream(device: CudaDevice) -> None:
    assert Functions(device.table(products=False)).stream.value is None
    with cupy_stub.Stream(5):
        assert Functions(device.table(products=False)).stream.value == 5
    recorded: list[int | None] = []
    graph = device.capture(lambda table: recorded.append(Functions(table).stream.value), products=False)
    assert recorded == [99]
    graph.launch()
    assert cupy_stub.Stream.launched == [99]


def test_cublas_is_looked_for_when_there_are_products(
    device: CudaDevice, driver: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cupy_device, "CUBLAS", ("libcublas-of-nobody.so", str(driver)))
    asked: list[str] = []
    monkeypatch.setattr(cupy_device, "import_module", asked.append)
    assert Functions(device.table(products=False)).cublas.value is None
    assert asked == []
    functions = Functions(device.table(products=True))
    assert asked == ["cupy_backends.cuda.libs.cublas"]
    assert functions.cublas.value == 4711
    assert functions.set_stream(functions.cublas, functions.stream) == 0
    assert device.has_cublas


def test_without_cublas_there_is_no_handle(device: CudaDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cupy_device, "CUBLAS", ("libcublas-of-nobody.so",))
    monkeypatch.setattr(cupy_device, "import_module", len)
    assert not device.has_cublas
    assert Functions(device.table(products=True)).cublas.value is None


def test_memory_goes_there_and_back(device: CudaDevice) -> None:
    memory = device.upload(b"0123456789")
    assert device.download(memory.pointer + 2, 5) == b"23456"
    assert device.download(device.allocate(0).pointer, 0) == b""
    array = device.export_array(memory, (2, 5), "uint8")
    assert array.view.tobytes() == b"0123456789"


def test_arrays_of_cupy_are_taken_as_they_are(device: CudaDevice) -> None:
    array = cupy_stub.ndarray((2, 3), np.float16)
    found = device.import_array(array)
    assert (found.pointer, found.shape, found.dtype, found.owner) == (array.data.ptr, (2, 3), "float16", array)
    array.view = array.view.T
    array.shape = (3, 2)
    assert device.import_array(array).pointer != array.data.ptr
    array.data.device_id = 1
    with pytest.raises(ArgumentTypeError, match="found an array on GPU 1, expected one on GPU 0"):
        device.import_array(array)


def test_only_arrays_of_cupy_may_be_written(device: CudaDevice) -> None:
    array = cupy_stub.ndarray((2, 3), np.float16)
    array.view[...] = 7
    lent = device.writable(array)
    assert lent is not None
    assert lent.pointer == array.data.ptr
    assert device.writable(array.view) is None
    copy = device.copy(array.data.ptr, 12)
    assert copy.pointer != array.data.ptr
    assert device.download(copy.pointer, 12) == array.view.tobytes()
    device.copy(array.data.ptr, 0)


def test_an_array_that_comes_again_is_known(device: CudaDevice) -> None:
    array = cupy_stub.ndarray((2, 3), np.float32)
    first = device.import_array(array)
    again = device.import_array(array)
    assert again is device.import_array(array)
    assert again == first._replace(owner=None)  # being known does not keep it alive
    array.view = array.view.reshape(6)
    array.shape = (6,)
    assert device.import_array(array).shape == (6,)
    gone = weakref.ref(array)
    del array, first
    gc.collect()
    assert gone() is None


SHARDING = object()


class Given:
    """A JAX array on the GPU, as far as we look at it."""

    __module__ = "jaxlib._jax"

    def __init__(self, array: Any) -> None:
        self.array, self.reads, self.deleted, self.ready = array, 0, False, True
        self.shape, self.sharding = array.shape, SHARDING

    def __dlpack__(self, *, stream: int) -> object:
        self.reads += 1
        if self.deleted:
            raise RuntimeError("Array has been deleted.")
        return self.array.__dlpack__()

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0

    def is_deleted(self) -> bool:
        return self.deleted

    def is_ready(self) -> bool:
        return self.ready


def test_jax_arrays_are_asked_again_only_if_they_may_have_changed(device: CudaDevice) -> None:
    array = Given(np.ones((2, 3), np.float32))
    array.ready = False
    for reads in (1, 2):  # another stream may have to wait for it
        assert device.import_array(array).owner is not None
        assert array.reads == reads
    array.ready = True
    for _ in range(2):
        assert device.import_array(array)[:3] == (array.array.ctypes.data, (2, 3), "float32")
        assert array.reads == 3  # it stays ready
    assert device.import_array(array).owner is None
    array.deleted = True
    with pytest.raises(ArgumentTypeError, match="Array has been deleted"):
        device.import_array(array)


def test_arrays_with_dlpack_are_read_on_our_stream(device: CudaDevice) -> None:
    array = OnGpu(np.ones((2, 3), np.float32))
    found = device.import_array(array)
    assert (found.pointer, found.shape, found.dtype) == (array.array.ctypes.data, (2, 3), "float32")
    with cupy_stub.Stream(7):
        device.import_array(array)
    assert array.streams == [1, 7]
    with pytest.raises(ArgumentTypeError, match="found an array on GPU 3"):
        device.import_array(OnGpu(np.ones(2), 3))


def test_host_arrays_are_copied(device: CudaDevice) -> None:
    for array in (np.arange(6.0).reshape(2, 3).T, np.float32(3), np.zeros((0, 2)), jnp.arange(3)):
        found = device.import_array(array)
        plain = np.asarray(array)
        assert (found.shape, found.dtype) == (plain.shape, plain.dtype.name)
        assert device.download(found.pointer, plain.nbytes) == plain.tobytes()


def test_foreign_memory_lives_until_the_stream_is_done(device: CudaDevice) -> None:
    array = OnGpu(np.ones(3))
    gone = weakref.ref(array)
    device.hold([device.import_array(array).owner])
    del array
    gc.collect()
    assert gone() is not None
    cupy_stub.Event.finished = True
    device.hold([cupy_stub.ndarray((1,), np.float32)])
    assert gone() is None


def test_results_are_of_the_library_of_the_arguments(device: CudaDevice) -> None:
    def run(arrays: Sequence[Any]) -> tuple[Any, ...]:
        del arrays
        found = cupy_stub.ndarray((2,), np.float64), cupy_stub.ndarray((0, 3), np.int64)
        found[0].view[:] = 4
        return found

    for results in (device.mirror(run, [jnp.ones(2)]), device.mirror(run, [np.ones(2), jnp.ones(2)])):
        first, second = results
        assert isinstance(first, jax.Array)
        assert isinstance(second, jax.Array)
        assert (first.shape, str(first.dtype), second.shape, str(second.dtype)) == ((2,), "float64", (0, 3), "int64")
    assert isinstance(device.mirror(run, [cupy_stub.ndarray((1,), np.float32)])[0], np.ndarray)  # no module named cupy
    assert isinstance(device.mirror(run, [np.ones(2)])[0], np.ndarray)


class Door:
    """What jaxlib does for `jax.dlpack.from_dlpack`; it puts arrays on the CPU."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, names_type: bool) -> None:
        self.streams = list[int]()
        convert = _jax.dlpack_managed_tensor_to_buffer
        cpu = cast("Any", jax).local_devices(backend="cpu")[0]

        def new(capsule: object, device: object, stream: int, copy: bool | None, dl_device_type: int) -> object:
            """As jaxlib's own: it takes dl_device_type."""
            assert (device, copy, dl_device_type) == (self, None, 2)
            self.streams.append(stream)
            return convert(capsule, cpu, None, None, 1)

        def old(capsule: object, device: object, stream: int, copy: bool | None) -> object:
            return new(capsule, device, stream, copy, 2)

        monkeypatch.setattr(_jax, "dlpack_managed_tensor_to_buffer", new if names_type else old)
        gpus: dict[str, list[Any]] = {"cuda": [SimpleNamespace(local_hardware_id=7), self]}

        def local_devices(*, backend: str) -> list[Any]:
            return gpus[backend]

        monkeypatch.setattr(jax, "local_devices", local_devices)
        self.local_hardware_id = 0

    def get_stream_for_external_ready_events(self) -> int:
        return 55


@pytest.mark.parametrize("names_type", [True, False])
def test_results_become_jax_arrays_behind_one_event(
    device: CudaDevice, names_type: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    door, ran = Door(monkeypatch, names_type=names_type), list[Any]()

    def run(arrays: Sequence[Any]) -> tuple[Any, ...]:
        ran.append(arrays)
        every = [((2, 3), np.float64), ((0, 3), np.int64), ((5,), np.float32)]
        found = [cupy_stub.ndarray(shape, dtype) for shape, dtype in every]
        found[0].view[:], found[2].view[:] = 4, 5
        device.hold(arrays)
        ran.append(found)
        return tuple(found)

    given = jnp.ones(2)
    with cupy_stub.Stream(5):
        results = cast("tuple[Any, ...]", device.mirror(run, [given]))
    assert [(x.shape, x.dtype.name) for x in results] == [((2, 3), "float64"), ((0, 3), "int64"), ((5,), "float32")]
    assert all(isinstance(x, jax.Array) for x in results)
    np.testing.assert_array_equal(np.asarray(results[0]), 4)
    assert door.streams == [55, 55]
    assert [x.shared_on for x in (ran[1][0], ran[1][2])] == [-1, -1]  # they wait for the event instead
    assert cupy_stub.Event.recorded == [(1001, 5)]  # that which holds the arguments
    assert device.cupy.cuda.runtime.waits == [(55, 1001)]
    device.hold([given])  # by an earlier call, whose event says nothing of this one's work
    # only bound arrays are of JAX, and nothing is held: the event is the results' own, and made anew
    device.mirror(lambda _: (device.hold(()), cupy_stub.ndarray((1,), np.float32))[1:], [], (given,))
    assert device.cupy.cuda.runtime.waits[1:] == [(55, 1003)]
    cupy_stub.Event.finished = True
    for _ in range(3):
        device.mirror(run, [given])
    assert cupy_stub.Event.made == 3  # those that came are used again


def test_a_jaxlib_without_that_call_is_served_by_the_public_one(
    device: CudaDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    Door(monkeypatch, names_type=True)
    monkeypatch.delattr(_jax, "dlpack_managed_tensor_to_buffer")
    asked = list[Any]()

    def from_dlpack(array: Any) -> jax.Array:
        asked.append(array)
        return jnp.zeros(1)

    monkeypatch.setattr(jax.dlpack, "from_dlpack", from_dlpack)
    array = cupy_stub.ndarray((2,), np.float32)
    assert np.shape(cast("Any", device.mirror(lambda _: (array,), [jnp.ones(2)])[0])) == (1,)
    assert asked == [array]
    assert cupy_stub.Event.made == 0  # it waits by itself


def test_errors_are_said_in_cudas_words(device: CudaDevice) -> None:
    assert device.explain_error(700) == "CUDA_ERROR_ILLEGAL_ADDRESS (700): an illegal memory access was encountered"
    assert device.explain_error(0x10000 + 13) == "cuBLAS status 13"


def test_another_current_device_is_refused(device: CudaDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device.cupy.cuda.runtime, "current", 1)
    with pytest.raises(ToolchainError, match="found GPU 1 as CuPy's current device, expected 0"):
        device.table(products=False)
