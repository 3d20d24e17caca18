"""Drive a C++ compiler, and the linkers and binutils beside it.

A C library is never linked, but for another machine.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Literal

from shlo_disc.diagnostics import ToolchainError, one_line
from shlo_disc.processes import Finished, run, shown
from shlo_disc.records import record
from shlo_disc.runtime.building.machines import TargetMachine, native

Kind = Literal["clang", "zig", "gcc"]

_ELF = b"\x7fELF"
_OTHER = "another compiler may work: CompileOptions(compiler=...)"

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
# On ARM LLVM contracts every product into a sum that may be contracted, also one whose pragma forbids it (its pass
# machine-combiner looks at the sum alone). So only what is a sum of products in one expression is contracted.
_OF_ARM = "-ffp-contract=on"
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
ZIG_DRIVER = ("c++",)
# Libraries for another machine name the C library of the oldest glibc that has run on a 64-bit ARM.
_GLIBC = "2.17"
# The process has loaded the C library and libm; nothing else is linked, except gcc's support of half floats.
_LINK = ("-shared", "-nostdlib", "-Wl,-Bsymbolic")
_LINK_ONLY: dict[Kind, tuple[str, ...]] = {"clang": (), "zig": (), "gcc": ("-lgcc",)}


@record
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
        contraction = self._contraction if optimize else _UNOPTIMIZED
        fixed = (*_LANGUAGE, *_ARITHMETIC, contraction, *_ONLY[self.kind], *caches)
        if self.kind != "zig":
            return (f"-O{optimize}", *self.machine.flags, *fixed)
        if self.is_driven_by_zig:
            return (f"-O{optimize}", self.machine.flags[0], *fixed)
        return (f"-O{min(optimize, 2)}", *self.machine.flags, *_UNTUNED, *fixed)

    @property
    def _contraction(self) -> str:
        is_arm = self.machine.family == "aarch64" and self.kind != "gcc"
        return _OF_ARM if is_arm else _OPTIMIZED[self.kind]

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
        return self.command[1:] == ZIG_DRIVER

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
        if self.machine.is_foreign:
            self._link_foreign(files, target, ())
        elif self.kind == "zig" and not self.is_driven_by_zig:
            self._run([self.command[0], "ld.lld", "-shared", "-Bsymbolic", *files], target)
        else:
            self._run([*self.command, *_LINK, *files, *_LINK_ONLY[self.kind]], target)

    def link_library(self, objects: Sequence[Path], target: Path, exports: Sequence[str]) -> None:
        """Link object files into a shared object for programs in C: it exports these functions and no others.

        It names the C library, and stays loaded once it is: threads keep memory that its code frees when they end.
        """
        script = target.with_suffix(".map")
        script.write_text(f"{{ global: {' '.join(f'{name};' for name in exports)} local: *; }};\n")
        named = ["--version-script", str(script.absolute()), "-z", "nodelete"]
        files = [str(path.absolute()) for path in objects]
        if self.machine.is_foreign:
            self._link_foreign(files, target, named)
            return
        options, libraries = ["-soname", target.name, *named, "-z", "defs"], ["--as-needed", *c_libraries()]
        if self.kind == "zig" and not self.is_driven_by_zig:
            command = [self.command[0], "ld.lld", "-shared", "-Bsymbolic", *options, *files, *libraries]
        else:
            passed = [f"-Wl,{','.join(group)}" for group in (options, libraries)]
            command = [*self.command, *_LINK, passed[0], *files, *_LINK_ONLY[self.kind], passed[1]]
        self._run(command, target)

    def _link_foreign(self, files: Sequence[str], target: Path, options: Sequence[str]) -> None:
        """Link object files into a shared object for another machine.

        It names the C library, whose symbols zig knows: one that is nowhere is found here, not when the file is loaded.
        """
        system = ("-target", f"{self.machine.family}-linux-gnu.{_GLIBC}", "-lc")
        fixed = ("-dynamic", "-fno-compiler-rt", "-fno-ubsan-rt", "-Bsymbolic", "-z", "defs")
        command = [self.command[0], "build-lib", *system, *fixed, *options, *files]
        self._run(command, target, (f"-fsoname={target.name}", f"-femit-bin={target.name}"))

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
        family = self.machine.family
        own = f"{family}-linux-gnu-{name}" if self.machine.is_foreign else name
        found = next(filter(None, map(shutil.which, (own, f"llvm-{name}"))), None)
        if found is None:
            package = f"binutils for {family}" if self.machine.is_foreign else "binutils"
            raise ToolchainError(
                f"found neither {own} nor llvm-{name}, expected one of them: static libraries need it\n"
                f"  help: install {package}, or those of LLVM"
            )
        done = run([found, *map(str, arguments)], seconds=self.seconds)
        if done.status != 0:
            raise self._failed(
                [found, *map(str, arguments)], f"needs {name}, which failed ({done.ending})", _OTHER, done
            )

    def _run(self, command: list[str], target: Path, output: Sequence[str] | None = None) -> None:
        """Run a command that writes a file, in the folder of that file: lld opens no path with a `%` in it.

        No path begins like a flag. `output`: how the command is told the file, if not by `-o`.
        """
        # Zig's cache is put beside the result, where it cannot grow for ever, nor be shared with other processes.
        work = target.absolute().parent
        zig = {"ZIG_GLOBAL_CACHE_DIR": str(work / "zig"), "ZIG_LOCAL_CACHE_DIR": str(work / "zig")}
        environment = {**os.environ, **(zig if self.kind == "zig" else {})}
        command = [*command, *(output or ("-o", f"./{target.name}"))]
        try:
            done = run(command, seconds=self.seconds, environment=environment, folder=work)
        except TimeoutError as error:
            raise self._failed(
                command, f"did not end: {error}", f"allow more: CompileOptions(compiler_seconds=...), or {_OTHER}"
            ) from error
        except (OSError, ValueError) as error:
            raise self._failed(command, f"cannot be started: {reason_of(error)}", _OTHER) from error
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
        return f"{one_line(str(target))} cannot be read: {reason_of(error)}"
    if not begin:
        return f"{one_line(str(target))} is empty"
    if os.uname().sysname == "Linux" and begin != _ELF:
        return f"{one_line(str(target))} begins with {begin!r}, expected an ELF file"
    return None


def reason_of(error: OSError | ValueError) -> str:
    """Why a command could not be started, or a file not be read."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
