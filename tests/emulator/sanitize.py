"""Run recorded launches under sanitizers, and find out whether every barrier is needed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tests.emulator import toolchain
from tests.emulator.device import SCHEDULES, Schedule
from tests.emulator.recording import Recorded, Recording
from tests.emulator.toolchain import Mode

_OPTIONS: Mapping[str, str] = {
    "ASAN_OPTIONS": "detect_leaks=0",
    "UBSAN_OPTIONS": "print_stacktrace=0",
    "TSAN_OPTIONS": "halt_on_error=1 atexit_sleep_ms=0",
}
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class How:
    """How a launch runs. `skipped`: the barrier to leave out; `ordered`: blocks see what earlier ones wrote.

    `most_blocks` runs only the first and last blocks of the grid; `blocks` launches a grid of that many instead.
    """

    schedule: Schedule = "fifo"
    seed: int = 0
    skipped: int = 0
    ordered: bool = False
    most_blocks: int = 0
    blocks: int = 0


_FEW = (How(most_blocks=2), How(blocks=1))


@dataclass(frozen=True, slots=True)
class Barrier:
    """A place where threads wait for each other, as the address that its call returns to, in its library."""

    offset: int
    place: str  # file:line
    what: str


@dataclass(frozen=True, slots=True)
class Ran:
    """What became of a launch: `ok`, `wrong NUMBER` or `error MESSAGE`; and the barriers that ran."""

    outcome: str
    barriers: tuple[Barrier, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a process said: the launches that ended, in order, and the sanitizer's first report."""

    launches: tuple[Ran, ...]
    report: str

    @property
    def clean(self) -> bool:
        return not self.report and all(one.outcome == "ok" for one in self.launches)

    def __str__(self) -> str:
        return "\n".join([*(one.outcome for one in self.launches), self.report])


def check(recording: Recording, mode: Mode, runs: Sequence[How] = (How(),)) -> Outcome:
    """Run every recorded launch under a sanitizer, in each of some ways."""
    jobs = [(launch, how) for launch in recording.launches for how in runs]
    return _run(recording, mode, jobs)


def races(recording: Recording) -> Outcome:
    """Run every launch under the race checker: few blocks, which nothing orders; then one block that does all it can.

    A kernel whose blocks take rows in turn runs its loop several times then.
    """
    return check(recording, "tsan", _FEW)


def needless_barriers(recording: Recording) -> list[Barrier]:
    """Barriers that can be left out of all launches, one barrier at a time, and nobody notices.

    Nobody is the race checker, the emulator, and whoever compares the results, under three schedules.
    """
    jobs = [(launch, how) for launch in recording.launches for how in _FEW]
    used = dict[Barrier, list[tuple[Recorded, How]]]()
    for job, ran in zip(jobs, _run(recording, "tsan", jobs).launches, strict=True):
        for barrier in ran.barriers:
            used.setdefault(barrier, []).append(job)
    return [barrier for barrier, users in used.items() if not _noticed(recording, barrier, users)]


def _noticed(recording: Recording, barrier: Barrier, jobs: Sequence[tuple[Recorded, How]]) -> bool:
    ways = [
        (launch, replace(how, schedule=schedule, seed=1, skipped=barrier.offset))
        for schedule in SCHEDULES
        for launch, how in jobs
    ]
    return not _run(recording, "tsan", ways).clean


def _run(recording: Recording, mode: Mode, jobs: Sequence[tuple[Recorded, How]]) -> Outcome:
    if not jobs:
        return Outcome((), "")
    library = toolchain.library(recording.text, recording.names, recording.index, mode)
    with tempfile.TemporaryDirectory(dir=toolchain.folder()) as scratch:
        plan = Path(scratch) / "plan"
        plan.write_text("\n".join([f"library {library}", *_lines(jobs, Path(scratch))]) + "\n")
        command = [str(toolchain.runner(mode)), str(plan)]
        if mode == "tsan" and (setarch := shutil.which("setarch")):
            command = [setarch, "-R", *command]  # TSan's shadow memory does not bear every layout
        environment = {**os.environ, **_OPTIONS}
        done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, timeout=_SECONDS)
    return _outcome(done.stdout, done.stderr, done.returncode)


def _lines(jobs: Sequence[tuple[Recorded, How]], folder: Path) -> list[str]:
    lines: list[str] = []
    for number, (launch, how) in enumerate(jobs):
        lines.append("fresh")
        for k, held in enumerate(launch.buffers):
            name = folder / f"{number}_{k}"
            name.write_bytes(held.before)
            lines.append(f"buffer {len(held.before)} {name}")
        arguments = [*(f"b{k}" for k in launch.arguments), *(f"n{k}" for k in launch.numbers)]
        settings = [SCHEDULES[how.schedule], how.seed, int(how.ordered), how.most_blocks, how.skipped]
        grid = [launch.kernel, how.blocks or launch.blocks, launch.threads, launch.shared]
        lines.append(" ".join(map(str, ["launch", *grid, *settings, *arguments])))
        if launch.blocks > (how.blocks or how.most_blocks or launch.blocks):
            continue  # the results are not complete
        for k, held in enumerate(launch.buffers):
            name = folder / f"{number}_{k}_after"
            name.write_bytes(held.after)
            lines.append(f"expect {k} {name}")
    return lines


def _outcome(printed: str, report: str, code: int) -> Outcome:
    launches, barriers = list[Ran](), list[Barrier]()
    for line in printed.splitlines():
        if line.startswith("barrier "):
            _, offset, place, what = line.split(maxsplit=3)
            barriers.append(Barrier(int(offset), place, what))
        else:
            launches.append(Ran(line, tuple(barriers)))
            barriers.clear()
    if code not in (0, 2) and not report:
        report = f"the process ended with {code}"
    return Outcome(tuple(launches), report)
