"""Compiled programs inside of `shard_map` and of functions that XLA partitions, on several devices of a CPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("kind", ["Auto", "Explicit"])
def test_four_devices(kind: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.runtime.xla.shards", kind],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "XLA_FLAGS": "--xla_force_host_platform_device_count=4"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == (f"{kind}: done\n", 0), done.stderr[-3000:]
