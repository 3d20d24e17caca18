"""Read ops that are to become a part of a module: `parse_ops`."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.diagnostics import Source
from shlo_disc.ir.attributes import Type
from shlo_disc.ir.core import Op, Value
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.syntax import FORMS


def parse_ops(text: str, given: Mapping[str, Value | Type]) -> tuple[Op, ...]:
    """Parse ops that refer to given values as `%x` and to given types as `!t`."""
    return _FragmentReader(text, given).ops()


class _FragmentReader(BodyReader):
    def __init__(self, text: str, given: Mapping[str, Value | Type]) -> None:
        super().__init__(Source("<text>", text), FORMS)
        for name, one in given.items():
            if isinstance(one, Value):
                self.define(f"%{name}", one, 0)
            else:
                self._types[f"!{name}"] = one

    def ops(self) -> tuple[Op, ...]:
        """Read the whole text."""
        found = list[Op]()
        while self.tokens[self.at]:
            found.append(self.op())
        return tuple(found)
