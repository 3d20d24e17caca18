"""Public functions say what they take, what they give, and what they raise."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import shlo_disc

pytestmark = pytest.mark.quick


def _public() -> dict[str, Callable[..., Any]]:
    found = {name: getattr(shlo_disc, name) for name in shlo_disc.__all__}
    functions = {name: one for name, one in found.items() if inspect.isfunction(one)}
    for kind in filter(inspect.isclass, found.values()):
        for name, one in vars(kind).items():
            is_public = inspect.isfunction(one) and not name.startswith("_")
            if is_public or name == "__call__":  # a method, or a slot of a function
                functions[f"{kind.__name__}.{name}"] = one
    return functions


def _slot(*args: Any, **kwargs: Any) -> Any: ...


@pytest.mark.parametrize("name", _public())
def test_a_public_function_documents_its_arguments_and_results(name: str) -> None:
    function = _public()[name]
    is_slot = inspect.ismemberdescriptor(function)
    text, signature = inspect.getdoc(function) or "", inspect.signature(_slot if is_slot else function)
    sections = dict(re.findall(r"^(\w+):\n((?:    .*\n?|\n)+)", text + "\n", re.MULTILINE))
    taken = [parameter for key, parameter in signature.parameters.items() if key != "self"]
    documented = re.findall(r"^    (\*{0,2}\w+): ", sections.get("Args", ""), re.MULTILINE)
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    assert documented == [stars.get(parameter.kind, "") + parameter.name for parameter in taken]
    assert ("Returns" in sections) == (signature.return_annotation != "None")


def _with_properties() -> dict[str, Callable[..., Any]]:
    found = {name: one for name, one in _public().items() if not inspect.ismemberdescriptor(one)}
    for kind in [one for one in map(partial(getattr, shlo_disc), shlo_disc.__all__) if inspect.isclass(one)]:
        for name, one in vars(kind).items():
            if isinstance(one, property) and one.fget is not None and not name.startswith("_"):
                found[f"{kind.__name__}.{name}"] = one.fget
    return found


@pytest.mark.parametrize("name", _with_properties())
def test_what_a_public_function_raises_itself_is_documented(name: str) -> None:
    function = inspect.unwrap(_with_properties()[name])
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    if any(isinstance(node, ast.Raise) and node.exc is not None for node in ast.walk(tree)):
        assert re.search(r"\bRaises\b", inspect.getdoc(function) or "")


def test_options_are_documented() -> None:
    text = inspect.getdoc(shlo_disc.CompileOptions) or ""
    fields = re.findall(r"^    (\w+): ", text[text.index("Attributes:") :], re.MULTILINE)
    assert sorted(fields) == sorted(shlo_disc.CompileOptions.__dataclass_fields__)
