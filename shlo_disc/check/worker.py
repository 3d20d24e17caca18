"""Run programs in a separate process, so that crashes and hangs become outcomes."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO, Literal, TypeVar, assert_never, cast

import numpy as np

from shlo_disc import codec
from shlo_disc.check.running import Array, BuildConfig, InProcess, Outcome, Stop, standard_ways
from shlo_disc.diagnostics import printable
from shlo_disc.host_ir import Constant
from shlo_disc.ir.core import Module
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from shlo_disc.records import record
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.memory import POOL

COMMAND = "from shlo_disc.check.worker import serve; serve()"
_MODULES_KEPT = 8

_ERRORS_READ = 1 << 16  # bytes, from the end of what a process wrote to its standard error
_LENGTH = 8  # bytes of a message's length prefix
_LONGEST = 1 << 34  # bytes of a message, at most
_T = TypeVar("_T")
PATIENT = 5  # times a time limit passes at most, on a machine that is shared, before that much processor time is used
IDLE = 0.02  # of that time: what computes less than this waits for something
_TELL = signal.SIGUSR1  # makes a process write where it is
_TELLING = 2.0  # seconds that it has for it
_FRAME = re.compile(r'  File ".*/(?P<file>shlo_disc/[^"]+)", line (?P<line>\d+) in (?P<function>.+)')


@record
class _Start:
    """The first message to the process: its configuration."""

    config: BuildConfig
    fast_xla: bool


@record
class _Request:
    """A call of a method of `InProcess`. `first` and `last`: the half-open range of run numbers."""

    method: Literal["run", "samples", "deviation"]
    way: str
    text: str
    inputs: tuple[Constant, ...]
    result: int = 0
    first: int = 0
    last: int = 0


@record
class _Answer:
    """The result of a request."""

    stop: Stop | None = None
    arrays: tuple[Constant, ...] = ()
    text: str = ""


@record
class Interrupted:
    """What a process did when it was stopped."""

    what: str
    seconds: float  # since it was asked
    processor: float  # seconds of processors in that time: few if it waits
    traceback: str

    def __str__(self) -> str:
        """One line, with the innermost of our functions."""
        frames = (_FRAME.match(line) for line in self.traceback.splitlines())
        ours = next((f", in {x['function']} ({x['file']}, line {x['line']})" for x in frames if x is not None), "")
        return f"{self.what} for {self.seconds:.0f} s, {self.processor:.0f} s of processors{ours}"


class Worker:
    """`Ways` in another process, which is started on demand, and again after a crash or a timeout."""

    def __init__(self, config: BuildConfig, seconds: float, *, fast_xla: bool = False) -> None:
        """`seconds`: the timeout of one request. `fast_xla`: XLA compiles with little optimization."""
        self._config, self._fast_xla = config, fast_xla
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by __exit__); all processes write to it
        self._spent = 0.0  # processor seconds of the processes that have ended
        self.interrupted: Interrupted | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        self._errors.close()

    @property
    def processor_seconds(self) -> float:
        """CPU time of all its processes and of the compilers that they ran; 0 without /proc."""
        with contextlib.suppress(OSError):
            if self._process is not None:
                fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
                return self._spent + sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
        return self._spent

    def run(self, way: str, module: Module, inputs: Sequence[Array]) -> Outcome:
        """Run a module in one way."""
        answer = self._ask(_Request("run", way, _text(module), _plain(inputs)))
        return _arrays(answer.arrays) if answer.stop is None else answer.stop

    def samples(
        self, way: str, module: Module, inputs: Sequence[Array], result: int, numbers: range
    ) -> Sequence[Array]:
        """Give one result of runs of the reference, each with different rounding that is legal for `way`.

        Gives nothing if the reference cannot run. Raises `TimeoutError` if it takes too long.
        """
        plain, text = _plain(inputs), _text(module)
        found = self._ask(_Request("samples", way, text, plain, result, numbers.start, numbers.stop))
        if found.stop is not None and found.stop.kind == "timeout":
            raise TimeoutError(found.stop.message)
        return _arrays(found.arrays)

    def deviation(self, way: str, module: Module, inputs: Sequence[Array]) -> str:
        """Give the known reason why a way may break the specification for these inputs; else an empty text."""
        return self._ask(_Request("deviation", way, _text(module), _plain(inputs))).text

    def _ask(self, request: _Request) -> _Answer:
        self.interrupted = None
        process = self._process or self._started()
        since, before = time.monotonic(), self.processor_seconds

        def interrupted() -> Interrupted:
            spent = time.monotonic() - since, self.processor_seconds - before
            return Interrupted(_spell_request(request), *spent, self._traceback())

        stdin, stdout = cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)
        try:
            _send(stdin, request)
            if not self._answers(stdout, before):
                late = interrupted()
                self._stop()
                return _Answer(Stop("timeout", f"no result after {self.seconds:g} seconds: {late}"))
            return _receive(stdout, _Answer)
        except (EOFError, BrokenPipeError):
            self._spent = self.processor_seconds  # unknown once the process is waited for
            code = process.wait()
            self._stop()
            return _Answer(Stop("crash", f"the process ended with {_spell_code(code)}{self._last_error()}"))
        except codec.DamagedError as error:
            self._stop()
            return _Answer(Stop("crash", f"the process answered with damaged data: {error}"))
        except BaseException as error:  # a late answer would be read as the answer to the next request
            try:
                if not isinstance(error, Exception | KeyboardInterrupt):
                    self.interrupted = interrupted()
            finally:
                self._stop()
            raise

    def _answers(self, stdout: IO[bytes], before: float) -> bool:
        """Wait for an answer: longer than the timeout as long as the process computes, and has had less time for it."""
        for _ in range(PATIENT):
            last = self.processor_seconds
            if select.select([stdout], [], [], self.seconds)[0]:
                return True
            now = self.processor_seconds
            if now - last < IDLE * self.seconds or now - before >= self.seconds:
                break
        return False

    def _traceback(self) -> str:
        """The innermost Python frames of the threads of the process, wherever they are; empty if it does not say."""
        process = self._process
        if process is None or process.poll() is not None:
            return ""
        before = self._errors.seek(0, os.SEEK_END)
        process.send_signal(_TELL)
        end = time.monotonic() + _TELLING
        size, grown = before, True
        while time.monotonic() < end and (grown or size == before):  # until it has grown, and does no more
            time.sleep(0.1)
            last, size = size, self._errors.seek(0, os.SEEK_END)
            grown = size > last
        self._errors.seek(before)
        return self._errors.read().decode(errors="replace")

    def _last_error(self) -> str:
        """The line of standard error that explains why the process ended, if there is one."""
        self._errors.seek(max(0, self._errors.seek(0, os.SEEK_END) - _ERRORS_READ))
        lines = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        telling = [line for line in lines if "runtime error:" in line or "SUMMARY:" in line] or lines
        self._errors.seek(0)
        self._errors.truncate()
        return f": {printable(telling[-1])}" if telling else ""

    def _started(self) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors
        )
        _send(cast("IO[bytes]", process.stdin), _Start(self._config, self._fast_xla))
        self._process = process
        return process

    def _stop(self) -> None:
        if self._process is not None:
            self._spent = self.processor_seconds
            self._process.kill()  # has no effect if it has ended
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                with contextlib.suppress(BrokenPipeError):
                    cast("IO[bytes]", stream).close()
            self._process = None


def _spell_request(request: _Request) -> str:
    if request.method == "samples":
        return f"legal runs {request.first} to {request.last - 1} of result {request.result} for {request.way}"
    return f"{'a run' if request.method == 'run' else 'known deviations'} of {request.way}"


def _send(stream: IO[bytes], message: object) -> None:
    data = codec.encode(type(message), message)
    stream.write(len(data).to_bytes(_LENGTH, "little"))
    stream.write(data)
    stream.flush()


def _receive(stream: IO[bytes], kind: type[_T]) -> _T:
    """Read the next message. Raises `EOFError` if it is missing or incomplete."""
    count = int.from_bytes(_exactly(stream, _LENGTH), "little")
    if count > _LONGEST:
        raise codec.DamagedError(f"found a message of {count} bytes, expected at most {_LONGEST}")
    return codec.decode(kind, _exactly(stream, count))


def _exactly(stream: IO[bytes], count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data


def _plain(arrays: Sequence[Array]) -> tuple[Constant, ...]:
    return tuple([Constant(array.dtype.name, array.shape, array.tobytes()) for array in arrays])


def _arrays(constants: Sequence[Constant]) -> tuple[Array, ...]:
    """Decode into writable arrays."""
    return tuple([np.frombuffer(bytearray(x.data), dtype_of(x.dtype)).reshape(x.shape) for x in constants])


@lru_cache(_MODULES_KEPT)
def _text(module: Module) -> str:
    return print_module(module)


def _spell_code(code: int) -> str:
    """Describe how a process ended.

    >>> _spell_code(-11), _spell_code(3)
    ('signal SIGSEGV', 'exit code 3')
    """
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def serve() -> None:
    """Answer requests until the input ends; what programs print goes to standard error."""
    faulthandler.register(_TELL)
    source, target = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    POOL.poisons = True  # reads of uninitialized memory must not give right results by chance
    start = _receive(source, _Start)
    ways = InProcess(standard_ways(start.config, fast_xla=start.fast_xla), start.config.device)
    modules = dict[str, Module]()
    while True:
        try:
            request = _receive(source, _Request)
        except EOFError:
            return
        if request.text not in modules:
            if len(modules) >= _MODULES_KEPT:
                modules.pop(next(iter(modules)))
            modules[request.text] = parse_module(request.text, "<program>")
        _send(target, _answer(ways, request, modules[request.text]))


def _answer(ways: InProcess, request: _Request, module: Module) -> _Answer:
    inputs = _arrays(request.inputs)
    match request.method:
        case "run":
            found = ways.run(request.way, module, inputs)
            return _Answer(stop=found) if isinstance(found, Stop) else _Answer(arrays=_plain(found))
        case "samples":
            numbers = range(request.first, request.last)
            return _Answer(arrays=_plain(ways.samples(request.way, module, inputs, request.result, numbers)))
        case "deviation":
            return _Answer(text=ways.deviation(request.way, module, inputs))
        case _:
            assert_never(request.method)
