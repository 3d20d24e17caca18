"""Only the modules of one target, and the table of targets, name devices, their libraries and their constants."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import shlo_disc

ROOT = Path(shlo_disc.__file__).parent
NAMES = re.compile(r"(?i:cuda|gpu|cublas|cusolver|cufft|cupy|nvrtc|nvidia|warp|rocm)|lower_cpu|runtime\.cpu|\bCpu[A-Z]")
WHOLE = frozenset({"cpu", "CPU"})  # as a whole text; a part of others, such as of names of processors
OWN = ("lower_cpu/", "lower_cuda/", "runtime/cpu/", "runtime/cuda/", "targets.py", "target_names.py")
# What names devices because what it reads does.
READERS = {
    "legalize/rules_library.py": "JAX's custom calls by their names",
    "legalize/rules_custom_calls.py": "imports the module that reads those of JAX's plugin for GPUs",
    "legalize/rules_gpu_linear_algebra.py": "JAX's custom calls by their names",
    "legalize/rules_sparse.py": "JAX's custom calls by their names",
    "runtime/dlpack.py": "DLPack's types of devices",
    "runtime/interop.py": "DLPack's types of devices, and the platforms of JAX",
    "exported.py": "JAX's platforms",
    "check/generate/jax_programs.py": "JAX's platforms",
    "check/xla.py": "JAX's platforms",
    "check/compiling.py": "builds the programs of other thread pools, for the CPU",
    "check/dividing.py": "a thread pool that cuts loops of the CPU's programs elsewhere",
    "check/thresholds.py": "reads the constants of the CPU's code generator",
    "runtime/threads.py": "a controller of Linux' control groups",
    "schedules/tables.py": "costs of the products of a CPU, by its name",
    "tuning.py": "measures this machine's CPU and nothing else",
}


def _assigns(node: ast.Assign, name: str) -> bool:
    return [target.id for target in node.targets if isinstance(target, ast.Name)] == [name]


def _texts(module: Path) -> list[tuple[int, str]]:
    """Names and texts of a module, but for docstrings, those of slots too."""
    tree, found = ast.parse(module.read_text()), list[tuple[int, str]]()
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and _assigns(node, "__slots__"):
            docs.update(map(id, node.value.values))
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.keyword(arg=str() as text):
                found.append((node.lineno, text))
            case ast.FunctionDef(name=text) | ast.ClassDef(name=text):
                found.append((node.lineno, text))
            case ast.alias(name=text):
                found.append((node.lineno, text))
            case ast.ImportFrom(module=str() as text):
                found.append((node.lineno, text))
            case ast.Constant(value=str() as text) if id(node) not in docs:
                found.append((node.lineno, text))
            case _:
                pass
    return found


def _named(module: Path) -> list[str]:
    return [f"{line}: {text}" for line, text in _texts(module) if NAMES.search(text) or text in WHOLE]


def test_only_targets_name_devices() -> None:
    modules = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}
    found = {name: _named(path) for name, path in modules.items() if not name.startswith(OWN) and name not in READERS}
    assert not {name: lines for name, lines in found.items() if lines}


def test_exemptions_are_needed() -> None:
    assert [name for name in READERS if not _named(ROOT / name)] == []
