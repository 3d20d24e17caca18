"""The VM shows each step and each buffer, and computes what the host program computes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shlo_disc.artifact import Launch, Slot, Step
from shlo_disc.diagnostics import InternalError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.bounds import bounds
from shlo_disc.runtime.checks import broken, holds, verify
from shlo_disc.runtime.executable import build
from shlo_disc.runtime.formulas import FormulaSet, Symbols, evaluate
from tests.runtime.sample import LOOP, SAMPLE

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
    ("formula", "value"),
    [
        ("n", 7),
        (" 2*n - 1 ", 13),
        ("floordiv(n, 2) + mod(n, 2)", 4),
        ("floordiv(-n, 2)", -4),
        ("mod(-n, 4)", 1),
        ("max(min(n, m), 0)", 0),
        ("floordiv(n + 1, 4)", 2),
    ],
)
def test_formulas(formula: str, value: int) -> None:
    assert evaluate(formula, {"n": 7, "m": -3}) == value


NO_ARITHMETIC = (
    "__import__('os').system('true')|n.bit_length()|(lambda: 1)()|[n for n in (1,)][0]|n if n else m|n ** n|n // 2|"
    "n / 2|1.5|True|'a'|n @ m|min(*n)|min(n, key=m)|min|print(n)|floordiv|__builtins__|n < m|~n|n << 90|"
    "(n := 1)|f'{n}'|n, m|n)+(m|\0|\ud800|await n|min.__self__|"
)
HOSTILE = [*NO_ARITHMETIC.split("|"), f"{'(' * 5000}n{')' * 5000}", f"{'-' * 100_000}n", "+".join(["n"] * 20_000)]


@pytest.mark.parametrize("formula", HOSTILE, ids=lambda text: text[:20])
def test_a_formula_is_no_program(formula: str) -> None:
    """Formulas come from files: nothing but arithmetic is evaluated, in whichever way."""
    names = FormulaSet(("n", "m"))
    names.add("m")
    names.add(formula)
    for use in (
        lambda: evaluate(formula, {"n": 7, "m": 3}),
        lambda: names.evaluate((7, 3)),
        lambda: bounds(formula, {}),
    ):
        with pytest.raises(InternalError, match="size formula"):
            use()


def test_definitions_are_computed_when_asked_for() -> None:
    artifact = replace(SAMPLE, symbols=("b", "s", "w", "n", "q"), definitions=("b * s", "floordiv(n, w)"))
    symbols = Symbols(artifact, (2, 6, 0))
    assert symbols["n"] == 12
    assert symbols["q"] == 0  # by a size of 0, as in generated code
    with pytest.raises(KeyError):
        symbols["unknown"]


def test_a_failed_check_shows_what_can_be_computed() -> None:
    check = replace(SAMPLE.checks[0], lhs="w", relation=">=", rhs="1", values=("w", "unknown + 1"))
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
