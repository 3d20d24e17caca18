"""Run the test suites of other libraries with `jax.jit`, and again with `shlo_disc.jit` in its place.

    python -m benchmarks.compat [optax equinox] [--sources DIR] [--modules PATTERN] [--keep DIR] [--json FILE]

The sources of a release are cloned into `--keep`, unless `--sources` has a folder of each name. The Python that runs
this needs what the libraries need (optax: chex; equinox: beartype, jaxtyping, pytest), not the libraries. Every module
of tests runs in a process of its own. `--keep` also holds what was found: modules that were run before are not run
again. Printed: how many tests pass with `jax.jit`, how many of these with `shlo_disc.jit`, and why the others do not.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.timing import ROOT

GOAL = 0.95  # of the tests that pass with jax.jit
JITS = ("jax", "shlo_disc")


@dataclass(frozen=True, slots=True)
class Suite:
    """A library's tests: the release, where it is, which files are tests, and what the tests need besides."""

    name: str
    url: str
    tag: str
    tests: str
    options: tuple[str, ...] = ()

    def modules(self, source: Path) -> list[str]:
        """The files of tests, relative to the sources."""
        return sorted([str(one.relative_to(source)) for one in source.glob(self.tests)])


SUITES = {
    "optax": Suite("optax", "https://github.com/google-deepmind/optax", "v0.2.8", "optax/**/*_test.py"),
    "equinox": Suite("equinox", "https://github.com/patrick-kidger/equinox", "v0.13.8", "tests/test_*.py"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a test: "passed", "failed", "error", "skipped" or "died" (the process did)."""

    outcome: str
    reason: str
    seconds: float


Outcomes = Mapping[str, Outcome]  # by the names of tests


@dataclass(frozen=True, slots=True)
class Comparison:
    """A suite with both. `reasons`: those tests that only `jax.jit` passes, by reason."""

    suite: str
    tag: str
    tests: int
    passed: int
    both: int
    seconds: dict[str, float]
    reasons: dict[str, list[str]]

    @property
    def rate(self) -> float:
        """How many of the tests that pass with `jax.jit` pass with `shlo_disc.jit`."""
        return self.both / self.passed if self.passed else 1.0


def main() -> int:
    """Run the suites and print the table; 0 if each reaches the goal."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", default=[*SUITES], choices=[*SUITES])
    parser.add_argument("--sources", type=Path, help="a folder with the sources of each library")
    parser.add_argument("--keep", type=Path, help="a folder for sources and results; none: a temporary one")
    parser.add_argument("--modules", default="*", help="which files of tests, such as '*lbfgs*'")
    parser.add_argument("--jits", default=",".join(JITS), help="run anew: jax, shlo_disc or both")
    parser.add_argument("--seconds", type=float, default=300, help="that one test may take")
    parser.add_argument("--json", type=Path, help="write what was found")
    args = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as temporary:
        keep: Path = (args.keep or Path(temporary)).resolve()
        found = list[Comparison]()
        for suite in [SUITES[name] for name in args.suites]:
            source = fetched(suite, keep if args.sources is None else args.sources.resolve())
            for module in [one for one in suite.modules(source) if fnmatch(one, args.modules)]:
                for jit in args.jits.split(","):
                    run_module(suite, source, (module, jit, args.seconds), keep / "results", console)
            found.append(compared(suite, keep / "results"))
    show(found, console)
    if args.json:
        args.json.write_text(json.dumps(record(found), indent=1) + "\n")
    return int(any(one.rate < GOAL for one in found))


def fetched(suite: Suite, folder: Path) -> Path:
    """The sources of a suite; they are cloned if the folder does not have them."""
    source = folder / suite.name
    if not source.exists():
        folder.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "-q", "--depth=1", f"--branch={suite.tag}", suite.url, str(source)], check=True)
    return source


def run_module(suite: Suite, source: Path, run: tuple[str, str, float], results: Path, console: Console) -> None:
    """Run a module of tests with one of both, unless it was run before."""
    module, jit, _ = run
    path = results / suite.name / jit / (module.replace("/", "__") + ".jsonl")
    if path.exists():
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    partial = path.with_suffix(".partial")
    partial.write_text("")
    while not _ran_to_the_end(suite, source, run, partial):
        pass
    partial.rename(path)
    counts = Counter(one.outcome for one in read_outcomes([path]).values())
    shown = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    took = time.monotonic() - started
    console.print(f"{jit:9} {module}: {shown or 'no tests, see the log'} ({took:.0f} s)", highlight=False)


def _ran_to_the_end(suite: Suite, source: Path, run: tuple[str, str, float], results: Path) -> bool:
    """Run the tests that are not done; false if the process died in one of them, which is done then."""
    module, jit, seconds = run
    done = results.with_suffix(".done")
    done.write_text("\n".join(read_outcomes([results])))
    environment = {
        **os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{source}:{ROOT}",
        "COMPAT_JIT": jit, "COMPAT_RESULTS": str(results), "COMPAT_DONE": str(done), "COMPAT_SECONDS": str(seconds),
    }  # fmt: skip
    command = [sys.executable, "-m", "pytest", "-q", "-p", "benchmarks.compat_plugin", "-p", "no:cacheprovider"]
    command += ["--rootdir", str(source), *suite.options, module]
    with results.with_suffix(".log").open("w") as log:
        code = subprocess.run(command, cwd=source, env=environment, stdout=log, stderr=log, check=False).returncode
    done.unlink()
    hanging = [name for name, one in read_outcomes([results]).items() if one.outcome == "began"]
    with results.open("a") as file:
        for name in hanging:
            file.write(json.dumps({"test": name, "outcome": "died", "reason": f"the process ended with {code}"}) + "\n")
    return not hanging


def read_outcomes(paths: Sequence[Path]) -> dict[str, Outcome]:
    """What became of the tests; "began" for one that has not ended."""
    found = dict[str, Outcome]()
    for line in [line for path in paths if path.exists() for line in path.read_text().splitlines()]:
        note: dict[str, Any] = json.loads(line)
        before = found.get(note["test"], Outcome("began", "", 0.0))
        outcome, reason, seconds = before.outcome, before.reason, note.get("seconds", before.seconds)
        # A failure of the clean-up stays a failure of the test.
        if note["outcome"] not in {"began", "ended"} and outcome in {"began", "passed"}:
            outcome, reason = note["outcome"], note.get("reason", "")
        found[note["test"]] = Outcome(outcome, reason, seconds)
    return found


def compared(suite: Suite, results: Path) -> Comparison:
    """What both found."""
    files = {jit: sorted((results / suite.name / jit).glob("*.jsonl")) for jit in JITS}
    both = {one.name for one in files["jax"]} & {one.name for one in files["shlo_disc"]}
    jax, ours = (read_outcomes([one for one in files[jit] if one.name in both]) for jit in JITS)
    passed = [name for name, one in jax.items() if one.outcome == "passed"]
    reasons = defaultdict[str, list[str]](list)
    missing = Outcome("error", "not collected", 0.0)
    for name in passed:
        if (one := ours.get(name, missing)).outcome != "passed":
            reasons[one.reason or one.outcome].append(name)
    return Comparison(
        suite.name, suite.tag, len(jax), len(passed), len(passed) - sum(map(len, reasons.values())),
        {jit: round(sum(one.seconds for one in found.values())) for jit, found in (("jax", jax), ("shlo_disc", ours))},
        dict(sorted(reasons.items(), key=lambda item: -len(item[1]))),
    )  # fmt: skip


def show(found: Sequence[Comparison], console: Console) -> None:
    """Print the tables."""
    table = Table("suite", "tests", "pass with jax.jit", "of these with shlo_disc.jit", "seconds with each")
    for one in found:
        seconds = ", ".join(f"{value:.0f}" for value in one.seconds.values())
        table.add_row(
            f"{one.suite} {one.tag}", f"{one.tests}", f"{one.passed}", f"{one.both} ({one.rate:.1%})", seconds
        )
    console.print(table)
    for one in found:
        for reason, names in one.reasons.items():
            console.print(f"{one.suite}: {len(names)} x {escape(reason)}", highlight=False)
            for name in names[:3]:
                console.print(f"    {escape(name)}", highlight=False)


def record(found: Sequence[Comparison]) -> dict[str, Any]:
    """What is written as JSON."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True)
    today = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return {"date": today, "commit": commit.stdout.strip(), "suites": [asdict(one) for one in found]}


if __name__ == "__main__":
    sys.exit(main())
