# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false
"""`check` on the command line: its exit codes, what it prints and leaves behind."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest
from jax import export

from shlo_disc.check import campaign, worker
from shlo_disc.check.running import BuildConfig, InProcess, Prepare, Run, standard_ways
from shlo_disc.check.worker import Worker
from shlo_disc.cli import check as command
from shlo_disc.cli.main import main
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module
from shlo_disc.runtime.cuda import backend
from tests.emulator.device import EmulatedDevice

TEXT = """\
func.func @main(%x: tensor<?x4xbf16>, %y: tensor<?x4xbf16>) -> tensor<?x4xbf16> {
  %0 = stablehlo.multiply %x, %x : tensor<?x4xbf16>
  %1 = stablehlo.subtract %0, %y : tensor<?x4xbf16>
  return %1 : tensor<?x4xbf16>
}
"""
FAST = ("--optimize", "0", "--against", "compiled,vm")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    return path


def test_agreement(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(file), "--shapes", "s0=0,3", *FAST]) == 0
    assert capsys.readouterr().out == "8 calls agree (compiled, vm, interpreter)\n"


def test_a_serialized_export(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (size,) = export.symbolic_shape("b")
    exported = export.export(jax.jit(lambda x: x + 1))(jax.ShapeDtypeStruct((size,), np.float32))
    path = tmp_path / "model.bin"
    path.write_bytes(exported.serialize())
    assert main(["check", str(path), "--shapes", "b=3", "--numbers", "normal", *FAST]) == 0
    assert capsys.readouterr().out.startswith("1 call agrees (")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shapes", "t=3"), "found the size 't', expected sizes of the program: s0, s1"),
        (("--shapes", "s0"), "expected sizes such as b=0,1,2;s=5, found 's0'"),
        (("--shapes", "s0=1;s1=2"), "found no combination of these sizes that the program takes"),
        (("--against", "interpreter"), "expected something in --against"),
        (("--against", "gpu"), "found 'gpu' in --against"),
        (("--numbers", "odd"), "found 'odd' in --numbers"),
        (("--inputs", "nothing.npz"), "expected arrays in NumPy's .npz format"),
    ],
)
def test_bad_input(file: Path, arguments: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(file), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_another_compiler(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used, script = tmp_path / "used", tmp_path / "c++"
    script.write_text(f'#!/bin/sh\n: > {used}\nexec g++ "$@"\n')
    script.chmod(0o755)
    assert main(["check", str(file), "--random", "1", *FAST, "--compiler", str(script)]) == 0
    assert used.exists()
    assert main(["check", str(file), "--random", "1", *FAST, "--compiler", str(tmp_path / "none")]) == 1
    printed = capsys.readouterr().out
    assert f"--compiler {tmp_path / 'none'}" in printed, "the command that shows the failure names it"


def _broken(target: BuildConfig) -> dict[str, Prepare]:
    """Ways of which one is wrong about multiplications, and one dies of them."""

    def compiled(module: Module) -> Run:
        wrong = bool(module.find("stablehlo.multiply"))
        run = standard_ways(target)["interpreter"](module)
        return lambda inputs: [-x if wrong else x for x in run(inputs)]

    return {**standard_ways(target), "compiled": compiled}


class _Here:
    """In the place of the worker: runs in this process, where tests can break things."""

    def __init__(self, target: BuildConfig, _seconds: float) -> None:
        self._ways = InProcess(_broken(target))

    def __enter__(self) -> InProcess:
        return self._ways

    def __exit__(self, *_: object) -> None:
        pass


def test_a_difference(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "Worker", _Here)
    folder = tmp_path / "out"
    arguments = ["check", str(file), "--random", "2", "--against", "compiled", "--numbers", "normal"]
    assert main([*arguments, "--out", str(folder)]) == 1
    printed = capsys.readouterr().out
    assert "compiled differs from interpreter: result 0" in printed
    assert "shrunk from 2 ops to 1" in printed
    assert f"reproduce: python -m shlo_disc check {folder / 'minimal.mlir'}" in printed
    arguments = ["check", str(folder / "minimal.mlir"), "--inputs", str(folder / "inputs.npz")]
    assert main([*arguments, "--against", "compiled", "--out", str(folder / "again")]) == 1, (
        "it is bf16 in the file too"
    )


def test_the_end_of_a_process_is_an_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "COMMAND", "import os, sys; os.kill(os.getpid(), 11)")
    with Worker(BuildConfig(CompileOptions()), seconds=60) as ways:
        outcome = ways.run("compiled", parse_module(TEXT, ""), [])
        assert "SIGSEGV" in str(outcome)
        monkeypatch.setattr(worker, "COMMAND", "import time; time.sleep(60)")
        ways.seconds = 0.1
        assert "no result after 0.1 seconds" in str(ways.run("compiled", parse_module(TEXT, ""), []))


def test_a_gpu(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An emulated one, which takes the place of the real one here and in what stands for the worker."""

    class Emulated(_Here):
        def __init__(self, target: BuildConfig, _seconds: float, *, fast_xla: bool = False) -> None:
            self._ways = InProcess(standard_ways(target, fast_xla=fast_xla))

    devices = list[EmulatedDevice]()

    def opened(_cache_dir: Path | None = None) -> EmulatedDevice:
        devices.append(EmulatedDevice())
        return devices[-1]

    for module in (command, campaign):
        monkeypatch.setattr(module, "Worker", Emulated)
    monkeypatch.setattr(backend, "open_gpu", opened)
    arguments = ("--numbers", "normal", "--device", "cuda", *FAST)
    assert main(["check", str(file), "--shapes", "s0=0,3", *arguments]) == 0
    assert main(["fuzz", "--count", "1", "--random", "1", "--device", "cuda", *FAST]) == 0
    assert len(devices) == 2 * (1 + 2), "each command looks for one, and each way has its own"
    printed = [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()]
    assert printed == ["2 calls agree", "seed 0", "1 program, 1 call, 0 findings"]


def test_no_gpu(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_cache_dir: Path | None = None) -> EmulatedDevice:
        raise ToolchainError("no GPU can be used (device='cuda')")

    monkeypatch.setattr(backend, "open_gpu", missing)
    assert main(["check", str(file), "--device", "cuda"]) == 2
    assert "no GPU can be used" in capsys.readouterr().err
