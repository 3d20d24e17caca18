"""The compilers that the prelude has to work with, as these tests run them."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from shlo_disc.device import headers
from shlo_disc.device.libraries import library_text

INCLUDE = f"-I{headers.ROOT}"
FLAGS = (
    "-O3", "-march=native", "-std=c++17", "-fno-exceptions", "-fno-rtti", "-fno-math-errno", "-fno-trapping-math",
    "-Wall", "-Wextra", "-Werror", "-Wno-psabi", "-shared", "-fPIC",
)  # fmt: skip
COMPILERS = {
    "gcc": ["g++", "-mprefer-vector-width=512", "--param=avoid-fma-max-bits=0", "-ffp-contract=fast"],
    "zig": [sys.executable, "-m", "ziglang", "c++", "-ffp-contract=fast-honor-pragmas"],
}
# Without `-nostdlib` zig builds a C++ library of its own for each machine and level of optimization: two minutes each.
LINK: dict[str, tuple[str, ...]] = {"gcc": (), "zig": ("-nostdlib",)}

UNOPTIMIZED = ("-O0", "-ffp-contract=off")  # what programs are compiled with that are told not to be optimized


def require(compiler: str) -> None:
    """Skip the test where this compiler is absent."""
    if compiler == "gcc" and shutil.which("g++") is None:
        pytest.skip("needs g++")
    if compiler == "zig" and find_spec("ziglang") is None:
        pytest.skip("needs the package ziglang")


def run(*command: object) -> None:
    """Run a compiler, which must have nothing to complain of."""
    done = subprocess.run([*map(str, command)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def build(compiler: str, source: str, folder: Path, *flags: str) -> ctypes.CDLL:
    """Compile a harness that includes headers of `shlo_disc.device`; skip where this compiler is absent."""
    require(compiler)
    path, library = folder / "harness.cc", folder / "harness.so"
    path.write_text(source)
    command = [*COMPILERS[compiler], *FLAGS, *LINK[compiler], *flags, INCLUDE, str(path), "-o", str(library)]
    run(*command)
    return ctypes.CDLL(str(library))


def write_library(name: str, folder: Path) -> Path:
    """The file of a library that programs link."""
    file = folder / f"{name}.cc"
    file.write_text(library_text(name))
    return file
