"""The wheel, installed where there is nothing else: what it compiles, and what it needs."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import shlex
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

import shlo_disc
from shlo_disc.runtime.building.machines import MACHINES, PREBUILT, best_machine, equivalent, native
from shlo_disc.runtime.building.toolchain import find_compiler
from tools.build_wheel import build_wheel, check_symbols, tag_of

pytestmark = pytest.mark.slow

MOST = 25 << 20  # bytes
PIP = ("-m", "pip", "--quiet", "--disable-pip-version-check")
PROGRAM = """
func.func @main(%x: tensor<?x16xf32>, %w: tensor<16x8xf32>) -> tensor<?x8xf32> {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<?x16xf32>, tensor<16x8xf32>) -> tensor<?x8xf32>
  %z = stablehlo.tanh %y : tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}
"""
# `run` is the program; it is called, and no package is there that it does not need.
CALL = """
x, w = (np.random.default_rng(1).standard_normal(shape, np.float32) for shape in ((50, 16), (16, 8)))
(y,) = run(x, w)
np.testing.assert_allclose(y, np.tanh(x @ w), rtol=1e-5, atol=1e-6)
assert not {"jax", "scipy", "sympy"} & set(sys.modules), "they are not used"
"""
COMPILER = """#!/bin/sh
echo "$@" >> "{log}"
exec "{real}" "$@"
"""


@dataclass(frozen=True, slots=True)
class Installed:
    """A wheel, and the Python of an environment that has it, NumPy."""

    wheel: Path
    python: Path

    def run(self, code: str, folder: Path, path: str, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python code in a folder that is its home, with nothing of this environment but `path`."""
        environment = {"PATH": path, "HOME": str(folder), "XDG_CACHE_HOME": str(folder / "cache"), **variables}
        command = [str(self.python), "-W", "error", "-c", code]
        return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    machine = equivalent(native())
    if find_spec("ziglang") is None or machine is None:
        pytest.skip("needs ziglang, and a CPU that wheels bring objects for")
    folder = tmp_path_factory.mktemp("wheel")
    python = folder / "environment" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    reach = [*PIP, "install", "--no-deps", "numpy"]
    reached = subprocess.run([python, *reach], capture_output=True, text=True, check=False)
    if reached.returncode:
        pytest.skip(f"PyPI cannot be reached: {reached.stderr.strip().splitlines()[-1]}")
    wheel = build_wheel(folder / "dist", [machine], [])
    subprocess.run([python, *PIP, "install", "--no-deps", "--no-index", wheel], check=True)
    return Installed(wheel, python)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program that was saved by this checkout."""
    level = best_machine()
    assert level, "a wheel brings something for this CPU"
    path = tmp_path_factory.mktemp("saved") / "model.shlo"
    shlo_disc.compile(PROGRAM).save(path, targets=[level.name])
    return path


def test_only_kernels_are_compiled(installed: Installed, tmp_path: Path) -> None:
    real = shutil.which("clang++") or shutil.which("g++")
    if real is None:
        pytest.skip("needs clang++ or g++")
    tools, log = tmp_path / "bin", tmp_path / "log"
    tools.mkdir()
    compiler = tools / Path(real).name
    compiler.write_text(COMPILER.format(log=log, real=real))
    compiler.chmod(0o755)
    # g++ starts `as` and `ld`, which are on this path.
    path = os.pathsep.join((str(tools), str(Path(real).parent)))
    code = f"import sys, numpy as np, shlo_disc\nrun = shlo_disc.compile({PROGRAM!r})\n{CALL}"
    done = installed.run(code, tmp_path, path)
    assert done.returncode == 0, done.stderr
    commands = [line.split() for line in log.read_text().splitlines()]
    compiled = [Path(words[words.index("-c") + 1]).name for words in commands if "-c" in words]
    assert set(compiled) == {"kernels_0.cc"}
    links = [words for words in commands if "-shared" in words]
    assert len(links) == len(compiled)
    assert all(any("/shlo_disc/prebuilt/" in word for word in words) for words in links), "the product is the wheel's"
    assert not list(tmp_path.rglob("*runtime*.so"))


def test_files_are_loaded_without_a_compiler(installed: Installed, file: Path, tmp_path: Path) -> None:
    code = f"import sys, numpy as np, shlo_disc\nrun = shlo_disc.load({str(file)!r})\n{CALL}"
    done = installed.run(code, tmp_path, "")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "cache").exists()
    refused = installed.run(f"import shlo_disc\nshlo_disc.compile({PROGRAM!r})", tmp_path, "")
    assert "found none of clang++, ziglang and g++" in refused.stderr


def test_a_wheel_of_another_platform_says_so(installed: Installed, tmp_path: Path) -> None:
    shutil.unpack_archive(installed.wheel, tmp_path, "zip")
    (tmp_path / "shlo_disc" / "prebuilt" / "platform").write_text("darwin arm64 libSystem\n")
    done = installed.run("import shlo_disc", tmp_path, "", PYTHONPATH=str(tmp_path))
    assert "expected darwin arm64 libSystem, which this wheel of shlo_disc is for" in done.stderr
    assert "pip install ." in done.stderr


def test_what_is_in_the_wheel(installed: Installed) -> None:
    with zipfile.ZipFile(installed.wheel) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
        sizes = {one.filename: one.compress_size for one in archive.infolist()}
    info, tag = f"shlo_disc-{shlo_disc.__version__}.dist-info", tag_of(native().family)
    assert f"Tag: py3-none-{tag}" in contents[f"{info}/WHEEL"].decode()
    assert installed.wheel.name == f"shlo_disc-{shlo_disc.__version__}-py3-none-{tag}.whl"
    metadata = contents[f"{info}/METADATA"].decode()
    for line in ("Classifier: Typing :: Typed", "License-Expression: Apache-2.0", "Requires-Python: >=3.11"):
        assert f"\n{line}\n" in metadata
    for extra in ("all", "cuda12", "cuda13", "jax", "toolchain"):
        assert f"\nProvides-Extra: {extra}\n" in metadata
    rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(contents[f"{info}/RECORD"].decode()))}
    assert set(rows) == set(contents)
    for name, data in contents.items():
        expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert name.endswith("/RECORD") or rows[name] == [f"sha256={expected}", str(len(data))]
    objects = set(json.loads(contents["shlo_disc/prebuilt/index.json"]).values())
    assert {f"shlo_disc/prebuilt/{name}" for name in (*objects, "index.json", "platform")} == {
        name for name in contents if "/prebuilt/" in name
    }
    assert {"shlo_disc/py.typed", "shlo_disc/device/call/kernel.h", "shlo_disc/report/web/page.html"} - set(
        contents
    ) == set()
    assert not [name for name in contents if name.split("/")[0] not in {"shlo_disc", info}]
    brought = sum(size for name, size in sizes.items() if "/prebuilt/" in name)
    of_family = [machine for machine in PREBUILT if machine.family == native().family]
    assert installed.wheel.stat().st_size + (len(of_family) - 1) * brought <= MOST, "with all machines"


def test_what_old_systems_lack_is_found(tmp_path: Path) -> None:
    if find_spec("ziglang") is None:
        pytest.skip("needs ziglang")
    compiler = find_compiler("zig")
    for name in ("memcpy", "arc4random"):  # of all versions of glibc, and of 2.36
        source, target = tmp_path / f"{name}.cc", tmp_path / f"{name}.o"
        source.write_text(f'extern "C" int {name}();\nint (*kept)() = {name};\n')
        compiler.compile(source, target, 1, ())
    check_symbols([((tmp_path / "memcpy.o").read_bytes(), ".o")], native().family)
    with pytest.raises(subprocess.CalledProcessError):
        check_symbols([((tmp_path / "arc4random.o").read_bytes(), ".o")], native().family)


@pytest.fixture(scope="module")
def for_arm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the wheel for ARM installs."""
    if find_spec("ziglang") is None:
        pytest.skip("needs ziglang")
    folder = tmp_path_factory.mktemp("arm")
    wheel = build_wheel(folder / "dist", [MACHINES["aarch64"]], [])
    assert wheel.name == f"shlo_disc-{shlo_disc.__version__}-py3-none-manylinux_2_17_aarch64.whl"
    assert wheel.stat().st_size <= MOST
    shutil.unpack_archive(wheel, folder / "installed", "zip")
    return folder / "installed"


def test_the_wheel_for_arm_brings_code_for_arm(for_arm: Path) -> None:
    brought = for_arm / "shlo_disc" / "prebuilt"
    assert (brought / "platform").read_text() == "linux aarch64 glibc\n"
    machines = {path.read_bytes()[18:20] for path in brought.iterdir() if path.suffix in {".o", ".so"}}
    assert machines == {(183).to_bytes(2, "little")}, "EM_AARCH64"


@pytest.mark.parametrize("how", ["load", "compile"])
def test_the_wheel_for_arm_runs_there(for_arm: Path, tmp_path: Path, how: str) -> None:
    """By a Python for ARM that has NumPy, and to compile ziglang: CONTRIBUTING.md says how to get one."""
    if not (python := os.environ.get("SHLO_DISC_ARM_PYTHON")):
        pytest.skip("needs SHLO_DISC_ARM_PYTHON, a command that starts Python on ARM or on an emulator")
    path = tmp_path / "model.shlo"
    shlo_disc.compile(PROGRAM).save(path, targets=["aarch64"])
    made = {
        "load": f"shlo_disc.load({str(path)!r}, code='trust')",
        "compile": f"shlo_disc.compile({PROGRAM!r}, options=shlo_disc.CompileOptions(compiler='zig'))",
    }
    code = f"import sys; sys.path.insert(0, {str(for_arm)!r})\nimport numpy as np, shlo_disc\nrun = {made[how]}\n{CALL}"
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [*shlex.split(python), "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_arrays_are_compared(installed: Installed, tmp_path: Path) -> None:
    """The code above fails where results are wrong."""
    done = installed.run(f"import sys, numpy as np\nrun = lambda x, w: (x @ w,)\n{CALL}", tmp_path, "")
    assert "AssertionError" in done.stderr
