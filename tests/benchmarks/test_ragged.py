"""The parts of the ragged benchmark that have an answer of their own."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import ragged
from benchmarks.ragged import Result
from shlo_disc.profiling.profile import MemberProfile, Profile, Seconds, StepProfile


def _step(seconds: float, lines: tuple[str, ...], members: tuple[MemberProfile, ...] = ()) -> StepProfile:
    times = Seconds(seconds, seconds)
    return StepProfile("", 0, "kernel", "k", (0,), lines, 1, times, 0, 0, 0, "f32", 1, members=members)


def test_lengths_are_drawn_from_a_histogram() -> None:
    drawn = ragged.drawn_lengths({"7": 1, "9": 3}, 4000)
    assert drawn.dtype == np.int32
    assert set(drawn.tolist()) == {7, 9}
    assert 0.7 < (drawn == 9).mean() < 0.8


def test_sizes_and_rounds() -> None:
    assert [ragged.power_of_two(size) for size in (1, 2, 3, 128, 129)] == [1, 2, 4, 128, 256]
    assert [ragged.rounds_within(6, one) for one in (0.001, 1.5, 60)] == [9, 4, 3]


def test_reached_is_the_speed_over_the_ratio_of_flops() -> None:
    seconds = {"padded": 3.0, "ragged": 2.0}
    one = Result("encoder", "m", 1, 2, "CoLA", 9, 12, needed=100, padded_flops=200, seconds=seconds, compilation={},
                 prelude=0.0, error=0.0)  # fmt: skip
    assert (one.flop_ratio, one.reached) == (2.0, 0.75)


def test_the_prelude_is_of_no_line_of_the_model() -> None:
    group = MemberProfile("places", 0, ("line 3",), 1.0), MemberProfile("dot", 1, ("m.py:4",), 3.0)
    steps = _step(0.5, ("line 3",)), _step(2.0, ("line 3", "m.py:4")), _step(8.0, ("m.py:4",), group)
    profile = Profile("p", "cpu", "", 1, 1, {}, steps, Seconds(11.0, 11.0), (), None)
    assert ragged.prelude_of(profile) == pytest.approx(0.5 + 8.0 / 4)


def test_unknown_cases_and_sets_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for option, value in (("--cases", "decoder"), ("--sets", "MNLI,IMDB")):
        monkeypatch.setattr("sys.argv", ["ragged", option, value])
        with pytest.raises(SystemExit, match="expected some of"):
            ragged.main()
