"""Campaigns of random programs: what ends a step of the compiler, or a process, is a finding that says why."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from shlo_disc import parse
from shlo_disc.check import session, worker
from shlo_disc.check.campaign import Job, Settings
from shlo_disc.check.compiling import BuildConfig
from shlo_disc.check.running import InProcess, Stop, standard_ways
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions

TARGET = BuildConfig(CompileOptions(optimize=0, threads=1))


def test_a_process_that_ends_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    told = "print('x.h:3:7: runtime error: shift\\x1b', 'more', sep='\\n', file=sys.stderr)"
    monkeypatch.setattr(worker, "COMMAND", f"import sys; {told}; sys.exit(3)")
    with worker.Worker(TARGET, 60) as other:
        for _ in range(2):  # the second process writes after the first one
            found = other.run("compiled", parse("func.func @main() { return }"), ())
            assert isinstance(found, Stop)
            assert (found.kind, found.message) == (
                "crash",
                "the process ended with exit code 3: x.h:3:7: runtime error: shift\\x1b",
            )


def test_the_time_of_a_process_that_ended_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    computes = "import os, time\nwhile time.process_time() < 0.5: pass\nos._exit(3)"
    monkeypatch.setattr(worker, "COMMAND", computes)
    with worker.Worker(TARGET, 60) as other:
        other.run("compiled", parse("func.func @main() { return }"), ())
        assert other.processor_seconds > 0.1


def test_an_interrupted_request_has_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign whose patience ended took the answers to one program for those to the next, or waited for ever."""

    def constant(value: int) -> Module:
        return parse(
            f"""
            func.func @main() -> tensor<i32> {{
              %0 = stablehlo.constant dense<{value}> : tensor<i32>
              return %0 : tensor<i32>
            }}
            """
        )

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with worker.Worker(TARGET, 60) as other:
        with monkeypatch.context() as patch:
            patch.setattr(worker.select, "select", interrupt)
            with pytest.raises(KeyboardInterrupt):
                other.run("interpreter", constant(1), ())
        found = other.run("interpreter", constant(2), ())
        assert not isinstance(found, Stop)
        assert found[0] == 2


LOOP = """
import sys, time
from shlo_disc.check import worker

def stay(ways, request, module):
    {stays}

worker._answer = stay
worker.serve()
"""


SLEEPS = pytest.param("time.sleep(100)", False, marks=pytest.mark.slow)


@pytest.mark.parametrize(("stays", "is_busy"), [SLEEPS, ("while True: pass", True)])
def test_a_module_without_end_says_what_was_running_and_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stays: str, is_busy: bool
) -> None:
    """The log said neither which way or size it was, nor whether it computed or hung."""
    monkeypatch.setattr(worker, "COMMAND", LOOP.format(stays=stays))
    settings = Settings(7, TARGET, ways=("compiled",), out=tmp_path, patience=5.0)
    with worker.Worker(TARGET, 60) as other:
        found = Job(settings, other).examine(7, 1)
    line = found.failure
    assert "found no end after 5 seconds, expected one within minutes: call 1 of " in line
    assert "numbers), a run of interpreter for " in line
    assert "in serve (shlo_disc/check/worker.py" in line
    seconds, processor = (int(x) for x in re.findall(r"for (\d+) s, (\d+) s of processors", line)[0])
    assert is_busy or processor <= seconds / 2
    assert found.processor > 0.1  # that of the process that was stopped
    assert "in stay" in (Path(found.folder) / "report.txt").read_text()


def test_a_run_without_end_says_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "COMMAND", LOOP.format(stays="while True: pass"))
    with worker.Worker(TARGET, 5) as other:
        found = other.run("compiled", parse("func.func @main() { return }"), ())
    assert isinstance(found, Stop)
    assert found.kind == "timeout"
    assert found.message.startswith("no result after 5 seconds: a run of compiled for ")
    assert "in serve (shlo_disc/check/worker.py" in found.message


def job(folder: Path) -> Job:
    settings = Settings(7, TARGET, ways=("compiled",), out=folder)
    return Job(settings, InProcess(standard_ways(TARGET, fast_xla=True)))


def test_a_foreign_exception_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Module) -> None:
        raise IndexError("of no list")

    monkeypatch.setattr(session, "program_of", fail)
    found = job(tmp_path).examine(7, 1)
    assert "IndexError: of no list" in found.failure
    assert (found.agreed, found.refused, found.nothing) == (0, 0, 0)
    assert "func.func" in (Path(found.folder) / "program.mlir").read_text()
    assert "in fail" in (Path(found.folder) / "report.txt").read_text()


def test_a_program_that_compiles_for_ever_is_a_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only other processes had a limit: a module whose legalization did not end was missing in the log."""

    def go_on(_: Module) -> None:
        while True:
            pass

    monkeypatch.setattr(session, "program_of", go_on)
    endless = job(tmp_path)
    found = replace(endless, settings=replace(endless.settings, patience=0.5)).examine(7, 1)
    assert "found no end after 0.5 seconds" in found.failure
    assert "in go_on" in (Path(found.folder) / "report.txt").read_text()


def test_what_the_machine_refuses_ends_the_campaign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Module) -> None:
        raise OSError("no room")

    monkeypatch.setattr(session, "program_of", fail)
    with pytest.raises(ToolchainError):
        job(tmp_path).examine(7, 1)
