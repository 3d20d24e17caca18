"""The corpus' dynamic JAX exports: every case is right, or raises UnsupportedOpError and is listed.

`unsupported.txt` lists the latter, so that losing a case and gaining one both show in a review;
`--update-golden` rewrites the lines of the cases that were run. The corpus' own runner judges,
in a process of its own: a crash is one case's outcome.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import sys
from collections.abc import Generator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import pytest

SOURCES = ("jax_poly", "jax_models", "jax_models_platforms", "jax_forms")
HERE = Path(__file__).resolve().parent
LIST = HERE / "unsupported.txt"
SHARE = 0.8  # of the cases that must be right
SECONDS = 120  # that one case may take, all its shapes

Case = Mapping[str, Any]


class Runner(Protocol):
    """A process that runs cases one after the other; `run_corpus.Worker`."""

    def do(self, case: Case) -> Mapping[str, str]: ...
    def stop(self) -> None: ...


def _dynamic_cases(corpus: Path) -> dict[str, Case]:
    cases: list[Case] = json.loads((corpus / "manifest.json").read_text())["cases"]
    return {f"{case['source']}/{case['name']}": case for case in cases if case["source"] in SOURCES and case["dynamic"]}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "case" not in metafunc.fixturenames:
        return
    folder: object = metafunc.config.getoption("--corpus")
    assert isinstance(folder, Path), "--corpus is parsed as a path"
    present = (folder / "manifest.json").is_file()
    absent: dict[str, Case] = {"no corpus": {}}
    cases = _dynamic_cases(folder) if present else absent
    metafunc.parametrize("case", cases.values(), ids=cases.keys())


@pytest.fixture(scope="session")
def runner(corpus: Path) -> Generator[Runner]:
    spec = importlib.util.spec_from_file_location("run_corpus", corpus / "run_corpus.py")
    assert spec, "the runner is a Python file"
    assert spec.loader, "the runner is a Python file"
    run_corpus = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run_corpus)
    worker: Runner = run_corpus.Worker(
        SimpleNamespace(
            python=sys.executable,
            adapter=str(HERE / "adapter.py"),
            root=str(corpus),
            variants="all",
            form="run",
            recycle=len(SOURCES) * 1000,
            timeout=SECONDS,
        )
    )
    yield worker
    worker.stop()


def _listed() -> dict[str, str]:
    """What is listed as unsupported, with the reason."""
    lines = LIST.read_text().splitlines() if LIST.exists() else []
    return {name: why for name, _, why in (line.partition(": ") for line in lines)}


def _relist(name: str, why: str | None) -> None:
    """Put a case on the list with its reason, or take it off; other processes do so too."""
    with (HERE / "unsupported.txt").open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        listed = _listed()
        listed.pop(name, None)
        if why is not None:
            listed[name] = why
        file.truncate(0)
        file.write("".join(f"{n}: {listed[n]}\n" for n in sorted(listed)))


def _reason(detail: str) -> str:
    """Keep the message's own words: no place, no excerpt."""
    return detail.split(" | ", maxsplit=1)[0].split("error: ", 1)[-1].strip()


def test_dynamic_case(case: Case, runner: Runner, request: pytest.FixtureRequest) -> None:
    name = f"{case['source']}/{case['name']}"
    outcome = runner.do(case)
    status, detail = outcome["status"], outcome["detail"]
    ambiguous = any("ambiguous" in check for check in case["checks"])
    assert status in ("pass", "near", "unsupported"), f"{status}: {detail}"
    assert status != "near" or ambiguous, detail
    if request.config.getoption("--update-golden"):
        _relist(name, _reason(detail) if status == "unsupported" else None)
        return
    assert (status == "unsupported") == (name in _listed()), (
        f"{status}, but unsupported.txt says otherwise: --update-golden ({detail})"
    )


def test_enough_cases_are_supported(corpus: Path) -> None:
    cases = _dynamic_cases(corpus)
    assert set(_listed()) <= set(cases)
    assert len(_listed()) <= (1 - SHARE) * len(cases)
