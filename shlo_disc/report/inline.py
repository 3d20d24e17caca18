"""Programs as notebooks show them: a few lines, and what `explain` tells folded below."""

from __future__ import annotations

import html
from collections.abc import Sequence

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import counted
from shlo_disc.report.text import TOPICS, explain
from shlo_disc.size_expr import SizeExpr

_SHOWN = 12  # arguments


def program_html(artifact: Artifact) -> str:
    """HTML of a program: its arguments, its results, and every topic of `explain`, folded."""
    rows = [_row(one.name, one.dtype, one.shape) for one in artifact.arguments[:_SHOWN]]
    if len(artifact.arguments) > _SHOWN:
        rows.append(f"<tr><td colspan=2>and {counted(len(artifact.arguments) - _SHOWN, 'more argument')}</td></tr>")
    rows += [_row(f"result {number}", one.dtype, one.shape) for number, one in enumerate(artifact.results)]
    told = [
        f"<details><summary>{topic}</summary><pre>{html.escape(explain(artifact, topic))}</pre></details>"
        for topic in TOPICS
    ]
    title = f"{artifact.name}, compiled for {artifact.device}"
    return f"<b>{html.escape(title)}</b><table>{''.join(rows)}</table>{''.join(told)}"


def _row(name: str, dtype: str, shape: Sequence[SizeExpr]) -> str:
    typed = f"{dtype}[{', '.join(map(str, shape))}]"
    return f"<tr><td>{html.escape(name)}</td><td><code>{html.escape(typed)}</code></td></tr>"
