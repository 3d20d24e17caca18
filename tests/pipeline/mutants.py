"""Programs with something changed that are compiled: text, single ops, and literals of all kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from random import Random

from shlo_disc.diagnostics import NOWHERE, ShloDiscError
from shlo_disc.ir.attributes import Attribute, FunctionType
from shlo_disc.ir.core import Block, Function, Module, Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.parse.parser import parse_module
from shlo_disc.parse.printer import print_module
from tests.parse.mutants import HUGE, NUMBER, mutate
from tests.verify.mutations import Subject, mutated, subjects

SHAPES = (
    "",
    "0x",
    "1x",
    "2x",
    "2x0x",
    "?x",
    "1000000000000x",
    "4611686018427387904x4x",
    "999999999999999999x999999999999999999x",
    "0x999999999999999999x",
    "1x" * 65,
)
VALUES = (
    *(
        "1",
        "-1",
        "1.0",
        "true",
        "[]",
        "[[]]",
        "[1, 2]",
        "[true, false]",
        "(1.0, 2.0)",
        "(1, 2)",
        "[(1.0, 2.0), (3.0, 4.0)]",
    ),
    *("[(1.0, 2.0), 3.0]", "(1.0, 2.0, 3.0)", "()", "[1, [2]]", "nan", "0x7F", "0xFFFFFFFFFFFFFFFFFF", "9" * 5000),
    *(
        "1e999999999",
        "-1e-999999999",
        '"0x"',
        '"0x00"',
        '"0xZZ"',
        '"0x0"',
        f'"0x{"FF" * 16}"',
        f'"0x{"80" * 3}"',
        '"text"',
    ),
    *('"\\FF"', '["a", "b"]', "0x", "-", "", "1 2", "[1,]", "unit"),
)
NOTHING: Mapping[str, Attribute] = {}
QUANTIZED = ("!quant.uniform<i8:f32, 0.5:3>", "!quant.uniform<i8:f32:0, {0.1, 0.2}>")


def literals() -> Iterator[str]:
    """Constants of every type, with values of every kind."""
    types = (*(dtype.value for dtype in DType), "complex<f32>", "complex<f64>", "complex<i32>", *QUANTIZED)
    for dtype, shape, value in product(types, SHAPES, VALUES):
        of = f"tensor<{shape}{dtype}>"
        yield (
            f"func.func @main() -> {of} {{\n  %0 = stablehlo.constant dense<{value}> : {of}\n  return %0 : {of}\n}}\n"
        )


def alone(text: str) -> list[Subject]:
    """The ops of a program, each by itself."""
    try:
        return list(subjects(parse_module(text)))
    except ShloDiscError:
        return []


def whole(subject: Subject) -> str:
    """A program of one op that returns what this computes."""
    returned = subject.op.results
    end = Op("func.return", returned, {}, (), (), NOWHERE)
    kinds = tuple([value.type for value in subject.arguments]), tuple([value.type for value in returned])
    body = Block(subject.arguments, (*subject.constants, subject.op, end))
    main = Function(
        "main",
        FunctionType(*kinds),
        body,
        None,
        (NOTHING,) * len(subject.arguments),
        (NOTHING,) * len(returned),
        {},
        NOWHERE,
    )
    return print_module(Module(None, (main, *subject.beside), {}, NOWHERE), generic=True)


def changed_numbers(rng: Random, text: str) -> str:
    """A program with one number that is very large, or nearly another."""
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return text
    chosen = rng.choice(numbers)
    other = rng.choice((*HUGE, "2147483648", "4611686018427387904", "-9223372036854775808", "0", "1"))
    return text[: chosen.start()] + other + text[chosen.end() :]


def mutants(rng: Random, programs: Sequence[str]) -> Iterator[str]:
    """Programs without end."""
    found: dict[str, list[Subject]] = {}
    while True:
        text = rng.choice(programs)
        if text not in found:
            found[text] = alone(text)
        if rng.random() < 0.3 or not found[text]:
            yield mutate(rng, programs)
            continue
        subject = rng.choice(found[text])
        for _ in range(rng.choice((0, 1, 1, 2, 3))):
            subject = mutated(subject, rng) or subject
        one = whole(subject)
        yield changed_numbers(rng, one) if rng.random() < 0.4 else one
