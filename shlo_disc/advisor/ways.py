"""One way to serve calls, and what it costs."""

from __future__ import annotations

from shlo_disc.records import record


@record
class WayToServe:
    """One way to serve the calls.

    Attributes:
        name: of the way.
        work: that it computes, padding included, in the unit of the cost.
        ratio: this over the work that is needed.
        padding: the share of the work that is padding, from 0 to 1.
        compilations: programs that are compiled.
        seconds: that they take to compile; None if it is not known what one takes.
        buckets: what sizes are padded to, for each column; empty where nothing is padded to buckets.
    """

    name: str
    work: int
    ratio: float
    padding: float
    compilations: int
    seconds: float | None
    buckets: tuple[tuple[int, ...], ...] = ()
