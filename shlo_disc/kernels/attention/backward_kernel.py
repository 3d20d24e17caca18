"""The kernel of attention's backward pass, and whether its formulas allow in-place elements and skipped pairs."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.dynamic_ops.contract import Precision
from shlo_disc.expr.scalar import Arg, Convert, Scalar
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.attention.zero_propagation import is_zero_at
from shlo_disc.kernels.kernel import Axis, MatrixView, Param, Store
from shlo_disc.kernels.rewrite import ArgRewriter, nodes_of
from shlo_disc.kernels.softmax import EXPONENTIAL, RAW, args_of, exponential_of
from shlo_disc.records import record


@record
class RowSum:
    """A maximum from -inf, or a sum from 0, of a formula over a row's keys. `kept`: the element overwrites `raw`."""

    arg: Arg
    greatest: bool
    element: Scalar
    kept: bool


@record
class BackwardProduct:
    """`weights` (an index into the kernel's) times `right`, summed over keys; `by_key`: over rows, for each key.

    `right` is key x column, or row x column. The epilogue reads the sum as `accumulator`, of the product's type.
    """

    weights: int
    by_key: bool
    precision: Precision
    right: MatrixView
    column: Axis
    accumulator: Arg
    epilogue: tuple[Store, ...]


@record
class PairStore:
    """The store of every pair of a row and a key; `weights` is the index of those it shares most nodes with."""

    weights: int
    store: Store


@record
class BackwardKernel:
    """Per point of `batch`: `raw = q @ k^T` and `gradient = g @ v^T` by rows, sums of rows, and products of both.

    Sums over rows also run over all points of `inner`. `score`: what the first of `sums`, the maximum, is taken of.
    Every formula is in terms of `raw`, `gradient` and earlier sums; `raw` stands for the element of the last sum with
    `kept`. `masked`: pairs whose exponential is 0 change nothing, and store 0, if q, k, g and v are of moderate size.
    All operands have one type; if it is f16 or bf16, intermediate values have that type or f32, as in the program.
    `precisions`: those of both products by rows.
    """

    params: tuple[Param, ...]
    batch: tuple[Axis, ...]
    inner: tuple[Axis, ...]
    row: Axis
    key: Axis
    depth: int
    width: int
    q: MatrixView
    k: MatrixView
    g: MatrixView
    v: MatrixView
    raw: Arg
    gradient: Arg
    score: Scalar
    sums: tuple[RowSum, ...]
    weights: tuple[Scalar, ...]
    products: tuple[BackwardProduct, ...]
    stores: tuple[PairStore, ...]
    precisions: tuple[Precision, Precision]
    masked: bool


def keep_in_place(
    order: Sequence[RowSum], weights: Sequence[Scalar], raw: Arg
) -> tuple[tuple[RowSum, ...], tuple[Scalar, ...]]:
    """Overwrite `raw` with the element of a sum where later formulas need `raw` for nothing else."""
    sums, later = list[RowSum](), [*(one.element for one in order), *weights]
    for one in order:
        element, *later = later
        taken = _narrower(element)
        stand = Arg("in place", taken.dtype)
        changed = later if taken == raw else [_Replacer(taken, stand).scalar(formula) for formula in later]
        used = [args_of(formula) for formula in changed]
        kept = any(stand.name in names for names in used) and not any(RAW in names for names in used)
        if kept:
            later = [ArgRewriter({stand.name: Arg(raw.name, taken.dtype)}).scalar(formula) for formula in changed]
        sums.append(RowSum(one.arg, one.greatest, element, kept))
    return tuple(sums), tuple(later)


def _narrower(element: Scalar) -> Scalar:
    """The narrow element that a sum in f32 or f64 widens: later formulas use it as it was rounded."""
    match element:
        case Convert(x, DType.F32 | DType.F64 as dtype) if x.dtype.is_float and x.dtype.bits < dtype.bits:
            return x
        case _:
            return element


class _Replacer(ArgRewriter):
    """Replaces a formula by an arg."""

    def __init__(self, formula: Scalar, arg: Arg) -> None:
        super().__init__({})
        self._formula, self._arg = formula, arg

    def _rebuild(self, node: Scalar) -> Scalar:
        return self._arg if node == self._formula else super()._rebuild(node)


def nearest(value: Scalar, weights: Sequence[Scalar]) -> int:
    """The index of the formula that shares most nodes with `value`."""
    parts = set(nodes_of([value]))
    return max(range(len(weights)), key=lambda n: len(parts.intersection(nodes_of([weights[n]]))))


def hidden_are_zero(order: Sequence[RowSum], weights: Sequence[Scalar]) -> bool:
    """Whether all formulas are 0 for pairs of a row and a key whose exponential is 0, so that they add nothing."""
    if len(order) < 2:
        return False
    greatest, total, *rest = order
    if total.greatest or isinstance(exponential_of(total.element, greatest.element), str):
        return False
    summed = _narrower(total.element)
    exponential = Arg(EXPONENTIAL, summed.dtype)
    formulas = [*(one.element for one in rest), *weights]
    return all(is_zero_at(_Replacer(summed, exponential).scalar(one), exponential, total.arg) for one in formulas)
