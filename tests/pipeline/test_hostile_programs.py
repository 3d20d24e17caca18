"""Programs that are none, or nearly one, end in an error of ours that says where; other exceptions are bugs of ours.

    python -m tests.pipeline.test_hostile_programs CORPUS SECONDS SEED

tries more than the tests do.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

import pytest

import shlo_disc
from shlo_disc.diagnostics import CompileError, InternalError, ShloDiscError, ToolchainError, UnsupportedOpError
from shlo_disc.options import CompileOptions
from shlo_disc.passes import PASSES
from shlo_disc.pipeline import Request, Stopwatch, back_end, compile_text
from tests.parse.samples import GENERIC, PRETTY, program
from tests.parse.test_fuzz import SEED, check_error, limited, small_programs
from tests.pipeline.mutants import literals, mutants

SECONDS = 20.0  # of CPU time for one small program
MUTANTS, LITERALS = 2000, 10  # every tenth literal

MESSAGES = {
    "half a complex number": (
        "stablehlo.constant dense<1.0> : tensor<complex<f32>>",
        "expected 1 elements of type complex<f32>, found 0.5",
    ),
    "no boolean": ("stablehlo.constant dense<[]> : tensor<1xi1>", "expected 1 elements of type i1, found 0"),
    "a literal that no memory holds": (
        "stablehlo.constant dense<1> : tensor<999999999999999999x99xi32>",
        "found a literal of 999999999999999999 x 99 elements",
    ),
    "very many dims": (f"stablehlo.iota dim = 0 : tensor<{'1x' * 65}f32>", "found 65 dims, expected at most 64"),
    "an assertion of two": (
        "stablehlo.constant dense<true> : tensor<2xi1>\n  "
        'stablehlo.custom_call @shape_assertion(%0) {error_message = "no"} : (tensor<2xi1>) -> ()',
        "expected one element in %0, found 2",
    ),
}


@pytest.mark.parametrize("case", MESSAGES)
def test_messages(case: str) -> None:
    op, message = MESSAGES[case]
    with pytest.raises(CompileError) as caught:
        shlo_disc.compile(f"func.func @main() {{\n  %0 = {op}\n  return\n}}")
    assert message in caught.value.message
    assert caught.value.span.line > 1


def test_a_state_of_random_numbers_has_a_fixed_size() -> None:
    text = """func.func @main(%a: tensor<?xui64>) -> (tensor<?xui64>, tensor<4xui64>) {
  %0:2 = "stablehlo.rng_bit_generator"(%a) <{rng_algorithm = #stablehlo<rng_algorithm THREE_FRY>}>
      : (tensor<?xui64>) -> (tensor<?xui64>, tensor<4xui64>)
  return %0#0, %0#1 : tensor<?xui64>, tensor<4xui64>
}"""
    with pytest.raises(UnsupportedOpError, match="takes a state of 2 numbers for THREE_FRY"):
        shlo_disc.compile(text)


CONSTRAINTS = {
    "digits": ("s0 <= " + "9" * 5000, "expected a number of at most 18 digits, found one of 5000"),
    "power": ("s0^99999999999 <= 3", "expected an exponent of at most 64, found 99999999999"),
    "depth": ("(" * 5000, "expected at most 80 nested parentheses"),
    "signs": ("s0 <= 1" + " * (-1" * 5000, "expected at most 80 nested parentheses"),
}


@pytest.mark.parametrize("case", CONSTRAINTS)
def test_constraints(case: str) -> None:
    text, message = CONSTRAINTS[case]
    with pytest.raises(shlo_disc.ParseError, match=message):
        shlo_disc.compile("func.func @main(%a: tensor<?xf32>) { return }", constraints=[text])


def try_programs(texts: Iterable[str], seed: str) -> int:
    """Compile programs for either target, and give how many it takes. Any error that is not ours names the program."""
    taken, rng = 0, Random(seed)
    for text in texts:
        request = Request(rng.choice(("cpu", "cuda")))
        try:
            with limited(SECONDS):
                compile_text(text, "<mutant>", request, Stopwatch())
                taken += 1
        except InternalError as error:
            raise AssertionError(f"{error} on {request.device} of the mutant {text!r}") from error
        except CompileError as error:
            if error.span.source.text == text:
                check_error(error, text)
        except ShloDiscError:
            pass
        except Exception as error:
            raise AssertionError(f"{type(error).__name__} on {request.device} of the mutant {text!r}") from error
    return taken


def test_mutants_are_compiled_or_refused(corpus: Path) -> None:
    programs = [*small_programs(corpus), *map(program, (*PRETTY, *GENERIC))]
    assert try_programs(islice(mutants(Random(f"compiled {SEED}"), programs), MUTANTS), str(SEED)) > MUTANTS // 20


def test_literals_are_compiled_or_refused() -> None:
    assert try_programs(islice(literals(), SEED % LITERALS, None, LITERALS), str(SEED))


@pytest.mark.parametrize(
    ("raised", "wanted", "message"),
    [
        (ValueError("no"), InternalError, "the step 'unit_dim_reduction' failed: ValueError: no"),
        (IndexError("no"), InternalError, "the step 'unit_dim_reduction' failed: IndexError: no"),
        (AssertionError("no"), InternalError, "the step 'unit_dim_reduction' failed: AssertionError: no"),
        (RecursionError("no"), UnsupportedOpError, "nested too deeply.* for the step 'unit_dim_reduction'"),
        (
            OSError(28, "No space left on device"),
            ToolchainError,
            "the step 'unit_dim_reduction' was refused",
        ),
        (MemoryError(), MemoryError, "^$"),
        (KeyboardInterrupt(), KeyboardInterrupt, "^$"),
    ],
    ids=repr,
)
def test_what_a_step_raises(
    raised: BaseException, wanted: type[BaseException], message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(_: object) -> None:
        raise raised

    passes = tuple([replace(one, run=fail) if one.name == "unit_dim_reduction" else one for one in PASSES])
    assert passes != PASSES
    monkeypatch.setattr(back_end, "PASSES", passes)
    with pytest.raises(wanted, match=message) as caught:
        shlo_disc.compile(
            "func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> }",
            options=CompileOptions(cache_dir=tmp_path),  # where nobody has compiled it
        )
    assert caught.value is raised or caught.value.__cause__ is raised


OPTIONS: dict[str, dict[str, object]] = {
    "options": {"options": 3},
    "device": {"device": 3},
    "constraints": {"constraints": 3},
    "a constraint": {"constraints": [3]},
    "likely": {"likely": 3},
    "a name": {"likely": {3: [1]}},
    "donate": {"donate": 3},
    "threads": {"threads": "many"},
    "compiler": {"options": shlo_disc.CompileOptions(compiler=3)},  # pyright: ignore[reportArgumentType]
    "a zero": {"options": shlo_disc.CompileOptions(compiler="a\0b")},
    "cache_dir": {"options": shlo_disc.CompileOptions(cache_dir=3)},  # pyright: ignore[reportArgumentType]
    "seconds": {"options": shlo_disc.CompileOptions(compiler_seconds=0)},
    "no number": {"options": shlo_disc.CompileOptions(compiler_seconds=float("nan"))},
    "isolate": {"options": shlo_disc.CompileOptions(isolate_reader=3)},  # pyright: ignore[reportArgumentType]
}


@pytest.mark.parametrize("case", OPTIONS)
def test_options_that_are_none(case: str) -> None:
    with pytest.raises(ShloDiscError, match=r"found .*, expected "):
        shlo_disc.compile("func.func @main() { return }", **OPTIONS[case])  # pyright: ignore[reportArgumentType]


def main(corpus: str, seconds: str, seed: str) -> None:
    """Try many programs for a while, and say how many."""
    programs = [*small_programs(Path(corpus)), *map(program, (*PRETTY, *GENERIC))]
    source, end, tried, taken = mutants(Random(seed), programs), time.monotonic() + float(seconds), 0, 0
    while time.monotonic() < end:
        taken += try_programs(islice(source, 100), f"{seed}.{tried}")
        tried += 100
    sys.stdout.write(f"{tried} mutants, {taken} of them compiled: no other errors\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
