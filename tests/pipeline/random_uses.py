"""Uses of ops as text, with one dynamic size `?`: what the generators of `random_ops` are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Size = int | None  # None: the dynamic one
Rng = np.random.Generator

NUMPY: Mapping[str, Any] = {
    "i1": np.bool_, "i8": np.int8, "ui8": np.uint8, "i16": np.int16, "i32": np.int32, "ui32": np.uint32,
    "i64": np.int64, "ui64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
    "complex<f32>": np.complex64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Operand:
    """An argument of the program. `low` and `high`: the range of its numbers, ends included."""

    dtype: str
    shape: tuple[Size, ...]
    low: int = -9
    high: int = 9

    @property
    def text(self) -> str:
        """Its type."""
        return tensor(self.dtype, self.shape)

    def draw(self, rng: Rng, size: int) -> Array:
        """Whole numbers, which sums and products of floats hold exactly."""
        shape = tuple(size if n is None else n for n in self.shape)
        kind: np.dtype[Any] = np.dtype(NUMPY[self.dtype])
        low = max(self.low, 0) if kind.kind == "u" else self.low
        if kind.kind in "iu":
            info = np.iinfo(kind)
            low, high = max(low, int(info.min)), min(self.high, int(info.max))
            return rng.integers(low, high, shape, dtype=kind, endpoint=True)
        found = rng.integers(low, self.high, shape, endpoint=True)
        return (found + 1j * rng.integers(-2, 3, shape)).astype(kind) if kind.kind == "c" else found.astype(kind)


@dataclass(frozen=True, slots=True)
class Use:
    """One op: its operands, and its text with `{0}`, `{1}` … for their names and `{r}` for the result's."""

    operands: tuple[Operand, ...]
    text: str
    results: tuple[str, ...]


def tensor(dtype: str, shape: Sequence[Size]) -> str:
    """Spell a type."""
    return "tensor<" + "".join(f"{'?' if n is None else n}x" for n in shape) + dtype + ">"


def program(uses: Sequence[Use]) -> str:
    """All uses in one `@main`; arguments and results in order."""
    arguments, lines, results, types, count = list[str](), list[str](), list[str](), list[str](), 0
    for k, use in enumerate(uses):
        names = [f"%a{count + i}" for i in range(len(use.operands))]
        arguments += [f"{name}: {x.text}" for name, x in zip(names, use.operands, strict=True)]
        count += len(names)
        text = use.text
        for i, name in enumerate(names):
            text = text.replace(f"{{{i}}}", name)
        lines.append("  " + text.replace("{r}", f"%r{k}"))
        results += [f"%r{k}#{i}" for i in range(len(use.results))] if len(use.results) > 1 else [f"%r{k}"]
        types += use.results
    head = f"func.func @main({', '.join(arguments)}) -> ({', '.join(types)}) {{"
    return "\n".join([head, *lines, f"  return {', '.join(results)} : {', '.join(types)}", "}"])


def one_of(rng: Rng, *choices: Any) -> Any:
    """Choose one."""
    return choices[int(rng.integers(len(choices)))]


def spelled(values: Sequence[int]) -> str:
    """Spell a list of numbers as an attribute."""
    return "array<i64" + (": " + ", ".join(map(str, values)) if values else "") + ">"


def listed(values: Sequence[int]) -> str:
    """Spell a list of numbers within a record."""
    return "[" + ", ".join(map(str, values)) + "]"


def paired(values: Sequence[tuple[int, int]]) -> str:
    """Spell rows of two numbers."""
    return f"dense<{[list(pair) for pair in values]}> : tensor<{len(values)}x2xi64>"


def region(dtypes: Sequence[str], body: Sequence[str], returned: Sequence[str]) -> str:
    """A region of scalars; its arguments are `%x0`, `%x1` …."""
    arguments = ", ".join(f"%x{k}: tensor<{dtype}>" for k, dtype in enumerate(dtypes))
    return (
        f"({{ ^bb0({arguments}):\n    " + "\n    ".join([*body, f"stablehlo.return {', '.join(returned)}"]) + "\n  })"
    )


def binary(rng: Rng, dtype: str, *, commutes: bool = False) -> str:
    """A region of two arguments and one result."""
    names = ["add", "maximum", "minimum", "multiply"] if dtype[0] != "c" else ["add", "multiply"]
    if not commutes:
        names.append("subtract")
    t = f"tensor<{dtype}>"
    return region((dtype, dtype), [f"%y = stablehlo.{one_of(rng, *names)} %x0, %x1 : {t}"], [f"%y : {t}"])


def windows(
    shape: Sequence[Size],
    spread: list[int],
    padding: list[tuple[int, int]],
    window: list[int],
    dilation: list[int],
    stride: list[int],
) -> list[Size]:
    """How many windows there are along each dim."""
    found: list[Size] = []
    for n, s, pad, w, d, step in zip(shape, spread, padding, window, dilation, stride, strict=True):
        found.append(None if n is None else max(0, ((n - 1) * s + sum(pad) - (w - 1) * d) // step + 1))
    return found
