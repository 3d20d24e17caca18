"""Profiles of real programs: which steps they have, what these move and compute, and that nothing else changes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc import CompileOptions
from shlo_disc.profiling.profile import StepProfile
from shlo_disc.profiling.steps import executed_steps
from shlo_disc.report.steps import places
from shlo_disc.runtime.cpu.step_times import TimedDriver
from shlo_disc.runtime.step_times import TimedRun
from shlo_disc.runtime.steps import executed

TEXT = """\
func.func @main(%x: tensor<?x8xf32>, %w: tensor<8x16xf32>, %n: tensor<i32>)
    -> (tensor<?x16xf32>, tensor<?x16xcomplex<f32>>) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<?x8xf32>, tensor<8x16xf32>) -> tensor<?x16xf32> loc("model.py":7:1)
  %1 = stablehlo.convert %0 : (tensor<?x16xf32>) -> tensor<?x16xcomplex<f32>> loc("model.py":8:1)
  %2 = stablehlo.fft %1, type = FFT, length = [16]
    : (tensor<?x16xcomplex<f32>>) -> tensor<?x16xcomplex<f32>> loc("model.py":9:1)
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %3:2 = stablehlo.while(%i = %zero, %c = %0) : tensor<i32>, tensor<?x16xf32>
   cond {
    %4 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %4 : tensor<i1>
  } do {
    %5 = stablehlo.tanh %c : tensor<?x16xf32> loc("model.py":12:1)
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %5 : tensor<i32>, tensor<?x16xf32>
  }
  return %3#1, %2 : tensor<?x16xf32>, tensor<?x16xcomplex<f32>>
}
"""
ROWS = 5


@cache
def program() -> shlo_disc.Compiled:
    return shlo_disc.compile(TEXT, options=CompileOptions(optimize=0, threads=2))


def arguments(turns: int = 3) -> tuple[Any, ...]:
    rng = np.random.default_rng(7)
    x, w = rng.standard_normal((ROWS, 8)).astype(np.float32), rng.standard_normal((8, 16)).astype(np.float32)
    return x, w, np.array(turns, np.int32)


@cache
def profile() -> shlo_disc.Profile:
    return program().profile(*arguments(), repeat=3)


def step_with(kind: str) -> StepProfile:
    (found,) = [step for step in profile().steps if step.kind == kind]
    return found


def test_steps_are_numbered_as_in_the_report() -> None:
    artifact = program().executable.artifact
    steps = list(executed_steps(artifact))
    assert [one.step for one in steps] == list(executed(artifact.steps))
    every = places(artifact)
    assert [every[one.number].step for one in steps] == [one.step for one in steps]
    assert {step.number for step in profile().steps} <= {one.number for one in steps}


def test_every_step_runs_as_often_as_the_program_says() -> None:
    assert [(step.kind, step.runs) for step in profile().steps] == [
        ("product", 1), ("kernel", 1), ("host call", 1), ("kernel", 4), ("kernel", 3),
    ]  # fmt: skip
    assert len(profile().events) == 10
    starts = [event.began for event in profile().events]
    assert starts == sorted(starts)
    assert starts[0] == 0
    assert all(event.began <= event.ended for event in profile().events)


def test_times_of_the_steps_are_those_of_their_runs() -> None:
    found = profile()
    for number, step in enumerate(found.steps):
        best = sum(event.ended - event.began for event in found.events if event.step == number)
        assert step.seconds.least <= best * (1 + 1e-9)
        assert 0 < step.seconds.least <= step.seconds.median
    assert found.seconds == sum(step.seconds.least for step in found.steps)
    assert sum(map(found.share, found.steps)) == pytest.approx(1)


def test_bytes_and_operations_are_those_of_the_sizes() -> None:
    product, fft = step_with("product"), step_with("host call")
    assert product.flops == 2 * ROWS * 16 * 8
    assert (product.bytes_read, product.bytes_written) == (4 * ROWS * 8 + 4 * 8 * 16, 4 * ROWS * 16)
    assert product.lines == ("model.py:7",)
    assert (fft.bytes_read, fft.bytes_written, fft.flops) == (8 * ROWS * 16, 8 * ROWS * 16, 0)
    assert fft.lines == ("model.py:9",)
    body = profile().steps[-1]
    assert body.flops == 3 * ROWS * 16 * 10, "tanh counts as ten"
    assert "model.py:12" in body.lines
    assert profile().sizes == {"s0": ROWS}
    assert product.flops_per_second == product.flops / product.seconds.least


def test_selections_are_those_that_explain_dispatch_tells() -> None:
    (found,) = step_with("product").selections
    assert found.sizes == (ROWS, 16, 8, 1)
    assert found.chosen in [option.name for option in found.options]
    assert found.chosen in program().explain_dispatch(s0=ROWS)
    assert found.chosen in profile().selection_trace()


def test_nothing_else_changes() -> None:
    """The same kernels, host program and entry; the calls that are timed compute the same bits."""
    run = program()
    executable: Any = run.executable
    before = run.kernels_source, run.host_source, executable.entry, executable.program, run.stats.compilations
    runs = list[TimedRun]()
    x, w, n = arguments()
    timed = executable.timed(runs.append)([x, w, n])
    for one, other in zip(timed, executable([x, w, n]), strict=True):
        np.testing.assert_array_equal(one, other)
    assert len(runs) == 1
    assert (run.kernels_source, run.host_source, executable.entry, executable.program, 1) == before


def test_long_loops_get_room() -> None:
    found = program().profile(*arguments(turns=2000), repeat=1)
    assert [step.runs for step in found.steps][-2:] == [2001, 2000]
    assert len(found.events) == 3 + 4001


def test_steps_beyond_the_room_are_counted() -> None:
    executable, runs = program().executable, list[TimedRun]()
    timed: Any = executable.timed(runs.append)
    for _ in range(2):
        timed(arguments(turns=2000))
    assert [len(run.times) + run.lost for run in runs] == [4004, 4004]
    assert runs[0].lost > 0 == runs[1].lost


def test_more_steps_than_can_be_noted_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shlo_disc.runtime.cpu.step_times.MOST", 1500)
    with pytest.raises(shlo_disc.ShloDiscError, match=r"found 4004 steps in one call, expected at most 1500"):
        program().profile(*arguments(turns=2000), repeat=1)


def test_bound_programs_have_profiles() -> None:
    x, w, n = arguments()
    found = program().bind(x).profile(w, n, repeat=1)
    assert [step.runs for step in found.steps] == [step.runs for step in profile().steps]
    assert found.steps[0].flops == step_with("product").flops


def test_arguments_that_calls_overwrite_are_copied() -> None:
    text = """\
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %0 = stablehlo.add %x, %x : tensor<?xf32>
  return %0 : tensor<?xf32>
}
"""
    run = shlo_disc.compile(text, donate=(0,), options=CompileOptions(optimize=0))
    x = np.arange(4, dtype=np.float32)
    assert run.executable.artifact.donations
    assert len(run.profile(x, repeat=2).steps) == 1
    np.testing.assert_array_equal(x, np.arange(4))


def test_wrong_calls_are_refused_as_calls_are() -> None:
    with pytest.raises(shlo_disc.ShloDiscError, match="found repeat=0, expected at least 1"):
        program().profile(*arguments(), repeat=0)
    with pytest.raises(shlo_disc.RuntimeShapeError):
        program().profile(np.zeros((2, 9), np.float32), *arguments()[1:])


def test_a_runtime_without_a_clock_is_refused() -> None:
    executable: Any = program().executable
    old = replace(executable.runtime, run_timed=None)
    with pytest.raises(shlo_disc.ShloDiscError, match="runtime of a program that an earlier version saved"):
        TimedDriver(executable.artifact, executable.program, old, executable._driver.constants, print)  # noqa: SLF001


def test_a_file_has_the_report_of_its_steps(tmp_path: Path) -> None:
    path = tmp_path / "program.shlo"
    program().save(path)
    found = shlo_disc.load(path).profile(*arguments(), repeat=1)
    assert isinstance(found, shlo_disc.Profile)
    assert [step.lines for step in found.steps] == [step.lines for step in profile().steps]
    assert [step.flops for step in found.steps] == [step.flops for step in profile().steps]


def test_the_json_holds_all_of_it() -> None:
    data = json.loads(profile().to_json())
    assert data["format"] == 1
    assert [step["kind"] for step in data["steps"]] == [step.kind for step in profile().steps]
    assert data["steps"][0]["selections"][0]["sizes"] == [ROWS, 16, 8, 1]
    assert data["whole"]["least"] == profile().whole.least


def test_the_steps_of_partitions_have_the_names_of_these() -> None:
    """The second partition has a size that the first one computes: how many of the elements are positive."""
    text = """\
func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>
  %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.dynamic_broadcast_in_dim %zero, %1, dims = [] : (tensor<f32>, tensor<1xi32>) -> tensor<?xf32>
  %3 = stablehlo.compare GT, %x, %2 : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xi1>
  %4 = stablehlo.convert %3 : (tensor<?xi1>) -> tensor<?xi32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %5 = stablehlo.reduce(%4 init: %none) applies stablehlo.add across dimensions = [0]
    : (tensor<?xi32>, tensor<i32>) -> tensor<i32>
  %6 = stablehlo.reshape %5 : (tensor<i32>) -> tensor<1xi32>
  %7 = stablehlo.dynamic_iota %6, dim = 0 : (tensor<1xi32>) -> tensor<?xf32>
  return %7 : tensor<?xf32>
}
"""
    run = shlo_disc.compile(text, options=CompileOptions(optimize=0))
    assert run.executable.artifact.partitions
    x = np.array([1, -1, 2, 3], np.float32)
    found = run.profile(x, repeat=1)
    assert list(dict.fromkeys(step.part for step in found.steps)) == ["partition 0", "partition 1"]
    assert found.steps[-1].bytes_written == 4 * 3
    assert found.sizes == {"s0": 4, "v0": 3}
    named = [event["args"]["name"] for event in json.loads(found.chrome_trace())["traceEvents"] if event["ph"] == "M"]
    assert named == ["main", "partition 0", "partition 1"]


def test_launches_of_a_group_are_measured_alone_too() -> None:
    """By rows: a product, a sum of each row, and what is left."""
    text = """\
func.func @main(%x: tensor<?x64xf32>, %w: tensor<64x64xf32>) -> tensor<?x64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %1 = stablehlo.exponential %0 : tensor<?x64xf32>
  %2 = stablehlo.dot_general %1, %w, contracting_dims = [1] x [0]
    : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %2 : tensor<?x64xf32>
}
"""
    run = shlo_disc.compile(text, options=CompileOptions(optimize=0))
    rng = np.random.default_rng(3)
    found = run.profile(*(rng.standard_normal((64, 64)).astype(np.float32) for _ in range(2)), repeat=1)
    (step,) = found.steps
    assert step.kind == "launch group"
    assert [member.group for member in step.members] == list(step.groups)
    assert [member.kernel for member in step.members] == step.name.split()
    assert all(member.seconds > 0 for member in step.members)
    assert step.flops == 2 * (2 * 64 * 64 * 64) + 10 * 64 * 64
    assert step.bytes_read == 4 * 2 * 64 * 64, "what one launch passes to another is not read from memory"
    assert len(step.selections) == 2


def test_what_is_not_touched_is_not_counted() -> None:
    """A loop that reads a row of one array and writes it to another, in place."""
    text = """\
func.func @main(%x: tensor<?x64xf32>, %y: tensor<?x64xf32>, %n: tensor<i32>) -> tensor<?x64xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %c = %y) : tensor<i32>, tensor<?x64xf32>
   cond {
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %2 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 64]
      : (tensor<?x64xf32>, tensor<i32>, tensor<i32>) -> tensor<1x64xf32>
    %3 = stablehlo.tanh %2 : tensor<1x64xf32>
    %4 = stablehlo.dynamic_update_slice %c, %3, %i, %zero
      : (tensor<?x64xf32>, tensor<1x64xf32>, tensor<i32>, tensor<i32>) -> tensor<?x64xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %5, %4 : tensor<i32>, tensor<?x64xf32>
  }
  return %0#1 : tensor<?x64xf32>
}
"""
    run = shlo_disc.compile(text, options=CompileOptions(optimize=0))
    x, y = np.ones((500, 64), np.float32), np.ones((300, 64), np.float32)
    found = run.profile(x, y, np.array(10, np.int32), repeat=1)
    rows = [step for step in found.steps if step.runs == 10]
    moved = sum(step.moved for step in rows)
    assert 10 * 2 * 4 * 64 <= moved < 10 * 8 * 4 * 64, "and not ten times all rows"


@pytest.mark.skipif(shutil.which("objdump") is None, reason="there is no objdump here")
def test_calls_have_no_clock() -> None:
    executable: Any = program().executable

    def clocks(function: str) -> int:
        command = ["objdump", "-d", "-C", f"--disassemble={function}", str(executable.runtime.path)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        assert f"<{function}>:" in told
        return len(re.findall(r"call.*(StepClock|clock_gettime)", told))

    assert clocks("shlo_run_timed") > 0
    assert clocks("shlo_run_call") == 0
