"""Functions of scalars have no undefined behaviour, whatever their operands hold (of vectors, UBSan sees nothing)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TYPES = ("f32", "f64", "f16", "bf16", "f8E4M3FN", "complex<f32>", "complex<f64>", "i64", "i32", "ui16", "i8", "i4")


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_functions_of_scalars(tmp_path: Path) -> None:
    found = subprocess.run(["g++", "-print-file-name=libubsan.so"], capture_output=True, text=True, check=True)
    library = found.stdout.strip()
    if not Path(library).is_absolute():
        pytest.skip("needs UBSan's library")
    compiler = tmp_path / "sanitized"
    compiler.write_text(
        '#!/bin/sh\nexec g++ "$@" -fsanitize=undefined -fno-sanitize-recover=undefined\n', encoding="utf-8"
    )
    compiler.chmod(0o700)
    seed = int(np.random.default_rng().integers(1 << 31))
    ran = subprocess.run(
        [sys.executable, "-m", "tests.pipeline.scalar_calls", str(compiler), str(seed), *TYPES],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": library},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"seed {seed}:\n{ran.stderr[-4000:]}"
