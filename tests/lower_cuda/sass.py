"""What NVRTC and the disassembler say about compiled kernels."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

_ENTRY = re.compile(r"Compiling entry function '(\w+)' for '\w+'")
_SECTION = re.compile(r"^\.text\.(\w+):$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel takes."""

    registers: int  # per thread
    shared: int  # static, in bytes
    spilled: int  # bytes


def resources(log: str) -> dict[str, Resources]:
    """The resources of every kernel, from the compiler's log."""
    parts = _ENTRY.split(log)
    return {
        name: Resources(
            _number(r"Used (\d+) registers", said),
            _number(r"(\d+) bytes smem", said),
            _number(r"(\d+) bytes spill stores", said) + _number(r"(\d+) bytes spill loads", said),
        )
        for name, said in zip(parts[1::2], parts[2::2], strict=True)
    }


def _number(pattern: str, text: str) -> int:
    found = re.search(pattern, text)
    return 0 if found is None else int(found[1])


def disassembler() -> Path:
    """The disassembler, from its package; skips a test where that is not installed."""
    spec = find_spec("nvidia")
    folders = [] if spec is None else list(spec.submodule_search_locations or ())
    found = [path for folder in folders for path in Path(folder).glob("cu*/bin/nvdisasm")]
    if not found:
        pytest.skip("needs the package nvidia-cuda-nvdisasm")
    return found[0]


def instructions(cubin: bytes) -> Mapping[str, str]:
    """The machine code of every kernel as text."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run([disassembler(), "-c", file.name], check=True, capture_output=True, text=True)
    parts = _SECTION.split(done.stdout)
    return dict(zip(parts[1::2], parts[2::2], strict=True))
