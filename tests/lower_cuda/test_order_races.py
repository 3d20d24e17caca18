# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false
"""Sorts, scatters and scans on a GPU have no race, stay in their buffers, and need each of their barriers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from shlo_disc.host_ir import Choice
from shlo_disc.runtime.cuda.launch_table import Estimate, cheapest
from tests.emulator.device import EmulatedDevice
from tests.emulator.recording import Recording, record
from tests.emulator.run import compiled
from tests.emulator.sanitize import check, needless_barriers, races
from tests.pipeline.exports import In, between, exported, normal

pytestmark = pytest.mark.slow

I32 = np.int32
INPUTS: dict[str, tuple[In, ...]] = {
    "sort": (In("b, n"), In("b, n", I32)),
    "scatter": (In("7, d"), In("n", I32, between(-9, 9)), In("n, d")),
    "count": (In("7, d", I32), In("n", I32, between(-9, 9)), In("n, d", I32)),
    "scan": (In("b, n"),),
}


def function(name: str) -> Any:
    return {
        "sort": lambda keys, values: lax.sort((keys, values), num_keys=1, is_stable=True),
        "scatter": lambda x, i, u: x.at[i].add(u),
        "count": lambda x, i, u: x.at[i].add(u),
        "scan": lambda x: jnp.cumsum(x, 1),
    }[name]


def recorded(name: str, label: str, size: int) -> Recording:
    """One call with the variant of a label."""

    def choose(choice: Choice, legal: Sequence[Estimate]) -> int:
        labels = {choice.variants[e.number].label: e.number for e in legal}
        return labels[label] if label in labels else cheapest(choice, legal)

    rng, sizes = np.random.default_rng(0), {"b": 2, "d": 3, "n": size}
    arrays = [i.array(rng, sizes) if i.draw is not normal else np.round(i.array(rng, sizes)) for i in INPUTS[name]]
    found = record(compiled(exported(function(name), INPUTS[name]), EmulatedDevice()), arrays, chooser=choose)
    assert any(launch.label == label for launch in found.launches)
    return found


CALLS = [
    ("sort", "warp", 50),
    ("sort", "block", 300),
    ("sort", "merge", 4500),
    ("scatter", "linked", 300),
    ("scatter", "sorted", 2500),
    ("count", "atomic", 300),
    ("scan", "thread", 50),
    ("scan", "warp", 300),
    ("scan", "block", 2500),
    ("scan", "split", 9000),
]


@pytest.mark.parametrize(("name", "label", "size"), CALLS)
def test_no_race_and_nothing_out_of_bounds(name: str, label: str, size: int) -> None:
    recording = recorded(name, label, size)
    assert races(recording).clean
    assert check(recording, "asan").clean


@pytest.mark.parametrize(
    ("name", "label", "size"), [("sort", "merge", 2100), ("scatter", "linked", 40), ("scan", "block", 1100)]
)
def test_every_barrier_is_needed(name: str, label: str, size: int) -> None:
    assert not needless_barriers(recorded(name, label, size))
