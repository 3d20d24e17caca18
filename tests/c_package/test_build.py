# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""The command, the files that it writes, and other compilers and machines."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import shlo_disc
from shlo_disc.cli.main import main
from shlo_disc.runtime.building.machines import MACHINES, best_machine
from tests.c_package.packages import assert_same_bits, compile_c, compiled_function, linked, package
from tests.c_package.programs import PROGRAMS, SIZES
from tests.pipeline.exports import check

TEXT = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}\n"


def test_the_command_writes_a_package(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, folder = tmp_path / "program.mlir", tmp_path / "new" / "folder"
    source.write_text(TEXT)
    level = best_machine()
    assert level is not None
    assert main(["build", str(source), "--out", str(folder), "--name", "copy", "--target", level.name]) == 0
    assert capsys.readouterr().out.startswith(f"{folder}: copy.h (")
    names = {"copy.h", "libcopy.so", "libcopy.a", "copy.pc", "copy-config.cmake", "example.c"}
    assert {path.name for path in folder.iterdir()} == names
    compile_c(
        "gcc", "-std=c99", "example.c", "-I.", "-L.", "-lcopy", "-lm", "-lpthread", "-o", "example", folder=folder
    )
    environment = {"LD_LIBRARY_PATH": str(folder)}
    done = subprocess.run([folder / "example", "3"], capture_output=True, env=environment, check=False)
    assert (done.returncode, done.stdout) == (0, b"result 0 (3): 0 0.25 0.5\n")


def test_the_command_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, folder = tmp_path / "program.mlir", tmp_path / "out"
    source.write_text(TEXT)
    assert main(["build", str(tmp_path / "none"), "--out", str(folder)]) == 2
    assert "No such file" in capsys.readouterr().err
    assert main(["build", str(source), "--out", str(folder), "--name", "int"]) == 1
    assert "found the name 'int'" in capsys.readouterr().err
    assert main(["build", str(source), "--out", str(source)]) == 2
    source.write_text("no program")
    assert main(["build", str(source), "--out", str(folder)]) == 1
    assert not folder.exists()


def test_a_folder_can_be_replaced_and_moved(tmp_path: Path) -> None:
    run = compiled_function(lambda x: x * 2, "f32[n]")
    run.build(tmp_path / "first", "twice")
    before = (tmp_path / "first" / "libtwice.so").read_bytes()
    run.build(tmp_path / "first", "twice")
    assert (tmp_path / "first" / "libtwice.so").read_bytes() == before, "equal programs are equal bytes"
    moved = (tmp_path / "first").rename(tmp_path / "second")
    assert "prefix=${pcfiledir}\n" in (moved / "twice.pc").read_text()


@pytest.mark.parametrize("compiler", ["gcc", pytest.param("zig", marks=pytest.mark.slow)])
def test_compilers(compiler: str, tmp_path: Path) -> None:
    program = PROGRAMS["constant"]
    options = shlo_disc.CompileOptions(optimize=0, compiler=compiler)
    run = shlo_disc.compile(program.function, shapes=program.shapes, device="cpu", options=options)
    built = package(run, tmp_path)
    rng = np.random.default_rng(2)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in SIZES[1:]]
    for answer, call in zip(built.calls(calls), calls, strict=True):
        assert_same_bits(answer.results[0], run.executable(call)[0])
    compile_c("gcc", "example.c", "-I.", "libmodel.a", "-lm", "-lpthread", folder=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_optimized_programs_at_many_sizes(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    run = shlo_disc.compile(program.function, shapes=program.shapes, device="cpu")
    built = package(run, tmp_path)
    rng = np.random.default_rng(11)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in (*range(1, 70), 255, 256, 257, 1000)]
    for threads in (1, 2):
        for answer, call in zip(built.calls(calls, threads=threads), calls, strict=True):
            for one, other in zip(answer.results, run.executable(call), strict=True):
                assert_same_bits(one, other)


HERE = [name for name, machine in MACHINES.items() if machine.runs_here]


@pytest.mark.slow
@pytest.mark.parametrize("level", HERE)
@pytest.mark.parametrize("name", PROGRAMS)
def test_levels_are_those_of_saved_programs(name: str, level: str, tmp_path: Path) -> None:
    """And what the native program returns, up to the last places of floats."""
    program = PROGRAMS[name]
    run = compiled_function(program.function, program.shapes)
    run.save(tmp_path / "model.shlo", targets=[level])
    loaded = shlo_disc.load(tmp_path / "model.shlo")
    assert loaded.machine == level
    run.build(tmp_path, target=level)
    built = linked(loaded.executable.artifact, tmp_path)
    rng = np.random.default_rng(11)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in SIZES[1:]]
    for answer, call in zip(built.calls(calls), calls, strict=True):
        check(answer.results, run.executable(call), f"{name}, {level}", 1.0, 1.0)
        for one, other in zip(answer.results, loaded.executable(call), strict=True):
            assert_same_bits(one, other)
