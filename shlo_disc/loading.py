"""Load a program from a file that `Compiled.save` or `Bound.save` wrote."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from shlo_disc import codec
from shlo_disc.artifact import Artifact
from shlo_disc.bound import Bound
from shlo_disc.call_signature import Signature
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import ArgumentTypeError, ShloDiscError
from shlo_disc.options import CompileOptions
from shlo_disc.program_file.archive import Archive, ProgramFileError, map_file
from shlo_disc.program_file.contents import with_constants
from shlo_disc.program_file.manifest import MANIFEST, BoundEntry, CodeEntry, Manifest, read_manifest
from shlo_disc.program_file.tensors import read_tensors
from shlo_disc.records import record
from shlo_disc.runtime.binding import SavedBinding
from shlo_disc.runtime.building.machines import MACHINES, TargetMachine, best_machine
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.library import INTERFACE
from shlo_disc.runtime.packing import at_aligned_address
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.saved_code import MachineCode, PartCode, Restorable, SavedCode, packed_form, saved_code

if TYPE_CHECKING:  # the compiler, which loading does not need
    from shlo_disc.pipeline.cached import ProgramOrigin
    from shlo_disc.ragged.analysis import RaggedAnalysis

_DEFAULTS = CompileOptions()


def load(
    program: str | os.PathLike[str] | bytes,
    *,
    code: Literal["trust", "verify"] | None = None,
    options: CompileOptions | None = None,
) -> Compiled | Bound:
    """Load a program from a file that `save` wrote. This needs neither JAX nor a compiler.

    The file is mapped: weights are read when they are used, and processes share them. It must not be changed as long as
    the program is used. Of the CPUs that it has code for, the best one is taken that this machine is:
    `machine` of the result names it.

    Args:
        program: the file's path, or its bytes.
        code: "trust" runs the machine code in the file: whoever can write to the file can run code here. "verify"
            compiles the StableHLO text that is in the file instead, by the compiler of this machine. None verifies a
            file that another user than this one and root owns, or may write to, and trusts others and bytes.
        options: threads, driver, cache and compiler. What decides the program, such as `fusion`, is in the file.

    Returns:
        A `Compiled`, or a `Bound` if the program was saved with bound arguments.

    Raises:
        ShloDiscError: no file of a program; a damaged or newer one, or one without code for this machine.
        ToolchainError: the code is to be verified, and there is no C++ compiler.
        OSError: the file cannot be read.
    """
    if code not in (None, "trust", "verify"):
        raise ShloDiscError(f"found code = {code!r}, expected None, 'trust' or 'verify'")
    if isinstance(program, bytes):
        data, name, safe = program, "<bytes>", True
    else:
        try:
            path = Path(program)
        except TypeError:
            kind = type(program).__name__
            raise ArgumentTypeError(f"found a program of type {kind}, expected a path or bytes") from None
        data, found = map_file(path)
        name, safe = str(path), _is_ours(found)
    archive = Archive(data, name)
    manifest = read_manifest(bytes(archive.read(MANIFEST, checked=False)), name)
    archive.digests = manifest.digests
    target = saved_code(manifest.device)
    file = _ProgramFile(archive, manifest, replace(options or _DEFAULTS, **_chosen(manifest.options)), target)
    return file.load(trusts=code == "trust" or (code is None and safe))


def _chosen(options: CompileOptions) -> dict[str, Any]:
    return {name: getattr(options, name) for name in ("fusion", "matmul_precision", "optimize")}


def _is_ours(found: os.stat_result) -> bool:
    """Whether a file belongs to this user or to root, and no other may write to it."""
    if not hasattr(os, "geteuid"):
        return True
    return found.st_uid in (os.geteuid(), 0) and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@record
class _ProgramFile:
    """A file, what its manifest says, and the options of calls."""

    archive: Archive
    manifest: Manifest
    options: CompileOptions
    target: SavedCode

    def load(self, *, trusts: bool) -> Compiled | Bound:
        """The program, by the machine code of the file or by code of its text."""
        machine, entry = self._entry(trusts=trusts)
        origin = _FileOrigin(self, machine.name)
        if trusts:
            runnable = self._trusted(entry)
            describe = cache(lambda: self._artifact(entry.report))
        else:
            runnable, describe = origin.built(machine), None
        if self.manifest.bound is None:
            return Compiled(runnable, self.manifest.signature, origin, describe)
        return self._bound(runnable, self.manifest.bound, origin, describe, trusts=trusts)

    def _trusted(self, entry: CodeEntry) -> Runnable:
        try:
            return self.target.load_code(self._program(entry), self._code(entry), self.options)
        except codec.DamagedError as error:
            raise self.archive.damaged(str(error)) from error

    def _entry(self, *, trusts: bool) -> tuple[TargetMachine, CodeEntry]:
        """The best of the machines that this one is, and the program for it."""
        known = {one.machine: one for one in self.manifest.code}
        bound = self.manifest.bound
        if bound is not None:
            known = {name: one for name, one in known.items() if name == bound.machine}
        best = best_machine(known)
        if best is None:
            kind = "with arguments packed for" if bound is not None else "with code for"
            fitting = " or ".join(name for name, machine in MACHINES.items() if machine.runs_here)
            raise ProgramFileError(
                f"{self.archive.name}: found a program {kind} {', '.join(known) or 'no machine'}, expected code that "
                f"this CPU runs\n  help: save it for {fitting}"
            )
        entry = known[best.name]
        if trusts and entry.interface != INTERFACE:
            raise ProgramFileError(
                f"{self.archive.name}: found machine code of shlo_disc {self.manifest.version} (interface "
                f"{entry.interface}), expected interface {INTERFACE}\n"
                "  help: load(..., code='verify') compiles its StableHLO text, or save the program by this version"
            )
        return best, entry

    def _program(self, entry: CodeEntry) -> Artifact:
        try:
            constants = read_tensors(self.archive.read(entry.constants))
            return with_constants(self._artifact(entry.program), constants)
        except (ValueError, KeyError) as error:
            raise self.archive.damaged(f"{entry.constants}: {error}") from error

    def _artifact(self, member: str) -> Artifact:
        try:
            return codec.decode(Artifact, bytes(self.archive.read(member)))
        except codec.DamagedError as error:
            raise self.archive.damaged(f"{member}: {error}") from error

    def _code(self, entry: CodeEntry) -> MachineCode:
        read, pairs = self.archive.read, zip(entry.objects, entry.hosts, strict=True)
        parts = [PartCode(bytes(read(kernels)), bytes(read(host))) for kernels, host in pairs]
        return MachineCode(parts, bytes(read(entry.runtime)))

    def _bound(
        self,
        runnable: Runnable,
        entry: BoundEntry,
        origin: _FileOrigin,
        describe: Callable[[], Artifact] | None,
        *,
        trusts: bool,
    ) -> Bound:
        signature = self.manifest.signature
        try:
            saved = self._saved(entry, runnable.artifact)
            if not isinstance(runnable, Restorable):
                raise ValueError("found bound arguments of a program in partitions")  # noqa: TRY004, TRY301
            places = (None,) * entry.positional, dict.fromkeys(entry.keywords)
            _check_numbers(signature, places, list(saved.shapes))
            restored = runnable.restored(saved)
            if not trusts and packed_form(runnable, runnable.artifact, saved) != entry.form:
                raise ProgramFileError(
                    f"{self.archive.name}: found weights that are packed by other code than is compiled here\n"
                    "  help: save the program without them, and bind them when it is loaded"
                )
            return Bound(runnable, signature, *places, origin, restored, describe)
        except (ValueError, KeyError, IndexError, ArgumentTypeError) as error:
            raise self.archive.damaged(f"{entry.member}: {error}") from error

    def _saved(self, entry: BoundEntry, artifact: Artifact) -> SavedBinding:
        """The bound arguments: arrays on the bytes of the file."""
        shapes = {int(number): shape for number, shape in entry.shapes.items()}
        arrays, packed = dict[int, Any](), dict[int, Any]()
        for name, (_, _, data) in read_tensors(self.archive.read(entry.member)).items():
            kind, _, number = name.partition(".")
            k = int(number)
            if kind == "argument":
                dtype = dtype_of(artifact.arguments[k].dtype)
                arrays[k] = at_aligned_address(data).view(dtype).reshape(shapes[k])
            else:
                packed[k] = at_aligned_address(data)
        known = {int(number): size for number, size in entry.known.items()}
        return SavedBinding(shapes, arrays, packed, known)


def _check_numbers(
    signature: Signature | None, places: tuple[tuple[None, ...], dict[str, None]], found: list[int]
) -> None:
    """Raise `ValueError` unless the arguments of these numbers are bound in these places."""
    wanted = list(range(len(places[0])) if signature is None else signature.split(*places)[0].places)
    if sorted(found) != sorted(wanted):
        raise ValueError(f"found bound arguments {found}, expected {wanted}")


class _FileOrigin:
    """The StableHLO text of a file: an `Origin`."""

    def __init__(self, file: _ProgramFile, machine: str) -> None:
        self._file, self.machine = file, machine
        self.device, self.options, self.hints = file.manifest.device, file.options, file.manifest.hints

    def source(self) -> tuple[str, str]:
        """The text, and its name for errors."""
        text = bytes(self._file.archive.read(self._file.manifest.source))
        return text.decode(errors="surrogatepass"), self._file.manifest.source_name

    def ragged_analysis(self) -> RaggedAnalysis:
        """What padding does in the program, at its ragged sizes. Raises `ShloDiscError` if it has none."""
        return self._of_text().ragged_analysis()

    def artifact(self, machine: TargetMachine) -> Artifact:
        """The program for a machine."""
        return self._of_text().artifact(machine)

    def _of_text(self) -> ProgramOrigin:
        from shlo_disc.pipeline import origin_of_text  # noqa: PLC0415  the compiler, which loading does not need

        signature = self._file.manifest.signature
        return origin_of_text(*self.source(), self.device, self.options, self.hints, signature)

    def built(self, machine: TargetMachine) -> Runnable:
        """The program, compiled here for a machine."""
        artifact, target = self.artifact(machine), self._file.target
        return target.load_code(artifact, target.compile_code(artifact, self.options, machine), self.options)
