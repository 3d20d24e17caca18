"""The corpus' whole models: their programs, weights, recorded inputs and outputs, and random inputs of other shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MODELS = ("bert", "gpt2", "llama", "mobilenet_v3", "resnet", "t5", "vit", "whisper")
RECORDED = 4
LARGEST = 40  # of a random symbol: enough for tails and for several rows
LARGEST_BATCH = 5  # where a sequence length varies too

# f32, per output, relative to its largest element. XLA reassociates sums too.
TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Model:
    """A model, its weights (whatever is the same in every case) by argument number, its cases."""

    text: str
    params: Mapping[int, Array]
    cases: tuple[Mapping[str, Array], ...]

    def inputs(self, case: int) -> list[Array]:
        """The arguments of `@main` in a recorded case."""
        given = {int(k[2:]): v for k, v in self.cases[case].items() if k.startswith("in")}
        return self._ordered(given)

    def outputs(self, case: int) -> list[Array]:
        """What `jax.jit` gave for a recorded case."""
        given = {int(k[3:]): v for k, v in self.cases[case].items() if k.startswith("out")}
        return [given[k] for k in sorted(given)]

    def random_inputs(self, seed: int) -> list[Array]:
        """Arguments of a random shape, with values like the recorded ones."""
        rng = np.random.default_rng(seed)
        sizes = {name: int(rng.integers(*span)) for name, span in self._ranges().items()}
        changing = sorted(int(k[2:]) for k in self.cases[0] if k.startswith("in"))
        shapes = [_concrete(shape, sizes) for shape in self._symbolic_shapes()]
        drawn = {
            number: _like([case[f"in{number:04d}"] for case in self.cases], shape, rng)
            for number, shape in zip(changing, shapes, strict=True)
        }
        return self._ordered(drawn)

    def _ordered(self, given: Mapping[int, Array]) -> list[Array]:
        every = {**self.params, **given}
        return [every[k] for k in sorted(every)]

    def _symbolic_shapes(self) -> list[tuple[str, ...]]:
        """Symbolic shapes of the arguments with a `?`, in order, as JAX's assertions state them."""
        stated = re.search(r"shapes specifications: (.*?)\. Obtained", self.text)
        assert stated, "an export with symbolic shapes states them in its shape assertions"
        shapes = re.findall(r"\.shape = \(([^)]*)\)", stated[1])
        return [tuple(dim.strip() for dim in shape.split(",") if dim.strip()) for shape in shapes]

    def _ranges(self) -> dict[str, tuple[int, int]]:
        """Half-open range of each symbol, from the constraints that JAX's assertions state."""
        symbols = {s for shape in self._symbolic_shapes() for d in shape for s in _SYMBOL.findall(d)}
        ranges: dict[str, tuple[int, int]] = dict.fromkeys(sorted(symbols), (1, LARGEST + 1))
        if len(symbols) > 1:
            ranges["b"] = (1, LARGEST_BATCH + 1)
        for name, relation, bound in set(_CONSTRAINT.findall(self.text)):
            low, high = ranges[name]
            if relation == ">=":
                ranges[name] = (max(low, int(bound)), high)
            else:
                ranges[name] = (low, min(high, int(bound) + 1))
        return ranges


_SYMBOL = re.compile(r"[a-z]\w*")
_CONSTRAINT = re.compile(r"symbolic shape constraint (\w+) (<=|>=) (\d+)\.")


def _concrete(shape: tuple[str, ...], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """Put sizes for symbols; a dim is a number, a symbol, or a multiple of one.

    >>> _concrete(("b", "2*s", "80"), {"b": 3, "s": 5})
    (3, 10, 80)
    """
    factors = [[sizes.get(f) or int(f) for f in dim.split("*")] for dim in shape]
    return tuple(int(np.prod(dim)) for dim in factors)


def _like(examples: list[Array], shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    """Draw an array that could be one of `examples`, but for its shape."""
    dtype = examples[0].dtype
    if dtype.kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    low = min(int(e.min()) for e in examples)
    high = max(int(e.max()) for e in examples)
    if (low, high) == (0, 1):  # a padding mask: every row keeps at least its first position
        lengths = rng.integers(1, shape[-1] + 1, shape[:-1])
        return (np.arange(shape[-1]) < lengths[..., None]).astype(dtype)
    return rng.integers(low, high + 1, shape).astype(dtype)


@cache
def load(folder: Path) -> Model:
    """A model of the corpus."""
    with np.load(folder / "params.npz") as params:
        weights = {int(name[2:]): params[name] for name in params.files}
    cases: list[dict[str, Array]] = []
    for k in range(RECORDED):
        with np.load(folder / f"case{k}.npz") as case:
            cases.append({name: case[name] for name in case.files})
    return Model((folder / "module.mlir").read_text(), weights, tuple(cases))


def assert_close(found: tuple[Array, ...], wanted: list[Array], what: str) -> None:
    """All outputs are within the tolerance."""
    assert len(found) == len(wanted)
    for k, (ours, reference) in enumerate(zip(found, wanted, strict=True)):
        assert ours.dtype == reference.dtype, f"{what}, output {k}"
        assert ours.shape == reference.shape, f"{what}, output {k}"
        error = np.abs(ours - reference).max(initial=0)
        bound = TOLERANCE * np.abs(reference).max(initial=0)
        assert error <= bound, f"{what}, output {k}: max |delta| {error:.3g}, bound {bound:.3g}"
