"""All Python on these pages prints what stands there."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from shlo_disc import custom_calls
from tests.api.pages import run_python


@pytest.fixture(autouse=True)
def _no_custom_calls_are_left() -> Generator[None]:
    yield
    custom_calls._hooks.clear()  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]


@pytest.mark.parametrize(
    ("page", "examples"),
    [
        ("docs/tutorial.md", 15),
        ("docs/explanation/facts.md", 20),
        ("docs/how-to/custom_calls.md", 10),
        ("docs/reference/other_dialects.md", 4),
    ],
)
def test_what_python_prints(page: str, examples: int) -> None:
    assert run_python(page) > examples
