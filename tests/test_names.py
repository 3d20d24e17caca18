"""A class name stands for one thing in the whole package, and tests patch few private names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import shlo_disc

ROOT = Path(shlo_disc.__file__).parent
MOST_PATCHED = 20
# An op of StableHLO keeps its text exactly, one of DHLO has typed attributes and dims in its shapes; see
# docs/explanation/architecture.md. Modules that use both import `ir.core` as `ir`.
SHARED = {"Op": {"ir/core.py", "dynamic_ops/program.py"}}


def test_no_class_name_stands_for_two_things() -> None:
    homes = defaultdict[str, set[str]](set)
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                homes[node.name].add(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == SHARED


def test_few_private_names_are_patched_in_tests() -> None:
    """What tests set is public, or comes in by an argument."""
    tests = Path(__file__).parent.rglob("*.py")
    patched = [found for path in tests for found in re.findall(r"setattr\(\w+, \"(_[a-zA-Z]\w*)\"", path.read_text())]
    assert len(patched) <= MOST_PATCHED, patched
