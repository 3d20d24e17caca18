"""Scatters of single elements into more than a cache holds, which are asked for ahead: NumPy is the oracle."""

# JAX's functions are partly untyped; this file is about what they export.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import shlo_disc
from shlo_disc.lower_cpu.scatter import AHEAD, FAR
from tests.pipeline.exports import FAST, In, exported

INPUTS = (In("n"), In("k", np.int32), In("k"))


def add_elements(x: Any, places: Any, updates: Any) -> Any:
    return x.at[places].add(updates, mode="drop")


@pytest.mark.parametrize("threads", [1, 2])
def test_every_update_arrives(threads: int) -> None:
    run = shlo_disc.compile(exported(add_elements, INPUTS), options=replace(FAST, threads=threads))
    assert "prefetch(" in run.kernels_source
    rng = np.random.default_rng(threads)
    for size in (3, FAR // 4, FAR // 4 + 1, FAR // 3):
        for count in (1, AHEAD, AHEAD + 1, 40_000):
            x = rng.integers(-9, 9, size).astype(np.float32)
            updates = rng.integers(-9, 9, count).astype(np.float32)
            places = rng.integers(0, size + size // 8 + 1, count).astype(np.int32)  # some are out of range
            inside = places < size
            wanted = x.copy()
            np.add.at(wanted, places[inside], updates[inside])
            np.testing.assert_array_equal(np.asarray(run(x, places, updates)), wanted)
