"""Runs of a program with several paddings, by the reference interpreter."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shlo_disc import RaggedAnalysis, analyse_ragged
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.function_export import export_function
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.ragged.packing import pack
from shlo_disc.ragged.program import ProgramAnalysis, analyse_program
from shlo_disc.ragged.sizes import ragged_sizes
from tests.ragged.programs import VOCABULARY, Masked

Array = NDArray[Any]
SIZES = {"b": 4, "s": 7, "t": 11}  # a dim of a result is told by its size


def analysed(one: Masked) -> tuple[RaggedAnalysis, Program]:
    """The analysis of a program, and the program for the interpreter."""
    exported = export_function(one.function, one.shapes, ("s >= 2",), "cpu")
    return analyse_ragged(exported, one.ragged), legalize(parse_module(exported.mlir_module()))


def packed(one: Masked) -> tuple[ProgramAnalysis, Program]:
    """The analysis of a program that is proven, and the packed program."""
    exported = export_function(one.function, one.shapes, ("s >= 2",), "cpu")
    module = parse_module(exported.mlir_module())
    program = legalize(module)
    given = [f"argument {k}" for k in range(len(program.parameters))]
    names, sizes = ragged_sizes(module, program, given, one.ragged)
    analysis = analyse_program(program, sizes)
    assert analysis.is_proven
    return analysis, pack(analysis, names)


class Padded:
    """Arguments of a program that are the same within the lengths, and differ beyond them."""

    def __init__(self, program: Program, one: Masked, lengths: Mapping[str, Array], rng: np.random.Generator) -> None:
        self._program, self._one, self._lengths, self._rng = program, one, lengths, rng
        self._within = [self._drawn(k) for k in range(len(program.parameters))]

    def run(self, *, nan: bool = False, program: Program | None = None) -> list[Array]:
        """Results with another padding, of the program or of another one; elements beyond the lengths are 0."""
        return [np.where(self.beyond(x), 0, x).astype(x.dtype) for x in self.results(program or self._program, nan=nan)]

    def results(self, program: Program, *, nan: bool = False) -> list[Array]:
        """Results of a program with another padding, as they are."""
        arguments = list[Array]()
        for number, array in enumerate(self._within):
            beyond = self.beyond(array)
            padding = self._drawn(number)
            if nan and array.dtype.kind == "f":
                padding = np.full_like(array, np.nan)
            arguments.append(array if self._is_mask(number) else np.where(beyond, padding, array))
        return list(interpret(program, arguments))

    def _is_mask(self, number: int) -> bool:
        return "mask" in self._one.ragged.values() and number == len(self._within) - 1

    def _drawn(self, number: int) -> Array:
        tensor = self._program.parameters[number].tensor
        shape = tuple(SIZES.get(str(size), 0) or int(str(size)) for size in tensor.shape)
        dtype = numpy_dtype(tensor.dtype)
        taken = len(self._lengths)
        if shape == (SIZES["b"],) and dtype.kind == "i":
            return list(self._lengths.values())[number - len(self._program.parameters) + taken].astype(dtype)
        drawn = self._rng.integers(0, VOCABULARY, shape) if dtype.kind == "i" else self._rng.standard_normal(shape)
        if "mask" in self._one.ragged.values() and shape == (SIZES["b"], SIZES["s"]):
            drawn = np.arange(SIZES["s"])[None] < self._lengths["s"][:, None]
        return drawn.astype(dtype)

    def beyond(self, x: Array) -> Array:
        """Which elements are beyond the lengths, of an array with a dim of rows."""
        found = np.zeros(x.shape, np.bool_)
        if SIZES["b"] not in x.shape:
            return found
        row = x.shape.index(SIZES["b"])
        for name, lengths in self._lengths.items():
            for axis, size in enumerate(x.shape):
                if size in (SIZES[name], SIZES[name] - 1):
                    at, rows = np.indices(x.shape)[axis], np.indices(x.shape)[row]
                    found |= at >= lengths[rows]
        return found


def lengths_of(one: Masked, rng: np.random.Generator, least: int) -> dict[str, Array]:
    """Lengths of the rows, the least one among them."""
    found = dict[str, Array]()
    for name in one.ragged:
        drawn = rng.integers(least, SIZES[name] + 1, SIZES["b"])
        drawn[0] = least
        found[name] = rng.permutation(drawn)
    return found


def same(a: list[Array], b: list[Array]) -> bool:
    """Whether results are equal; NaN is equal to NaN."""
    return all(np.array_equal(x, y, equal_nan=x.dtype.kind == "f") for x, y in zip(a, b, strict=True))


def check_near(found: list[Array], expected: list[Array]) -> None:
    """Results are equal, but for the order of sums."""
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=2e-4, atol=2e-5)
