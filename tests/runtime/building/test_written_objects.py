"""What a compiler has written is looked at before it is kept, or loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.building import elf
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.building.compiler import Compiler
from shlo_disc.runtime.building.toolchain import find_compiler
from tests.runtime.building.cache_probe import entries, programs, warns
from tests.runtime.sample import SAMPLE

pytestmark = pytest.mark.usefixtures("fresh_caches")


@pytest.fixture(scope="module")
def shared_object(warm: Path) -> bytes:
    """Of the addition."""
    every = [path.read_bytes()[:-32] for path in programs(warm)]
    return next(data for data in every if b"add_0" in data)


def test_whole_objects_have_no_fault(warm: Path, shared_object: bytes) -> None:
    assert elf.fault(shared_object, elf.SHARED, ("add_0",)) is None
    for path in entries(warm, "objects"):
        assert elf.fault(path.read_bytes()[:-32], elf.OBJECT) is None


def test_faults_of_shared_objects_are_found(warm: Path, shared_object: bytes) -> None:
    for data in (
        b"",
        b"\x7fELF",
        bytes(5000),
        b"#!/bin/sh\n" * 50,
        shared_object[:63],
        shared_object[:-1],
        shared_object[:2048],
    ):
        assert elf.fault(data, elf.SHARED), data[:20]
    for part in range(1, 64):
        assert elf.fault(shared_object[: len(shared_object) * part // 64], elf.SHARED)
    assert elf.fault(entries(warm, "objects")[0].read_bytes()[:-32], elf.SHARED)
    assert elf.fault(shared_object, elf.SHARED, ("add_0", "nothing", "none")) == "it does not export none, nothing"


def test_a_segment_beyond_the_end_is_found(shared_object: bytes) -> None:
    """Headers may be there, and what they tell of not."""
    data = bytearray(shared_object)
    at = int.from_bytes(data[32:40], "little") + 32  # the first segment's bytes in the file
    data[at : at + 8] = len(data).to_bytes(8, "little")
    data[at - 24 : at - 16] = (64).to_bytes(8, "little")  # where it begins
    assert elf.fault(bytes(data), elf.SHARED) == f"it has {len(data)} bytes, expected {len(data) + 64}"


def test_damaged_headers_raise_nothing(shared_object: bytes) -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        data = bytearray(shared_object)
        for at in rng.integers(0, 2000 if rng.random() < 0.7 else len(data), 4):
            data[int(at)] = int(rng.integers(256))
        elf.fault(bytes(data), elf.SHARED, ("add_0",))


WRITERS: dict[str, Callable[[Path], object]] = {
    "nothing": lambda target: target.unlink(),
    "an empty file": lambda target: target.write_bytes(b""),
    "half": lambda target: target.write_bytes(target.read_bytes()[: target.stat().st_size // 2]),
    "text": lambda target: target.write_bytes(b"done\n" * 200),
    "zeros": lambda target: target.write_bytes(bytes(target.stat().st_size)),
}


@pytest.mark.parametrize("step", ["compile", "link"])
@pytest.mark.parametrize("writes", WRITERS)
def test_what_a_compiler_writes_is_looked_at(
    tmp_path: Path, step: str, writes: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = getattr(Compiler, step)

    def wrong(self: Compiler, source: Any, target: Path, *rest: Any) -> None:
        really(self, source, target, *rest)
        WRITERS[writes](target)

    monkeypatch.setattr(Compiler, step, wrong)
    builder = Builder(find_compiler(), 0, Cache(tmp_path))
    with warns(0), pytest.raises(ToolchainError, match="wrote no whole"):
        builder.program(SAMPLE)
    assert entries(tmp_path, "shared") == []
    monkeypatch.undo()
    builder.program(SAMPLE)
    assert len(entries(tmp_path, "shared")) == 1


def test_a_shared_object_that_cannot_be_loaded_is_not_stored(tmp_path: Path) -> None:
    builder = Builder(find_compiler(), 0, Cache(tmp_path))
    (kernels,) = SAMPLE.kernels
    text = f'{kernels.text}\nextern "C" int nowhere();\nint (*there)() = nowhere;\n'
    with pytest.raises(ToolchainError, match="nowhere"):
        builder.program(replace(SAMPLE, kernels=(replace(kernels, text=text),)))
    assert entries(tmp_path, "shared") == []
