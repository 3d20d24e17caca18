"""LAPACK's addresses: SciPy is loaded with the first program that needs it, and keeps its threads."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import shlo_disc
from shlo_disc.artifact import Artifact
from shlo_disc.codec import encode
from shlo_disc.diagnostics import ToolchainError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu import lapack
from tests.pipeline.exports import FAST

SOLVE = """func.func @main(%a: tensor<?x?x?xf32>) -> tensor<?x?x?xf32> {
  %0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<?x?x?xf32>) -> tensor<?x?x?xf32>
  return %0 : tensor<?x?x?xf32>
}"""
PLAIN = "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n  return %a : tensor<?xf32>\n}"
CHILD = """
import sys
import numpy as np
from pathlib import Path
from shlo_disc.artifact import Artifact
from shlo_disc.codec import decode
from shlo_disc.runtime.cpu.build import build
plain, solve = (decode(Artifact, Path(path).read_bytes()) for path in sys.argv[1:])
build(plain)
assert not any(name.startswith("scipy") for name in sys.modules), "only linear algebra needs SciPy"
(found,) = build(solve)([np.diag(np.float32([4, 9]))[None]])
assert not any(name.startswith(("jax", "sympy")) for name in sys.modules)
print(found.tolist())
"""


def test_a_saved_program_finds_its_routines(tmp_path: Path) -> None:
    paths = [tmp_path / "plain", tmp_path / "solve"]
    for path, text in zip(paths, (PLAIN, SOLVE), strict=True):
        path.write_bytes(encode(Artifact, shlo_disc.compile(text, options=FAST).executable.artifact))
    done = subprocess.run([sys.executable, "-c", CHILD, *paths], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "[[[2.0, 0.0], [0.0, 3.0]]]", done.stderr


def test_the_library_gets_its_threads_back() -> None:
    run = shlo_disc.compile(SOLVE, options=CompileOptions(optimize=0, threads=2))
    state = lapack._threads()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    threads = ctypes.CFUNCTYPE(ctypes.c_int)(state.get)
    before = threads()
    a = np.broadcast_to(4 * np.eye(24, dtype=np.float32), (400, 24, 24)).copy()
    with ThreadPoolExecutor(4) as pool:
        for (found,) in pool.map(run, [a] * 40):
            np.testing.assert_array_equal(found, a / 2)
    assert (threads(), state.users, state.lock) == (before, 0, 0)


def test_a_scipy_without_a_routine_is_an_error() -> None:
    with pytest.raises(ToolchainError, match="expected SciPy to have LAPACK's xfancy, found none"):
        lapack._address("xfancy")  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
