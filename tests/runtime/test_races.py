"""Compiled programs under ThreadSanitizer: callers at once on one pool, through the entry that users call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shlo_disc
from tests.pipeline.exports import FAST, exported, flat
from tests.pipeline.test_threads import PROGRAMS

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("racing.py")
ROOT = Path(__file__).resolve().parents[2]
# A program of each kind of sharing: rows, blocks and pieces of products, regions, columns, sorts, scans, scatters.
NAMES = ("few long rows", "three layers", "columns", "sort", "scatter of columns", "running sums")


def sanitizer() -> str | None:
    """The run-time library of ThreadSanitizer, if g++ and what it needs to start are here."""
    if shutil.which("g++") is None or shutil.which("setarch") is None:
        return None
    if subprocess.run(["setarch", "-R", "true"], capture_output=True, check=False).returncode:
        return None  # a container may forbid it
    found = subprocess.run(["g++", "-print-file-name=libtsan.so"], capture_output=True, text=True, check=True)
    return found.stdout.strip() if Path(found.stdout.strip()).is_absolute() else None


def script(path: Path, text: str) -> Path:
    path.write_text(f'#!/bin/sh\nexec g++ {text} "$@" -fsanitize=thread\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def run(name: str, folder: Path, library: str, flags: str = "") -> subprocess.CompletedProcess[str]:
    function, inputs, sizes = PROGRAMS[name]
    text = str(exported(function, inputs).mlir_module())
    arrays = [i.array(np.random.default_rng(5), sizes) for i in inputs]
    compiler = script(folder / "sanitized", flags)
    alone = shlo_disc.compile(text, options=replace(FAST, threads=1, optimize=1, compiler=str(shutil.which("g++"))))
    named = {f"input{k}": x for k, x in enumerate(arrays)}
    named |= {f"result{k}": x for k, x in enumerate(flat(alone, arrays))}
    np.savez(folder / "arrays.npz", allow_pickle=False, **named)
    (folder / "program.mlir").write_text(text, encoding="utf-8")
    return subprocess.run(
        # (the sanitizer of gcc 12 does not start where addresses are drawn from 32 bits)
        ["setarch", "-R", sys.executable, str(CHILD), "program.mlir", "arrays.npz", str(compiler)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "LD_PRELOAD": library,
            "TSAN_OPTIONS": "exitcode=66",
            "OPENBLAS_NUM_THREADS": "1",
            "XDG_CACHE_HOME": str(folder),
        },
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def library() -> str:
    found = sanitizer()
    if found is None:
        pytest.skip("no ThreadSanitizer of g++")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_callers_and_threads_do_not_race(name: str, library: str, tmp_path: Path) -> None:
    done = run(name, tmp_path, library)
    assert done.returncode == 0, done.stdout + done.stderr[:6000]
    assert done.stdout.endswith(" 0 with other bits\n")


def test_a_race_is_seen(library: str, tmp_path: Path) -> None:
    """The same, where the pool's atomic accesses do not order others."""
    done = run("columns", tmp_path, library, "-D__ATOMIC_ACQUIRE=0 -D__ATOMIC_RELEASE=0 -D__ATOMIC_SEQ_CST=0 -w")
    assert done.returncode != 0
    assert "WARNING: ThreadSanitizer: data race" in done.stderr
