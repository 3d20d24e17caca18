"""`import shlo_disc` and `--help` load next to nothing, and public names mean the same in every order of imports.

Modules are counted, in processes of their own; how long an import takes depends on the machine.
"""

from __future__ import annotations

import ast
import importlib
import json
import pickle
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import shlo_disc
from shlo_disc.check.names import KINDS
from shlo_disc.check.sampling import DISTRIBUTIONS
from shlo_disc.target_names import target_names
from shlo_disc.targets import target_named

quick = pytest.mark.quick  # the others take a process that loads the parser for each order of imports

ROOT = Path(__file__).resolve().parents[2]
HOMES: dict[str, tuple[str, str]] = vars(shlo_disc)["_HOMES"]
COMMANDS = ("print", "verify", "ops", "report", "check", "fuzz", "tune", "advise")
HEAVY = {"jax", "jaxlib", "ml_dtypes", "numpy", "scipy", "sympy"}
COMPILER = {
    "analysis", "compiled", "dynamic_ops", "emit", "expr", "fusion", "host", "jit", "kernels", "legalize", "lower_cpu",
    "lower_cuda", "passes", "pipeline", "runtime", "targets", "tuning",
}  # fmt: skip
MOST_FOR_HELP = 10  # modules of shlo_disc

TEXT = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {\\n  return %x : tensor<?xf32>\\n}\\n"
# `parse` and `verify` work, and are what their modules define; the sub-packages of the same names are modules still.
CHECK = f"""
import pickle, sys, types
import shlo_disc
shlo_disc.verify(shlo_disc.parse("{TEXT}"))
assert shlo_disc.parse is sys.modules["shlo_disc.parse.parser"].parse_module
assert shlo_disc.verify is sys.modules["shlo_disc.verify.ops"].verify
assert pickle.loads(pickle.dumps(shlo_disc.parse)) is shlo_disc.parse
assert all(isinstance(sys.modules["shlo_disc." + name], types.ModuleType) for name in ("parse", "verify"))
"""
# What happens before that.
ORDERS = {
    "nothing": "",
    "modules first": "import shlo_disc.parse.parser, shlo_disc.verify.ops",
    "sub-packages first": "import shlo_disc.parse, shlo_disc.verify",
    "functions first": "import shlo_disc\nshlo_disc.parse, shlo_disc.verify\nimport shlo_disc.parse.lexer",
    "functions imported": "from shlo_disc import parse, verify\nfrom shlo_disc.parse import lexer",
    "modules between": """
import importlib, shlo_disc
from shlo_disc.parse import lexer
module = shlo_disc.parse("func.func @main() { return }")
importlib.import_module("shlo_disc.verify.walk")
import shlo_disc.verify.ops
from shlo_disc.parse.printer import print_module
""",
    "a patched module": """
import shlo_disc
from unittest import mock
with mock.patch("shlo_disc.parse.parser.parse_module") as found:
    assert shlo_disc.parse is found
del shlo_disc.parse
""",
    "a patched function": """
import shlo_disc
from unittest import mock
with mock.patch("shlo_disc.verify") as found:
    assert shlo_disc.verify is found
    import shlo_disc.verify.ops
    assert shlo_disc.verify is found
""",
    "a sub-package imported twice": """
import sys, shlo_disc.parse.parser
del sys.modules["shlo_disc.parse"]
import shlo_disc.parse
""",
    "reloading": """
import importlib, sys, shlo_disc.parse.parser, shlo_disc.verify.ops
shlo_disc.parse, shlo_disc.verify
for name in ("shlo_disc", "shlo_disc.parse", "shlo_disc.verify", "shlo_disc"):
    importlib.reload(sys.modules[name])
""",
    "an emptied package": """
import importlib, shlo_disc.parse.parser
vars(shlo_disc).clear()  # as IPython's autoreload does
vars(shlo_disc)["__name__"] = "shlo_disc"
importlib.reload(shlo_disc)
""",
    "threads": """
import importlib, sys, threading, shlo_disc
sys.setswitchinterval(1e-6)
barrier, failed = threading.Barrier(8), []
def work(number):
    barrier.wait()
    try:
        if number % 2:
            importlib.import_module("shlo_disc." + ("parse.printer", "verify.ops", "parse", "verify.walk")[number // 2])
        assert callable(shlo_disc.parse) and callable(shlo_disc.verify)
        shlo_disc.verify(shlo_disc.parse("func.func @main() { return }"))
    except BaseException as error:
        failed.append(error)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert not failed, failed
""",
}


def modules_after(code: str) -> set[str]:
    """The names of the modules that a new process has loaded when it has run some code."""
    code = f"{code}\nimport json, sys\nsys.stderr.write(json.dumps(list(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr))


def ours(modules: Iterable[str]) -> set[str]:
    """The modules of shlo_disc, without that prefix."""
    return {name.removeprefix("shlo_disc.") for name in modules if name.startswith("shlo_disc.")}


@quick
def test_the_package_alone() -> None:
    modules = modules_after("import shlo_disc\nassert set(shlo_disc.__all__) <= set(dir(shlo_disc))")
    assert "shlo_disc" in modules
    assert not ours(modules)
    assert not modules & HEAVY


@quick
def test_help() -> None:
    """Of the whole, and of every command."""
    modules = modules_after(f"""
import runpy, sys
for arguments in ([], *([name] for name in {COMMANDS})):
    sys.argv = ["shlo_disc", *arguments, "--help"]
    try:
        runpy.run_module("shlo_disc", run_name="__main__")
    except SystemExit as end:
        assert end.code == 0, arguments
""")
    assert not modules & HEAVY
    assert not ours(modules) & COMPILER
    assert len(ours(modules)) <= MOST_FOR_HELP


@quick
def test_errors_load_nothing_else() -> None:
    names = sorted(name for name, (home, _) in HOMES.items() if home == "shlo_disc.diagnostics")
    assert {"CacheWarning", "ParseError", "ShloDiscError"} <= set(names)
    modules = modules_after(f"import shlo_disc\n[getattr(shlo_disc, name) for name in {names}]")
    assert ours(modules) == {"diagnostics", "records"}
    assert not modules & HEAVY


@quick
@pytest.mark.parametrize(
    "code", ["shlo_disc.verify(shlo_disc.parse(TEXT))", "assert main(['print', 'program.mlir']) == 0"]
)
def test_the_parser_alone(code: str, tmp_path: Path) -> None:
    (tmp_path / "program.mlir").write_text(TEXT.replace("\\n", "\n"))
    code = code.replace("TEXT", f'"{TEXT}"').replace("program.mlir", str(tmp_path / "program.mlir"))
    modules = modules_after(f"import shlo_disc\nfrom shlo_disc.cli.main import main\n{code}")
    assert "parse.parser" in ours(modules)
    assert not ours(modules) & COMPILER
    assert not modules & (HEAVY - {"numpy", "ml_dtypes"})


def test_a_program_in_the_cache_needs_no_compiler() -> None:
    shlo_disc.compile(TEXT.replace("\\n", "\n"), device="cpu")
    modules = modules_after(f"import shlo_disc\nshlo_disc.compile('{TEXT}', device='cpu')")
    assert not ours(modules) & (COMPILER - {"compiled", "pipeline", "runtime", "targets"})
    assert not {name for name in ours(modules) if name.startswith(("ir", "dialects", "verify", "parse.parser"))}
    assert not modules & (HEAVY - {"numpy", "ml_dtypes"})


@quick
def test_a_custom_call_registered_before_anything_is_loaded() -> None:
    """The names of targets are known before the targets are."""
    modules = modules_after("""
import shlo_disc
for device in ("cpu", "cuda"):
    shlo_disc.register_custom_call("f", len, device=device)
try:
    shlo_disc.register_custom_call("f", len, device="tpu")
except shlo_disc.ShloDiscError as error:
    assert "expected 'cpu' or 'cuda'" in str(error), error
""")
    assert not ours(modules) & COMPILER


@quick
def test_every_named_target_is_there() -> None:
    assert [target_named(name).name for name in target_names()] == list(target_names())


@quick
def test_every_named_kind_of_inputs_is_there() -> None:
    assert tuple(DISTRIBUTIONS) == KINDS


@pytest.mark.parametrize("home", sorted({home for home, _ in HOMES.values()}))
def test_names_load_alone(home: str) -> None:
    names = {name: attribute for name, (where, attribute) in HOMES.items() if where == home}
    modules_after(f"""
import sys, shlo_disc
for name, attribute in {names}.items():
    assert getattr(shlo_disc, name) is getattr(sys.modules["{home}"], attribute)
""")


def test_all_names_at_once() -> None:
    modules_after("from shlo_disc import *\nimport shlo_disc\nassert set(shlo_disc.__all__) <= set(globals())")


@quick
def test_the_table_and_the_imports_of_type_checkers_agree() -> None:
    tree = ast.parse(Path(shlo_disc.__file__).read_text())
    imported = {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("shlo_disc.")
        for alias in node.names
    }
    assert imported == HOMES
    assert sorted(HOMES) == sorted(shlo_disc.__all__)


@quick
def test_names_that_are_sub_packages_too() -> None:
    modules = {module.name for module in pkgutil.iter_modules(shlo_disc.__path__)}
    assert modules & set(shlo_disc.__all__) >= {"jit", "parse", "verify"}
    assert vars(type(sys.modules["shlo_disc"]))["_public"] == set(shlo_disc.__all__)


@pytest.mark.parametrize("order", ORDERS)
def test_functions_in_every_order_of_imports(order: str) -> None:
    modules_after(ORDERS[order] + CHECK)


@quick
def test_an_unknown_name() -> None:
    assert not hasattr(shlo_disc, "compil")
    with pytest.raises(AttributeError, match="module 'shlo_disc' has no attribute 'compil'") as caught:
        getattr(shlo_disc, "compil")  # noqa: B009  a type checker refuses the attribute
    assert (caught.value.name, caught.value.obj) == ("compil", shlo_disc)
    with pytest.raises(ImportError, match="cannot import name 'compil'"):
        exec("from shlo_disc import compil")  # noqa: S102  the same


@quick
def test_patching(monkeypatch: pytest.MonkeyPatch) -> None:
    before = shlo_disc.parse
    with monkeypatch.context() as patch:
        patch.setattr(shlo_disc, "parse", len)
        importlib.import_module("shlo_disc.parse")
        assert shlo_disc.parse is len
    assert shlo_disc.parse is before


@quick
def test_errors_are_pickled_by_their_public_class() -> None:
    error = pickle.loads(pickle.dumps(shlo_disc.ShloDiscError("found 1")))
    assert type(error) is shlo_disc.ShloDiscError
