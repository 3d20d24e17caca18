"""The host program of a GPU as C++: bind sizes, check them, place buffers, launch through a table of functions."""

from __future__ import annotations

from shlo_disc.codegen.host import HostProgram
from shlo_disc.dynamic_ops.program import Program


def print_host(program: Program, host: HostProgram) -> str:
    """The whole driver file."""
    raise NotImplementedError(f"{program.name} {len(host.steps)}")
