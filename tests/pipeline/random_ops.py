"""Random uses of ops with many attributes, valid by the specification: as text, with one dynamic size `?`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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


def _one(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _list(values: Sequence[int]) -> str:
    return "array<i64" + (": " + ", ".join(map(str, values)) if values else "") + ">"


def _plain(values: Sequence[int]) -> str:
    return "[" + ", ".join(map(str, values)) + "]"


def _pairs(values: Sequence[tuple[int, int]]) -> str:
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
    return region((dtype, dtype), [f"%y = stablehlo.{_one(rng, *names)} %x0, %x1 : {t}"], [f"%y : {t}"])


# --- convolution


def convolution(rng: Rng) -> Use:
    """Any rank, groups, dilations, reversal and padding; the batch is dynamic, or a spatial dim is."""
    rank = int(rng.integers(0, 4))
    dtype = _one(rng, "f32", "f32", "f16", "i32", "f64", "complex<f32>")
    feature_groups, batch_groups = _one(rng, (1, 1), (2, 1), (3, 1), (1, 2)) if rank else (1, 1)
    batch: Size = None if batch_groups == 1 else 2 * batch_groups
    dynamic = int(rng.integers(rank)) if rank and (batch is not None or rng.random() < 0.4) else None
    if dynamic is not None and batch is None:
        batch = 3
    each, out = int(rng.integers(1, 4)), int(rng.integers(1, 4)) * feature_groups * batch_groups
    window = [int(rng.integers(1, 4)) for _ in range(rank)]
    stride, spread, dilation = ([int(_one(rng, 1, 1, 2, 3)) for _ in range(rank)] for _ in range(3))
    padding = [(int(rng.integers(-1, 4)), int(rng.integers(-1, 4))) for _ in range(rank)]
    spatial: list[Size] = [None if k == dynamic else int(rng.integers(3, 8)) for k in range(rank)]
    reversal = [bool(rng.random() < 0.3) for _ in range(rank)]
    sizes: list[Size] = []
    for k, n in enumerate(spatial):
        room = None if n is None else (n - 1) * spread[k] + 1 + sum(padding[k]) - (window[k] - 1) * dilation[k] - 1
        sizes.append(None if room is None else max(0, room // stride[k] + 1))
    orders = [[int(x) for x in rng.permutation(rank + 2)] for _ in range(3)]
    letters = [[*"bf", *range(rank)], [*"io", *range(rank)], [*"bf", *range(rank)]]
    shapes = [
        [batch, each * feature_groups, *spatial],
        [each, out, *window],
        [None if batch is None else batch // batch_groups, out, *sizes],
    ]
    spelled = [
        "[" + ", ".join(str(names[k]) for k in order) + "]" for names, order in zip(letters, orders, strict=True)
    ]
    x, kernel, result = (tuple(shape[k] for k in order) for shape, order in zip(shapes, orders, strict=True))
    flags = ", ".join("true" if one else "false" for one in reversal)
    text = (
        f'{{r}} = "stablehlo.convolution"({{0}}, {{1}}) <{{batch_group_count = {batch_groups} : i64, '
        f"dimension_numbers = #stablehlo.conv<{spelled[0]}x{spelled[1]}->{spelled[2]}>, "
        f"feature_group_count = {feature_groups} : i64, lhs_dilation = {_list(spread)}, "
        f"padding = {_pairs(padding) if rank else 'dense<> : tensor<0x2xi64>'}, rhs_dilation = {_list(dilation)}, "
        f"window_reversal = array<i1{': ' if rank else ''}{flags}>, window_strides = {_list(stride)}}}> : "
        f"({tensor(dtype, x)}, {tensor(dtype, kernel)}) -> {tensor(dtype, result)}"
    )
    return Use((Operand(dtype, x, -3, 3), Operand(dtype, kernel, -3, 3)), text, (tensor(dtype, result),))


# --- gather and scatter

INDICES = ("i8", "ui8", "i32", "ui32", "i64", "ui64")


@dataclass(frozen=True, slots=True)
class _Places:
    """Dimension numbers that gather and scatter share. `window`: the sizes of slices, one for each operand dim."""

    operand: tuple[Size, ...]
    batching: tuple[int, ...]
    indices_batching: tuple[int, ...]
    collapsed: tuple[int, ...]
    mapped: tuple[int, ...]
    indices: Operand
    vector: int
    window: tuple[int, ...]
    offsets: tuple[int, ...]
    result: tuple[Size, ...]  # of a gather; of a scatter the updates


def _places(rng: Rng) -> _Places:
    rank = int(rng.integers(1, 4))
    dims = [int(x) for x in rng.permutation(rank)]
    batching = tuple(sorted(dims[: int(rng.integers(0, min(2, rank)))]))
    rest = [d for d in dims if d not in batching]
    mapped = tuple(rest[: int(rng.integers(1, len(rest) + 1))])
    collapsed = tuple(sorted(d for d in mapped if rng.random() < 0.6))
    dynamic_operand = bool(rng.random() < 0.5)
    place = int(rng.integers(rank))
    operand: list[Size] = [int(rng.integers(3, 6)) for _ in range(rank)]
    if dynamic_operand and place not in batching:
        operand[place] = None
    batch: list[Size] = [operand[d] for d in batching]
    extra: list[Size] = [
        None if operand.count(None) == 0 else int(rng.integers(2, 5)) for _ in range(rng.integers(0, 3))
    ]
    order = [int(x) for x in rng.permutation(len(batch) + len(extra))]
    whole = [*batch, *extra]
    rows = [whole[k] for k in order]
    at = [order.index(k) for k in range(len(batch))]
    vector = int(rng.integers(len(rows) + 1))
    is_scalar = len(mapped) == 1 and rng.random() < 0.3
    shape = tuple(rows) if is_scalar else (*rows[:vector], len(mapped), *rows[vector:])
    if is_scalar:
        vector = len(rows)
    window = [
        1 if d in collapsed or d in batching or operand[d] is None else int(rng.integers(1, (operand[d] or 1) + 1))
        for d in range(rank)
    ]
    kept = [window[d] for d in range(rank) if d not in collapsed and d not in batching]
    count = len(kept) + len(rows)
    offsets = tuple(sorted(int(x) for x in rng.permutation(count)[: len(kept)]))
    fills = iter(kept), iter(rows)
    result = tuple(next(fills[0]) if k in offsets else next(fills[1]) for k in range(count))
    dtype = _one(rng, *INDICES)
    extremes = rng.random() < 0.3
    indices = Operand(dtype, shape, *((-(2**63), 2**63 - 1) if extremes else (-3, 8)))
    batched = tuple(k + (k >= vector and not is_scalar) for k in at)
    return _Places(
        tuple(operand), batching, batched, collapsed, mapped, indices, vector, tuple(window), offsets, result
    )


def gather(rng: Rng) -> Use:
    """Batching dims, any place of the index vector, any type of index, out of range or not."""
    at, dtype = _places(rng), _one(rng, "f32", "i8", "i1", "i64", "complex<f32>")
    numbers = (
        f"#stablehlo.gather<offset_dims = {_plain(at.offsets)}, collapsed_slice_dims = {_plain(at.collapsed)}, "
        f"operand_batching_dims = {_plain(at.batching)}, start_indices_batching_dims = {_plain(at.indices_batching)}, "
        f"start_index_map = {_plain(at.mapped)}, index_vector_dim = {at.vector}>"
    )
    result = tensor(dtype, at.result)
    text = (
        f'{{r}} = "stablehlo.gather"({{0}}, {{1}}) <{{dimension_numbers = {numbers}, '
        f"slice_sizes = {_list(at.window)}, indices_are_sorted = false}}> : "
        f"({tensor(dtype, at.operand)}, {at.indices.text}) -> {result}"
    )
    return Use((Operand(dtype, at.operand), at.indices), text, (result,))


def scatter(rng: Rng) -> Use:
    """One or two operands; combiners that do not commute meet an index several times, in order."""
    at, count = _places(rng), int(rng.integers(1, 3))
    dtypes = [_one(rng, "f32", "i32", "ui8", "f64"), _one(rng, "i32", "ui8", "i64")][:count]  # XLA mixes no floats
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {_plain(at.offsets)}, inserted_window_dims = {_plain(at.collapsed)}, "
        f"input_batching_dims = {_plain(at.batching)}, "
        f"scatter_indices_batching_dims = {_plain(at.indices_batching)}, "
        f"scatter_dims_to_operand_dims = {_plain(at.mapped)}, index_vector_dim = {at.vector}>"
    )
    if count == 1:
        combiner = binary(rng, dtypes[0])
    else:
        a, b = (f"tensor<{dtype}>" for dtype in dtypes)
        body = [
            f"%c = stablehlo.compare LT, %x0, %x2 : ({a}, {a}) -> tensor<i1>",
            f"%p = stablehlo.select %c, %x2, %x0 : tensor<i1>, {a}",
            f"%q = stablehlo.select %c, %x3, %x1 : tensor<i1>, {b}",
        ]
        combiner = region((*dtypes, *dtypes), body, [f"%p, %q : {a}, {b}"])
    operands = [Operand(dtype, at.operand) for dtype in dtypes]
    updates = [Operand(dtype, at.result, -4, 4) for dtype in dtypes]
    everything = (*operands, at.indices, *updates)
    names = ", ".join(f"{{{k}}}" for k in range(len(everything)))
    results = [x.text for x in operands]
    text = (
        f'{{r}}{f":{count}" if count > 1 else ""} = "stablehlo.scatter"({names}) <{{scatter_dimension_numbers = '
        f"{numbers}, indices_are_sorted = false, unique_indices = false}}> {combiner} : "
        f"({', '.join(x.text for x in everything)}) -> ({', '.join(results)})"
    )
    return Use(everything, text, tuple(results))


# --- windows and reductions


def reduce_window(rng: Rng) -> Use:
    """Base and window dilations, strides, padding below 0; neutral initial values, as padding takes them often."""
    rank = int(rng.integers(1, 4))
    dtype, name, init = _one(
        rng, ("f32", "add", "0.0"), ("i32", "add", "0"), ("f32", "maximum", "0xFF800000"), ("i32", "multiply", "1"),
        ("ui8", "maximum", "0"), ("f64", "minimum", "0x7FF0000000000000"),
    )  # fmt: skip
    dynamic = int(rng.integers(rank))
    shape: list[Size] = [None if k == dynamic else int(rng.integers(2, 6)) for k in range(rank)]
    window = [int(rng.integers(1, 4)) for _ in range(rank)]
    stride, base, dilation = ([int(_one(rng, 1, 1, 2, 3)) for _ in range(rank)] for _ in range(3))
    padding = [(int(rng.integers(-1, 3)), int(rng.integers(-1, 3))) for _ in range(rank)]
    sizes: list[Size] = []
    for k, n in enumerate(shape):
        room = None if n is None else (n - 1) * base[k] + 1 + sum(padding[k]) - (window[k] - 1) * dilation[k] - 1
        sizes.append(None if room is None else max(0, room // stride[k] + 1))
    t, result = f"tensor<{dtype}>", tensor(dtype, sizes)
    body = region((dtype, dtype), [f"%y = stablehlo.{name} %x0, %x1 : {t}"], [f"%y : {t}"])
    text = (
        f"{{r}}i = stablehlo.constant dense<{init}> : {t}\n  "
        f'{{r}} = "stablehlo.reduce_window"({{0}}, {{r}}i) <{{base_dilations = {_list(base)}, '
        f"padding = {_pairs(padding)}, window_dilations = {_list(dilation)}, window_dimensions = {_list(window)}, "
        f"window_strides = {_list(stride)}}}> {body} : ({tensor(dtype, shape)}, {t}) -> {result}"
    )
    return Use((Operand(dtype, tuple(shape)),), text, (result,))


def reduce(rng: Rng) -> Use:
    """Two operands of two types, and a region that mixes them: the largest and where it is, of equals the first."""
    rank = int(rng.integers(1, 4))
    dynamic = int(rng.integers(rank))
    shape: tuple[Size, ...] = tuple(None if k == dynamic else int(rng.integers(1, 6)) for k in range(rank))
    dims = sorted(int(x) for x in rng.permutation(rank)[: int(rng.integers(1, rank + 1))])
    value, number = _one(rng, "f32", "i32", "f64"), _one(rng, "i32", "i64")
    a, b = f"tensor<{value}>", f"tensor<{number}>"
    body = [
        f"%g = stablehlo.compare GT, %x2, %x0 : ({a}, {a}) -> tensor<i1>",
        f"%e = stablehlo.compare EQ, %x2, %x0 : ({a}, {a}) -> tensor<i1>",
        f"%s = stablehlo.compare LT, %x3, %x1 : ({b}, {b}) -> tensor<i1>",
        "%t = stablehlo.and %e, %s : tensor<i1>",
        "%u = stablehlo.or %g, %t : tensor<i1>",
        f"%p = stablehlo.select %u, %x2, %x0 : tensor<i1>, {a}",
        f"%q = stablehlo.select %u, %x3, %x1 : tensor<i1>, {b}",
    ]
    kept = [n for k, n in enumerate(shape) if k not in dims]
    results = (tensor(value, kept), tensor(number, kept))
    zero = "-99.0" if value[0] == "f" else "-99"
    text = (
        f"{{r}}i = stablehlo.constant dense<{zero}> : {a}\n  {{r}}j = stablehlo.constant dense<99> : {b}\n  "
        f'{{r}}:2 = "stablehlo.reduce"({{0}}, {{1}}, {{r}}i, {{r}}j) <{{dimensions = {_list(dims)}}}> '
        f"{region((value, number, value, number), body, [f'%p, %q : {a}, {b}'])} : "
        f"({tensor(value, shape)}, {tensor(number, shape)}, {a}, {b}) -> ({', '.join(results)})"
    )
    return Use((Operand(value, shape), Operand(number, shape)), text, results)


def sort(rng: Rng) -> Use:
    """Several operands along any dim, stable, by orders that are not total."""
    rank, count = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    dim, dynamic = (int(rng.integers(rank)) for _ in range(2))
    shape: tuple[Size, ...] = tuple(None if k == dynamic else int(rng.integers(1, 9)) for k in range(rank))
    dtypes = [_one(rng, "i32", "ui8", "f32", "i64", "f16") for _ in range(count)]
    key = f"tensor<{dtypes[0]}>"
    order = _one(rng, "by value", "down", "by absolute value", "not at all")
    if order == "by absolute value" and dtypes[0][0] != "u":
        both = [f"%p = stablehlo.abs %x0 : {key}", f"%q = stablehlo.abs %x1 : {key}"]
        both.append(f"%c = stablehlo.compare LT, %p, %q : ({key}, {key}) -> tensor<i1>")
    elif order == "not at all":
        both = ["%c = stablehlo.constant dense<false> : tensor<i1>"]
    else:
        both = [f"%c = stablehlo.compare {'GT' if order == 'down' else 'LT'}, %x0, %x1 : ({key}, {key}) -> tensor<i1>"]
    types = [tensor(dtype, shape) for dtype in dtypes]
    names = ", ".join(f"{{{k}}}" for k in range(count))
    body = region([dtype for dtype in dtypes for _ in range(2)], both, ["%c : tensor<i1>"])
    text = (
        f'{{r}}{f":{count}" if count > 1 else ""} = "stablehlo.sort"({names}) '
        f"<{{dimension = {dim} : i64, is_stable = true}}> {body} : ({', '.join(types)}) -> ({', '.join(types)})"
    )
    return Use(tuple(Operand(dtype, shape, -4, 4) for dtype in dtypes), text, tuple(types))


def select_and_scatter(rng: Rng) -> Use:
    """Any comparison and any combiner, windows that overlap and padding; the batch is dynamic."""
    dtype, size = _one(rng, "f32", "i32"), int(rng.integers(4, 9))
    window, stride, low, high = (int(rng.integers(*ends)) for ends in ((1, 4), (1, 4), (0, 2), (0, 2)))
    count = (size + low + high - window) // stride + 1
    t = f"tensor<{dtype}>"
    chosen = region(
        (dtype, dtype), [f"%c = stablehlo.compare {_one(rng, 'GE', 'LE', 'GT')}, %x0, %x1 : ({t}, {t}) -> tensor<i1>"],
        ["%c : tensor<i1>"],
    )  # fmt: skip
    x, source = tensor(dtype, (None, size)), tensor(dtype, (None, count))
    text = (
        f"{{r}}i = stablehlo.constant dense<{'0.0' if dtype == 'f32' else '0'}> : {t}\n  "
        f'{{r}} = "stablehlo.select_and_scatter"({{0}}, {{1}}, {{r}}i) <{{padding = {_pairs([(0, 0), (low, high)])}, '
        f"window_dimensions = {_list((1, window))}, window_strides = {_list((1, stride))}}}> {chosen}, "
        f"{region((dtype, dtype), [f'%y = stablehlo.add %x0, %x1 : {t}'], [f'%y : {t}'])} : ({x}, {source}, {t}) -> {x}"
    ).replace("}), ({", "}, {")
    return Use((Operand(dtype, (None, size)), Operand(dtype, (None, count))), text, (x,))


FAMILIES = {
    "convolution": convolution, "gather": gather, "scatter": scatter, "reduce_window": reduce_window,
    "reduce": reduce, "sort": sort, "select_and_scatter": select_and_scatter,
}  # fmt: skip


def uses(family: str, seed: int, count: int) -> Iterator[Use]:
    """Some uses of a family."""
    rng = np.random.default_rng([seed, *family.encode()])
    for _ in range(count):
        yield FAMILIES[family](rng)
