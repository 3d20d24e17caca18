"""Why a product or a kernel is computed as it is in one call: the candidates, and what was predicted of each."""

from __future__ import annotations

from shlo_disc.records import record


@record
class Option:
    """A candidate: what was predicted, in seconds on a CPU and in clock cycles on a GPU, or why it cannot run."""

    name: str
    predicted: float | None
    refusal: str = ""


@record
class SelectionTrace:
    """What was chosen in one call.

    Attributes:
        what: the product in the names of the program, or the number of the choice.
        sizes: m, n, k and the batch of a product; empty for other kernels.
        chosen: the name of the candidate; empty if the prelude chose.
        why: the basis of the choice.
        unit: of predictions: "s" or "cycles".
        predicted: of the candidate that was chosen.
        padding: the share of the computation that serves no result.
        occupancy: the share of the threads, or of a GPU's multiprocessors, that is busy.
        options: all candidates, with that one.
    """

    what: str
    sizes: tuple[int, ...]
    chosen: str
    why: str
    unit: str
    predicted: float | None
    padding: float | None
    occupancy: float | None
    options: tuple[Option, ...]
