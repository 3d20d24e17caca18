"""NVRTC as the tests of the CUDA target need it: required where it is installed, skipped where it is not."""

from __future__ import annotations

import pytest

from shlo_disc.diagnostics import ToolchainError
from shlo_disc.runtime.cuda import nvrtc


def require_nvrtc() -> None:
    """Skip a test where there is no NVRTC."""
    try:
        nvrtc.version()
    except ToolchainError as error:
        pytest.skip(str(error))
