"""Hold our parser and printer against themselves and against MLIR's, for one program or for a whole corpus.

`python -m tests.parse.exactness FOLDER` tries every program in a folder of folders, and counts.
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.jaxlib_printer import Printer, Program
from tests.parse.structure import structure

_ALIAS = re.compile(r"^#(loc\d*) = (loc\(.*\))$", re.MULTILINE)
_USE = re.compile(r"#(loc\d*)\b")
_GIVEN = re.compile(r'"-":\d+:\d+')  # a place in the text, which MLIR gives to what has no location

_UNKNOWN = re.compile(r"\b(check|interpreter)\.\w")  # dialects that jaxlib lacks


def round_trips(text: str) -> str:
    """Parse, print and parse in both forms; give what is not the same, or nothing."""
    module = parse_module(text)
    before = structure(module, locations=True)
    for generic in (False, True):
        printed = print_module(module, locations=True, generic=generic)
        if structure(parse_module(printed), locations=True) != before:
            return f"another program after printing in {_form(generic)} form"
    return ""


def differs_from_mlir(text: str, printer: Printer) -> str | None:
    """Let MLIR print a text, and what we print of it; give what is not the same, or nothing.

    Give None if MLIR refuses the text. It takes the ops that it does not know in generic form only.
    """
    original = printer.read(text)
    if original is None:
        return None
    module, located = parse_module(text), "loc(" in text
    for generic in (True,) if _UNKNOWN.search(text) else (False, True):
        reader = Printer() if module.resources else printer  # which would give their names to the original alone
        ours = reader.read(print_module(module, locations=True, generic=generic))
        if ours is None:
            return f"refused in {_form(generic)} form"
        if _printed(original, generic=generic, located=located) != _printed(ours, generic=generic, located=located):
            return f"not what MLIR prints in {_form(generic)} form"
    return ""


def _form(generic: bool) -> str:
    return "generic" if generic else "pretty"


def _printed(program: Program, *, generic: bool, located: bool) -> str:
    text = program.text(generic=generic, locations=located)
    return _without_given(text) if _GIVEN.search(text) else text


def _without_given(text: str) -> str:
    """Write out the aliases of locations, and drop places in the text: they differ from one spelling to another."""
    aliases = dict(_ALIAS.findall(text))

    def resolved(location: str) -> str:
        return _USE.sub(lambda use: resolved(aliases[use[1]]) if use[1] in aliases else use[0], location)

    written = {name: resolved(location) for name, location in aliases.items()}
    body = _USE.sub(lambda use: written.get(use[1], use[0]), _ALIAS.sub("", text).strip())
    return _GIVEN.sub("GIVEN", body)


def main() -> None:
    """Try every program below a folder."""
    printer = Printer()
    for folder in sorted(path for path in Path(sys.argv[1]).iterdir() if path.is_dir()):
        counts = Counter[str]()
        for path in sorted(folder.glob("**/*.mlir")):
            text = path.read_text()
            lost, difference = round_trips(text), differs_from_mlir(text, printer)
            counts["programs"] += 1
            counts["come back"] += not lost
            counts["taken by jaxlib"] += difference is not None
            counts["exact"] += difference == ""
            if fault := lost or difference:
                print(f"{path}: {fault}")
        print(f"{folder.name}: {', '.join(f'{count} {what}' for what, count in counts.items())}", flush=True)


if __name__ == "__main__":
    main()
