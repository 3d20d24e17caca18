"""Sort keys: the formula that a comparator computes of both elements and compares."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.expr.scalar import Arg, Binary, Compare, Scalar
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.direction import Direction
from shlo_disc.kernels.kernel import SortKernel
from shlo_disc.kernels.rewrite import ArgRewriter, nodes_of
from shlo_disc.records import record

_STRICT = {Direction.LT: False, Direction.GT: True}  # strict comparisons, and whether larger keys come first


@record
class SortKey:
    """`value` of one element, in terms of the first argument of each of the comparator's pairs.

    Keys compare as integers do, or as floats in IEEE's total order; `descending`: the larger one goes first.
    """

    value: Scalar
    descending: bool


def sort_keys(kernel: SortKernel) -> tuple[SortKey, ...]:
    """The keys, most significant first; none if the comparator is not a lexicographic order of keys.

    Recognized: `k < k'`, and `k < k' or (k = k' and …)`, for any formula `k` of one element. Floats must be compared in
    total order: in the partial order a NaN makes comparisons inconsistent, and the result depends on the algorithm.
    """
    return _Comparator(kernel).keys(kernel.comparator) or ()


class _Comparator:
    """The arguments of a comparator: pairs of a first and a second element."""

    def __init__(self, kernel: SortKernel) -> None:
        firsts, seconds = kernel.comparator_arguments[0::2], kernel.comparator_arguments[1::2]
        self._firsts = frozenset(a.name for a in firsts)
        self._seconds = frozenset(b.name for b in seconds)
        self._as_first = ArgRewriter({b.name: a for a, b in zip(firsts, seconds, strict=True)})

    def keys(self, before: Scalar) -> tuple[SortKey, ...] | None:
        if (key := self._key(before)) is not None:
            return (key,)
        for decided, tied in _operands(before, BinaryFn.OR):
            if (key := self._key(decided)) is None:
                continue
            for equal, rest in _operands(tied, BinaryFn.AND):
                if self._equates(equal, key) and (others := self.keys(rest)) is not None:
                    return (key, *others)
        return None

    def _key(self, before: Scalar) -> SortKey | None:
        if not isinstance(before, Compare) or before.direction not in _STRICT or not _is_total(before):
            return None
        descending = _STRICT[before.direction]
        if (value := self._same(before.a, before.b)) is not None:
            return SortKey(value, descending)
        if (value := self._same(before.b, before.a)) is not None:
            return SortKey(value, not descending)
        return None

    def _equates(self, equal: Scalar, key: SortKey) -> bool:
        if not isinstance(equal, Compare) or equal.direction is not Direction.EQ or not _is_total(equal):
            return False
        return key.value in (self._same(equal.a, equal.b), self._same(equal.b, equal.a))

    def _same(self, first: Scalar, second: Scalar) -> Scalar | None:
        """`first`, a formula of a first element, if `second` is the same formula of the second element."""
        if not _arguments(first) or not _arguments(first) <= self._firsts or not _arguments(second) <= self._seconds:
            return None
        return first if self._as_first.scalar(second) == first else None


def _is_total(compare: Compare) -> bool:
    """Whether a comparison orders all elements of its type."""
    return compare.total or not (compare.a.dtype.is_float or compare.a.dtype.is_complex)


def _arguments(formula: Scalar) -> frozenset[str]:
    return frozenset(node.name for node in nodes_of([formula]) if isinstance(node, Arg))


def _operands(node: Scalar, fn: BinaryFn) -> Sequence[tuple[Scalar, Scalar]]:
    """Both orders of the operands of a commutative function."""
    return ((node.a, node.b), (node.b, node.a)) if isinstance(node, Binary) and node.fn is fn else ()
