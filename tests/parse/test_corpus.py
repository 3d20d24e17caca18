"""One program in several spellings."""

from __future__ import annotations

from pathlib import Path

import pytest

from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.structure import structure


@pytest.mark.parametrize("form", ["noloc", "generic"])
def test_text_without_locations_is_the_same(corpus: Path, form: str) -> None:
    paths = sorted(corpus.glob(f"jax_forms/*.{form}.mlir"))
    assert paths
    for path in paths:
        text = path.read_text()
        printed = print_module(parse_module(text), generic=form == "generic")
        assert printed.rstrip() == text.rstrip(), path


def test_generic_form_means_the_same(corpus: Path) -> None:
    paths = sorted(corpus.glob("jax_forms/*.generic.mlir"))
    compared = 0
    for path in paths:
        pretty = path.with_name(path.name.replace(".generic.", ".noloc."))
        if pretty.exists():
            compared += 1
            lhs, rhs = (structure(parse_module(each.read_text())) for each in (path, pretty))
            assert lhs == rhs, path
    assert compared
