"""Programs changed so that many of them still compile: sizes, numbers, types, ops, operands, lines and names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random

from tests.parse.mutants import mutate
from tests.pipeline.mutants import mutants as mutants_of_ops

NUMBER = re.compile(r"(?<![\w.#%$])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])")
TENSOR = re.compile(r"tensor<((?:(?:\d+|\?)x)*)([a-z]+[a-zA-Z0-9]*|complex<f\d+>)")
DIM = re.compile(r"\d+|\?")
OP = re.compile(r"\b(stablehlo|chlo)\.\w+")
OPERAND = re.compile(r"%[\w$.-]+")
ATTRIBUTE = re.compile(r"\b\w+ = (?:\[[^\[\]{}]*\]|array<[^<>]*>|dense<[^<>]*>|-?\d+|true|false)")
ENTRY = re.compile(r"%[a-zA-Z_][\w]*")

EDGES = (0, -1, 1, 2, 2**31 - 1, 2**31, 2**32, 2**63 - 1, 2**63, -(2**63), 2**62, 2**61 + 1, 10**6)
DIMS = ("?", "?", "0", "0", "1", "2", "2147483648", "9223372036854775807", "4611686018427387904", "1048577")
TYPES = ("i1", "i4", "ui8", "i16", "ui32", "i64", "f16", "bf16", "f32", "f64", "complex<f32>", "f8E4M3FN")
OPS = {
    "add": ("subtract", "multiply", "divide", "remainder", "power", "maximum", "minimum", "atan2", "and", "xor"),
    "tanh": ("abs", "sine", "negate", "floor", "exponential", "log", "sqrt", "cbrt", "sign", "not", "popcnt"),
    "shift_left": ("shift_right_logical", "shift_right_arithmetic", "divide", "remainder", "power"),
}
ALIKE = {name: (head, *others) for head, others in OPS.items() for name in (head, *others)}
NAMES = ("$", "%", "-", ".", "_", "a-b", "a$.b", "int", "main", "x" * 300, "__", "INT_MAX", "0")
QUOTED = ('"*/ int x;"', '"\\0A#error"', '"\\22); abort(); //"', '"??/"', '"\\00"', '"\\E2\\80\\AE"', '"%s%n"', '""')


def _numbers(rng: Random, text: str) -> str:
    numbers = list(NUMBER.finditer(text))
    if not numbers:
        return text
    chosen = rng.choice(numbers)
    old = chosen.group()
    near = [str(int(old) + step) for step in (-1, 1)] if old.lstrip("-").isdecimal() and len(old) < 19 else []
    new = rng.choice((*near, str(rng.choice(EDGES)), str(rng.choice(EDGES))))
    if rng.random() < 0.2:  # wherever it is: a size that several attributes name
        return re.sub(rf"(?<![\w.#%$-]){re.escape(old)}(?![\w.])", new, text)
    return text[: chosen.start()] + new + text[chosen.end() :]


def _dims(rng: Random, text: str) -> str:
    tensors = [found for found in TENSOR.finditer(text) if found.group(1)]
    if not tensors:
        return text
    chosen = rng.choice(tensors)
    dim = rng.choice(list(DIM.finditer(chosen.group(1))))
    new = rng.choice(DIMS)
    match rng.randrange(3):
        case 0:  # this type alone
            at = chosen.start(1)
            return text[: at + dim.start()] + new + text[at + dim.end() :]
        case 1:  # this type wherever it is
            shape = chosen.group(1)
            other = shape[: dim.start()] + new + shape[dim.end() :]
            return text.replace(f"tensor<{shape}", f"tensor<{other}")
        case _:  # this size in all types
            old = re.compile(rf"(?<![\w?]){re.escape(dim.group())}(?=x)|(?<=x){re.escape(dim.group())}(?=x)")
            return TENSOR.sub(lambda found: f"tensor<{old.sub(new, found.group(1))}{found.group(2)}", text)


def _types(rng: Random, text: str) -> str:
    tensors = list(TENSOR.finditer(text))
    if not tensors:
        return text
    chosen, new = rng.choice(tensors), rng.choice(TYPES)
    if rng.random() < 0.3:
        return text[: chosen.start(2)] + new + text[chosen.end(2) :]
    old = chosen.group(2)
    return TENSOR.sub(lambda found: f"tensor<{found.group(1)}{new if found.group(2) == old else found.group(2)}", text)


def _ops(rng: Random, text: str) -> str:
    ops = list(OP.finditer(text))
    if not ops:
        return text
    chosen = rng.choice(ops)
    dialect, _, name = chosen.group().partition(".")
    new = f"{dialect}.{rng.choice(ALIKE[name])}" if name in ALIKE else rng.choice(ops).group()
    return text[: chosen.start()] + new + text[chosen.end() :]


def _operands(rng: Random, text: str) -> str:
    operands = list(OPERAND.finditer(text))
    if not operands:
        return text
    chosen = rng.choice(operands)
    return text[: chosen.start()] + rng.choice(operands).group() + text[chosen.end() :]


def _attributes(rng: Random, text: str) -> str:
    attributes = list(ATTRIBUTE.finditer(text))
    if not attributes:
        return text
    one, other = rng.choice(attributes), rng.choice(attributes)
    name, value = one.group().partition(" = ")[0], other.group().partition(" = ")[2]
    return text[: one.start()] + f"{name} = {value}" + text[one.end() :]


def _lines(rng: Random, text: str) -> str:
    lines = text.splitlines(keepends=True)
    at, target = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(3):
        case 0:
            del lines[at]
        case 1:
            lines.insert(target, lines[at])
        case _:
            lines[at], lines[target] = lines[target], lines[at]
    return "".join(lines)


def _names(rng: Random, text: str) -> str:
    found = sorted(set(ENTRY.findall(text)))
    if found and rng.random() < 0.6:
        old, new = rng.choice(found), "%" + rng.choice(NAMES)
        return re.sub(rf"{re.escape(old)}(?![\w$.-])", new.replace("\\", r"\\"), text)
    if rng.random() < 0.5:  # a private function, or the module
        old = rng.choice(re.findall(r"@\w+", text) or ["@main"])
        return text.replace(old, "@" + rng.choice(QUOTED))
    lines = text.splitlines(keepends=True)
    at = rng.randrange(len(lines))
    lines[at] = f"{lines[at].rstrip()} loc({rng.choice(QUOTED)})\n"
    return "".join(lines)


CHANGES: Sequence[Callable[[Random, str], str]] = (
    *(_numbers, _numbers, _dims, _dims, _types, _ops, _operands, _attributes, _lines, _names),
)


def mutants(rng: Random, programs: Sequence[str]) -> Iterator[str]:
    """Changed programs without end, the same for the same random numbers.

    Six of ten have one to three changes that often leave a program; the others are damaged text and changed single ops.
    """
    ops = mutants_of_ops(rng, programs)
    while True:
        kind = rng.random()
        if kind < 0.1:
            yield mutate(rng, programs)
        elif kind < 0.4:
            yield next(ops)
        else:
            text = rng.choice(programs)
            for _ in range(rng.choice((1, 1, 2, 3))):
                text = rng.choice(CHANGES)(rng, text) or text
            yield text
