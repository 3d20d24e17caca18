"""`fuzz` on the command line, and what it leaves behind."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shlo_disc.check.campaign import Job, Settings, Summary, family_of, made
from shlo_disc.check.running import Array, BuildConfig, InProcess, Prepare, Run, standard_ways
from shlo_disc.cli.main import main
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.slow

TARGET = BuildConfig(CompileOptions(optimize=0, threads=1))
SETTINGS = Settings(seed=0, config=TARGET, ways=("compiled",), calls=1, shrink=5.0)


def _interpreted(module: Module) -> Run:
    return standard_ways(TARGET)["interpreter"](module)


def _negated(module: Module) -> Run:
    run = _interpreted(module)

    def call(inputs: Sequence[Array]) -> list[Any]:
        return [~x if x.dtype.kind in "biu" else -x for x in run(inputs)]

    return call


def job(compiled: Prepare, folder: Path) -> Job:
    ways = InProcess({"compiled": compiled, "interpreter": _interpreted})
    return Job(replace(SETTINGS, out=folder), ways)


def test_agreement(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "log.jsonl"
    arguments = ["fuzz", "--count", "1", "--seed", "1", "--against", "xla", "--random", "1", "--log", str(log)]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("seed 1\n1 program, 1 call, 0 findings (0.00 in 1000 programs)")
    (row,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert (row["seed"], row["programs"], row["agreed"], row["failure"]) == (1, 1, 1, "")


@pytest.mark.parametrize("seed", [3, 2])
def test_a_failure_is_written_with_the_commands_that_show_it(seed: int, tmp_path: Path) -> None:
    found = job(_negated, tmp_path).examine(seed, 1)
    assert found.family == family_of(seed) == ("jax" if seed == 2 else "stablehlo")
    assert "compiled differs from interpreter" in found.failure
    folder = tmp_path / f"seed-{seed}"
    assert found.folder == str(folder)
    assert found.command.startswith(f"python -m shlo_disc check {folder / 'minimal.mlir'} --inputs")
    assert found.reproduce == f"python -m shlo_disc fuzz --seed {seed} --count 1"
    parse_module((folder / "minimal.mlir").read_text(), "minimal.mlir")
    assert (folder / "inputs.npz").exists()
    assert (folder / "report.txt").read_text() == found.description
    assert "1 finding (1000.00 in 1000 programs)" in str(Summary((found,), 1.0))


def test_nothing_is_found_where_nothing_is_wrong(tmp_path: Path) -> None:
    assert not job(_interpreted, tmp_path).examine(1, 2).failure


def test_the_command_makes_the_same_programs() -> None:
    assert made(4)[0] == made(4, 10)[0]
    assert made(5)[0] == made(5, 5)[0]


def test_a_seed_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fuzz", "--seed", "some"]) == 2
    assert "found 'some' in --seed, expected a whole number, or random" in capsys.readouterr().err
