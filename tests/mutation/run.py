"""Put faults into copies of the compiler, one at a time, and see which of them the tests miss.

    python -m tests.mutation.run                          all faults
    python -m tests.mutation.run --sample 4 --seed 17     four of them
    python -m tests.mutation.run --only merge-not-stable parts-overlap

Every fault gets the quick suite that it names. It is caught if a test fails, the process dies, or a test hangs. Faults
are sorted by suites, and each suite has to pass without a fault first. The exit code is 1 if a fault survives.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from pathlib import Path
from queue import SimpleQueue
from random import Random, SystemRandom

from rich.progress import track

from tests.mutation.fault import SUITES, Fault
from tests.mutation.faults import FAULTS

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("shlo_disc", "tests", "examples", "benchmarks", "tools")
SECONDS = 600.0  # for a suite: a fault may make it hang
FAILED, NO_TESTS = 1, 5  # pytest's exit codes


class Verdict(Enum):
    """What became of a fault."""

    CAUGHT = "caught"
    SURVIVED = "survived"
    UNUSABLE = "unusable"  # the suite could not run, so it says nothing


@dataclass(frozen=True, slots=True)
class Outcome:
    """A fault's verdict, the first test that failed (or how the process ended), and the seconds that took."""

    fault: Fault
    verdict: Verdict
    told: str
    seconds: float


def run_suite(tree: Path, suite: str) -> tuple[int, str]:
    """The exit code of a suite in a tree, negative if a signal ended it, and its last lines. A hang ends by SIGKILL."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *SUITES[suite]]
    environment = {**os.environ, "PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(tree.parent / "cache")}
    with subprocess.Popen(
        command,
        cwd=tree,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            text, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
        return process.returncode, text


def judge(fault: Fault, tree: Path) -> Outcome:
    """Put a fault into a tree, run its suite, and take it out again."""
    path, start = tree / "shlo_disc" / fault.file, time.perf_counter()
    text = path.read_text()
    path.write_text(fault.applied_to(text))
    try:
        code, printed = run_suite(tree, fault.suite)
    finally:
        path.write_text(text)
    failures = [line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if code in (0, FAILED) or code < 0:
        verdict = Verdict.SURVIVED if code == 0 else Verdict.CAUGHT
        told = failures[0] if failures else "" if code == 0 else f"exit {code}"
    else:
        verdict, told = Verdict.UNUSABLE, "\n".join(printed.splitlines()[-5:])
    return Outcome(fault, verdict, told, time.perf_counter() - start)


def copy_tree(target: Path) -> Path:
    """The sources, without what was built from them."""
    for name in COPIED:
        shutil.copytree(ROOT / name, target / name, ignore=shutil.ignore_patterns("__pycache__", "results"))
    shutil.copyfile(ROOT / "pyproject.toml", target / "pyproject.toml")
    for page in ("README.md", "CHANGELOG.md", "docs"):
        (target / page).symlink_to(ROOT / page)
    return target


def outcomes(faults: Sequence[Fault], jobs: int) -> Iterator[Outcome]:
    """The verdicts of faults, several at a time, each in a tree of its own."""
    with tempfile.TemporaryDirectory(prefix="shlo_disc_mutation_") as folder:
        trees = SimpleQueue[Path]()
        for number in range(jobs):
            tree = Path(folder) / f"worker{number}" / "tree"
            tree.mkdir(parents=True)
            trees.put(copy_tree(tree))

        def one(fault: Fault) -> Outcome:
            tree = trees.get()
            try:
                return judge(fault, tree)
            finally:
                trees.put(tree)

        with ThreadPoolExecutor(jobs) as pool:
            for suite, group in groupby(sorted(faults, key=_suite_of), _suite_of):
                check_without_faults(suite, trees)
                yield from pool.map(one, group)


def check_without_faults(suite: str, trees: SimpleQueue[Path]) -> None:
    """Raise `SystemExit` if a suite fails in a tree without a fault."""
    tree = trees.get()
    code, printed = run_suite(tree, suite)
    trees.put(tree)
    if code != 0:
        raise SystemExit(f"suite {suite} fails without a fault, so it says nothing about one:\n{printed[-4000:]}")


def _suite_of(fault: Fault) -> str:
    return fault.suite


def chosen(only: Sequence[str], sample: int | None, seed: int) -> list[Fault]:
    """The faults to try. Raises `SystemExit` for a name that there is none of."""
    if unknown := set(only) - {fault.name for fault in FAULTS}:
        raise SystemExit(f"found no fault named {', '.join(sorted(unknown))}: see tests/mutation/faults.py")
    faults = [fault for fault in FAULTS if not only or fault.name in only]
    return faults if sample is None else Random(seed).sample(faults, min(sample, len(faults)))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a line for each fault, then how many there were; 1 if any was not caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="names of faults")
    parser.add_argument("--suite", choices=sorted(SUITES), help="those of one suite")
    parser.add_argument("--sample", type=int, help="so many of them, by chance")
    parser.add_argument("--seed", type=int, default=SystemRandom().randrange(1 << 31), help="of the sample")
    parser.add_argument("--jobs", type=int, default=2, help="suites at a time")
    given = parser.parse_args(arguments)
    faults = chosen(given.only, given.sample, given.seed)
    faults = [fault for fault in faults if given.suite in (None, fault.suite)]
    if given.sample is not None:
        print(f"{len(faults)} of {len(FAULTS)} faults; the same ones: --sample {given.sample} --seed {given.seed}")
    found = list[Outcome]()
    shown = track(outcomes(faults, given.jobs), "faults", total=len(faults), disable=not sys.stderr.isatty())
    for outcome in shown:
        found.append(outcome)
        fault = outcome.fault
        print(
            f"{outcome.verdict.value:9} {outcome.seconds:6.1f} s  {fault.name} [{fault.suite}]  {outcome.told}",
            flush=True,
        )
    missed = [outcome for outcome in found if outcome.verdict is not Verdict.CAUGHT]
    print(f"{len(found) - len(missed)} of {len(found)} faults caught")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
