"""The corpus' cases, its own runner as their judge, and lists of what a target does not support."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol
from zlib import crc32

import pytest

SOURCES = ("jax_poly", "jax_models", "jax_models_platforms", "jax_forms")
SECONDS = 120  # that one case may take, all its shapes

Case = Mapping[str, Any]


class Runner(Protocol):
    """A process that runs cases one after the other; `run_corpus.Worker`."""

    def do(self, case: Case) -> Mapping[str, str]: ...
    def stop(self) -> None: ...


def all_cases(corpus: Path) -> dict[str, Case]:
    """The cases that one process on one device can run, by name."""
    cases: list[Case] = json.loads((corpus / "manifest.json").read_text())["cases"]
    return {f"{case['source']}/{case['name']}": case for case in cases if case["runnable"]}


def dynamic_cases(corpus: Path) -> dict[str, Case]:
    """JAX's exports with symbolic shapes, by name."""
    return {name: case for name, case in all_cases(corpus).items() if case["source"] in SOURCES and case["dynamic"]}


def parametrize(metafunc: pytest.Metafunc, cases_of: Callable[[Path], Mapping[str, Case]], every: int = 1) -> None:
    """One test per case; one that is skipped where there is no corpus. All but one in `every` are slow."""
    if "case" not in metafunc.fixturenames:
        return
    folder: object = metafunc.config.getoption("--corpus")
    assert isinstance(folder, Path), "--corpus is parsed as a path"
    present = (folder / "manifest.json").is_file()
    absent: dict[str, Case] = {"no corpus": {}}
    cases = cases_of(folder) if present else absent
    few = {name for name in cases if crc32(name.encode()) % every == 0}  # the same ones however many there are
    marks = {name: () if name in few else (pytest.mark.slow,) for name in cases}
    metafunc.parametrize("case", [pytest.param(case, id=name, marks=marks[name]) for name, case in cases.items()])


@contextmanager
def judge(corpus: Path, adapter: Path) -> Generator[Runner]:
    """The corpus' runner in a process of its own: a crash is one case's outcome."""
    spec = importlib.util.spec_from_file_location("run_corpus", corpus / "run_corpus.py")
    assert spec, "the runner is a Python file"
    assert spec.loader, "the runner is a Python file"
    run_corpus = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run_corpus)
    worker: Runner = run_corpus.Worker(
        SimpleNamespace(
            python=sys.executable,
            adapter=str(adapter),
            root=str(corpus),
            variants="all",
            form="run",
            recycle=len(SOURCES) * 1000,
            timeout=SECONDS,
        )
    )
    try:
        yield worker
    finally:
        worker.stop()


def listed(path: Path) -> dict[str, str]:
    """What a file lists as unsupported, with the reason."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: why for name, _, why in (line.partition(": ") for line in lines)}


def check(case: Case, runner: Runner, path: Path, *, update: bool, known: str | None = None) -> None:
    """Run a case: it must be right, or unsupported and on the list; `update` puts it there or takes it off.

    A case whose outcome is `known` ("near", "fail", "error") has to have that one, until it is mended.
    """
    name = f"{case['source']}/{case['name']}"
    outcome = runner.do(case)
    status, detail = outcome["status"], outcome["detail"]
    ambiguous = status == "near" and any("ambiguous" in check for check in case["checks"])
    if known is not None:
        assert status == known, f"{status}, but {known} is what is known ({detail})"
        return
    assert status in ("pass", "unsupported") or ambiguous, f"{status}: {detail}"
    if update:
        _relist(path, name, _reason(detail) if status == "unsupported" else None)
        return
    assert (status == "unsupported") == (name in listed(path)), (
        f"{status}, but {path.name} says otherwise: --update-golden ({detail})"
    )


def _relist(path: Path, name: str, why: str | None) -> None:
    """Put a case on the list with its reason, or take it off; other processes do so too."""
    with path.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        found = listed(path)
        found.pop(name, None)
        if why is not None:
            found[name] = why
        file.truncate(0)
        file.write("".join(f"{n}: {found[n]}\n" for n in sorted(found)))


def _reason(detail: str) -> str:
    """Keep the message's own words: no place, no excerpt."""
    return detail.split(" | ", maxsplit=1)[0].split("error: ", 1)[-1].strip()
