"""The handler that XLA calls, in a stand-in for XLA: several threads at once, without memory, and what is refused."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import jax
import pytest

from tests.device.compilers import INCLUDE

HARNESS = Path(__file__).with_name("xla_harness.cc")


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text()
    source, program = folder / "harness.cc", folder / "harness"
    source.write_text(f"{header}\n{HARNESS.read_text()}")
    command = ["g++", "-O1", "-g", "-std=c++17", "-Wall", "-Wextra", "-Wno-unused-function", "-Werror", *flags, INCLUDE]
    built = subprocess.run(
        [*command, str(source), "-o", str(program), "-lpthread"], check=False, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return subprocess.run([str(program)], check=False, capture_output=True, text=True)


@pytest.mark.parametrize("flags", ["thread", "address,undefined"])
def test_nothing_races_or_leaks(flags: str, tmp_path: Path) -> None:
    done = run(tmp_path, f"-fsanitize={flags}")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_race_is_seen(tmp_path: Path) -> None:
    """The same without the handler's locks."""
    done = run(tmp_path, "-fsanitize=thread", "-DSHLO_UNLOCKED")
    assert done.returncode != 0
    assert "WARNING: ThreadSanitizer: data race" in done.stderr
