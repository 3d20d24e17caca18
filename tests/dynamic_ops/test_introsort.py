"""The unstable sort: XLA's order of equal elements, also where the algorithm changes to heaps."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownLambdaType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import jax
import numpy as np
import pytest
from jax import lax

from shlo_disc.dynamic_ops.introsort import introsorted


@pytest.mark.parametrize("count", [0, 16, 17, 257])
def test_equal_elements_come_in_the_order_of_xla(count: int) -> None:
    keys = np.random.default_rng(count).integers(0, 7, count).astype(np.int32)
    positions = np.arange(count, dtype=np.int32)
    wanted = jax.jit(lambda k, p: lax.sort((k, p), num_keys=1, is_stable=False))(keys, positions)[1]
    assert introsorted(count, lambda i, j: bool(keys[i] < keys[j])) == list(wanted)


def test_an_adversary_meets_the_heap_and_loses() -> None:
    """McIlroy's adversary (A Killer Adversary for Quicksort, 1999) fixes values as they are compared."""
    count = 300
    gas, values, state = count, [count] * count, {"solid": 0, "candidate": 0, "compared": 0}

    def less(i: int, j: int) -> bool:
        state["compared"] += 1
        if values[i] == values[j] == gas:
            frozen = i if i == state["candidate"] else j
            values[frozen] = state["solid"]
            state["solid"] += 1
        if values[i] == gas:
            state["candidate"] = i
        elif values[j] == gas:
            state["candidate"] = j
        return values[i] < values[j]

    order = introsorted(count, less)
    assert sorted(order) == list(range(count))
    assert [values[i] for i in order] == sorted(values)
    assert state["compared"] < 12_000, "quicksort alone would need 45 000"
