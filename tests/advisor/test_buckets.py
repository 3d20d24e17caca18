"""The best sizes to pad to, against all choices of sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping

import numpy as np
import pytest

from shlo_disc.advisor.buckets import best_buckets

pytestmark = pytest.mark.quick

WORK: Mapping[str, Callable[[int], int]] = {
    "linear": int,
    "quadratic": lambda size: size * size,
    "steps": lambda size: size // 3,  # equal for several sizes
}


def work_of(work: Callable[[int], int], weights: Mapping[int, int], buckets: tuple[int, ...]) -> int:
    """The work of all sizes, each padded to the least bucket that is not less."""
    return sum(weight * work(min(one for one in buckets if one >= size)) for size, weight in weights.items())


@pytest.mark.parametrize("name", WORK)
def test_no_other_choice_of_sizes_is_less_work(name: str) -> None:
    rng, work = np.random.default_rng(), WORK[name]
    for _ in range(60):
        sizes = rng.choice(60, int(rng.integers(1, 10)), replace=False).tolist()
        weights = {size: int(rng.integers(0, 6)) for size in sizes}
        for count in range(1, len(sizes) + 2):
            found = best_buckets(work, weights, count)
            assert len(found) == min(count, len(sizes))
            assert found == tuple(sorted(set(found)))
            assert set(found) <= set(sizes)
            choices = itertools.combinations(sizes, len(found))
            least = min(work_of(work, weights, one) for one in choices if max(one) == max(sizes))
            assert work_of(work, weights, found) == least, (weights, count, found)


@pytest.mark.parametrize(("first", "best"), [(2**60 + 1, (1, 3)), (2**60 - 1, (2, 3))])
def test_whole_numbers_stay_exact(first: int, best: tuple[int, ...]) -> None:
    """As floats all weights but the last are equal."""
    assert best_buckets(int, {1: first, 2: 2**60, 3: 1}, 2) == best
