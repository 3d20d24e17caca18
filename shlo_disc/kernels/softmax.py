"""Recognizes a softmax in formulas: its input, and how its results are used.

The only form recognized is `e / sum(e)`, `e = exp(x - max(x))`, with the same `x` everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from shlo_disc.analysis.formula import Formulas
from shlo_disc.dynamic_ops.program import Op, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.expr.dim import Dim, const, of
from shlo_disc.expr.node import Node
from shlo_disc.expr.scalar import Arg, Binary, Const, Convert, Index, Scalar, Select, Unary
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.functions.unary import UnaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.kernel import Axis
from shlo_disc.kernels.rewrite import nodes_of
from shlo_disc.records import record

RAW, EXPONENTIAL, GREATEST, TOTAL = "raw", "exponential", "greatest", "total"

Replaced = Mapping[Tensor, Callable[[Index], Scalar | None]]


@record
class Softmax:
    """`score`: the input in terms of `raw`, which stands for element `read` of the tensor `Question.below`.

    The result is `weight / total`, with `weight` in terms of `exponential`; it is 0 where `kept` is not true. The
    program's own formulas: `summed` are the elements of the maximum, in terms of `raw`, and of the sum, in terms of
    `greatest` too; `share` is the result, in terms of `total` too.
    """

    raw: Arg
    read: Index
    score: Scalar
    exponential: Arg
    weight: Scalar
    kept: Scalar | None
    summed: tuple[Scalar, Scalar]
    share: Scalar


@record
class Question:
    """Is element `index` of `result` a softmax along `key` of a formula of `below`, by these two reductions?

    `formulas` makes a context that inlines everything in between, except for the tensors it is given replacements of.
    """

    formulas: Callable[[Replaced], Formulas]
    result: Tensor
    index: Index
    reduces: Sequence[Op[object]]
    below: Tensor
    key: Axis


def match_softmax(question: Question) -> Softmax | str:
    """Match the softmax; return its parts, or the reason for a mismatch."""
    reader = _SoftmaxReader(question)
    return reader.read()


@dataclass(slots=True, eq=False)
class _SoftmaxReader:
    """Builds formulas with args for both reductions and `below`, and collects the indices at which these are read."""

    question: Question
    reads: dict[str, set[Index]] = field(default_factory=dict[str, set[Index]])

    def read(self) -> Softmax | str:
        question = self.question
        raw = Arg(RAW, question.below.dtype)
        stands: dict[Tensor, Arg] = {question.below: raw}
        plain = question.formulas({})
        for op in question.reduces:
            if (name := reduction_name(plain, op)) is None:
                return "a reduction is neither a maximum from -inf nor a sum from 0"
            stands[op.results[0]] = Arg(name, op.results[0].dtype)
        self.reads = {arg.name: set[Index]() for arg in stands.values()}
        if len(self.reads) != 3:
            return "the two reductions are not a maximum and a sum"
        formulas = question.formulas({tensor: self._noting(arg) for tensor, arg in stands.items()})
        elements = dict[str, Scalar]()
        whole = formulas.at(question.result, question.index)
        for name in (TOTAL, GREATEST):
            op = next(op for op in question.reduces if stands[op.results[0]].name == name)
            if (at := self._operand_index(op, name, formulas)) is None:
                return f"the {name} is not taken over all keys of the row"
            elements[name] = formulas.at(op.operands[0], at)
        if len(self.reads[RAW]) != 1:
            return "a score depends on several elements of the first product"
        (read,) = self.reads[RAW]
        return _match(whole, elements[TOTAL], elements[GREATEST], raw, read)

    def _noting(self, arg: Arg) -> Callable[[Index], Scalar]:
        def stand_in(index: Index) -> Scalar:
            self.reads[arg.name].add(index)
            return arg

        return stand_in

    def _operand_index(self, op: Op[object], name: str, formulas: Formulas) -> Index | None:
        """The index at which a reduction over the key reads its operand, if the reduction is read at one place."""
        assert isinstance(op.attrs, ReduceAttrs), "only reductions are asked about"
        key, canonical = self.question.key, formulas.facts.canonical
        shape = op.operands[0].shape
        wide = [d for d in op.attrs.dims if shape[d].constant != 1]
        if len(self.reads[name]) != 1 or len(wide) != 1 or canonical(shape[wide[0]]) != canonical(key.extent):
            return None
        rest = iter(next(iter(self.reads[name])))
        index = tuple(
            next(rest) if d not in op.attrs.dims else of(key.symbol) if d in wide else const(0)
            for d in range(len(shape))
        )
        kept: list[Dim] = [dim for d, dim in enumerate(index) if d not in op.attrs.dims]
        return None if any(key.symbol in dim.symbols() for dim in kept) else index


def reduction_name(formulas: Formulas, op: Op[object]) -> str | None:
    """Which of the two reductions of a softmax this is; None if neither."""
    if len(op.results) != 1:
        return None
    dtype = op.results[0].dtype
    carry, element = Arg("carry", dtype), Arg("element", dtype)
    (update,) = formulas.region(op.bodies[0], (carry, element))
    init = formulas.at(op.operands[1], ())
    match update, init:
        case Binary(fn, a, b, _), Const(float(start), _) if {a, b} == {carry, element}:
            known = {(BinaryFn.MAXIMUM, float("-inf")): GREATEST, (BinaryFn.ADD, 0.0): TOTAL}
            return known.get((fn, start))
        case _:
            return None


def _match(whole: Scalar, summed: Scalar, compared: Scalar, raw: Arg, read: Index) -> Softmax | str:
    """Match `whole` as `exp(x - greatest) / total`: `total` sums these exponentials, `greatest` is the maximum of x."""
    score = exponential_of(summed, compared)
    if isinstance(score, str):
        return score
    names = args_of(score)
    if names != {RAW}:
        return "a score does not depend on the first product alone"
    found = _weight(whole, unconverted(summed))
    if found is None:
        return "the exponentials are not divided by their sum, or the quotient is used in a way that sums do not allow"
    weight, exponential, kept = found
    return Softmax(raw, read, score, exponential, weight, kept, (compared, summed), whole)


def exponential_of(summed: Scalar, compared: Scalar) -> Scalar | str:
    """The scores whose exponentials are summed, the maximum subtracted; or the reason for a mismatch."""
    match unconverted(summed):
        case Unary(UnaryFn.EXPONENTIAL, power, _):
            pass
        case _:
            return "what is summed is no exponential"
    match unconverted(power):
        case Binary(BinaryFn.SUBTRACT, score, shift, _) if _is_greatest(shift):
            pass
        case _:
            return "the row's maximum is not subtracted before exp"
    if unconverted(score) != unconverted(compared):
        return "the maximum is taken of something else than exp is"
    return score


def _is_greatest(shift: Scalar) -> bool:
    """Whether this is the row's maximum, possibly with JAX's guards for rows that are all -inf."""
    match unconverted(shift):
        case Arg(name, _):
            return name == GREATEST
        case Binary(BinaryFn.MAXIMUM, Const(value, _), other, _) | Binary(BinaryFn.MAXIMUM, other, Const(value, _), _):
            return value == float("-inf") and _is_greatest(other)
        case _:
            return False


def _weight(node: Scalar, exponential: Scalar) -> tuple[Scalar, Arg, Scalar | None] | None:
    """Match a formula linear in the quotient; return it applied to the exponential, the arg, and where it is not 0.

    Such a formula may be applied before the products with V are summed, and the division after it.
    """
    match node:
        case Convert(x, dtype) if dtype.is_float:
            if (found := _weight(x, exponential)) is not None:
                return Convert(found[0], dtype), found[1], found[2]
        case Select(condition, then, Const(value, _) as zero) if value == 0 and not args_of(condition):
            if (found := _weight(then, exponential)) is not None:
                kept = condition if found[2] is None else Binary(BinaryFn.AND, condition, found[2], DType.I1)
                return Select(condition, found[0], zero), found[1], kept
        case Binary(BinaryFn.MULTIPLY | BinaryFn.DIVIDE as fn, a, b, dtype) if not args_of(b):
            if (found := _weight(a, exponential)) is not None and found[2] is None:  # else 0 * inf may occur anywhere
                return Binary(fn, found[0], b, dtype), found[1], None
        case Binary(BinaryFn.MULTIPLY, a, b, dtype) if not args_of(a):
            if (found := _weight(b, exponential)) is not None and found[2] is None:
                return Binary(BinaryFn.MULTIPLY, a, found[0], dtype), found[1], None
        case Binary(BinaryFn.DIVIDE, a, b, dtype) if unconverted(a) == exponential and _is_total(b):
            arg = Arg(EXPONENTIAL, dtype)
            return arg, arg, None
        case _:
            pass
    return None


def _is_total(node: Scalar) -> bool:
    match unconverted(node):
        case Arg(name, _):
            return name == TOTAL
        case _:
            return False


def args_of(node: Scalar) -> set[str]:
    """The names of the args in a formula."""
    roots: list[Node] = [node]
    return {n.name for n in nodes_of(roots) if isinstance(n, Arg)}


def unconverted(node: Scalar) -> Scalar:
    """The formula without its outermost conversions between float types."""
    while isinstance(node, Convert) and node.dtype.is_float and node.x.dtype.is_float:
        node = node.x
    return node
