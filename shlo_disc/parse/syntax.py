"""The spelling of every op: one table, from which the parser and the printer are made."""

from __future__ import annotations

from collections.abc import Mapping

from shlo_disc.dialects.table import OPS, OTHER_OPS
from shlo_disc.parse.body import OpForm
from shlo_disc.parse.directives.attribute import ATTRIBUTE_DIRECTIVES
from shlo_disc.parse.directives.other import OTHER_ATTRIBUTE_DIRECTIVES, OTHER_DIRECTIVES
from shlo_disc.parse.directives.region import REGION_DIRECTIVES
from shlo_disc.parse.directives.sharding import SHARDING_DIRECTIVES, bracketed
from shlo_disc.parse.directives.tensor import TENSOR_DIRECTIVES
from shlo_disc.parse.directives.type import TYPE_DIRECTIVES
from shlo_disc.parse.entry import OpSyntax, syntax_of
from shlo_disc.parse.form import Directive, Form, always, compile_form
from shlo_disc.parse.old_forms import renewal
from shlo_disc.parse.other_dialects import CHECK, FUNC, INTERPRETER, SDY
from shlo_disc.parse.writer import WrittenForm

ENTRIES: tuple[OpSyntax, ...] = (
    *map(syntax_of, (*OPS.values(), *OTHER_OPS.values())),
    *FUNC,
    *CHECK,
    *INTERPRETER,
    *SDY,
)

_ATTRIBUTE_DIRECTIVES = {**ATTRIBUTE_DIRECTIVES, **OTHER_ATTRIBUTE_DIRECTIVES, "sdy": bracketed}
_DIRECTIVES = {**TYPE_DIRECTIVES, **TENSOR_DIRECTIVES, **REGION_DIRECTIVES, **SHARDING_DIRECTIVES, **OTHER_DIRECTIVES}


def _find(spec: str) -> Directive:
    kind, _, name = spec.partition(":")
    return _ATTRIBUTE_DIRECTIVES[kind](name) if name else _DIRECTIVES[kind]


def _read(entry: OpSyntax, form: Form | None) -> OpForm:
    older = {name: renewal(kind) for name, kind in entry.attributes.items() if kind}
    return OpForm(
        entry.operands,
        entry.results,
        entry.regions,
        _own(entry, form),
        older,
        None if form is None else form.read,
    )


def _own(entry: OpSyntax, form: Form | None) -> frozenset[str]:
    return frozenset(entry.attributes) if form is None else form.attributes.union(entry.attributes)


def _written(entry: OpSyntax, form: Form | None) -> WrittenForm:
    if form is None:
        return WrittenForm(_own(entry, form), None, always, always)
    return WrittenForm(_own(entry, form), form.write, form.fits, form.locates)


_COMPILED = {entry.name: None if entry.form is None else compile_form(entry.form, _find) for entry in ENTRIES}

FORMS: Mapping[str, OpForm] = {entry.name: _read(entry, _COMPILED[entry.name]) for entry in ENTRIES}

WRITTEN_FORMS: Mapping[str, WrittenForm] = {entry.name: _written(entry, _COMPILED[entry.name]) for entry in ENTRIES}
