"""Maps the dims of tensors between the products of attention to the dims of the scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from shlo_disc.analysis.access import is_free
from shlo_disc.analysis.formula import Formulas, Producers
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.expr.facts import Facts
from shlo_disc.expr.scalar import Arg, Index, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.softmax import RAW


class RefusedError(Exception):
    """The ops do not match the pattern; the message is the reason."""


def require(condition: bool, reason: str) -> None:
    """Raise `RefusedError` unless the condition holds."""
    if not condition:
        raise RefusedError(reason)


class ScoreDims:
    """`symbols`: one per dim of the scores, `product`; None for dims of size 1. `members`: computed from them."""

    def __init__(self, product: Op[object], facts: Facts, producers: Producers, members: set[Tensor]) -> None:
        self.scores, self.facts, self.producers, self.members = product.results[0], facts, producers, members
        self.symbols = [None if size.constant == 1 else Sym(f"%x{d}") for d, size in enumerate(self.scores.shape)]

    def inlined(self, tensor: Tensor) -> bool:
        """Whether a tensor is read as a formula."""
        made = self.producers.get(tensor)
        return made is not None and (tensor in self.members or is_free(made[0]))

    def aligned(self, tensor: Tensor, stops: Iterable[Tensor]) -> Index:
        """The index at which a tensor depends on the score at `symbols`."""
        facts, places = self.facts, [Sym(f"%t{d}") for d in range(len(tensor.shape))]
        index = list[Dim]()
        for symbol, size in zip(places, tensor.shape, strict=True):
            facts = facts if size.constant == 1 else facts.with_index(symbol, size)
            index.append(const(0) if size.constant == 1 else of(symbol))
        found = set[Index]()

        def note(at: Index) -> Scalar:
            found.add(at)
            return Arg(RAW, self.scores.dtype)

        replaced: dict[Tensor, Callable[[Index], Scalar]] = dict.fromkeys(stops, _nothing)
        Formulas(facts, self.producers, self.inlined, {**replaced, self.scores: note}).at(tensor, tuple(index))
        require(len(found) == 1, "a formula does not depend on one score")
        (read,) = found
        place = {at: symbol for at, symbol in zip(read, self.symbols, strict=True) if symbol is not None}
        require(all(at in place or at == const(0) for at in index), "scores are grouped in different ways")
        return tuple(const(0) if at == const(0) else of(place[at]) for at in index)


class Scores:
    """Tensors known to have one element per score, or per row of them; extended in the program's order."""

    def __init__(self, product: Op[object], facts: Facts, producers: Producers) -> None:
        self._dims = ScoreDims(product, facts, producers, set(product.results))
        self._sums, self._key = list[Tensor](), None

    def extend(self, op: Op[object]) -> bool:
        """Add an op that reads some of them, unless it reduces more than keys; return whether it was added."""
        if isinstance(op.attrs, ReduceAttrs):
            try:
                index = self._dims.aligned(op.operands[0], self._sums)
            except RefusedError:
                return False
            reduced = {symbol for d in op.attrs.dims for symbol in index[d].symbols()}
            if len(reduced) != 1 or not (self._key is None or reduced == {self._key}):
                return False
            (self._key,) = reduced
            self._sums += op.results
        self._dims.members.update(op.results)
        return True


def _nothing(index: Index) -> Scalar:
    """Stand in for tensors that do not matter."""
    del index
    return Arg("another", DType.F32)
