"""Random lengths of the ragged sizes of a program."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shlo_disc.bound import Bound
from shlo_disc.cli.arrays import Array
from shlo_disc.compiled import Compiled, origin_of
from shlo_disc.expr.dim import Dim
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.ragged.sizes import ragged_sizes


def drawn_lengths(
    program: Compiled | Bound, arrays: Mapping[int, Array], sizes: Mapping[str, int], seed: int
) -> Mapping[int, Array]:
    """What to pass instead of the arrays of a call, where a program takes lengths or masks of ragged sizes.

    Args:
        program: compiled with ragged sizes, or without.
        arrays: of a call, by the numbers of the arguments.
        sizes: the values of the artifact's raw symbols.
        seed: of the random lengths.

    Returns:
        Arrays by the numbers of the arguments: lengths from 1 to the size (0 where that is 0), or masks of such rows.
    """
    origin, artifact = origin_of(program), program.executable.artifact
    if origin is None or not origin.hints.ragged:
        return {}
    text, file = origin.source()
    names = tuple([argument.name for argument in artifact.arguments])
    module = parse_module(text, file)
    legal = legalize(module, names, origin.hints.constraints)
    rng, found = np.random.default_rng(seed), dict[int, Array]()
    for each in ragged_sizes(module, legal, names, dict(origin.hints.ragged))[1]:
        if each.argument not in arrays:
            continue
        given = arrays[each.argument]
        rows, most = (_value(legal.facts.unfolded(legal.facts.in_raw(size)), sizes) for size in (each.batch, each.size))
        lengths = rng.integers(min(1, most), most + 1, rows)
        drawn: Array = np.arange(most) < lengths[:, None] if each.is_mask else lengths
        if each.is_mask and legal.parameters[each.argument].tensor.shape[0] == each.size:
            drawn = drawn.T
        found[each.argument] = drawn.astype(given.dtype)
    return found


def _value(size: Dim, sizes: Mapping[str, int]) -> int:
    return size.evaluate({symbol: sizes[symbol.name] for symbol in size.symbols()})
