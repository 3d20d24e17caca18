"""What a wheel brings compiled: what no program changes, for several machines.

A file is found by a key of all that it depends on: the text, its headers, and the flags of the compiler. So what was
compiled from other sources than those that are installed is never taken. A checkout has no such files.
`tools/build_wheel.py` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import cast

from shlo_disc.device import headers
from shlo_disc.runtime.building.cache import PACKAGE, digest
from shlo_disc.runtime.building.compiler import Compiler
from shlo_disc.runtime.building.machines import TargetMachine, equivalent

FOLDER = PACKAGE / "prebuilt"
_INDEX = "index.json"
_NAME = 24  # digits of a digest


def find(machine: TargetMachine, optimize: int, text: str, suffix: str) -> Path | None:
    """The object file (`.o`) or shared object (`.so`) of a text for a machine; None if there is none."""
    files = _files(FOLDER)
    if not files or (served := equivalent(machine)) is None:
        return None
    name = files.get(key(served, optimize, text, suffix))
    return None if name is None else FOLDER / name


def key(machine: TargetMachine, optimize: int, text: str, suffix: str) -> str:
    """What the object of a text is found by."""
    flags = Compiler("zig", ("zig", "clang"), "", machine=machine).flags(optimize)
    return digest(suffix, machine.name, *flags, *headers.included(text).values(), text)


def write(folder: Path, objects: Mapping[str, tuple[bytes, str]]) -> None:
    """Write objects, by key (bytes, suffix), to the folder of a package. Equal ones are one file."""
    names = {found: f"{digest(data)[:_NAME]}{suffix}" for found, (data, suffix) in objects.items()}
    folder.mkdir()
    for found, (data, _) in objects.items():
        (folder / names[found]).write_bytes(data)
    (folder / _INDEX).write_text(json.dumps(names, indent=0, sort_keys=True) + "\n")


@lru_cache
def _files(folder: Path) -> Mapping[str, str]:
    """The names of a folder's files by key."""
    try:
        return cast("dict[str, str]", json.loads((folder / _INDEX).read_text()))
    except FileNotFoundError:
        return {}
