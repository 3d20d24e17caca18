"""References and the evaluation of element rules have no function of ours in common: each is a check of the other."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType

import pytest

import shlo_disc
from shlo_disc.dynamic_ops.registry import OPS
from tests.dynamic_ops.facets import by_reference, elements
from tests.dynamic_ops.mutants import samples_of

ROOT = Path(shlo_disc.__file__).parent
EVALUATOR = ("expr.evaluate", "functions.numpy_math", "functions.special_functions", "functions.complex_math")
# What both may call, a file or a function of it, and why that hides nothing.
SHARED: Mapping[str, str] = {
    "ir/dtypes.py": "the names and widths of element types, which their spelling says, and NumPy's types for them",
    "expr/dim.py": "sizes, which are numbers here",
    "dynamic_ops/create.py::concrete_shape": "the same",
    "dynamic_ops/registry.py": "finds an op by its name",
}
Function = tuple[str, str, int]  # file, name (of one inside of another: the outer one's), and first line


def _imported(path: Path) -> set[str]:
    """The modules that a module imports from, and what it imports from packages."""
    found = set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(one.name for one in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{one.name}" for one in node.names)
    return found


def test_ops_do_not_import_the_evaluator() -> None:
    forbidden = {f"shlo_disc.{name}" for name in EVALUATOR}
    for path in (*(ROOT / "dynamic_ops").rglob("*.py"), *(ROOT / "functions/references").rglob("*.py")):
        assert not _imported(path) & forbidden, path


def test_the_evaluator_does_not_import_ops() -> None:
    for name in EVALUATOR:
        imported = _imported(ROOT / f"{name.replace('.', '/')}.py")
        others = ("shlo_disc.dynamic_ops", "shlo_disc.functions.references")
        assert not [one for one in imported if one.startswith(others)], name


def _called(run: Callable[[], object]) -> set[Function]:
    """The functions of the package that are called."""
    found = set[Function]()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)):
            name = code.co_qualname.split(".<locals>")[0]
            found.add((str(Path(code.co_filename).relative_to(ROOT)), name, code.co_firstlineno))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize("name", [name for name, one in OPS.items() if one.element is not None])
def test_an_op_is_evaluated_by_other_functions_than_its_reference(name: str) -> None:
    for sample, results in samples_of(name)[-2:]:
        by_rule = _called(lambda: [list(elements(sample, k)) for k in range(len(results))])  # noqa: B023
        shared = _called(lambda: by_reference(sample)) & by_rule  # noqa: B023
        assert not [one for one in shared if not {one[0], "::".join(one[:2])} & SHARED.keys()], sample
