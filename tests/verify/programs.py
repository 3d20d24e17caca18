"""Small programs in `.mlir` files beside the tests, each under a comment that says what is expected of it.

The comment is `// transpose C2`: which constraint refuses the program. Behind it may stand `(jaxlib accepts)`, since
jaxlib checks less than the specification says, or `(unknown to jaxlib)`. Arguments after a `|` make a function of what
follows: `// transpose C2 | %x: tensor<2x3xf32>`. Several ops in front of the label (`// abs sign C1`) make a program of
each, with its name for `{op}`; lines `// $shifts = shift_left …` at the head of a file name such a list.
Programs are divided by lines `// -----`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

HERE = Path(__file__).resolve().parent
_HEAD = re.compile(
    r"// (?P<ops>[\w. $-]+) (?P<label>[IC]\d+)(?: \((?P<jaxlib>jaxlib accepts|unknown to jaxlib)\))?"
    r"(?P<wrapped> \| ?(?P<arguments>.*))?\n"
)
_LIST = re.compile(r"// (\$\w+) = (.*)\n")


@dataclass(frozen=True, slots=True)
class Refused:
    """A program that one constraint refuses, and what is said of jaxlib."""

    op: str
    label: str
    jaxlib: str
    text: str

    def __str__(self) -> str:
        return f"{self.op} {self.label}"


def split(path: Path) -> Iterator[str]:
    """Give the programs of a file."""
    for part in path.read_text().split("// -----\n"):
        if part.strip():
            yield part.strip() + "\n"


@cache
def refused() -> tuple[Refused, ...]:
    """All programs that must be refused."""
    found: list[Refused] = []
    for path in sorted((HERE / "refused").glob("*.mlir")):
        lists = dict(_LIST.findall(path.read_text()))
        for text in split(path):
            found.extend(_programs(text, lists, path))
    return tuple(found)


def _programs(text: str, lists: dict[str, str], path: Path) -> Iterator[Refused]:
    text = _LIST.sub("", text)
    head = _HEAD.match(text)
    assert head, f"{path}: expected '// op label', found {text[:60]!r}"
    body = text[head.end() :]
    program = f"func.func @main({head['arguments']}) {{\n{body}return\n}}\n" if head["wrapped"] else body
    ops = lists.get(head["ops"], head["ops"])
    for op in (ops,) if ops == "quantized type" else ops.split():
        yield Refused(op, head["label"], head["jaxlib"] or "refuses", program.replace("{op}", op))


def accepted() -> tuple[tuple[str, str], ...]:
    """All programs that must be taken: their file and number, and the text."""
    paths = sorted((HERE / "accepted").glob("*.mlir"))
    return tuple([(f"{path.stem} {number}", text) for path in paths for number, text in enumerate(split(path))])


@cache
def labels() -> dict[str, tuple[str, ...]]:
    """What the specification numbers, by op."""
    lines = (HERE / "specification.txt").read_text().splitlines()
    pairs = [line.split(":") for line in lines if not line.startswith("#")]
    return {op: tuple(listed.split()) for op, listed in pairs}


@cache
def unchecked() -> dict[str, str]:
    """What no program can break, `op label`, and why."""
    lines = [line for path in sorted((HERE / "unchecked").glob("*.txt")) for line in path.read_text().splitlines()]
    pairs = [line.partition(": ") for line in lines if line and not line.startswith("#")]
    return {key: reason for key, _, reason in pairs}
