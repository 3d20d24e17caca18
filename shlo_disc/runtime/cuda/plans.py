"""What calls of a program on a GPU need that depends on their sizes alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import Any, TypeAlias, TypeVar

from shlo_disc.artifact import Artifact
from shlo_disc.records import record
from shlo_disc.runtime.arguments import check_sizes
from shlo_disc.runtime.cuda.arguments import GpuArguments
from shlo_disc.runtime.cuda.device import DeviceArray, IndexType
from shlo_disc.runtime.cuda.driver import is_wide
from shlo_disc.runtime.driver import Sizes
from shlo_disc.runtime.interop import dtype_of

Shape = tuple[int, ...]

_PLANS_KEPT = 4096

_T = TypeVar("_T")
_Numbered: TypeAlias = Sequence[_T] | Mapping[int, _T]


@record
class GpuPlan:
    """The plan of calls of the same sizes; and the choices, by the set of misaligned arguments."""

    number: int  # unique among the program's plans, whatever is bound
    sizes: Sizes
    signature: tuple[int, ...]  # all sizes
    index: IndexType
    result_bytes: tuple[int, ...]
    choices: dict[frozenset[int], tuple[int, ...]] = field(default_factory=dict[frozenset[int], tuple[int, ...]])


class GpuPlans:
    """The plans of a program, by the shapes of the arguments that calls bring, then the sizes read from elements."""

    def __init__(
        self,
        arguments: GpuArguments,
        artifact: Artifact,
        sizes: Callable[[tuple[int, ...]], Sizes],
        index: IndexType | None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        """`sizes` checks the sizes of a call, and computes all others. `index` forces the width of indices."""
        self._arguments, self._artifact, self._sizes = arguments, artifact, sizes
        self._index: IndexType | None = index
        self._numbers = count() if numbers is None else numbers
        self._plans: dict[tuple[Shape, ...], GpuPlan] = {}

    def of_other_arguments(self, arguments: GpuArguments) -> GpuPlans:
        """No plans yet, of the same program with other bound arguments: plans depend on their sizes."""
        return GpuPlans(arguments, self._artifact, self._sizes, self._index, self._numbers)

    def of_call(self, brought: Sequence[DeviceArray], arrays: Sequence[Any]) -> GpuPlan:
        """The plan for the shapes of the arguments and the sizes read from them; a known plan needs no more checks.

        `brought` are the `arrays` on the device; elements of arrays on the host are read there. Raises
        `RuntimeShapeError` for sizes that no call may have.
        """
        arguments = self._arguments
        shapes = tuple([array.shape for array in brought])
        if not self._artifact.unbacked_sizes:
            return self._plans.get(shapes) or self._new(shapes, arguments.with_bound(brought), ())
        every = arguments.with_bound(brought)
        check_sizes(self._artifact, {k: one.shape for k, one in enumerate(every)}, arguments.held)
        read = self._read(every, arguments.with_bound(arrays))
        key = (*shapes, read)
        return self._plans.get(key) or self._new(key, every, read)

    def of_shapes(self, shapes: Sequence[Shape]) -> GpuPlan:
        """The plan of calls with arrays of these shapes, of the right ranks, none of whose elements is a size.

        Raises `RuntimeShapeError` as such a call does.
        """
        arguments = self._arguments
        read = self._read(arguments.held, arguments.held)
        key = (*shapes, read) if read else tuple(shapes)
        every = {**arguments.bound, **dict(zip(arguments.places, shapes, strict=True))}
        return self._plans.get(key) or self._add(key, every, read)

    def _read(self, found: _Numbered[DeviceArray], arrays: _Numbered[Any]) -> tuple[int, ...]:
        """The sizes that are elements of arguments; waits for those on the device."""
        every = [(size.argument, size.element) for size in self._artifact.unbacked_sizes]
        return tuple([self._arguments.element(k, element, found[k], arrays[k]) for k, element in every])

    def _new(self, key: tuple[Shape, ...], every: Sequence[DeviceArray], read: tuple[int, ...]) -> GpuPlan:
        return self._add(key, {k: one.shape for k, one in enumerate(every)}, read)

    def _add(self, key: tuple[Shape, ...], shapes: Mapping[int, Shape], read: tuple[int, ...]) -> GpuPlan:
        """The plan for the `shapes` of all arguments, and sizes that were `read`."""
        artifact = self._artifact
        check_sizes(artifact, shapes, self._arguments.held)
        raw = (*(shapes[argument][axis] for argument, axis in artifact.raw), *read)
        sizes = self._sizes(raw)
        symbols = dict(zip(artifact.symbols, sizes.symbols, strict=False))
        index: IndexType = self._index or ("int64_t" if is_wide(artifact, symbols) else "int32_t")
        wanted = zip(artifact.results, sizes.shapes, strict=True)
        result_bytes = tuple(math.prod(s) * dtype_of(r.dtype).itemsize for r, s in wanted)
        plan = GpuPlan(next(self._numbers), sizes, tuple(sizes.symbols), index, result_bytes)
        if len(self._plans) >= _PLANS_KEPT:
            self._plans.clear()
        self._plans[key] = plan
        return plan
