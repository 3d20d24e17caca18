"""`python -m shlo_disc tune [FILE] [--dim s=1:129]`: measure the costs that schedules are chosen by, and store them."""

from __future__ import annotations

import argparse

from shlo_disc.cli.output import complain, give, say
from shlo_disc.diagnostics import ShloDiscError, counted
from shlo_disc.tuning import tune


def run_tune(options: argparse.Namespace) -> int:
    """Tune, and print what is known now. Gives the exit code."""
    try:
        dims = dict(_dim(text) for text in options.dim)
        found = tune(options.file, dims=dims)
    except (ShloDiscError, OSError) as error:
        complain(error)
        return 1
    if options.json:
        give(found.to_json() + "\n")
        return 0
    say(f"costs are {found.costs.text}\n")
    for one in found.tuned:
        say(f"{one.product}: measured at {counted(len(one.counts), 'count')}\n")
    return 0


def _dim(text: str) -> tuple[str, range]:
    """Parse the values of a size.

    >>> _dim("s=1:129")
    ('s', range(1, 129))
    """
    name, _, values = text.partition("=")
    first, _, end = values.partition(":")
    if not (name and first.isdecimal() and end.isdecimal()):
        raise ShloDiscError(f"found --dim {text}, expected one such as s=1:129")
    return name, range(int(first), int(end))
