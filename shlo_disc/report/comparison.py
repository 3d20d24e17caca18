"""Two programs, or two ways to compile one, on one page: their numbers in a table, their reports beside each other."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from shlo_disc.artifact import Artifact
from shlo_disc.records import record
from shlo_disc.report.page import framed, page_of
from shlo_disc.report.steps import kernel_names, places

_STYLE = (
    "body{font-family:sans-serif;margin:1em}main{display:grid;grid-template-columns:1fr 1fr;gap:8px}"
    "iframe{width:100%;height:90vh;border:1px solid}td,th{padding:2px 12px;text-align:left;vertical-align:top}"
    "td{font-family:monospace}"
)


@record
class Side:
    """A program that is compared: what it is called here, its artifact with the report, the data of a profile."""

    name: str
    artifact: Artifact
    profile: Mapping[str, Any] | None = None


def write_comparison(sides: Sequence[Side], path: Path) -> None:
    """Write a self-contained HTML page about several programs."""
    titles = [html.escape(side.name) for side in sides]
    pages = [html.escape(page_of(side.artifact, side.profile)) for side in sides]
    frames = [
        f'<section><h2>{title}</h2><iframe title="{title}" srcdoc="{page}"></iframe></section>'
        for title, page in zip(titles, pages, strict=True)
    ]
    head = "".join(f"<th>{title}</th>" for title in titles)
    rows = [_row(name, cells) for name, cells in _numbers(sides)]
    lines = list(_lines(sides))
    times = [_row(line, [_time(one) for one in seconds]) for line, seconds in lines]
    timed = f"<h2>Time by line</h2><table><tr><th></th>{head}</tr>{''.join(times)}</table>" if lines else ""
    table = f"<table><tr><th></th>{head}</tr>{''.join(rows)}</table>"
    body = f"<h1>{' and '.join(titles)}</h1>{table}{timed}<main>{''.join(frames)}</main>"
    path.write_text(framed(" and ".join(titles), _STYLE, body), encoding="utf-8", errors="backslashreplace")


def _row(name: str, cells: Sequence[str]) -> str:
    return f"<tr><th>{html.escape(name)}</th>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"


def _numbers(sides: Sequence[Side]) -> Iterator[tuple[str, list[str]]]:
    """What can be said of each program in a number or a formula."""
    launched = [[name for part in side.artifact.parts for name in _launched(part)] for side in sides]
    yield "launches", [str(len(names)) for names in launched]
    yield "kernels", [str(len(set(names))) for names in launched]
    yield "groups", [str(sum(len(part.report.groups) for part in side.artifact.parts)) for side in sides]
    yield "bytes of temporaries", [str(side.artifact.report.arena) for side in sides]
    profiles = [side.profile for side in sides]
    if any(profiles):
        yield "measured at", [_told(one, lambda found: _sizes(found["sizes"])) for one in profiles]
        yield "all steps", [_told(one, lambda found: _time(found["seconds"])) for one in profiles]
        yield "a call, at least", [_told(one, lambda found: _time(found["whole"]["least"])) for one in profiles]
        yield "bytes read and written", [_told(one, _moved) for one in profiles]
        yield "FLOPs, estimated", [_told(one, lambda found: f"{_sum(found, 'flops'):,}") for one in profiles]


def _launched(part: Artifact) -> Iterator[str]:
    """The kernel of each launch; of a choice on a GPU, that of the first variant."""
    for place in places(part):
        yield from kernel_names(place.step)[:1]


def _told(profile: Mapping[str, Any] | None, tell: Callable[[Mapping[str, Any]], str]) -> str:
    return "not measured" if profile is None else tell(profile)


def _sizes(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sizes.items()) or "constant sizes"


def _moved(profile: Mapping[str, Any]) -> str:
    return f"{_sum(profile, 'bytes_read', 'bytes_written'):,}"


def _sum(profile: Mapping[str, Any], *names: str) -> int:
    return sum(step[name] for step in profile["steps"] for name in names)


def _lines(sides: Sequence[Side]) -> Iterator[tuple[str, list[float]]]:
    """The lines of results, with the seconds of the steps that compute them, if all programs were measured."""
    if any(side.profile is None for side in sides):
        return
    found = dict[str, list[float]]()
    for number, side in enumerate(sides):
        for step in (side.profile or {})["steps"]:
            for line, seconds in _parts(step):
                found.setdefault(line, [0.0] * len(sides))[number] += seconds
    yield from sorted(found.items(), key=lambda item: -max(item[1]))


def _parts(step: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The line of a step's result; of a launch group those of its launches, in proportion to their times alone."""
    seconds, members = step["seconds"]["least"], step["members"]
    total = sum(member["seconds"] for member in members)
    if not total:
        yield step["lines"][-1] if step["lines"] else step["kind"], seconds
        return
    for member in members:
        yield member["lines"][-1] if member["lines"] else step["kind"], seconds * member["seconds"] / total


def _time(seconds: float) -> str:
    return f"{seconds * 1e6:.2f} us"
