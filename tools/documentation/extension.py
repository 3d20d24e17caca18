"""What the site adds to Sphinx: generated parts of pages, and the navigation.

A page says where a generated part belongs by a comment, `<!-- generated: api -->`; other readers of the page see the
text around it. The navigation is `docs/README.md`: each of its headings is a group, each page that it links an entry.
Sphinx warns of pages that are in no group, and warnings are errors.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from pygments.lexers.special import TextLexer  # pyright: ignore[reportMissingTypeStubs]
from sphinx.application import Sphinx

from tools.documentation.api import api_text, errors_text, options_text
from tools.documentation.command_line import command_line_text
from tools.documentation.results import results_text

GENERATED: Mapping[str, Callable[[], str]] = {
    "api": api_text,
    "command line": command_line_text,
    "errors": errors_text,
    "options": options_text,
    "results": results_text,
}
_START = '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="0; url={0}"><a href="{0}">{0}</a>\n'


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect this extension to Sphinx.

    Args:
        app: the application that builds the site.

    Returns:
        What Sphinx asks of an extension: whether it may read and write pages in parallel.
    """
    app.add_lexer("mlir", TextLexer)  # Pygments has none
    app.connect("source-read", _complete)
    app.connect("autodoc-process-docstring", _link_pages)
    app.connect("build-finished", _write_start)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def filled(text: str) -> str:
    """A page with its generated parts, and links whose text is a file's name with the title of the page in its place.

    >>> filled("about `<!-- generated: api -->`: [a.md](docs/a.md), [b](b.md)")  # the comment has no line of its own
    'about `<!-- generated: api -->`: [](docs/a.md), [b](b.md)'
    """
    text = re.sub(r"\[[\w./-]+\.md\](?=\([^):]+\.md[#)])", "[]", text)
    return re.sub(r"^<!-- generated: (.+) -->$", lambda found: GENERATED[found[1]](), text, flags=re.MULTILINE)


def navigation(text: str, page: str) -> str:
    r"""A table of contents for each heading of a page: the pages and notebooks that are linked below it.

    >>> print(navigation("# Title\n## Start\n[Use `a`](a.md), [b](../b.ipynb#x), [c](a.md)", "docs/README"))
    ```{toctree}
    :hidden:
    :caption: Start
    Use a </docs/a>
    B </b>
    ```
    """
    folder = posixpath.dirname(page)
    groups = list[str]()
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        caption, _, rest = section.partition("\n")
        names = dict[str, str]()
        for name, link in re.findall(r"\[([^]]+)\]\(([^):#]+)\.(?:md|ipynb)\b[^)]*\)", rest):
            names.setdefault(posixpath.normpath(f"/{folder}/{link}"), name.replace("`", ""))
        entries = [f"{name[:1].upper()}{name[1:]} <{link}>" for link, name in names.items()]
        groups.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", *entries, "```"]))
    return "\n\n".join(groups)


def _complete(app: Sphinx, page: str, content: list[str]) -> None:
    content[0] = filled(content[0])
    if page == app.config.root_doc:
        content[0] += "\n\n" + navigation(content[0], page) + "\n"


def _link_pages(_app: Sphinx, _kind: str, _name: str, _object: object, _options: object, lines: list[str]) -> None:
    """Link the pages that a docstring names, such as `docs/glossary.md`."""
    lines[:] = [re.sub(r"\bdocs/([\w/-]+)\.md\b", r":doc:`/docs/\1`", line) for line in lines]


def _write_start(app: Sphinx, error: Exception | None) -> None:
    if error is None:
        Path(app.outdir, "index.html").write_text(_START.format(f"{app.config.root_doc}.html"))
