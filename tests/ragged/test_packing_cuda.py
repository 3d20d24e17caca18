# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportMissingParameterType=false
"""Ragged programs on the emulated GPU: equal to the padded program within the lengths, 0 beyond, with less work."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shlo_disc.artifact import SourceFile
from shlo_disc.compiled import Compiled
from shlo_disc.diagnostics import RuntimeShapeError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.dynamic_ops.reference import interpret
from shlo_disc.function_export import export_function
from shlo_disc.ir.dtypes import numpy_dtype
from shlo_disc.legalize.legalize import legalize
from shlo_disc.options import Hints
from shlo_disc.parse.parser import parse_module
from shlo_disc.pipeline import compile_for
from shlo_disc.ragged_analysis import analyse_ragged
from shlo_disc.runtime.cuda.backend import CudaBackend
from shlo_disc.runtime.cuda.device import IndexType, LoadedKernel
from shlo_disc.runtime.cuda.launch_table import Chooser, cheapest
from shlo_disc.runtime.cuda.table import Functions, Launch, Table
from tests.emulator.device import Array, EmulatedDevice, Schedule
from tests.emulator.run import OPTIONS, numbered
from tests.pipeline.exports import check, flat
from tests.ragged.attention_programs import (
    attention,
    causal_attention,
    cross_attention,
    encoder_and_gradient,
    loss_and_gradient,
    mask_of_arguments,
)
from tests.ragged.programs import PROGRAMS, VOCABULARY, Masked, W, X, layer_norm, mask_of, mean_by_select

pytestmark = pytest.mark.slow

Sizes = Mapping[str, int]
# A dim of an argument or a result is told by its size: none is 8, and no two are equal.
ROWS, ONE_ROW = {"b": 5, "s": 19, "t": 11}, {"b": 1, "s": 2, "t": 3}
LAST = 99  # no choice has more variants
SCHEDULES: tuple[Schedule, ...] = ("fifo", "lifo", "random")


def norm_and_dense(x, gain, bias, w, lengths):
    return jnp.tanh(layer_norm(x, gain, bias, lengths) @ w)


def perceptron(x, wide, narrow, lengths):
    y = jax.nn.gelu(x @ wide) @ narrow
    return jnp.where(mask_of(x, lengths)[..., None], y, 0).sum(1)


CHOSEN = (
    mean_by_select,
    attention,
    causal_attention,
    cross_attention,
    mask_of_arguments,
    loss_and_gradient,
    encoder_and_gradient,
)
TESTED = [
    *[next(one for one in PROGRAMS if one.function is function) for function in CHOSEN],
    Masked(norm_and_dense, f"{X}, f32[8], f32[8], {W}, i32[b]", nan=True),
]


def built(one: Masked, device: EmulatedDevice, chooser: Chooser = cheapest, *, ragged: bool = True) -> Compiled:
    """Compile a masked program for an emulated device, packed or padded."""
    exported = export_function(one.function, one.shapes, ("s >= 2",), "cuda")
    hints = Hints(ragged=tuple(one.ragged.items()) if ragged else ())
    return compile_for(CudaBackend(device, chooser), exported, OPTIONS, hints=hints)


class Batch:
    """The arguments of one call: normal numbers, small integers, and lengths or masks."""

    def __init__(self, one: Masked, program: Program, sizes: Sizes, lengths: Mapping[str, Array]) -> None:
        self._program, self._sizes, self._lengths = program, sizes, lengths
        self._padding = np.nan if one.nan else 50.0
        rng = np.random.default_rng(0)
        tensors = [each.tensor for each in program.parameters]
        shapes = [tuple([sizes.get(str(size)) or int(str(size)) for size in x.shape]) for x in tensors]
        drawn: list[Array] = [
            rng.integers(0, VOCABULARY, shape) if x.dtype.is_integer else rng.standard_normal(shape)
            for x, shape in zip(tensors, shapes, strict=True)
        ]
        for number, name in enumerate(lengths, len(drawn) - len(lengths)):
            is_mask = len(shapes[number]) == 2
            drawn[number] = np.arange(sizes[name]) < lengths[name][:, None] if is_mask else lengths[name]
        self._drawn = [x.astype(numpy_dtype(tensor.dtype)) for x, tensor in zip(drawn, tensors, strict=True)]

    def arrays(self) -> list[Array]:
        """The arguments, with a padding that would be seen in the results."""
        *padded, last = (self._with(x, self._padding if x.dtype.kind == "f" else 1) for x in self._drawn)
        return [*padded, last if last.ndim == 1 else self._drawn[-1]]

    def expected(self) -> list[Array]:
        """The results of the padded program, whose padding is 0, with zeros beyond the lengths."""
        return [self._with(x, 0) for x in interpret(self._program, [self._with(x, 0) for x in self._drawn])]

    def _with(self, x: Array, padding: float) -> Array:
        """An array with other elements beyond the lengths, if it has a dim of rows."""
        found = np.zeros(x.shape, np.bool_)
        if self._sizes["b"] in x.shape:
            places = np.indices(x.shape)
            rows = places[x.shape.index(self._sizes["b"])]
            for name, lengths in self._lengths.items():
                for axis in [axis for axis, size in enumerate(x.shape) if size == self._sizes[name]]:
                    found |= places[axis] >= lengths[rows]
        return np.where(found, padding, x).astype(x.dtype)


def batches(one: Masked, program: Program, least: int) -> Iterator[tuple[str, Batch]]:
    """Calls whose rows are as short and as long as they may be, equal or not; and one of one row."""
    rng = np.random.default_rng(7)
    for name, first, last in (
        ("any", least, None),
        ("least", least, least),
        ("1", 1, 1),
        ("6", 6, 6),
        ("full", None, None),
    ):
        lengths = dict[str, Array]()
        for size in one.ragged:
            most = ROWS[size] if last is None else last
            lengths[size] = rng.integers(most if first is None else first, most + 1, ROWS["b"])
            if name == "any":
                lengths[size][:3] = rng.permutation([least, 1, most])
        yield name, Batch(one, program, ROWS, lengths)
    yield "one row", Batch(one, program, ONE_ROW, {size: np.array([ONE_ROW[size] - 1]) for size in one.ragged})


@pytest.mark.parametrize("one", TESTED, ids=lambda one: one.name)
def test_results_are_those_of_the_padded_program(one: Masked) -> None:
    exported = export_function(one.function, one.shapes, ("s >= 2",), "cuda")
    least = analyse_ragged(exported, one.ragged).least_length
    program = legalize(parse_module(exported.mlir_module()))
    device = EmulatedDevice()
    run, other = built(one, device), built(one, device, partial(numbered, LAST))
    for number, (name, batch) in enumerate(batches(one, program, least)):
        device.set_schedule(SCHEDULES[number % len(SCHEDULES)], seed=number)
        arrays: list[Any] = [device.array(x) for x in batch.arrays()] if number % 2 else batch.arrays()
        wanted = batch.expected()
        for variant, found in (("the cheapest", flat(run, arrays)), ("the last", flat(other, arrays))):
            if name == "least" and least == 0:
                # A loss of no tokens is 0 / 0, and a gradient of the padding NaN if it is computed.
                wanted = [np.where(np.isnan(y), x, y).astype(y.dtype) for x, y in zip(found, wanted, strict=True)]
            check(found, wanted, f"{one.name}, lengths: {name}, kernels: {variant}")


class CountingDevice(EmulatedDevice):
    """Counts threads that are launched. If it does not run them, memory is as it was."""

    def __init__(self, *, runs: bool) -> None:
        super().__init__()
        self.threads, self._runs = 0, runs

    def load(self, files: Sequence[SourceFile], names: Sequence[str], index: IndexType) -> Mapping[str, LoadedKernel]:
        """Load kernels; those that do not run need not be compiled."""
        return super().load(files, names, index) if self._runs else dict.fromkeys(names, LoadedKernel(1, 40, 0))

    def table(self, *, products: bool) -> int:
        """The emulator's functions, with a launch that counts."""
        address = super().table(products=products)
        launch = Functions(address).launch

        def counted(*arguments: Any) -> int:
            _, *blocks_and_threads = arguments[:7]
            self.threads += math.prod(blocks_and_threads)
            return launch(*arguments) if self._runs else 0

        self._counted = Launch(counted)
        Table.from_address(address).launch = ctypes.cast(self._counted, ctypes.c_void_p)
        return address


def test_threads_are_launched_for_what_is_within_the_lengths() -> None:
    one = Masked(perceptron, "f32[b, s, 128], f32[128, 512], f32[512, 128], i32[b]")
    sizes, devices = {"b": 16, "s": 128}, [CountingDevice(runs=False), CountingDevice(runs=True)]
    padded, packed = (built(one, device, ragged=device is devices[1]) for device in devices)
    shapes = [(16, 128, 128), (128, 512), (512, 128)]
    threads = list[tuple[int, int]]()
    for length in (8, 16):
        for device, run in zip(devices, (padded, packed), strict=True):
            device.threads = 0
            flat(run, [*(np.ones(shape, np.float32) for shape in shapes), np.full(sizes["b"], length, np.int32)])
        threads.append((devices[0].threads, devices[1].threads))
    (all_padded, few), (again, more) = threads
    assert all_padded == again
    assert few < more < all_padded / 4
    assert few < all_padded / 7


def test_wrong_lengths_are_refused_before_results_are_made() -> None:
    one = next(one for one in TESTED if one.function is attention)
    run = built(one, EmulatedDevice())
    x, w = np.ones((3, 7, 8), np.float32), np.ones((8, 8), np.float32)
    for lengths, row in (([2, -1, 8], 1), ([8, 0, 1], 0)):
        with pytest.raises(RuntimeShapeError, match=f"lengths has a length from 0 to 7, .* in row {row}"):
            flat(run, [x, w, np.array(lengths, np.int32)])
    (found,) = flat(run, [x, w, np.array([2, 0, 7], np.int32)])
    np.testing.assert_array_equal(np.count_nonzero(found[..., 0], 1), [2, 0, 7])
