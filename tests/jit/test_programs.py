# JAX's functions are partly untyped.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Programs under transformations give what JAX makes of the undecorated function, at all sizes.

Here each program goes through some transformations, and each transformation through some programs; all of them with
each other are in `test_all_programs.py`. Integers, booleans and types are equal. Floats are added up in another order,
and their functions are polynomials of other compilers: results may differ by units in the last place of their dtype, at
the largest element for sums (`exports.UNITS`), and by more where a program says why it needs more (`Program.scale`).
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import shlo_disc
from tests.conftest import SEED
from tests.jit.programs import PROGRAMS, Draw, Program
from tests.jit.transformations import TRANSFORMATIONS, Transformation
from tests.pipeline.exports import FAST, FAST_XLA, check

SIZES = (5, 3, 0, 8, 1, 17)


def arguments(program: Program, transformation: Transformation, size: int) -> tuple[Any, ...]:
    """Fresh random arguments of a transformed program."""
    rng = np.random.default_rng([SEED, size, len(program.name), len(transformation.name)])
    return transformation.arguments([program.draw(Draw(rng, size)) for _ in range(3)])


def compare(transformation: Transformation, program: Program, run: Any, size: int) -> None:
    """Compare a function of `shlo_disc.jit` with the undecorated one, both transformed, the latter by XLA."""
    args = arguments(program, transformation, size)
    plain = jax.jit(transformation.apply(program.function, program))
    wanted = plain.lower(*args).compile(compiler_options=FAST_XLA)(*args)
    found = transformation.apply(run, program)(*args)
    what = f"{transformation.name} of {program.name} at {size}"
    assert jax.tree.structure(found) == jax.tree.structure(wanted), what
    ours, right = jax.tree.leaves(found), jax.tree.leaves(wanted)
    assert [jax.typeof(x).weak_type for x in ours] == [jax.typeof(x).weak_type for x in right], what
    scale = program.scale * (4 if transformation.derivative else 1)
    if program.narrow:
        scale *= 2.0**-8 / 2.0**-18  # the terms of a sum of float32 are bfloat16
    check([np.asarray(x) for x in ours], [np.asarray(x) for x in right], what, scale, 1.0)


def some(number: int, program: Program) -> list[tuple[Transformation, int]]:
    """The transformations of a program in the ordinary run, each at one size; those of another program are others."""
    every = [one for one in TRANSFORMATIONS.values() if one.suits(program)]
    first, second = [one for one in every if not one.second], [one for one in every if one.second]
    chosen = [first[(2 * number + 11 * k) % len(first)] for k in range(2)]
    chosen += [second[sum(one.twice for one in PROGRAMS[:number]) % len(second)]] if second else []
    return [(one, SIZES[(number + k) % len(SIZES)]) for k, one in enumerate(chosen)]


@pytest.mark.parametrize(("number", "program"), [*enumerate(PROGRAMS)], ids=lambda one: getattr(one, "name", ""))
def test_a_program_is_transformed(number: int, program: Program) -> None:
    run = shlo_disc.jit(program.function, shapes=program.shapes, options=FAST)
    for transformation, size in some(number, program):
        compare(transformation, program, run, size)


def test_every_transformation_is_among_them() -> None:
    used = [one.name for number, program in enumerate(PROGRAMS) for one, _ in some(number, program)]
    assert {name for name in TRANSFORMATIONS if used.count(name) < 2} == set()
    assert len(PROGRAMS) >= 30
