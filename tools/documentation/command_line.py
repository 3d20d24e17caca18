"""The commands and their options, from the parsers that read them."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any, cast

from shlo_disc.cli.arguments import command_line
from tools.documentation.tables import table


def command_line_text() -> str:
    """A section for each command: what it does, how it is called, and a table of its arguments and options."""
    commands = _commands(command_line("shlo-disc"))
    summaries = {one.dest: one.help or "" for one in commands._get_subactions()}  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    return "\n\n".join("\n".join(_section(name, summaries[name], one)) for name, one in commands.choices.items())


def _commands(parser: argparse.ArgumentParser) -> argparse._SubParsersAction[argparse.ArgumentParser]:  # pyright: ignore[reportPrivateUsage]
    """The commands of a parser: argparse has no public name for them."""
    kind: Any = argparse._SubParsersAction  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    (found,) = [one for one in _actions(parser) if isinstance(one, kind)]
    return cast("Any", found)


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The arguments and options of a parser: argparse has no public name for them."""
    return parser._actions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


def _section(name: str, summary: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    usage = re.sub(r"\s+", " ", parser.format_usage().removeprefix("usage: ")).strip()
    rows = [(", ".join(f"`{one}`" for one in _spellings(action)), _meaning(action)) for action in _actions(parser)]
    yield from (f"## {name}", "", f"{summary[:1].upper()}{summary[1:]}.", "", "```text", *_wrapped(usage), "```", "")
    yield table(("argument", ""), rows)


def _wrapped(usage: str, width: int = 80) -> Iterator[str]:
    """The lines of a usage: options in brackets stay whole."""
    line = ""
    for part in re.findall(r"\[.*?\](?=\s|$)|\S+", usage):
        if line and len(line) + len(part) >= width:
            yield line
            line = "   "
        line = f"{line} {part}" if line else part
    yield line


def _spellings(action: argparse.Action) -> list[str]:
    value = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    value = value if isinstance(value, str) else " ".join(value)
    if not action.option_strings:
        return [value]
    return [one if action.nargs == 0 else f"{one} {value}" for one in action.option_strings]


def _meaning(action: argparse.Action) -> str:
    choices = "" if action.choices is None else "one of " + ", ".join(map(str, action.choices))
    return "; ".join(filter(None, (action.help, choices)))
