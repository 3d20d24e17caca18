"""Damaged text is refused with an error of the program, never with one of the parser's own, and at once.

    python -m tests.parse.test_fuzz CORPUS MUTANTS SEED

tries more than the tests do.
"""

from __future__ import annotations

import gc
import os
import re
import signal
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shlo_disc.diagnostics import CompileError, ParseError, ShloDiscError, UnsupportedOpError, VerifyError
from shlo_disc.parse.bytecode import read_program
from shlo_disc.parse.parser import parse_modules
from shlo_disc.parse.printer import print_module
from shlo_disc.verify.ops import verify_ops
from tests.parse.mutants import FRAGMENTS, PIECE, damage_bytes, mutate
from tests.parse.samples import GENERIC, PRETTY, program
from tests.parse.structure import structure
from tests.parse.test_locations import TEXT

pytestmark = pytest.mark.slow

SAMPLES = (*map(program, (*PRETTY, *GENERIC)), TEXT)
SEED = int(os.environ.get("GITHUB_RUN_NUMBER", "1"))  # other mutants in every run, the same ones if it runs again
PARTS = 8
MUTANTS = 20_000 // PARTS
LONGEST = 3000  # characters of a program that is damaged
SECONDS = 1.0  # of CPU time, for reading, checking, printing and reading again
UNSEEN = re.compile(r"[\0-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")  # no terminal shows these
REFUSALS = (ParseError, VerifyError, UnsupportedOpError)


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """Stop what takes too long."""

    def stop(_signal: int, _frame: object) -> None:
        raise AssertionError(f"it took more than {seconds} s")

    gc.freeze()  # what other tests have left is not walked through again and again in this one's time
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        gc.unfreeze()


def check_error(error: CompileError, text: str) -> None:
    """Hold an error against the text that it is about."""
    assert 0 <= error.span.start <= error.span.end <= len(text)
    assert str(error)
    assert not UNSEEN.search(str(error))


def check(text: str) -> bool:
    """Read, verify and print a text that may be no program; tell whether it is one."""
    try:
        modules = parse_modules(text)
    except REFUSALS as error:
        check_error(error, text)
        return False
    for module in modules:
        try:
            verify_ops(module)
        except VerifyError as error:
            check_error(error, text)
        for generic in (False, True):
            printed = print_module(module, generic=generic, locations=True)
            (again,) = parse_modules(printed)
            assert print_module(again, generic=generic, locations=True) == printed
            assert structure(again, locations=True) == structure(module, locations=True)
    return True


def check_bytes(data: bytes) -> bool:
    """Do the same for bytes that may be no text."""
    try:
        text, _ = read_program(data)
    except ShloDiscError:
        return False
    return check(text)


def mutants(programs: Sequence[str], seed: str, count: int) -> Iterator[str | bytes]:
    """Give damaged programs, every tenth as bytes."""
    rng = Random(seed)
    for number in range(count):
        text = mutate(rng, programs)
        yield damage_bytes(rng, text) if number % 10 == 0 else text


def try_mutants(programs: Sequence[str], seed: str, count: int) -> Iterator[bool]:
    """Check damaged programs; an error names the program."""
    for mutant in mutants(programs, seed, count):
        try:
            with limited(SECONDS):
                is_program = check_bytes(mutant) if isinstance(mutant, bytes) else check(mutant)
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} of the mutant {mutant!r}") from error
        yield is_program


def small_programs(corpus: Path) -> list[str]:
    """Give the programs of the corpus that are short enough to be damaged often."""
    paths = sorted(path for path in corpus.glob("*/*.mlir") if path.stat().st_size <= LONGEST)
    return [path.read_text() for path in paths]


@pytest.mark.parametrize("part", range(PARTS))
def test_mutants_of_the_corpus(corpus: Path, part: int) -> None:
    programs = [*small_programs(corpus), *SAMPLES]
    assert sum(1 for _ in try_mutants(programs, f"{SEED}.{part}", MUTANTS)) == MUTANTS


def test_mutants_of_samples() -> None:
    assert any(try_mutants(SAMPLES, str(SEED), 500))


EDIT = st.tuples(
    st.sampled_from(["cut", "insert", "replace", "swap"]),
    st.integers(0, 10**6),
    st.integers(0, 10**6),
    st.sampled_from(FRAGMENTS),
)


def edited(text: str, edits: list[tuple[str, int, int, str]]) -> str:
    pieces = PIECE.findall(text)
    for kind, first, second, fragment in edits:
        i, j = first % len(pieces), second % len(pieces)
        match kind:
            case "cut":
                pieces[i] = ""
            case "insert":
                pieces.insert(i, fragment)
            case "replace":
                pieces[i] = fragment
            case _:
                pieces[i], pieces[j] = pieces[j], pieces[i]
    return "".join(pieces)


@settings(max_examples=400)
@given(st.sampled_from(SAMPLES), st.lists(EDIT, min_size=1, max_size=3))
def test_edited_samples(text: str, edits: list[tuple[str, int, int, str]]) -> None:
    check(edited(text, edits))


def main(corpus: str, count: str, seed: str) -> None:
    """Try many mutants and say how many were programs."""
    programs = [*small_programs(Path(corpus)), *SAMPLES]
    start, accepted = time.monotonic(), 0
    for number, is_program in enumerate(try_mutants(programs, seed, int(count)), 1):
        accepted += is_program
        if number % 1000 == 0:
            rate = number / (time.monotonic() - start)
            print(f"\r{number} mutants, {accepted} programs, {rate:.0f} per second", end="", file=sys.stderr)
    print(f"{count} mutants, {accepted} of them programs: no other errors")


if __name__ == "__main__":
    main(*sys.argv[1:])
