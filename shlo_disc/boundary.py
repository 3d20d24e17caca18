"""Convert other exceptions to those of shlo_disc: the steps of a compilation run inside `boundary`."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from shlo_disc.diagnostics import NOWHERE, InternalError, ShloDiscError, Span, ToolchainError, UnsupportedOpError


@contextmanager
def boundary(step: str, span: Span = NOWHERE) -> Generator[None]:
    """Let only shlo_disc's errors and `MemoryError` out of a step of the compiler. `span`: the program, if it is read.

    An `OSError` becomes a `ToolchainError`; a `RecursionError`, as the program is nested too deeply, an
    `UnsupportedOpError`. Anything else is a bug of the compiler: `InternalError`, which names the step.
    """
    try:
        yield
    except (ShloDiscError, MemoryError):
        raise
    except RecursionError as error:
        raise UnsupportedOpError(
            f"the program is nested too deeply, or too many operations follow each other, for the step '{step}'", span
        ) from error
    except OSError as error:
        raise ToolchainError(
            f"the step '{step}' was refused by the machine: {error}\n"
            "  help: look for room on disks, limits of files and processes, and rights of folders"
        ) from error
    except Exception as error:
        raise InternalError(
            f"the step '{step}' failed: {type(error).__name__}: {error}\n"
            "  help: this is a bug of shlo_disc; please report it with the program"
        ) from error
