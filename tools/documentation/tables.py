"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    r"""A table; bars in cells are escaped.

    >>> print(table(("a", ""), [("1 | 2", "x")]))
    | a |  |
    |---|---|
    | 1 \| 2 | x |
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (columns, *rows)]
    first, *others = [f"| {' | '.join(row)} |" for row in cells]
    return "\n".join([first, "|---" * len(columns) + "|", *others])
