"""Everything on docs/how-to/custom_calls.md happens as it stands there."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from shlo_disc import custom_calls

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "custom_calls.md").read_text()


def test_what_python_prints() -> None:
    text = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL))
    test = doctest.DocTestParser().get_doctest(text, {}, "docs/how-to/custom_calls.md", None, 0)
    report = list[str]()
    try:
        failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=report.append)
    finally:
        custom_calls._hooks.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    assert tried > 10
    assert not failed, "".join(report)
