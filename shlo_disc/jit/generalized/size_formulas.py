"""Formulas of sizes that explain how a number changes between traces.

A trace at given sizes has numbers: limits of slices, lengths of transforms, shapes. From several traces of one function
`fit` finds, for each of these numbers, a formula of the sizes. It is a guess: whoever uses it checks it at all sizes
that it is used for.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shlo_disc.records import record

_MOST_DIVIDED = 64
_DEGREE = 3  # of products of sizes


@record
class SizeFormula:
    """`offset + scale * (((sum of terms + constant) // divisor) % modulus)`; a modulus of 0 is none.

    A term is a factor and the numbers of the sizes whose product it multiplies. It can be evaluated for integers, and
    for symbolic sizes.

    >>> half = SizeFormula(((1, (0,)),), constant=1, divisor=2)
    >>> half.at([7]), SizeFormula(((2, (0, 1)),)).at([3, 5])
    (4, 30)
    """

    terms: tuple[tuple[int, tuple[int, ...]], ...] = ()
    constant: int = 0
    divisor: int = 1
    modulus: int = 0
    scale: int = 1
    offset: int = 0

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not self.terms

    def at(self, sizes: Sequence[Any]) -> Any:
        """Its value."""
        found: Any = self.constant
        for factor, numbers in self.terms:
            term: Any = factor
            for number in numbers:
                term = sizes[number] * term
            found = term + found
        if self.divisor != 1:
            found = found // self.divisor
        if self.modulus:
            found = found % self.modulus
        return found * self.scale + self.offset if (self.scale, self.offset) != (1, 0) else found


def fit(values: Sequence[int], rows: Sequence[Sequence[int]]) -> SizeFormula | None:
    """A formula that gives each value at the sizes of its row; None if there is none of a form that is known.

    The simplest form is taken: a number, a size, a linear formula, a product, a rounded quotient, a remainder. A linear
    formula of n sizes takes more than n + 1 rows to be more than a guess.

    >>> fit([3, 4, 4, 5], [[7], [8], [9], [10]])
    SizeFormula(terms=((1, (0,)),), constant=0, divisor=2, modulus=0, scale=1, offset=0)
    """
    for one in _candidates(values, rows):
        if all(one.at(row) == value for row, value in zip(rows, values, strict=True)):
            return one
    return None


def _candidates(values: Sequence[int], rows: Sequence[Sequence[int]]) -> Iterator[SizeFormula]:
    yield SizeFormula(constant=values[0])
    count = len(rows[0])
    for k in range(count):
        yield SizeFormula(((1, (k,)),))
    if (found := _linear(values, rows)) is not None:
        yield found
    for degree in range(2, _DEGREE + 1):
        for numbers in itertools.combinations_with_replacement(range(count), degree):
            product = SizeFormula(((1, numbers),)).at(rows[0])
            if product and values[0] % product == 0:
                yield SizeFormula(((values[0] // product, numbers),))
    columns = [*enumerate(zip(*rows, strict=True))]
    unit, step = math.gcd(*values) or 1, math.gcd(*[value - values[0] for value in values]) or 1
    scales = [(1, 0), (unit, 0), (step, values[0] % step), (-1, 0), (-unit, 0), (-step, values[0] % step)]
    for unit, base in dict.fromkeys(scales):
        scaled = [(value - base) // unit for value in values]
        quotients = [one for k, sizes in columns for one in _quotients(scaled, sizes, k)]
        found = [replace(one, scale=unit, offset=one.offset * unit + base) for one in sorted(quotients, key=_oddness)]
        yield from found
    for k, sizes in columns:
        yield from _remainders(values, sizes, k)


def _linear(values: Sequence[int], rows: Sequence[Sequence[int]]) -> SizeFormula | None:
    """The linear formula, if the rows determine one."""
    matrix = np.array([[*row, 1] for row in rows], np.float64)
    if np.linalg.matrix_rank(matrix) < matrix.shape[1]:
        return None
    solution = np.linalg.lstsq(matrix, np.array(values, np.float64), rcond=None)[0]
    *factors, constant = [round(float(x)) for x in solution]
    return SizeFormula(tuple([(factor, (k,)) for k, factor in enumerate(factors) if factor]), constant)


def _quotients(values: Sequence[int], sizes: Sequence[int], k: int) -> Iterator[SizeFormula]:
    """All `(p * size + c) // d`."""
    low, high = min(range(len(sizes)), key=sizes.__getitem__), max(range(len(sizes)), key=sizes.__getitem__)
    distance, rise = sizes[high] - sizes[low], values[high] - values[low]
    for divisor in range(2, _MOST_DIVIDED + 1):
        around = round(rise * divisor / distance) if distance else 0
        unsure = divisor // max(1, distance) + 1  # each of the two values was rounded by less than one
        for factor in range(max(1, around - unsure), around + unsure + 1):
            if math.gcd(factor, divisor) != 1:
                continue
            least = max(value * divisor - factor * size for value, size in zip(values, sizes, strict=True))
            most = min(value * divisor - factor * size for value, size in zip(values, sizes, strict=True)) + divisor - 1
            for constant in sorted({one for one in (0, divisor - 1, _roundest(least, most)) if least <= one <= most}):
                rest, whole = constant % divisor, constant // divisor  # as JAX writes it, which compares by form
                yield SizeFormula(((factor, (k,)),), rest, divisor, offset=whole)


def _roundest(least: int, most: int) -> int:
    """The number with the most zeros at the end, in binary: `(n // a + b) // c` is `(n + a * b) // (a * c)`."""
    return max(range(least, most + 1), key=_zeros, default=least)


def _zeros(number: int) -> int:
    return (number & -number).bit_length() - 1 if number else 64


def _oddness(one: SizeFormula) -> tuple[bool, int]:
    """Halves, quarters … come first, then small numbers, and quotients that are rounded down or up before others."""
    ((factor, _),) = one.terms
    is_plain = one.constant in {0, one.divisor - 1} and not one.offset
    return factor != 1 or one.divisor & (one.divisor - 1) != 0, one.divisor * factor + (0 if is_plain else one.divisor)


def _remainders(values: Sequence[int], sizes: Sequence[int], k: int) -> Iterator[SizeFormula]:
    """`(size + c) % m` and `(-size + c) % m`; all `offset + scale * ((size + c) // d % 2)` with powers of two."""
    for factor in (1, -1):
        rests = [value - factor * size for value, size in zip(values, sizes, strict=True)]
        modulus = math.gcd(*[rest - rests[0] for rest in rests])
        if modulus > 1:
            yield SizeFormula(((factor, (k,)),), rests[0] % modulus, modulus=modulus)
    if len(found := sorted(set(values))) != 2:
        return
    for divisor in (2**power for power in range(6)):
        for constant in sorted(range(2 * divisor), key=_zeros, reverse=True):
            yield SizeFormula(((1, (k,)),), constant, divisor, 2, found[1] - found[0], found[0])
