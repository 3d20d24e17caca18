"""Hold files, functions and folders to their size budgets; a longer one is listed below with its reason."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 60
FOLDER_MODULES = 32  # of the package, without `__init__`
FOLDERS = ("shlo_disc", "tests", "examples", "benchmarks", "tools")

# "path" or "path::function" -> why it may be longer
EXCEPTIONS: dict[str, str] = {
    "shlo_disc/expr/dim.py": "a dim, its atoms and its arithmetic are one recursive type",
}


def oversized(path: Path, text: str) -> Iterator[tuple[str, int, int]]:
    r"""Yield (name, lines, budget) of the file and of each of its functions that is over budget.

    >>> list(oversized(Path("a.py"), "pass\n" * 401))
    [('a.py', 401, 400)]
    """
    lines = text.count("\n")
    if lines > FILE_LINES:
        yield str(path), lines, FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{path}::{node.name}", lines, FUNCTION_LINES


def main() -> int:
    """Print what is over budget without a reason, and reasons that nothing needs any more."""
    root = Path(__file__).resolve().parent.parent
    found = {
        name: (lines, budget)
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        for name, lines, budget in oversized(path.relative_to(root), path.read_text())
    }
    crowded = {
        str(folder.relative_to(root)): count
        for folder in sorted({path.parent for path in (root / "shlo_disc").rglob("*.py")})
        if (count := len(list(folder.glob("*.py"))) - 1) > FOLDER_MODULES
    }
    complaints = [f"{name}: {count} modules, budget {FOLDER_MODULES} (split it)" for name, count in crowded.items()]
    complaints += [
        f"{name}: {lines} lines, budget {budget} (split it, or give a reason in tools/size.py)"
        for name, (lines, budget) in found.items()
        if name not in EXCEPTIONS
    ]
    complaints += [
        f"{name}: listed in tools/size.py, but it is within its budget" for name in EXCEPTIONS if name not in found
    ]
    print("\n".join(complaints) or f"sizes: within budget ({len(EXCEPTIONS)} listed exceptions)")
    return bool(complaints)


if __name__ == "__main__":
    sys.exit(main())
