"""The forms of Shardy's ops that JAX exports; what stands in their brackets is kept as text."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.ir.attributes import OpaqueAttr
from shlo_disc.ir.core import Op
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import Draft
from shlo_disc.parse.form import Directive
from shlo_disc.parse.writer import BodyWriter


def _bracketed(name: str, opening: str, before: str, after: str = "") -> Directive:
    """An attribute that the form writes without the text `before` and `after` it."""

    def read(reader: BodyReader, draft: Draft) -> None:
        first = reader.at
        reader.skip_brackets(opening)
        draft.attributes[name] = OpaqueAttr(f"{before}{reader.text_between(first, reader.at - 1)}{after}")

    def write(_writer: BodyWriter, op: Op) -> str:
        attribute = op.attributes[name]
        assert isinstance(attribute, OpaqueAttr), "checked by fits"
        return attribute.text[len(before) : len(attribute.text) - len(after)]

    def fits(op: Op) -> bool:
        attribute = op.attributes[name]
        if not isinstance(attribute, OpaqueAttr):
            return False
        return attribute.text.startswith(before + opening) and attribute.text.endswith(after)

    return Directive(read, write, {name: OpaqueAttr}, fits=fits)


def _read_manual(reader: BodyReader, draft: Draft) -> None:
    """`(%arg1: T) { … }`, whose arguments stand before the brace."""
    arguments = reader.enclosed("(", ")", reader.argument)
    draft.regions.append(reader.region(arguments))


def _write_manual(writer: BodyWriter, op: Op) -> str:
    arguments = ", ".join(map(writer.argument, op.regions[0].block.arguments))
    return f"({arguments}) {writer.region(op.regions[0], label=False)}"


SHARDING_DIRECTIVES: Mapping[str, Directive] = {
    "mesh": _bracketed("mesh", "<", "#sdy.mesh"),
    "sharding": _bracketed("sharding", "<", "#sdy.sharding"),
    "in-shardings": _bracketed("in_shardings", "[", "#sdy.sharding_per_value<", ">"),
    "out-shardings": _bracketed("out_shardings", "[", "#sdy.sharding_per_value<", ">"),
    "manual-axes": _bracketed("manual_axes", "{", "#sdy<manual_axes", ">"),
    "manual-body": Directive(_read_manual, _write_manual, has_regions=True),
}
