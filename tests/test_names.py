"""A class name stands for one thing in the whole package, and tests patch few private names."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import shlo_disc
from shlo_disc.dynamic_ops import elementwise

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
    """What an op is, its record says (`dynamic_ops`), and where it comes from, its rule (`legalize`)."""
    homes = ("dynamic_ops", "legalize")
    modules = [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in homes]
    quoted = [name for path in modules for name in re.findall(r"\"d_[a-z_]+\"", path.read_text())]
    assert not quoted


def test_the_compiler_asks_records_for_the_names_of_elementwise_ops() -> None:
    """Elsewhere such a word may be one of a text, of an interface, or a key of a table of measurements (`check`)."""
    folders = ("analysis", "emit", "fusion", "host", "kernels", "lower_cpu", "lower_cuda", "passes")
    names = {one.name for one in elementwise.OPS}
    found = defaultdict[str, set[str]](set)
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
                found[str(path.relative_to(ROOT))].add(node.value)
    assert found == {"kernels/softmax.py": {"exponential"}}  # there it is a name of an argument
