"""The arguments of a program on a device: those that its calls supply, and those that are bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from shlo_disc.artifact import Artifact
from shlo_disc.runtime.arguments import check_count, check_sizes
from shlo_disc.runtime.binding import Span, refuse_donated, span_of
from shlo_disc.runtime.cuda.device import DeviceArray
from shlo_disc.runtime.cuda.transfer import ArrayTransfer, is_foreign
from shlo_disc.runtime.interop import dtype_of


class GpuArguments:
    """The arguments of a program, by number. Bound ones stay on the device. Never changed.

    Attributes:
        dtypes: of all arguments.
        places: the numbers of the arguments that a call supplies.
        held: the bound arguments.
        given: the spans of the arrays that were bound.
        like: a bound array of the library whose arrays the results should be, or nothing.
        owners: keep bound arrays alive that are not the device's own.
    """

    def __init__(
        self, artifact: Artifact, transfer: ArrayTransfer, given: Mapping[int, Any], held: Mapping[int, DeviceArray]
    ) -> None:
        """`held` are the arrays `given` on the device."""
        self._artifact, self.transfer = artifact, transfer
        self.dtypes = tuple(dtype_of(argument.dtype) for argument in artifact.arguments)
        self.held = {k: one if one.owner is not None else one._replace(owner=given[k]) for k, one in held.items()}
        count = len(artifact.arguments)
        self.places: Sequence[int] = [k for k in range(count) if k not in held] if held else range(count)
        pairs = [(artifact.arguments[k], self.dtypes[k]) for k in self.places]
        self._brought = tuple([(argument, dtype, argument.dtype, len(argument.shape)) for argument, dtype in pairs])
        lent = any(transfer.device.writable(one.owner) is None for one in self.held.values())
        self.owners: tuple[object, ...] = (self.held,) if lent else ()
        self.given: Mapping[int, Span] = {k: span_of(given[k]) for k in held}
        self.like = tuple([array for array in given.values() if is_foreign(array)])[:1]

    def bind(self, given: Mapping[int, Any]) -> GpuArguments:
        """The arguments of the same program with only the `given` ones bound.

        Raises `ArgumentTypeError` and `RuntimeShapeError` as a call does.
        """
        artifact, transfer = self._artifact, self.transfer
        refuse_donated(artifact, given)
        held = {k: transfer.view(artifact.arguments[k], self.dtypes[k], given[k]) for k in sorted(given)}
        check_sizes(artifact, {k: one.shape for k, one in held.items()})
        if held:  # copies are complete before another stream reads them
            transfer.device.download(next(iter(held.values())).pointer, 0)
        return GpuArguments(artifact, transfer, given, held)

    @property
    def bound(self) -> Mapping[int, tuple[int, ...]]:
        """The shapes of the arguments that are bound."""
        return {k: one.shape for k, one in self.held.items()}

    def check_count(self, arrays: Sequence[Any]) -> None:
        """Raise `ArgumentTypeError` if a call has too few or too many arrays."""
        check_count(self._artifact, arrays, self.held)

    def on_device(self, arrays: Sequence[Any]) -> list[DeviceArray]:
        """The arrays that a call supplies, on the device."""
        if len(arrays) != len(self._brought):
            self.check_count(arrays)
        known = self.transfer.device.known
        found: list[DeviceArray] = []  # made in a tenth of the time of list[DeviceArray]()
        for array, (argument, dtype, name, rank) in zip(arrays, self._brought):  # noqa: B905  (as many: see above)
            one = known(array)
            if one is None or one.dtype != name or len(one.shape) != rank:
                one = self.transfer.view(argument, dtype, array)
            found.append(one)
        return found

    def with_bound(self, brought: Sequence[Any]) -> Sequence[Any]:
        """All arguments: those that a call supplies, and bound ones as they are on the device."""
        if not self.held:
            return brought
        every: dict[int, Any] = {**self.held, **dict(zip(self.places, brought, strict=True))}
        return [every[k] for k in range(len(every))]

    def element(self, number: int, element: int, found: DeviceArray, array: Any) -> int:
        """An element of an integer argument: of `array`, which is `found` on the device."""
        return self.transfer.element(array, element, found, self.dtypes[number])
