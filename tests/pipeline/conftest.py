"""What tests of whole programs share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from shlo_disc import custom_calls


@pytest.fixture
def own_functions() -> Iterator[None]:
    """What a test registers for custom calls is forgotten after it."""
    hooks: dict[Any, Any] = custom_calls._hooks  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]
    before = dict(hooks)
    yield
    hooks.clear()
    hooks.update(before)
