"""Ops that sum over dims: products, reductions, windows and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce as merge
from typing import Any

from shlo_disc.dynamic_ops.contract import ConvAttrs, DotAttrs, free_dims
from shlo_disc.dynamic_ops.indexing import ONE
from shlo_disc.dynamic_ops.program import Body, Op
from shlo_disc.dynamic_ops.reduce import ReduceAttrs, ReduceWindowAttrs
from shlo_disc.expr.dim import Dim
from shlo_disc.expr.scalar import neutral
from shlo_disc.functions.binary import BinaryFn
from shlo_disc.ir.dtypes import DType
from shlo_disc.ragged.elements import product_state
from shlo_disc.ragged.forms import Atom, LinearForm, Position, Region, Signs, form_of, known_in, regions_of
from shlo_disc.ragged.states import (
    LARGEST_MASK,
    Known,
    Low,
    Padding,
    Sign,
    State,
    cause_of,
    dependent,
    is_large,
    is_number,
    joined,
)
from shlo_disc.ragged.steps import AnalysisContext, OpAnalysis, SpaceReading, anywhere, positions
from shlo_disc.ragged.values import Factors, Places, RegionValue, combined, completed, plain_dims, read_at, simplified
from shlo_disc.records import record

_FOLDS = {
    fn.value.name: fn
    for fn in (BinaryFn.ADD, BinaryFn.MULTIPLY, BinaryFn.AND, BinaryFn.OR, BinaryFn.MAXIMUM, BinaryFn.MINIMUM)
}


def fold_of(body: Body) -> BinaryFn | None:
    """The function by which a body combines its two arguments, if that is all it does."""
    if len(body.ops) != 1 or set(body.ops[0].operands) != set(body.arguments) or body.results != body.ops[0].results:
        return None
    return _FOLDS.get(body.ops[0].name)


@record
class _Sum:
    """A sum over the factors from `kept` on of a space: `fn` combines elements of type `dtype`."""

    op: Op[Any]
    fn: BinaryFn | None
    dtype: DType
    kept: int
    context: AnalysisContext

    def of(self, value: RegionValue, dims: tuple[Factors, ...], size: Signs) -> RegionValue:
        """The sum of a value that is in terms of the space."""
        dying = [each for each in value.conditions if self._dies(each)]
        staying = [each for each in value.conditions if not self._dies(each)]
        weaker = [self._bound(each, size, greatest=greatest) for each in dying for greatest in (True, False)]
        staying = list(dict.fromkeys([*staying, *(each for each in weaker if each is not None)]))
        states = dict[Region, State]()
        everything = regions_of(tuple(dict.fromkeys([*staying, *dying])), size)
        for region in regions_of(staying, size):
            terms = {
                each: value.states[own]
                for each in everything
                if each & frozenset(staying) == region and (own := each & frozenset(value.conditions)) in value.states
            }
            given = known_in(staying, region)
            unmasked = any(
                not is_large(state) and self._has_first(dying, part, given, size) for part, state in terms.items()
            )
            states[region] = self._sum(list(terms.values()) or list(value.states.values()), unmasked=unmasked)
        return simplified(completed(RegionValue(dims, tuple(staying), states)))

    def _has_first(
        self, dying: Sequence[LinearForm], region: Region, given: Sequence[LinearForm], signs: Signs
    ) -> bool:
        """Whether a region has the first element of each sum, at position 0, in any case."""

        def first(atom: Atom) -> LinearForm:
            is_summed = isinstance(atom, Position) and atom.factor >= self.kept
            return LinearForm() if is_summed else form_of(atom)

        for condition in dying:
            form = condition.replaced(first)
            if form is None or not signs.never_negative(
                form if condition in region else form.scaled(-1).plus(-1), given
            ):
                return False
        return True

    def _dies(self, condition: LinearForm) -> bool:
        """Whether a condition depends on a position that is summed over."""
        return any(
            (atom.factor if isinstance(atom, Position) else getattr(atom, "batch", -1)) >= self.kept
            for atom in condition.atoms
        )

    def _bound(self, condition: LinearForm, signs: Signs, *, greatest: bool) -> LinearForm | None:
        """The greatest or least value of a condition in a window.

        Where the greatest does not hold, the condition holds at no element of the sum; where the least does, at all.
        """
        found, has_position = condition, False
        for atom, k in condition.terms:
            if not isinstance(atom, Position):
                if getattr(atom, "batch", -1) >= self.kept:
                    return None
                continue
            if atom.factor < self.kept:
                has_position = True
                continue
            found -= form_of(atom).scaled(k)
            if (k > 0) is greatest:
                found = found.plus((signs.extents[atom] - 1) * k)
        rest = self.context.signs.facts.canonical(found.rest)
        has_length = any(not isinstance(atom, Position) for atom in condition.atoms)
        return LinearForm(found.terms, rest) if has_position and has_length else None

    def _sum(self, terms: Sequence[State], *, unmasked: bool) -> State:
        """The state of a sum of elements in these states. `unmasked`: there is one that is not masked."""
        masks = [state for state in terms if unmasked and self._is_mask(state)]
        kept = [state for state in terms if state not in masks and not self.is_neutral(state)]
        for state in masks:
            if isinstance(state, Low):
                self.context.notes.assume_small(self.op, state.least)
        together = merge(joined, terms)
        if not kept or (self._is_idempotent and isinstance(together, Known)):
            return together
        cause = next((cause for state in kept if (cause := cause_of(state)) is not None), None)
        large = self.dtype.is_float and any(map(is_large, kept))
        return dependent(None if cause is None else self.context.notes.cause(self.op, cause), large=large)

    @property
    def _is_idempotent(self) -> bool:
        return self.fn in (BinaryFn.AND, BinaryFn.OR, BinaryFn.MAXIMUM, BinaryFn.MINIMUM)

    def is_neutral(self, state: State) -> bool:
        """Whether elements in a state leave the sum as it is."""
        return self.fn is not None and is_number(state, neutral(self.fn, self.dtype))

    def _is_mask(self, state: State) -> bool:
        """Whether elements are masked in a maximum of which one element is not."""
        if self.fn is not BinaryFn.MAXIMUM or not self.dtype.is_float:
            return False
        return isinstance(state, Low) or (isinstance(state, Known) and state.value.real <= LARGEST_MASK)


def _summed(sum_: _Sum, product: RegionValue, dims: tuple[Factors, ...], space: Sequence[Dim]) -> RegionValue:
    """The sum, with the op as the one that leaks where elements beyond lengths reach those within."""
    context, inside = sum_.context, frozenset[LinearForm]()
    found = sum_.of(product, dims, context.space(space))
    state = found.inside
    if isinstance(state, Padding) and not isinstance(product.states.get(inside), Padding):
        leak = Padding(context.notes.cause(sum_.op, state.cause.before or state.cause, leaks=True), state.large)
        return RegionValue(found.dims, found.conditions, {**found.states, inside: leak})
    return found


def dot(op: Op[DotAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """A sum of products over the contracted dims."""
    (lhs, rhs), attrs = values, op.attrs
    lhs_free = free_dims(len(lhs.dims), attrs.lhs_batch, attrs.lhs_contract)
    rhs_free = free_dims(len(rhs.dims), attrs.rhs_batch, attrs.rhs_contract)
    pairs = [
        *zip(attrs.lhs_batch, attrs.rhs_batch, strict=True),
        *((k, None) for k in lhs_free),
        *((None, k) for k in rhs_free),
        *zip(attrs.lhs_contract, attrs.rhs_contract, strict=True),
    ]
    found: tuple[list[LinearForm | None], ...] = ([None] * len(lhs.factors), [None] * len(rhs.factors))
    dims, first = list[Factors](), 0
    for pair in pairs:
        own = [value.dims[k] for value, k in zip(values, pair, strict=True) if k is not None]
        dim = max(own, key=len)
        for value, k, each in zip(values, pair, found, strict=True):
            if k is not None:
                _place(each, value, k, first, dim)
        dims.append(dim)
        first += len(dim)
    kept = len(pairs) - len(attrs.lhs_contract)
    return _product(op, values, found, (dims[:kept], dims[kept:]), context)


def _product(
    op: Op[Any],
    values: Sequence[RegionValue],
    places: Sequence[Places],
    dims: tuple[Sequence[Factors], Sequence[Factors]],
    context: AnalysisContext,
) -> OpAnalysis:
    """The sum of products of two operands over the dims of the second group."""
    kept, summed = ([factor for dim in group for factor in dim] for group in dims)
    space = (*kept, *summed)
    reads = [read_at(value, each) for value, each in zip(values, places, strict=True)]

    def product(states: Sequence[State], _sign: Sign) -> State:
        return product_state(op, states, context.notes)

    products = combined(plain_dims(()), reads, product, context.space(space))
    sum_ = _Sum(op, BinaryFn.ADD, op.results[0].dtype, len(kept), context)
    found = _summed(sum_, products, tuple(dims[0]), space)
    return OpAnalysis(op, (found,), SpaceReading(space, len(kept), tuple(places)))


def reduce(op: Op[ReduceAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """A fold over dims; of one operand by a known function, or of several, of which nothing is known."""
    count = len(values) // 2
    dims = max((value.dims for value in values[:count]), key=lambda dims: sum(map(len, dims)))
    reduced = frozenset(op.attrs.dims)
    order = [*(k for k in range(len(dims)) if k not in reduced), *sorted(reduced)]
    firsts, first = dict[int, int](), 0
    for k in order:
        firsts[k] = first
        first += len(dims[k])
    space = [factor for k in order for factor in dims[k]]
    places = [_placed(value, dims, firsts) for value in values[:count]]
    reads = [read_at(value, each) for value, each in zip(values, places, strict=False)]
    fn = fold_of(op.bodies[0]) if count == 1 else None
    kept_dims = tuple([dims[k] for k in order[: len(order) - len(reduced)]])
    kept = sum(map(len, kept_dims))
    starts = [value.inside for value in values[count:]]

    def together(states: Sequence[State], _sign: Sign) -> State:
        if len(states) == 1:
            return states[0]
        return merge(joined, states)

    points = combined(plain_dims(()), reads, together, context.space(space))
    sum_ = _Sum(op, fn, op.results[0].dtype, kept, context)
    found = _summed(sum_, points, kept_dims, space)
    found = _with_starts(sum_, found, starts)
    reading = SpaceReading(tuple(space), kept, (*places, *([()] * count)))
    return OpAnalysis(op, (found,) * count, reading)


def _placed(value: RegionValue, dims: Sequence[Factors], firsts: dict[int, int]) -> list[LinearForm | None]:
    found = list[LinearForm | None]()
    for k, (own, dim) in enumerate(zip(value.dims, dims, strict=True)):
        same = own == dim or len(own) == len(dim) == 1
        found += positions(range(firsts[k], firsts[k] + len(own))) if same else [None] * len(own)
    return found


def _with_starts(sum_: _Sum, value: RegionValue, starts: Sequence[State]) -> RegionValue:
    """The value of a fold, with its initial values: neutral ones, or others."""
    if all(sum_.is_neutral(state) for state in starts):
        return value
    states = {
        region: dependent(
            next((cause for x in (state, *starts) if (cause := cause_of(x)) is not None), None),
            large=any(map(is_large, (state, *starts))),
        )
        for region, state in value.states.items()
    }
    return simplified(RegionValue(value.dims, value.conditions, states))


def reduce_window(op: Op[ReduceWindowAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """A fold over windows; a dim whose window is one element is as it is."""
    if len(values) != 2:
        return anywhere(op, values, context)
    x, attrs = values[0], op.attrs
    dims, places, windows = list[Factors](), list[LinearForm | None](), list[Dim]()
    shape, first = op.results[0].shape, 0
    plan = list[tuple[int, bool]]()
    for k, own in enumerate(x.dims):
        is_plain = attrs.window[k] == ONE == attrs.strides[k] == attrs.base_dilations[k] and context.same(
            shape[k], op.operands[0].shape[k]
        )
        dims.append(own if is_plain else plain_dims((shape[k],))[0])
        plan.append((first, is_plain))
        first += len(dims[-1])
    kept = first
    for k, (at, is_plain) in enumerate(plan):
        own = x.dims[k]
        if is_plain:
            places += positions(range(at, at + len(own)))
            continue
        tap = form_of(Position(kept + len(windows)))
        windows.append(attrs.window[k])
        dilation = attrs.window_dilations[k].constant
        is_shift = attrs.strides[k] == ONE == attrs.base_dilations[k] and dilation is not None
        if len(own) == 1 and dims[k] and is_shift:
            places.append((form_of(Position(at)) + tap.scaled(dilation or 1)).plus(-attrs.low[k]))
        else:
            places += [None] * len(own)
    space = (*(factor for dim in dims for factor in dim), *windows)
    sum_ = _Sum(op, fold_of(op.bodies[0]), op.results[0].dtype, kept, context)
    found = _summed(sum_, read_at(x, places), tuple(dims), space)
    found = _with_starts(sum_, found, [values[1].inside])
    return OpAnalysis(op, (found,), SpaceReading(space, kept, (places, ())))


def convolution(op: Op[ConvAttrs], values: Sequence[RegionValue], context: AnalysisContext) -> OpAnalysis:
    """A sum of products over windows and features."""
    (x, kernel), attrs = values, op.attrs
    if attrs.feature_groups != 1 or attrs.batch_groups != 1:
        kernel = read_at(kernel, [None] * len(kernel.factors))
    dims = list(plain_dims(op.results[0].shape))
    if attrs.batch_groups == 1:
        dims[attrs.output.batch] = x.dims[attrs.input.batch]
    if attrs.feature_groups == 1 == attrs.batch_groups:
        dims[attrs.output.feature] = kernel.dims[attrs.kernel.output_feature]
    firsts = [sum(map(len, dims[:k])) for k in range(len(dims))]
    kept = sum(map(len, dims))
    taps = tuple([op.operands[1].shape[dim] for dim in attrs.kernel.spatial])
    features = kept + len(taps)
    places: list[LinearForm | None] = [None] * len(x.factors)
    others: list[LinearForm | None] = [None] * len(kernel.factors)
    _place(places, x, attrs.input.batch, firsts[attrs.output.batch], dims[attrs.output.batch])
    space = (*(factor for dim in dims for factor in dim), *taps)
    if attrs.feature_groups == 1 == attrs.batch_groups:
        feature = max(x.dims[attrs.input.feature], kernel.dims[attrs.kernel.input_feature], key=len)
        _place(places, x, attrs.input.feature, features, feature)
        _place(others, kernel, attrs.kernel.input_feature, features, feature)
        _place(others, kernel, attrs.kernel.output_feature, firsts[attrs.output.feature], dims[attrs.output.feature])
        space += feature
    else:
        space += plain_dims((op.operands[1].shape[attrs.kernel.input_feature],))[0]
    for k, dim in enumerate(attrs.input.spatial):
        dilation, out, own = attrs.rhs_dilation[k].constant, attrs.output.spatial[k], attrs.kernel.spatial[k]
        tap = form_of(Position(kept + k))
        if len(kernel.dims[own]) == 1:
            size = form_of(Position(kept + k)).scaled(-1).plus(taps[k] - 1)
            others[kernel.first(own)] = size if attrs.reversal[k] else tap
        is_shift = attrs.strides[k] == ONE == attrs.lhs_dilation[k] and dilation is not None
        if len(x.dims[dim]) == 1 and is_shift:
            at = form_of(Position(firsts[out])) if dims[out] else LinearForm()
            places[x.first(dim)] = (at + tap.scaled(dilation or 1)).plus(-attrs.padding[k][0])
    shape = (tuple(dims), space[kept:])
    return _product(op, (x, kernel), (places, others), (shape[0], [shape[1]]), context)


def _place(places: list[LinearForm | None], value: RegionValue, dim: int, first: int, factors: Factors) -> None:
    """Place the factors of a dim at those of a space, from the number `first` on, if they are the same."""
    if value.dims[dim] == factors or len(value.dims[dim]) == len(factors) == 1:
        for there, number in enumerate(value.numbers(dim), start=first):
            places[number] = form_of(Position(there))
