"""Code for ARM in program files: other machines than this one load it."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import shlo_disc
from shlo_disc.program_file.archive import Archive
from shlo_disc.program_file.manifest import MANIFEST, read_manifest
from shlo_disc.runtime.building.machines import best_machine
from tests.c_package.foreign import EMULATOR, link_for_arm, require_arm
from tests.program_file.saving import CASES

_LOADER = r"""
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int k;
  for (k = 1; k < argc; k++)
    if (dlopen(argv[k], RTLD_NOW) == NULL) return puts(dlerror()), 1;
  puts("loaded");
  return 0;
}
"""


@pytest.mark.slow
def test_code_for_arm_has_no_symbol_that_is_nowhere(tmp_path: Path) -> None:
    """The shared objects of all programs are loaded by the loader of ARM's glibc, which finds what they name."""
    require_arm()
    here = best_machine()
    assert here is not None
    (tmp_path / "loader.c").write_text(_LOADER)
    link_for_arm(tmp_path, "loader", "-ldl", tmp_path / "loader.c")
    files, saved = list[str](), tmp_path / "model.shlo"
    for number, case in enumerate(CASES.values()):
        case.compiled().save(saved, targets=[here.name, "aarch64-linux"])
        assert shlo_disc.load(saved).machine == here.name
        archive = Archive(saved.read_bytes(), "a test")
        manifest = read_manifest(bytes(archive.read(MANIFEST, checked=False)), "a test")
        assert [one.machine for one in manifest.code] == [here.name, "aarch64"]
        for name in (*manifest.code[1].objects, manifest.code[1].runtime):
            file = tmp_path / f"{number} {Path(name).name}"
            file.write_bytes(archive.read(name, checked=False))
            files.append(str(file))
    done = subprocess.run([*EMULATOR, "./loader", *files], cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"loaded\n")
