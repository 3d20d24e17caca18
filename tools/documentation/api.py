"""Directives of Sphinx that fetch the docstrings of the public names."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterable, Mapping

import shlo_disc
from tools.documentation.tables import table

# Which names stand together, in the order of the page. A test holds this to `shlo_disc.__all__`.
GROUPS: Mapping[str, tuple[str, ...]] = {
    "Compile and call": ("compile", "Compiled", "Bound", "jit", "JitFunction", "load"),
    "Read, verify and change programs": (
        "parse", "verify", "rewrite", "remove_unused", "Module", "Op", "Value", "Build",
    ),
    "Measure and advise": ("Profile", "advise", "analyse_ragged", "RaggedAnalysis", "RaggedReport"),
    "Extend and tune": ("register_custom_call", "tune", "Schedules"),
}  # fmt: skip
_NO_CONSTRUCTOR = "   :exclude-members: __init__, __new__\n"


def api_text() -> str:
    """Every public function and class but options and errors, which have pages of their own."""
    return "\n\n".join(f"## {title}\n\n{_documented(names)}" for title, names in GROUPS.items())


def errors() -> list[str]:
    """The public errors and warnings, roots before what is derived from them."""
    found = [name for name in shlo_disc.__all__ if name.endswith(("Error", "Warning"))]
    return sorted(found, key=lambda name: len(getattr(shlo_disc, name).__mro__))


def errors_text() -> str:
    """Every public error and warning."""
    return _documented(errors())


def options_text() -> str:
    """A table of the fields of `CompileOptions`: type, default, meaning."""
    meanings = _attributes(inspect.getdoc(shlo_disc.CompileOptions) or "")
    rows = [
        (f"`{field.name}: {field.type} = {field.default!r}`", _linked(meanings[field.name]))
        for field in dataclasses.fields(shlo_disc.CompileOptions)
    ]
    entry = ".. py:class:: shlo_disc.CompileOptions\n\n   A frozen record of these fields, in this order."
    return f"```{{eval-rst}}\n{entry}\n```\n\n{table(('field', 'meaning'), rows)}"


def _attributes(text: str) -> dict[str, str]:
    r"""The attributes that a docstring describes.

    >>> _attributes("A record.\n\nAttributes:\n    a: one\n        line.\n    b: other.")
    {'a': 'one line.', 'b': 'other.'}
    """
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", text[text.index("Attributes:") :], re.MULTILINE)
    return {name: re.sub(r"\s+", " ", meaning) for name, meaning in found}


def _linked(text: str) -> str:
    return re.sub(r"\bdocs/([\w/-]+)\.md\b", r"[](/docs/\1.md)", text)


def _documented(names: Iterable[str]) -> str:
    return "\n".join(["```{eval-rst}", *map(_directive, names), "```"])


def _directive(name: str) -> str:
    found = getattr(shlo_disc, name)
    if not inspect.isclass(found):
        return f".. autofunction:: shlo_disc.{name}\n"
    if issubclass(found, Exception):
        return f".. autoexception:: shlo_disc.{name}\n   :show-inheritance:\n{_NO_CONSTRUCTOR}"
    return f".. autoclass:: shlo_disc.{name}\n   :members:\n   :special-members: __call__\n{_NO_CONSTRUCTOR}"
