"""`run`, `bench`, `profile` and `explain`: programs as text and as saved files, arrays in all formats."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import ml_dtypes
import numpy as np
import pytest

import shlo_disc
from shlo_disc.cli.arguments import FUSION
from shlo_disc.cli.arrays import read_arrays, write_arrays
from shlo_disc.cli.main import main
from shlo_disc.options import CompileOptions, FusionRules

TEXT = """\
func.func @main(%x: tensor<?x4xbf16>, %y: tensor<?x4xbf16>, %k: tensor<i32>) -> (tensor<?x4xbf16>, tensor<i32>) {
  %0 = stablehlo.subtract %x, %y : tensor<?x4xbf16>
  %1 = stablehlo.add %k, %k : tensor<i32>
  return %0, %1 : tensor<?x4xbf16>, tensor<i32>
}
"""
X: Any = np.arange(12, dtype=np.float32).reshape(3, 4).astype(ml_dtypes.bfloat16)
Y: Any = np.ones((3, 4), ml_dtypes.bfloat16)
K = np.array(21, np.int32)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return path


@pytest.fixture
def saved(file: Path) -> Path:
    path = file.with_suffix(".shlo")
    shlo_disc.compile(file, options=CompileOptions(optimize=0)).save(path)
    return path


@pytest.mark.parametrize("kind", ["npz", "safetensors"])
@pytest.mark.parametrize("program", ["file", "saved"])
def test_arrays_go_in_and_out(
    program: str, kind: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    inputs, output = tmp_path / f"in.{kind}", tmp_path / f"out.{kind}"
    write_arrays(inputs, [X, Y, K])
    path = request.getfixturevalue(program)
    assert main(["run", str(path), "--inputs", str(inputs), "-o", str(output)]) == 0
    told = capsys.readouterr().out
    assert "result0: bfloat16[3, 4]: -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, ...\n" in told
    assert "result1: int32[]: 42\n" in told
    found = read_arrays(output)
    raw = found["result0"] if kind == "safetensors" else found["result0"].view(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(raw, X - Y)
    assert found["result1"] == 42


def test_one_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, inputs, output = tmp_path / "p.mlir", tmp_path / "in.npy", tmp_path / "out.npy"
    text = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\n%0 = stablehlo.negate %x : tensor<?xf32>\n"
    program.write_text(f"{text}return %0 : tensor<?xf32>\n}}")
    np.save(inputs, np.array([1, 2], np.float32))
    assert main(["run", str(program), "--inputs", str(inputs), "--output", str(output)]) == 0
    np.testing.assert_array_equal(np.load(output), [-1, -2])
    assert capsys.readouterr().out == "result0: float32[2]: -1.0, -2.0\n"


def test_random_inputs_have_the_sizes_that_are_asked_for(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (size,) = shlo_disc.load(saved).executable.artifact.free
    for option, sizes, count in (("--sizes", f"{size}=7", 7), ("--sizes", "", 4), ("--dims", f"{size}=0", 0)):
        assert main(["run", str(saved), option, sizes, "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["results"]
        assert found == [{"dtype": "bfloat16", "shape": [count, 4]}, {"dtype": "int32", "shape": []}]
    assert main(["run", str(saved), "--seed", "1"]) == 0
    first = capsys.readouterr().out
    assert main(["run", str(saved), "--seed", "2"]) == 0
    assert capsys.readouterr().out != first


def test_calls_are_timed(saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shlo_disc.cli.run._LEAST_SECONDS", 0.0)
    assert main(["bench", str(saved), "--json", "--dims", "s0=3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["calls"] >= 5
    assert 0 < found["least_us"] <= found["median_us"]
    assert main(["bench", str(saved)]) == 0
    assert "calls: the shortest " in capsys.readouterr().out


def test_programs_are_explained(file: Path, saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", str(file), "fusion"]) == 0
    told = capsys.readouterr().out
    assert main(["explain", str(saved), "fusion"]) == 0
    assert told == capsys.readouterr().out
    assert "group 0" in told
    run: Any = shlo_disc.load(saved)
    bound = file.with_name("bound.shlo")
    run.bind(X).save(bound)
    assert main(["explain", str(bound)]) == 0
    assert main(["run", str(bound)]) == 1, "the sizes of what is bound are fixed"
    assert main(["explain", str(bound), "fusion"]) == 2


CHAIN = """\
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.tanh %x : tensor<?xf32>
  %1 = stablehlo.add %0, %0 : tensor<?xf32>
  return %1 : tensor<?xf32>
}
"""


def test_fusion_is_chosen(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert get_args(FusionRules) == FUSION
    monkeypatch.setattr("shlo_disc.cli.run._LEAST_SECONDS", 0.0)
    file.write_text(CHAIN)
    saved, page = file.with_suffix(".shlo"), file.with_suffix(".html")

    def told(*words: str) -> str:
        assert main(list(words)) == 0
        return capsys.readouterr().out

    for rules, is_apart in (("none", True), ("full", False)):
        program = str(file), "--fusion", rules
        assert ("tanh_0" in told("profile", *program, "--repeat", "1")) is is_apart
        assert ("group 1:" in told("explain", str(file), "fusion", *program[1:])) is is_apart
        told("compile", *program, "-o", str(saved))
        run: Any = shlo_disc.load(saved)
        assert ("group 1:" in run.explain("fusion")) is is_apart
        told("report", *program, "-o", str(page))
        assert ("tanh_0" in page.read_text()) is is_apart
    unfused = str(file), "--fusion", "none"
    assert told("run", *unfused) == told("run", str(file))
    assert "median" in told("bench", *unfused)


WRONG = {
    "options of a compilation": (["run", "FILE", "--fusion", "none"], "which is compiled already, expected StableHLO"),
    "a ragged size of it": (["run", "FILE", "--ragged", "s=1"], "found --ragged s=1 and "),
    "the same for a library": (["build", "FILE", "--out", "x", "--fusion", "full"], "found --fusion full and "),
    "a missing file": (["run", "nothing.mlir"], "nothing.mlir: No such file"),
    "an unknown size": (["run", "FILE", "--sizes", "zz=3"], "found the size 'zz', expected sizes of the program: "),
    "no number": (["run", "FILE", "--sizes", "b=x"], "expected sizes such as b=8,s=3, found 'b=x'"),
    "a format": (["run", "FILE", "--inputs", "x.csv"], "x.csv: expected a file of .npz, .npy, .safetensors"),
    "another format": (["run", "FILE", "-o", "x.csv"], "x.csv: expected a file of .npz, .npy, .safetensors"),
    "two results": (["run", "FILE", "-o", "x.npy"], "x.npy: found 2 results, expected one"),
    "too few arrays": (["run", "FILE", "--inputs", "one.npy"], "found 1 array, expected 3: "),
    "no arrays": (["run", "FILE", "--inputs", "bad.npz"], "bad.npz: expected arrays in the format of its name"),
    "a topic": (["explain", "FILE", "nothing"], "nothing"),
}


@pytest.mark.parametrize("what", WRONG)
def test_wrong_calls_are_named(
    what: str, saved: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(saved.parent)
    np.save("one.npy", X.astype(np.float32))
    Path("bad.npz").write_bytes(b"PK nothing")
    words, message = WRONG[what]
    assert main([str(saved) if word == "FILE" else word for word in words]) == (1 if what == "a topic" else 2)
    assert message in capsys.readouterr().err


def test_profile_prints_a_table_and_writes_files(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page, trace = tmp_path / "p.html", tmp_path / "p.trace.json"
    arguments = ["profile", str(saved), "--dims", "s0=7", "--repeat", "2"]
    assert main([*arguments, "--html", str(page), "--trace", str(trace), "--selections"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("main at s0=7: 2 calls on ")
    assert "\nno step had a choice\n" in told
    assert page.read_text().startswith("<!doctype html>")
    assert len([one for one in json.loads(trace.read_text())["traceEvents"] if one["ph"] == "X"]) == 1
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["sizes"], found["repeat"]) == ({"s0": 7}, 2)
    assert found["steps"][0]["bytes_written"] == 2 * 4 * 7 + 4


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--repeat", "0"], "found --repeat 0, expected at least 1"),
        (["--sizes", "q=1"], "found the size 'q'"),
        (["--trace", "{folder}/none/p.json"], "none/p.json: No such file"),
    ],
)
def test_profiles_that_cannot_be(
    more: list[str], message: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.format(folder=saved.parent) for word in more]
    assert main(["profile", str(saved), "--repeat", "1", *words]) == 2
    assert message in capsys.readouterr().err
