"""Values of a program that is being packed: padded tensors, packed ones, and the ops between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from shlo_disc.diagnostics import Span
from shlo_disc.dynamic_ops.program import Shape, Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.ragged.building import OpList
from shlo_disc.ragged.pairs import PackedLayout, Pair, Pairs, layout_of
from shlo_disc.ragged.row_offsets import RowOffsets
from shlo_disc.ragged.states import Number
from shlo_disc.ragged.steps import AnalysisContext


@dataclass(frozen=True, slots=True)
class PackedValue:
    """A value as a packed tensor."""

    tensor: Tensor
    layout: PackedLayout


@dataclass(slots=True)
class Storage:
    """How each value is stored so far. A value may be stored in both ways; it is made in the other one when asked for.

    `padded`: the values that are stored as in the padded program, in tensors that are theirs.
    """

    ops: OpList
    rows: Mapping[int, RowOffsets]
    pairs: Pairs
    context: AnalysisContext
    padded: set[Tensor] = field(default_factory=set[Tensor])
    packed: dict[Tensor, PackedValue] = field(default_factory=dict[Tensor, PackedValue])

    def layout(self, tensor: Tensor, pair: Pair) -> PackedLayout:
        """The layout of a value that is packed along a pair."""
        return layout_of(tensor, self.context.of(tensor), pair, self.rows[pair.source].total)

    def as_packed(self, tensor: Tensor, layout: PackedLayout, span: Span, *, is_aligned: bool) -> Tensor:
        """A value in the layout of another one of its shape, whose elements it is combined with.

        `is_aligned`: its rows and positions, where it is packed, are those of the layout.
        """
        if is_aligned and tensor in self.packed:
            return self.packed[tensor].tensor
        if (known := self.pairs.known(tensor, layout.pair)) is not None:
            return self.ops.constant(known, tensor.dtype, layout.shape, span)
        made = self.packed_of_padded(self.as_padded(tensor), layout, span)
        if tensor not in self.packed and self.pairs.of(tensor) == layout.pair:
            self.packed[tensor] = PackedValue(made, layout)
        return made

    def packed_of_padded(self, tensor: Tensor, layout: PackedLayout, span: Span) -> Tensor:
        """Gather a padded tensor's elements within the lengths."""
        pair = layout.pair
        x = self.ops.reshape(tensor, layout.factors, span)
        places = self.rows[pair.source].places
        x = self.ops.gather(x, places, (pair.row, pair.position), (self._axis(pair),), span)
        return self.ops.reshape(x, layout.shape, span)

    def as_padded(self, tensor: Tensor) -> Tensor:
        """A value as the padded program stores it; elements that nothing needs may be other numbers."""
        if tensor not in self.padded:
            packed = self.packed[tensor]
            fill = self.pairs.fill(tensor, packed.layout.pair)
            self.ops.reshape(self._spread(packed, fill, tensor.span), tensor.shape, tensor.span, tensor)
            self.padded.add(tensor)
        return tensor

    def with_fill(self, packed: PackedValue, value: Number, shape: Shape, span: Span) -> Tensor:
        """A new padded tensor of a packed one, with `value` beyond the lengths."""
        return self.ops.reshape(self._spread(packed, value, span), shape, span)

    def _spread(self, packed: PackedValue, fill: Number | None, span: Span) -> Tensor:
        """The padded tensor, a dim for each factor; without `fill`, a row's last element is beyond its length, too."""
        layout, rows = packed.layout, self.rows[packed.layout.pair.source]
        pair, axis = layout.pair, self._axis(layout.pair)
        x = self.ops.reshape(packed.tensor, self._packed_factors(layout), span)
        x = self.ops.with_one_more(x, axis, 0 if fill is None else fill, span)
        elements = rows.elements(is_marked=fill is not None)
        if pair.row > pair.position:
            elements = self.ops.transpose(elements, (1, 0), span)
        return self.ops.gather(x, elements, (axis,), tuple(sorted((pair.row, pair.position))), span)

    @staticmethod
    def _axis(pair: Pair) -> int:
        """The dim of the rows' positions among a packed tensor's factors."""
        return pair.position - (pair.row < pair.position)

    @staticmethod
    def _packed_factors(layout: PackedLayout) -> tuple[Dim, ...]:
        pair = layout.pair
        return tuple(
            [layout.total if k == pair.position else size for k, size in enumerate(layout.factors) if k != pair.row]
        )
