"""The corpus: every case is right, or raises UnsupportedOpError and is listed.

`unsupported.txt` lists the latter, so that losing a case and gaining one both show in a review; `--update-golden`
rewrites the lines of the cases that were run. `known.txt` holds by hand what is neither, with the outcome and why. The
corpus' own runner judges, in a process of its own: a crash is one outcome.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.corpus.judged import Case, Runner, all_cases, check, judge, listed, parametrize

HERE = Path(__file__).resolve().parent
LIST = HERE / "unsupported.txt"
KNOWN = HERE / "known.txt"
SHARE = 0.8  # of the cases that must be right


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, all_cases, every=6)


@pytest.fixture(scope="session")
def runner(corpus: Path) -> Generator[Runner]:
    with judge(corpus, HERE / "adapter.py") as worker:
        yield worker


@pytest.fixture(scope="session")
def known() -> dict[str, str]:
    """Outcomes by case."""
    return {name: line.partition(",")[0] for name, line in listed(KNOWN).items()}


def test_case(case: Case, runner: Runner, known: dict[str, str], request: pytest.FixtureRequest) -> None:
    update = bool(request.config.getoption("--update-golden"))
    check(case, runner, LIST, update=update, known=known.get(f"{case['source']}/{case['name']}"))


def test_enough_cases_are_supported(corpus: Path) -> None:
    cases, refused, known = all_cases(corpus), listed(LIST), listed(KNOWN)
    assert refused.keys() | known.keys() <= set(cases)
    assert not refused.keys() & known.keys()
    assert len(refused) + len(known) <= (1 - SHARE) * len(cases)
