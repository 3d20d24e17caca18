"""The number of threads that a program runs on by default (docs/explanation/threads.md)."""

from __future__ import annotations

import os
import re
from pathlib import Path, PurePosixPath

from shlo_disc.diagnostics import ShloDiscError

_GROUP = re.compile(r"^\d+:(?P<controllers>[^:]*):(?P<path>.*)$", re.MULTILINE)


def default_threads() -> int:
    """The first number of `$OMP_NUM_THREADS`, as for the other libraries of this process; else all cores it may use."""
    text = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if not text:
        return available_threads()
    if not text.isdecimal() or int(text) < 1:
        raise ShloDiscError(f"found OMP_NUM_THREADS={os.environ['OMP_NUM_THREADS']!r}, expected numbers of at least 1")
    return int(text)


def available_threads() -> int:
    """The cores that this process may use: by its affinity, and by the CPU quota of its control group."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = cpu_quota(Path("/"))
    return cores if quota is None else max(1, min(cores, -int(-quota // 1)))


def cpu_quota(root: Path) -> float | None:
    """The CPU quota of this process by its control groups, of version 2 or 1, in cores; None: no quota.

    `root`: where `/proc` and `/sys` are. The quotas of all enclosing groups apply, too.
    """
    try:
        groups = (root / "proc/self/cgroup").read_text()
    except OSError:  # not Linux
        return None
    found = list[float]()
    for group in _GROUP.finditer(groups):
        controllers = group["controllers"].split(",")
        if controllers != [""] and "cpu" not in controllers:
            continue
        mount = root / "sys/fs/cgroup" / ("" if controllers == [""] else "cpu")
        path = PurePosixPath(group["path"].lstrip("/"))
        found += [share for at in (path, *path.parents) if (share := _share(mount / at)) is not None]
    return min(found, default=None)


def _share(group: Path) -> float | None:
    """The quota of one group in cores: microseconds of CPU time over those of a period."""
    try:
        if (file := group / "cpu.max").exists():
            quota, period = file.read_text().split()
        else:
            quota, period = ((group / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return None if quota.strip() == "max" or int(quota) <= 0 else int(quota) / int(period)
    except OSError:  # a group that is not mounted here, as in a container
        return None
