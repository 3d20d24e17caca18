"""What the steps of a compilation pass on: the program to compile, its code, its artifact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.analysis.sizes import Point
from shlo_disc.artifact import Artifact, SourceFile
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Sym
from shlo_disc.host.peaks import Need
from shlo_disc.host.program import HostProgram
from shlo_disc.ir.core import Module
from shlo_disc.kernels.groups import Fuse
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.records import record


@record
class Compilation:
    """What stays the same while a module is compiled.

    `module` is the user's program. `iterations`: fresh names for sizes that loops and branches compute.
    """

    module: Module
    request: Request
    watch: Stopwatch
    fuse: Fuse
    iterations: Iterator[Sym]


@record
class CompilationUnit:
    """A program that gets host code of its own: the module's, a partition of one, or what a loop or a branch runs.

    `names`: of its arguments, for people. `donated`: the numbers of the arguments whose memory it may overwrite.
    `likely`: usual values of its sizes, by name. `is_inner`: of what a loop or a branch runs.
    """

    program: Program
    names: Sequence[str]
    donated: frozenset[int]
    likely: tuple[tuple[str, tuple[int, ...]], ...] = ()
    is_inner: bool = False


@record
class GeneratedCode:
    """The code of a unit: the steps of its host program, the printed driver that runs them, and the kernels' files.

    `points`: the likely sizes for which it was optimized.
    """

    host: HostProgram
    driver: SourceFile
    kernels: tuple[SourceFile, ...]
    points: tuple[Point, ...]


@record
class CompiledUnit:
    """The artifact of a unit, and the memory that a run of it needs."""

    artifact: Artifact
    need: Need
