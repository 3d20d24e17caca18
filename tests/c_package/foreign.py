# The finfo of ml_dtypes is partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false
"""Packages for ARM, built by zig, and run by qemu with the C library of Debian's package for cross compilers."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import shlo_disc
from shlo_disc.artifact import Artifact
from shlo_disc.runtime.building.machines import MACHINES
from shlo_disc.runtime.building.toolchain import find_compiler
from tests.c_package.packages import FOLDER, STRICT, Package

ARM = MACHINES["aarch64"]
SYSTEM = Path("/usr/aarch64-linux-gnu")  # where Debian installs libc6-arm64-cross
EMULATOR = ("qemu-aarch64", "-L", str(SYSTEM))
Array = np.ndarray[Any, Any]


def require_arm() -> None:
    """Skip the test where packages for ARM cannot be built or run."""
    needed = {
        "the package ziglang": find_spec("ziglang"),
        "qemu-aarch64 (Debian: qemu-user)": shutil.which("qemu-aarch64"),
        "glibc for ARM (Debian: libc6-arm64-cross)": (SYSTEM / "lib" / "libc.so.6").exists(),
        "objcopy for ARM (Debian: binutils-aarch64-linux-gnu)": shutil.which("aarch64-linux-gnu-objcopy")
        or shutil.which("llvm-objcopy"),
    }
    if missing := [name for name, found in needed.items() if not found]:
        pytest.skip(f"needs {', '.join(missing)}")


def arm_package(run: shlo_disc.Compiled, folder: Path) -> Package:
    """The package of a program for ARM, and the driver."""
    run.build(folder, target="aarch64-linux")
    return linked_for_arm(run.executable.artifact, folder)


def linked_for_arm(artifact: Artifact, folder: Path) -> Package:
    """The package for ARM in a folder, with a driver."""
    link_for_arm(folder, "driver", "-lmodel", FOLDER / "driver.c", "-D_POSIX_C_SOURCE=200809L")
    return Package(folder, artifact, folder / "driver", EMULATOR)


def link_for_arm(folder: Path, target: str, library: str, source: Path, *flags: str) -> None:
    """Compile and link a program in C for ARM."""
    zig = find_compiler("zig").command[0]
    command = [
        zig, "build-exe", "-target", "aarch64-linux-gnu.2.17", "-lc", "-fno-compiler-rt", "-fno-ubsan-rt", "-I.", "-L.",
        library, "-cflags", *STRICT, *flags, "-fno-sanitize=undefined", "--", str(source), f"-femit-bin={target}",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, cwd=folder, env=zig_environment(), check=False)
    assert done.returncode == 0, done.stderr.decode()


def zig_environment() -> dict[str, str]:
    """The environment in which zig keeps the files of C libraries that it makes, for other tests."""
    kept = str(Path(tempfile.gettempdir()) / f"shlo_disc_zig_{os.getuid()}")
    return {**os.environ, "ZIG_GLOBAL_CACHE_DIR": kept, "ZIG_LOCAL_CACHE_DIR": kept}


def assert_near(found: Array, wanted: Array, what: str, units: float = 4, least: float = 0) -> None:
    """Hold elements of another machine against those of this one.

    Integers, NaNs and infinities are the same. Floats may be apart by `units` of the last place of their size, which is
    that of the whole number for the parts of complex ones, and at least `least`.
    """
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), what
    if found.dtype.kind in "biu" or found.dtype.name.startswith(("int", "uint")):
        np.testing.assert_array_equal(found, wanted, what)
        return
    with np.errstate(all="ignore"):
        sizes = np.abs(wanted if wanted.dtype.kind == "c" else wanted.astype(np.float64)).astype(np.float64)
        room = units * float(ml_dtypes.finfo(found.real.dtype).eps) * np.maximum(sizes, least)
        for part in (np.real, np.imag) if found.dtype.kind == "c" else (np.asarray,):
            a, b = part(found).astype(np.float64), part(wanted).astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.isfinite(a) & np.isfinite(b) & (np.abs(a - b) <= room))
            assert same.all(), (what, np.argwhere(~same)[:3].tolist(), a[~same][:3], b[~same][:3])
