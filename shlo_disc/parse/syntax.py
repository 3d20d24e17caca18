"""The spelling of every op: one table, from which the parser and the printer are made."""

from __future__ import annotations

import re
from collections.abc import Mapping

from shlo_disc.parse.body import OpForm
from shlo_disc.parse.directives.attribute import ATTRIBUTE_DIRECTIVES
from shlo_disc.parse.directives.region import REGION_DIRECTIVES
from shlo_disc.parse.directives.sharding import SHARDING_DIRECTIVES, bracketed
from shlo_disc.parse.directives.tensor import TENSOR_DIRECTIVES
from shlo_disc.parse.directives.type import TYPE_DIRECTIVES
from shlo_disc.parse.draft import Count
from shlo_disc.parse.entry import OpSyntax
from shlo_disc.parse.form import Directive, Form, always, compile_form
from shlo_disc.parse.old_forms import renewal
from shlo_disc.parse.other_ops import CHECK, CHLO, FUNC, INTERPRETER, SDY
from shlo_disc.parse.stablehlo_ops import STABLEHLO
from shlo_disc.parse.writer import WrittenForm

ENTRIES: tuple[OpSyntax, ...] = (*STABLEHLO, *CHLO, *FUNC, *CHECK, *INTERPRETER, *SDY)

_ATTRIBUTE_DIRECTIVES = {**ATTRIBUTE_DIRECTIVES, "sdy": bracketed}
_DIRECTIVES = {**TYPE_DIRECTIVES, **TENSOR_DIRECTIVES, **REGION_DIRECTIVES, **SHARDING_DIRECTIVES}

_LISTS, _ENUMS = re.compile(r"\{i64s:(\w+)\}"), re.compile(r"\{enum:(\w+)\}")


def _find(spec: str) -> Directive:
    kind, _, name = spec.partition(":")
    return _ATTRIBUTE_DIRECTIVES[kind](name) if name else _DIRECTIVES[kind]


def _count(text: str) -> Count:
    return Count(int(text[:-1]), None) if text.endswith("+") else Count(int(text), int(text))


def _read(entry: OpSyntax, form: Form | None) -> OpForm:
    operands, results, *regions = entry.signature.split()
    named = [name.split(":") for name in entry.attributes.split() if ":" in name]
    listed = _LISTS.findall(entry.form or "")
    enums = _ENUMS.findall(entry.form or "")
    kinds = {**dict.fromkeys(listed, "i64s"), **{name: name for name in enums}, **dict(named)}
    return OpForm(
        _count(operands),
        _count(results),
        _count(regions[0] if regions else "0"),
        _own(entry, form),
        {name: renewal(kind) for name, kind in kinds.items()},
        None if form is None else form.read,
    )


def _own(entry: OpSyntax, form: Form | None) -> frozenset[str]:
    named = [name.partition(":")[0] for name in entry.attributes.split()]
    return frozenset(named) if form is None else form.attributes.union(named)


def _written(entry: OpSyntax, form: Form | None) -> WrittenForm:
    if form is None:
        return WrittenForm(_own(entry, form), None, always, always)
    return WrittenForm(_own(entry, form), form.write, form.fits, form.locates)


_COMPILED = {entry.name: None if entry.form is None else compile_form(entry.form, _find) for entry in ENTRIES}

FORMS: Mapping[str, OpForm] = {entry.name: _read(entry, _COMPILED[entry.name]) for entry in ENTRIES}

WRITTEN_FORMS: Mapping[str, WrittenForm] = {entry.name: _written(entry, _COMPILED[entry.name]) for entry in ENTRIES}
