"""Packages that tests build, and their calls from C."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shlo_disc
from shlo_disc.artifact import Artifact
from shlo_disc.c_package.build import package_files
from shlo_disc.runtime.building.machines import native
from shlo_disc.runtime.interop import dtype_of

FOLDER = Path(__file__).parent
STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")
OK, SHAPE, MEMORY, ARGUMENT = range(4)  # the statuses of the header
Arrays = Sequence[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Answer:
    """What a call from C gave: its results, or a message."""

    status: int
    message: str
    results: list[np.ndarray[Any, Any]]


@dataclass(frozen=True)
class Package:
    """A folder with a package, a driver that is linked with it, and the command that runs programs of its machine."""

    folder: Path
    artifact: Artifact
    driver: Path
    emulator: tuple[str, ...] = ()

    def calls(
        self,
        calls: Sequence[Arrays],
        *,
        threads: int = 1,
        callers: int = 1,
        poison: int = 0xFF,
        allocations: int = -1,
        weights: Arrays | Path | None = None,
    ) -> list[Answer]:
        """Make calls in a process of its own; each as often as there are callers, at the same time."""
        path = str(weights) if isinstance(weights, Path) else "-" if weights else ""
        arrays = () if weights is None or isinstance(weights, Path) else weights
        given = [*(np.ascontiguousarray(one).tobytes() for one in arrays), struct.pack("<q", len(calls))]
        for arrays in calls:
            for array in arrays:
                given += [struct.pack(f"<{array.ndim}q", *array.shape), np.ascontiguousarray(array).tobytes()]
        command = [*self.emulator, str(self.driver), str(threads), str(callers), str(poison), str(allocations)]
        command.append(path)
        environment = {"LD_LIBRARY_PATH": str(self.folder)}
        done = subprocess.run(command, input=b"".join(given), capture_output=True, env=environment, check=False)
        assert done.returncode == 0, (done.returncode, done.stderr.decode())
        return self._answers(done.stdout)

    def _answers(self, data: bytes) -> list[Answer]:
        (created,), at, found = struct.unpack_from("<q", data), 8, list[Answer]()
        if created:
            return [Answer(created, "", [])]
        while at < len(data):
            status, length = struct.unpack_from("<2q", data, at)
            message, at, results = (
                data[at + 16 : at + 16 + length].decode(),
                at + 16 + length,
                list[np.ndarray[Any, Any]](),
            )
            for one in self.artifact.results if status == 0 else ():
                shape = struct.unpack_from(f"<{len(one.shape)}q", data, at)
                at += 8 * len(shape)
                array = np.frombuffer(data, dtype_of(one.dtype), int(np.prod(shape)), at).reshape(shape)
                at += array.nbytes
                results.append(array)
            found.append(Answer(status, message, results))
        return found


def package(compiled: shlo_disc.Compiled, folder: Path, *flags: str) -> Package:
    """Build a package for this machine, and the driver."""
    compiled.build(folder, target="native")
    return linked(compiled.executable.artifact, folder, *flags)


def package_of(artifact: Artifact, folder: Path) -> Package:
    """The package of an artifact that no compiler made."""
    for name, data in package_files(artifact, "model", shlo_disc.CompileOptions(optimize=0), native()).items():
        (folder / name).write_bytes(data)
    return linked(artifact, folder)


def linked(artifact: Artifact, folder: Path, *flags: str) -> Package:
    """The package in a folder, with a driver."""
    driver = folder / "driver"
    command = ["gcc", *STRICT, *flags, str(FOLDER / "driver.c"), f"-I{folder}", f"-L{folder}", "-lmodel", "-lpthread"]
    compile_c(*command, "-D_POSIX_C_SOURCE=200809L", "-o", str(driver))
    return Package(folder, artifact, driver)


def compile_c(*command: str, folder: Path | None = None) -> None:
    """Run a compiler, which has to say nothing."""
    done = subprocess.run(command, capture_output=True, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert not done.stderr, done.stderr.decode()


def compiled_text(text: str) -> shlo_disc.Compiled:
    """Compile StableHLO for the CPU."""
    return shlo_disc.compile(text, device="cpu", options=shlo_disc.CompileOptions(optimize=0))


def compiled_function(function: Callable[..., Any], shapes: str) -> shlo_disc.Compiled:
    """Compile a function for the CPU."""
    return shlo_disc.compile(function, shapes=shapes, device="cpu", options=shlo_disc.CompileOptions(optimize=0))


def assert_same_bits(found: np.ndarray[Any, Any], wanted: Any) -> None:
    """Hold an array of C against one of Python."""
    expected = np.asarray(wanted)
    assert found.shape == expected.shape
    assert found.dtype == expected.dtype
    assert found.tobytes() == expected.tobytes()
