"""Ops with one thing changed are refused or taken as jaxlib does, but for what it is known not to check."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from shlo_disc.diagnostics import CompileError, ParseError, UnsupportedOpError, VerifyError
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify
from tests.parse import other_dialects
from tests.parse.samples import GENERIC, PRETTY, program
from tests.verify.jaxlib_verifier import CRASHED, Judge
from tests.verify.mutations import Subject, mutated, subjects
from tests.verify.programs import accepted, refused

MUTANTS = 8000
SOURCES = ("handwritten", "interpret", "testdata_dynamic")
SMALL = 6000  # characters of a corpus file that is used
OF_ONE_OP = 12  # programs that are changed
UNKNOWN = re.compile(r"!quant|tensor<\*")  # jaxlib has no quantized types, and what it says of unranked ones is its own

_LABEL = re.compile(r"\((?P<label>\w+) of (?P<op>[\w.-]+)\)$")


def _texts(corpus: Path) -> Iterator[str]:
    yield from [text for _, text in accepted()]
    yield from map(program, (*PRETTY, *GENERIC))
    yield from map(other_dialects.program, other_dialects.PRETTY)
    for source in SOURCES:
        for path in sorted(corpus.glob(f"{source}/*.mlir")):
            if path.stat().st_size < SMALL and ".orig." not in path.name:
                yield path.read_text()


def _refusal(text: str) -> CompileError | None:
    try:
        verify(parse_module(text))
    except (ParseError, UnsupportedOpError, VerifyError) as error:
        return error
    return None


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    with Judge() as found:
        yield found


@pytest.fixture(scope="module")
def known(corpus: Path, judge: Judge) -> dict[str, tuple[Subject, ...]]:
    """Programs of one op that both take, by the op."""
    found: dict[str, dict[str, Subject]] = defaultdict(dict)
    for source in _texts(corpus):
        for subject in subjects(parse_module(source)):
            of_one = found[subject.op.name]
            text = subject.text()
            if len(of_one) < OF_ONE_OP and text not in of_one and not UNKNOWN.search(text) and _refusal(text) is None:
                of_one[text] = subject
    return {
        name: tuple([subject for text, subject in of_one.items() if judge.complaint(text) is None])
        for name, of_one in sorted(found.items())
    }


def _disagreement(subject: Subject, judge: Judge, unchecked: frozenset[str]) -> str | None:
    text = subject.text()
    ours, other = _refusal(text), judge.complaint(text)
    if other == CRASHED or (ours is None) == (other is None):
        return None
    if ours is None:
        return f"jaxlib refuses, we take\n{text}{other}"
    label = _LABEL.search(ours.message)
    if (subject.op.name if label is None else f"{label['op']} {label['label']}") in unchecked:
        return None
    return f"we refuse, jaxlib takes\n{text}{ours}"


def test_mutants(known: dict[str, tuple[Subject, ...]], judge: Judge) -> None:
    lenient = [str(program) for program in refused() if program.jaxlib == "jaxlib accepts"]
    unchecked = frozenset([*lenient, *other_dialects.LENIENT])
    names = [name for name, of_one in known.items() if of_one]
    assert len(names) > 195
    random = Random(1)
    judged = 0
    while judged < MUTANTS:
        subject = mutated(random.choice(known[names[judged % len(names)]]), random)
        if subject is not None:
            disagreement = _disagreement(subject, judge, unchecked)
            assert disagreement is None, disagreement
            judged += 1
