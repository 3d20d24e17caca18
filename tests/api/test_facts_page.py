"""Everything on docs/explanation/facts.md happens as it stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "explanation" / "facts.md").read_text()


def test_what_python_prints() -> None:
    text = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/explanation/facts.md", None, 0)
    report = list[str]()
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    assert tried > 20
    assert not failed, "".join(report)
