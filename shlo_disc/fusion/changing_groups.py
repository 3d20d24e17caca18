"""The groups of one body while ops move between them: which group stores a tensor, and which groups read it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shlo_disc.analysis.formula import Producers
from shlo_disc.dynamic_ops.program import Tensor
from shlo_disc.kernels.groups import Group
from shlo_disc.kernels.op_graph import group_inputs


class ChangingGroups:
    """Groups by number, which is their place in a legal order. Numbers stay when groups change or go.

    Attributes:
        home: the number of the group that stores a tensor, or did so last.
    """

    def __init__(self, groups: Sequence[Group], producers: Producers) -> None:
        self._groups, self._producers = list(groups), producers
        self.home = {t: k for k, group in enumerate(groups) for t in group.roots}
        self._gone = set[int]()
        self._readers = dict[Tensor, set[int]]()
        self._reads = dict[int, list[Tensor]]()
        for number, group in enumerate(groups):
            self._read(number, group)

    def __getitem__(self, number: int) -> Group:
        return self._groups[number]

    @property
    def remaining(self) -> tuple[Group, ...]:
        """All groups that have not gone, in order."""
        return tuple(group for k, group in enumerate(self._groups) if k not in self._gone)

    def readers(self, tensor: Tensor) -> frozenset[int]:
        """The groups that read a tensor from memory."""
        return frozenset(self._readers.get(tensor, ()))

    def stored_by(self, tensor: Tensor) -> int | None:
        """The group that stores a tensor, which others may compute too; None if none does."""
        number = self.home.get(tensor)
        return None if number is None or number in self._gone or tensor not in self[number].roots else number

    def replace(self, changed: Mapping[int, Group | None]) -> None:
        """Replace groups by others; those that are None now go."""
        for number, group in changed.items():
            if group is None:
                self._gone.add(number)
            else:
                self._groups[number] = group
        for number in changed:
            self._refresh(number)

    def _refresh(self, number: int) -> None:
        """Update what is recorded of a changed group: what it stores and reads."""
        for tensor in self._reads.pop(number, ()):
            self._readers[tensor].discard(number)
        if number not in self._gone:
            self.home.update(dict.fromkeys(self[number].roots, number))
            self._read(number, self[number])

    def _read(self, number: int, group: Group) -> None:
        inputs = group_inputs(group, self._producers)
        self._reads[number] = [tensor for tensor in inputs if self.home.get(tensor, number) != number]
        for tensor in self._reads[number]:
            self._readers.setdefault(tensor, set()).add(number)
