"""What is printed is what was read, for us and for MLIR: of each program of the corpus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.exactness import differs_from_mlir, round_trips
from tests.parse.jaxlib_printer import Printer
from tests.parse.samples import FAMILIES, GENERIC, GENERIC_BY_NEED, PRETTY, SHARDED, UNKNOWN_TO_JAXLIB, program

pytestmark = pytest.mark.slow

# How many programs each folder holds, and how many of them MLIR takes: those that need no dialect that jaxlib lacks.
FOLDERS = {
    "handwritten": (90, 90),
    "interpret": (467, 223),
    "jax_forms": (75, 75),
    "jax_models": (61, 61),
    "jax_models_platforms": (122, 122),
    "jax_poly": (414, 414),
    "jax_static": (297, 297),
    "math": (49, 24),
    "models": (8, 8),
    "testdata_dynamic": (461, 461),
    "testdata_quantized": (224, 82),
    "testdata_static": (2268, 2268),
}


@pytest.mark.parametrize("folder", FOLDERS)
def test_programs_of_the_corpus_are_exact(corpus: Path, folder: str) -> None:
    paths = sorted((corpus / folder).glob("**/*.mlir"))
    taken, printer = 0, Printer()
    for path in paths:
        text = path.read_text()
        assert not (fault := round_trips(text)), f"{path}: {fault}"
        difference = differs_from_mlir(text, printer)
        assert not difference, f"{path}: {difference}"
        taken += difference is not None
    assert (len(paths), taken) == FOLDERS[folder]


@pytest.mark.parametrize("op", [*PRETTY, *FAMILIES, *GENERIC, *SHARDED])
def test_samples_are_exact(op: str) -> None:
    assert not round_trips(program(op))
    assert differs_from_mlir(program(op), Printer()) == ""


@pytest.mark.parametrize("op", [*PRETTY, *FAMILIES, *GENERIC, *SHARDED])
def test_own_attributes_are_those_of_mlir(op: str) -> None:
    theirs = Printer().read(program(op))
    assert theirs is not None
    ours = print_module(parse_module(program(op)), generic=True)
    own = re.compile(r"\) <\{.*\}>")
    assert sorted(own.findall(ours)) == sorted(own.findall(theirs.text(generic=True, locations=False)))


@pytest.mark.parametrize("op", [*GENERIC_BY_NEED, *UNKNOWN_TO_JAXLIB])
def test_samples_that_mlir_refuses_come_back(op: str) -> None:
    assert not round_trips(program(op))
