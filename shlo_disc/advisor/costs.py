"""How much work an array of a given shape is, as exact whole numbers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from math import prod

from shlo_disc.diagnostics import ShloDiscError
from shlo_disc.records import record


@record
class ShapeCost:
    """The work for given sizes: a function of the last one, times the others."""

    name: str
    of_last: Callable[[int], int]

    def of(self, sizes: Sequence[int]) -> int:
        """The work of one call."""
        return prod(sizes[:-1]) * self.of_last(sizes[-1])

    def factor(self, *, is_last: bool) -> Callable[[int], int]:
        """What one size contributes to the product."""
        return self.of_last if is_last else int


def cost_named(name: str) -> ShapeCost:
    """The cost of a name: `linear`, `quadratic`, or `layer:WIDTH`. Raises `ShloDiscError` for another one.

    The last one counts the floating-point operations in the products of an encoder layer of this width, whose
    feed-forward part is four times as wide: 24 * width^2 for each token, and 4 * width for each pair of tokens.
    """
    if name == "linear":
        return ShapeCost(name, int)
    if name == "quadratic":
        return ShapeCost(name, lambda size: size * size)
    if found := re.fullmatch(r"layer:([1-9]\d{0,8})", name):
        width = int(found[1])
        return ShapeCost(name, lambda size: 24 * width * width * size + 4 * width * size * size)
    raise ShloDiscError(f"found the cost {name!r}, expected linear, quadratic, or layer:WIDTH such as layer:512")
