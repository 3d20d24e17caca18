"""Sums of integer-weighted products of any factors, as sorted tuples of terms."""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Protocol, TypeAlias, TypeVar


class Factor(Protocol):
    """A factor of products: hashable, with a text that orders factors the same in every run."""

    @property
    def order(self) -> str: ...


F = TypeVar("F", bound=Factor)
Monomial: TypeAlias = tuple[F, ...]
Term: TypeAlias = tuple[tuple[F, ...], int]
Terms: TypeAlias = tuple[tuple[tuple[F, ...], int], ...]


def term_order(term: Term[F]) -> tuple[int, list[str]]:
    """Order terms by falling degree, then by their factors; the constant comes last."""
    return -len(term[0]), [factor.order for factor in term[0]]


def _factor_order(factor: Factor) -> str:
    return factor.order


def from_weights(weights: dict[tuple[F, ...], int]) -> Terms[F]:
    """Sort a map of products to weights into terms, without the zeros."""
    terms = [term for term in weights.items() if term[1]]
    if len(terms) > 1:
        terms.sort(key=term_order)
    return tuple(terms)


def add(a: Terms[F], b: Terms[F]) -> Terms[F]:
    """Add two sums."""
    if len(a) < len(b):
        a, b = b, a
    weights = dict(a)
    fresh = False
    for product, weight in b:
        if product in weights:
            weights[product] += weight
        else:
            weights[product] = weight
            fresh = True
    if fresh:
        return from_weights(weights)
    return tuple([term for term in weights.items() if term[1]])  # `a` was sorted already


def scale(a: Terms[F], weight: int) -> Terms[F]:
    """Multiply a sum by an integer other than zero.

    >>> scale(((("x",), 2), ((), 1)), 3)
    ((('x',), 6), ((), 3))
    """
    return tuple([(product, each * weight) for product, each in a])


def join(a: tuple[F, ...], b: tuple[F, ...]) -> tuple[F, ...]:
    """Multiply two products."""
    if not a:
        return b
    if not b:
        return a
    return tuple(sorted(a + b, key=_factor_order))


def multiply(a: Terms[F], b: Terms[F]) -> Terms[F]:
    """Multiply two sums."""
    if len(a) == 1 and len(b) == 1:
        return ((join(a[0][0], b[0][0]), a[0][1] * b[0][1]),)
    weights: dict[tuple[F, ...], int] = {}
    for left, left_weight in a:
        for right, right_weight in b:
            product = join(left, right)
            weights[product] = weights.get(product, 0) + left_weight * right_weight
    return from_weights(weights)


def cancel(product: tuple[F, ...], by: tuple[F, ...]) -> tuple[F, ...] | None:
    """Divide a product by another; None if it lacks a factor."""
    if not by:
        return product
    left = list(product)
    for factor in by:
        if factor not in left:
            return None
        left.remove(factor)
    return tuple(left)


def shared(products: Iterable[tuple[F, ...]]) -> tuple[F, ...]:
    """Take the factors that all products have in common."""
    common: tuple[F, ...] | None = None
    for product in products:
        if common is None:
            common = product
            continue
        left = list(product)
        kept: list[F] = []
        for factor in common:
            if factor in left:
                left.remove(factor)
                kept.append(factor)
        common = tuple(kept)
    return common or ()


def content(a: Terms[F]) -> int:
    """Take the greatest common divisor of the weights; 0 for the empty sum."""
    return gcd(*[weight for _, weight in a])


def divide(a: Terms[F], by: Terms[F]) -> tuple[Terms[F], Terms[F]]:
    """Split a sum as `by * quotient + rest` with as few terms in the rest as it takes.

    A multiple of `by` is taken out only where that leaves fewer terms: x / (x + 1) stays as it is.
    """
    head, head_weight = by[0]
    quotient: dict[tuple[F, ...], int] = {}
    rest = a
    progress = True
    while progress and rest:
        progress = False
        for product, weight in rest:
            if weight % head_weight or (factor := cancel(product, head)) is None:
                continue
            step: Terms[F] = ((factor, weight // head_weight),)
            smaller = add(rest, scale(multiply(step, by), -1))
            if len(smaller) < len(rest):
                quotient[factor] = quotient.get(factor, 0) + step[0][1]
                rest, progress = smaller, True
                break
    return from_weights(quotient), rest
