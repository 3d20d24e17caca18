"""Write a compiled program to a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc import codec
from shlo_disc.artifact import Artifact
from shlo_disc.call_signature import Signature
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.program_file.archive import LARGEST_HASHED, Buffer, digest, write_archive
from shlo_disc.program_file.contents import encode_program, without_constants
from shlo_disc.program_file.manifest import MANIFEST, BoundEntry, CodeEntry, Manifest, package_version, write_manifest
from shlo_disc.program_file.origin import Origin
from shlo_disc.program_file.tensors import StoredTensor, write_tensors
from shlo_disc.records import record
from shlo_disc.runtime.binding import SavedBinding
from shlo_disc.runtime.building.machines import TargetMachine, best_machine, machine_named, target_machine
from shlo_disc.runtime.library import INTERFACE
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.runtime.saved_code import MachineCode, Restorable, packed_form, saved_code

_CONSTANTS, _WEIGHTS, _SOURCE = "constants.safetensors", "weights.safetensors", "program.mlir"


@record
class BoundProgram:
    """A program with bound arguments: so many positional ones, and keywords. `unbound` is the program without them."""

    executable: Runnable
    unbound: Runnable
    positional: int
    keywords: tuple[str, ...]


@dataclass(slots=True)
class _Members:
    """The members of a file, in order, and which of them are mapped."""

    found: dict[str, Buffer] = field(default_factory=dict[str, Buffer])
    mapped: set[str] = field(default_factory=set[str])

    def add_tensors(self, name: str, tensors: Mapping[str, StoredTensor]) -> None:
        self.found[name] = write_tensors(tensors)
        self.mapped.add(name)


def save(
    origin: Origin,
    signature: Signature | None,
    path: Path | None,
    targets: Sequence[str] | None = None,
    bound: BoundProgram | None = None,
) -> bytes:
    """Write a program to a file, with its bound arguments if it has some; to memory if there is no path.

    `signature` is that of the program without bound arguments. Raises `ShloDiscError` for what a file cannot hold,
    `ToolchainError` if there is no compiler, and `OSError`.
    """
    target = saved_code(origin.device)
    if bound is not None and not isinstance(bound.executable, Restorable):
        raise ShloDiscError(
            "found a program in partitions with bound arguments, expected one without them\n"
            "  help: save the program itself, and bind the arguments again when it is loaded"
        )
    machines = _machines(targets)
    if bound is not None:  # the form of packed arguments is that of one machine
        best = best_machine([machine.name for machine in machines])
        if best is None:
            raise ShloDiscError(f"found no machine like this one in {targets}, expected one: arguments are packed here")
        machines = [best]
    text, name = origin.source()
    members = _Members({_SOURCE: text.encode(errors="surrogatepass")})
    entries, names, held = list[CodeEntry](), list[str](), None
    for machine in machines:
        artifact = origin.artifact(machine)
        names.append(artifact.name)
        code = target.compile_code(artifact, origin.options, machine)
        entries.append(_add_code(members, machine, artifact, code))
        if bound is not None:
            form = common_form(bound, target.load_code(artifact, code, origin.options))
            if form is None:
                raise ShloDiscError(
                    f"found bound arguments that are packed for this CPU, expected the form which {machine.name} reads"
                    "\n  help: save the program without them, and bind them when it is loaded"
                )
            held = _add_bound(members, bound, machine, form)
    digests = {name: digest(data) for name, data in members.found.items() if len(data) <= LARGEST_HASHED}
    manifest = Manifest(
        package_version(), names[0], origin.device, signature, _SOURCE, name, origin.options, origin.hints,
        tuple(entries), held, digests,
    )  # fmt: skip
    whole = {MANIFEST: write_manifest(manifest), **members.found}
    return write_archive(path, whole, mapped=frozenset(members.mapped))


def _machines(targets: Sequence[str] | None) -> list[TargetMachine]:
    """The machines to compile for: those that are named, or the best that this one is."""
    if isinstance(targets, str):
        raise ShloDiscError(f"found targets {targets!r}, expected several such as [{targets!r}]")
    if targets is not None:
        if not targets:
            raise ShloDiscError("found no targets, expected at least one")
        return list(dict.fromkeys(map(machine_named, targets)))
    return [target_machine(None)]


def _add_code(members: _Members, machine: TargetMachine, artifact: Artifact, code: MachineCode) -> CodeEntry:
    """Add the program for one machine."""
    small, literals = without_constants(artifact)
    constants, data = _CONSTANTS, write_tensors(literals)
    if members.found.get(constants, data) != data:
        constants = f"{machine.name}/{_CONSTANTS}"
    members.found[constants] = data
    members.mapped.add(constants)
    objects, hosts = (
        tuple([f"{machine.name}/{number}.{end}" for number in range(len(code.parts))]) for end in ("so", "host")
    )
    entry = CodeEntry(
        machine.name, INTERFACE, f"{machine.name}/program", f"{machine.name}/report", objects, hosts,
        f"{machine.name}/runtime.so", constants,
    )  # fmt: skip
    members.found[entry.program], members.found[entry.report] = encode_program(small), codec.encode(Artifact, small)
    members.found.update(zip(objects, [part.kernels for part in code.parts], strict=True))
    members.found.update(zip(hosts, [part.host for part in code.parts], strict=True))
    members.found[entry.runtime] = code.runtime
    return entry


def _add_bound(members: _Members, bound: BoundProgram, machine: TargetMachine, form: str) -> BoundEntry:
    """Add the bound arguments, as far as calls read them, and their packed forms."""
    saved = _binding(bound.executable)
    tensors = {f"argument.{k}": stored_tensor(array) for k, array in saved.arrays.items()}
    tensors |= {f"packed.{k}": stored_tensor(array) for k, array in saved.packed.items()}
    members.add_tensors(_WEIGHTS, tensors)
    shapes = {str(k): shape for k, shape in saved.shapes.items()}
    known = {str(k): size for k, size in saved.known.items()}
    return BoundEntry(bound.positional, bound.keywords, shapes, known, machine.name, form, _WEIGHTS)


def _binding(executable: Runnable) -> SavedBinding:
    assert isinstance(executable, Restorable), "others are refused before"
    return executable.saved_binding


def stored_tensor(array: NDArray[Any]) -> StoredTensor:
    """An array as it is in a file."""
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return StoredTensor(array.dtype.name, array.shape, data.data)


def common_form(bound: BoundProgram, loaded: Runnable) -> str | None:
    """How other code of a program packs operands; None unless the code here does so, bit for bit."""
    assert isinstance(bound.unbound, Restorable), "others are refused before"
    assert isinstance(loaded, Restorable), "it is the same program"
    saved, artifact = _binding(bound.executable), bound.unbound.artifact
    found = packed_form(loaded, artifact, saved)
    return found if found == packed_form(bound.unbound, artifact, saved) else None
