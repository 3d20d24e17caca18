# jaxlib has no types for its MLIR bindings; nothing untyped leaves this file.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportMissingTypeStubs=false
# pyright: reportUnknownArgumentType=false
"""The verifier of MLIR, through jaxlib: the second opinion on what must be refused."""

from __future__ import annotations

import json
import subprocess
import sys
from types import TracebackType

from jax._src.interpreters import mlir
from jaxlib.mlir import ir

CRASHED = "MLIR crashed"


def complaint(text: str) -> str | None:
    """Give MLIR's error for a program, or None if it takes the program."""
    with mlir.make_ir_context():
        return _complaint(text)


def _complaint(text: str) -> str | None:
    try:
        ir.Module.parse(text)
    except ir.MLIRError as error:
        return str(error)
    return None


class Judge:
    """Another process that asks MLIR: it crashes at some programs."""

    def __init__(self) -> None:
        self._process = self._start()

    def __enter__(self) -> Judge:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def complaint(self, text: str) -> str | None:
        """Give MLIR's error for a program, `CRASHED`, or None if it takes the program."""
        pipe, answers = self._process.stdin, self._process.stdout
        assert pipe is not None, "it is a pipe"
        assert answers is not None, "it is a pipe"
        pipe.write(json.dumps(text) + "\n")
        pipe.flush()
        answer = answers.readline()
        if answer:
            found: str | None = json.loads(answer)
            return found
        self._stop()
        self._process = self._start()
        return CRASHED

    @staticmethod
    def _start() -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "tests.verify.jaxlib_verifier"]
        return subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def _stop(self) -> None:
        self._process.communicate()  # closes the pipe, at which the process ends


def _answer() -> None:
    """Read programs, one a line, and write what MLIR says."""
    with mlir.make_ir_context():
        for line in sys.stdin:
            print(json.dumps(_complaint(json.loads(line))), flush=True)


if __name__ == "__main__":
    _answer()
