"""Which schedule a product takes, as an artifact says it."""

from __future__ import annotations

from dataclasses import dataclass

from shlo_disc.schedules.candidates import Candidate
from shlo_disc.schedules.model import Rates
from shlo_disc.size_expr import SizeExpr


@dataclass(frozen=True, slots=True)
class Selection:
    """How a product `m x n x k` of a launch, or all of a batch, is computed: by the candidate of a number.

    Without candidates the prelude chooses. `rates` are those of the candidates' micro-kernels, on one of so many
    `threads`. `product` names it; `how` says, for people, what the choice was made by.
    """

    product: str
    m: SizeExpr
    n: SizeExpr
    k: SizeExpr
    batch: SizeExpr
    candidates: tuple[Candidate, ...]
    rates: tuple[Rates, ...]
    number: SizeExpr
    threads: int
    how: str
