"""Every program of the corpus is read and printed back."""

from __future__ import annotations

from pathlib import Path

import pytest

from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.structure import structure

SOURCES = {
    "models/*": 8,
    "jax_poly": 414,
    "jax_models": 61,
    "jax_models_platforms": 122,
    "jax_forms": 75,
    "jax_static": 297,
    "handwritten": 90,
}


@pytest.mark.parametrize(("source", "least"), SOURCES.items())
def test_programs_come_back(corpus: Path, source: str, least: int) -> None:
    paths = sorted(corpus.glob(f"{source}/*.mlir"))
    assert len(paths) >= least
    for path in paths:
        module = parse_module(path.read_text(), str(path))
        text = print_module(module, locations=True)
        again = structure(parse_module(text), locations=True)
        assert again == structure(module, locations=True), path


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
