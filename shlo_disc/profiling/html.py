"""A profile as HTML: for notebooks, and as a page of its own. Steps are linked to the user's lines."""

from __future__ import annotations

import html
import linecache
import re
from collections.abc import Iterator
from pathlib import Path

from shlo_disc.profiling.profile import Profile, StepProfile
from shlo_disc.profiling.text import TITLES, heading, row, selections, sums

_PLACE = re.compile(r"^(?P<file>.+?):(?P<line>\d+)\b")
_STYLE = """\
body{font-family:system-ui,sans-serif;margin:1.5em}
table.shlo-profile{border-collapse:collapse;font-size:13px}
.shlo-profile th,.shlo-profile td{padding:2px 8px;text-align:right;vertical-align:top;white-space:nowrap}
.shlo-profile th{border-bottom:1px solid}
.shlo-profile .word{text-align:left;white-space:normal}
.shlo-profile code{white-space:pre-wrap}
.shlo-profile meter{width:5em}"""


def page(profile: Profile) -> str:
    """A page for a browser, which loads nothing."""
    policy = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}"><meta name="color-scheme" content="light dark">'
        f"<title>{html.escape(profile.program)}, profile</title></head><body>"
        f"<h1>{html.escape(profile.program)}</h1>{fragment(profile)}</body></html>"
    )


def fragment(profile: Profile) -> str:
    """What notebooks show."""
    head = "".join(f'<th class="{_kind(k)}">{title}</th>' for k, title in enumerate(TITLES))
    body = "".join(_rows(profile))
    told = "".join(f"<p>{html.escape(line)}</p>" for line in heading(profile))
    total = "<br>".join(html.escape(line) for line in sums(profile))
    why = html.escape(selections(profile))
    return (
        f"<style>{_STYLE}</style>{told}<table class='shlo-profile'><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
        f"</table><p>{total}</p><details><summary>how candidates were selected</summary><pre>{why}</pre></details>"
    )


def _rows(profile: Profile) -> Iterator[str]:
    """A row for each step, and one with the name of each partition."""
    last = ""
    for step in profile.steps:
        if step.part != last:
            yield f'<tr><th class="word" colspan="{len(TITLES)}">{html.escape(step.part)}</th></tr>'
            last = step.part
        yield f"<tr>{''.join(_cells(profile, step))}</tr>"


def _cells(profile: Profile, step: StepProfile) -> Iterator[str]:
    *cells, _ = row(profile, step)
    for k, cell in enumerate(cells):
        meter = f' <meter value="{profile.share(step):.4f}"></meter>' if TITLES[k] == "share" else ""
        title = f' title="{html.escape(step.name)}"' if TITLES[k] == "kernel" else ""
        yield f'<td class="{_kind(k)}"{title}>{html.escape(cell)}{meter}</td>'
    yield f'<td class="word">{"<br>".join(map(_line, reversed(step.lines)))}</td>'


def _kind(column: int) -> str:
    return "word" if TITLES[column] in ("kind", "kernel", "line") else "number"


def _line(place: str) -> str:
    """A place in a file as a link to it, with the text of the line where the file is here."""
    found = _PLACE.match(place)
    if found is None or not Path(found["file"]).is_absolute():
        return html.escape(place)
    file, line = Path(found["file"]), int(found["line"])
    text = linecache.getline(str(file), line).strip() if file.suffix == ".py" else ""
    shown = html.escape(f"{file.name}{place[len(found['file']) :]}")
    link = f'<a href="{html.escape(file.as_uri())}#L{line}" title="{html.escape(place)}">{shown}</a>'
    return f"{link} <code>{html.escape(text)}</code>" if text else link
