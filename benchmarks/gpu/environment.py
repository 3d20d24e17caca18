"""What this machine is, and what is installed."""

# CuPy has no types.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import importlib.metadata
import platform
import shutil

import cupy

from benchmarks.gpu.section import Section

PACKAGES = ("numpy", "jax", "jaxlib", "cupy-cuda13x", "cupy-cuda12x", "torch", "ml_dtypes", "ziglang")


def main() -> None:
    """Write versions and limits."""
    section = Section()
    properties = cupy.cuda.runtime.getDeviceProperties(0)
    section.add("gpu", properties["name"].decode())
    section.add("compute_capability", f"{properties['major']}.{properties['minor']}")
    section.add("multiprocessors", properties["multiProcessorCount"])
    section.add("memory_bytes", properties["totalGlobalMem"])
    section.add("driver", cupy.cuda.runtime.driverGetVersion())
    section.add("runtime", cupy.cuda.runtime.runtimeGetVersion())
    section.add("nvrtc", list(cupy.cuda.nvrtc.getVersion()))
    section.add("python", platform.python_version())
    section.add("packages", {name: _version(name) for name in PACKAGES})
    tools = ("g++", "clang++", "compute-sanitizer", "nvcc", "nvidia-smi")
    section.add("tools", {tool: shutil.which(tool) is not None for tool in tools})
    section.add("summary", [f"{section.report['gpu']}, driver {section.report['driver']}"])


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


if __name__ == "__main__":
    main()
