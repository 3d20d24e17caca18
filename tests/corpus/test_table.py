"""README.md says of the corpus what the lists of unsupported and known cases say; `--update-golden` rewrites it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.corpus.judged import all_cases, listed
from tests.corpus.test_cases import KNOWN, LIST

README = ROOT / "README.md"
BEGIN, END = "<!-- corpus -->\n", "<!-- end of corpus -->\n"


def table(corpus: Path) -> str:
    """Tabulate the runnable cases by source: how many are right by their own rule, and what becomes of the others."""
    cases, refused, known = all_cases(corpus), listed(LIST), listed(KNOWN)
    sources = Counter(str(case["source"]) for case in cases.values())
    lost = Counter(name.partition("/")[0] for name in refused)
    apart = Counter(name.partition("/")[0] for name in known)
    return "".join(_lines(sources, lost, apart))


def _lines(sources: Counter[str], lost: Counter[str], apart: Counter[str]) -> Iterator[str]:
    yield "| source | programs | right | listed with a reason | refused by name |\n|---|---|---|---|---|\n"
    for name, count in sorted(sources.items()):
        yield _line(f"`{name}`", count, apart[name], lost[name])
    yield _line("all", sources.total(), apart.total(), lost.total())


def _line(name: str, count: int, apart: int, lost: int) -> str:
    return f"| {name} | {count:,} | {count - apart - lost:,} | {apart} | {lost} |\n"


def test_the_readme_has_the_table_of_the_corpus(corpus: Path, request: pytest.FixtureRequest) -> None:
    before, _, rest = README.read_text().partition(BEGIN)
    found, _, after = rest.partition(END)
    wanted = table(corpus)
    if request.config.getoption("--update-golden"):
        README.write_text(f"{before}{BEGIN}{wanted}{END}{after}")
        return
    assert found == wanted, "README.md and the lists differ: --update-golden"
