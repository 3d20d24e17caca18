"""The documentation as a site: it is built without a warning, is complete, and loads nothing from elsewhere."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from dataclasses import fields
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

import shlo_disc
from shlo_disc.cli.arguments import command_line
from tests.report.browser import chromium, find_chromium, load, open_tab

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = max(command_line().format_usage().split(), key=len).split("|")
BUILD = ["-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html", "--conf-dir", "tools/documentation"]


class Page(HTMLParser):
    """What a page defines, links and loads."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names, self.links, self.loads = set[str](), list[str](), list[str]()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.names |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a":
            self.links.append(found.get("href", "#"))
        self.loads += [found[name] for name in ("src", "srcset", "data", "poster") if name in found]
        self.loads += [found["href"]] if tag == "link" else []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the site, as `make site` builds it."""
    folder = tmp_path_factory.mktemp("site")
    arguments = [sys.executable, *BUILD, "--doctree-dir", str(folder / "pages"), ".", str(folder / "html")]
    done = subprocess.run(
        arguments, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert done.returncode == 0, done.stderr
    return folder / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in site.rglob("*.html")}


def test_the_makefile_builds_it_so() -> None:
    assert " ".join(BUILD) in (ROOT / "Makefile").read_text()


def test_every_page_is_there(site: Path) -> None:
    sources = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.ipynb")]
    expected = {path.relative_to(ROOT).with_suffix(".html") for path in sources}
    assert sorted(path for path in expected if not (site / path).exists()) == []


def test_links_lead_to_pages_and_places_in_them(pages: dict[Path, Page]) -> None:
    broken = list[str]()
    for path, page in pages.items():
        for link in {*page.links, *page.loads}:
            file, _, name = unquote(link).partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = (path.parent / file.partition("?")[0]).resolve() if file else path
            if not target.is_file() or (name and target in pages and name not in pages[target].names):
                broken.append(f"{path}: {link}")
    assert len(pages) > 80
    assert broken == []


def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loaded = {link for page in pages.values() for link in page.loads if re.match(r"(https?:)?//", link)}
    assert loaded == set()
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import )['\"]?(?:https?:)?//[^)]*", styles) == []


@pytest.mark.skipif(find_chromium() is None, reason="there is no Chromium here (Debian: apt-get install chromium)")
def test_pages_fit_narrow_and_wide_windows_and_ask_no_server(site: Path, tmp_path: Path) -> None:
    program = find_chromium()
    assert program is not None
    pages = [path for path in site.rglob("*.html") if "_modules" not in path.parts and path != site / "index.html"]
    wider = list[tuple[Path, int, int]]()
    with chromium(program, tmp_path / "profile") as browser:
        tab = open_tab(browser)
        for path in pages:
            load(tab, path, f"location.href == '{path.as_uri()}' && document.readyState == 'complete'")
            for width in (400, 1400):
                size: dict[str, Any] = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width == 400}
                tab.send("Emulation.setDeviceMetricsOverride", **size)
                needed = tab.run("document.documentElement.scrollWidth")
                wider += [(path, width, needed)] if needed > width else []
        asked = [event["request"]["url"] for event in tab.seen("Network.requestWillBeSent")]
        logged = tab.seen("Log.entryAdded")
    assert wider == []
    assert len(asked) > len(pages)
    assert [address for address in asked if not address.startswith(("file:", "data:"))] == []
    assert logged == []


def test_public_names_are_in_the_reference(site: Path, pages: dict[Path, Page]) -> None:
    names = set[str]().union(
        *(pages[site / "docs/reference" / f"{page}.html"].names for page in ("api", "errors", "options"))
    )
    assert sorted(name for name in shlo_disc.__all__ if f"shlo_disc.{name}" not in names) == []
    methods = [name for name in vars(shlo_disc.Compiled) if not name.startswith("_")]
    assert sorted(name for name in methods if f"shlo_disc.Compiled.{name}" not in names) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_options_of_a_command_are_in_the_reference(command: str, site: Path) -> None:
    text = io.StringIO()
    with contextlib.redirect_stdout(text), pytest.raises(SystemExit):
        command_line().parse_args([command, "--help"])
    page = (site / "docs/reference/command-line.html").read_text()
    (section,) = re.findall(rf'<section id="{command}">.*?</section>', page, re.DOTALL)
    options = re.findall(r"^  (?:-\w\b.*?, )?(--[\w-]+)", text.getvalue(), re.MULTILINE)
    assert "--help" in options
    assert [option for option in options if f">{option}" not in re.sub(r"</?span.*?>", "", section)] == []


def test_options_of_a_compilation_are_in_the_reference(site: Path) -> None:
    page = (site / "docs/reference/options.html").read_text()
    assert [field.name for field in fields(shlo_disc.CompileOptions) if f">{field.name}:</span>" not in page] == []


def test_all_results_are_shown_with_their_days(site: Path, pages: dict[Path, Page]) -> None:
    path = site / "docs/reference/measured.html"
    shown = {link.rpartition("/")[2] for link in pages[path].links}
    files = [one.name for one in (ROOT / "benchmarks/results").iterdir()]
    assert sorted({*files} - shown) == []
    assert all(f"<strong>{name[:10]}</strong>" in path.read_text() for name in files)


def test_notebooks_show_their_outputs(site: Path) -> None:
    assert "<img" in (site / "examples/recompilation.html").read_text()
