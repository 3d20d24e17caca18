"""Whole random programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from shlo_disc.check.generate import (
    control,
    decided,
    elements,
    folds,
    forms,
    functions,
    libraries,
    matrices,
    movement,
    normalization,
    products,
    regions,
    relations,
)
from shlo_disc.check.generate.builder import MOST_FIXED, ProgramBuilder, ProgramValue, Shape, fixed_elements
from shlo_disc.check.generate.choices import Choices, RandomChoices, chance, pick
from shlo_disc.check.thresholds import thresholds
from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.ir.dtypes import DType

Family: TypeAlias = Callable[[ProgramBuilder], bool]  # adds a step, if operands fit; whether it did

MOST_OPS = 15
_MOST_ARGUMENTS = 4
_KINDS = (
    elements.FAMILIES, movement.FAMILIES, folds.FAMILIES, elements.FAMILIES, movement.FAMILIES, folds.FAMILIES,
    relations.FAMILIES, relations.FAMILIES, control.FAMILIES, functions.FAMILIES, libraries.FAMILIES, matrices.FAMILIES,
    (*products.FAMILIES, *regions.FAMILIES), (*forms.FAMILIES, *normalization.FAMILIES),
)  # fmt: skip
_BEYOND_XLA = (
    decided.FAMILIES,
    decided.FAMILIES,
    (*libraries.BEYOND_XLA, *functions.BEYOND_XLA, *products.BEYOND_XLA),
    *_KINDS,
)
_DTYPES = (
    DType.F32, DType.F32, DType.F32, DType.F32, DType.I32, DType.I32, DType.F64, DType.BF16, DType.F16, DType.I64,
    DType.I8, DType.UI8, DType.I1, DType.UI32, DType.C64, DType.C128, DType.I16, DType.UI16, DType.UI64, DType.I4,
    DType.F8E4M3FN,
)  # fmt: skip
_FIXED = (4, 3, 8, 1, 5, 16)
_LARGEST_FIXED = 520


def generate(choices: Choices, count: int = 1) -> str:
    """Generate `count` independent programs in the `@main` of one module, as C++ compilers are slow to start.

    A program has 1 to 15 steps, each an op or a small pattern of ops. Its sizes are a few symbols, dynamic (`?`) in
    most programs, else all fixed, and constants. Steps use recent values more often than old ones.
    """
    builder = ProgramBuilder(
        choices, beyond_xla=chance(choices, 8)
    )  # one op that XLA does not run excludes the whole module
    results = list[ProgramValue]()
    kinds = _BEYOND_XLA if builder.beyond_xla else _KINDS
    for number in range(count):
        builder.forget()
        results += _program(builder, str(number), kinds)
    return builder.text(results)


def generate_at(seed: int, count: int = 1) -> str:
    """The programs of a seed."""
    return generate(RandomChoices(seed), count)


def _program(builder: ProgramBuilder, suffix: str, kinds: Sequence[Sequence[Family]]) -> list[ProgramValue]:
    """Make one program, and give its results."""
    choices = builder.choices
    is_static = chance(choices, 4)
    sizes: list[Dim] = [const(pick(choices, (6, 1, 7, 2))) if is_static else symbol(name + suffix) for name in "abc"]
    sizes += [const(pick(choices, _FIXED)) for _ in range(2)]
    if chance(choices, 6):
        sizes.append(const(0))
    if chance(choices, 3):
        sizes.append(const(pick(choices, [size for size in thresholds() if size <= _LARGEST_FIXED])))
    for number in range(1 + choices.below(_MOST_ARGUMENTS)):
        dtype = DType.F32 if number == 0 else pick(choices, _DTYPES)
        known = [value.shape for value in builder.values]
        shape = pick(choices, known) if known and chance(choices, 3) else _shape(choices, sizes)
        builder.argument(shape, dtype)
    wanted = 1 + choices.below(MOST_OPS)
    made = 0
    for _ in range(3 * wanted):  # a step may find no operands
        made += pick(choices, pick(choices, kinds))(builder)
        if made == wanted:
            break
    computed = [value for value in builder.values if value not in builder.arguments] or builder.values
    read = builder.read()
    results = [value for value in computed if value.name not in read]  # what is neither read nor returned is not tested
    results += [pick(choices, computed) for _ in range(choices.below(3))]
    return list({value.name: value for value in results or computed[-1:]}.values())


def _shape(choices: Choices, sizes: list[Dim]) -> Shape:
    rank = pick(choices, (2, 1, 3, 2, 3, 0, 4))
    is_alike = chance(choices, 4)  # one size on all axes
    shape = [pick(choices, sizes)] * rank if is_alike else [pick(choices, sizes) for _ in range(rank)]
    for axis, size in enumerate(shape):
        if fixed_elements(shape) > MOST_FIXED and size.constant:
            shape[axis] = const(3)
    return tuple(shape)
