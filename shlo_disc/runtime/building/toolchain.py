"""Find a C++ compiler and drive it.

The order, clang, zig, gcc, is measured: GELU, layer norm and softmax over rows in one kernel with
explicit vectors (Zen 4, one core) compiles in 0.17 s and takes 0.91 ns per element with zig 0.17
(clang 22), 0.25 s and 1.11 ns with gcc 12. Zig's binary is started directly, which saves Python's
start-up, and as the clang and the lld that it contains, which saves 0.03 s per file: `zig c++` looks
for the machine's C library and links each object once more. A C library is never linked.
"""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import re
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal

from shlo_disc.diagnostics import ToolchainError, one_line
from shlo_disc.processes import Finished, run, shown
from shlo_disc.runtime.building.machines import TargetMachine, native

Kind = Literal["clang", "zig", "gcc"]

_ELF = b"\x7fELF"
_LONGEST_VERSION = 200
_ANSWER_SECONDS = 60.0  # in which a compiler has to print its version
_OTHER = "another compiler may work: CompileOptions(compiler=...)"
_ORDER: tuple[Kind, ...] = ("clang", "zig", "gcc")

_LANGUAGE = (
    "-std=c++17",
    "-fno-exceptions",
    "-fno-rtti",
    "-fPIC",
    "-g0",
    "-fno-strict-aliasing",  # buffers of several types are the same memory at different times
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
)
# Optimizations that may change the value of an expression are off, but for contraction into fused multiply-adds, from
# which `times` of vec.h protects products of generated code. At -O0 that is off, too: clang's fast instruction selector
# contracts whole vectors, but not the scalars of a remainder, so that the bits of an element would depend on where
# threads cut a loop.
_ARITHMETIC = ("-fno-math-errno", "-fno-trapping-math")
_UNOPTIMIZED = "-ffp-contract=off"
_OPTIMIZED: dict[Kind, str] = {
    "clang": "-ffp-contract=fast-honor-pragmas",
    "zig": "-ffp-contract=fast-honor-pragmas",
    "gcc": "-ffp-contract=fast",
}
# Tuned for AMD's CPUs, gcc does not contract chains of additions in some loops, so not in all tiles of a product.
_GCC_CONTRACTS = "--param=avoid-fma-max-bits=0"
# LLVM 20 does not terminate in this pass on shuffles of widened masks: a program that counts 21 booleans never
# compiled. Kernels are vectorized already, so the pass is not needed.
_LLVM = ("-mllvm", "-disable-vector-combine")
_ONLY: dict[Kind, tuple[str, ...]] = {
    "clang": _LLVM,
    "zig": ("-fno-sanitize=undefined", *_LLVM),
    "gcc": ("-fno-semantic-interposition", _GCC_CONTRACTS),
}
# `zig c++` passes this, with -O2 at most. Tuned for a Zen 4, with -O3, loops of vectors are unrolled by 4 to 8: half of
# the kernels of an encoder grow from 2490 to 4340 lines of assembly, and from 0.33 to 0.45 s of compile time.
_UNTUNED = ("-mtune=generic",)
_ZIG_DRIVER = ("c++",)
# The process has loaded the C library and libm; nothing else is linked, except gcc's support of half floats.
_LINK = ("-shared", "-nostdlib", "-Wl,-Bsymbolic")
_LINK_ONLY: dict[Kind, tuple[str, ...]] = {"clang": (), "zig": (), "gcc": ("-lgcc",)}


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler that works: its command, and the version that it printed.

    `seconds` is the time limit for one file; None for none. Code is for `machine`.
    """

    kind: Kind
    command: tuple[str, ...]
    version: str
    seconds: float | None = None
    machine: TargetMachine = field(default_factory=native)

    def flags(self, optimize: int) -> tuple[str, ...]:
        """The flags that an object file depends on."""
        caches = [f"-DSHLO_L{level}_BYTES={size}" for level, size in enumerate(self.machine.cache_bytes, start=1)]
        contraction = _OPTIMIZED[self.kind] if optimize else _UNOPTIMIZED
        fixed = (*_LANGUAGE, *_ARITHMETIC, contraction, *_ONLY[self.kind], *caches)
        if self.kind != "zig":
            return (f"-O{optimize}", *self.machine.flags, *fixed)
        if self.is_driven_by_zig:
            return (f"-O{optimize}", self.machine.flags[0], *fixed)
        return (f"-O{min(optimize, 2)}", *self.machine.flags, *_UNTUNED, *fixed)

    @property
    def identity(self) -> str:
        """What object files depend on besides the flags: the version, and which file is started, if it is not zig's.

        The file may be a script that adds flags to a compiler and prints that compiler's version.
        """
        if self.kind == "zig":
            return self.version
        stamp = ()
        with suppress(OSError):  # it is gone: starting it raises an error
            found = Path(self.command[0]).stat()
            stamp = found.st_size, found.st_mtime_ns
        return " ".join(map(str, (self.version, *self.command, *stamp)))

    @property
    def is_driven_by_zig(self) -> bool:
        """Whether `zig c++` is run, not the clang inside."""
        return self.command[1:] == _ZIG_DRIVER

    def compile(self, source: Path, target: Path, optimize: int, include: Sequence[Path]) -> None:
        """Compile one file to an object file."""
        command = [
            *self.command,
            *self.flags(optimize),
            *[f"-I{folder.absolute()}" for folder in include],
            "-c",
            str(source.absolute()),
        ]
        self._run(command, target)

    def link(self, objects: list[Path], target: Path) -> None:
        """Link object files into one shared object."""
        files = [str(path.absolute()) for path in objects]
        if self.kind == "zig" and not self.is_driven_by_zig:
            command = [self.command[0], "ld.lld", "-shared", "-Bsymbolic", *files]
        else:
            command = [*self.command, *_LINK, *files, *_LINK_ONLY[self.kind]]
        self._run(command, target)

    def link_library(self, objects: Sequence[Path], target: Path, exports: Sequence[str]) -> None:
        """Link object files into a shared object for programs in C: it exports these functions and no others.

        It names the C library, and stays loaded once it is: threads keep memory that its code frees when they end.
        """
        script = target.with_suffix(".map")
        script.write_text(f"{{ global: {' '.join(f'{name};' for name in exports)} local: *; }};\n")
        options = ["-soname", target.name, "--version-script", str(script.absolute()), "-z", "nodelete", "-z", "defs"]
        files = [str(path.absolute()) for path in objects]
        libraries = ["--as-needed", *c_libraries()]
        if self.kind == "zig" and not self.is_driven_by_zig:
            command = [self.command[0], "ld.lld", "-shared", "-Bsymbolic", *options, *files, *libraries]
        else:
            passed = [f"-Wl,{','.join(group)}" for group in (options, libraries)]
            command = [*self.command, *_LINK, passed[0], *files, *_LINK_ONLY[self.kind], passed[1]]
        self._run(command, target)

    def merge(self, objects: Sequence[Path], target: Path) -> None:
        """Link object files into one object file; its sections are in no groups, which two programs might share."""
        files, option = [str(path.absolute()) for path in objects], "--force-group-allocation"
        if self.kind == "zig" and not self.is_driven_by_zig:
            command = [self.command[0], "ld.lld", "-r", option, *files]
        else:
            command = [*self.command, "-r", "-nostdlib", f"-Wl,{option}", *files]
        self._run(command, target)

    def keep_global(self, path: Path, target: Path, exports: Sequence[str]) -> None:
        """Make all symbols of an object file local that are not exported. Raises `ToolchainError` without `objcopy`."""
        keep = target.with_suffix(".keep")
        keep.write_text("\n".join([*exports, ""]))
        self._run_binutil("objcopy", f"--keep-global-symbols={keep}", path, target)

    def archive(self, path: Path, target: Path) -> None:
        """Make a static library of an object file, of no time and no owner. Raises `ToolchainError` without `ar`."""
        self._run_binutil("ar", "rcsD", target, path)

    def _run_binutil(self, name: str, *arguments: str | Path) -> None:
        found = next(filter(None, map(shutil.which, (name, f"llvm-{name}"))), None)
        if found is None:
            raise ToolchainError(
                f"found neither {name} nor llvm-{name}, expected one of them: static libraries need it\n"
                "  help: install binutils, or those of LLVM"
            )
        done = run([found, *map(str, arguments)], seconds=self.seconds)
        if done.status != 0:
            raise self._failed(
                [found, *map(str, arguments)], f"needs {name}, which failed ({done.ending})", _OTHER, done
            )

    def _run(self, command: list[str], target: Path) -> None:
        """Run a command that writes a file, in the folder of that file: lld opens no path with a `%` in it.

        No path begins like a flag.
        """
        # Zig's cache is put beside the result, where it cannot grow for ever, nor be shared with other processes.
        work = target.absolute().parent
        zig = {"ZIG_GLOBAL_CACHE_DIR": str(work / "zig"), "ZIG_LOCAL_CACHE_DIR": str(work / "zig")}
        environment = {**os.environ, **(zig if self.kind == "zig" else {})}
        command = [*command, "-o", f"./{target.name}"]
        try:
            done = run(command, seconds=self.seconds, environment=environment, folder=work)
        except TimeoutError as error:
            raise self._failed(
                command, f"did not end: {error}", f"allow more: CompileOptions(compiler_seconds=...), or {_OTHER}"
            ) from error
        except (OSError, ValueError) as error:
            raise self._failed(command, f"cannot be started: {_reason(error)}", _OTHER) from error
        if done.status != 0:
            help_ = f"this is a bug; {_OTHER}" if done.status > 0 else f"it may need more memory; {_OTHER}"
            raise self._failed(command, f"failed on generated code ({done.ending})", help_, done)
        if (wrong := _what_is_wrong(target)) is not None:
            raise self._failed(command, f"ended without an error, but {wrong}", _OTHER, done)

    def _failed(self, command: list[str], what: str, help_: str, done: Finished | None = None) -> ToolchainError:
        said = "" if done is None else shown(done.errors or done.output)
        lines = [f"{self.version} {what}", f"  command: {one_line(shlex.join(command))}", said, f"  help: {help_}"]
        return ToolchainError("\n".join(filter(None, lines)))


def c_libraries() -> list[str]:
    """The files of the C library and libm that this process has loaded. Raises `ToolchainError` if there are none."""
    names = ("libm.so.6", "libpthread.so.0", "libc.so.6")
    with suppress(OSError):
        for name in names:
            ctypes.CDLL(name)
        mapped = Path("/proc/self/maps").read_text(errors="surrogateescape").splitlines()
        paths = dict.fromkeys(line.partition("/")[2] for line in mapped)
        found = {Path(path).name: f"/{path}" for path in paths}
        return [found[name] for name in names if name in found]
    raise ToolchainError("found no glibc, expected Linux with it: a library for C names the C library that it needs")


def _what_is_wrong(target: Path) -> str | None:
    """What is wrong with a file that a compiler made, by its first bytes; None if nothing."""
    try:
        with target.open("rb") as file:
            begin = file.read(4)
    except OSError as error:
        return f"{one_line(str(target))} cannot be read: {_reason(error)}"
    if not begin:
        return f"{one_line(str(target))} is empty"
    if os.uname().sysname == "Linux" and begin != _ELF:
        return f"{one_line(str(target))} begins with {begin!r}, expected an ELF file"
    return None


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def find_compiler(wanted: str | None = None, seconds: float | None = None) -> Compiler:
    """The compiler that the user names (a path, `clang`, `gcc`, `zig`), or the best there is.

    It may take `seconds` for one file. Raises `ToolchainError` if there is none, or it does not respond like one.
    """
    return replace(_ask(_find(wanted)), seconds=seconds)


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
    """How to start zig's binary as a compiler.

    As clang with the headers of glibc beside it, where glibc is the C library of this process; else as `zig c++`,
    which detects the machine's C library.
    """
    machine, folder = platform.machine(), Path(path).resolve().parent / "lib"
    if machine not in {"x86_64", "aarch64"} or not _is_glibc():
        return _ZIG_DRIVER
    family = "x86" if machine == "x86_64" else machine
    headers = [folder / "libc" / "include" / f"{family}-linux-{kind}" for kind in ("gnu", "any")]
    headers += [folder / "libc" / "include" / name for name in ("generic-glibc", "any-linux-any")]
    headers.insert(0, folder / "include")  # the compiler's own come first
    if not all(header.is_dir() for header in headers):
        return _ZIG_DRIVER
    searched = [argument for header in headers for argument in ("-isystem", str(header))]
    return ("clang", f"--target={machine}-linux-gnu", "-nostdinc", *searched)


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
        raise _not_a_compiler(command[0], _reason(error)) from error
    if done.status != 0:
        raise _not_a_compiler(command[0], done.ending)
    return done.output.decode(errors="replace")


def _not_a_compiler(path: str, why: str) -> ToolchainError:
    return ToolchainError(
        f"{one_line(path)} does not answer like clang, gcc or zig: {why}\n"
        "  help: name a working compiler with CompileOptions(compiler=...)"
    )
