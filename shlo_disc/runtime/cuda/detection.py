"""Whether there is a GPU. Each compilation that names no device asks, so this imports little."""

from __future__ import annotations

import ctypes
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from shlo_disc.diagnostics import ToolchainError

DRIVER = "libcuda.so.1"


def cuda_is_available() -> bool:
    """Whether programs can run on a GPU. CuPy is not even imported where NVIDIA's driver is missing."""
    if not _has_driver() or find_spec("cupy") is None:
        return False
    try:
        return bool(import_cupy().cuda.is_available())
    except ToolchainError:
        return False


def import_cupy() -> Any:
    """CuPy. Raises `ToolchainError` if it cannot be imported."""
    try:
        return import_module("cupy")
    except (ImportError, RuntimeError) as error:
        raise ToolchainError(f"CuPy cannot be imported: {error}") from error


def _has_driver() -> bool:
    try:
        ctypes.CDLL(DRIVER)
    except OSError:
        return False
    return True


def missing_parts() -> list[str]:
    """One entry per thing that a GPU program needs and that is not here."""
    found: list[str] = []
    if not _has_driver():
        found.append(
            f"  found no {DRIVER}, expected NVIDIA's driver\n"
            "    help: install the driver of your GPU (580 or newer for CUDA 13), or run where there is one"
        )
    if find_spec("cupy") is None:
        found.append(
            "  found no CuPy\n    help: pip install shlo-disc[cuda13], or CuPy 14 for the CUDA version of your driver"
        )
    else:
        from shlo_disc.runtime.cuda import nvrtc  # noqa: PLC0415  most machines have no GPU

        try:
            import_cupy()
            nvrtc.version()
        except ToolchainError as error:
            found += [f"  {line}" for line in str(error).splitlines()]
    if not found and not cuda_is_available():
        found.append("  CuPy finds no GPU\n    help: look at nvidia-smi and CUDA_VISIBLE_DEVICES")
    return found
