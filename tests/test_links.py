"""Links from page to page lead somewhere."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_links_lead_somewhere() -> None:
    broken = list[str]()
    for page in PAGES:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
            if not re.match(r"[a-z]+:|#", link) and not (page.parent / link.partition("#")[0]).exists():
                broken.append(f"{page.relative_to(ROOT)}: {link}")
    assert broken == []


def test_files_that_texts_name_are_there() -> None:
    sources = [*(ROOT / "shlo_disc").rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *PAGES]
    named = {name for source in sources for name in re.findall(r"(?<![\w/.])docs/[\w/-]+\.md", source.read_text())}
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
