"""What was compiled for a function, why, and for which calls."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.diagnostics import counted
from shlo_disc.jit.compiling import TraceCompiler
from shlo_disc.jit.family import Family
from shlo_disc.records import record


@record
class VariantReport:
    """One program of a function. `signatures`: how many different shapes it serves."""

    shapes: str
    reason: str
    signatures: int
    compared: int


@record
class ServedSizes:
    """The sizes of calls of one structure.

    `names`: of the sizes that differ between these calls, or are declared; `rows`: their values, for each different
    shape of the last 4,096 ones.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[int, ...], ...]


@record
class FunctionReport:
    """What was compiled for a function.

    Attributes:
        name: of the function.
        compilations: programs that were compiled, derivatives and batches too.
        seconds: that this took.
        signatures: different shapes of arguments that were served; XLA would have compiled once for each.
        variants: the programs, without derived ones, each with its reason.
        compiled: what was compiled, and the seconds of each.
        handed_to_jax: calls that `jax.jit` serves, each with its reason.
        sizes: of the calls, for each structure of arguments; `shlo_disc.advise` takes them.
    """

    name: str
    compilations: int
    seconds: float
    signatures: int
    variants: tuple[VariantReport, ...]
    compiled: tuple[tuple[str, float], ...]
    handed_to_jax: tuple[str, ...]
    sizes: tuple[ServedSizes, ...]

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {counted(self.compilations, 'compilation')} in {self.seconds:.2f} s, "
            f"{counted(self.signatures, 'signature')} served; "
            f"XLA would have compiled {counted(self.signatures, 'time')}"
        ]
        for number, one in enumerate(self.variants, start=1):
            compared = f", {one.compared} compared with a trace at their sizes" if one.compared else ""
            lines.append(f"  {number}. {one.shapes}: {counted(one.signatures, 'signature')}{compared}; {one.reason}")
        lines += [f"  {seconds:.2f} s: {what}" for what, seconds in self.compiled]
        return "\n".join([*lines, *[f"  {one}" for one in self.handed_to_jax]])


def describe(name: str, families: Sequence[Family], refused: Sequence[str], compiler: TraceCompiler) -> FunctionReport:
    """The report of a function."""
    variants = [
        VariantReport(str(one.shapes), one.reason, one.signatures, one.compared)
        for family in families
        for one in family.variants
    ]
    compiled = tuple(compiler.seconds)
    return FunctionReport(
        name=name,
        compilations=len(compiled),
        seconds=sum(seconds for _, seconds in compiled),
        signatures=sum(family.signatures for family in families),
        variants=tuple(variants),
        compiled=compiled,
        handed_to_jax=tuple(refused),
        sizes=tuple([ServedSizes(*family.served()) for family in families]),
    )
