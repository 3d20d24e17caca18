"""Give a program the addresses of LAPACK's routines: those of SciPy, which is first imported here."""

from __future__ import annotations

import ctypes
import importlib
from functools import cache
from typing import Any, cast

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.library import LoadedProgram, pointers

LIBRARY = "lapack"  # listed in the libraries of source files that call LAPACK
_MODULES = ("scipy.linalg.cython_lapack", "scipy.linalg.cython_blas")
_SPELLINGS = ("scipy_openblas_{}", "openblas_{}", "MKL_{}", "bli_thread_{}")  # of get_num_threads, set_num_threads


class _Threads(ctypes.Structure):
    """`ShloBlasThreads` of lapack.h: one for the process, shared by all programs."""

    _fields_ = [
        ("get", ctypes.c_void_p),
        ("set", ctypes.c_void_p),
        ("users", ctypes.c_int64),
        ("threads", ctypes.c_int64),
        ("lock", ctypes.c_int64),
    ]


def bind_lapack(artifact: Artifact, program: LoadedProgram) -> None:
    """Fill in the table of a program that calls LAPACK. Raises `ToolchainError` without a SciPy that has it."""
    if not any(LIBRARY in file.libraries for file in artifact.kernels):
        return
    names = list[str]()
    table = ctypes.cast(program.handle["shlo_lapack_names"], ctypes.POINTER(ctypes.c_char_p))
    while (name := cast("bytes | None", table[len(names)])) is not None:
        names.append(name.decode())
    routines = pointers([_address(name) for name in names])
    ctypes.memmove(program.address("shlo_lapack_routines"), routines, ctypes.sizeof(routines))
    threads = ctypes.c_void_p(ctypes.addressof(_threads()))
    ctypes.memmove(program.address("shlo_blas_threads"), ctypes.byref(threads), ctypes.sizeof(threads))


@cache
def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise ToolchainError(
            f"cannot import {name}: {error}\n  help: linear algebra is done by SciPy's LAPACK: pip install scipy"
        ) from error


@cache
def _address(routine: str) -> int:
    """The address of a routine: SciPy exports it to Cython as a capsule, whose name is its signature."""
    capsule = next((found for name in _MODULES if (found := _module(name).__pyx_capi__.get(routine)) is not None), None)
    if capsule is None:
        raise ToolchainError(f"expected SciPy to have LAPACK's {routine}, found none\n  help: update SciPy")
    api = ctypes.pythonapi
    api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    signature = cast("bytes", api.PyCapsule_GetName(capsule))
    if b" int *" not in signature:
        raise ToolchainError(f"expected SciPy's {routine} to count with 32 bits, found {signature.decode()}")
    return cast("int", api.PyCapsule_GetPointer(capsule, signature))


@cache
def _threads() -> _Threads:
    """The functions that get and set the threads of SciPy's BLAS, found among the dependencies of its module."""
    library = ctypes.CDLL(_module(_MODULES[1]).__file__)
    for spelling in _SPELLINGS:
        get, put = (getattr(library, spelling.format(f"{what}_num_threads"), None) for what in ("get", "set"))
        if get is not None and put is not None:
            return _Threads(*(ctypes.cast(one, ctypes.c_void_p) for one in (get, put)), 0, 0, 0)
    return _Threads()
