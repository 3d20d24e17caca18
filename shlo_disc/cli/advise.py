"""`python -m shlo_disc advise FILE`: print what padding and compilations cost for the sizes of calls in a file."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict

from shlo_disc.advisor.advice import advise
from shlo_disc.advisor.sizes import read_sizes
from shlo_disc.cli.output import complain, give, say
from shlo_disc.diagnostics import ShloDiscError


def run_advise(options: argparse.Namespace) -> int:
    """Print the advice. Gives the exit code."""
    try:
        found = advise(
            read_sizes(options.file, [name.strip() for name in options.columns.split(",") if name.strip()]),
            batch=options.batch,
            buckets=_numbers(options.buckets),
            cost=options.cost,
            compile_seconds=options.compile_seconds,
        )
        if options.output is not None:
            found.plot(options.output)
    except ShloDiscError as error:
        complain(error)
        return 2
    if options.json:
        give(json.dumps(asdict(found)) + "\n")
    else:
        say(f"{found}\n")
    return 0


def _numbers(text: str) -> list[int]:
    """Numbers such as `2,4,8`."""
    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        if not part.isdecimal():
            raise ShloDiscError(f"found {part!r} in --buckets, expected numbers such as 2,4,8")
    return list(map(int, parts))
