"""Changed programs are refused or run; what is neither is seen: foreign exceptions, deaths, programs without end."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.hostile.changes import CHANGES, mutants
from tests.hostile.net import net
from tests.hostile.run import main
from tests.parse.samples import GENERIC, PRETTY, program
from tests.parse.test_fuzz import small_programs

pytestmark = pytest.mark.slow

PROGRAM = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}\n"
MANY = "func.func @main(%a: tensor<999999xf32>) -> tensor<999999xf32> {\n  return %a : tensor<999999xf32>\n}\n"
MUTANTS, SECONDS = 40, 20.0

COMPILE = "import os, shlo_disc\nfrom shlo_disc.compiled import Compiled\n"
FAULTS = {
    "an exception in a compilation": ("shlo_disc.compile = lambda *a, **k: {}['no']", "foreign", "KeyError"),
    "a bug of ours": (
        "def no(*a, **k): raise shlo_disc.InternalError('no')\nshlo_disc.compile = no",
        "foreign",
        "InternalError",
    ),
    "an exception in a call": ("Compiled.__call__ = lambda *a: [].pop()", "foreign", "IndexError"),
    "a death in a compilation": (
        "shlo_disc.compile = lambda *a, **k: os.abort()",
        "died",
        "SIGABRT in the compilation",
    ),
    "a death in a call": ("Compiled.__call__ = lambda *a: os.kill(os.getpid(), 11)", "died", "SIGSEGV in the calls"),
    "a call without end": (
        "def loop(*a):\n    while True: pass\nCompiled.__call__ = loop",
        "hung",
        "1 s of processor time in the calls",
    ),
    "a call that waits": ("import time\nCompiled.__call__ = lambda *a: time.sleep(99)", "hung", "s of the calls"),
    "memory beyond the limit": ("Compiled.__call__ = lambda *a: bytearray(1 << 33)", "refused", "MemoryError"),
    "results": ("pass", "ran", ""),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_the_net_sees(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare, kind, message = FAULTS[fault]
    monkeypatch.setattr("tests.hostile.net.START", 20.0)
    with net(1.0 if kind == "hung" else SECONDS, prepare=COMPILE + prepare) as one:
        outcome = one.attempt(PROGRAM, 0)
        assert outcome.kind == kind
        assert message in outcome.message
        if kind in ("died", "foreign"):
            assert one.attempt(PROGRAM, 0).kind == kind  # and it goes on
            assert one.starts == (2 if kind == "died" else 1)


def test_much_work_is_no_finding() -> None:
    prepare = COMPILE + "def loop(*a):\n    while True: pass\nCompiled.__call__ = loop"
    with net(1.0, prepare=prepare) as one:
        assert one.attempt(MANY, 0).kind == "long"


def test_changed_programs_are_refused_or_run(corpus: Path) -> None:
    programs = [*small_programs(corpus), *map(program, (*PRETTY, *GENERIC))]
    made, kinds = mutants(Random(2), programs), Counter[str]()
    with net(SECONDS) as one:
        for number in range(MUTANTS):
            text = next(made)
            outcome = one.attempt(text, number)
            assert not outcome.is_finding, f"{outcome} of the mutant {text!r}"
            kinds[outcome.kind] += 1
        assert one.starts == 1 + kinds["long"]
    assert kinds["refused"] >= 5
    assert kinds["ran"] >= 3


def test_every_change_changes_something() -> None:
    rng, texts = Random(1), [program(sample) for sample in (*PRETTY, *GENERIC)]
    for change in CHANGES:
        assert any(change(rng, text) != text for text in texts), change.__name__


def test_findings_are_written_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tests.hostile.net.COMMAND", f"{COMPILE}import os; os.abort()")
    nowhere = ["--corpus", str(tmp_path / "none"), "--out", str(tmp_path / "out")]
    assert main(["--count", "2", "--seed", "5", *nowhere]) == 1
    said = capsys.readouterr().out
    assert said.startswith("seed 5\n")
    assert "2 mutants: 0 refused, 0 ran, 0 too long a task, 2 findings" in said
    assert "--again" in (tmp_path / "out" / "5.1.txt").read_text()
    assert main(["--again", str(tmp_path / "out" / "5.1.mlir"), "--seed", "5.1"]) == 1
