"""How much a judge asks for before it says that ways agree or differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from shlo_disc.check.case import Array, CheckedCall
from shlo_disc.check.judging import Judge
from shlo_disc.check.names import OPTIMIZED_XLA, REFERENCE
from shlo_disc.check.running import Outcome
from shlo_disc.parse.parser import parse_module

pytestmark = pytest.mark.quick

PROGRAM = "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n  return %x : tensor<2xf32>\n}"


@dataclass
class Differing:
    """Ways of which all but the reference give 0 for a subnormal number; legal runs are counted."""

    known: str
    numbers: list[int] = field(default_factory=list[int])

    def run(self, way: str, *_: object, **__: object) -> Outcome:
        return (np.array([1, 1e-40 if way == REFERENCE else 0], np.float32),)

    def samples(self, *call: object, **_: object) -> Sequence[Array]:
        numbers = cast("range", call[-1])
        self.numbers += numbers
        return [np.array([1, 1e-40], np.float32) for _ in numbers]

    def deviation(self, *_: object, **__: object) -> str:
        return self.known


@pytest.mark.parametrize(("known", "kind", "runs"), [("known", "agree", 8), ("", "fail", 512)])
def test_a_known_deviation_is_asked_for_before_many_legal_runs(known: str, kind: str, runs: int) -> None:
    """512 runs of a long fold take minutes, and are only needed where nothing else explains a difference."""
    ways = Differing(known)
    verdict = Judge(ways, ("xla",)).verdict(CheckedCall(parse_module(PROGRAM), (np.zeros(2, np.float32),)))
    assert verdict.kind == kind
    assert max(ways.numbers) + 1 == runs


@dataclass
class Slow:
    """Ways that differ from the reference, by as much as legal runs do or by more; all clocks are this one's."""

    wrong: float  # what `compiled` gives instead of 1
    seconds: float  # of one legal run
    last: dict[str, float] = field(default_factory=dict[str, float])  # what other ways give
    now: float = 0.0
    runs: int = 0

    def run(self, way: str, *_: object, **__: object) -> Outcome:
        if way == REFERENCE:
            return (np.array([1, 1], np.float32),)
        return (np.array([1, self.last.get(way, self.wrong)], np.float32),)

    def samples(self, *call: object, **_: object) -> Sequence[Array]:
        numbers = cast("range", call[-1])
        self.now += self.seconds * len(numbers)
        self.runs = max(self.runs, numbers.stop)
        return [np.array([1, 1], np.float32) for _ in numbers]

    def deviation(self, *_: object, **__: object) -> str:
        return ""


@pytest.mark.parametrize(
    ("seconds", "kind", "runs"),
    [(0.001, "fail", 512), (0.13, "fail", 128), (1.0, "nothing", 8), (40.0, "nothing", 2)],
)
def test_a_difference_is_reported_if_there_is_time_for_enough_legal_runs(seconds: float, kind: str, runs: int) -> None:
    """A call whose legal runs took a second each went on for minutes, until the patience of a campaign ended."""
    ways = Slow(2.0, seconds)
    judge = Judge(ways, ("compiled",), seconds=20.0, clock=lambda: ways.now)
    verdict = judge.verdict(CheckedCall(parse_module(PROGRAM), (np.zeros(2, np.float32),)))
    assert (verdict.kind, ways.runs) == (kind, runs)
    assert ways.now <= max(20.0, 2 * seconds)
    if kind == "nothing":
        assert f"compiled: what rounding explains is not known: result 0 still differs after {runs} legal runs" in str(
            verdict.notes
        )


def test_other_ways_are_compared_where_one_is_not_judged() -> None:
    ways = Slow(2.0, 1.0, {"divided": 2.5})
    judge = Judge(ways, ("compiled", "divided"), seconds=20.0, clock=lambda: ways.now)
    failure = judge.verdict(CheckedCall(parse_module(PROGRAM), (np.zeros(2, np.float32),))).failure
    assert failure is not None
    assert (failure.way, failure.against) == ("divided", "compiled")


@dataclass
class BadlyOptimized(Differing):
    """Ways of which XLA gives the reference's results if it optimizes."""

    def run(self, way: str, *_: object, **__: object) -> Outcome:
        return super().run(REFERENCE if way == OPTIMIZED_XLA else way)


@pytest.mark.parametrize(("way", "kind"), [("xla", "agree"), ("compiled", "fail")])
def test_what_xla_computes_with_little_optimization_alone_is_no_finding(way: str, kind: str) -> None:
    case = CheckedCall(parse_module(PROGRAM), (np.zeros(2, np.float32),))
    assert Judge(BadlyOptimized(""), (way,)).verdict(case).kind == kind
