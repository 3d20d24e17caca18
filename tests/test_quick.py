"""What `make quick` runs has some of every package."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.quick


def test_every_package_is_touched() -> None:
    """A package is touched where a module of quick tests imports from it."""
    packages = {path.parent.relative_to(ROOT).parts[1] for path in ROOT.glob("shlo_disc/*/__init__.py")}
    quick = [path for path in ROOT.glob("tests/**/test_*.py") if "pytest.mark.quick" in path.read_text()]
    imported = {name for path in quick for name in _packages_imported(path)}
    assert packages - imported == set()


def _packages_imported(path: Path) -> set[str]:
    """The packages of shlo_disc that a file names in its imports."""
    modules = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            modules |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = [name.split(".") for name in modules]
    return {part[1] for part in parts if part[0] == "shlo_disc" and len(part) > 1}
