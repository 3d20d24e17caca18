"""What pages of the documentation show, and whether it happens as it stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def blocks(page: str, language: str) -> list[str]:
    """The contents of a page's blocks of a language; the page is named from the root of the project."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


def run_python(page: str) -> int:
    """Type all Python of a page, one block after the other; say how many examples there were."""
    test = doctest.DocTestParser().get_doctest("\n".join(blocks(page, "python")), {}, page, None, 0)
    report = list[str]()
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert not failed, "".join(report)
    return tried
