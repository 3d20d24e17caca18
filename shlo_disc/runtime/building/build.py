"""Build one shared object from generated files, through the cache, on all cores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import nullcontext
from pathlib import Path

from shlo_disc.artifact import Artifact
from shlo_disc.device import headers
from shlo_disc.device.libraries import library_names, library_text
from shlo_disc.diagnostics import ToolchainError, one_line
from shlo_disc.host_ir import Launch
from shlo_disc.records import record
from shlo_disc.runtime.building import elf, prebuilt
from shlo_disc.runtime.building.cache import Cache, digest
from shlo_disc.runtime.building.compiler import Compiler
from shlo_disc.runtime.building.machines import TargetMachine, native
from shlo_disc.runtime.library import RUNTIME_FUNCTIONS, try_to_load
from shlo_disc.runtime.steps import leaves
from shlo_disc.runtime.threads import available_threads

_HOST_PROGRAM = ("shlo_plan", "shlo_run")  # what a generated host program exports
_LITERALS = """\
#if defined(__APPLE__)
#define SECTION ".section __TEXT,__const\\n"
#define LITERALS "_shlo_literals"
#else
#define SECTION ".section .rodata\\n"
#define LITERALS "shlo_literals"
#endif
__asm__(
    SECTION
    ".balign 64\\n"
    ".globl " LITERALS "\\n"
    LITERALS ":\\n"
    ".incbin \\"literals.bin\\"\\n"
    ".byte 0\\n"
    ".text\\n");
"""
_NO_KERNELS = "// no kernels: the program copies arguments to results\n"


XLA_FUNCTIONS = ("shlo_xla_instantiate", "shlo_xla_execute")
_GLUE = 1  # the -O level of code that computes no elements: higher ones take a quarter longer, and calls are no faster


@record
class _Source:
    """A file to compile, and its -O level. `is_fixed`: no program changes it, so a wheel may bring its object."""

    name: str
    text: str
    optimize: int
    is_fixed: bool = False


@record
class _Object:
    """An object file, and its bytes if it was compiled just now."""

    key: str
    path: Path
    fresh: bytes | None = None


@record
class CLibrary:
    """What a library for C consists of besides its kernels: C++ that defines `exports`, and bytes.

    The C++ finds the bytes behind the symbol `shlo_literals`, aligned to 64.
    """

    name: str
    text: str
    literals: bytes
    exports: tuple[str, ...]


@record
class Builder:
    """A compiler, its -O level, the cache of its results, and the threads that run it.

    Without `pool` each program has threads of its own.
    """

    compiler: Compiler
    optimize: int
    cache: Cache
    pool: Executor | None = None

    def program(self, artifact: Artifact) -> Path:
        """The shared object of a program: its kernels, and the libraries that they name."""
        launches = leaves((*artifact.steps, *artifact.packings))
        names = dict.fromkeys(one.kernel for one in launches if isinstance(one, Launch))
        return self._shared(self._sources(artifact), tuple(names))

    def c_library(self, artifact: Artifact, library: CLibrary) -> tuple[bytes, bytes]:
        """A program as a shared library and as a static one. Raises `ToolchainError` without binutils, too."""
        sources = [*self._sources(artifact), _glue(f"{library.name}.cc", library.text, self.optimize)]

        def build(work: Path) -> tuple[bytes, bytes]:
            made = self._objects(work, sources)
            objects = [*(one.path for one in made), self._literals(work, library.literals)]
            shared, static = (work / f"lib{library.name}.{end}" for end in ("so", "a"))
            merged, hidden = work / "merged.o", work / "program.o"
            self.compiler.merge(objects, merged)
            self.compiler.keep_global(merged, hidden, library.exports)
            self.compiler.link_library(objects, shared, library.exports)
            for one in made:
                self._keep(one)
            self._whole(hidden, elf.OBJECT)
            self.compiler.archive(hidden, static)
            return self._whole(shared, elf.SHARED, library.exports), static.read_bytes()

        return self.cache.in_workspace(build)

    def runtime(self) -> Path:
        """The shared object of the thread pool."""
        return self._fixed(_runtime(self.optimize), RUNTIME_FUNCTIONS)

    def xla_handlers(self, name: str, interface: str) -> Path:
        """The shared object by which XLA runs programs: a file of device/, behind the text of XLA's header."""
        return self._fixed(_handlers(name, interface, self.optimize), XLA_FUNCTIONS)

    def code(self, path: Path) -> bytes:
        """The bytes of a shared object that one of these functions returned."""
        return path.read_bytes() if path.parent == prebuilt.FOLDER else self.cache.body(path)

    def prebuild(self, handlers: Iterable[tuple[str, str]]) -> dict[str, tuple[bytes, str]]:
        """All that no program changes, compiled: by the keys of `prebuilt`, (bytes, suffix).

        `handlers`: names and headers as `xla_handlers` takes them.
        """
        machine, sources = self.compiler.machine, [self._library(name) for name in library_names()]

        def key(source: _Source, suffix: str) -> str:
            return prebuilt.key(machine, source.optimize, source.text, suffix)

        def build(work: Path) -> dict[str, tuple[bytes, str]]:
            made = self._objects(work, sources)
            for one in made:
                self._keep(one)
            return {key(x, ".o"): (one.path.read_bytes(), ".o") for x, one in zip(sources, made, strict=True)}

        found = self.cache.in_workspace(build)
        found[key(_runtime(self.optimize), ".so")] = self.code(self.runtime()), ".so"
        for name, interface in handlers:
            source = _handlers(name, interface, self.optimize)
            found[key(source, ".so")] = self.code(self.xla_handlers(name, interface)), ".so"
        return found

    def timing(self, kind: str) -> Path:
        """The shared object that repeats products of one element type, to time them."""
        text = f'#include "gemm/timing.h"\nSHLO_GEMM_TIMING({kind})\n'
        sources = [_Source("gemm_timing.cc", text, self.optimize), self._library(f"gemm_{kind}")]
        return self._shared(sources, (f"shlo_repeat_gemm_{kind}",))

    def host_program(self, artifact: Artifact) -> Path:
        """The shared object of the host program alone, for a program whose kernels are compiled otherwise."""
        return self._shared([_glue(artifact.host.name, artifact.host.text, self.optimize)], _HOST_PROGRAM)

    def _sources(self, artifact: Artifact) -> list[_Source]:
        """The kernels of a program, and the libraries that they name."""
        libraries = sorted({name for file in artifact.kernels for name in file.libraries})
        sources = [_Source(file.name, file.text, self.optimize) for file in artifact.kernels]
        sources = sources or [_Source("kernels", _NO_KERNELS, self.optimize)]
        return [*sources, *map(self._library, libraries)]

    def _literals(self, work: Path, data: bytes) -> Path:
        """An object file of read-only bytes. It is not cached: there is nothing to compile."""
        source, target = work / "literals.cc", work / "literals.o"
        (work / "literals.bin").write_bytes(data)
        source.write_text(_LITERALS)
        self.compiler.compile(source, target, _GLUE, (work,))
        return target

    def _library(self, name: str) -> _Source:
        return _Source(f"{name}.cc", library_text(name), self.optimize, is_fixed=True)

    def _fixed(self, source: _Source, exports: Sequence[str]) -> Path:
        """The shared object of a file that no program changes."""
        found = _prebuilt(source, self.compiler.machine, ".so")
        return self._shared([source], exports) if found is None else found

    def _shared(self, sources: list[_Source], exports: Sequence[str]) -> Path:
        keys = [self._key(source) for source in sources]
        key = digest("shared", *keys)
        found = self.cache.find("shared", key, ".so")
        if found is not None:
            return found

        def build(work: Path) -> Path:
            objects = self._objects(work, sources)
            target = work / "program.so"
            self.compiler.link([one.path for one in objects], target)
            data = self._whole(target, elf.SHARED, exports)
            if not self.compiler.machine.is_foreign:
                try_to_load(target)
            for one in objects:  # what cannot be linked and loaded is not kept
                self._keep(one)
            return self.cache.store("shared", key, data, ".so")

        return self.cache.in_workspace(build)

    def _objects(self, work: Path, sources: Sequence[_Source]) -> list[_Object]:
        """The object files of sources, compiled at once; equal files are compiled once."""
        once = {self._key(source): source for source in sources}
        with ThreadPoolExecutor(available_threads()) if self.pool is None else nullcontext(self.pool) as pool:
            jobs = [pool.submit(self._object, work, k, once[k]) for k in once]
            wait(jobs)  # all of them, also after an error: they write into the folder
            return [job.result() for job in jobs]

    def _object(self, work: Path, key: str, source: _Source) -> _Object:
        """One object file: one that the wheel brings, or else in the folder it is linked in."""
        if (found := _prebuilt(source, self.compiler.machine, ".o")) is not None:
            return _Object(key, found)
        target = work / f"{key}.o"
        data = self.cache.load("objects", key, ".o")
        if data is not None:
            target.write_bytes(data)
            return _Object(key, target)
        folder = work / key
        folder.mkdir()
        file = folder / f"{Path(source.name).stem}.cc"
        file.write_text(source.text)
        self.compiler.compile(file, target, source.optimize, (headers.ROOT,))
        return _Object(key, target, self._whole(target, elf.OBJECT))

    def _keep(self, made: _Object) -> None:
        """Store an object file that is not from the cache."""
        if made.fresh is not None:
            self.cache.keep("objects", made.key, made.fresh, ".o")

    def _whole(self, path: Path, kind: int, exports: Sequence[str] = ()) -> bytes:
        """The bytes of a file that the compiler wrote. Raises `ToolchainError` if it is not complete."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = b""
        if (fault := elf.fault(data, kind, exports)) is not None:
            raise ToolchainError(
                f"{self.compiler.version} wrote no whole {path.suffix} file, though it reported success: {fault}\n"
                f"  command: {one_line(self.compiler.command[0])}\n"
                "  help: another compiler may work: CompileOptions(compiler=...)"
            )
        return data

    def _key(self, source: _Source) -> str:
        if (found := _prebuilt(source, self.compiler.machine, ".o")) is not None:
            return digest("prebuilt", found.name)  # the name is a digest of the bytes
        flags = self.compiler.flags(source.optimize)
        included = headers.included(source.text).values()
        return digest(self.compiler.identity, *flags, self.compiler.machine.identity, *included, source.text)


def prebuilt_handlers(name: str, interface: str, optimize: int) -> Path | None:
    """What `Builder.xla_handlers` returns for this machine, if the wheel brings it: this needs no compiler."""
    return _prebuilt(_handlers(name, interface, optimize), native(), ".so")


def _glue(name: str, text: str, optimize: int, *, is_fixed: bool = False) -> _Source:
    return _Source(name, text, min(optimize, _GLUE), is_fixed)


def _runtime(optimize: int) -> _Source:
    return _glue("runtime.cc", headers.text("call/runtime.cc"), optimize, is_fixed=True)


def _handlers(name: str, interface: str, optimize: int) -> _Source:
    return _glue(Path(name).name, f"{interface}\n{headers.text(name)}", optimize, is_fixed=True)


def _prebuilt(source: _Source, machine: TargetMachine, suffix: str) -> Path | None:
    return prebuilt.find(machine, source.optimize, source.text, suffix) if source.is_fixed else None
