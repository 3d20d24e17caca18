"""Which comparisons of sizes the compiler leaves open though they hold, and whether SymPy could prove those.

    python -m benchmarks.open_questions [PROGRAM ...] [--corpus FOLDER] [--json FILE]

For the models of the corpus, its dynamic cases, and the programs of `tests/soundness/written.py`: planning and both
targets' texts are watched from legalization on, so that what checks teach is known. A question is `size >= 0` under
certain facts, asked of the prover and not proven. It holds if it does at 50 random points, at 50 of distinct sizes, and
at those made a thousand or more times as large where the program allows it; with four random values of the indices in
scope each. Of those that hold SymPy is asked, with the bounds that symbols have: the sign of the expression, and with
one free symbol the inequality solved for it.
"""

# SymPy is untyped.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# pyright: reportMissingTypeStubs=false

from __future__ import annotations

import argparse
import json
import signal
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

import sympy
from rich.console import Console
from rich.progress import track
from rich.table import Table

from shlo_disc.analysis.formula import producers_of
from shlo_disc.analysis.sizes import Point, free_symbols, likely_points, point_of, random_points
from shlo_disc.diagnostics import UnsupportedOpError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.expr.prover import Assumptions, Prover
from shlo_disc.expr.sympy_bridge import to_sympy
from shlo_disc.fusion.planners import FUSIONS
from shlo_disc.host.plan import plan_host
from shlo_disc.kernels.groups import Context
from shlo_disc.legalize.legalize import legalize
from shlo_disc.lower_cpu.kernels import CpuLowering
from shlo_disc.lower_cuda.kernels import CudaLowering
from shlo_disc.parse.parser import parse_module
from shlo_disc.passes import PASSES
from tests.corpus.judged import dynamic_cases
from tests.models.recorded import MODELS
from tests.soundness.completeness import POINTS, telling_points
from tests.soundness.programs import text_of
from tests.soundness.written import WRITTEN

INDICES = 4  # values of the loops' indices per point
FAR = (1, 1_000, 100_000)
SECONDS = 10  # that SymPy gets for one question


@dataclass(frozen=True, slots=True)
class Question:
    """`size >= 0`, not proven from `given`."""

    given: Assumptions
    size: Dim

    def values(self, points: Iterable[Point], random: Random) -> Iterator[int]:
        """What the size is, wherever all loops in scope have an element."""
        for point in points:
            for _ in range(INDICES if self.given.ranges else 1):
                if (full := _with_indices(self.given, point, random)) is not None:
                    yield self.size.evaluate(full)


@dataclass(frozen=True, slots=True)
class Open:
    """A question that holds and was left open, and whether SymPy proves it."""

    program: str
    size: str
    proven: bool
    seconds: float


def _with_indices(given: Assumptions, point: Point, random: Random) -> Point | None:
    found = dict(point)
    for symbol, (low, high) in given.ranges.items():
        assert isinstance(symbol, Sym), "loops run over symbols"
        first, last = low.evaluate(found), high.evaluate(found)
        if first > last:
            return None
        found[symbol] = random.choice((first, last, random.randint(first, last)))
    return found


@contextmanager
def watched() -> Generator[dict[tuple[int, Dim], Question]]:
    """Collect what the prover leaves open."""
    found, asked = dict[tuple[int, Dim], Question](), Prover.nonnegative

    def nonnegative(self: Prover, dim: Dim) -> bool:
        if asked(self, dim):
            return True
        question = Question(self._given, dim)  # pyright: ignore[reportPrivateUsage]
        found[id(question.given), dim] = question
        return False

    Prover.nonnegative = nonnegative
    try:
        yield found
    finally:
        Prover.nonnegative = asked


def generate(program: Program) -> None:
    """Plan and print a program for both targets."""
    producers = producers_of(program.body)
    for lowering in (CpuLowering(program, producers), CudaLowering(program, producers)):
        context = Context(program.facts, producers, lowering.abilities, likely_points(program, {}))
        plan_host(program, context, FUSIONS["full"], lowering.lower)


def far_points(program: Program, points: Iterable[Point], random: Random) -> Iterator[Point]:
    """Points with some sizes much larger: a question about small sizes only does not hold."""
    free = free_symbols(program)
    for point in points:
        far = {symbol: point[symbol] * random.choice(FAR) for symbol in free}
        if (found := point_of(program, far)) is not None:
            yield found


def open_questions(program: Program) -> tuple[Counter[str], list[Question]]:
    """How many questions stay open, and those that hold."""
    with watched() as found:
        generate(program)
    random = Random(5)
    points = [*telling_points(program, 3), *islice(random_points(program, Random(9)), POINTS)]
    points += list(far_points(program, points, random))
    known = {raw.symbol for raw in program.raw_dims} | {symbol for symbol, _ in program.definitions}
    counts, holding = Counter[str](), dict[tuple[Dim, str], Question]()
    for question in found.values():
        given = question.given
        ends = [dim for pair in given.ranges.values() for dim in pair]
        symbols = question.size.symbols().union(*(dim.symbols() for dim in ends))
        if any(dim.data() for dim in (question.size, *ends)) or not symbols <= known | given.ranges.keys():
            counts["of data"] += 1
            continue
        counts["open"] += 1
        values = list(question.values(points, random))
        if values and min(values) >= 0:
            holding[question.size, str(given.ranges)] = question
    counts["hold"] = len(holding)
    return counts, list(holding.values())


@contextmanager
def _limited(seconds: int) -> Generator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def sympy_proves(question: Question) -> bool:
    """Whether SymPy finds that the size is never negative, from the signs and bounds of its symbols."""
    given, shifted = question.given, dict[Any, Any]()
    for symbol in question.size.symbols():
        low = Prover(given).interval(Dim((((symbol,), 1),)))[0]
        if low is not None:  # measured from its bound, so that SymPy knows the sign
            shifted[sympy.Symbol(symbol.name, integer=True)] = low + sympy.Symbol(
                symbol.name, integer=True, nonnegative=True
            )
    with suppress(TimeoutError, NotImplementedError, TypeError, ValueError), _limited(SECONDS):
        expression: Any = to_sympy(question.size)
        expression = sympy.expand(expression.subs(shifted))
        if expression.is_nonnegative or sympy.simplify(expression).is_nonnegative:
            return True
        if len(expression.free_symbols) == 1:
            (free,) = expression.free_symbols
            return bool(sympy.reduce_inequalities([expression < 0, free >= 0], free) == sympy.false)
    return False


def read(corpus: Path, name: str) -> Program:
    """A program as planning sees it. Raises `UnsupportedOpError`."""
    program = legalize(parse_module(text_of(corpus, name), name))
    for step in PASSES:
        program = step.run(program)
    return program


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--corpus", type=Path, default=Path("../shared/corpus"))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    kinds = {
        "models": [f"models/{name}" for name in MODELS],
        "dynamic cases": sorted(dynamic_cases(options.corpus)),
        "written": [f"written/{name}" for name in WRITTEN],
    }
    table = Table("programs", "number", "open", "of data", "hold", "SymPy proves", "in seconds")
    stories = list[Open]()
    for kind, names in kinds.items():
        chosen = [name for name in names if not options.programs or name in options.programs]
        counts, number, first = Counter[str](), 0, len(stories)
        for name in track(chosen, kind, console=Console(stderr=True)):
            try:
                found, holding = open_questions(read(options.corpus, name))
            except UnsupportedOpError:
                continue
            number += 1
            counts += found
            for question in holding:
                start = time.perf_counter()
                proven = sympy_proves(question)
                stories.append(Open(name, str(question.size), proven, round(time.perf_counter() - start, 2)))
        told = stories[first:]
        row = (number, counts["open"], counts["of data"], counts["hold"], sum(one.proven for one in told))
        table.add_row(kind, *map(str, row), f"{sum(one.seconds for one in told):.1f}")
    Console(width=100).print(table)
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in stories], indent=1))


if __name__ == "__main__":
    main()
