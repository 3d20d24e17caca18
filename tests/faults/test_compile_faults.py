"""Where a file cannot be written or a compiler cannot be started, compiling says so; the next time it works."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import shlo_disc
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.options import CompileOptions
from tests.faults.programs import CASES

MOST = 300  # operations of one kind in a compilation


class Nth:
    """Lets a function fail once, at its `number`-th call from now on."""

    def __init__(self, number: int, code: int) -> None:
        self.number, self.code, self.seen = number, code, 0

    def instead_of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.seen += 1
            if self.seen == self.number:
                raise OSError(self.code, os.strerror(self.code))
            return function(*args, **kwargs)

        return call


@contextmanager
def failing(targets: tuple[tuple[Any, str], ...], number: int, code: int) -> Generator[Nth]:
    fault = Nth(number, code)
    patches = [patch.object(owner, name, fault.instead_of(getattr(owner, name))) for owner, name in targets]
    for one in patches:
        one.start()
    try:
        yield fault
    finally:
        for one in patches:
            one.stop()


WRITES = ((Path, "write_bytes"), (Path, "write_text"), (os, "write"), (os, "replace"), (os, "link"), (os, "mkdir"))
READS = ((Path, "read_bytes"),)
KINDS = {  # what fails, how, and what is raised then
    "fork": (((subprocess, "Popen"),), errno.EAGAIN, (ShloDiscError,)),
    "fork without memory": (((subprocess, "Popen"),), errno.ENOMEM, (MemoryError,)),
    "exec": (((subprocess, "Popen"),), errno.EACCES, (ShloDiscError,)),
    "write": (WRITES, errno.ENOSPC, (ShloDiscError, OSError)),
    "read": (READS, errno.EIO, (ShloDiscError, OSError)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_compiling_survives_every_fault(kind: str, tmp_path: Path) -> None:
    targets, code, raised = KINDS[kind]
    case = CASES["map"]
    x = np.arange(5, dtype=np.float32)
    for number in range(1, MOST):
        options = CompileOptions(optimize=0, cache_dir=tmp_path / str(number), threads=1)
        with failing(targets, number, code) as fault, suppress(*raised):
            shlo_disc.compile(case.text, device="cpu", options=options)
        for found, wanted in zip(
            shlo_disc.compile(case.text, device="cpu", options=options)(x), (x + x, -x), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)
        if fault.seen < number:
            assert number > 1, "something was to fail"
            return
    pytest.fail(f"more than {MOST} operations")
