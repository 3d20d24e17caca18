"""The bound arguments of a package, which callers of C name weights: what is known of them, and their file."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, Literal

from shlo_disc.artifact import LARGEST_SIZE, Artifact
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions
from shlo_disc.program_file.tensors import CHECKSUM, write_tensors
from shlo_disc.program_file.writer import BoundProgram, common_form, stored_tensor
from shlo_disc.records import record
from shlo_disc.runtime.building.machines import TargetMachine
from shlo_disc.runtime.packing import packed_sizes, read_slots
from shlo_disc.runtime.saved_code import Restorable, saved_code

WeightSource = Literal["file", "given"]


@record
class WeightFile:
    """The file of weights: its bytes, its header, the places of arrays by name, and the CRC-32 behind the header."""

    data: bytes
    header: str
    offsets: Mapping[str, int]
    checksum: int


@record
class Weights:
    """Shapes of bound arguments, by number, and the symbols that they fix, by number; `file` if there is one."""

    shapes: Mapping[int, tuple[int, ...]]
    known: Mapping[int, int]
    file: WeightFile | None = None

    def offset(self, name: str) -> int:
        """Where an array is in the file; -1 if it is not there."""
        return -1 if self.file is None else self.file.offsets.get(name, -1)


NO_WEIGHTS: Final = Weights(MappingProxyType({}), MappingProxyType({}))


def weights_of(
    bound: BoundProgram, artifact: Artifact, machine: TargetMachine, options: CompileOptions, source: WeightSource
) -> Weights:
    """The weights of a program with bound arguments, in a package for a machine.

    `artifact`: the program for that machine. Raises `ShloDiscError` for weights that are only kept in another form.
    """
    assert isinstance(bound.executable, Restorable), "programs in partitions are refused before"
    saved = bound.executable.saved_binding
    for symbol, (number, axis) in enumerate(artifact.raw):
        if (size := saved.known.get(symbol, 0)) > LARGEST_SIZE:
            place = f"{artifact.arguments[number].name}, dim {axis}"
            raise ShloDiscError(f"{place}: found size {size}, expected at most {LARGEST_SIZE} of a dynamic size")
    weights = Weights({k: saved.shapes[k] for k in sorted(saved.shapes)}, saved.known)
    if source == "given":
        return weights
    tensors = {f"argument.{k}": array for k, array in saved.arrays.items()}
    if saved.packed and _packs_alike(bound, artifact, machine, options):
        tensors |= {f"packed.{k}": array for k, array in saved.packed.items()}
    elif missing := _needed(artifact, weights) - saved.arrays.keys():
        name = artifact.arguments[min(missing)].name
        raise ShloDiscError(
            f"{name}: found an array of which only the form that this CPU packs is kept, expected one that code for "
            f"{machine.name} reads\n"
            "  help: build with weights='given': then callers of the library pass the arrays, and it packs them"
        )
    return replace(weights, file=_file(tensors))


def check_source(source: object) -> WeightSource:
    """How a package gets its weights. Raises `ShloDiscError` for what is no way."""
    if source not in ("file", "given"):
        raise ShloDiscError(f"found weights={source!r}, expected 'file' or 'given'")
    return source


def _packs_alike(bound: BoundProgram, artifact: Artifact, machine: TargetMachine, options: CompileOptions) -> bool:
    """Whether the code for a machine packs operands as the code here does, bit for bit."""
    if not machine.runs_here:
        return False
    target = saved_code(artifact.device)
    loaded = target.load_code(artifact, target.compile_code(artifact, options, machine), options)
    return common_form(bound, loaded) is not None


def _needed(artifact: Artifact, weights: Weights) -> Collection[int]:
    """The numbers of the bound arguments that calls, or packings, read."""
    slots = {b.number: slot for slot, b in enumerate(artifact.buffers) if b.kind == "argument"}
    constants = [slot for slot, b in enumerate(artifact.buffers) if b.kind == "constant"]
    packed = packed_sizes(artifact, [*constants, *(slots[k] for k in weights.shapes if k in slots)], weights.known)
    sources = {slot for number in packed for slot in artifact.packings[number].buffers[:-1]}
    read = sources | read_slots(artifact, packed)
    return {number for number in weights.shapes if slots.get(number) in read}


def _file(arrays: Mapping[str, Any]) -> WeightFile:
    data = write_tensors({name: stored_tensor(array) for name, array in arrays.items()}, checked=True)
    length = int.from_bytes(data[:8], "little")
    header = data[8 : 8 + length].decode()
    found = json.loads(header)
    offsets = {name: 8 + length + found[name]["data_offsets"][0] for name in arrays}
    return WeightFile(data, header, offsets, int(found["__metadata__"][CHECKSUM], 16))
