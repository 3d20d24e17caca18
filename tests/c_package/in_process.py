"""Packages in this process: models, calls, and what `model_options` has, by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.runtime.interop import dtype_of

Array = np.ndarray[Any, Any]
BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int)
PARALLEL_FOR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, BODY, ctypes.c_void_p)


class Options(ctypes.Structure):
    """`model_options` of the header."""

    _fields_ = (
        ("threads", ctypes.c_int),
        ("allocate", ctypes.c_void_p),
        ("release", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("parallel_for", PARALLEL_FOR),
        ("pool", ctypes.c_void_p),
        ("weights", ctypes.c_char_p),
        ("weight_arrays", ctypes.POINTER(ctypes.c_void_p)),
        ("check_weights", ctypes.c_int),
        ("message", ctypes.c_void_p),
        ("message_bytes", ctypes.c_size_t),
    )


class Tensor(ctypes.Structure):
    """`model_array` of the header."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("dtype", ctypes.c_int),
        ("rank", ctypes.c_int),
        ("item_bytes", ctypes.c_size_t),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("donated", ctypes.c_int),
        ("result", ctypes.c_int),
    )


class Model:
    """A model of the package in a folder: `status` and `message` say how its creation ended."""

    def __init__(
        self, folder: Path, artifact: Artifact, given: Sequence[Array] | Path | None = None, **options: Any
    ) -> None:
        """`given`: weights, or the path of their file."""
        self.artifact = artifact
        self.functions = ctypes.CDLL(str(folder / "libmodel.so"))
        self.model = ctypes.c_void_p()
        message = ctypes.create_string_buffer(4096)
        self.options = found = Options(message=ctypes.addressof(message), message_bytes=len(message), **options)
        if isinstance(given, Path):
            found.weights = str(given).encode()
        elif given is not None:
            found.weight_arrays = _addresses(given)
        self.status: int = self.functions.model_create(ctypes.byref(self.model), ctypes.byref(found))
        self.message = message.value.decode()

    def tensor(self, kind: str, number: int) -> Tensor:
        """What the header tells of an argument, a result or a weight."""
        function = self.functions[f"model_{kind}"]
        function.restype = ctypes.POINTER(Tensor)
        found = function(number)
        assert found, f"there is no {kind} {number}"
        return found[0]

    def run(self, arrays: Sequence[Array], places: dict[int, Array] | None = None) -> tuple[int, str, list[Array]]:
        """The status, the message and the results of a call. `places`: the memory of results, by number."""
        rows = [(ctypes.c_int64 * max(1, one.ndim))(*one.shape) for one in arrays]
        shapes = (ctypes.c_void_p * max(1, len(rows)))(*map(ctypes.addressof, rows))
        message = ctypes.create_string_buffer(4096)
        dims = [(ctypes.c_int64 * max(1, len(one.shape)))() for one in self.artifact.results]
        room = (ctypes.c_void_p * max(1, len(dims)))(*map(ctypes.addressof, dims))
        given = _addresses(arrays)
        status = self.functions.model_result_shapes(self.model, given, shapes, room, message, len(message))
        if status:
            return status, message.value.decode(), []
        found = list[Array]()
        for number, (one, row) in enumerate(zip(self.artifact.results, dims, strict=True)):
            shape = tuple(row[: len(one.shape)])
            found.append((places or {}).get(number, np.full(shape, 7).astype(dtype_of(one.dtype))))
        status = self.functions.model_run(self.model, given, shapes, _addresses(found), message, len(message))
        return status, message.value.decode(), [] if status else found

    def close(self) -> None:
        """Free the model."""
        self.functions.model_destroy(self.model)


def _addresses(arrays: Sequence[Array]) -> ctypes.Array[ctypes.c_void_p]:
    found = (ctypes.c_void_p * max(1, len(arrays)))(*[one.ctypes.data for one in arrays])
    found.keep = arrays  # type: ignore[attr-defined]
    return found
