"""The forms of Shardy's ops; the contents of their brackets are kept as text."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.ir.attributes import Attribute, IntegerAttr, OpaqueAttr
from shlo_disc.ir.core import Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.body import BodyReader
from shlo_disc.parse.draft import OpDraft
from shlo_disc.parse.form import Directive
from shlo_disc.parse.writer import BodyWriter

# The text of an attribute in generic form, apart from what both forms have: `[…]`, `{…}` or `<…>`.
_AXES = "#sdy<axis_ref_list{", "}>"
_LISTS_OF_AXES = "#sdy<list_of_axis_ref_lists[", "]>"
_SHARDINGS = "#sdy.sharding_per_value<[", "]>"
_TEXTS: Mapping[str, tuple[str, str]] = {
    "gathering_axes": _LISTS_OF_AXES,
    "in_shardings": _SHARDINGS,
    "manual_axes": ("#sdy<manual_axes{", "}>"),
    "mesh": ("#sdy.mesh<", ">"),
    "out_sharding": ("#sdy.sharding<", ">"),
    "out_shardings": _SHARDINGS,
    "params": ("#sdy<all_to_all_param_list[", "]>"),
    "reduce_scatter_axes": _LISTS_OF_AXES,
    "reduction_axes": _AXES,
    "sharding": ("#sdy.sharding<", ">"),
    "slicing_axes": _LISTS_OF_AXES,
}


def bracketed(name: str) -> Directive:
    """Write an attribute of Shardy without its name: `<@mesh, [{"x"}]>` for `#sdy.sharding<@mesh, [{"x"}]>`."""
    start, end = _TEXTS[name]
    before, opening, after = start[:-1], start[-1], end[1:]

    def read(reader: BodyReader, draft: OpDraft) -> None:
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
        return attribute.text.startswith(start) and attribute.text.endswith(end)

    return Directive(read, write, {name: OpaqueAttr}, fits=fits)


_DIRECTIONS = ("NONE", "FORWARD", "BACKWARD", "BOTH")


def _direction(attribute: Attribute) -> str | None:
    """Return the word for the direction in which shardings may spread."""
    match attribute:
        case IntegerAttr(value, DType.I32) if 0 <= value < len(_DIRECTIONS):
            return _DIRECTIONS[value]
        case _:
            return None


def _read_direction(reader: BodyReader, draft: OpDraft) -> None:
    at, expected = reader.at, f"one of {', '.join(_DIRECTIONS)}"
    word = reader.word(expected)
    if word not in _DIRECTIONS:
        raise reader.unexpected(expected, at)
    draft.attributes["allowed_direction"] = IntegerAttr(_DIRECTIONS.index(word), DType.I32)


def _write_direction(_writer: BodyWriter, op: Op) -> str:
    word = _direction(op.attributes["allowed_direction"])
    assert word is not None, "checked by fits"
    return word


def _read_body(reader: BodyReader, draft: OpDraft) -> None:
    """`(%arg1: T) { … }`, with arguments before the brace."""
    arguments = reader.enclosed("(", ")", reader.argument)
    draft.regions.append(reader.region(arguments))


def _write_body(writer: BodyWriter, op: Op) -> str:
    arguments = ", ".join(map(writer.argument, op.regions[0].block.arguments))
    return f"({arguments}) {writer.region(op.regions[0], label=False)}"


SHARDING_DIRECTIVES: Mapping[str, Directive] = {
    "direction": Directive(
        _read_direction,
        _write_direction,
        {"allowed_direction": IntegerAttr},
        fits=lambda op: _direction(op.attributes["allowed_direction"]) is not None,
    ),
    "sharded-body": Directive(_read_body, _write_body),
}
