"""The memory of a host program as its steps find it, and the checks of what they read and write."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from shlo_disc.diagnostics import InternalError
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.expr.dim import Dim
from shlo_disc.host.memory_contents import Clock, Layout, Loss, LostError, MemoryContents, Value
from shlo_disc.host.program import HostProgram


class CheckedMemory:
    """The contents of memory, by the slots of buffers.

    Attributes:
        contents: what memory holds; replaced by a copy to follow each branch.
        clock: the number of the step that runs.
        donated: the numbers of the arguments that a call may overwrite.
    """

    def __init__(self, host: HostProgram, layout: Layout, clock: Clock, donated: Collection[int]) -> None:
        self.layout, self.clock, self.donated = layout, clock, donated
        self.home = layout.home
        self._donations = host.donations
        self._lost = dict[int, Loss]()
        self.contents = MemoryContents(layout, self._lost, clock)

    def clear(self) -> None:
        """Forget everything, to follow the program from its beginning."""
        self._lost.clear()
        self.contents = MemoryContents(self.layout, self._lost, self.clock)

    def of(self, slot: int) -> frozenset[Value]:
        """What a buffer holds."""
        return self.contents.of(self.home(slot))

    def write(self, slot: int, values: Iterable[Value], by: str) -> set[int]:
        """Overwrite a buffer; return the other homes that held something and are not proven to be apart."""
        return self.contents.write(self.home(slot), values, by)

    def loss(self, home: int) -> Loss | None:
        """What overwrote the contents of a home, if anything did."""
        return self._lost.get(home)

    def require_value(self, slot: int, value: Tensor, where: str) -> None:
        """Check that a buffer holds a tensor, whole."""
        held = self.of(slot)
        if value in held:
            return
        loss = self.loss(self.home(slot))
        names = ", ".join(f"%{one.name}" for one in held if isinstance(one, Tensor))
        by = f"{loss.by} overwrote it" if loss else "no step wrote it"
        found = f"{names} there" if names else f"nothing there: {by}"
        raise LostError(f"{where} reads %{value.name} in {self.layout.named(slot)}, found {found}", loss)

    def require_any(self, slot: int, where: str) -> None:
        """Check that a buffer holds something."""
        if not self.of(slot):
            self.require_value(slot, self.layout.buffers[slot].made, where)

    def check_writable(self, slot: int, where: str) -> None:
        """Check that a buffer may be written at all."""
        buffer = self.layout.buffers[self.home(slot)]
        is_donated = buffer.kind == "argument" and buffer.number in self.donated
        is_known = is_donated and any(one.argument == buffer.number for one in self._donations)
        if not (buffer.kind in ("arena", "result") or is_known):
            raise InternalError(f"{where} writes to {self.layout.named(slot)}, which belongs to the caller")

    def check_size(self, slot: int, wanted: Dim, where: str) -> None:
        """Check that a buffer has the size that a launch expects."""
        buffer = self.layout.buffers[slot]
        if not self.layout.is_equal(buffer.size if buffer.whole is None else buffer.whole, wanted):
            raise InternalError(f"{where} takes {self.layout.named(slot)} for {wanted} bytes")

    def same_size(self, a: int, b: int) -> bool:
        """Whether two buffers are of one size."""
        return self.layout.is_equal(self.layout.buffers[a].size, self.layout.buffers[b].size)

    def refuse_shared(self, read: int, written: int, where: str) -> None:
        """Raise an error: a step reads a buffer that may share bytes with one that it writes."""
        names = f"{self.layout.named(read)}, and writes {self.layout.named(written)}"
        message = f"{where} reads {names}, which may share bytes: expected them apart, or a pair in place"
        raise LostError(message, self.loss(self.home(read)))
