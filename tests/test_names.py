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


def test_no_op_name_stands_in_quotes_outside_its_record() -> None:
    """What an op is, its record says (`dynamic_ops`), and where it comes from, its rule (`legalize`).

    Names without `d_`, of functions, are not counted.
    """
    homes = ("dynamic_ops", "legalize", "parse", "verify")
    modules = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in homes]
    quoted = [name for path in modules for name in re.findall(r"\"d_[a-z_]+\"", path.read_text())]
    assert not quoted
