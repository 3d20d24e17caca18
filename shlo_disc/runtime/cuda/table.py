"""The functions of a GPU that host programs call: `ShloCuda` of device/call/driver.h."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import cast

OUT_OF_MEMORY = frozenset({2, 0x10003})  # CUDA_ERROR_OUT_OF_MEMORY, CUBLAS_STATUS_ALLOC_FAILED
CUBLAS_ERROR = 0x10000  # added to the status of a product, to distinguish it from a CUresult


class Table(ctypes.Structure):
    """Addresses of functions with the signatures of CUDA's driver and cuBLAS, a stream and a cuBLAS handle."""

    _fields_ = [
        ("launch", ctypes.c_void_p),
        ("copy", ctypes.c_void_p),
        ("read", ctypes.c_void_p),
        ("synchronize", ctypes.c_void_p),
        ("fill", ctypes.c_void_p),
        ("gemm", ctypes.c_void_p),
        ("set_stream", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
        ("cublas", ctypes.c_void_p),
    ]


class XlaDriver(ctypes.Structure):
    """`ShloXlaDriver` of xla_cuda_handler.cc: the functions, without a stream, and more of them; one GPU's context."""

    _fields_ = [
        ("cuda", Table),
        ("stream_context", ctypes.c_void_p),
        ("enter", ctypes.c_void_p),
        ("leave", ctypes.c_void_p),
        ("error_name", ctypes.c_void_p),
        ("error_text", ctypes.c_void_p),
        ("create_cublas", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
    ]


_INT, _POINTER, _UNSIGNED = ctypes.c_int, ctypes.c_void_p, ctypes.c_uint
_LONG, _ADDRESS, _SIZE = ctypes.c_int64, ctypes.c_uint64, ctypes.c_size_t

Launch = ctypes.CFUNCTYPE(_INT, _POINTER, *[_UNSIGNED] * 7, _POINTER, _POINTER, _POINTER)
Move = ctypes.CFUNCTYPE(_INT, _ADDRESS, _ADDRESS, _SIZE, _POINTER)
Read = ctypes.CFUNCTYPE(_INT, _POINTER, _ADDRESS, _SIZE, _POINTER)
Synchronize = ctypes.CFUNCTYPE(_INT, _POINTER)
Fill = ctypes.CFUNCTYPE(_INT, _ADDRESS, ctypes.c_ubyte, _SIZE, _POINTER)
Gemm = ctypes.CFUNCTYPE(
    _INT, _POINTER, _INT, _INT, _LONG, _LONG, _LONG, _POINTER,
    _POINTER, _INT, _LONG, ctypes.c_longlong, _POINTER, _INT, _LONG, ctypes.c_longlong,
    _POINTER, _POINTER, _INT, _LONG, ctypes.c_longlong, _LONG, _INT, _INT,
)  # fmt: skip
SetStream = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER)

_KINDS = {
    "launch": Launch,
    "copy": Move,
    "read": Read,
    "synchronize": Synchronize,
    "fill": Fill,
    "gemm": Gemm,
    "set_stream": SetStream,
}


class Functions:
    """The functions of a table, to be called from Python."""

    def __init__(self, address: int) -> None:
        table = Table.from_address(address)
        self.stream = ctypes.c_void_p(cast("int | None", table.stream))
        self.cublas = ctypes.c_void_p(cast("int | None", table.cublas))
        found: dict[str, Callable[..., int]] = {
            name: cast("Callable[..., int]", kind(cast("int | None", getattr(table, name)) or 0))
            for name, kind in _KINDS.items()
        }
        self.launch = found["launch"]
        self.copy = found["copy"]
        self.read = found["read"]
        self.synchronize = found["synchronize"]
        self.fill = found["fill"]
        self.gemm = found["gemm"]
        self.set_stream = found["set_stream"]
