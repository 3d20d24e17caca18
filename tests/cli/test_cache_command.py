"""`cache` on the command line."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import shlo_disc
from shlo_disc.cli.main import main
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building import cache

TEXT = """\
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.NAME %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that `SHLO_DISC_CACHE` names, with two programs."""
    root = tmp_path / "cache"
    monkeypatch.setenv("SHLO_DISC_CACHE", str(root))
    cache._opened.cache_clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    for name in ("negate", "abs"):
        run = shlo_disc.compile(TEXT.replace("NAME", name), options=CompileOptions(optimize=0, threads=1))
        run(np.ones(2, np.float32))
    return root


def listed(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    assert main(["cache", "ls", "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_folder_is_the_one_of_the_environment(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{folder}\n"
    found = listed(capsys)
    assert {entry["kind"] for entry in found} == {"artifacts", "objects", "shared"}
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) == sum(int(str(entry["size"])) for entry in found)
    assert main(["cache", "ls"]) == 0
    assert f"{len(files)} entries" in capsys.readouterr().out


def test_entries_that_are_verified_are_not_used(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Else all would be used at once, and those that programs used last might be removed first."""
    for number, path in enumerate(sorted(path for path in folder.rglob("*") if path.is_file())):
        os.utime(path, (1e9 + number, 1e9 + number))
    before = listed(capsys)
    assert main(["cache", "verify"]) == 0
    capsys.readouterr()
    assert listed(capsys) == before
    shlo_disc.compile(TEXT.replace("NAME", "abs"), options=CompileOptions(optimize=0, threads=1))
    assert listed(capsys) != before, "a program that is compiled again uses its entries"


def test_damaged_entries_are_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "verify"]) == 0
    assert ", 0 damaged\n" in capsys.readouterr().out
    damaged = next((folder / "artifacts").rglob("??/*"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"?")
    before = len(listed(capsys))
    assert main(["cache", "verify", "--json"]) == 1
    key = f"{damaged.parent.name}{damaged.name}"
    assert json.loads(capsys.readouterr().out) == {"entries": before, "damaged": [f"artifacts/{key}"]}
    assert not damaged.exists()
    assert main(["cache", "verify"]) == 0


def test_the_least_recently_used_entries_are_removed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    every = listed(capsys)
    assert main(["cache", "prune", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": 0, "bytes": 0}
    half = sum(int(str(entry["size"])) for entry in every) // 2
    assert main(["cache", "prune", "--limit", str(half)]) == 0
    assert "entries, " in capsys.readouterr().out
    kept = listed(capsys)
    assert 0 < len(kept) < len(every)
    assert sum(int(str(entry["size"])) for entry in kept) <= half
    assert main(["cache", "prune", "--limit", "much"]) == 2
    assert "found 'much', expected a number of bytes" in capsys.readouterr().err
    assert main(["cache", "prune", "--limit", "0"]) == 0
    assert not [path for path in folder.rglob("??/*") if path.is_file()]
