"""Give programs to a child process, start it again when it dies, and say what each program came to."""

from __future__ import annotations

import json
import re
import select
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Literal, cast

from shlo_disc.processes import Finished
from tests.hostile.child import GO, Answer, Request

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "from tests.hostile.child import serve; serve()"
START = 60.0  # seconds of the clock for a new process, beside those of its first program
MUCH = 10**5  # a program that names such a number may take long: it counts turns, or elements

Kind = Literal["refused", "ran", "long", "foreign", "died", "hung"]
FINDINGS: frozenset[Kind] = frozenset({"foreign", "died", "hung"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a program. `long`: it asks for a lot of work, and its calls did not end in time."""

    kind: Kind
    message: str = ""

    @property
    def is_finding(self) -> bool:
        """Whether this is a fault of the compiler."""
        return self.kind in FINDINGS


class Net:
    """Tries programs in a process with limits, which is started when there is none."""

    def __init__(self, cache: Path, seconds: float, *, prepare: str = "") -> None:
        """Keep the cache in a folder. A program may take `seconds` of processor time, four times as long by the clock.

        `prepare` is Python that the child runs first.
        """
        self._cache, self.seconds, self._prepare = cache, seconds, prepare
        self._process: subprocess.Popen[bytes] | None = None
        self._said = cache / "said.txt"
        self.starts = 0

    def attempt(self, text: str, seed: int, driver: Literal["c", "vm"] = "c") -> Outcome:
        """Compile and call one program."""
        patience = 4 * self.seconds
        if self._process is None:
            self._start()
            patience += START
        process = cast("subprocess.Popen[bytes]", self._process)
        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        step = "compilation"
        try:
            stdin.write(json.dumps(asdict(Request(text, seed, self.seconds, driver))).encode() + b"\n")
            stdin.flush()
            while True:
                if not select.select([stdout], [], [], patience)[0]:
                    self.stop()
                    return self._late(text, step, f"no end after {patience:g} s of the {step}")
                line = stdout.readline()
                if not line.endswith(b"\n"):
                    break
                answer = Answer(**json.loads(line))
                if answer.outcome != "compiled":
                    return Outcome(answer.outcome, answer.message)
                stdin.write(GO)  # so that there is one answer at a time to wait for
                stdin.flush()
                step = "calls"
        except BrokenPipeError:
            pass
        return self._death(text, step)

    def _death(self, text: str, step: str) -> Outcome:
        process = cast("subprocess.Popen[bytes]", self._process)
        ending = Finished(process.wait(), b"", b"").ending
        said = self._said.read_bytes()[-4000:].decode(errors="replace")
        self.stop()
        if "SIGXCPU" in ending:
            return self._late(text, step, f"more than {self.seconds:g} s of processor time in the {step}")
        return Outcome("died", f"{ending} in the {step}\n{said}")

    def _late(self, text: str, step: str, message: str) -> Outcome:
        return Outcome("long" if step == "calls" and asks_for_much(text) else "hung", message)

    def _start(self) -> None:
        self.starts += 1
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-c", f"{self._prepare}\n{COMMAND}", str(self._cache / "cache")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                cwd=ROOT,
            )

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            for stream in (self._process.stdin, self._process.stdout):
                with suppress(BrokenPipeError):
                    cast("IO[bytes]", stream).close()
            self._process.kill()
            self._process.wait()
            self._process = None


@contextmanager
def net(seconds: float, *, prepare: str = "") -> Generator[Net]:
    """Open a net with a cache of its own, and close it."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as cache:
        one = Net(Path(cache), seconds, prepare=prepare)
        try:
            yield one
        finally:
            one.stop()


def asks_for_much(text: str) -> bool:
    """Whether the calls of a program may rightly take very long: it has loops, or numbers that are large.

    >>> asks_for_much("tensor<2147483648xf32>"), asks_for_much("tensor<4xf32>")
    (True, False)
    """
    return "while" in text or any(int(found) > MUCH for found in re.findall(r"\d{6,30}", text))
