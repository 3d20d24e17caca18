"""How much a judge asks for before it says that ways agree or differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np
import pytest

from shlo_disc.check.case import Array, CheckedCall
from shlo_disc.check.judging import Judge
from shlo_disc.check.names import REFERENCE
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
