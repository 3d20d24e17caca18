"""All seeds by the names of the command line, and the table of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from benchmarks.seeds.apollo import APOLLO
from benchmarks.seeds.bladedisc import BLADEDISC
from benchmarks.seeds.cora import CORA
from benchmarks.seeds.dietcode import DIETCODE
from benchmarks.seeds.disc import DISC
from benchmarks.seeds.nimble import NIMBLE
from benchmarks.seeds.rows import Row, Seed
from benchmarks.seeds.tscompiler import TSCOMPILER
from benchmarks.seeds.weight_pools import WEIGHT_POOLS

SEEDS: Mapping[str, Seed] = {
    "disc": DISC,
    "bladedisc": BLADEDISC,
    "nimble": NIMBLE,
    "dietcode": DIETCODE,
    "tscompiler": TSCOMPILER,
    "cora": CORA,
    "apollo": APOLLO,
    "weight_pools": WEIGHT_POOLS,
}


def table(seed: Seed, rows: Sequence[Row]) -> Table:
    """What was measured, below what the paper reports, above what ours lacks."""
    head = f"{seed.name}: {seed.paper}\nreported: {seed.headline} ({seed.source})"
    found = Table(title=head, caption=f"weaker here: {seed.weaker}", title_justify="left", caption_justify="left")
    for heading in ("measured in this run", "ours", "dynamic", "compilation"):
        found.add_column(heading, justify="right" if heading == "ours" else "left")
    for row in rows:
        found.add_row(*map(Text, (row.what, row.text, row.dynamic, row.compilation)))  # brackets are no markup
    return found


def as_json(seed: Seed, rows: Sequence[Row]) -> Mapping[str, Any]:
    """What is written of a seed."""
    said = {"paper": seed.paper, "headline": seed.headline, "source": seed.source, "weaker": seed.weaker}
    return {"seed": seed.name, **said, "rows": [row.to_json() for row in rows]}
