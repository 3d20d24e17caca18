"""What XLA's handlers are given of a GPU, on stubs of CuPy and of CUDA's driver."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.cuda import cupy_device, nvrtc
from shlo_disc.runtime.cuda.cupy_device import CudaDevice
from shlo_disc.runtime.cuda.table import Table, XlaDriver
from tests.runtime.cuda import cupy_stub
from tests.runtime.cuda.test_cuda_device import LIMITS

NAMES = {
    "stream_context": "cuStreamGetCtx", "enter": "cuCtxPushCurrent_v2", "leave": "cuCtxPopCurrent_v2",
    "error_name": "cuGetErrorName", "error_text": "cuGetErrorString", "create_cublas": "cublasCreate_v2",
}  # fmt: skip
TABLE_NAMES = {
    "launch": "cuLaunchKernel", "copy": "cuMemcpyDtoDAsync_v2", "read": "cuMemcpyDtoHAsync_v2",
    "synchronize": "cuStreamSynchronize", "fill": "cuMemsetD8Async", "gemm": "cublasGemmStridedBatchedEx_64",
    "set_stream": "cublasSetStream_v2",
}  # fmt: skip


def found(folder: Path, monkeypatch: pytest.MonkeyPatch, *, has_cublas: bool) -> tuple[XlaDriver, ctypes.CDLL]:
    path = cupy_stub.build_driver(folder)
    monkeypatch.setattr(cupy_device, "DRIVER", str(path))
    monkeypatch.setattr(cupy_device, "CUBLAS", (str(path),) if has_cublas else ("libcublas-of-nobody.so",))
    monkeypatch.setattr(cupy_device, "import_module", len)
    monkeypatch.setattr(nvrtc, "architectures", lambda: (80, 90))
    device = CudaDevice(cupy_stub.stub_cupy(LIMITS), 0, Cache(folder))
    driver = device.xla_driver()
    assert device.xla_driver() is driver
    return driver, ctypes.CDLL(str(path))


def addresses(library: ctypes.CDLL, names: dict[str, str]) -> dict[str, int | None]:
    return {field: ctypes.cast(library[name], ctypes.c_void_p).value for field, name in names.items()}


def test_functions_and_the_context(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, library = found(tmp_path, monkeypatch, has_cublas=True)
    table: Table = driver.cuda
    assert {field: getattr(driver, field) for field in NAMES} == addresses(library, NAMES)
    assert {field: getattr(table, field) for field in TABLE_NAMES} == addresses(library, TABLE_NAMES)
    assert (driver.context, table.stream, table.cublas) == (5, None, None)


def test_without_cublas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver, _ = found(tmp_path, monkeypatch, has_cublas=False)
    assert (driver.create_cublas, driver.cuda.gemm) == (None, None)
