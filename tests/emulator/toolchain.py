"""Compile the emulator, kernels and the runner with g++; what is there already is not compiled again."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import subprocess
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Literal

from shlo_disc.device import headers
from shlo_disc.runtime.cuda import nvrtc
from shlo_disc.runtime.cuda.device import IndexType

_MOST_BYTES = 1 << 30  # of compiled files that are kept
_YOUNG = 3600  # seconds

HERE = Path(__file__).resolve().parent
Mode = Literal["plain", "asan", "tsan"]

_RUNTIME = ("emulator.cc", "driver.cc")
_KERNEL_FLAGS = (
    "-std=gnu++17", "-O1", "-g1", "-fPIC", "-w", "-ffp-contract=off", "-fno-strict-aliasing", "-fno-math-errno",
    "-fvisibility=hidden", "-fno-gnu-unique", "-D__CUDA_EMU__=1",
)  # fmt: skip
# The plain mode has a handler of its own for misaligned accesses: see `__ubsan_handle_type_mismatch_v1`.
_MODE_FLAGS: dict[Mode, tuple[str, ...]] = {
    "plain": ("-fsanitize=alignment",),
    "asan": ("-fsanitize=address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all"),
    "tsan": ("-fsanitize=thread",),
}
_BOUNDS = re.compile(r"__launch_bounds__\(\s*(\d+)[^)]*\)\s+(\w+)\s*\(")


class CompilationError(Exception):
    """g++ refused a text."""


def library(text: str, names: Sequence[str], index: IndexType, mode: Mode = "plain") -> Path:
    """A shared library with the kernels `names` of a CUDA text, each as `emu_kernel_NAME`."""
    bounds = {name: int(most) for most, name in _BOUNDS.findall(text)}
    kernels = "".join(f"EMU_KERNEL({name}, {bounds.get(name, 0)})\n" for name in names)
    order = ("-DEMU_ORDER=__ATOMIC_ACQ_REL",) if "__threadfence" in text else ()
    flags = (*_KERNEL_FLAGS, *_MODE_FLAGS[mode], *order, f"-DSHLO_INDEX={index}")
    key = _digest(text, kernels, *flags, _headers_digest())
    target = folder() / f"{key}.so"
    if target.exists():
        target.touch()
        return target
    with tempfile.TemporaryDirectory(dir=folder()) as scratch:
        (Path(scratch) / "kernels.cu").write_text(text)
        source = Path(scratch) / "all.cc"
        source.write_text(f'#include "kernels.cu"\n{kernels}')
        done = Path(scratch) / "all.o"
        folders = (f"-I{HERE}", f"-I{headers.ROOT}")
        _run(["g++", *flags, "-include", str(_precompiled(flags)), *folders, "-c", str(source), "-o", str(done)])
        _run(["g++", "-shared", str(done), "-o", f"{done}.so"])
        Path(f"{done}.so").replace(target)
    return target


def runtime() -> Path:
    """The emulator as a shared library; never instrumented."""
    flags = ("-std=c++17", "-O2", "-g1", "-fPIC", "-Wall", "-Wextra", "-Wno-missing-field-initializers")
    target = folder() / f"emulator_{_digest(*flags, _sources_digest())}.so"
    if not target.exists():
        sources = [str(HERE / name) for name in _RUNTIME]
        with _finished(target) as unfinished:
            _run(["g++", *flags, "-shared", *sources, "-o", unfinished])
    target.touch()
    return target


def runner(mode: Mode) -> Path:
    """The program that executes a plan in a process of its own, under a sanitizer."""
    flags = ("-std=c++17", "-O1", "-g1", *(_MODE_FLAGS[mode] if mode != "plain" else ()))
    target = folder() / f"runner_{mode}_{_digest(*flags, str(runtime()), (HERE / 'runner.cc').read_text())}"
    if not target.exists():
        with _finished(target) as unfinished:
            library_flags = [str(runtime()), f"-Wl,-rpath,{folder()}", "-ldl"]
            _run(["g++", *flags, str(HERE / "runner.cc"), *library_flags, "-o", unfinished])
    target.touch()
    return target


@cache
def folder() -> Path:
    """Where compiled files are kept, for all processes of this user."""
    path = Path(tempfile.gettempdir()) / f"shlo_disc_emulator_{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    _make_room(path)
    return path


def _make_room(path: Path) -> None:
    """Drop what was not used for longest, but nothing that another process may be about to open."""
    found = list[tuple[float, int, Path]]()
    for file in path.iterdir():
        with suppress(FileNotFoundError):  # other processes make room too
            status = file.stat()
            if stat.S_ISREG(status.st_mode):
                found.append((status.st_mtime, status.st_size, file))
    total = sum(size for _, size, _ in found)
    for used, size, file in sorted(found):
        if total <= _MOST_BYTES or used > time.time() - _YOUNG:
            return
        file.unlink(missing_ok=True)
        total -= size


def _precompiled(flags: Sequence[str]) -> Path:
    """The header that every text begins with, compiled once per set of flags."""
    header = folder() / f"prelude_{_digest(*flags, _headers_digest())}.h"
    compiled = Path(f"{header}.gch")
    if compiled.exists():
        compiled.touch()
        header.touch()
        return header
    with _locked(Path(f"{header}.lock")):
        if not compiled.exists():
            header.write_text('#include "cuda_emu.h"\n#include "call/shlo.cuh"\n')
            with _finished(compiled) as unfinished:
                command = ["g++", *flags, f"-I{HERE}", f"-I{headers.ROOT}", "-x", "c++-header", str(header)]
                _run([*command, "-o", unfinished])
    return header


@contextmanager
def _finished(target: Path) -> Generator[str]:
    """A name to write to; what is written becomes `target` all at once."""
    with tempfile.TemporaryDirectory(dir=target.parent) as scratch:
        unfinished = Path(scratch) / target.name
        yield str(unfinished)
        unfinished.replace(target)


@contextmanager
def _locked(path: Path) -> Generator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise CompilationError("\n".join([" ".join(command), *done.stderr.splitlines()[:40]]))


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:24]


def _headers_digest() -> str:
    own = [HERE / "cuda_emu.h", HERE / "emulator.h"]
    texts = [path.name + path.read_text() for path in own] + [name + text for name, text in nvrtc.headers().items()]
    return _digest(*texts, _compiler())


def _sources_digest() -> str:
    return _digest(*(path.read_text() for path in sorted([*HERE.glob("*.cc"), *HERE.glob("*.h")])), _compiler())


@cache
def _compiler() -> str:
    return subprocess.run(["g++", "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]
