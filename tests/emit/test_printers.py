"""Printers of generated source copy nothing of a user's into it, but by `remark`: their f-strings are looked at."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.quick

# Attributes that hold text of a user's, or that show something which does.
CARRIERS = frozenset({
    "span", "where", "excerpt", "origin", "message", "location", "file", "reason", "roots", "tensor",
})  # fmt: skip
NAMED_BY_USERS = frozenset({"tensor", "parameter", "symbol", "function", "module", "program"})
OURS = frozenset({"INDENT", "number", "join"})  # what a comment may show as it is
# These write for people, not for compilers: what errors say, what `explain` tells, what calls are named.
FOR_PEOPLE = frozenset(f"host/{name}.py" for name in ("assemble", "host_calls", "describe", "peaks", "partitions"))
PRINTERS = [
    path
    for folder in ("kernels", "fusion", "emit", "host", "lower_cpu", "lower_cuda")
    for path in sorted((ROOT / "shlo_disc" / folder).rglob("*.py"))
    if path.relative_to(ROOT / "shlo_disc").as_posix() not in FOR_PEOPLE
]


def printed(tree: ast.AST) -> Iterator[ast.JoinedStr]:
    """The f-strings of a module, but for those of errors and of reasons."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.FunctionDef) and node.name == "reason"):
            continue
        if isinstance(node, ast.JoinedStr):
            yield node
        waiting += ast.iter_child_nodes(node)


def unsafe(node: ast.AST, *, in_comment: bool) -> Iterator[str]:
    """What of an expression may be text of a user's, and is not what `remark` makes of it."""
    match node:
        case ast.Call(func=ast.Name(id="remark" | "size_name")) | ast.Call(args=[ast.Name(id="remark"), *_]):
            return
        case ast.Call(func=ast.Name(id="repr")) | ast.Call(args=[ast.Name(id="repr"), *_]):
            yield "repr"
        case ast.Attribute(attr="name", value=ast.Name(id=owner)) if owner in NAMED_BY_USERS:
            yield f"{owner}.name"
        case ast.Attribute(attr=name) if name in CARRIERS:
            yield f".{name}"
        case ast.Name(id=name) | ast.Attribute(attr=name) if in_comment and name not in OURS:
            yield name
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from unsafe(child, in_comment=in_comment)


def wrong_places(text: str) -> Iterator[str]:
    """Where a printer may copy text of a user's into generated source."""
    for line in printed(ast.parse(text)):
        in_comment = False
        for part in line.values:
            match part:
                case ast.Constant(value=str(constant)):
                    last = constant.rpartition("\n")[2]
                    in_comment = (in_comment and "\n" not in constant) or bool(re.search(r"//|/\*", last))
                case ast.FormattedValue(value=value, conversion=conversion):
                    if conversion != -1 or list(unsafe(value, in_comment=in_comment)):
                        yield f"line {line.lineno}: {{{ast.unparse(value)}}} does not go through `remark`"
                case _:
                    pass


@pytest.mark.parametrize("path", PRINTERS, ids=lambda path: str(path.relative_to(ROOT / "shlo_disc")))
def test_printers_copy_no_text_of_users(path: Path) -> None:
    assert not list(wrong_places(path.read_text()))


@pytest.mark.parametrize(
    "line",
    [
        'f"return {k};  // {check.span.where()}"',
        'f"return {tensor.name};"',
        'f"char* b0;  // {buffer!r}"',
        'f"{INDENT}// {name}"',
        'f"/* {check.message} */"',
        'f"printf({json.dumps(check.message)})"',
        "f\"// {', '.join(map(repr, group.roots))}\"",
    ],
)
def test_what_would_copy_them_is_found(line: str) -> None:
    assert list(wrong_places(f"def printer():\n    return {line}\n"))
