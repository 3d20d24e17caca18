"""Convolutions that the tests of the prelude compute: named ones, and any that can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

Floats: TypeAlias = npt.NDArray[np.float32 | np.float64]
SPATIAL = ("", "W", "HW", "DHW")


@dataclass(frozen=True, slots=True)
class Case:
    """A convolution; dimensions that a tuple does not give are 1 (padding: 0)."""

    sizes: tuple[int, ...]
    kernel: tuple[int, ...]
    channels: int
    features: int
    batch: int = 2
    stride: tuple[int, ...] = ()
    pad: tuple[tuple[int, int], ...] = ()
    hole: tuple[int, ...] = ()
    gap: tuple[int, ...] = ()
    reverse: tuple[bool, ...] = ()
    groups: int = 1
    batch_groups: int = 1
    input: str = "N*C"  # * stands for the spatial dimensions
    weights: str = "*IO"
    dtype: str = "f4"
    infinite: bool = False  # the last of each line of the input
    special: int = 0  # so many weights are infinite or NaN, and numbers of the input every now and then
    rounded: bool = False  # sums and products are not exact

    @property
    def space(self) -> str:
        """The names of the spatial dimensions."""
        return SPATIAL[len(self.sizes)]

    def full(self, values: Sequence[int]) -> tuple[int, ...]:
        """One number for each spatial dimension."""
        return (*values, *(1,) * (len(self.sizes) - len(values)))

    @property
    def padding(self) -> tuple[tuple[int, int], ...]:
        """Low and high padding of each spatial dimension."""
        return (*self.pad, *((0, 0),) * (len(self.sizes) - len(self.pad)))

    @property
    def out(self) -> tuple[int, ...]:
        """The spatial sizes of the result."""

        def size(d: int) -> int:
            dilated = max((self.sizes[d] - 1) * self.full(self.hole)[d] + 1, 0) if self.sizes[d] else 0
            window = (self.kernel[d] - 1) * self.full(self.gap)[d] + 1 if self.kernel[d] else 0
            room = dilated + sum(self.padding[d]) - window
            return room // self.full(self.stride)[d] + 1 if room >= 0 else 0

        return tuple(size(d) for d in range(len(self.sizes)))

    def operands(self) -> tuple[Floats, Floats]:
        """Input [N, C, spatial] and weights [O, I, spatial], laid out as the case says amid NaNs (bytes: any)."""
        rng = np.random.default_rng(len(repr(replace(self, infinite=False, special=0, rounded=False))))
        shapes = (
            {"N": self.batch, "C": self.channels} | dict(zip(self.space, self.sizes, strict=True)),
            {"O": self.features, "I": self.channels // max(self.groups, 1)}
            | dict(zip(self.space, self.kernel, strict=True)),
        )
        x, w = (
            _laid_out(layout.replace("*", self.space), shape, self.dtype, rng)
            for layout, shape in zip((self.input, self.weights), shapes, strict=True)
        )
        if self.infinite:
            x[..., -1:] = np.inf
        for array, count in ((w, self.special), (x, self.special // 3)):
            for place in rng.integers(array.size, size=count if array.size else 0):
                array[np.unravel_index(place, array.shape)] = rng.choice([np.inf, -np.inf, np.nan])
        if self.rounded:
            x /= 3
        return x, w


def _laid_out(layout: str, shape: dict[str, int], dtype: npt.DTypeLike, rng: np.random.Generator) -> Floats:
    """An array with the dimensions in the order of `shape`, in memory in that of `layout`, between NaNs or 77."""
    size = prod(shape.values())
    kind = np.dtype(dtype)
    memory = np.full(size + 128, 77 if kind.kind in "iu" else np.nan, dtype)
    if kind.kind in "iu":
        limits = np.iinfo(str(dtype))
        memory[64 : 64 + size] = rng.integers(limits.min, limits.max, size, endpoint=True)
    else:
        memory[64 : 64 + size] = rng.integers(-8, 9, size) / 4  # products and sums are exact
    array = memory[64 : 64 + size].reshape([shape[name] for name in layout])
    return array.transpose([layout.index(name) for name in shape])


SAME = ((1, 1), (1, 1))
FIRST, MAJOR = "NC*", "OI*"
CASES = {
    "in place": Case((9, 10), (3, 3), 32, 64, pad=SAME),
    "channels first": Case((9, 10), (3, 3), 32, 64, pad=SAME, input=FIRST, weights=MAJOR),
    "channels first, tails": Case((9, 19), (3, 2), 37, 71, pad=SAME, input=FIRST, weights=MAJOR),
    "batch last": Case((9, 10), (3, 3), 20, 5, pad=SAME, input="C*N", weights="I*O"),
    "few channels": Case((23, 21), (7, 7), 3, 64, stride=(2, 2), pad=((3, 3), (3, 3))),
    "few channels first": Case((23, 21), (7, 7), 3, 64, stride=(2, 2), pad=((3, 3), (3, 3)), input=FIRST),
    "patches": Case((32, 24), (8, 8), 3, 48, stride=(8, 8)),
    "one channel": Case((12, 13), (5, 3), 1, 3, input=FIRST),
    "pointwise": Case((14, 15), (1, 1), 24, 144),
    "pointwise, channels first": Case((14, 15), (1, 1), 24, 144, input=FIRST, weights=MAJOR),
    "pointwise volume": Case((3, 4, 5), (1, 1, 1), 17, 33, input=FIRST),
    "pointwise with a step": Case((14, 15), (1, 1), 24, 40, stride=(2, 3)),
    "pointwise with a step, channels first": Case((14, 31), (1, 1), 40, 150, stride=(2, 2), batch=3, input=FIRST),
    "pointwise with steps amid padding": Case(
        (14, 37), (1, 1), 20, 70, stride=(3, 2), pad=((4, 2), (3, -2)), input=FIRST, weights=MAJOR
    ),
    "pointwise with steps and negative padding": Case(
        (5, 14, 19), (1, 1, 1), 17, 140, stride=(3, 2, 4), pad=((-1, 1), (1, 0), (-3, 2)), input=FIRST
    ),
    "pointwise, steps beyond the input": Case((3, 2), (1, 1), 7, 80, stride=(4, 5), pad=((3, 9), (-1, 9)), input=FIRST),
    "pointwise, weights beyond the memory": Case((6, 90), (1, 1), 900, 150, stride=(1, 2), batch=1, input=FIRST),
    "column blocks of copied lines": Case((9, 19), (3, 2), 37, 150, pad=SAME, input=FIRST, weights=MAJOR),
    "column blocks of copied lines, few channels": Case((23, 41), (3, 5), 3, 200, pad=SAME),
    "column blocks of copied lines, groups": Case((9, 19), (3, 2), 34, 300, groups=2, pad=SAME, input=FIRST),
    "column blocks of many chunks": Case((40, 41), (3, 3), 70, 130, pad=SAME, batch=1, input=FIRST),
    "matrix product": Case((), (), 40, 50, batch=70),
    "transposed matrix product": Case((), (), 40, 50, batch=70, input="C*N", weights="*OI"),
    "one row, weights in place": Case((3, 3), (3, 3), 64, 128, batch=1),
    "line": Case((50,), (5,), 80, 128, pad=((2, 2),)),
    "line of one channel, step": Case((900,), (10,), 1, 130, stride=(5,)),
    "line, channels first": Case((50,), (5,), 80, 130, pad=((2, 2),), input=FIRST),
    "volume": Case((4, 5, 6), (2, 3, 2), 18, 20, pad=((1, 0), (1, 1), (0, 1))),
    "volume, channels first": Case((4, 5, 6), (2, 3, 2), 18, 20, pad=((1, 0), (1, 1), (0, 1)), input=FIRST),
    "parts of taps": Case((3, 3), (3, 3), 600, 20, pad=SAME),
    "parts of channels": Case((3, 3), (3, 3), 600, 20, pad=SAME, input=FIRST),
    "channels beyond a part": Case((2, 2), (1, 1), 9000, 17, batch=1),
    "many taps": Case((40, 40), (35, 35), 2, 3, batch=1, pad=SAME),
    "more taps than fit": Case((90, 90), (89, 88), 2, 2, batch=1, input=FIRST),
    "wide lines": Case((4, 9000), (3, 3), 3, 4, batch=1, pad=SAME),
    "wide lines, channels first": Case((4, 1500), (3, 3), 40, 4, batch=1, pad=SAME, input=FIRST),
    "wide lines with gaps": Case((3, 9000), (2, 3), 16, 4, batch=1, pad=SAME, gap=(1, 2), input=FIRST),
    "wide lines with holes": Case((3, 5000), (2, 3), 16, 4, batch=1, pad=SAME, hole=(1, 2), input=FIRST),
    "wide lines with holes, even window": Case(
        (3, 5000), (2, 2), 16, 4, batch=1, pad=((1, 1), (0, 1)), hole=(1, 2), input=FIRST
    ),
    "long line of one channel": Case((2600,), (10,), 1, 70, stride=(5,), pad=((3, 4),)),
    "many short lines": Case((700, 1), (3, 1), 20, 4, pad=((1, 1),), input=FIRST),
    "holes": Case((7, 8), (3, 3), 16, 20, pad=((2, 1), (2, 1)), hole=(2, 2)),
    "holes, channels first": Case((7, 8), (4, 4), 16, 20, pad=((2, 2), (2, 1)), hole=(2, 3), input=FIRST),
    "holes, steps and gaps": Case((6, 7), (3, 4), 33, 20, stride=(2, 3), pad=((2, 3), (5, 1)), hole=(3, 4), gap=(2, 3)),
    "holes, negative padding": Case((6, 7), (3, 2), 17, 20, pad=((-2, 3), (-1, -3)), hole=(3, 2), stride=(1, 3)),
    "holes in a volume": Case((3, 2, 5), (2, 3, 2), 18, 7, pad=((1, 1), (2, 0), (0, 2)), hole=(2, 3, 2)),
    "more phases than are sorted": Case((3, 4), (5, 3), 17, 20, pad=((9, 9), (11, 5)), hole=(13, 12), gap=(3, 1)),
    "wide holes, channels first": Case((4, 3), (3, 3), 40, 20, pad=((7, 7), (3, 4)), hole=(16, 11), input=FIRST),
    "everything": Case(
        (7, 6), (3, 2), 3, 4, stride=(2, 1), pad=((1, 2), (0, 1)), hole=(1, 2), gap=(2, 1), reverse=(True, False)
    ),
    "reversed": Case((9, 8), (3, 4), 20, 16, reverse=(True, True), pad=SAME),
    "reversed, few channels": Case((9, 8), (3, 4), 3, 16, reverse=(True, True), pad=SAME, input=FIRST),
    "negative padding": Case((9, 8), (3, 2), 20, 16, pad=((-1, 2), (-2, -1))),
    "negative padding, channels first": Case((9, 8), (3, 2), 3, 16, pad=((-1, 2), (-2, -1)), input=FIRST),
    "much padding": Case((2, 2), (2, 2), 3, 16, pad=((5, 6), (7, 8))),
    "groups": Case((7, 8), (3, 3), 24, 36, groups=4, pad=SAME),
    "wide groups": Case((7, 8), (3, 3), 64, 160, groups=2, pad=SAME),
    "groups, channels first": Case((7, 8), (3, 3), 24, 36, groups=4, pad=SAME, input=FIRST, weights=MAJOR),
    "depthwise": Case((9, 8), (3, 3), 64, 64, groups=64, pad=SAME),
    "depthwise, tails": Case((9, 8), (5, 5), 152, 152, groups=152, stride=(2, 2)),
    "depthwise, short lines": Case((14, 9), (3, 4), 70, 70, groups=70, pad=((3, 1), (2, 1)), gap=(2, 1), batch=3),
    "depthwise volume, planes alike": Case((6, 3, 8), (3, 1, 3), 33, 33, groups=33, pad=((1, 1), (0, 0), (1, 1))),
    "depthwise, lines with holes": Case((9, 8), (3, 3), 24, 24, groups=24, pad=SAME, hole=(2, 1)),
    "depthwise, few": Case((9, 8), (3, 3), 3, 3, groups=3, pad=SAME),
    "depthwise, last few": Case((9, 8), (3, 3), 69, 69, groups=69, pad=SAME),
    "depthwise, channels first": Case((9, 8), (3, 3), 72, 72, groups=72, pad=SAME, input=FIRST, weights=MAJOR),
    "depthwise with holes": Case((5, 8), (3, 3), 24, 24, groups=24, pad=SAME, hole=(2, 2), gap=(1, 2), input=FIRST),
    "depthwise, wide lines": Case((3, 3000), (2, 3), 24, 24, groups=24, pad=SAME, input=FIRST),
    "depthwise, large window": Case((80, 80), (75, 75), 2, 2, groups=2, batch=1),
    "depthwise, packed weights": Case((9, 8), (3, 3), 80, 80, groups=80, pad=SAME, weights=MAJOR),
    "depthwise, long line": Case((300,), (5,), 33, 33, groups=33, stride=(2,), pad=((2, 2),)),
    "depthwise volume": Case((4, 5, 6), (3, 2, 3), 40, 40, groups=40, stride=(1, 2, 1), pad=((1, 1), (0, 1), (2, 1))),
    "depthwise with a dilated line": Case((7, 9), (3, 4), 32, 32, groups=32, pad=((2, 1), (3, 4)), hole=(2, 3)),
    "depthwise with steps in holes": Case(
        (6, 7), (3, 3), 32, 32, groups=32, stride=(2, 2), pad=((2, 3), (2, 3)), hole=(3, 4), gap=(2, 3)
    ),
    "depthwise with even steps": Case((6, 9), (3, 3), 32, 32, groups=32, stride=(4, 4), hole=(2, 2), pad=SAME),
    "depthwise, reversed": Case((9, 8), (3, 4), 48, 48, groups=48, reverse=(True, True), pad=SAME),
    "depthwise, much padding": Case((2, 3), (2, 2), 24, 24, groups=24, pad=((5, 6), (7, 8))),
    "depthwise, negative padding": Case((9, 8), (3, 2), 24, 24, groups=24, pad=((-1, 2), (-2, -1))),
    "depthwise lines": Case((40, 50), (3, 3), 5, 5, groups=5, pad=SAME, input=FIRST, weights=MAJOR),
    "depthwise lines, steps": Case((40, 70), (3, 5), 5, 5, groups=5, pad=SAME, stride=(2, 2), input=FIRST),
    "depthwise lines, short, steps": Case((7, 9), (3, 3), 70, 70, groups=70, pad=SAME, stride=(2, 2), input=FIRST),
    "depthwise lines, wide steps": Case((20, 90), (2, 3), 4, 4, groups=4, pad=SAME, stride=(1, 3), input=FIRST),
    "depthwise lines, whole slots": Case(
        (4, 64), (1, 2), 3, 3, groups=3, pad=((0, 0), (2, -1)), stride=(1, 2), input=FIRST
    ),
    "depthwise lines, holes": Case((9, 40), (3, 3), 9, 9, groups=9, pad=((1, 2), (1, 2)), hole=(2, 2), input=FIRST),
    "depthwise lines, holes and gaps": Case(
        (9, 21), (3, 4), 9, 9, groups=9, pad=((3, 2), (4, 2)), hole=(3, 3), gap=(2, 1), stride=(1, 2), input=FIRST
    ),
    "depthwise lines, even steps in holes": Case(
        (6, 19), (3, 3), 8, 8, groups=8, stride=(4, 4), hole=(2, 2), pad=SAME, input=FIRST
    ),
    "depthwise lines, volume": Case(
        (4, 5, 20), (3, 2, 3), 9, 9, groups=9, stride=(1, 2, 1), pad=((1, 1), (0, 1), (2, 1)), input=FIRST
    ),
    "depthwise lines, one": Case((300,), (5,), 33, 33, groups=33, stride=(2,), pad=((2, 2),), input=FIRST),
    "depthwise lines, reversed": Case((9, 8), (3, 4), 48, 48, groups=48, reverse=(True, True), pad=SAME, input=FIRST),
    "depthwise lines, much padding": Case((2, 3), (2, 2), 24, 24, groups=24, pad=((5, 6), (37, 8)), input=FIRST),
    "depthwise lines, negative padding": Case((9, 30), (3, 2), 24, 24, groups=24, pad=((-1, 2), (-2, -1)), input=FIRST),
    "depthwise lines, too many taps": Case((30, 60), (25, 25), 3, 3, groups=3, input=FIRST),
    "depthwise lines, too wide": Case((2, 70000), (1, 3), 2, 2, groups=2, batch=1, input=FIRST),
    "depthwise lines, steps beyond slots": Case((5, 90), (2, 3), 3, 3, groups=3, stride=(1, 17), input=FIRST),
    "depthwise lines, no taps": Case((9, 8), (3, 0), 6, 6, groups=6, input=FIRST),
    "groups of 2": Case((9, 12), (3, 3), 72, 72, groups=36, pad=SAME),
    "groups of 4": Case((9, 12), (3, 3), 128, 128, groups=32, pad=SAME, stride=(2, 2)),
    "groups of 4, few": Case((9, 12), (3, 3), 12, 12, groups=3, pad=SAME),
    "groups of 4, channels first": Case((9, 12), (3, 3), 24, 24, groups=6, pad=SAME, input=FIRST),
    "groups of 8": Case((5, 6), (3, 3), 72, 72, groups=9, pad=SAME, weights=MAJOR),
    "groups of 8, with holes": Case((5, 6), (3, 3), 72, 72, groups=9, pad=((2, 1), (1, 2)), hole=(2, 3)),
    "groups of 4, channels first, in bands": Case(
        (40, 33), (3, 3), 72, 72, groups=18, pad=SAME, input=FIRST, weights=MAJOR
    ),
    "groups of 8, channels first, holes": Case(
        (35, 50), (3, 4), 40, 40, groups=5, stride=(3, 1), pad=((4, 1), (1, 2)), hole=(2, 3), gap=(1, 2), input=FIRST
    ),
    "groups of 2, channels first, volume": Case(
        (6, 29, 30), (3, 2, 3), 32, 32, groups=16, stride=(1, 2, 1), pad=((1, 1), (-1, 2), (2, 1)), input=FIRST
    ),
    "groups of 4, channels first, wide lines": Case((3, 2000), (2, 3), 24, 24, groups=6, pad=SAME, input=FIRST),
    "groups of 16": Case((9, 11), (3, 3), 96, 96, groups=6, pad=SAME),
    "groups of 16, weights first": Case((9, 11), (3, 2), 96, 96, groups=6, stride=(2, 1), weights=MAJOR),
    "groups of 16, holes": Case((5, 6), (3, 3), 80, 80, groups=5, pad=((2, 1), (1, 2)), hole=(2, 3)),
    "groups of 24 and 32": Case((7, 8), (3, 3), 72, 96, groups=3, pad=SAME),
    "groups of 32 and 16": Case((7, 8), (3, 3), 96, 48, groups=3, pad=SAME),
    "groups of 16 and 8": Case((7, 8), (3, 3), 80, 40, groups=5, pad=SAME),
    "groups of 16, many taps": Case((36, 40), (34, 35), 48, 48, groups=3, batch=1, pad=SAME),
    "batch groups": Case((9, 8), (3, 3), 20, 36, batch=6, batch_groups=3, pad=SAME),
    "batch groups, channels first": Case((9, 8), (3, 3), 20, 36, batch=6, batch_groups=3, pad=SAME, input=FIRST),
    "batch groups of 4": Case((9, 8), (3, 3), 4, 64, batch=32, batch_groups=16, pad=SAME),
    "depthwise gradient": Case((9, 8), (7, 6), 3, 40, batch=40, batch_groups=40, pad=SAME, input="C*N", weights="I*O"),
    "depthwise gradient, long": Case((30, 30), (28, 28), 2, 35, batch=35, batch_groups=35, input="C*N", weights="I*O"),
    "depthwise gradient, whole vectors": Case(
        (30, 30), (28, 28), 2, 48, batch=48, batch_groups=48, input="C*N", weights="I*O"
    ),
    "depthwise gradient, steps": Case(
        (9, 12), (4, 5), 3, 16, batch=16, batch_groups=16, pad=SAME, gap=(2, 2), input="C*N", weights="I*O"
    ),
    "depthwise gradient, channels first": Case((9, 8), (7, 6), 3, 8, batch=8, batch_groups=8, pad=SAME, input="N*C"),
    "long window": Case(
        (9, 21), (8, 19), 2, 40, batch=40, batch_groups=40, pad=((1, 1), (2, 1)), input="C*N", weights="I*O"
    ),
    "long window, few features": Case(
        (9, 21), (8, 19), 2, 3, batch=3, batch_groups=3, pad=((1, 1), (2, 1)), input="C*N", weights="I*O"
    ),
    "long window, channels first": Case(
        (9, 21), (8, 19), 3, 6, batch=6, batch_groups=6, pad=((1, 1), (2, 1)), input="CN*", weights="IO*"
    ),
    "long window, channels first, gaps": Case(
        (12, 41), (5, 19), 3, 6, batch=6, batch_groups=6, pad=((1, 1), (2, 1)), gap=(2, 2), input="CN*", weights="IO*"
    ),
    "long window, steps and gaps": Case(
        (9, 50), (3, 11), 3, 6, batch=6, batch_groups=6, pad=((1, 1), (5, 4)), stride=(2, 3), gap=(3, 4), input="CN*"
    ),
    "long window, images": Case((9, 20), (8, 18), 72, 36, groups=36, batch=3, pad=SAME),
    "long window, much padding": Case((2, 3), (2, 9), 24, 24, groups=24, pad=((1, 1), (9, 8))),
    "long window, negative padding": Case((9, 40), (3, 20), 24, 24, groups=24, pad=((-1, 2), (-2, -1))),
    "long window, 17 positions": Case((40,), (24,), 40, 40, groups=40),
    "long window, large lines": Case((30, 9000), (2, 8990), 2, 2, batch=2, batch_groups=2, input="CN*", weights="IO*"),
    "long window, larger lines": Case(
        (3, 70000), (2, 69990), 2, 2, batch=2, batch_groups=2, input="CN*", weights="IO*"
    ),
    "one feature of several": Case((9, 8), (3, 3), 72, 24, groups=24, pad=SAME),
    "multiplied": Case((9, 8), (3, 3), 6, 12, groups=6, pad=SAME),
    "no batch": Case((9, 8), (3, 3), 6, 12, batch=0),
    "no input": Case((0, 8), (3, 3), 6, 12, pad=((2, 2),)),
    "no input, channels first": Case((3, 0), (3, 3), 20, 12, pad=((2, 2), (2, 2)), input=FIRST),
    "no channels": Case((9, 8), (3, 3), 0, 12),
    "no features": Case((9, 8), (3, 3), 6, 0),
    "no taps": Case((9, 8), (0, 3), 6, 12),
    "no result": Case((2, 8), (3, 3), 6, 12),
}

INFINITE = (
    *("in place", "channels first", "few channels first", "line, channels first", "holes, channels first"),
    *("depthwise", "depthwise, channels first", "depthwise lines", "depthwise lines, steps", "depthwise lines, holes"),
    *("groups of 4", "depthwise gradient", "depthwise gradient, channels first", "long window"),
    *("long window, few features", "long window, channels first", "long window, channels first, gaps"),
)

PADS = st.integers(0, 3) | st.integers(-2, -1)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Any convolution whose result is not negative in size."""
    rank = draw(st.integers(0, 3))
    per_group = draw(st.sampled_from((1, 2, 3, 16, 17, 33)))
    groups = draw(st.sampled_from((1, 1, 2, 5, 20, 36)))
    features = draw(st.sampled_from((1, 2, 3, 16, 40, 130))) if groups < 20 else draw(st.sampled_from((1, 1, 2, 4, 8)))

    def each(values: st.SearchStrategy[int]) -> tuple[int, ...]:
        return tuple(draw(values) for _ in range(rank))

    return Case(
        each(st.integers(3, 9) | st.integers(0, 2)),
        each(st.integers(1, 3)),
        groups * (per_group if groups < 20 else features),
        groups * features,
        batch=draw(st.integers(0, 3)),
        stride=each(st.integers(1, 3)),
        pad=tuple((draw(PADS), draw(PADS)) for _ in range(rank)),
        hole=each(st.sampled_from((1, 1, 2, 3))),
        gap=each(st.sampled_from((1, 1, 2))),
        reverse=tuple(draw(st.booleans()) for _ in range(rank)),
        groups=groups,
        input=draw(st.sampled_from(("N*C", "NC*", "*NC", "C*N"))),
        weights=draw(st.sampled_from(("*IO", "OI*", "*OI", "IO*"))),
        dtype=draw(st.sampled_from(("f4", "f8"))),
    )


@st.composite
def long_windows(draw: st.DrawFn) -> Case:
    """Depthwise convolutions with windows about as long as the lines of the input: gradients of weights."""
    groups, length = draw(st.sampled_from((2, 3, 16, 33, 64, 70))), draw(st.integers(8, 40))
    pad, gap, steps = draw(st.integers(0, 3)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    lines = draw(st.integers(0, 4))
    return Case(
        (lines, gap * (length - 1) + draw(st.integers(1, 9))),
        (max(lines - draw(st.integers(0, 2)), 1), length),
        draw(st.integers(1, 3)),
        groups,
        batch=groups * draw(st.integers(1, 2)),
        stride=(1, steps),
        pad=((draw(PADS), draw(PADS)), (pad, draw(PADS))),
        hole=(draw(st.sampled_from((1, 1, 2))), 1),
        gap=(draw(st.integers(1, 2)), gap),
        reverse=(draw(st.booleans()), draw(st.booleans())),
        batch_groups=groups,
        input=draw(st.sampled_from(("N*C", "NC*", "*NC", "C*N", "CN*"))),
        weights=draw(st.sampled_from(("*IO", "OI*", "I*O", "IO*"))),
        dtype=draw(st.sampled_from(("f4", "f8"))),
    )
