"""Random programs of maps and reductions in which many axes have one size.

Squares, an axis that is reduced beside one that is kept, producers that are joined, cut or transposed before a
reduction along any axis, what one axis was reduced to beside the same of another. Values are moderate, so that float64
NumPy is an oracle for f32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shlo_disc.lower_cpu.cooperative_reduction import ENOUGH_STRIPS
from shlo_disc.lower_cpu.rows import LONG_ROW, UNROLL
from shlo_disc.lower_cpu.short_rows import LONGEST
from shlo_disc.lower_cpu.software_pipelining import GROUP
from shlo_disc.lower_cpu.spelling import LANES
from shlo_disc.lower_cpu.stages.vector_loops import STRIP
from tests.pipeline.exports import In

Size = tuple[int, int]  # of `a` and of `b`, whose sum an axis has
Map = Callable[[Any], Any]

INPUTS = (In("a, a"), In("a, b"), In("b"), In("a, 2, b"))
_SHAPES: tuple[tuple[Size, ...], ...] = (((1, 0), (1, 0)), ((1, 0), (0, 1)), ((0, 1),), ((1, 0), (0, 0), (0, 1)))
_PAIR: Size = (0, 0)  # the axis of two elements
MOST_AXES, MOST_PARTS = 3, 3

# Sizes at which some form of a kernel begins or ends, and those beside them.
THRESHOLDS = (GROUP, UNROLL, LONGEST, LANES, 2 * LANES, STRIP, 2 * STRIP)
EDGES = tuple(sorted({1, 2, 3, 97, *(size + off for size in THRESHOLDS for off in (-1, 0, 1))}))
LONG = tuple(size + off for size in (LONG_ROW, ENOUGH_STRIPS * STRIP) for off in (-1, 0, 1, 65))


@dataclass(frozen=True, slots=True)
class Value:
    """An array of either library, its shape in terms of `a` and `b`, and the axis along which it was joined."""

    array: Any
    shape: tuple[Size, ...]
    joined: int | None = None


def sizes_of(rng: np.random.Generator, *, is_long: bool) -> dict[str, int]:
    """Sizes at the edges, most often equal ones."""
    a = int(rng.choice(LONG if is_long else EDGES))
    return {"a": a, "b": a if rng.random() < 0.6 else int(rng.choice(EDGES))}


def function_of(seed: int, xp: Any) -> Callable[..., Any]:
    """The program of a seed, computed with `xp`: `jax.numpy` or `numpy`. All its values have an axis at least."""

    def run(*arrays: Any) -> tuple[Any, ...]:
        values = [Value(x, shape) for x, shape in zip(arrays, _SHAPES, strict=True)]
        return tuple(value.array for value in _Program(np.random.default_rng(seed), xp, values).results())

    return run


class _Program:
    """Draws the ops of one program, none of which depends on how large `a` and `b` are."""

    def __init__(self, rng: np.random.Generator, xp: Any, values: list[Value]) -> None:
        self.rng, self.xp, self.values = rng, xp, values
        self.sizes = values[0].array.shape[0], values[2].array.shape[0]
        self.maps: tuple[Map, ...] = (
            xp.tanh,
            lambda x: xp.exp(xp.tanh(x)),
            lambda x: x * 0.5 + 1.25,
            lambda x: xp.sqrt(xp.abs(x) + 0.5),
            lambda x: xp.maximum(x, 0.25),
            lambda x: -x,
        )

    def results(self) -> list[Value]:
        """Some values of the program: the last one, and others on the way."""
        for _ in range(int(self.rng.integers(1, 4))):
            self.chain()
        made = self.values[len(_SHAPES) :] or self.values[:1]
        return [made[-1], *(self.one_of(made) for _ in range(int(self.rng.choice([0, 0, 0, 1, 2]))))]

    def chain(self) -> None:
        """A value is rearranged, computed with, reduced, and what is left is computed with."""
        producers = (self.turn, self.join, self.join, self.join, self.cut, self.combine)
        self.step(self.value(), producers, 0.8)
        self.step(self.values[-1] if self.rng.random() < 0.8 else self.value(), (self.map, self.map, self.combine), 0.7)
        self.step(self.values[-1], (self.reduce, self.reduce, self.reduce, self.softmax, self.beside), 0.9)
        self.step(self.values[-1], (self.map, self.combine), 0.5)

    def step(self, x: Value, kinds: Sequence[Callable[[Value], Value | None]], often: float) -> None:
        if self.rng.random() < often and (made := self.one_of(kinds)(x)) is not None:
            self.values.append(made)

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def value(self) -> Value:
        """A value, mostly one of the last."""
        recent = self.values[-3:] if self.rng.random() < 0.7 else self.values
        return self.one_of(recent)

    def axis(self, value: Value) -> int:
        """Any axis, most often the last one, along which lanes run."""
        return len(value.shape) - 1 if self.rng.random() < 0.5 else int(self.rng.integers(len(value.shape)))

    def map(self, x: Value) -> Value:
        return replace(x, array=self.one_of(self.maps)(x.array))

    def combine(self, x: Value) -> Value | None:
        """Two values of one shape; or a value, and one of a single axis along any axis of that size."""
        fitting = [y for y in self.values if y.shape == x.shape]
        lines = [(y, k) for y in self.values for k, size in enumerate(x.shape) if y.shape == (size,)]
        operation = self.one_of((self.xp.add, self.xp.multiply, self.xp.minimum, self.xp.subtract))
        if lines and self.rng.random() < 0.7:
            line, axis = self.one_of(lines)
            spread = line.array[tuple(slice(None) if k == axis else None for k in range(len(x.shape)))]
            return replace(x, array=operation(x.array, spread))
        return replace(x, array=self.xp.tanh(operation(x.array, self.one_of(fitting).array)))

    def turn(self, x: Value) -> Value:
        order = [int(k) for k in self.rng.permutation(len(x.shape))]
        return Value(x.array.transpose(order), tuple(x.shape[k] for k in order))

    def join(self, x: Value) -> Value | None:
        """Values that have the other axes in common."""
        axis = self.axis(x)
        rest = _without(x.shape, axis)
        fitting = [y for y in self.values if len(y.shape) == len(x.shape) and _without(y.shape, axis) == rest]
        others = range(int(self.rng.choice([1, 1, MOST_PARTS - 1])))
        parts = [x, *(x if self.rng.random() < 0.6 else self.one_of(fitting) for _ in others)]
        if any(part.shape[axis] == _PAIR for part in parts) or _total(parts, axis) > MOST_PARTS + 1:
            return None
        size = (sum(part.shape[axis][0] for part in parts), sum(part.shape[axis][1] for part in parts))
        arrays = [part.array * (1 + k) if self.rng.random() < 0.5 else part.array for k, part in enumerate(parts)]
        return Value(self.xp.concatenate(arrays, axis), (*x.shape[:axis], size, *x.shape[axis + 1 :]), axis)

    def cut(self, x: Value) -> Value | None:
        """A part as long as `a` or `b`, from either end of an axis that was joined."""
        axis = self.axis(x)
        which = int(x.shape[axis][0] == 0)
        if sum(x.shape[axis]) < 2:
            return None
        all_, part = x.array.shape[axis], self.sizes[which]
        kept = slice(0, part) if self.rng.random() < 0.5 else slice(all_ - part, all_)
        places = tuple(kept if k == axis else slice(None) for k in range(len(x.shape)))
        size = (1 - which, which)
        return Value(x.array[places], (*x.shape[:axis], size, *x.shape[axis + 1 :]))

    def reduce(self, x: Value) -> Value | None:
        """Along one axis, or several."""
        if len(x.shape) < 2:
            return None
        count = int(self.rng.integers(1, len(x.shape)))
        axes = tuple(sorted(int(k) for k in self.rng.permutation(len(x.shape))[:count]))
        if x.joined is not None and self.rng.random() < 0.8:
            axes = (x.joined,)
        kept = tuple(size for k, size in enumerate(x.shape) if k not in axes)
        kind = self.one_of(("sum", "sum", "max", "min", "prod"))
        if kind == "sum":
            return Value((self.xp.tanh(x.array) * 0.125).sum(axes), kept)
        if kind == "prod":
            return Value(self.xp.prod(1 + 0.01 * self.xp.tanh(x.array), axes), kept)
        return Value(getattr(self.xp, kind)(x.array, axes), kept)

    def softmax(self, x: Value) -> Value:
        """What a normalization does along any axis: stages of one row that hand on numbers and elements."""
        xp, axis, x_ = self.xp, self.axis(x), x.array
        most = x_.max(axis, keepdims=True)
        powers = xp.exp(x_ - most)
        total = powers.sum(axis, keepdims=True)
        found = self.one_of(
            (lambda: powers / total, lambda: x_ - most - xp.log(total), lambda: powers * (0.125 / total))
        )
        return Value(found(), x.shape)

    def beside(self, x: Value) -> Value | None:
        """What is left of two axes of one size, together."""
        if len(x.shape) != 2 or x.shape[0] != x.shape[1]:
            return None
        return Value(x.array.max(0) * 0.5 + self.xp.tanh(x.array).sum(1) * 0.125, x.shape[:1])


def _without(shape: tuple[Size, ...], axis: int) -> tuple[Size, ...]:
    return (*shape[:axis], *shape[axis + 1 :])


def _total(parts: Sequence[Value], axis: int) -> int:
    return sum(sum(part.shape[axis]) for part in parts)
