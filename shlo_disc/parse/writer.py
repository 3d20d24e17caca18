"""Write ops, regions and blocks: the mirror of `body`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from shlo_disc.ir.attributes import Attribute, FunctionType, Location
from shlo_disc.ir.core import Op, Region, Value
from shlo_disc.ir.spelling import spell_dictionary, spell_location, spell_type
from shlo_disc.parse.body import SHORT_NAMES
from shlo_disc.records import record

_SHORT = {name: short for short, name in SHORT_NAMES.items()}


@record
class WrittenForm:
    """How an op is written: which attributes are its own, and its pretty form, if it has one.

    `fits`: whether that form can express the op; `locates`: whether it also has a place for all locations.
    """

    own: frozenset[str]
    write: Callable[[BodyWriter, Op], str] | None
    fits: Callable[[Op], bool]
    locates: Callable[[Op], bool]


_OTHER = WrittenForm(frozenset(), None, lambda _op: False, lambda _op: False)  # an op that has no entry in the table


class BodyWriter:
    """Writes the ops of a function."""

    def __init__(self, forms: Mapping[str, WrittenForm], *, locations: bool, generic: bool) -> None:
        self._forms = forms
        self.located = locations
        self.generic = generic
        self.indent = ""
        self._depth = 0

    def op(self, op: Op) -> str:
        """Write one op on its line or lines."""
        write = None if self.generic else self._pretty(op)
        if write is None:
            text = self._generic_op(op)
        else:
            text = (_SHORT.get(op.name, op.name) if self._depth == 1 else op.name) + write(self, op)
        return f"{self.indent}{_result_names(op.results)}{text}{self.location(op.location)}"

    def _pretty(self, op: Op) -> Callable[[BodyWriter, Op], str] | None:
        form = self._forms.get(op.name, _OTHER)
        is_enough = form.fits(op) and (not self.located or form.locates(op))
        return form.write if is_enough else None

    def location(self, location: Location | None) -> str:
        """Write a trailing location, if they are wanted."""
        if not self.located or location is None:
            return ""
        return f" loc({spell_location(location)})"

    def _generic_op(self, op: Op) -> str:
        own, foreign = self._own_and_foreign(op)
        parts = [f'"{op.name}"({operand_names(op.operands)})']
        if own:
            parts.append(f"<{spell_dictionary(own)}>")
        if op.regions:
            parts.append(f"({', '.join(self.region(region) for region in op.regions)})")
        if foreign:
            parts.append(spell_dictionary(foreign))
        parts.append(f": {spell_type(signature(op))}")
        return " ".join(parts)

    def _own_and_foreign(self, op: Op) -> tuple[dict[str, Attribute], dict[str, Attribute]]:
        """Split attributes into the op's own (properties) and foreign ones."""
        names = self._forms.get(op.name, _OTHER).own
        own = {name: attribute for name, attribute in op.attributes.items() if name in names}
        return own, {name: attribute for name, attribute in op.attributes.items() if name not in names}

    def region(self, region: Region, *, label: bool = True) -> str:
        """Write `{ … }`; the closing brace stands where the op begins."""
        lines = ["{"]
        arguments = region.block.arguments
        if label and arguments:
            lines.append(f"{self.indent}^bb0({', '.join(map(self.argument, arguments))}):")
        outer = self.indent
        self.indent += "  "
        self._depth += 1
        lines.extend(self.op(op) for op in region.block.ops)
        self._depth -= 1
        self.indent = outer
        lines.append(outer + "}")
        return "\n".join(lines)

    def argument(self, value: Value) -> str:
        """Write `%a: T loc(…)`."""
        return f"%{value.name}: {spell_type(value.type)}{self.location(value.location)}"


def operand_names(values: Sequence[Value]) -> str:
    """Write `%a, %b`."""
    return ", ".join([f"%{value.name}" for value in values])


def signature(op: Op) -> FunctionType:
    """Return the types of operands and results."""
    return FunctionType(tuple([v.type for v in op.operands]), tuple([v.type for v in op.results]))


def _result_names(results: Sequence[Value]) -> str:
    if not results or not results[0].name:
        return ""
    groups: list[str] = []
    for value in results:
        stem, _, number = value.name.partition("#")
        if number in ("", "0"):
            groups.append(f"%{stem}")
    counts = [sum(value.name.partition("#")[0] == group[1:] for value in results) for group in groups]
    named = [group if count == 1 else f"{group}:{count}" for group, count in zip(groups, counts, strict=True)]
    return f"{', '.join(named)} = "
