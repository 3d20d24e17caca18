"""Every program of the corpus keeps the rules."""

from __future__ import annotations

from pathlib import Path

import pytest

from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify

SOURCES = {
    "handwritten": 90,
    "interpret": 467,
    "jax_forms": 75,
    "jax_models": 61,
    "jax_models_platforms": 122,
    "jax_poly": 414,
    "jax_static": 297,
    "math": 49,
    "models/*": 8,
    "testdata_dynamic": 461,
    "testdata_quantized": 224,
    "testdata_static": 2268,
}


@pytest.mark.parametrize(("source", "count"), SOURCES.items())
def test_programs_are_taken(corpus: Path, source: str, count: int) -> None:
    paths = sorted(corpus.glob(f"{source}/*.mlir"))
    assert len(paths) == count
    for path in paths:
        verify(parse_module(path.read_text(), str(path)))
