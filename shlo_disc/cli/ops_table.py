"""`python -m shlo_disc ops FILE…`: tabulate the ops of programs, and on which targets they run."""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from shlo_disc.cli.output import give, say
from shlo_disc.cli.programs import Programs
from shlo_disc.cli.support import Support, find_support
from shlo_disc.ir.core import Module
from shlo_disc.records import record
from shlo_disc.target_names import target_names


@record
class OpsReport:
    """A module, and its support on each target."""

    name: str  # of the file, and of the module if the file has several
    module: Module
    support: Mapping[str, Support]


@record
class Row:
    """One op: how often it is used, how many of these uses run on each target, and why not all do."""

    uses: int
    runs: Mapping[str, int]
    reasons: tuple[str, ...]


def run_ops(options: argparse.Namespace) -> int:
    """Print the table, or JSON. Gives the exit code."""
    programs = Programs(options.files)
    reports = [report_on(name, module) for name, module in programs.verified()]
    if options.json:
        give(print_json(reports))
    elif reports:
        say(print_table(reports))
    return programs.code


def report_on(name: str, module: Module) -> OpsReport:
    """Find out which ops of a module run on each target."""
    return OpsReport(name, module, {target: find_support(module, target) for target in target_names()})


def rows_of(reports: Sequence[OpsReport]) -> Mapping[str, Row]:
    """Count the ops of modules together, the most used first."""
    uses = Counter[str]()
    stopped: Mapping[str, Counter[str]] = {target: Counter() for target in target_names()}
    reasons = dict[str, dict[str, None]]()
    for report in reports:
        uses.update(op.name for op in report.module.walk())
        for target, support in report.support.items():
            for op, reason in support.obstacles.items():
                stopped[target][op.name] += 1
                reasons.setdefault(op.name, {})[reason] = None
    order = sorted(uses, key=lambda name: (-uses[name], name))
    return {
        name: Row(
            uses[name],
            {target: uses[name] - stopped[target][name] for target in target_names()},
            tuple(reasons.get(name, ())),
        )
        for name in order
    }


def print_table(reports: Sequence[OpsReport]) -> str:
    """Format the rows as text, with a verdict on each whole program below."""
    rows = rows_of(reports)
    head = ("op", "uses", *target_names(), "why not")
    cells = [head, *(_cells(name, row) for name, row in rows.items())]
    widths = [max(len(line[column]) for line in cells) for column in range(len(head) - 1)]
    lines = [_line(line, widths).rstrip() for line in cells]
    for report in reports:
        lines += _verdicts(report)
    return "\n".join(lines) + "\n"


def print_json(reports: Sequence[OpsReport]) -> str:
    """Format the same as JSON: a list with one object per module."""
    found = [
        {
            "name": report.name,
            "ops": {
                name: {"uses": row.uses, **row.runs, "why_not": list(row.reasons)}
                for name, row in rows_of([report]).items()
            },
            "errors": {target: None if one.error is None else str(one.error) for target, one in report.support.items()},
        }
        for report in reports
    ]
    return json.dumps(found, indent=2) + "\n"


def _verdicts(report: OpsReport) -> Iterator[str]:
    """Whether a whole program runs, in a line; targets with equal outcomes share one."""
    targets = dict[str, list[str]]()
    for target, support in report.support.items():
        verdict = "runs" if support.error is None else f"does not run\n{support.error}"
        targets.setdefault(verdict, []).append(target)
    for verdict, alike in targets.items():
        yield f"{report.name} on {' and '.join(alike)}: {verdict}"


def _cells(name: str, row: Row) -> tuple[str, ...]:
    return name, str(row.uses), *(str(row.runs[target]) for target in target_names()), "; ".join(row.reasons)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    name, *numbers, reasons = cells
    return "  ".join([
        name.ljust(widths[0]),
        *(number.rjust(width) for number, width in zip(numbers, widths[1:], strict=True)),
        reasons,
    ])  # fmt: skip
