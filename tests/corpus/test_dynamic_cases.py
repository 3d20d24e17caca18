"""The corpus' dynamic JAX exports: every case is right, or raises UnsupportedOpError and is listed.

`unsupported.txt` lists the latter, so that losing a case and gaining one both show in a review;
`--update-golden` rewrites the lines of the cases that were run. The corpus' own runner judges,
in a process of its own: a crash is one case's outcome.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.corpus.judged import Case, Runner, check, dynamic_cases, judge, listed, parametrize

HERE = Path(__file__).resolve().parent
LIST = HERE / "unsupported.txt"
SHARE = 0.8  # of the cases that must be right


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc)


@pytest.fixture(scope="session")
def runner(corpus: Path) -> Generator[Runner]:
    with judge(corpus, HERE / "adapter.py") as worker:
        yield worker


def test_dynamic_case(case: Case, runner: Runner, request: pytest.FixtureRequest) -> None:
    check(case, runner, LIST, update=bool(request.config.getoption("--update-golden")))


def test_enough_cases_are_supported(corpus: Path) -> None:
    cases = dynamic_cases(corpus)
    assert set(listed(LIST)) <= set(cases)
    assert len(listed(LIST)) <= (1 - SHARE) * len(cases)
