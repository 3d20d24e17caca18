# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownLambdaType=false
"""The libraries as other programs use them: from C and C++, several in one process, under sanitizers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.c_package.header import exports
from shlo_disc.c_package.tables import literal_bytes, package_text
from shlo_disc.c_package.weights import NO_WEIGHTS, Weights
from shlo_disc.device import headers
from shlo_disc.runtime.building.build import _LITERALS  # pyright: ignore[reportPrivateUsage]
from tests.c_package.packages import (
    FOLDER,
    STRICT,
    Package,
    assert_same_bits,
    compile_c,
    compiled_function,
    compiled_text,
    package,
)
from tests.c_package.programs import PROGRAMS, SIZES
from tests.conftest import ROOT

SUM = """
func.func @main(%a: tensor<?x3xf32>) -> (tensor<?x3xf32>, tensor<3xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%a init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<?x3xf32>, tensor<f32>) -> tensor<3xf32>
  return %a, %0 : tensor<?x3xf32>, tensor<3xf32>
}
"""
ENVIRONMENT = {"PATH": os.environ["PATH"]}


def output(*command: str, folder: Path, **environment: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env={**ENVIRONMENT, **environment})
    assert done.returncode == 0, (done.returncode, done.stdout.decode(), done.stderr.decode())
    return done.stdout.decode()


def symbols(path: Path, *options: str) -> set[str]:
    """The names that a library defines for others."""
    lines = output("nm", "--defined-only", "--extern-only", *options, str(path), folder=path.parent).splitlines()
    return {line.split()[2] for line in lines if len(line.split()) == 3}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Package:
    return package(compiled_text(SUM), tmp_path_factory.mktemp("sum"))


def test_only_the_functions_of_the_header_are_visible(built: Package) -> None:
    text = (built.folder / "model.h").read_text()
    assert set(re.findall(r"\b(model_\w+)\(", text)) == set(exports("model"))
    assert symbols(built.folder / "libmodel.so", "--dynamic") == set(exports("model"))
    assert symbols(built.folder / "libmodel.a") == set(exports("model"))
    needed = output("ldd", "libmodel.so", folder=built.folder)
    found = {Path(name).name for name in re.findall(r"^\s(\S+)\.so", needed, re.MULTILINE)}
    assert found <= {"linux-vdso", "libc", "libm", "ld-linux-x86-64"}


def test_the_example_runs(built: Package) -> None:
    folder = built.folder
    compile_c("gcc", *STRICT, "example.c", "-I.", "-L.", "-lmodel", "-lm", "-lpthread", "-o", "example", folder=folder)
    found = output("./example", "5", folder=folder, LD_LIBRARY_PATH=".")
    assert found.splitlines()[0].startswith("result 0 (5, 3): 0 0.25 0.5 0.75 1 1.25 1.5 0 ...")
    assert found.splitlines()[1] == "result 1 (3): 4 3.5 3"
    failed = subprocess.run(["./example"], cwd=folder, env={"LD_LIBRARY_PATH": "."}, capture_output=True, check=False)
    assert (failed.returncode, failed.stderr) == (2, b"usage: ./example s0\n")


def test_the_page_has_a_call_that_compiles_and_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "how-to" / "c.md").read_text()
    included, _, body = page.partition("```c\n")[2].partition("```")[0].partition("\n\n")
    run = compiled_function(lambda x, w: x @ w, "f32[b, 64], f32[64, 10]")
    run.build(tmp_path, name="model", target="native")
    (tmp_path / "main.c").write_text(f"""
#include <stdio.h>
#include <stdlib.h>
{included}

int main(void) {{
static float x[5 * 64], w[64 * 10];
x[64] = 2, w[9] = 3;
{body}
printf("%d %d %g\\n", (int)y_shape[0], (int)y_shape[1], ((float*)results[0])[19]);
free(results[0]);
return 0;
}}
""")
    compile_c("gcc", "-Wall", "-Wextra", "-Werror", "main.c", "-I.", "-L.", "-lmodel", "-o", "main", folder=tmp_path)
    assert output("./main", folder=tmp_path, LD_LIBRARY_PATH=".") == "5 10 6\n"


@pytest.mark.skipif(not (shutil.which("cmake") and shutil.which("pkg-config")), reason="they are not installed")
def test_build_systems_find_a_package(built: Package, tmp_path: Path) -> None:
    found = output("pkg-config", "--cflags", "--libs", "model", folder=tmp_path, PKG_CONFIG_PATH=str(built.folder))
    assert found.split() == [f"-I{built.folder}", f"-L{built.folder}", "-lmodel"]
    (tmp_path / "CMakeLists.txt").write_text(f"""
cmake_minimum_required(VERSION 3.10)
project(use C)
find_package(model REQUIRED PATHS "{built.folder}" NO_DEFAULT_PATH)
add_executable(one "{built.folder}/example.c")
target_link_libraries(one model::model)
add_executable(two "{built.folder}/example.c")
target_link_libraries(two model::static)
""")
    output("cmake", "-B", "made", ".", folder=tmp_path)
    output("cmake", "--build", "made", folder=tmp_path)
    assert output("made/one", "4", folder=tmp_path) == output("made/two", "4", folder=tmp_path)


def test_two_libraries_are_in_one_process(tmp_path: Path) -> None:
    other = compiled_function(lambda x: x * 3 + x.sum(), "f32[n]")
    other.build(tmp_path, "other", "native")
    compiled_text(SUM).build(tmp_path, target="native")
    (tmp_path / "main.cc").write_text(r"""
#include <cstdio>
#include "model.h"
#include "other.h"

int main() {
  model* one;
  other* two;
  if (model_create(&one, nullptr) != MODEL_OK || other_create(&two, nullptr) != OTHER_OK) return 1;
  const float x[6] = {1, 2, 3, 4, 5, 6};
  const int64_t pair[2] = {2, 3}, six[1] = {6};
  const void* arguments[1] = {x};
  const int64_t *model_shape[1] = {pair}, *other_shape[1] = {six};
  float same[6], sums[3], y[6];
  void *results[2] = {same, sums}, *others[1] = {y};
  char message[99];
  if (model_run(one, arguments, model_shape, results, message, sizeof message) != MODEL_OK) return 2;
  if (other_run(two, arguments, other_shape, others, message, sizeof message) != OTHER_OK) return 3;
  std::printf("%g %g %g %g\n", sums[0], sums[2], y[0], y[5]);
  model_destroy(one);
  other_destroy(two);
}
""")
    strict = ("-std=c++11", "-Wall", "-Wextra", "-Werror", "-pedantic", "main.cc", "-I.")
    compile_c("g++", *strict, "-L.", "-lmodel", "-lother", "-o", "shared", folder=tmp_path)
    compile_c("g++", *strict, "libmodel.a", "libother.a", "-lm", "-lpthread", "-o", "static", folder=tmp_path)
    found = output("./shared", folder=tmp_path, LD_LIBRARY_PATH=".")
    assert found.splitlines()[-1] == "5 9 24 39"
    assert output("./static", folder=tmp_path) == found


def test_many_threads_call_one_model(tmp_path: Path) -> None:
    program = PROGRAMS["mlp"]
    run = compiled_function(program.function, program.shapes)
    made = package(run, tmp_path)
    rng = np.random.default_rng(5)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in (3, 64, 5, 128, 17) * 4]
    answers = made.calls(calls, threads=2, callers=6)
    for number, call in enumerate(calls):
        (wanted,) = run.executable(call)
        for answer in answers[6 * number : 6 * number + 6]:
            assert_same_bits(answer.results[0], wanted)


@pytest.mark.parametrize("name", ["mlp", "constant", "types"])
def test_sanitizers_find_nothing(name: str, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    run = compiled_function(program.function, program.shapes)
    plain = package(run, tmp_path)
    checked = sanitized(plain, run)
    rng = np.random.default_rng(5)
    calls = [[np.asarray(one) for one in program.arguments(rng, n)] for n in SIZES]
    for threads in (1, 2):
        assert_same_answers(checked.calls(calls, threads=threads), plain.calls(calls))


def sanitized(plain: Package, run: shlo_disc.Compiled, weights: Weights = NO_WEIGHTS) -> Package:
    """A package whose code that all packages share is compiled with sanitizers, and the driver.

    The kernels are as they are.
    """
    folder, artifact = plain.folder, run.executable.artifact
    (folder / "literals.bin").write_bytes(literal_bytes(artifact))
    (folder / "literals.cc").write_text(_LITERALS)
    (folder / "package.cc").write_text(package_text(artifact, "model", weights))
    objects = kernels(plain, run)
    checks = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-g")
    common = (f"-I{headers.ROOT}", "-std=c++17", "-Wno-c++20-extensions")
    compile_c("g++", *common, *checks, "-Wall", "-Wextra", "-c", "package.cc", "literals.cc", folder=folder)
    posix = ("-std=c99", "-D_POSIX_C_SOURCE=200809L")
    compile_c("gcc", *posix, *checks, "-c", str(FOLDER / "driver.c"), "-I.", "-o", "driver.o", folder=folder)
    linked = ("driver.o", "package.o", "literals.o", *objects, "-lpthread", "-lm", "-o", "checked")
    compile_c("g++", *checks, *linked, folder=folder)
    return Package(folder, artifact, folder / "checked")


def assert_same_answers(found: list[Any], wanted: list[Any]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert (one.status, one.message) == (other.status, other.message)
        for array, expected in zip(one.results, other.results, strict=True):
            assert_same_bits(array, expected)


def kernels(made: Package, run: shlo_disc.Compiled) -> list[str]:
    """The shared object with the kernels of a program."""
    return [str(run.executable.program.path), f"-Wl,-rpath,{made.folder}"]  # type: ignore[attr-defined]
