"""How many threads there are when the options do not say."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import shlo_disc
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions
from shlo_disc.runtime.cpu.executable import CpuExecutable
from shlo_disc.runtime.threads import cpu_quota, default_threads

pytestmark = pytest.mark.quick

ADD = """func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def threads_of(run: shlo_disc.Compiled) -> int:
    assert isinstance(run.executable, CpuExecutable)
    return run.executable.runtime.threads


@pytest.mark.parametrize(("text", "wanted"), [("3", 3), (" 5 ", 5), ("4,2,1", 4), ("300", 300)])
def test_the_variable_of_openmp_says_how_many(text: str, wanted: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert default_threads() == wanted


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_what_it_cannot_mean_is_an_error(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    with pytest.raises(ShloDiscError, match=f"found OMP_NUM_THREADS='{text}', expected numbers of at least 1"):
        default_threads()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinities")
def test_no_more_than_the_cores_it_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        assert default_threads() == 1
        assert threads_of(shlo_disc.compile(ADD, device="cpu")) == 1
    finally:
        os.sched_setaffinity(0, before)


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@pytest.mark.parametrize(
    ("files", "wanted"),
    [
        ({}, None),
        ({"proc/self/cgroup": "0::/\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "150000 100000\n"}, 1.5),
        (
            {
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/cpu.max": "200000 100000\n",
                "sys/fs/cgroup/a/b/cpu.max": "400000 100000\n",
            },
            2.0,
        ),
        (
            {
                "proc/self/cgroup": "3:cpuset:/c\n2:cpu,cpuacct:/job\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
    ],
)
def test_the_time_of_a_control_group(files: dict[str, str], wanted: float | None, tmp_path: Path) -> None:
    write(tmp_path, files)
    assert cpu_quota(tmp_path) == wanted


def test_threads_are_said_beside_the_options_or_in_them() -> None:
    assert threads_of(shlo_disc.compile(ADD, device="cpu", threads=2)) == 2
    both = shlo_disc.compile(ADD, device="cpu", threads=2, options=CompileOptions(threads=2))
    assert threads_of(both) == 2
    with pytest.raises(ShloDiscError, match="found threads=2 beside options with threads=3, expected one"):
        shlo_disc.compile(ADD, device="cpu", threads=2, options=CompileOptions(threads=3))
    with pytest.raises(ShloDiscError, match="found threads 0"):
        shlo_disc.compile(ADD, device="cpu", threads=0)
