"""Every fault still fits the sources: it stands where it says, once, changes the program text, and has a suite."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

import shlo_disc
from tests.mutation.fault import SUITES, Fault
from tests.mutation.faults import FAULTS

PACKAGE, ROOT = Path(shlo_disc.__file__).parent, Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_fault_fits(fault: Fault) -> None:
    text = (PACKAGE / fault.file).read_text(encoding="utf-8")
    changed = fault.applied_to(text)
    assert changed != text
    if fault.file.endswith(".py"):
        ast.parse(changed)
    assert fault.suite in SUITES


def test_names_differ_and_suites_are_there() -> None:
    assert max(Counter(fault.name for fault in FAULTS).values()) == 1
    assert len(FAULTS) >= 100
    for paths in SUITES.values():
        for path in paths:
            assert (ROOT / path).exists(), path
