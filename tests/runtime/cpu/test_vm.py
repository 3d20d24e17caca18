"""The VM shows each step and each buffer, and computes what the host program computes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.diagnostics import InternalError
from shlo_disc.host_ir import Launch, Slot, Step
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.checks import broken, holds, verify
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.symbols import Symbols
from shlo_disc.size_expr import SizeFn, SizeOp, evaluate
from tests.runtime.sample import LOOP, SAMPLE
from tests.size_text import parsed

pytestmark = pytest.mark.quick

Buffers = Mapping[Slot, NDArray[Any]]


def test_an_observer_sees_each_step_and_buffer(options: CompileOptions) -> None:
    run = build(SAMPLE, options)
    x, weight = np.full((2, 3), 3, np.float32), np.ones(3, np.float32)
    seen: list[tuple[str, list[float]]] = []

    def observe(step: Step, buffers: Buffers) -> None:
        assert len(buffers) == len(SAMPLE.buffers)
        assert [buffers[slot].shape for slot in buffers] == [
            (2, 3),
            (3,),
            (2,),
            (2, 3),
            (2, 3),
            (2,),
        ]
        slot = step.buffers[-1] if isinstance(step, Launch) else 4
        seen.append((type(step).__name__, buffers[slot].reshape(-1).tolist()))

    found = run.trace((x, weight), observe)
    assert seen == [("Launch", [9.0] * 6), ("Copy", [9.0] * 6), ("Launch", [27.5, 26.0])]
    for got, wanted in zip(found, run((x, weight)), strict=True):
        np.testing.assert_array_equal(got, wanted)


def test_an_observer_follows_a_loop(options: CompileOptions) -> None:
    steps: list[int] = []

    def observe(step: Step, buffers: Buffers) -> None:
        if isinstance(step, Launch) and step.kernel == "multiply":
            steps.append(int(buffers[3]))

    build(LOOP, options).trace((np.ones(5, np.float32), 4, 0), observe)
    assert steps == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("n", 7),
        ("2*n - 1", 13),
        ("n // 2 + n % 2", 4),
        ("-n // 2", -4),
        ("-n % 4", 1),
        ("n // (m + 3) + n % (m + 3)", 0),
        ("max(min(n, m), 0)", 0),
        ("(n + 1) // 4", 2),
    ],
)
def test_sizes_are_evaluated(text: str, value: int) -> None:
    assert evaluate(parsed(text), {"n": 7, "m": -3}) == value


@pytest.mark.parametrize(("fn", "count"), [("//", 1), ("//", 3), ("%", 1), ("%", 3), ("+", 0), ("max", 0)])
def test_a_function_of_sizes_has_its_operands(fn: SizeFn, count: int) -> None:
    with pytest.raises(ValueError, match=re.escape(f"found {count} operands of '{fn}'")):
        SizeOp(fn, ("n",) * count)


def test_definitions_are_computed_when_asked_for() -> None:
    artifact = replace(SAMPLE, symbols=("b", "s", "w", "n", "q"), definitions=(parsed("b * s"), parsed("n // w")))
    symbols = Symbols(artifact, (2, 6, 0))
    assert symbols["n"] == 12
    assert symbols["q"] == 0  # by a size of 0, as in generated code
    with pytest.raises(KeyError):
        symbols["unknown"]


def test_a_failed_check_shows_what_can_be_computed() -> None:
    check = replace(SAMPLE.checks[0], lhs="w", relation=">=", rhs=1, values=("w", parsed("unknown + 1")))
    assert str(broken(SAMPLE, check, {"s": 6, "w": 0})) == (
        "args[1], dim 0: found 0, expected s = ?\n"
        "  found w = 0, expected >= 1\n"
        "  where w is args[1], dim 0\n"
        "  demanded at m.mlir:3:5"
    )


def test_checks_are_made_in_order() -> None:
    verify(SAMPLE, Symbols(SAMPLE, (1, 2, 2)))
    with pytest.raises(InternalError, match="relation '~' in a check"):
        holds(replace(SAMPLE.checks[0], relation="~"), {"w": 1, "s": 1})
