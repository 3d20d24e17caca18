"""Find a C++ compiler.

The order, clang, zig, gcc, is measured: GELU, layer norm and softmax over rows in one kernel with
explicit vectors (Zen 4, one core) compiles in 0.17 s and takes 0.91 ns per element with zig 0.17
(clang 22), 0.25 s and 1.11 ns with gcc 12. Zig's binary is started directly, which saves Python's
start-up, and as the clang and the lld that it contains, which saves 0.03 s per file: `zig c++` looks
for the machine's C library and links each object once more.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from shlo_disc.diagnostics import ToolchainError, one_line
from shlo_disc.processes import run
from shlo_disc.runtime.building.compiler import ZIG_DRIVER, Compiler, Kind, reason_of
from shlo_disc.runtime.building.machines import TargetMachine, native

_LONGEST_VERSION = 200
_ANSWER_SECONDS = 60.0  # in which a compiler has to print its version
_ORDER: tuple[Kind, ...] = ("clang", "zig", "gcc")


def find_compiler(
    wanted: str | None = None, seconds: float | None = None, machine: TargetMachine | None = None
) -> Compiler:
    """The compiler that the user names (a path, `clang`, `gcc`, `zig`), or the best there is.

    It may take `seconds` for one file. Code is for `machine`, or this one; for one of another family it has to be zig,
    which has the headers and the symbols of its C library. Raises `ToolchainError` if there is none, or it does not
    respond like one.
    """
    machine = machine or native()
    found = _ask(_find("zig" if wanted is None and machine.is_foreign else wanted))
    if machine.is_foreign:
        found = _for_family(found, machine.family)
    return replace(found, seconds=seconds, machine=machine)


def _for_family(found: Compiler, family: str) -> Compiler:
    """The compiler with the headers of another family's C library. Raises `ToolchainError` if it is not zig."""
    if found.kind != "zig":
        raise ToolchainError(
            f"found the compiler {found.version}, expected zig: no other has the C library of {family}\n"
            "  help: name zig or none: CompileOptions(compiler=None)"
        )
    if (mode := _glibc_mode(found.command[0], family)) is None:
        raise ToolchainError(f"{found.command[0]} lacks its folder lib/libc, expected the headers of glibc in it")
    return replace(found, command=(found.command[0], *mode))


def _find(wanted: str | None) -> tuple[str, ...]:
    if wanted is None:
        found = next(filter(None, map(_locate, _ORDER)), None)
        if found is None:
            raise ToolchainError(
                "no C++ compiler: found none of clang++, ziglang and g++, expected one of them\n"
                "  help: pip install shlo-disc[toolchain] (no root needed), or install clang or gcc"
            )
        return found
    command = _locate(wanted) if wanted in _ORDER else _at_path(wanted)
    if command is None:
        remedy = "pip install shlo-disc[toolchain]" if wanted == "zig" else f"install {wanted}"
        raise ToolchainError(
            f"no C++ compiler {wanted!r}: expected a path, or clang, gcc or zig if installed\n"
            f"  help: {remedy}, or take the best one there is: CompileOptions(compiler=None)"
        )
    return command


def _locate(kind: str) -> tuple[str, ...] | None:
    if kind == "zig":
        return _zig()
    path = shutil.which({"clang": "clang++", "gcc": "g++"}[kind])
    return None if path is None else (path,)


def _zig() -> tuple[str, ...] | None:
    """Zig's binary in the package `ziglang`, else the one on the path."""
    spec = importlib.util.find_spec("ziglang")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    names = ("zig", "zig.exe")
    inside = [str(path) for folder in folders for name in names if (path := Path(folder, name)).is_file()]
    path = inside[0] if inside else shutil.which("zig")
    return None if path is None else (path, *_zig_mode(path))


@lru_cache
def _zig_mode(path: str) -> tuple[str, ...]:
    """How to start zig's binary as a compiler for this machine.

    As clang with the headers of glibc beside it, where glibc is the C library of this process; else as `zig c++`,
    which detects the machine's C library.
    """
    machine = platform.machine()
    known = machine in {"x86_64", "aarch64"} and _is_glibc()
    return (_glibc_mode(path, machine) if known else None) or ZIG_DRIVER


@lru_cache
def _glibc_mode(path: str, family: str) -> tuple[str, ...] | None:
    """How to start zig's binary as clang for a family of machines with glibc; None if it has no headers of that."""
    folder = Path(path).resolve().parent / "lib"
    name = "x86" if family == "x86_64" else family
    headers = [folder / "libc" / "include" / f"{name}-linux-{kind}" for kind in ("gnu", "any")]
    headers += [folder / "libc" / "include" / name for name in ("generic-glibc", "any-linux-any")]
    headers.insert(0, folder / "include")  # the compiler's own come first
    if not all(header.is_dir() for header in headers):
        return None
    searched = [argument for header in headers for argument in ("-isystem", str(header))]
    return ("clang", f"--target={family}-linux-gnu", "-nostdinc", *searched)


def _is_glibc() -> bool:
    """Whether the C library of this process is glibc."""
    name = "CS_GNU_LIBC_VERSION"
    return name in getattr(os, "confstr_names", {}) and (os.confstr(name) or "").startswith("glibc")


def _at_path(path: str) -> tuple[str, ...] | None:
    found = None if "\0" in path else shutil.which(str(Path(path).expanduser()))
    if found is None:
        return None
    return (found, *_zig_mode(found)) if Path(found).stem == "zig" else (found,)


@lru_cache
def _ask(command: tuple[str, ...]) -> Compiler:
    """Query the kind and the version of a compiler."""
    if command[1:]:
        version = _output(command[0], "version").strip()
        if not version:
            raise _not_a_compiler(command[0], "it prints no version")
        return Compiler("zig", command, f"zig {one_line(version[:_LONGEST_VERSION])}")
    macros = _output(command[0], "-dM", "-E", "-x", "c++", os.devnull)
    version = re.search(r'#define __VERSION__ "(.*)"', macros)
    if version is None:
        raise _not_a_compiler(command[0], "it prints no macro __VERSION__")
    kind: Kind = "clang" if "#define __clang__ " in macros else "gcc"
    return Compiler(kind, command, f"{kind} {one_line(version[1][:_LONGEST_VERSION])}")


def _output(*command: str) -> str:
    try:
        done = run(command, seconds=_ANSWER_SECONDS)
    except (OSError, ValueError) as error:  # also a TimeoutError
        raise _not_a_compiler(command[0], reason_of(error)) from error
    if done.status != 0:
        raise _not_a_compiler(command[0], done.ending)
    return done.output.decode(errors="replace")


def _not_a_compiler(path: str, why: str) -> ToolchainError:
    return ToolchainError(
        f"{one_line(path)} does not answer like clang, gcc or zig: {why}\n"
        "  help: name a working compiler with CompileOptions(compiler=...)"
    )
