"""Compilers are found, and make the code that they are asked for."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from shlo_disc.artifact import SourceFile
from shlo_disc.device import headers
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.building import machines
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import Cache
from shlo_disc.runtime.building.machines import cache_bytes, cpu_name
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.build import build
from shlo_disc.runtime.library import open_program
from tests.runtime.sample import PROBE, SAMPLE


def nothing(_name: str) -> ModuleSpec | None:
    return None


@pytest.fixture
def bare_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a compiler on the path nor the package `ziglang`."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", nothing)


def test_sizes_of_data_caches_are_the_systems(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for number, (level, kind, size) in enumerate(
        ((1, "Instruction", "64K"), (1, "Data", "48K"), (2, "Unified", "1024K"))
    ):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, text in (("level", str(level)), ("type", kind), ("size", size)):
            (folder / name).write_text(f"{text}\n")
    monkeypatch.setattr(machines, "CACHES", tmp_path)
    assert [cache_bytes.__wrapped__(level) for level in (1, 2, 3)] == [48 << 10, 1 << 20, 8 << 20]
    assert f"-DSHLO_L1_BYTES={cache_bytes(1)}" in find_compiler().flags(2)


def test_a_named_compiler_is_taken(compiler: str) -> None:
    found = find_compiler(compiler)
    assert found.kind == compiler
    assert found.version.startswith(compiler)


def test_a_compiler_may_be_a_path() -> None:
    path = shutil.which("g++")
    if path is None:
        pytest.skip("gcc is not installed")
    assert find_compiler(path) == find_compiler("gcc")


@pytest.mark.usefixtures("bare_machine")
def test_no_compiler_at_all_names_the_remedy() -> None:
    with pytest.raises(ToolchainError) as caught:
        find_compiler()
    assert str(caught.value) == (
        "no C++ compiler: found none of clang++, ziglang and g++, expected one of them\n"
        "  help: pip install shlo-disc[toolchain] (no root needed), or install clang or gcc"
    )


@pytest.mark.usefixtures("bare_machine")
@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("zig", "pip install shlo-disc[toolchain]"),
        ("gcc", "install gcc"),
        ("/no/such/c++", "install /no/such/c++"),
    ],
)
def test_a_named_compiler_that_is_missing_is_not_replaced(name: str, remedy: str) -> None:
    with pytest.raises(ToolchainError) as caught:
        find_compiler(name)
    assert str(caught.value) == (
        f"no C++ compiler {name!r}: expected a path, or clang, gcc or zig if installed\n"
        f"  help: {remedy}, or take the best one there is: CompileOptions(compiler=None)"
    )


def test_a_program_that_is_no_compiler_is_refused(tmp_path: Path) -> None:
    fake = tmp_path / "c++"
    fake.write_text("#!/bin/sh\necho hello\n")
    fake.chmod(0o755)
    with pytest.raises(ToolchainError, match="does not answer like clang, gcc or zig"):
        find_compiler(str(fake))


def test_code_that_does_not_compile_is_reported(compiler: str, cache_dir: Path) -> None:
    broken = replace(SAMPLE, kernels=(SourceFile("kernels.cc", "int f() { return wrong_name; }"),))
    with pytest.raises(ToolchainError) as caught:
        build(broken, CompileOptions(compiler=compiler, cache_dir=cache_dir))
    text = str(caught.value)
    assert text.startswith(f"{compiler} ")
    assert "failed on generated code (exit status 1)\n  command: " in text
    assert "kernels.cc:" in text
    assert "wrong_name" in text


def test_a_symbol_that_is_nowhere_is_reported(compiler: str, cache_dir: Path) -> None:
    text = f'{SAMPLE.kernels[0].text}\nextern "C" int nowhere();\nint (*there)() = nowhere;\n'
    broken = replace(SAMPLE, kernels=(SourceFile("kernels.cc", text),))
    with pytest.raises(ToolchainError, match=r"cannot load the compiled program: .*nowhere"):
        build(broken, CompileOptions(compiler=compiler, cache_dir=cache_dir))


COUNT = """\
#include "call/kernel.h"
extern "C" void count(const uint8_t* p, int32_t* q) {
  const i32v one = splat_i32(1), zero = splat_i32(0);
  const i32v rest = keep_n(select(load_bool_n(p + 16, 5), one, zero), 5, zero);
  q[0] = hsum(add_(select(load_bool(p), one, zero), rest));
}
"""


def test_a_few_booleans_are_counted(compiler: str, tmp_path: Path) -> None:
    """LLVM 20 did not come to an end here."""
    found, source = find_compiler(compiler), tmp_path / "count.cc"
    source.write_text(COUNT)
    folders = [f"-I{headers.ROOT}"]
    command = [*found.command, *found.flags(3), *folders, "-c", str(source), "-o", str(tmp_path / "count.o")]
    subprocess.run(command, check=True, timeout=60, env={**os.environ, "ZIG_LOCAL_CACHE_DIR": str(tmp_path)})


@pytest.mark.parametrize("optimize", [1, 3])
def test_code_is_for_this_cpu_and_keeps_nan(compiler: str, optimize: int, cache_dir: Path) -> None:
    builder = Builder(find_compiler(compiler), optimize, Cache(cache_dir))
    program = open_program(builder.program(PROBE))
    assert program.function("wide_vectors", ctypes.c_int64)() == ("avx512f" in cpu_name())
    nan = ctypes.c_double(float("nan"))
    assert program.function("keeps_nan", ctypes.c_int64)(ctypes.byref(nan)) == 1


@pytest.mark.skipif(shutil.which("g++") is None, reason="no g++")
def test_a_script_that_adds_flags_is_another_compiler(tmp_path: Path) -> None:
    """It gives the version of the compiler that it starts, and shares no cached code with it."""
    found = [find_compiler(str(shutil.which("g++")))]
    for number, flags in enumerate(("-ffp-contract=off", "-ffp-contract=on")):
        script = tmp_path / f"gcc{number}"
        script.write_text(f'#!/bin/sh\nexec g++ "$@" {flags}\n', encoding="utf-8")
        script.chmod(0o700)
        found.append(find_compiler(str(script)))
    assert len({compiler.version for compiler in found}) == 1
    names = [compiler.identity for compiler in found]
    assert len(set(names)) == 3
    changed = tmp_path / "gcc0"
    changed.write_text('#!/bin/sh\nexec g++ "$@"\n', encoding="utf-8")
    assert find_compiler(str(changed)).identity not in names
