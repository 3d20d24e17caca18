"""Ways to serve calls of given sizes, with the padding and the compilations of each."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shlo_disc.advisor.costs import cost_named
from shlo_disc.advisor.planner import Planner
from shlo_disc.advisor.sizes import sizes_of
from shlo_disc.advisor.ways import WayToServe
from shlo_disc.diagnostics import ShloDiscError, whole_number, whole_numbers
from shlo_disc.records import record

DEFAULT_BUCKETS = (2, 4, 8, 16)
_MOST_BUCKETS = 1024


@record
class Advice:
    """What `advise` returns; `print` it.

    Attributes:
        names: of the columns of sizes.
        calls: how many calls there are; with `batch`, how many batches.
        shapes: how many of them differ.
        needed: the work without any padding, in the unit of the cost.
        cost: the name of the cost.
        batch: how many samples form a call; None: each is one.
        ways: ways to serve the calls.
        notes: what to know about these numbers.
    """

    names: tuple[str, ...]
    calls: int
    shapes: int
    needed: int
    cost: str
    batch: int | None
    ways: tuple[WayToServe, ...]
    notes: tuple[str, ...]

    def plot(self, path: str | Path) -> None:
        """Draw the work of each way over its number of compilations, as an SVG.

        Args:
            path: the file to write.

        Raises:
            ShloDiscError: Matplotlib is not installed, or the file cannot be written.
        """
        from shlo_disc.advisor.plot import plot  # noqa: PLC0415  it imports Matplotlib

        plot(self, Path(path))

    def __str__(self) -> str:
        from shlo_disc.advisor.text import table  # noqa: PLC0415

        return table(self)


def advise(
    sizes: object,
    *,
    batch: int | None = None,
    buckets: Sequence[int] = DEFAULT_BUCKETS,
    cost: str = "linear",
    compile_seconds: float | None = None,
) -> Advice:
    """Say what padding and compilations cost for calls of given sizes. Nothing is compiled, and JAX is not needed.

    Args:
        sizes: of the calls, in their order: whole numbers, an array [calls] or [calls, columns], a mapping of names to
            columns, the path of a text or CSV file, or `report()` of a function of `jit`.
        batch: how many samples in a row form a call; each is padded to the longest one of its batch. None: each row
            has the sizes of one call.
        buckets: how many sizes to pad to, for each column; there is one way for each number.
        cost: the work for given sizes. `linear`: their product; `quadratic`: the last one counts squared, as for the
            scores of attention; `layer:WIDTH`: the products of an encoder layer of this width.
        compile_seconds: that XLA takes to compile one shape.

    Returns:
        The ways to serve these calls.

    Raises:
        ShloDiscError: sizes or options are not what they should be; for a file, with the line.
    """
    read, work = sizes_of(sizes), cost_named(cost)
    counts = sorted(set(whole_numbers(buckets, "buckets")))
    if wrong := [count for count in counts if not 1 <= count <= _MOST_BUCKETS]:
        raise ShloDiscError(f"found {wrong[0]} buckets, expected numbers from 1 to {_MOST_BUCKETS}")
    if compile_seconds is not None and not 0 <= compile_seconds < float("inf"):
        raise ShloDiscError(f"found compile_seconds = {compile_seconds}, expected seconds >= 0")
    if batch is not None and whole_number(batch, "batch") < 1:
        raise ShloDiscError(f"found batch = {batch}, expected a number >= 1")
    planner = Planner(read, work, batch, compile_seconds)
    notes, most = list(read.notes), planner.most_sizes()
    if left_out := [str(count) for count in counts if count > most]:
        notes.append(f"no padding to {', '.join(left_out)} sizes: there are {most} different ones")
    if len(read.names) > 1 and len(left_out) < len(counts):
        notes.append(
            "the best sizes of a column are the best for those of the others; other combinations may be better"
        )
    return Advice(
        names=read.names,
        calls=sum(planner.calls.values()),
        shapes=len(planner.calls),
        needed=planner.needed,
        cost=work.name,
        batch=batch,
        ways=tuple(planner.ways(count for count in counts if count <= most)),
        notes=tuple(notes),
    )
