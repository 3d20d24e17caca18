"""The overview of a compiled program: facts, groups, decisions and memory, for people."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.codegen.explain import explain
from shlo_disc.codegen.host import HostProgram
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.overview import Overview


def describe(program: Program, host: HostProgram, names: Sequence[str]) -> Overview:
    """Everything that people may ask about; `names` are those of the arguments."""
    del names
    return Overview((), {"fusion": explain(program, host)})
