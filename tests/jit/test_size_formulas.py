"""Formulas that explain numbers of traces."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shlo_disc.jit.generalized.size_formulas import SizeFormula, fit

ONE = [[n] for n in range(10, 18)]
TWO = [[3, 5], [4, 9], [7, 2], [5, 5], [11, 13], [2, 8]]


OF_ONE: list[Callable[[int], int]] = [
    lambda _n: 7, lambda n: n, lambda n: 2 * n - 3, lambda n: -n, lambda n: n * n, lambda n: n // 2,
    lambda n: n // 2 + 1, lambda n: (n + 1) // 2, lambda n: (n + 3) // 4, lambda n: n // 8, lambda n: -(-n // 3),
    lambda n: 3 * n // 2,
    lambda n: 1 + 2 * (n // 2), lambda n: -(n // 2), lambda n: 5 - 2 * (n // 4),
    lambda n: n % 2, lambda n: 1 - n // 2 % 2, lambda n: 5 + 3 * (n % 2), lambda n: -n % 4,
    lambda n: n % 3, lambda n: -(-n // 4) * 4, lambda n: n // 3 * 6,
]  # fmt: skip
OF_TWO: list[Callable[[int, int], int]] = [
    lambda b, s: b * s, lambda b, s: 4 * b * s, lambda b, s: b + s, lambda _b, s: s // 2, lambda b, s: b * s * s,
    lambda b, s: 2 * b - s + 1, lambda b, _s: b * b,
]  # fmt: skip


@pytest.mark.quick
@pytest.mark.parametrize("number", range(len(OF_ONE)))
def test_a_formula_of_one_size_is_right_far_from_the_rows(number: int) -> None:
    of = OF_ONE[number]
    found = fit([of(n) for (n,) in ONE], ONE)
    assert found is not None
    for n in range(200):
        assert found.at([n]) == of(n)


@pytest.mark.parametrize("number", range(len(OF_TWO)))
def test_a_formula_of_two_sizes(number: int) -> None:
    of = OF_TWO[number]
    found = fit([of(*row) for row in TWO], TWO)
    assert found is not None
    for b in range(20):
        for s in range(20):
            assert found.at([b, s]) == of(b, s)


def test_what_has_no_formula() -> None:
    assert fit([1, 2, 4, 8, 16, 32, 64, 129], ONE) is None


@given(st.integers(-9, 9), st.integers(-9, 9), st.lists(st.integers(0, 99), min_size=4, max_size=8, unique=True))
def test_what_is_found_gives_the_numbers(factor: int, constant: int, sizes: list[int]) -> None:
    rows = [[size] for size in sizes]
    values = [factor * size + constant for size in sizes]
    found = fit(values, rows)
    assert found is not None
    assert [found.at(row) for row in rows] == values
    assert found.at([1000]) == factor * 1000 + constant


@given(st.integers(1, 9), st.integers(0, 40), st.integers(2, 16), st.integers(0, 99))
def test_quotients_are_written_with_the_least_rest(factor: int, constant: int, divisor: int, start: int) -> None:
    """JAX compares sizes by form, and writes them so."""
    rows = [[n] for n in range(start, start + 40)]
    found = fit([(factor * n + constant) // divisor for (n,) in rows], rows)
    assert found is not None
    assert 0 <= found.constant < max(found.divisor, 1) or found.divisor == 1


def test_a_formula_may_be_evaluated_for_anything_that_adds() -> None:
    assert SizeFormula(((2, (0, 1)), (1, (0,))), 3, 4, 0, 5, 6).at([3.0, 2.0]) == 5 * ((12 + 3 + 3) // 4) + 6
