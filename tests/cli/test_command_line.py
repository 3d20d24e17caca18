"""The command line: what it prints, where errors go, and its exit codes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from shlo_disc.cli.main import main
from shlo_disc.cli.output import highlight
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parents[2]

TEXT = """\
module {
  func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %0 = stablehlo.tanh %x : tensor<?x4xf32> loc("model.py":3:1)
    %1 = stablehlo.tanh %0 : tensor<?x4xf32>
    return %1 : tensor<?x4xf32>
  }
}
"""
CALL = "custom_call @foo(%0) : (tensor<?x4xf32>) -> tensor"
UNSUPPORTED = TEXT.replace("tanh %0 : tensor", CALL)
WRONG = TEXT.replace("stablehlo.tanh %x", "stablehlo.not %x")
BROKEN = TEXT.replace("%1 = stablehlo.tanh %0", "%1 = stablehlo.tanh %9")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return path


def shell(*arguments: str | Path, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run it as a user would."""
    command = [sys.executable, "-W", "error", "-m", "shlo_disc", *map(str, arguments)]
    return subprocess.run(command, input=given, capture_output=True, check=False, cwd=ROOT)


def test_print(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module = parse_module(TEXT, str(file))
    assert main(["print", str(file)]) == 0
    assert capsys.readouterr().out == str(module)
    assert main(["print", "--generic", "--locations", str(file)]) == 0
    assert capsys.readouterr().out == print_module(module, generic=True, locations=True)


def test_several_modules_are_printed_as_a_text_of_several(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["print", str(file), str(file)]) == 0
    out = capsys.readouterr().out
    file.write_text(out)
    assert main(["print", str(file)]) == 0
    assert capsys.readouterr().out == out == f"{parse_module(TEXT)}// -----\n{parse_module(TEXT)}"


def test_verify_is_silent_if_all_is_well(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(file)]) == 0
    assert capsys.readouterr() == ("", "")
    assert main(["verify", "--verbose", str(file)]) == 0
    assert capsys.readouterr().out == f"{file}: fine, 3 ops\n"


@pytest.mark.parametrize("command", ["verify", "ops"])
def test_what_breaks_a_rule_is_refused(command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(WRONG)
    assert main([command, str(file)]) == 1
    out, err = capsys.readouterr()
    first, line, carets, origin, *_ = err.splitlines()
    assert first.startswith(f"{file}:3:10: error: expected ")
    assert first.endswith("(I1 of not)")
    assert line == '      %0 = stablehlo.not %x : tensor<?x4xf32> loc("model.py":3:1)'
    assert carets == "           " + "^" * len("stablehlo.not")
    assert origin == "  from: model.py:3"
    assert out == ""


@pytest.mark.parametrize("command", ["print", "verify", "ops"])
def test_what_does_not_parse_is_refused(command: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(BROKEN)
    assert main([command, str(file)]) == 1
    out, err = capsys.readouterr()
    assert err.startswith(f"{file}:4:25: error: expected a value that is defined above, found '%9'\n")
    assert out == ""


def test_the_worst_file_counts(file: Path, tmp_path: Path) -> None:
    wrong, missing = tmp_path / "wrong.mlir", tmp_path / "missing.mlir"
    wrong.write_text(WRONG)
    for files, code in (([wrong, file], 1), ([wrong, missing, file], 2), ([missing, wrong], 2)):
        assert main(["verify", *map(str, files)]) == code


def test_every_module_of_a_file_is_verified(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("// -----\n".join([WRONG, TEXT, WRONG]))
    assert main(["verify", "--verbose", str(file)]) == 1
    out, err = capsys.readouterr()
    assert err.count("error:") == 2
    assert out == f"{file}:9: fine, 3 ops\n"


def test_ops_of_a_program_that_runs(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ops", str(file)]) == 0
    assert capsys.readouterr().out == (
        "op              uses  cpu  cuda  why not\n"
        "stablehlo.tanh     2    2     2\n"
        "func.return        1    1     1\n"
        f"{file} on cpu and cuda: runs\n"
    )


def test_ops_of_a_program_that_does_not(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text(UNSUPPORTED)
    assert main(["ops", str(file)]) == 0
    assert capsys.readouterr().out == (
        "op                     uses  cpu  cuda  why not\n"
        "func.return               1    1     1\n"
        "stablehlo.custom_call     1    0     0  no rule for the target @foo\n"
        "stablehlo.tanh            1    1     1\n"
        f"{file} on cpu and cuda: does not run\n"
        f"{file}:4:10: error: op 'stablehlo.custom_call' is not supported for the target @foo\n"
        "      %1 = stablehlo.custom_call @foo(%0) : (tensor<?x4xf32>) -> tensor<?x4xf32>\n"
        "           ^^^^^^^^^^^^^^^^^^^^^\n"
        "  help: register a function that computes it: shlo_disc.register_custom_call('foo', function)\n"
    )


@pytest.mark.parametrize(
    ("before", "after", "op", "why"),
    [
        ("stablehlo.tanh %0", "stablehlo.cbrt %0", None, ""),
        (
            "%1 = stablehlo.tanh %0",
            "%k = stablehlo.create_token : !stablehlo.token\n"
            '%d = "stablehlo.outfeed"(%k) : (!stablehlo.token) -> !stablehlo.token\n'
            "%1 = stablehlo.tanh %0",
            "stablehlo.outfeed",
            "no rule",
        ),
        (
            "%1 = stablehlo.tanh %0 : tensor<?x4xf32>",
            "%k = stablehlo.constant dense<2> : tensor<1xi64>\n"
            "%f = stablehlo.constant dense<0.0> : tensor<f32>\n"
            "%r = stablehlo.reduce(%0 init: %f) across dimensions = [0, 1] : (tensor<?x4xf32>, tensor<f32>) -> "
            "tensor<f32>\n reducer(%p: tensor<f32>, %q: tensor<f32>)\n"
            "{ %n = stablehlo.rng %f, %f, %k, distribution = UNIFORM"
            " : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<2xf32>\n"
            "stablehlo.return %p : tensor<f32> }\n"
            "%1 = stablehlo.tanh %0 : tensor<?x4xf32>",
            "stablehlo.reduce",
            "op 'stablehlo.reduce' draws random numbers in a region without an order",
        ),
    ],
)
def test_why_an_op_does_not_run(
    before: str, after: str, op: str | None, why: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file.write_text(TEXT.replace(before, after))
    assert main(["ops", "--json", str(file)]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert {name: row["why_not"][-1] for name, row in found["ops"].items() if row["why_not"]} == (
        {op: why} if op else {}
    )
    for target in ("cpu", "cuda"):
        assert (found["errors"][target] is None) == (op is None)
        assert all((row[target] < row["uses"]) == (name == op) for name, row in found["ops"].items())


def test_files_that_cannot_be_read(tmp_path: Path, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    empty, other, damaged = tmp_path / "empty.mlir", tmp_path / "other.bin", tmp_path / "damaged.bc"
    empty.write_text("\n \n")
    other.write_bytes(b"\x7fELF\xff\xfe")
    damaged.write_bytes(b"ML\xefRdamaged")
    missing = tmp_path / "missing.mlir"
    named = [missing, tmp_path, empty, other, damaged, file]
    assert main(["verify", "--verbose", *map(str, named)]) == 2
    out, err = capsys.readouterr()
    assert out == f"{file}: fine, 3 ops\n"
    lines = [line for line in err.splitlines() if line.startswith(str(tmp_path))]
    assert lines[:4] == [
        f"{missing}: No such file or directory",
        f"{tmp_path}: Is a directory",
        f"{empty}: expected a program, found nothing",
        f"{other}: expected StableHLO text or MLIR bytecode, found other bytes (invalid start byte, number 4)",
    ]
    assert lines[4].startswith(f"{damaged}: expected bytecode that jaxlib can read")


@pytest.mark.parametrize("arguments", [[], ["print"], ["draw", "x.mlir"], ["print", "--fast", "x.mlir"]])
def test_commands_that_are_none(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m shlo_disc")


def test_the_standard_input() -> None:
    done = shell("print", "-", given=TEXT.encode())
    assert (done.returncode, done.stdout.decode(), done.stderr) == (0, str(parse_module(TEXT)), b"")
    done = shell("verify", "-", given=BROKEN.encode())
    assert done.returncode == 1
    assert done.stderr.startswith(b"<stdin>:4:25: error: ")
    done = shell("verify", "-")
    assert (done.returncode, done.stderr) == (2, b"<stdin>: expected a program, found nothing\n")


def test_bytecode(tmp_path: Path) -> None:
    jaxlib = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
    path = tmp_path / "model.bc"
    path.write_bytes(jaxlib.serialize_portable_artifact_str(TEXT, jaxlib.get_minimum_version()))
    done = shell("ops", path)
    assert done.returncode == 0, done.stderr
    assert b"stablehlo.tanh     2    2     2\n" in done.stdout


def test_a_reader_that_stops_early_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "long.mlir"
    path.write_text(
        TEXT.replace(
            "    return",
            "".join(f"    %v{k} = stablehlo.abs %x : tensor<?x4xf32>\n" for k in range(5000)) + "    return",
        )
    )
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "shlo_disc", "print", str(path)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False, cwd=ROOT)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")


def test_an_output_that_cannot_spell_everything(file: Path) -> None:
    file.write_text(UNSUPPORTED.replace("@foo", '@"\\FF é"'))
    command = [sys.executable, "-m", "shlo_disc", "ops", str(file)]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, check=False, cwd=ROOT, env=environment)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"no rule for the target @\\udcff \\xe9\n" in done.stdout


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    text = "m.mlir:1:2: error: what error: is\n  error: source\n  ^^^\n  from: model.py:3"
    assert highlight(text, Terminal()) == (
        "\x1b[31mm.mlir:1:2: error:\x1b[0m what error: is\n  error: source\n  ^^^\n\x1b[36m  from:\x1b[0m model.py:3"
    )
    assert highlight(text, io.StringIO()) == text
    monkeypatch.setenv("NO_COLOR", "1")
    assert highlight(text, Terminal()) == text


def test_report(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "page.html"
    for device in ("cpu", "cuda"):
        assert main(["report", str(file), "-o", str(path), "--device", device]) == 0
        assert capsys.readouterr().out == f"{path}: {path.stat().st_size // 1024} KiB\n"
        text = path.read_text()
        assert "tanh" in text
        assert "model.py:3" in text  # the user's line
        assert f'"device":"{device}"' in text


def test_a_report_compares_two_programs(file: Path, tmp_path: Path) -> None:
    path, other = tmp_path / "page.html", tmp_path / "other.mlir"
    other.write_text(TEXT)
    assert main(["report", str(file), str(other), "-o", str(path)]) == 0
    text = path.read_text()
    assert text.count("<iframe ") == 2
    assert all(f"<h2>{name}</h2>" in text for name in (file, other))


def test_a_report_is_about_programs_that_compile(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "page.html"
    assert main(["report", *[str(file)] * 3, "-o", str(path)]) == 2
    assert "found 3 programs, expected one, or 2 to compare" in capsys.readouterr().err
    for text in (UNSUPPORTED, WRONG, BROKEN):
        file.write_text(text)
        assert main(["report", str(file), "-o", str(path)]) == 1
        assert "error: " in capsys.readouterr().err
    assert not path.exists()
    file.write_text(TEXT)
    assert main(["report", str(file), "-o", str(tmp_path)]) == 2
    assert "Is a directory" in capsys.readouterr().err
