"""Programs come as text, as files and as bytecode."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.parse.bytecode import read_program

TEXT = "module {\n}\n"


def test_text_is_taken_as_it_is() -> None:
    assert read_program(TEXT) == (TEXT, "<string>")
    assert read_program(TEXT.encode()) == (TEXT, "<bytecode>")


def test_a_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(TEXT)
    assert read_program(path) == (TEXT, str(path))
    assert read_program(str(path)) == (TEXT, str(path))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ShloDiscError, match=r"no\.mlir'.*No such file"):
        read_program(str(tmp_path / "no.mlir"))


def test_other_bytes_are_refused() -> None:
    with pytest.raises(ShloDiscError, match="found other bytes"):
        read_program(b"\xff\xfe\x00")


def test_damaged_bytecode_is_refused() -> None:
    with pytest.raises(ShloDiscError, match="expected bytecode that jaxlib can read"):
        read_program(b"ML\xefRdamaged")


def test_bytecode_without_jaxlib_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def find_nothing(_name: str) -> None:
        return None

    monkeypatch.setattr(importlib.util, "find_spec", find_nothing)
    with pytest.raises(ShloDiscError, match=r"pip install 'shlo-disc\[jax\]'"):
        read_program(b"ML\xefRdamaged")
