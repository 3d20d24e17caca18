"""Write a module: `print_module`."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.ir.attributes import ArrayAttr, Attribute, DictAttr, StringAttr, Type, TypeAttr
from shlo_disc.ir.core import Function, Module, Region
from shlo_disc.parse.spelling import (
    spell_dictionary,
    spell_location,
    spell_results,
    spell_symbol,
    spell_type,
)
from shlo_disc.parse.syntax import WRITTEN_FORMS
from shlo_disc.parse.writer import BodyWriter


def print_module(module: Module, *, locations: bool = False, generic: bool = False) -> str:
    """Print a module as text that parses back to the same module.

    Without `locations` the text is as MLIR prints it by default; `generic` asks for the generic
    form of every op.
    """
    writer = BodyWriter(WRITTEN_FORMS, locations=locations, generic=generic)
    lines: list[str] = []
    if locations:
        lines.extend(f"#{name} = loc({spell_location(place)})" for name, place in module.location_aliases.items())
    writer.indent = "  "
    functions = [
        _generic_function(writer, function) if generic else _pretty_function(writer, function)
        for function in module.functions.values()
    ]
    place = writer.location(module.location)
    if generic:
        own: dict[str, Attribute] = {} if module.name is None else {"sym_name": StringAttr(module.name)}
        foreign = f" {spell_dictionary(module.attributes)}" if module.attributes else ""
        lines.append(f'"builtin.module"(){_properties(own)} ({{')
        lines.extend(functions)
        lines.append(f"}}){foreign} : () -> (){place}")
    else:
        name = "" if module.name is None else f" {spell_symbol(module.name)}"
        attributes = _attribute_clause(module.attributes)
        lines.append(f"module{name}{attributes} {{")
        lines.extend(functions)
        lines.append(f"}}{place}")
    return "\n".join(lines) + "\n"


def _attribute_clause(attributes: Mapping[str, Attribute]) -> str:
    return f" attributes {spell_dictionary(attributes)}" if attributes else ""


def _properties(own: Mapping[str, Attribute]) -> str:
    return f" <{spell_dictionary(own)}>" if own else ""


def _with_attributes(type_: Type, attributes: Mapping[str, Attribute]) -> str:
    return spell_type(type_) + (f" {spell_dictionary(attributes)}" if attributes else "")


def _pretty_function(writer: BodyWriter, function: Function) -> str:
    arguments = [
        f"%{value.name}: {_with_attributes(value.type, attributes)}{writer.location(value.location)}"
        for value, attributes in zip(function.body.arguments, function.argument_attributes, strict=True)
    ]
    visibility = "" if function.visibility is None else f"{function.visibility} "
    name = spell_symbol(function.name)
    head = f"{writer.indent}func.func {visibility}{name}({', '.join(arguments)})"
    attributes = _attribute_clause(function.attributes)
    body = writer.region(Region((function.body,)), label=False)
    place = writer.location(function.location)
    return f"{head}{_pretty_results(function)}{attributes} {body}{place}"


def _pretty_results(function: Function) -> str:
    types = function.type.results
    if not types:
        return ""
    if not any(function.result_attributes):
        return f" -> {spell_results(types)}"
    listed = [_with_attributes(*pair) for pair in zip(types, function.result_attributes, strict=True)]
    return f" -> ({', '.join(listed)})"


def _generic_function(writer: BodyWriter, function: Function) -> str:
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
    foreign = f" {spell_dictionary(function.attributes)}" if function.attributes else ""
    body = writer.region(Region((function.body,)))
    place = writer.location(function.location)
    return f'{writer.indent}"func.func"(){_properties(own)} ({body}){foreign} : () -> (){place}'
