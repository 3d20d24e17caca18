"""The corpus' dynamic JAX exports on the emulator: every case that the CPU target supports is right here too.

`unsupported.txt` lists those that the CUDA target refuses: it may only get shorter. See tests/corpus.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.corpus.judged import Case, Runner, check, judge, listed, parametrize
from tests.corpus.test_dynamic_cases import LIST as ON_CPU

HERE = Path(__file__).resolve().parent
LIST = HERE / "unsupported.txt"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    on_cpu = listed(ON_CPU)
    parametrize(metafunc, wanted=lambda name: name not in on_cpu)


@pytest.fixture(scope="session")
def runner(corpus: Path) -> Generator[Runner]:
    with judge(corpus, HERE / "adapter.py") as worker:
        yield worker


def test_dynamic_case(case: Case, runner: Runner, request: pytest.FixtureRequest) -> None:
    check(case, runner, LIST, update=bool(request.config.getoption("--update-golden")))


def test_both_targets_support_the_same_cases() -> None:
    assert not listed(LIST), "what the CPU target can do, the CUDA target can do too"
