"""What the differential tester finds, and what it takes for wrong: errors put into random programs.

python -m benchmarks.check_rates --programs 500

A wrong run is what the compiled program (or XLA) gave, moved by what the error changes in the interpreter: so it has
the rounding of the one and the error of the other. Programs share a module, ten at a time, and each gets an error of
its own, in one op that it has.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from shlo_disc.check.comparing import Tolerance, compare
from shlo_disc.check.function_errors import CORRECTLY_ROUNDED, MEASURED
from shlo_disc.check.generate.programs import generate_at
from shlo_disc.check.running import BuildConfig, InProcess, Stop, program_of, standard_ways
from shlo_disc.check.sampling import DISTRIBUTIONS, draw_inputs, varied_points
from shlo_disc.check.significands import units
from shlo_disc.dynamic_ops.opdef import Arrays, RunBody
from shlo_disc.dynamic_ops.program import Op, Program, Tensor
from shlo_disc.dynamic_ops.reduce import ReduceAttrs
from shlo_disc.dynamic_ops.reference import by_definition, interpret
from shlo_disc.ir.core import Module
from shlo_disc.ir.dtypes import DType
from shlo_disc.options import CompileOptions
from shlo_disc.parse.parser import parse_module

Array: TypeAlias = NDArray[Any]
Evaluated: TypeAlias = Callable[[Op[Any], Arrays, RunBody], Arrays]

TOGETHER = 10
_LARGEST = 9  # size, as in `fuzz`
_FUNCTIONS = frozenset(MEASURED[DType.F32]) | {"atan2", "power"}
_ULPS = (5, 10, 20, 100)
_CONDITION = 4.0  # units in the last place by which a well-conditioned result moves if every op moves by one


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong implementation of some ops."""

    name: str
    concerns: Callable[[Op[Any]], bool]
    wrong: Evaluated
    least: float = 100.0  # units in the last place that it has to move a result by to count


def _inexact(ulps: int) -> Mistake:
    """A function of floats is so many units in the last place too large, in magnitude."""

    def wrong(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
        (y,) = by_definition(op, inputs, run)
        wide = y.astype(np.float64)
        moved = (wide + ulps * np.copysign(units(wide, y.dtype), wide)).astype(y.dtype)
        return (np.where(np.isfinite(wide), moved, y),)

    def concerns(op: Op[Any]) -> bool:
        return op.name in _FUNCTIONS and op.results[0].dtype in (DType.F32, DType.F64)

    return Mistake(f"{ulps} ulp in a function", concerns, wrong, least=ulps / 2)


def _swapped(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
    return by_definition(op, inputs[::-1], run)


def _shifted(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
    return tuple([np.roll(y, 1, axis=-1) if y.ndim else y for y in by_definition(op, inputs, run)])


def _without_last(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
    x, start, axis = inputs[0], inputs[1], op.attrs.dims[-1]
    if x.shape[axis] == 0:
        return by_definition(op, inputs, run)
    last = np.moveaxis(x.copy(), axis, -1)
    last[..., -1] = start
    return by_definition(op, (np.moveaxis(last, -1, axis), start), run)


def _padded_with_zero(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
    x, value = inputs
    return by_definition(op, (x, np.where(value == 0, np.ones_like(value), np.zeros_like(value))), run)


def _without_nan(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
    x, y = inputs
    right = by_definition(op, inputs, run)[0]
    return (np.where(np.isnan(x.astype(np.float64)), y, np.where(np.isnan(y.astype(np.float64)), x, right)),)


def _named(*names: str) -> Callable[[Op[Any]], bool]:
    return lambda op: op.name in names


def _floats(*names: str) -> Callable[[Op[Any]], bool]:
    return lambda op: op.name in names and op.results[0].dtype.is_float


def _is_reduction(op: Op[Any]) -> bool:
    return isinstance(op.attrs, ReduceAttrs) and len(op.results) == 1


MISTAKES = (
    *map(_inexact, _ULPS),
    Mistake("operands swapped", _named("subtract", "divide", "atan2", "remainder", "shift_left"), _swapped),
    Mistake("index off by one", _named("d_slice", "d_gather", "d_dynamic_slice", "d_transpose", "d_reverse"), _shifted),
    Mistake("last element of a reduction dropped", _is_reduction, _without_last),
    Mistake("wrong padding", _named("d_pad"), _padded_with_zero),
    Mistake("NaN dropped by maximum or minimum", _floats("maximum", "minimum"), _without_nan),
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a module of programs: what the interpreter and another way gave, and legal runs, drawn once."""

    program: Program
    inputs: tuple[Array, ...]
    right: Sequence[Array]
    found: Sequence[Array]
    samples: Callable[[int, range], Sequence[Array]]

    def differs(self, number: int, found: Array) -> bool:
        """Whether the tester takes one result for wrong."""

        def samples(_result: int, numbers: range) -> Sequence[Array]:
            return self.samples(number, numbers)

        return compare([found], [self.right[number]], samples, Tolerance(), frozenset()) is not None


def calls(module: Module, seed: int, ways: InProcess, way: str) -> Iterator[Call]:
    """The calls that `fuzz` would make of a module, those that run."""
    program = program_of(module)
    kinds = tuple(DISTRIBUTIONS)
    for number, point in enumerate(varied_points(program, 2, seed, _LARGEST)):
        inputs = draw_inputs(program, point, kinds[seed % len(kinds)], (seed, number, 0))
        right, found = ways.run("interpreter", module, inputs), ways.run(way, module, inputs)
        known = way == "xla" and ways.deviation(way, module, inputs)
        if isinstance(right, Stop) or isinstance(found, Stop) or known:
            continue

        @cache
        def samples(result: int, numbers: range, inputs: Sequence[Array] = inputs) -> Sequence[Array]:
            return ways.samples(way, module, inputs, result, numbers)

        yield Call(program, inputs, right, found, samples)


def programs_of(program: Program) -> list[tuple[list[int], list[Op[Any]]]]:
    """The results of each program in a module, and the ops that they depend on: what shares no argument."""
    producers = {x: op for op in program.body.ops for x in op.results}
    found = list[tuple[set[Tensor], list[int], dict[Op[Any], None]]]()
    for number, result in enumerate(program.returned):
        arguments, ops, waiting = set[Tensor](), dict[Op[Any], None](), [result]
        while waiting:
            tensor = waiting.pop()
            op = producers.get(tensor)
            if op is None:
                arguments.add(tensor)
            elif op not in ops:
                ops[op] = None
                waiting += [*op.operands, *(x for body in op.bodies for one in body.walk() for x in one.operands)]
        alike = [one for one in found if one[0] & arguments & set(program.body.arguments)]
        for one in alike:
            arguments, ops = arguments | one[0], one[2] | ops
        numbers = sorted([number, *[k for one in alike for k in one[1]]])
        found = [one for one in found if one not in alike] + [(arguments, numbers, ops)]
    return [(numbers, list(ops)) for _, numbers, ops in found]


def with_mistake(call: Call, mistake: Mistake, names: frozenset[str]) -> list[Array]:
    """Run the interpreter with a mistake in the ops whose first results have these names."""

    def evaluate(op: Op[Any], inputs: Arrays, run: RunBody) -> Arrays:
        chosen = op.results[0].name in names
        return mistake.wrong(op, inputs, run) if chosen else by_definition(op, inputs, run)

    return interpret(call.program, call.inputs, evaluate=evaluate)


def moved(found: Array, right: Array, wrong: Array) -> Array:
    """What was found, with the effect of a mistake."""
    if right.dtype.kind not in "fc" and right.dtype.kind != "V":
        return np.where(wrong != right, wrong, found)
    kind = np.complex128 if right.dtype.kind == "c" else np.float64
    a, b, c = (x.astype(kind) for x in (found, right, wrong))
    with np.errstate(all="ignore"):
        same = (b == c) | (np.isnan(b) & np.isnan(c))
        sum_ = np.where(np.isfinite(a) & np.isfinite(b) & np.isfinite(c), a + (c - b), c)
        return np.where(same, found, sum_.astype(right.dtype))


def distance(one: Array, other: Array) -> Array:
    """How far numbers are apart, in units in the last place; infinite where only one is a number."""
    if one.dtype.kind != "f":
        return np.where(one == other, 0.0, np.inf) if one.dtype.kind != "V" else distance(*_as_single(one, other))
    a, b = one.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        apart = abs(a - b) / units(a, one.dtype)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(same, 0.0, np.nan_to_num(apart, nan=np.inf))


def _as_single(one: Array, other: Array) -> tuple[Array, Array]:
    return one.astype(np.float32), other.astype(np.float32)


def conditioning(call: Call) -> list[Array]:
    """How far each element moves, in units in the last place, if every op rounds to a neighbour at random."""
    worst = [np.zeros(x.shape) for x in call.right]
    for seed in range(8):
        random = np.random.default_rng(seed)

        def evaluate(op: Op[Any], inputs: Arrays, run: RunBody, random: np.random.Generator = random) -> Arrays:
            results = by_definition(op, inputs, run)
            if op.name not in _FUNCTIONS | CORRECTLY_ROUNDED | {
                "d_reduce",
                "d_dot",
                "d_convolution",
                "d_reduce_window",
            }:
                return results
            return tuple([_beside(x, random) if x.dtype.kind == "f" else x for x in results])

        run = interpret(call.program, call.inputs, evaluate=evaluate)
        pairs = zip(worst, run, call.right, strict=True)
        worst = [np.maximum(w, distance(right, x)) for w, x, right in pairs]
    return worst


def _beside(x: Array, random: np.random.Generator) -> Array:
    wide = x.astype(np.float64)
    near = wide + random.choice([-1.0, 1.0], x.shape) * units(wide, x.dtype)
    return np.where(np.isfinite(wide) & (wide != 0), near.astype(x.dtype), x)


@dataclass(slots=True)
class Count:
    """Programs in which a mistake shows, those of them that are well conditioned, and how many are found of both."""

    shown: int = 0
    found: int = 0
    steady: int = 0
    steady_found: int = 0

    def row(self, name: str) -> str:
        """One line of the table."""
        cells = [_share(self.found, self.shown), _share(self.steady_found, self.steady)]
        return f"| {name} | {self.shown} | {cells[0]} | {self.steady} | {cells[1]} |"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else "-"


def count_found(every: Sequence[Call], random: Random, counts: Mapping[str, Count]) -> None:
    """Put each mistake into each program of a module that has a place for it, and count what is found."""
    programs = programs_of(every[0].program)
    conditions = [conditioning(call) for call in every]
    for mistake in MISTAKES:
        places = [[op for op in ops if mistake.concerns(op)] for _, ops in programs]
        chosen = frozenset(random.choice(ops).results[0].name for ops in places if ops)
        wrong = [with_mistake(call, mistake, chosen) for call in every]
        for numbers, ops in programs:
            shown = found = steady = False
            for call, results, condition in zip(every, wrong, conditions, strict=True):
                for k in numbers:
                    far = distance(call.right[k], results[k])
                    if (far < mistake.least).all():
                        continue
                    shown = True
                    steady |= bool(((far >= mistake.least) & (condition[k] <= _CONDITION)).any())
                    found |= call.differs(k, moved(call.found[k], call.right[k], results[k]))
            counts[mistake.name].shown += shown
            counts[mistake.name].found += found
            counts[mistake.name].steady += steady
            counts[mistake.name].steady_found += steady and found
            if steady and not found:
                places_ = ", ".join(f"{op.name} at {op.span.where()}" for op in ops if op.results[0].name in chosen)
                print(f"missed: {mistake.name} in {places_}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--xla", action="store_true", help="count XLA's false alarms too")
    options = parser.parse_args()
    ways = InProcess(standard_ways(BuildConfig(CompileOptions(optimize=0)), fast_xla=True))
    counts = {mistake.name: Count() for mistake in MISTAKES}
    alarms = dict[str, int]()
    for seed in range(options.seed, options.seed + -(-options.programs // TOGETHER)):
        module = parse_module(generate_at(seed, TOGETHER), f"<programs of seed {seed}>")
        for way in ("compiled", "xla") if options.xla else ("compiled",):
            every = list(calls(module, seed, ways, way))
            for call in every:
                wrong = [k for k in range(len(call.right)) if call.differs(k, call.found[k])]
                alarms[way] = alarms.get(way, 0) + len(wrong)
                if wrong:
                    print(f"seed {seed}: {way} differs in results {wrong}", flush=True)
            if every and way == "compiled":
                count_found(every, Random(seed), counts)
    print("| mistake | programs where it shows | found | of these well conditioned | found |\n|---|---|---|---|---|")
    for name, count in counts.items():
        print(count.row(name))
    print("alarms without a mistake:", ", ".join(f"{way}: {number}" for way, number in alarms.items()))


if __name__ == "__main__":
    main()
