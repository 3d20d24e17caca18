"""Fuzzing campaigns: check modules of consecutive seeds in several processes, up to a time or a count."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from traceback import format_exception
from typing import TypeAlias

from shlo_disc.boundary import boundary
from shlo_disc.check.comparing import Tolerance
from shlo_disc.check.generate.programs import generate_at
from shlo_disc.check.judging import Judge
from shlo_disc.check.names import xla_is_installed
from shlo_disc.check.running import BuildConfig, Ways
from shlo_disc.check.sampling import DISTRIBUTIONS
from shlo_disc.check.session import TOGETHER, CheckPlan, CheckReport, Finding, check_random, save
from shlo_disc.check.worker import IDLE, PATIENT, Worker
from shlo_disc.diagnostics import InternalError, ShloDiscError, ToolchainError, counted
from shlo_disc.records import record
from shlo_disc.targets import target_named

_Task: TypeAlias = tuple[int, int | None]  # a seed, and how many programs to make at most

_DEAREST = 1.5  # estimated seconds of one legal run
_SHARE = 1.5  # parts of the time for a call, of which legal runs may take one
_JAX_TOGETHER = 5  # functions in a module, with their derivatives
_JAX_EVERY = 3
_RENEWED = 25  # modules per process, as loaded programs and JAX's caches are freed only at its end
_FAMILIES = ("stablehlo", "jax")
_OF_JAX = ("normal", "small", "normal", "special")  # inputs; derivatives at wide ones overflow
# Largest size for targets that the CPU's thresholds do not concern: values have up to four dims, some of them products.
_LARGEST_ELSEWHERE = 9


@record
class Settings:
    """The settings of a campaign. `ways`: those that are compared with the reference; None: those of each seed."""

    seed: int
    config: BuildConfig
    ways: tuple[str, ...] | None = None
    seconds: float | None = None  # after which no module is begun
    count: int | None = None  # programs, after which no module is begun
    jobs: int = 1
    calls: int = 4  # of each module
    timeout: float = 120.0  # seconds for one run
    shrink: float = 60.0  # seconds for shrinking
    patience: float = 1200.0  # seconds for one module, after which compilation counts as endless
    tolerance: Tolerance = field(default_factory=Tolerance)
    out: Path = Path("check-failure")
    keeps_going: bool = False  # after a failure


@record
class Examined:
    """The outcome of one module."""

    seed: int
    family: str
    programs: int
    agreed: int
    refused: int
    nothing: int
    seconds: float
    processor: float  # CPU seconds of all processes
    failure: str = ""  # what differs, in a line
    description: str = ""  # of the failure, with the smallest program
    folder: str = ""  # that holds it
    command: str = ""  # that reproduces it
    ops: tuple[str, ...] = ()  # of the smallest program
    notes: tuple[str, ...] = ()

    @property
    def calls(self) -> int:
        """How many calls there were, compared or not."""
        return self.agreed + self.refused + self.nothing

    @property
    def reproduce(self) -> str:
        """The command that generates the same programs again."""
        return f"python -m shlo_disc fuzz --seed {self.seed} --count {self.programs}"


@record
class Summary:
    """The outcome of all modules."""

    examined: tuple[Examined, ...]
    seconds: float

    @property
    def findings(self) -> list[Examined]:
        return [one for one in self.examined if one.failure]

    def __str__(self) -> str:
        programs = sum(one.programs for one in self.examined)
        calls = sum(one.calls for one in self.examined)
        rate = 1000 * len(self.findings) / max(1, programs)
        processor = sum(one.processor for one in self.examined)
        return (
            f"{counted(programs, 'program')}, {counted(calls, 'call')}, {counted(len(self.findings), 'finding')} "
            f"({rate:.2f} in 1000 programs); "
            f"{60 * programs / max(1.0, self.seconds):.0f} programs a minute, "
            f"{60 * programs / max(1.0, processor):.0f} in a minute of one core"
        )


def family_of(seed: int) -> str:
    """The kind of a seed's programs: StableHLO text, or JAX functions where JAX is installed."""
    return _FAMILIES[seed % _JAX_EVERY == _JAX_EVERY - 1 and xla_is_installed()]


def made(seed: int, count: int | None = None) -> tuple[str, int]:
    """The text of a seed's module, and how many programs it holds."""
    if family_of(seed) == "jax":
        from shlo_disc.check.generate.jax_programs import export_at  # noqa: PLC0415  JAX takes a second to import

        together = min(_JAX_TOGETHER, count or _JAX_TOGETHER)
        return export_at(seed, together), together
    together = min(TOGETHER, count or TOGETHER)
    return generate_at(seed, together), together


def ways_of(seed: int) -> tuple[str, ...]:
    """The ways of a seed's module: `compiled`, `vm`, `divided` and one number of threads always, others in turn."""
    ways = ["compiled", "vm", "divided", ("threads2", "threads3", "threads8")[seed // 2 % 3]]
    ways += ["donated"] if seed % 2 else []
    ways += ["unfused"] if seed % 4 == 0 else []
    ways += ["specialized"] if seed % 4 == 2 and xla_is_installed() else []
    return (*ways, *(["xla"] if xla_is_installed() else []))


def campaign(settings: Settings, show: Callable[[str, int, int], None], log: Path | None = None) -> Summary:
    """Check modules of consecutive seeds, several at a time. `show` is called with a line of text and the progress."""
    started = time.monotonic()
    examined, tasks = list[Examined](), _tasks(settings, started)
    for one in _in_turn(settings, tasks) if settings.jobs == 1 else _side_by_side(settings, tasks):
        examined.append(one)
        _record(log, one, time.monotonic() - started)
        _show(show, settings, examined, started)
        if one.failure and not settings.keeps_going:
            break
    return Summary(tuple(examined), time.monotonic() - started)


def _in_turn(settings: Settings, tasks: Iterator[_Task]) -> Iterator[Examined]:
    while some := list(itertools.islice(tasks, 1)):
        with Worker(settings.config, settings.timeout, fast_xla=True) as ways:
            job = Job(settings, ways)
            for seed, count in itertools.chain(some, itertools.islice(tasks, _RENEWED - 1)):
                yield job.examine(seed, count)


def _side_by_side(settings: Settings, tasks: Iterator[_Task]) -> Iterator[Examined]:
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(settings.jobs, context, _begin, (settings,), max_tasks_per_child=_RENEWED) as pool:
        running = {pool.submit(_examine, *task) for task in itertools.islice(tasks, settings.jobs)}
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
            running |= {pool.submit(_examine, *task) for task in itertools.islice(tasks, len(done))}


def _tasks(settings: Settings, started: float) -> Iterator[_Task]:
    """Seeds, and how many programs to make at most."""
    seed, left = settings.seed, settings.count
    while (left is None or left > 0) and (settings.seconds is None or time.monotonic() - started < settings.seconds):
        yield seed, left
        if left is not None:
            left -= min(left, _JAX_TOGETHER if family_of(seed) == "jax" else TOGETHER)
        seed += 1


def _show(
    show: Callable[[str, int, int], None], settings: Settings, examined: Sequence[Examined], started: float
) -> None:
    programs, findings = sum(one.programs for one in examined), sum(bool(one.failure) for one in examined)
    what = f"{counted(programs, 'program')}, {counted(findings, 'finding')}"
    if settings.seconds is None:
        show(what, programs, settings.count or 0)
    else:
        show(what, min(int(time.monotonic() - started), int(settings.seconds)), int(settings.seconds))


def _record(log: Path | None, one: Examined, at: float) -> None:
    """Add a line to the log."""
    if log is not None:
        row = {"at": round(at, 1), **asdict(one)}
        with log.open("a") as file:
            file.write(json.dumps(row) + "\n")


@record
class Job:
    """Checks modules, one after the other."""

    settings: Settings
    ways: Ways

    def examine(self, seed: int, count: int | None = None) -> Examined:
        """Generate the module of a seed, with at most `count` programs, and check it; a failure is shrunk and saved."""
        settings, started, before = self.settings, time.monotonic(), self._processor_seconds()
        text, together = made(seed, count)
        family = family_of(seed)
        others = ways_of(seed) if settings.ways is None else settings.ways
        judge = Judge(
            self.ways,
            others,
            settings.tolerance,
            settings.patience / (_SHARE * max(1, settings.calls)),
            self._processor_seconds,
        )
        doing = _Doing()
        try:
            with boundary("check"), _limited(settings.patience, self._processor_seconds):
                report = check_random(text, judge, self._plan(seed, family), settings.config, doing.show)
            found = _found(report.finding, judge, settings, seed)
        except _EndlessError as error:
            where = self._where(doing)
            late = InternalError(
                f"found no end after {settings.patience:g} seconds, expected one within minutes{where}"
            )
            late.__cause__ = error
            report, found = CheckReport(0, 0, 0, (), None), _broken(late, text, settings, seed)
        except InternalError as error:
            report, found = CheckReport(0, 0, 0, (), None), _broken(error, text, settings, seed)
        except ToolchainError:
            raise
        except ShloDiscError as error:
            report, found = CheckReport(0, 0, 1, (f"seed {seed}: {error}",), None), _NOTHING_FOUND
        counts = report.agreed, report.refused, report.nothing
        spent = time.monotonic() - started, max(0.0, self._processor_seconds() - before)
        return Examined(seed, family, together, *counts, *spent, *found, notes=report.notes)

    def _plan(self, seed: int, family: str) -> CheckPlan:
        is_pooled = target_named(self.settings.config.device).has_thread_pool
        return CheckPlan(
            random=self.settings.calls,
            largest=_LARGEST_ELSEWHERE,
            seed=seed,
            distributions=_OF_JAX if family == "jax" else tuple(DISTRIBUTIONS),
            seconds=self.settings.shrink,
            thresholds=is_pooled,
            xla_calls=1,
            dearest=_DEAREST,
        )

    def _where(self, doing: _Doing) -> str:
        """What was done when the patience ended, and where the other process was."""
        interrupted = self.ways.interrupted if isinstance(self.ways, Worker) else None
        if interrupted is None:
            return doing.what and f": {doing.what}"
        return f": {doing.what}, {interrupted}" + (f"\n{interrupted.traceback}" if interrupted.traceback else "")

    def _processor_seconds(self) -> float:
        others = self.ways.processor_seconds if isinstance(self.ways, Worker) else 0.0
        return time.process_time() + others


@dataclass(slots=True)
class _Doing:
    """What is being done with a module."""

    what: str = ""

    def show(self, what: str, done: int, total: int) -> None:
        self.what = f"call {done + 1} of {total} ({what})" if total else what


class _EndlessError(BaseException):
    """The time limit is exceeded. No `except Exception` takes it for an error of the program."""


@contextmanager
def _limited(seconds: float, spent: Callable[[], float]) -> Generator[None]:
    """Raise `_EndlessError` in the main thread after so many seconds; other processes have their own limits.

    Where others use the processors, too, wait up to five times as long for as many seconds of `spent`, unless nothing
    is computed.
    """
    ends, start = time.monotonic() + 0.99 * PATIENT * seconds, spent()
    last = start

    def stop(_signal: int, _frame: object) -> None:
        nonlocal last
        before, last = last, spent()
        if last - start >= seconds or last - before < IDLE * seconds or time.monotonic() >= ends:
            raise _EndlessError
        signal.setitimer(signal.ITIMER_REAL, seconds)

    handler = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


_Found: TypeAlias = tuple[str, str, str, str, tuple[str, ...]]  # failure, description, folder, command, ops
_NOTHING_FOUND: _Found = ("", "", "", "", ())
_jobs = list[Job]()  # the one job of this process


def _begin(settings: Settings) -> None:
    _jobs.append(Job(settings, Worker(settings.config, settings.timeout, fast_xla=True)))


def _examine(seed: int, count: int | None) -> Examined:
    return _jobs[0].examine(seed, count)


def _broken(error: InternalError, text: str, settings: Settings, seed: int) -> _Found:
    """Report a program that this process fails to read, legalize or print; it is saved as it is."""
    folder = settings.out / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "program.mlir").write_text(text, encoding="utf-8")
    (folder / "report.txt").write_text("".join(format_exception(error)), encoding="utf-8")
    command = f"python -m shlo_disc check {folder / 'program.mlir'}"
    return str(error).partition("\n")[0], str(error), str(folder), command, ()


def _found(finding: Finding | None, judge: Judge, settings: Settings, seed: int) -> _Found:
    if finding is None:
        return _NOTHING_FOUND
    folder = settings.out / f"seed-{seed}"
    command = save(finding.shrunk, folder, judge, settings.config)
    (folder / "report.txt").write_text(str(finding))
    ops = tuple(sorted({op.name for op in finding.shrunk.case.module.walk()}))
    return str(finding.failure), str(finding), str(folder), command, ops
