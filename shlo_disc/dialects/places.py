"""Places of slices that indices give: dimension numbers that gather and scatter share, and their constraints."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.checks import list_fields
from shlo_disc.dialects.dims import Dims, number_field, refuse_number
from shlo_disc.dialects.record import Check
from shlo_disc.dialects.types import Shape, sizes_agree
from shlo_disc.dialects.view import OpView, Refusal
from shlo_disc.records import record

_INDEX_DIMENSION = "index_vector_dim"


@record
class Places:
    """The names that an op gives to tensors and to lists of their dimensions. Methods with a view are constraints."""

    record: str  # the attribute that has the dimension numbers
    tensor: str  # slices lie in this tensor
    indices: str
    window: Dims  # dimensions of the gathered slices, or of the updates, that lie within a slice
    dropped: Dims  # dimensions of the tensor that these slices lack, since they are 1 there
    batching: Dims  # dimensions of the tensor that go along with …
    index_batching: Dims  # … these of the indices
    index_map: Dims  # dimensions of the tensor that an index has a number for

    def fields(self, labels: Mapping[str, str]) -> dict[str, Check]:
        """Make the constraints on the kinds of the fields; `labels` are theirs by name."""
        checks = list_fields(self.record, {name: label for name, label in labels.items() if name != _INDEX_DIMENSION})
        return {**checks, labels[_INDEX_DIMENSION]: number_field(self.record, _INDEX_DIMENSION)}

    def shape(self, view: OpView) -> Shape:
        """Return the shape of the tensor; of several tensors all have one shape."""
        return view.tensors(self.tensor)[0].shape

    def index_dimension(self, view: OpView) -> int:
        """Return the dimension of the indices along which one index lies; behind the last if indices are numbers."""
        return view.field_number(self.record, _INDEX_DIMENSION)

    def combined(self, view: OpView, slices: Shape) -> Shape:
        """Return the shape of all slices: sizes of `slices` along `window`, sizes of the indices elsewhere.

        `slices` has a size for each dimension of the tensor.
        """
        gone = {*self.dropped.of(view), *self.batching.of(view)}
        inner = [size for dimension, size in enumerate(slices) if dimension not in gone]
        outer = list(view.shape(self.indices))
        del outer[self.index_dimension(view) : self.index_dimension(view) + 1]
        sizes = {True: iter(inner), False: iter(outer)}
        window = self.window.of(view)
        return tuple([next(sizes[dimension in window], None) for dimension in range(len(inner) + len(outer))])

    def each_dimension_once(self, view: OpView) -> Refusal | None:
        """Refuse other than one mention of each dimension of the tensor as `window`, `dropped` or `batching`."""
        lists, rank = (self.window, self.dropped, self.batching), len(self.shape(view))
        counts = [len(dims.of(view)) for dims in lists]
        if sum(counts) == rank:
            return None
        names = " and ".join([f"'{dims.name}'" for dims in lists])
        return Refusal(
            f"{names} to have as many numbers in all as '{self.tensor}' has dimensions, {rank}", f"{sum(counts)}"
        )

    def index_dimension_exists(self, view: OpView) -> Refusal | None:
        """Refuse an index dimension that is neither one of the indices nor one behind the last."""
        dimension, rank = self.index_dimension(view), view.rank(self.indices)
        return refuse_number(f"'{_INDEX_DIMENSION}', for indices of rank {rank},", dimension, 0, rank + 1)

    def index_size(self, view: OpView) -> Refusal | None:
        """Refuse indices with other than one number for each dimension that `index_map` names."""
        shape, dimension = (*view.shape(self.indices), 1), self.index_dimension(view)
        count = len(self.index_map.of(view))
        if sizes_agree(count, shape[dimension]):
            return None
        expected = (
            f"'{self.index_map.name}' to have as many numbers as an index in '{self.indices}', {shape[dimension]}"
        )
        return Refusal(expected, str(count))

    def index_dimension_is_no_batch(self, view: OpView) -> Refusal | None:
        """Refuse an index dimension that counts among those of batches."""
        dimension, batches = self.index_dimension(view), self.index_batching.of(view)
        if dimension not in batches:
            return None
        return Refusal(
            f"'{self.index_batching.name}' without {dimension}, the '{_INDEX_DIMENSION}'", str(list(batches))
        )

    def batches_paired(self, view: OpView) -> Refusal | None:
        """Refuse other than one batch dimension of the indices for each one of the tensor."""
        first, second = self.batching.of(view), self.index_batching.of(view)
        if len(first) == len(second):
            return None
        names = f"'{self.batching.name}' and '{self.index_batching.name}'"
        return Refusal(f"{names} to have equally many numbers", f"{list(first)} and {list(second)}")

    def batches_equal(self, view: OpView) -> Refusal | None:
        """Refuse batch dimensions of different sizes."""
        tensor, indices = self.shape(view), view.shape(self.indices)
        for first, second in zip(self.batching.of(view), self.index_batching.of(view), strict=True):
            if not sizes_agree(tensor[first], indices[second]):
                expected = f"dimension {first} of '{self.tensor}' and dimension {second} of '{self.indices}' to agree"
                return Refusal(f"{expected} in size", f"{tensor[first]} and {indices[second]}")
        return None
