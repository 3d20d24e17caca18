"""Tuning: measure the micro-kernels of this CPU, and the products of one program, as the basis of schedules.

`compile` never measures. It uses the best available data: measured here, shipped with the package, or a guess.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from shlo_disc.artifact import Artifact
from shlo_disc.diagnostics import RuntimeShapeError, ShloDiscError, whole_numbers
from shlo_disc.host_ir import Selection
from shlo_disc.options import CompileOptions
from shlo_disc.pipeline import compile_program, read_source
from shlo_disc.progress import Bar
from shlo_disc.records import record
from shlo_disc.runtime.building.build import Builder
from shlo_disc.runtime.building.cache import open_cache
from shlo_disc.runtime.building.machines import cpu_title
from shlo_disc.runtime.building.toolchain import find_compiler
from shlo_disc.runtime.cpu.product_timing import KINDS, Sizes, Stand, TimedCandidate, learn, time_trials
from shlo_disc.runtime.cpu.schedules import find_schedules, hardware, store_costs, store_tuned
from shlo_disc.runtime.dispatch import selections, shape_of
from shlo_disc.runtime.peak import symbols_at
from shlo_disc.schedules.candidates import MICRO_KERNELS, Candidate, MicroKernel, blocks, variants
from shlo_disc.schedules.model import UNIT
from shlo_disc.schedules.tables import CostTable, Schedules, TunedProduct

MOST_COUNTS = 24  # most counts of a product to measure; between them the model is corrected as at their neighbours
_MOST_POINTS = 1 << 14  # most combinations of all dims
_ROUNDS = 7


def tune(
    program: Any = None,
    *,
    dims: Mapping[str, Iterable[int]] | None = None,
    weights: Mapping[str, Iterable[float]] | Iterable[float] | None = None,
    options: CompileOptions | None = None,
) -> Schedules:
    """Measure products, and keep the result in the cache, where `compile` finds it.

    Args:
        program: any program that `compile` accepts. None measures only the micro-kernels of this CPU, in some seconds.
        dims: values of the program's sizes, `{"s": range(1, 129)}`. Each product is measured at up to 24 of the counts
            that they lead to, chosen by weight.
        weights: how often the values of a dim occur, `{"s": histogram}`, or for a single dim, `histogram`.
        options: those with which the program is compiled.

    Returns:
        The measurements, for `CompileOptions(schedules=...)`; `to_json` and `parse_schedules` transfer them to other
        machines of the same kind.

    Raises:
        ShloDiscError: the program does not have these dims, values or weights are invalid, or every call with these
            values would be refused.
        ToolchainError: no C++ compiler.
    """
    options = options or CompileOptions()
    if program is None and (dims or weights is not None):
        raise ShloDiscError("found dims or weights without a program, expected a program that has them")
    points = _weighed(dims or {}, weights)
    builder = Builder(
        find_compiler(options.compiler, options.compiler_seconds), options.optimize, open_cache(options.cache_dir)
    )
    with Bar() as bar:
        if program is None:
            return Schedules(_measure_costs(builder, options, bar))
        text = read_source(program, "cpu", isolate=options.isolate_reader)[0]
        known = options.schedules or find_schedules(builder.cache, builder.compiler, options, text)
        if known.costs.origin != "measured":
            known = replace(known, costs=_measure_costs(builder, options, bar))
        plain = replace(options, schedules=Schedules(known.costs))
        artifact = compile_program(program, device="cpu", options=plain).executable.artifact
        found = tuple(_tuned(one, builder, bar) for one in _products(artifact, points))
    store_tuned(builder.cache, builder.compiler, options, text, found)
    return Schedules(known.costs, found)


def _measure_costs(builder: Builder, options: CompileOptions, bar: Bar) -> CostTable:
    """Measure the rates of all micro-kernels, and keep them in the cache for all programs."""
    has = hardware()
    kernels, kinds = MICRO_KERNELS, list[tuple[str, tuple[tuple[MicroKernel, Any], ...]]]()
    for kind, size in KINDS.items():
        stand = Stand(builder, kind)
        rates = learn(stand, kernels, has.l2 // size, lambda done, total, kind=kind: bar.show(kind, done, total))
        kinds.append((kind, tuple(rates)))
    costs = CostTable(cpu_title(), "measured", tuple(kinds))
    store_costs(builder.cache, builder.compiler, options, costs)
    return costs


@record
class _Product:
    """A product of a program of which one size varies: its name, micro-kernels, and sizes by that count."""

    name: str
    kernels: tuple[MicroKernel, ...]
    sizes: Mapping[int, Sizes]


def _weighed(
    dims: Mapping[str, Iterable[int]], weights: Mapping[str, Iterable[float]] | Iterable[float] | None
) -> list[tuple[Mapping[str, int], float]]:
    """All combinations of values, with their weights."""
    if not isinstance(cast("object", dims), Mapping):
        raise ShloDiscError(f'found dims {dims!r}, expected values by name such as {{"s": range(1, 129)}}')
    values = {name: _values(name, found) for name, found in dims.items()}
    if weights is None or isinstance(weights, Mapping):
        named = cast("Mapping[str, Iterable[float]]", weights or {})
    elif len(values) == 1:
        named = dict.fromkeys(values, weights)
    else:
        raise ShloDiscError(f"found one list of weights for {len(values)} dims, expected a list for each by name")
    for name in named:
        if name not in values:
            raise ShloDiscError(f"found weights of {name}, expected weights of {', '.join(values) or 'none'}")
    if math.prod(map(len, values.values())) > _MOST_POINTS:
        raise ShloDiscError(f"found more than {_MOST_POINTS} combinations of dims, expected fewer")
    shares = [_shares(name, named.get(name), len(found)) for name, found in values.items()]
    found = zip(itertools.product(*values.values()), itertools.product(*shares), strict=True)
    return [(dict(zip(values, point, strict=True)), math.prod(share)) for point, share in found]


def _values(name: str, given: Iterable[int]) -> tuple[int, ...]:
    """The values of a dim. Raises `ShloDiscError` if there are none, or one is not a whole number from 0 on."""
    found = whole_numbers(given, f"dim {name}")
    if not found or min(found) < 0:
        what = f"{min(found)} as a value" if found else "no value"
        raise ShloDiscError(f"found {what} of {name}, expected whole numbers from 0 on such as range(1, 129)")
    return found


def _shares(name: str, given: Iterable[float] | None, count: int) -> list[float]:
    """The weight of each value of a dim: 1 if none are given."""
    if given is None:
        return [1.0] * count
    try:
        shares = [float(share) for share in given]
    except (TypeError, ValueError):
        raise ShloDiscError(f"found weights of {name} {given!r}, expected {count} numbers") from None
    if len(shares) != count:
        raise ShloDiscError(f"found {len(shares)} weights of {name}, expected {count}")
    if not all(0 <= share < math.inf for share in shares) or not any(shares):
        raise ShloDiscError(f"found weights of {name} {shares}, expected numbers from 0 on that are not all 0")
    return shares


def _products(artifact: Artifact, points: Sequence[tuple[Mapping[str, int], float]]) -> list[_Product]:
    """The products of which one size varies, with the counts to measure."""
    weights, sizes = dict[str, dict[int, float]](), dict[str, dict[int, Sizes]]()
    refused = list[RuntimeShapeError]()
    known = [
        (part, one, axis) for part in artifact.parts for one in selections(part) if (axis := _varying(one)) is not None
    ]
    for point, share in points:
        for part, one, axis in known:
            try:
                shape = shape_of(one, symbols_at(part, point))
            except RuntimeShapeError as error:
                refused.append(error)
                continue
            found = (shape.m, shape.n, shape.k)
            if min(found) > 0 and share > 0:
                shares = weights.setdefault(one.product, {})
                shares[found[axis]] = shares.get(found[axis], 0.0) + share
                sizes.setdefault(one.product, {})[found[axis]] = found
    if known and len(refused) == len(points) * len(known):
        raise refused[0]
    kernels = tuple(variant for kernel in MICRO_KERNELS for variant in variants(kernel))
    return [
        _Product(name, kernels, {count: sizes[name][count] for count in _spread(found)})
        for name, found in weights.items()
    ]


def _varying(selection: Selection) -> int | None:
    """Which of m, n and k varies, if exactly one does and there are micro-kernels to choose from."""
    is_own = not selection.candidates or any(one.kernel.form == "own" for one in selection.candidates)
    varying = [k for k, size in enumerate((selection.m, selection.n, selection.k)) if not isinstance(size, int)]
    if is_own or len(varying) != 1 or selection.product.partition(" ")[0] not in KINDS:
        return None
    return varying[0]


def _spread(weights: Mapping[int, float]) -> list[int]:
    """At most `MOST_COUNTS` counts: the least and the largest, and those at equal quantiles of the weight.

    >>> _spread({1: 1.0, 5: 2.0})
    [1, 5]
    """
    counts = sorted(weights)
    if len(counts) <= MOST_COUNTS:
        return counts
    total, reached, found = sum(weights.values()), 0.0, {counts[0], counts[-1]}
    for count in counts:
        before, reached = reached, reached + weights[count]
        if int(before / total * (MOST_COUNTS - 2)) != int(reached / total * (MOST_COUNTS - 2)):
            found.add(count)
    return sorted(found)


def _tuned(product: _Product, builder: Builder, bar: Bar) -> TunedProduct:
    """Time each micro-kernel at each count, on one core."""
    stand = Stand(builder, product.name.partition(" ")[0])
    tried = [
        TimedCandidate(Candidate(kernel, *blocks(1)[0]), size)
        for kernel in product.kernels
        for size in product.sizes.values()
    ]
    seconds = time_trials(stand, tried, _ROUNDS, lambda done, total: bar.show(product.name, done, total))
    units = [round(one * 1e9 / UNIT) for one in seconds]
    length = len(product.sizes)
    times = tuple((kernel, tuple(units[k * length : (k + 1) * length])) for k, kernel in enumerate(product.kernels))
    return TunedProduct(product.name, tuple(product.sizes), times)
