"""Run another program, with a time limit."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from shlo_disc.records import record

_LINES, _COLUMNS = 40, 400  # of a program's output, in errors


@record
class Finished:
    """A program that ended: its exit status (or minus the number of a signal), and all that it wrote."""

    status: int
    output: bytes
    errors: bytes

    @property
    def ending(self) -> str:
        """How it ended, in words.

        >>> Finished(1, b"", b"").ending, Finished(-9, b"", b"").ending
        ('exit status 1', 'killed by SIGKILL')
        """
        if self.status >= 0:
            return f"exit status {self.status}"
        known = {each.value: each.name for each in signal.Signals}
        return f"killed by {known.get(-self.status, f'signal {-self.status}')}"


def run(
    command: Sequence[str],
    *,
    seconds: float | None,
    data: bytes | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Finished:
    """Run a program in a folder, with `data` as its input, else none.

    Raises `MemoryError`, `OSError` or `ValueError` if it cannot be started, `TimeoutError` after `seconds`. Then, as
    after any other exception, it and all that it started are killed: they are a group of processes.
    """
    with _started(command, has_input=data is not None, environment=environment, folder=folder) as process:
        try:
            output, errors = process.communicate(data, timeout=seconds)
        except BaseException as error:
            with suppress(ProcessLookupError, PermissionError):  # all of them have just ended
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if isinstance(error, subprocess.TimeoutExpired):
                raise TimeoutError(f"no end after {seconds:g} s") from None
            raise
    return Finished(process.returncode, output, errors)


def _started(
    command: Sequence[str], *, has_input: bool, environment: Mapping[str, str] | None, folder: Path | None
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE if has_input else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            cwd=folder,
            process_group=0,
        )
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise MemoryError(f"no memory to start {command[0]}") from error
        raise


def shown(said: bytes) -> str:
    r"""The first lines of a program's output, for an error, whatever bytes they are.

    >>> shown(b"one\n" + b"\xff" * 1000)[:8]
    'one\n����'
    """
    lines = said[: _LINES * _COLUMNS * 4].decode(errors="replace").splitlines()
    cut = [line if len(line) <= _COLUMNS else f"{line[:_COLUMNS]}…" for line in lines[:_LINES]]
    return "\n".join(cut if len(lines) <= _LINES else [*cut, "…"])
