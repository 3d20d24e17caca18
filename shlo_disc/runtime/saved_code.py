"""Machine code in files: what the module of a target does to save and to load it, and what it restores."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions
from shlo_disc.records import record
from shlo_disc.runtime.binding import SavedBinding
from shlo_disc.runtime.building.machines import TargetMachine
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.partitions import Runnable
from shlo_disc.target_names import saved_code_module


@record
class PartCode:
    """The kernels of a part of a program, a shared object, and its host program, bytecode."""

    kernels: bytes
    host: bytes


@record
class MachineCode:
    """The code of each part of a program, in the order of `Artifact.parts`, and the thread pool's shared object."""

    parts: Sequence[PartCode]
    runtime: bytes


class SavedCode(Protocol):
    """The module of a target."""

    def compile_code(self, artifact: Artifact, options: CompileOptions, machine: TargetMachine) -> MachineCode:
        """Compile a program for a machine, or find its code in the cache. Raises `ToolchainError`."""
        ...

    def load_code(self, artifact: Artifact, code: MachineCode, options: CompileOptions) -> Runnable:
        """Make the code of a program ready to run.

        Raises `ToolchainError` if the system cannot load it, and `codec.DamagedError` if it is not the program's.
        """
        ...


@runtime_checkable
class Restorable(Protocol):
    """A program whose bound arguments can be kept in a file."""

    @property
    def saved_binding(self) -> SavedBinding:
        """What `restored` needs of the bound arguments."""
        ...

    def bind(self, given: Mapping[int, Any]) -> Any:
        """The same program with some arguments bound, by number."""
        ...

    def restored(self, saved: SavedBinding) -> Runnable:
        """The same program with arguments bound that an earlier process kept. Raises `ValueError`."""
        ...


_PERIOD = 251  # of the numbers that are packed: a prime, so that no tile is as wide as a multiple


def packed_form(program: Restorable, artifact: Artifact, saved: SavedBinding) -> str:
    """A digest of how the code of a program packs bound arguments.

    Code of two machines, compilers or versions reads the same packed operands if this is equal. Arguments that are only
    kept in packed form are replaced by numbers whose order shows where each went.
    """
    given = dict[int, Any](saved.arrays)
    for k in saved.shapes.keys() - given.keys():
        numbers = np.arange(_PERIOD).astype(dtype_of(artifact.arguments[k].dtype))
        given[k] = np.resize(numbers, saved.shapes[k])
    found = program.bind(given).saved_binding
    state = hashlib.sha256(repr((sorted(found.arrays), sorted(found.packed))).encode())
    for number in sorted(found.packed):
        state.update(found.packed[number].data)
    return state.hexdigest()


def saved_code(device: str) -> SavedCode:
    """The module that saves and loads programs of a target. Raises `ShloDiscError` if there is none."""
    name = saved_code_module(device)
    if name is None:
        raise ShloDiscError(f"found a program for {device!r}, which cannot be saved to a file yet")
    return cast("SavedCode", import_module(name))
