"""Selection of a product's schedule by the sizes of a call: a formula of the host program, and a table in the kernel.

The formula computes the number of a candidate. It is a size of the program like any other: evaluated once for each
signature, from the same formula in C++ and in Python, so that no launch pays for it, and both drivers choose alike.
If one size of the product is dynamic, it is a sum of steps, `min(1, m // 7)` for "from 7 rows on". If several are, it
is the argmin of the candidates' costs, each of which has its number in the last digits. If none is, it is a constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.expr.dim import Dim, const, maximum, minimum, product
from shlo_disc.host_ir import Selection
from shlo_disc.kernels.kernel import DotKernel, Panel
from shlo_disc.lower_cpu.products.multiplication import Multiplication
from shlo_disc.schedules.candidates import Candidate, MicroKernel, blocks, candidates
from shlo_disc.schedules.model import LARGEST, MOST_PRODUCTS, Rates, Shape, cost, fewest_runs
from shlo_disc.schedules.tables import Scheduling, TunedProduct

TOLERANCE = 0.04  # candidates this close count as equal: rates are no more precise
Runs: TypeAlias = Sequence[tuple[int, Candidate]]
RatesOf: TypeAlias = tuple[tuple[MicroKernel, Rates], ...]
Name: TypeAlias = Callable[[Dim], Dim]
Fixed: TypeAlias = tuple[int | None, ...]  # m, n, k and the batch; None if dynamic
_VARYING = "?"  # stands for a dynamic size


def select(kernel: DotKernel, kind: Multiplication, scheduling: Scheduling, name: Name) -> Selection[Dim]:
    """The schedules of a product by its sizes; no candidates, if the prelude chooses. `name`: a formula's symbol."""
    schedules, threads = scheduling.schedules, scheduling.threads
    shape = Shape(kernel.row.extent, kernel.column.extent, kernel.depth, product(axis.extent for axis in kernel.batch))
    title = product_name(kind.name, shape)
    rates = _usable(kernel, schedules.costs.rates(kind.name))
    if not rates:
        why = f"the prelude chooses: no costs are known of {kind.name}"
        return Selection(title, shape.m, shape.n, shape.k, shape.batch, (), (), const(0), threads, why)
    counts = (shape.m, shape.n, shape.k, shape.batch if threads > 1 else const(1))
    fixed = tuple(count.constant for count in counts)
    tuned = schedules.find(title)
    how = "measured for this product" if tuned else f"by the model; costs are {schedules.costs.text}"
    if fixed.count(None) > 1:
        found, number = _by_costs(rates, Shape(*counts), threads, name)
    else:
        varying = next((count for count in counts if count.constant is None), const(0))
        found, number = _by_steps(_runs(rates, fixed, threads, tuned), varying)
    by_kernel = _with_tuned(rates, tuned)
    taken = tuple(by_kernel[one.kernel] for one in found)
    return Selection(title, shape.m, shape.n, shape.k, shape.batch, found, taken, name(number), threads, how)


def block_of(chosen: Selection[Dim]) -> tuple[Dim, Dim]:
    """Rows and columns of a block of the result, under the selected candidate."""
    rows, columns = [one.rows for one in chosen.candidates], [one.columns for one in chosen.candidates]
    return _tabulated(chosen.number, rows), _tabulated(chosen.number, columns)


def product_name(kind: str, shape: Shape) -> str:
    """The name of a product, independent of the sizes of a call.

    >>> product_name("f32", Shape(const(7), const(5), const(3), const(1)))
    'f32 7 x 5 x 3'
    """
    texts = [_VARYING if size.constant is None else str(size) for size in (shape.m, shape.n, shape.k)]
    batch = "" if shape.batch.constant == 1 else f" in batches of {shape.batch.constant or _VARYING}"
    return f"{kind} {' x '.join(texts)}{batch}"


def _usable(kernel: DotKernel, rates: Mapping[MicroKernel, Rates]) -> RatesOf:
    """The micro-kernels that read B in its layout: where its columns are not adjacent, the prelude's own choice."""
    if isinstance(kernel.b, Panel) or kernel.b.column_stride.constant == 1:
        return tuple(rates.items())
    return tuple((MicroKernel("own", one.tile_rows), found) for one, found in rates.items() if one.form == "tiles")


@lru_cache(maxsize=1024)
def _runs(rates: RatesOf, fixed: Fixed, threads: int, tuned: TunedProduct | None) -> Runs:
    """The cheapest candidates over the range of the dynamic size; if none is dynamic, at that one point."""
    along = np.maximum(np.arange(LARGEST + 1), 1) if None in fixed else np.zeros(1, np.int64)
    shape, by_kernel = _shape(fixed, along), _with_tuned(rates, tuned)
    tried = candidates(tuple(by_kernel), threads)
    factors = _corrections(by_kernel, fixed, tuned, along)
    costs = list[NDArray[np.float64]]()
    for one in tried:
        found = np.broadcast_to(cost(one, by_kernel[one.kernel], shape, threads, np.maximum), along.shape)
        costs.append(found * factors.get(one.kernel, 1.0))
    return tuple((first, tried[row]) for first, row in fewest_runs(np.stack(costs), TOLERANCE))


def _with_tuned(rates: RatesOf, tuned: TunedProduct | None) -> Mapping[MicroKernel, Rates]:
    """The rates of micro-kernels; those that only tuning tries have the rates of their form, to be corrected."""
    found, by_form = dict(rates), {kernel.form: each for kernel, each in rates}
    for kernel, _ in tuned.times if tuned else ():
        if kernel.form in by_form:
            found.setdefault(kernel, by_form[kernel.form])
    return found


def _shape(fixed: Fixed, along: NDArray[np.int64]) -> Shape:
    """The sizes, with `along` for the dynamic one, and the others clamped to the range that choices depend on."""
    limits = (LARGEST, LARGEST, LARGEST, MOST_PRODUCTS)
    return Shape(*(along if size is None else min(size, most) for size, most in zip(fixed, limits, strict=True)))


def _corrections(
    by_kernel: Mapping[MicroKernel, Rates], fixed: Fixed, tuned: TunedProduct | None, along: NDArray[np.int64]
) -> Mapping[MicroKernel, NDArray[np.float64]]:
    """Factors for the modelled costs of each micro-kernel, interpolated from measurements at some counts."""
    found = dict[MicroKernel, NDArray[np.float64]]()
    if tuned is None:
        return found
    counts = np.array(tuned.counts)
    shape, whole = _shape((*fixed[:3], 1), counts), blocks(1)[0]
    for kernel, times in tuned.times:
        if kernel in by_kernel:
            modelled = cost(Candidate(kernel, *whole), by_kernel[kernel], shape, 1, np.maximum)
            found[kernel] = np.interp(along, counts, np.array(times) / np.maximum(modelled, 1))
    return found


def _by_steps(runs: Runs, varying: Dim) -> tuple[tuple[Candidate, ...], Dim]:
    """The distinct candidates of runs, and the number of the one whose run contains a count.

    >>> from shlo_disc.schedules.candidates import parse_candidate
    >>> from shlo_disc.expr.dim import symbol
    >>> few, many = map(parse_candidate, ("stream 12, 192x256", "tiles 6, 192x256"))
    >>> _by_steps([(0, few), (100, many)], symbol("m"))[1]
    min(m // 100, 1)
    """
    found = tuple(dict.fromkeys(candidate for _, candidate in runs))
    numbers = [(first, found.index(candidate)) for first, candidate in runs]
    number = const(numbers[0][1])
    for (_, before), (first, after) in pairwise(numbers):
        number += _reached(varying, first) * (after - before)
    return found, number


def _by_costs(rates: RatesOf, shape: Shape, threads: int, name: Name) -> tuple[tuple[Candidate, ...], Dim]:
    """Candidates, and the number of the cheapest one: the last digit, in base `len(found)`, of the least cost."""
    by_kernel = dict(rates)
    found = candidates(_useful(rates), threads)
    if len(found) == 1:
        return found, const(0)
    limits = (LARGEST, LARGEST, LARGEST, MOST_PRODUCTS)
    sizes = (shape.m, shape.n, shape.k, shape.batch)
    few = Shape(*(name(minimum(size, limit)) for size, limit in zip(sizes, limits, strict=True)))
    costs = [cost(one, by_kernel[one.kernel], few, threads, maximum, name) for one in found]
    return found, minimum(*(name(each) * len(found) + k for k, each in enumerate(costs))) % len(found)


@lru_cache(maxsize=16)
def _useful(rates: RatesOf) -> tuple[MicroKernel, ...]:
    """The micro-kernels that are the best ones at some sizes."""
    ((rows, columns),) = blocks(1)
    m, n, k = (size.reshape(-1) for size in np.meshgrid(*[1 << np.arange(13)] * 3))
    shape = Shape(m, n, k)
    costs = [cost(Candidate(kernel, rows, columns), found, shape, 1, np.maximum) for kernel, found in rates]
    best = set(np.stack(costs).argmin(axis=0).tolist())
    return tuple(kernel for number, (kernel, _) in enumerate(rates) if number in best)


def _tabulated(number: Dim, values: Sequence[int]) -> Dim:
    """The formula of `values[number]`.

    >>> from shlo_disc.expr.dim import symbol
    >>> _tabulated(symbol("c"), [192, 192, 48])
    -144*min(c // 2, 1) + 192
    """
    result = const(values[0])
    for position, (before, after) in enumerate(pairwise(values), start=1):
        result += _reached(number, position) * (after - before)
    return result


def _reached(count: Dim, first: int) -> Dim:
    """1 if `count` is at least `first`, else 0."""
    return minimum(count // first, 1)
