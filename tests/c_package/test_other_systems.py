"""What packages consist of compiles for Windows and macOS: docs/how-to/c.md says what is missing beyond that."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shlo_disc.c_package.tables import literal_bytes, package_text
from shlo_disc.device import headers
from shlo_disc.device.libraries import library_text
from shlo_disc.runtime.building.build import _LITERALS  # pyright: ignore[reportPrivateUsage]
from shlo_disc.runtime.building.toolchain import find_compiler
from tests.c_package.foreign import zig_environment
from tests.c_package.packages import compiled_function
from tests.c_package.programs import PROGRAMS
from tests.device.compilers import require

BEGINS = {"x86_64-windows-gnu": b"\x64\x86", "aarch64-macos": b"\xcf\xfa\xed\xfe"}  # COFF, Mach-O
FLAGS = ("-std=c++17", "-O1", "-fno-exceptions", "-fno-rtti", "-fno-sanitize=undefined", "-Wno-c++20-extensions")


@pytest.mark.slow
@pytest.mark.parametrize("system", BEGINS)
def test_objects_for_other_systems(system: str, tmp_path: Path) -> None:
    require("zig")
    program = PROGRAMS["constant"]
    artifact = compiled_function(program.function, program.shapes).executable.artifact
    sources = {Path(file.name).stem: file.text for file in artifact.kernels}
    sources |= {name: library_text(name) for file in artifact.kernels for name in file.libraries}
    sources |= {"package": package_text(artifact, "model"), "literals": _LITERALS}
    (tmp_path / "literals.bin").write_bytes(literal_bytes(artifact))
    for name, text in sources.items():
        (tmp_path / f"{name}.cc").write_text(text)
        target = ("-target", system, *FLAGS, f"-I{headers.ROOT}", "-c", f"{name}.cc", "-o", f"{name}.o")
        command = [find_compiler("zig").command[0], "c++", *target]
        done = subprocess.run(command, cwd=tmp_path, env=zig_environment(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        assert (tmp_path / f"{name}.o").read_bytes().startswith(BEGINS[system])
