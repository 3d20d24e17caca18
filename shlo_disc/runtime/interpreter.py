"""Pass functions of the running Python, NumPy and JAX to the runtime library, so that a whole call is one call into C.

The library is compiled without their headers. It gets the addresses of the functions that it calls: functions of
Python's stable ABI by name, and NumPy's from the table that extension modules use, by the documented numbers of its C
API.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_int64, c_void_p, py_object
from functools import lru_cache
from importlib import import_module
from typing import Any, cast

import numpy as np

from shlo_disc.runtime.interop import jax_call

_FUNCTIONS = (  # the order of `ShloInterpreter` in interpreter.h
    "Py_IncRef", "Py_DecRef",
    "PyTuple_New", "PyTuple_SetItem",
    "PyList_New", "PyList_Size", "PyList_GetItem", "PyList_SetItem",
    "PyDict_New", "PyDict_Size", "PyDict_GetItemWithError", "PyDict_SetItem",
    "PyCapsule_New", "PyCapsule_GetPointer", "PyCFunction_NewEx", "PyObject_Vectorcall",
    "PyObject_GetBuffer", "PyBuffer_Release", "PyObject_GetAttr", "PyWeakref_NewRef", "PyErr_Clear",
    "PyErr_Occurred", "PyErr_ExceptionMatches", "PyErr_SetInterrupt", "PyErr_Format",
    "PyEval_SaveThread", "PyEval_RestoreThread",
)  # fmt: skip
_NEW_ARRAY, _SET_BASE = 94, 282  # PyArray_NewFromDescr, PyArray_SetBaseObject
_ABI, _C_VERSION, _FEATURES = 0, 211, 0x12  # PyArray_GetNDArrayCVersion, …FeatureVersion, and that of NumPy 2.0
_MOST_GIVEN = 8  # ShloJax::kMost
_OBJECTS = (np.ndarray, tuple, list, dict, None, NotImplemented, MemoryError, RuntimeError, KeyboardInterrupt)


def teach(library: ctypes.PyDLL) -> str | None:
    """Pass this interpreter's functions to the runtime library. Returns the reason if that is not possible."""
    why = _refusal()
    if why is not None:
        return why
    functions = [_address(name) for name in _FUNCTIONS]
    table = _numpy_table()
    known = [object.__basicsize__, tuple.__basicsize__, *map(id, _OBJECTS), *functions]
    library.shlo_know_python((c_void_p * (len(known) + 2))(*known, table[_NEW_ARRAY], table[_SET_BASE]))
    library.shlo_callable.restype = py_object
    library.shlo_new_recurring.restype = c_void_p
    library.shlo_try_maker.restype = c_int64
    library.shlo_unused_memory.restype = c_int64
    return None


def _refusal() -> str | None:
    if sys.implementation.name != "cpython":
        return f"found {sys.implementation.name}, expected CPython"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "found a Python without a global lock"
    missing = [name for name in _FUNCTIONS if not _address(name)]
    if missing:
        return f"this Python lacks {', '.join(missing)}"
    table = _numpy_table()
    version, features = (ctypes.PYFUNCTYPE(ctypes.c_uint)(table[k] or 0)() for k in (_ABI, _C_VERSION))
    if version >> 24 != 2 or features < _FEATURES:
        return (
            f"found version {version:#x} of NumPy's C API with the features {features:#x}, expected 0x2000000 and 0x12"
        )
    return None


def _address(name: str) -> int:
    """Where a function of the interpreter is; 0 if there is none."""
    function = getattr(ctypes.pythonapi, name, None)
    return 0 if function is None else ctypes.cast(function, c_void_p).value or 0


@lru_cache(maxsize=1)
def _numpy_table() -> Any:
    """NumPy's functions for extension modules, by number."""
    module = cast("Any", import_module("numpy._core._multiarray_umath"))
    pointer = ctypes.PYFUNCTYPE(c_void_p, py_object, c_void_p)(("PyCapsule_GetPointer", ctypes.pythonapi))
    return ctypes.cast(pointer(module._ARRAY_API, None), ctypes.POINTER(c_void_p))  # noqa: SLF001 - its documented name


@lru_cache(maxsize=1)
def teach_jax(library: ctypes.PyDLL, kind: type) -> None:
    """Pass to the runtime library how JAX arrays are made. `kind` is their type."""
    put, given, keywords = jax_call()
    methods = [getattr(kind, name, None) for name in ("is_deleted", "__array__", "delete")]
    is_deleted, to_numpy, remove = [0 if one is None else id(one) for one in methods]
    weak_type = sys.intern("weak_type")
    known = [
        id(kind), id(put), *map(id, given), *[0] * (_MOST_GIVEN - len(given)), len(given) - len(keywords),
        id(keywords) if keywords else 0, id(weak_type), id(False), is_deleted, id(False), to_numpy, remove,
    ]  # fmt: skip
    _taught.append((kind, put, given, keywords, weak_type, methods))
    library.shlo_know_jax((c_void_p * len(known))(*known))


_taught: list[object] = []  # keeps alive what the library refers to
