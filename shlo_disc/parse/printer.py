"""Write a module: `print_module`."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from shlo_disc.ir.attributes import ArrayAttr, Attribute, DictAttr, Location, StringAttr, Type, TypeAttr
from shlo_disc.ir.core import Declaration, Function, Module, Op, Region
from shlo_disc.ir.depth import with_room
from shlo_disc.ir.spelling import (
    spell_dictionary,
    spell_location,
    spell_results,
    spell_symbol,
    spell_type,
)
from shlo_disc.parse.syntax import WRITTEN_FORMS
from shlo_disc.parse.writer import BodyWriter

_ALIAS = re.compile(r"#([A-Za-z_][\w$.]*)")
_ALSO_OWN = frozenset({"no_inline", "sym_visibility"})  # of functions and modules, unless taken out before


@with_room
def print_module(module: Module, *, locations: bool = False, generic: bool = False) -> str:
    """Print a module as text that parses back to the same module.

    Without `locations` the text is as MLIR prints it by default; `generic` asks for the generic
    form of every op.
    """
    writer = BodyWriter(WRITTEN_FORMS, locations=locations, generic=generic)
    lines: list[str] = []
    writer.indent = "  "
    contents = [_content(writer, content) for content in module.contents]
    place = writer.location(module.location)
    if generic:
        own: dict[str, Attribute] = {} if module.name is None else {"sym_name": StringAttr(module.name)}
        properties, foreign = _split(own, module.attributes)
        lines.append(f'"builtin.module"(){properties} ({{')
        if not contents:
            lines.append("^bb0:")  # MLIR requires a block, even an empty one
        lines.extend(contents)
        lines.append(f"}}){foreign} : () -> (){place}")
    else:
        name = "" if module.name is None else f" {spell_symbol(module.name)}"
        attributes = _attribute_clause(module.attributes)
        lines.append(f"module{name}{attributes} {{")
        lines.extend(contents)
        lines.append(f"}}{place}")
    if module.resources:
        lines += ["", module.resources]
    aliases = module.location_aliases
    written = aliases if locations else _mentioned("\n".join(lines), aliases)
    lines[:0] = [f"#{name} = loc({spell_location(place)})" for name, place in aliases.items() if name in written]
    return "\n".join(lines) + "\n"


def _mentioned(text: str, aliases: Mapping[str, Location]) -> Collection[str]:
    """Return the aliases of locations that attributes use: they are written even if the locations of ops are not."""
    found: set[str] = set()
    waiting = aliases.keys() & _ALIAS.findall(text) if aliases else set[str]()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (aliases.keys() & _ALIAS.findall(spell_location(aliases[name]))) - found
    return found


def _attribute_clause(attributes: Mapping[str, Attribute]) -> str:
    return f" attributes {spell_dictionary(attributes)}" if attributes else ""


def _split(own: dict[str, Attribute], others: Mapping[str, Attribute]) -> tuple[str, str]:
    """Write `own` attributes, and those of the others that are own too, apart from the rest."""
    own |= {name: attribute for name, attribute in others.items() if name in _ALSO_OWN}
    foreign = {name: attribute for name, attribute in others.items() if name not in _ALSO_OWN}
    return (
        f" <{spell_dictionary(own)}>" if own else "",
        f" {spell_dictionary(foreign)}" if foreign else "",
    )


def _with_attributes(type_: Type, attributes: Mapping[str, Attribute]) -> str:
    return spell_type(type_) + (f" {spell_dictionary(attributes)}" if attributes else "")


def _content(writer: BodyWriter, content: Function | Declaration | Op) -> str:
    if isinstance(content, Op):
        return writer.op(content)
    return _generic_function(writer, content) if writer.generic else _pretty_function(writer, content)


def _pretty_function(writer: BodyWriter, function: Function | Declaration) -> str:
    match function:
        case Function(body=body):
            arguments = [
                f"%{value.name}: {_with_attributes(value.type, attributes)}{writer.location(value.location)}"
                for value, attributes in zip(body.arguments, function.argument_attributes, strict=True)
            ]
            rest = f" {writer.region(Region((body,)), label=False)}"
        case Declaration(type=type_):
            pairs = zip(type_.inputs, function.argument_attributes, strict=True)
            arguments = [_with_attributes(*pair) for pair in pairs]
            rest = ""
    visibility = "" if function.visibility is None else f"{function.visibility} "
    head = f"{writer.indent}func.func {visibility}{spell_symbol(function.name)}({', '.join(arguments)})"
    attributes = _attribute_clause(function.attributes)
    return f"{head}{_pretty_results(function)}{attributes}{rest}{writer.location(function.location)}"


def _pretty_results(function: Function | Declaration) -> str:
    types = function.type.results
    if not types:
        return ""
    if not any(function.result_attributes):
        return f" -> {spell_results(types)}"
    listed = [_with_attributes(*pair) for pair in zip(types, function.result_attributes, strict=True)]
    return f" -> ({', '.join(listed)})"


def _generic_function(writer: BodyWriter, function: Function | Declaration) -> str:
    own: dict[str, Attribute] = {
        "function_type": TypeAttr(function.type),
        "sym_name": StringAttr(function.name),
    }
    if function.visibility is not None:
        own["sym_visibility"] = StringAttr(function.visibility)
    if any(function.argument_attributes):
        own["arg_attrs"] = ArrayAttr(tuple(map(DictAttr, function.argument_attributes)))
    if any(function.result_attributes):
        own["res_attrs"] = ArrayAttr(tuple(map(DictAttr, function.result_attributes)))
    properties, foreign = _split(own, function.attributes)
    body = "{\n" + writer.indent + "}" if isinstance(function, Declaration) else writer.region(Region((function.body,)))
    place = writer.location(function.location)
    return f'{writer.indent}"func.func"(){properties} ({body}){foreign} : () -> (){place}'
