"""What `analyse_ragged` says of a program: which results are proven, and the work that given lengths need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from shlo_disc.diagnostics import ShloDiscError, printable, whole_number, whole_numbers
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.ragged.explain import assumption_texts, error_text, explained
from shlo_disc.ragged.program import ProgramAnalysis
from shlo_disc.ragged.sizes import listed
from shlo_disc.ragged.work import OpWork, work_of
from shlo_disc.records import record


@record
class RaggedOp:
    """The floating-point operations (FLOPs) of one op.

    Attributes:
        name: of the op.
        place: the line of Python that it came from or, where that is unknown, the place in the program's text.
        formula: the FLOPs that are needed, as a formula of sizes and lengths.
        needed: the FLOPs that results within the lengths need.
        padded: the FLOPs of the padded program.
    """

    name: str
    place: str
    formula: str
    needed: int
    padded: int


@record
class RaggedStep:
    """What a step of a compiled program computes and moves in one run of it, as estimated by its sizes.

    Attributes:
        kernel: its kernels, or its function.
        place: the last line of the program that it computes.
        flops: its FLOPs. Attention is counted as if it skipped no blocks beyond the lengths.
        moved: the bytes that it reads and writes.
        padded_flops: its FLOPs if all rows were as long as the size.
        padded_moved: its bytes if all rows were as long as the size.
        is_of_integers: whether it computes integers alone, such as where rows begin.
        is_attention: whether it computes attention.
    """

    kernel: str
    place: str
    flops: int
    moved: int
    padded_flops: int
    padded_moved: int
    is_of_integers: bool
    is_attention: bool


@record
class RaggedReport:
    """What a padded program computes for given lengths, and what of it is needed; `print` it.

    A product counts as 2 FLOPs for each multiplication, other functions of floats and sums as 1 for each element, and
    the rest as 0.

    Attributes:
        ops: the ops that compute with floats, in the order of the program.
        needed: the FLOPs that results within the lengths need.
        padded: the FLOPs of the padded program.
        sizes: of the call, by name; without those of which nothing was said.
        positions: for each ragged size, by name, how many positions are within the lengths, and how many there are.
        steps: of the compiled program, in their order; none if the report is not of one.
    """

    ops: tuple[RaggedOp, ...]
    needed: int
    padded: int
    sizes: Mapping[str, int]
    positions: Mapping[str, tuple[int, int]]
    steps: tuple[RaggedStep, ...] = ()

    @property
    def ratio(self) -> float:
        """How many times more FLOPs the padded program computes than are needed; 1 if it computes none."""
        return self.padded / self.needed if self.needed else 1.0

    @property
    def saved(self) -> float:
        """How many times more FLOPs the steps would compute if no row had padding; 1 if there are none."""
        computed = sum(each.flops for each in self.steps)
        return sum(each.padded_flops for each in self.steps) / computed if computed else 1.0

    @property
    def integer_share(self) -> float:
        """The share of steps of integers in the bytes that all steps move, from 0 to 1: where rows begin, and masks."""
        moved = sum(each.moved for each in self.steps)
        return sum(each.moved for each in self.steps if each.is_of_integers) / moved if moved else 0.0

    def __str__(self) -> str:
        ops = [(f"{each.needed}", f"{each.padded}", each.name, each.place, each.formula) for each in self.ops]
        titles = ("needed", "padded", "op", "from", "needed FLOPs")
        lines = _aligned([titles, *ops, (f"{self.needed}", f"{self.padded}")], 2)
        lines.append(f"padded / needed: {self.ratio:.2f}")
        if self.steps:
            lines += ["", *self._steps_as_text()]
        return printable("\n".join(lines))

    def _steps_as_text(self) -> Iterator[str]:
        rows = [
            (f"{each.flops}", f"{each.padded_flops}", f"{each.moved}", f"{each.padded_moved}", each.kernel, each.place)
            for each in self.steps
        ]
        yield from _aligned([("FLOPs", "padded", "bytes", "padded", "kernel", "from"), *rows], 4)
        has_attention = any(each.is_attention for each in self.steps)
        yield f"padded / computed: {self.saved:.2f}{', or more: attention counts whole' * has_attention}"
        yield f"bytes of steps that compute integers alone: {self.integer_share:.1%}"


def _aligned(table: Sequence[Sequence[str]], numbers: int) -> list[str]:
    """The rows of a table as lines. The first `numbers` columns are aligned to the right."""
    widths = [max(len(row[k]) for row in table if k < len(row)) for k in range(len(table[0]))]
    return [
        "  ".join(
            cell.rjust(width) if k < numbers else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=False))
        ).rstrip()
        for row in table
    ]


class RaggedAnalysis:
    """What `analyse_ragged` returns. `explain()` says what is proven, `report(lengths)` what is needed."""

    def __init__(self, analysis: ProgramAnalysis, names: Sequence[str], origins: Mapping[Any, str]) -> None:
        self._analysis = analysis
        self._names = tuple(names)
        self._origins = origins
        self._work: list[OpWork] | None = None

    @property
    def is_proven(self) -> bool:
        """Whether all results within the lengths are independent of the padding."""
        return self._analysis.is_proven

    @property
    def proven(self) -> tuple[bool, ...]:
        """The same for each result."""
        return tuple([verdict.is_proven for verdict in self._analysis.verdicts])

    @property
    def least_length(self) -> int:
        """The least length for which this holds, 0 or 1."""
        return self._analysis.least

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the proof assumes about elements; empty if it holds for all finite ones."""
        return tuple(assumption_texts(self._analysis, self._origin))

    @property
    def errors(self) -> tuple[str, ...]:
        """For each result that is not proven, the chain of ops from the padding to it."""
        verdicts = enumerate(self._analysis.verdicts)
        return tuple(
            [
                error_text(number, verdict.cause, self._names, self._origin)
                for number, verdict in verdicts
                if verdict.cause is not None
            ]
        )

    def explain(self) -> str:
        """Say what is proven, on which assumptions, and why the rest is not.

        Returns:
            A text with a line for each ragged size, result and assumption, and the errors.
        """
        return explained(self._analysis, self._names, self._origin)

    def report(self, lengths: Any, sizes: Mapping[str, int] | None = None) -> RaggedReport:
        """Count the FLOPs of a call, needed and padded.

        Args:
            lengths: whole numbers, one for each row; if several sizes are ragged, a mapping of their names to these.
            sizes: of the padded arguments, by name; without them, a ragged size is its greatest length.

        Returns:
            The FLOPs of the program and of each op.

        Raises:
            ShloDiscError: lengths or sizes are missing, negative, or do not fit each other.
        """
        rows = self._rows(lengths)
        size = self._evaluation(rows, sizes or {})
        if self._work is None:
            self._work = work_of(self._analysis)
        by_argument = {each.argument: rows[each.name] for each in self._analysis.sizes}
        names = {each.argument: self._names[each.argument] for each in self._analysis.sizes}
        ops = tuple(
            [
                RaggedOp(
                    one.op.name.removeprefix("d_"),
                    self._origin(one.op.span),
                    one.formula(names),
                    one.counted(size, by_argument),
                    one.padded(size),
                )
                for one in self._work
            ]
        )
        named = dict[str, int]()
        for name, dim in self._analysis.program.sizes.items():
            with suppress(ShloDiscError):  # it does not follow from what was said
                named[name] = size(dim)
        positions = {
            each.name: (sum(rows[each.name]), len(rows[each.name]) * size(each.size)) for each in self._analysis.sizes
        }
        needed, padded = sum(each.needed for each in ops), sum(each.padded for each in ops)
        return RaggedReport(ops, needed, padded, named, positions)

    def __repr__(self) -> str:
        count = sum(self.proven)
        return f"RaggedAnalysis({count} of {len(self.proven)} results proven)"

    def _origin(self, span: Any) -> str:
        return self._origins.get(span) or span.where()

    def _rows(self, lengths: Any) -> dict[str, tuple[int, ...]]:
        names = [each.name for each in self._analysis.sizes]
        given = (
            cast("Mapping[str, Any]", lengths) if isinstance(lengths, Mapping) else dict.fromkeys(names[:1], lengths)
        )
        if sorted(given) != sorted(names):
            raise ShloDiscError(f"found lengths of {listed(given)}, expected those of {listed(names)}")
        rows = {name: whole_numbers(given[name], f"lengths of {name}") for name in names}
        for name, row in rows.items():
            if min(row, default=0) < 0:
                raise ShloDiscError(f"found a length of {name} of {min(row)}, expected at least 0")
        return rows

    def _evaluation(self, rows: Mapping[str, Sequence[int]], sizes: Mapping[str, int]) -> Any:
        """A function from dims to numbers."""
        program, values = self._analysis.program, dict[Sym, int]()
        given = {name: whole_number(value, f"size {name}") for name, value in sizes.items()}
        if unknown := given.keys() - program.sizes.keys():
            raise ShloDiscError(f"found a size {listed(unknown)}, expected {listed(program.sizes)}")
        for each in self._analysis.sizes:
            row = rows[each.name]
            given.setdefault(each.name, max(row, default=0))
            if max(row, default=0) > given[each.name]:
                raise ShloDiscError(
                    f"found a length of {max(row)}, expected at most {given[each.name]}, the size {each.name}"
                )
            _bind(values, each.batch, len(row), program)
        for name, value in given.items():
            _bind(values, program.facts.canonical(program.sizes[name]), value, program)
        for symbol, dim in program.definitions:
            if dim.symbols() <= values.keys():
                values[symbol] = dim.evaluate(values)

        def size(dim: Dim) -> int:
            if missing := dim.symbols() - values.keys():
                raise ShloDiscError(f"expected the size {listed(map(str, missing))} among sizes, found {listed(given)}")
            return dim.evaluate(values)

        return size


def _bind(values: dict[Sym, int], dim: Dim, value: int, program: Program) -> None:
    """Set the symbol that a size is."""
    (symbol,) = dim.symbols() if isinstance(dim.atom, Sym) else (None,)
    if symbol is None:
        if dim.constant is not None and dim.constant != value:
            raise ShloDiscError(f"found {value} rows, expected {dim}, the size of the program's arguments")
        return
    if values.setdefault(symbol, value) != value:
        named = next((name for name, size in program.sizes.items() if size == dim), str(dim))
        raise ShloDiscError(f"found {values[symbol]} and {value} for the size {named}, expected one number")
