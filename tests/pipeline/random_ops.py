"""Random uses of ops with many attributes, valid by the specification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tests.pipeline.random_uses import (
    Operand,
    Rng,
    Size,
    Use,
    binary,
    listed,
    one_of,
    paired,
    region,
    spelled,
    tensor,
    windows,
)

# --- convolution


def convolution(rng: Rng) -> Use:
    """Any rank, groups, dilations, reversal and padding; the batch is dynamic, or a spatial dim is."""
    rank = int(rng.integers(0, 4))
    dtype = one_of(rng, "f32", "f32", "f16", "i32", "f64", "complex<f32>")
    feature_groups, batch_groups = one_of(rng, (1, 1), (2, 1), (3, 1), (1, 2)) if rank else (1, 1)
    batch: Size = None if batch_groups == 1 else 2 * batch_groups
    dynamic = int(rng.integers(rank)) if rank and (batch is not None or rng.random() < 0.4) else None
    if dynamic is not None and batch is None:
        batch = 3
    each, out = int(rng.integers(1, 4)), int(rng.integers(1, 4)) * feature_groups * batch_groups
    window = [int(rng.integers(1, 4)) for _ in range(rank)]
    stride, spread, dilation = ([int(one_of(rng, 1, 1, 2, 3)) for _ in range(rank)] for _ in range(3))
    padding = [(int(rng.integers(-1, 4)), int(rng.integers(-1, 4))) for _ in range(rank)]
    spatial: list[Size] = [None if k == dynamic else int(rng.integers(3, 8)) for k in range(rank)]
    reversal = [bool(rng.random() < 0.3) for _ in range(rank)]
    sizes = windows(spatial, spread, padding, window, dilation, stride)
    orders = [[int(x) for x in rng.permutation(rank + 2)] for _ in range(3)]
    letters = [[*"bf", *range(rank)], [*"io", *range(rank)], [*"bf", *range(rank)]]
    shapes = [
        [batch, each * feature_groups, *spatial],
        [each, out, *window],
        [None if batch is None else batch // batch_groups, out, *sizes],
    ]
    texts = ["[" + ", ".join(str(names[k]) for k in order) + "]" for names, order in zip(letters, orders, strict=True)]
    x, kernel, result = (tuple(shape[k] for k in order) for shape, order in zip(shapes, orders, strict=True))
    flags = ", ".join("true" if one else "false" for one in reversal)
    text = (
        f'{{r}} = "stablehlo.convolution"({{0}}, {{1}}) <{{batch_group_count = {batch_groups} : i64, '
        f"dimension_numbers = #stablehlo.conv<{texts[0]}x{texts[1]}->{texts[2]}>, "
        f"feature_group_count = {feature_groups} : i64, lhs_dilation = {spelled(spread)}, "
        f"padding = {paired(padding) if rank else 'dense<> : tensor<0x2xi64>'}, rhs_dilation = {spelled(dilation)}, "
        f"window_reversal = array<i1{': ' if rank else ''}{flags}>, window_strides = {spelled(stride)}}}> : "
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
    dtype = one_of(rng, *INDICES)
    extremes = rng.random() < 0.3
    indices = Operand(dtype, shape, *((-(2**63), 2**63 - 1) if extremes else (-3, 8)))
    batched = tuple(k + (k >= vector and not is_scalar) for k in at)
    return _Places(
        tuple(operand), batching, batched, collapsed, mapped, indices, vector, tuple(window), offsets, result
    )


def gather(rng: Rng) -> Use:
    """Batching dims, any place of the index vector, any type of index, out of range or not."""
    at, dtype = _places(rng), one_of(rng, "f32", "i8", "i1", "i64", "complex<f32>")
    numbers = (
        f"#stablehlo.gather<offset_dims = {listed(at.offsets)}, collapsed_slice_dims = {listed(at.collapsed)}, "
        f"operand_batching_dims = {listed(at.batching)}, start_indices_batching_dims = {listed(at.indices_batching)}, "
        f"start_index_map = {listed(at.mapped)}, index_vector_dim = {at.vector}>"
    )
    result = tensor(dtype, at.result)
    text = (
        f'{{r}} = "stablehlo.gather"({{0}}, {{1}}) <{{dimension_numbers = {numbers}, '
        f"slice_sizes = {spelled(at.window)}, indices_are_sorted = false}}> : "
        f"({tensor(dtype, at.operand)}, {at.indices.text}) -> {result}"
    )
    return Use((Operand(dtype, at.operand), at.indices), text, (result,))


def scatter(rng: Rng) -> Use:
    """One or two operands; combiners that do not commute meet an index several times, in order."""
    at, count = _places(rng), int(rng.integers(1, 3))
    dtypes = [one_of(rng, "f32", "i32", "ui8", "f64"), one_of(rng, "i32", "ui8", "i64")][:count]  # XLA mixes no floats
    numbers = (
        f"#stablehlo.scatter<update_window_dims = {listed(at.offsets)}, inserted_window_dims = {listed(at.collapsed)}, "
        f"input_batching_dims = {listed(at.batching)}, "
        f"scatter_indices_batching_dims = {listed(at.indices_batching)}, "
        f"scatter_dims_to_operand_dims = {listed(at.mapped)}, index_vector_dim = {at.vector}>"
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


def dynamic_slice(rng: Rng) -> Use:
    """A slice read or written at starts of any type, out of range or not."""
    rank, dtype, index = int(rng.integers(1, 4)), one_of(rng, "f32", "i8", "i1", "complex<f32>"), one_of(rng, *INDICES)
    dynamic, written = int(rng.integers(rank)), bool(rng.random() < 0.5)
    shape: tuple[Size, ...] = tuple(None if k == dynamic else int(rng.integers(1, 7)) for k in range(rank))
    sizes = tuple(1 if n is None else int(rng.integers(1, n + 1)) for n in shape)
    extremes = rng.random() < 0.4
    starts = [Operand(index, (), *((-(2**63), 2**63 - 1) if extremes else (-3, 8))) for _ in range(rank)]
    x, part = Operand(dtype, shape), Operand(dtype, sizes)
    everything = (x, part, *starts) if written else (x, *starts)
    names = ", ".join(f"{{{k}}}" for k in range(len(everything)))
    result = x if written else part
    name = "dynamic_update_slice" if written else "dynamic_slice"
    attributes = "" if written else f" <{{slice_sizes = {spelled(sizes)}}}>"
    types = ", ".join(one.text for one in everything)
    return Use(
        everything, f'{{r}} = "stablehlo.{name}"({names}){attributes} : ({types}) -> {result.text}', (result.text,)
    )


# --- windows and reductions


def reduce_window(rng: Rng) -> Use:
    """Base and window dilations, strides, padding below 0; neutral initial values, as padding takes them often."""
    rank = int(rng.integers(1, 4))
    dtype, name, init = one_of(
        rng, ("f32", "add", "0.0"), ("i32", "add", "0"), ("f32", "maximum", "0xFF800000"), ("i32", "multiply", "1"),
        ("ui8", "maximum", "0"), ("f64", "minimum", "0x7FF0000000000000"),
    )  # fmt: skip
    dynamic = int(rng.integers(rank))
    shape: list[Size] = [None if k == dynamic else int(rng.integers(2, 6)) for k in range(rank)]
    window = [int(rng.integers(1, 4)) for _ in range(rank)]
    stride, base, dilation = ([int(one_of(rng, 1, 1, 2, 3)) for _ in range(rank)] for _ in range(3))
    padding = [(int(rng.integers(-1, 3)), int(rng.integers(-1, 3))) for _ in range(rank)]
    sizes = windows(shape, base, padding, window, dilation, stride)
    t, result = f"tensor<{dtype}>", tensor(dtype, sizes)
    body = region((dtype, dtype), [f"%y = stablehlo.{name} %x0, %x1 : {t}"], [f"%y : {t}"])
    text = (
        f"{{r}}i = stablehlo.constant dense<{init}> : {t}\n  "
        f'{{r}} = "stablehlo.reduce_window"({{0}}, {{r}}i) <{{base_dilations = {spelled(base)}, '
        f"padding = {paired(padding)}, window_dilations = {spelled(dilation)}, window_dimensions = {spelled(window)}, "
        f"window_strides = {spelled(stride)}}}> {body} : ({tensor(dtype, shape)}, {t}) -> {result}"
    )
    return Use((Operand(dtype, tuple(shape)),), text, (result,))


def reduce(rng: Rng) -> Use:
    """Two operands of two types, and a region that mixes them: the largest and where it is, of equals the first."""
    rank = int(rng.integers(1, 4))
    dynamic = int(rng.integers(rank))
    shape: tuple[Size, ...] = tuple(None if k == dynamic else int(rng.integers(1, 6)) for k in range(rank))
    dims = sorted(int(x) for x in rng.permutation(rank)[: int(rng.integers(1, rank + 1))])
    value, number = one_of(rng, "f32", "i32", "f64"), one_of(rng, "i32", "i64")
    a, b = f"tensor<{value}>", f"tensor<{number}>"
    compared = (("g", "GT", "%x2, %x0", a), ("e", "EQ", "%x2, %x0", a), ("s", "LT", "%x3, %x1", b))
    body = [
        *(f"%{name} = stablehlo.compare {how}, {of} : ({t}, {t}) -> tensor<i1>" for name, how, of, t in compared),
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
        f'{{r}}:2 = "stablehlo.reduce"({{0}}, {{1}}, {{r}}i, {{r}}j) <{{dimensions = {spelled(dims)}}}> '
        f"{region((value, number, value, number), body, [f'%p, %q : {a}, {b}'])} : "
        f"({tensor(value, shape)}, {tensor(number, shape)}, {a}, {b}) -> ({', '.join(results)})"
    )
    return Use((Operand(value, shape), Operand(number, shape)), text, results)


def sort(rng: Rng) -> Use:
    """Several operands along any dim, stable, by orders that are not total."""
    rank, count = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    dim, dynamic = (int(rng.integers(rank)) for _ in range(2))
    shape: tuple[Size, ...] = tuple(None if k == dynamic else int(rng.integers(1, 9)) for k in range(rank))
    dtypes = [one_of(rng, "i32", "ui8", "f32", "i64", "f16") for _ in range(count)]
    key = f"tensor<{dtypes[0]}>"
    order = one_of(rng, "by value", "down", "by absolute value", "not at all")
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
    dtype, size = one_of(rng, "f32", "i32"), int(rng.integers(4, 9))
    window, stride, low, high = (int(rng.integers(*ends)) for ends in ((1, 4), (1, 4), (0, 2), (0, 2)))
    count = (size + low + high - window) // stride + 1
    t = f"tensor<{dtype}>"
    chosen = region(
        (dtype, dtype),
        [f"%c = stablehlo.compare {one_of(rng, 'GE', 'LE', 'GT')}, %x0, %x1 : ({t}, {t}) -> tensor<i1>"],
        ["%c : tensor<i1>"],
    )
    x, source = tensor(dtype, (None, size)), tensor(dtype, (None, count))
    text = (
        f"{{r}}i = stablehlo.constant dense<{'0.0' if dtype == 'f32' else '0'}> : {t}\n  "
        f'{{r}} = "stablehlo.select_and_scatter"({{0}}, {{1}}, {{r}}i) <{{padding = {paired([(0, 0), (low, high)])}, '
        f"window_dimensions = {spelled((1, window))}, window_strides = {spelled((1, stride))}}}> {chosen}, "
        f"{region((dtype, dtype), [f'%y = stablehlo.add %x0, %x1 : {t}'], [f'%y : {t}'])} : ({x}, {source}, {t}) -> {x}"
    ).replace("}), ({", "}, {")
    return Use((Operand(dtype, (None, size)), Operand(dtype, (None, count))), text, (x,))


FAMILIES = {
    "convolution": convolution, "gather": gather, "scatter": scatter, "dynamic_slice": dynamic_slice,
    "reduce_window": reduce_window,
    "reduce": reduce, "sort": sort, "select_and_scatter": select_and_scatter,
}  # fmt: skip


def uses(family: str, seed: int, count: int) -> Iterator[Use]:
    """Some uses of a family."""
    rng = np.random.default_rng([seed, *family.encode()])
    for _ in range(count):
        yield FAMILIES[family](rng)
