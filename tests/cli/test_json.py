"""`compile` on the command line, and what commands print for other programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.cli.main import main

TEXT = """\
func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.add %x, %x : tensor<?x4xf32>
  return %0 : tensor<?x4xf32>
}
"""
WRONG = TEXT.replace("-> tensor<?x4xf32>", "-> tensor<?x5xf32>")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return path


def told(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 0) -> Any:
    """What a command prints with `--json`."""
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.slow
def test_compile_writes_a_file_that_loads(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compile", str(file)]) == 0
    saved = file.with_suffix(".shlo")
    assert capsys.readouterr().out.startswith(f"{saved}: model.shlo (")
    run = shlo_disc.load(saved)
    for rows in (0, 1, 3):
        x = np.random.default_rng().standard_normal((rows, 4)).astype(np.float32)
        np.testing.assert_array_equal(run(x)[0], x + x)
    other = file.with_name("other.shlo")
    found = told(["compile", str(file), "-o", str(other), "--targets", "x86-64-v2, x86-64-v3"], capsys)
    assert found == {"path": str(other), "bytes": {"other.shlo": other.stat().st_size}}
    assert other.stat().st_size > saved.stat().st_size


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["compile", "-"], 2, "expected --output"),
        (["compile", "{folder}/none.mlir"], 2, "none.mlir': No such file"),
        (["compile", "{folder}/model.mlir", "--targets", "x86-64-v9"], 1, "x86-64-v9"),
        (["compile", "{folder}/model.mlir", "-o", "{folder}/none/model.shlo"], 2, "none/model.shlo: No such file"),
        (["compile", "{folder}/wrong.mlir"], 1, "wrong.mlir:3:3: error"),
    ],
)
def test_compile_refuses(
    arguments: list[str], code: int, message: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.with_name("wrong.mlir").write_text(WRONG)
    assert main([one.format(folder=file.parent) for one in arguments]) == code
    assert message in capsys.readouterr().err
    assert not list(file.parent.glob("*.shlo"))


def test_programs_are_verified(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(["verify", str(file)], capsys) == {"ops": {str(file): 2}, "errors": []}
    wrong = file.with_name("wrong.mlir")
    wrong.write_text(WRONG)
    found = told(["verify", str(file), str(wrong)], capsys, code=1)
    assert found["ops"] == {str(file): 2}
    assert len(found["errors"]) == 1
    assert found["errors"][0].startswith(f"{wrong}:")


def test_programs_are_explained(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = told(["explain", str(file)], capsys)
    assert set(found["explain"]) == {"facts", "fusion", "memory", "schedules"}
    assert any("s0" in fact["text"] for fact in found["facts"])
    assert set(told(["explain", str(file), "memory"], capsys)["explain"]) == {"memory"}


def test_a_page_says_where_it_is(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = file.with_suffix(".html")
    size = told(["report", str(file), "-o", str(page)], capsys)["bytes"]
    assert size == {"model.html": page.stat().st_size}


@pytest.mark.slow
def test_calls_are_compared(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = told(["check", str(file), "--against", "compiled", "--shapes", "s0=0,1", "--optimize", "0"], capsys)
    assert found["agreed"] > 0
    assert found["finding"] is None
    summary = told(["fuzz", "--count", "2", "--seed", "3", "--against", "interpreter,vm", "--optimize", "0"], capsys)
    assert (summary["seed"], summary["programs"], summary["findings"]) == (3, 2, [])
    assert summary["calls"] > 0
