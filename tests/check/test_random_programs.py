"""200 random programs, others for each `SHLO_DISC_SEED`: compiled, on the VM, interpreted and by XLA they agree."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc import parse, verify
from shlo_disc.check.generate.choices import RandomChoices
from shlo_disc.check.generate.programs import generate
from shlo_disc.check.judging import Judge
from shlo_disc.check.running import BuildConfig, InProcess, standard_ways
from shlo_disc.check.session import TOGETHER, CheckPlan, fuzz
from shlo_disc.options import CompileOptions
from tests.check.test_check import silent
from tests.conftest import SEED
from tests.verify.jaxlib_verifier import complaint

pytestmark = pytest.mark.slow

PROGRAMS = 200
JOBS = 4  # tests that they are spread over
TARGET = BuildConfig(CompileOptions(optimize=1, threads=1))


@pytest.mark.parametrize("job", range(JOBS))
def test_all_ways_agree_about_random_programs(job: int) -> None:
    """What fails is found again by `python -m shlo_disc fuzz --count 10 --seed` and the seed in the message."""
    seed = SEED * 1000 + job * 100
    judge = Judge(InProcess(standard_ways(TARGET, fast_xla=True)), ("compiled", "vm", "divided", "xla"))
    plan = CheckPlan(random=3, seed=seed, seconds=100, thresholds=True, xla_calls=1)
    report = fuzz(judge, plan, PROGRAMS // JOBS, TARGET, silent)
    assert report.finding is None, f"from seed {seed} on\n{report.finding}"
    assert report.agreed >= 2 * PROGRAMS // JOBS // TOGETHER - 2


class _Drawn:
    """Decisions of hypothesis, which shrinks them."""

    def __init__(self, data: st.DataObject) -> None:
        self._data = data

    def below(self, count: int, /) -> int:
        return self._data.draw(st.integers(0, count - 1))


@given(st.data())
@settings(max_examples=40)
def test_programs_are_stablehlo(data: st.DataObject) -> None:
    text = generate(_Drawn(data))
    verify(parse(text))
    assert "!quant" in text or complaint(text) is None  # jaxlib's verifier does not know the dialect


def test_equal_seeds_give_equal_programs() -> None:
    assert generate(RandomChoices(3), 4) == generate(RandomChoices(3), 4) != generate(RandomChoices(4), 4)
