"""Compile and call programs that were changed at random; what is neither a result nor an error of ours is a finding.

    python -m tests.hostile.run --count 2000 --seed random --jobs 2 --out build/hostile

Results, errors of `ShloDiscError`'s family and `MemoryError` are right. Findings (another exception, `InternalError`,
the death of the process, no end) are written to files of the folder: the program, and how to try it again. The exit
code is 1 if there is one. `--again FILE` tries a file.
"""

from __future__ import annotations

import argparse
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from random import Random, SystemRandom
from threading import Lock
from typing import Literal

from shlo_disc.progress import Bar
from tests.hostile.changes import mutants
from tests.hostile.net import Net, Outcome, net
from tests.parse.samples import GENERIC, PRETTY, program

LONGEST = 4000  # characters of a program that is changed
SECONDS = 20.0  # of processor time for a program
DRIVERS: Sequence[Literal["c", "vm"]] = ("c", "c", "c", "vm")


def sources(corpus: Path) -> list[str]:
    """The short programs of the corpus' archives, if it is there, and those of the parser's tests."""
    texts = [program(sample) for sample in (*PRETTY, *GENERIC)]
    for archive in sorted(corpus.glob("*.tar.xz")):
        if archive.name == "models.tar.xz":
            continue
        with tarfile.open(archive) as tar:
            members = [each for each in tar if each.name.endswith(".mlir") and each.size <= LONGEST]
            files = [tar.extractfile(each) for each in members]
            texts.extend([file.read().decode() for file in files if file is not None])
    return texts


class Campaign:
    """Counts what became of the mutants, and keeps the findings."""

    def __init__(self, out: Path, count: int) -> None:
        """Write findings to the folder `out`; `count` mutants are to come."""
        self._out, self._count, self._lock = out, count, Lock()
        self.found: Counter[str] = Counter()

    def note(self, text: str, outcome: Outcome, name: str, driver: str, bar: Bar) -> None:
        """Count one; write it down if it is a finding, or took too long."""
        with self._lock:
            self.found[outcome.kind] += 1
            if outcome.is_finding or outcome.kind == "long":
                folder = self._out if outcome.is_finding else self._out / "long"
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{name}.mlir"
                path.write_bytes(text.encode("utf-8", "surrogatepass"))
                again = f"python -m tests.hostile.run --again {path} --seed {name} --driver {driver}"
                path.with_suffix(".txt").write_text(f"{outcome.kind}: {outcome.message}\n\n{again}\n")
                if outcome.is_finding:
                    print(f"{path}: {outcome.kind}: {outcome.message.partition(chr(10))[0][:300]}", flush=True)
            bar.show(f"{self.findings} findings", self.found.total(), self._count)

    @property
    def findings(self) -> int:
        """How many findings there are."""
        return sum(self.found[kind] for kind in ("foreign", "died", "hung"))

    def summary(self, seconds: float) -> str:
        """Say it in a line."""
        found = self.found
        counted = (
            f"{found.total()} mutants: {found['refused']} refused, {found['ran']} ran, {found['long']} too long a task"
        )
        return f"{counted}, {self.findings} findings; {found.total() / max(seconds, 1e-9):.1f} a second"


def tried(one: Net, texts: Sequence[str], seed: str, numbers: Iterator[int]) -> Iterator[tuple[int, str, str, Outcome]]:
    """Try mutants of some numbers: those of a number are the same in every run with the seed."""
    for number in numbers:
        rng = Random(f"{seed}.{number}")
        text = next(islice(mutants(rng, texts), 1))
        driver = rng.choice(DRIVERS)
        yield number, text, driver, one.attempt(text, number, driver)


def campaign(given: argparse.Namespace, seed: str) -> Campaign:
    """Try all mutants, in several processes at once."""
    texts, one = sources(given.corpus), Campaign(given.out, given.count)
    end = time.monotonic() + given.minutes * 60 if given.minutes else float("inf")

    def work(job: int) -> None:
        with net(given.limit) as child:
            numbers = (k for k in range(job, given.count, given.jobs) if time.monotonic() < end)
            for number, text, driver, outcome in tried(child, texts, seed, numbers):
                one.note(text, outcome, f"{seed}.{number}", driver, bar)

    with Bar() as bar, ThreadPoolExecutor(given.jobs) as pool:
        for done in [pool.submit(work, job) for job in range(given.jobs)]:
            done.result()
    return one


def main(arguments: Sequence[str]) -> int:
    """Run what the command line says."""
    options = argparse.ArgumentParser(prog="python -m tests.hostile.run", description=(__doc__ or "").splitlines()[0])
    options.add_argument("--count", type=int, default=2000, help="mutants (2000)")
    options.add_argument("--minutes", type=float, help="end earlier, after so many")
    options.add_argument("--seed", default="random", help="of the mutants; random takes one at random, and prints it")
    options.add_argument("--jobs", type=int, default=1, help="processes (1)")
    options.add_argument("--limit", type=float, default=SECONDS, help="seconds of processor time for a mutant (20)")
    options.add_argument("--corpus", type=Path, default=Path("../shared/corpus"), help="the folder of its archives")
    options.add_argument("--out", type=Path, default=Path("build/hostile"), help="where findings go")
    options.add_argument("--again", type=Path, help="try this file instead")
    options.add_argument("--driver", choices=("c", "vm"), default="c", help="with --again")
    given = options.parse_args(arguments)
    if given.again is not None:
        with net(given.limit) as child:
            text = given.again.read_bytes().decode("utf-8", "surrogatepass")
            outcome = child.attempt(
                text, int(given.seed.rpartition(".")[2] or 0) if "." in given.seed else 0, given.driver
            )
        print(f"{outcome.kind}: {outcome.message}")
        return outcome.is_finding
    seed = str(SystemRandom().randrange(10**6)) if given.seed == "random" else given.seed
    print(f"seed {seed}", flush=True)
    started = time.monotonic()
    one = campaign(given, seed)
    print(one.summary(time.monotonic() - started))
    return one.findings > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
