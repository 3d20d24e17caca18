"""Run recorded launches under sanitizers, and find out whether every barrier is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.emulator import toolchain
from tests.emulator.device import SCHEDULES, Schedule
from tests.emulator.recording import Recorded, Recording
from tests.emulator.toolchain import Mode

_OPTIONS: Mapping[str, str] = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=0",
    # Reports of one place are wanted again in every launch.
    "TSAN_OPTIONS": "exitcode=0 suppress_equal_stacks=0 suppress_equal_addresses=0 atexit_sleep_ms=0",
}
_SECONDS = 300
RACE_CHECKED_BLOCKS = 2  # the race checker sees the first and the last block: others are like them


@dataclass(frozen=True, slots=True)
class How:
    """How a launch runs. `skipped`: the barrier to leave out."""

    schedule: Schedule = "fifo"
    seed: int = 0
    skipped: int = 0
    most_blocks: int = 0


@dataclass(frozen=True, slots=True)
class Barrier:
    """A place where threads wait for each other, as the address that its call returns to, in its library."""

    offset: int
    place: str  # file:line
    what: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a process said: an outcome per launch that ran, the barriers that ran, and the sanitizer's report."""

    launches: tuple[str, ...]  # ok, race, wrong NUMBER, error MESSAGE
    barriers: tuple[Barrier, ...]
    report: str

    @property
    def clean(self) -> bool:
        return all(one == "ok" for one in self.launches) and not self.report


def check(recording: Recording, mode: Mode, runs: Sequence[How] = (How(),)) -> Outcome:
    """Run every recorded launch under a sanitizer, in each of some ways."""
    jobs = [(launch, how) for launch in recording.launches for how in runs]
    return _run(recording, mode, jobs)


def races(recording: Recording) -> Outcome:
    """Run every launch under the race checker: few blocks, which nothing orders."""
    return check(recording, "tsan", [How(most_blocks=RACE_CHECKED_BLOCKS)])


def needless_barriers(recording: Recording) -> list[Barrier]:
    """Barriers that can be left out of each launch, one at a time, and nobody notices.

    Nobody is the race checker, the emulator, and whoever compares the results, under three schedules.
    """
    ways = [How("fifo"), How("lifo"), How("random", 1)]
    found: list[Barrier] = []
    for launch in recording.launches:
        alone = Recording(recording.text, recording.index, (launch,))
        left = list(races(alone).barriers)
        for way in ways:
            left = [barrier for barrier in left if not _noticed(alone, launch, way, barrier)]
        found += left
    return found


def _noticed(recording: Recording, launch: Recorded, way: How, barrier: Barrier) -> bool:
    how = How(way.schedule, way.seed, barrier.offset, RACE_CHECKED_BLOCKS)
    return not _run(recording, "tsan", [(launch, how)]).clean


def _run(recording: Recording, mode: Mode, jobs: Sequence[tuple[Recorded, How]]) -> Outcome:
    if not jobs:
        return Outcome((), (), "")
    library = toolchain.library(recording.text, recording.names, recording.index, mode)
    with tempfile.TemporaryDirectory(dir=toolchain.folder()) as scratch:
        plan = Path(scratch) / "plan"
        plan.write_text("\n".join([f"library {library}", *_lines(jobs, Path(scratch), mode)]) + "\n")
        command = [str(toolchain.runner(mode)), str(plan)]
        if mode == "tsan" and (setarch := shutil.which("setarch")):
            command = [setarch, "-R", *command]  # TSan's shadow memory does not bear every layout
        environment = {**os.environ, **_OPTIONS}
        done = subprocess.run(
            command, check=False, capture_output=True, text=True, env=environment, timeout=_SECONDS
        )
    return _outcome(done.stdout, done.stderr, done.returncode)


def _lines(jobs: Sequence[tuple[Recorded, How]], folder: Path, mode: Mode) -> list[str]:
    lines: list[str] = []
    for number, (launch, how) in enumerate(jobs):
        lines.append("fresh")
        for k, held in enumerate(launch.buffers):
            name = folder / f"{number}_{k}"
            name.write_bytes(held.before)
            lines.append(f"buffer {len(held.before)} {name}")
        arguments = [*(f"b{k}" for k in launch.arguments), *(f"n{k}" for k in launch.numbers)]
        ordered = int(mode != "tsan")
        settings = [SCHEDULES[how.schedule], how.seed, ordered, how.most_blocks, how.skipped]
        grid = [launch.kernel, launch.blocks, launch.threads, launch.shared]
        lines.append(" ".join(map(str, ["launch", *grid, *settings, *arguments])))
        if how.most_blocks and how.most_blocks < launch.blocks:
            continue  # the results are not complete
        for k, held in enumerate(launch.buffers):
            name = folder / f"{number}_{k}_after"
            name.write_bytes(held.after)
            lines.append(f"expect {k} {name}")
    return lines


def _outcome(printed: str, report: str, code: int) -> Outcome:
    lines = [line for line in printed.splitlines() if line]
    barriers = [line.split(maxsplit=3) for line in lines if line.startswith("barrier ")]
    launches = [line for line in lines if not line.startswith("barrier ")]
    if code not in (0, 2) and not report:
        report = f"the process ended with {code}"
    return Outcome(
        tuple(launches),
        tuple(Barrier(int(offset), place, what) for _, offset, place, what in barriers),
        report,
    )
