"""What calls of a program on a GPU need that depends on their sizes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count

from shlo_disc.artifact import Artifact
from shlo_disc.runtime.arguments import check_sizes
from shlo_disc.runtime.cuda.device import IndexType
from shlo_disc.runtime.cuda.driver import is_wide
from shlo_disc.runtime.driver import Sizes
from shlo_disc.runtime.interop import dtype_of

Shape = tuple[int, ...]

_PLANS_KEPT = 4096


@dataclass(frozen=True, slots=True)
class GpuPlan:
    """The plan of calls of the same sizes; and the choices, by the set of misaligned arguments."""

    number: int  # unique among the program's plans, whatever is bound
    sizes: Sizes
    signature: tuple[int, ...]  # all sizes
    index: IndexType
    result_bytes: tuple[int, ...]
    choices: dict[frozenset[int], tuple[int, ...]] = field(default_factory=dict[frozenset[int], tuple[int, ...]])


class GpuPlans(dict[tuple[Shape, ...], GpuPlan]):
    """The plans of a program, by the shapes of the arguments that calls bring, then the sizes read from elements."""

    def __init__(
        self,
        artifact: Artifact,
        sizes: Callable[[tuple[int, ...]], Sizes],
        index: IndexType | None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        """`sizes` checks the sizes of a call, and computes all others. `index` forces the width of indices."""
        super().__init__()
        self._artifact, self._sizes = artifact, sizes
        self._index: IndexType | None = index
        self._numbers = count() if numbers is None else numbers

    def of_other_arguments(self) -> GpuPlans:
        """No plans yet, of the same program with other bound arguments: plans depend on their sizes."""
        return GpuPlans(self._artifact, self._sizes, self._index, self._numbers)

    def add(
        self, key: tuple[Shape, ...], shapes: Mapping[int, Shape], bound: Mapping[int, Shape], read: tuple[int, ...]
    ) -> GpuPlan:
        """The plan for the `shapes` of all arguments, some of them `bound`, and sizes that were `read`.

        Raises `RuntimeShapeError` for sizes that no call may have.
        """
        artifact = self._artifact
        check_sizes(artifact, shapes, bound)
        raw = (*(shapes[argument][axis] for argument, axis in artifact.raw), *read)
        sizes = self._sizes(raw)
        symbols = dict(zip(artifact.symbols, sizes.symbols, strict=False))
        index: IndexType = self._index or ("int64_t" if is_wide(artifact, symbols) else "int32_t")
        wanted = zip(artifact.results, sizes.shapes, strict=True)
        result_bytes = tuple(math.prod(s) * dtype_of(r.dtype).itemsize for r, s in wanted)
        plan = GpuPlan(next(self._numbers), sizes, tuple(sizes.symbols), index, result_bytes)
        if len(self) >= _PLANS_KEPT:
            self.clear()
        self[key] = plan
        return plan
