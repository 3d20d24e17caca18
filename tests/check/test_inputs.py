"""Arrays of a call come from a file that may be damaged, or none at all."""

from __future__ import annotations

import io
import random
from pathlib import Path

import numpy as np
import pytest

from shlo_disc.check.running import program_of
from shlo_disc.check.session import read_inputs
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.parse.parser import parse_module


@pytest.fixture(scope="module")
def program() -> Program:
    text = "func.func @main(%a: tensor<?xf32>, %b: tensor<?xbf16>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}"
    return program_of(parse_module(text, "m.mlir"))


@pytest.fixture(scope="module")
def archive() -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, a=np.arange(40, dtype=np.float32), b=np.zeros(3, "V2"))
    return file.getvalue()


def test_arrays_are_read_in_order(program: Program, archive: bytes, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(archive)
    a, b = read_inputs(tmp_path / "x", program)
    np.testing.assert_array_equal(a, np.arange(40, dtype=np.float32))
    assert (b.dtype.name, b.shape) == ("bfloat16", (3,))


def test_damaged_files_are_an_error_of_ours(program: Program, archive: bytes, tmp_path: Path) -> None:
    rng, path, refused = random.Random(0), tmp_path / "x", 0
    for number in range(500):
        data = bytearray(archive)
        for _ in range(rng.choice((1, 2, 5))):
            data[rng.randrange(len(data))] = rng.randrange(256)
        path.write_bytes(data[: rng.randrange(len(data))] if number % 5 == 0 else data)
        try:
            read_inputs(path, program)
        except ShloDiscError:
            refused += 1
    assert refused > 150


@pytest.mark.parametrize("fault", ["one array", "objects", "wide", "text", "missing", "a folder"])
def test_other_files_are_refused(program: Program, tmp_path: Path, fault: str) -> None:
    path = tmp_path / "x.npz"
    match fault:
        case "one array":
            with path.open("wb") as file:
                np.save(file, np.zeros(3))
        case "objects":
            np.savez(path, a=np.array([{}], object), b=np.zeros(3))
        case "wide":
            np.savez(path, a=np.zeros(3, "V16"))
        case "text":
            path.write_text("hello")
        case "a folder":
            path.mkdir()
        case _:
            pass
    with pytest.raises(ShloDiscError, match="found"):
        read_inputs(path, program)
