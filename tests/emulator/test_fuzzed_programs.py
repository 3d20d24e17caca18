"""Random programs, others for each `SHLO_DISC_SEED`: on the emulator they are what the interpreter says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from shlo_disc.check.judging import Judge
from shlo_disc.check.running import Array, BuildConfig, InProcess, Run, standard_ways
from shlo_disc.check.session import CheckPlan, fuzz
from shlo_disc.ir.core import Module
from shlo_disc.options import CompileOptions
from tests.check.test_check import silent
from tests.conftest import SEED
from tests.emulator.device import EmulatedDevice
from tests.emulator.run import compiled

PROGRAMS = 10
TARGET = BuildConfig(CompileOptions(optimize=0))


@pytest.mark.parametrize("variant", [None, pytest.param(1, marks=pytest.mark.slow)])
def test_random_programs(variant: int | None) -> None:
    def emulated(module: Module) -> Run:
        run = compiled(module, EmulatedDevice(), variant=variant)

        def call(inputs: Sequence[Array]) -> list[Array]:
            return [np.asarray(result) for result in run.executable(inputs)]

        return call

    seed = SEED * 1000 + (variant or 0)
    judge = Judge(InProcess({**standard_ways(TARGET), "emulated": emulated}), ("emulated",))
    report = fuzz(judge, CheckPlan(random=2, seed=seed, seconds=60, largest=9), PROGRAMS, TARGET, silent)
    assert report.finding is None, f"seed {seed}\n{report.finding}"
