"""The handlers that XLA calls, in a stand-in for XLA: several threads at once, without memory, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import jax
import pytest

from tests.device.compilers import INCLUDE

HERE = Path(__file__).parent
HARNESSES = ("xla_harness.cc", "xla_cuda_harness.cc")


def run(harness: str, folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    source, program = folder / "harness.cc", folder / "harness"
    source.write_text(f"{header}\n{(HERE / harness).read_text()}")
    command = ["g++", "-O1", "-g", "-std=c++17", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", *flags]
    command += [INCLUDE, f"-I{HERE}", str(source), "-o", str(program), "-lpthread"]
    built = subprocess.run(command, check=False, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return subprocess.run([str(program)], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("harness", HARNESSES)
@pytest.mark.parametrize("flags", ["thread", "address,undefined"])
def test_nothing_races_or_leaks(harness: str, flags: str, tmp_path: Path) -> None:
    done = run(harness, tmp_path, f"-fsanitize={flags}")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("harness", HARNESSES)
def test_a_race_is_seen(harness: str, tmp_path: Path) -> None:
    """The same without the handler's locks."""
    done = run(harness, tmp_path, "-fsanitize=thread", "-DSHLO_UNLOCKED")
    assert done.returncode != 0
    assert "WARNING: ThreadSanitizer: data race" in done.stderr
