"""What random programs are made of: every op and dtype but a few, which are named here with the reason."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from shlo_disc.check.generate.programs import generate_at
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.syntax import ENTRIES

SEEDS = range(400)
TOGETHER = 10
OP = re.compile(r"(?<!#)\b(?:stablehlo|chlo)\.[\w-]+")
ELEMENT = re.compile(r"tensor<(?:[\d?]+x)*([^<>!]+(?:<\w+>)?)>")

_WHY: Mapping[str, str] = {
    "stablehlo.all_gather stablehlo.all_to_all stablehlo.reduce_scatter stablehlo.collective_broadcast "
    "stablehlo.collective_permute stablehlo.collective_reduce stablehlo.cross-replica-sum stablehlo.async_start "
    "stablehlo.async_done stablehlo.infeed stablehlo.outfeed stablehlo.recv stablehlo.send": (
        "several participants; all_reduce, replica_id and partition_id stand for what one does alone"
    ),
    "stablehlo.after_all stablehlo.create_token": "tokens order what has effects: nothing here",
    "chlo.broadcast_complex chlo.broadcast_next_after chlo.broadcast_polygamma chlo.broadcast_power "
    "chlo.broadcast_zeta": "one rule broadcasts for all such ops, and the functions are made without it",
    "stablehlo.rng": "no two implementations give the same numbers",
    "stablehlo.set_dimension_size": "XLA pads what has such a size, and sees the padding in some ops",
    "chlo._asin_acos_kernel": "CHLO's own step on the way to asin",
    "chlo.constant": "stablehlo.constant in another spelling",
    "chlo.scan": "a region over slices, which the corpus has",
}
NEVER = {name for names in _WHY for name in names.split()}


def test_every_op_and_dtype_is_made() -> None:
    made, dtypes = Counter[str](), set[str]()
    for seed in SEEDS:
        text = generate_at(seed, TOGETHER)
        made.update(set(OP.findall(text)))
        dtypes.update(ELEMENT.findall(text))
    every = {entry.name for entry in ENTRIES if entry.name.startswith(("stablehlo.", "chlo."))}
    assert {name for name in every if not made[name]} == NEVER
    assert {dtype.value for dtype in DType} <= dtypes
