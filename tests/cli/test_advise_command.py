"""`advise` on the command line: what it prints, and which files it refuses."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from shlo_disc.cli.main import main

pytestmark = pytest.mark.quick

TRACE = "TIME,PROMPT,GENERATED\n2023-11-16 18:15:46,374,44\n2023-11-16 18:15:50,100,9\n2023-11-16 18:15:51,374,44\n"


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "trace.csv"
    path.write_text(TRACE)
    return path


def test_a_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text("1\n3\n4\n2\n")
    assert main(["advise", str(path), "--buckets", "2,9", "--compile-seconds", "1.5"]) == 0
    assert capsys.readouterr().out == (
        "4 calls (size), 4 different shapes; work: linear\n"
        "way                                work  padding  compilations  compile s  padded to\n"
        "jax.jit, each shape               1.00x       0%             4        6.0\n"
        "jax.jit, padded to the longest    1.60x      38%             1        1.5\n"
        "jax.jit, padded to powers of two  1.10x       9%             3        4.5\n"
        "jax.jit, padded to 2 best sizes   1.20x      17%             2        3.0  2 4\n"
        "shlo_disc.jit, each shape         1.00x       0%             1\n"
        "note: no padding to 9 sizes: there are 4 different ones\n"
    )


def test_columns_of_a_trace(trace: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = list[object]()
    for columns in ("PROMPT, GENERATED", "2,3"):
        assert main(["advise", str(trace), "--columns", columns, "--batch", "2", "--json"]) == 0
        found.append(json.loads(capsys.readouterr().out))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(TRACE.encode())))
    assert main(["advise", "-", "--columns", "2,3", "--batch", "2", "--json"]) == 0
    found.append(json.loads(capsys.readouterr().out))
    assert found[0] == found[1] == found[2]
    first = json.loads(json.dumps(found[0]))
    assert (first["names"], first["calls"], first["batch"]) == (["PROMPT", "GENERATED"], 2, 2)
    assert first["needed"] == 374 * 44 * 2 + 100 * 9
    assert first["ways"][0]["work"] == 2 * 374 * 44 + 374 * 44


def test_a_plot_is_written(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    plot = trace.with_suffix(".svg")
    assert main(["advise", str(trace), "--columns", "PROMPT", "-o", str(plot)]) == 0
    assert plot.read_text().startswith("<?xml")
    assert capsys.readouterr().out.startswith("3 calls (PROMPT), 2 different shapes")


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", [], ": expected lines with sizes, such as 17 or 8,17, found none"),
        ("length\n# 3\n", [], ": expected lines with sizes"),
        ("7\n\n12.5\n", [], ":3: expected a whole number >= 0 in this line, found '12.5'"),
        ("-7\n", [], ":1: expected a whole number >= 0 in this line, found '-7'"),
        ("b,s\n1,2\n3,x\n", [], ":3: expected a whole number >= 0 in column 's', found 'x'"),
        ("1,2\n3\n", [], ":2: expected 2 columns as above, found 1"),
        ("1 2\n3,,4\n", [], ":2: expected 2 columns as above, found 3"),
        ("1\n9999999999999999999\n", [], ":2: expected a whole number"),
        ("1\n\xff\n", [], ":2: expected text in UTF-8, found other bytes"),
        ("0\n0\n", [], ": expected a call without a size of 0, found none"),
        ("b,s\n1,2\n", ["--columns", "n"], ": found the column 'n', expected b, s, or a number from 1 to 2"),
        ("1,2\n", ["--columns", "3"], ": found the column '3', expected a number from 1 to 2"),
        ("1\n", ["--buckets", "2,x"], "found 'x' in --buckets, expected numbers such as 2,4,8"),
        ("1\n", ["--batch", "0"], "found batch = 0, expected a number >= 1"),
    ],
)
def test_what_is_refused_with_its_line(
    text: str, options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lengths.txt"
    path.write_text(text, encoding="latin-1")
    assert main(["advise", str(path), *options]) == 2
    out, err = capsys.readouterr()
    assert (out, err.startswith(f"{path}{message}" if message.startswith(":") else message)) == ("", True), err


def test_a_file_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", str(tmp_path / "none.txt")]) == 2
    assert capsys.readouterr().err == f"{tmp_path / 'none.txt'}: No such file or directory\n"
