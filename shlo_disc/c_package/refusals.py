"""Programs that cannot be a library for C yet."""

from __future__ import annotations

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.host_ir import Launch
from shlo_disc.runtime.steps import host_calls, leaves
from shlo_disc.target_names import HOST

_LAPACK = "lapack"  # the library whose routines come from SciPy


def refuse_device(device: str) -> None:
    """Raise `ShloDiscError` for a program that does not compute in the host's memory."""
    if device != HOST:
        raise ShloDiscError(f"found a program for {device!r}, expected one for {HOST!r}: {_LATER}")


def refuse_program(artifact: Artifact) -> None:
    """Raise `ShloDiscError` for a program that needs more than the C library while it runs."""
    if artifact.partitions:
        raise ShloDiscError(
            "found a program in partitions, as data decides sizes while it runs, "
            f"expected one whose sizes follow from its arguments: {_LATER}"
        )
    if calls := host_calls(artifact.steps):
        raise ShloDiscError(
            f"found {calls[0].place}, which {calls[0].library} computes, expected a program without Python: {_LATER}"
        )
    launches = [one for one in leaves((*artifact.steps, *artifact.packings)) if isinstance(one, Launch)]
    if any(_LAPACK in file.libraries for file in artifact.kernels) and launches:
        raise ShloDiscError(f"found linear algebra, which SciPy's LAPACK computes, expected none: {_LATER}")


_LATER = "a library for C cannot hold it yet"
