"""`analyse_ragged`: which elements of a masked program depend on its padding, and what the others cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from shlo_disc.diagnostics import ShloDiscError, one_line, whole_number, whole_numbers
from shlo_disc.dynamic_ops.program import Parameter, Program
from shlo_disc.expr.dim import Dim, Sym
from shlo_disc.function_export import export_function
from shlo_disc.ir.attributes import AliasLocation, NameLocation, SymbolAttr
from shlo_disc.ir.core import Module
from shlo_disc.options import Hints
from shlo_disc.parse.origins import find_origins, naming_origins
from shlo_disc.pipeline.front_end import legalize_module, parse_text, verify_module
from shlo_disc.pipeline.request import Request
from shlo_disc.pipeline.source import read_source
from shlo_disc.pipeline.stopwatch import Stopwatch
from shlo_disc.ragged.explain import assumption_texts, error_text, explained, spans_of
from shlo_disc.ragged.program import ProgramAnalysis, RaggedSize, analyse_program
from shlo_disc.ragged.work import OpWork, work_of
from shlo_disc.records import record
from shlo_disc.target_names import HOST


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
class RaggedReport:
    """What a padded program computes for given lengths, and what of it is needed; `print` it.

    A product counts as 2 FLOPs for each multiplication, other functions of floats and sums as 1 for each element, and
    the rest as 0.

    Attributes:
        ops: the ops that compute with floats, in the order of the program.
        needed: the FLOPs that results within the lengths need.
        padded: the FLOPs of the padded program.
    """

    ops: tuple[RaggedOp, ...]
    needed: int
    padded: int

    @property
    def ratio(self) -> float:
        """How many times more FLOPs the padded program computes; 1 if it computes none."""
        return self.padded / self.needed if self.needed else 1.0

    def __str__(self) -> str:
        rows = [(f"{each.needed}", f"{each.padded}", each.name, each.place, each.formula) for each in self.ops]
        table = [("needed", "padded", "op", "from", "needed FLOPs"), *rows, (f"{self.needed}", f"{self.padded}")]
        widths = [max(len(row[k]) for row in table if k < len(row)) for k in range(len(table[0]))]
        lines = [
            "  ".join(
                cell.rjust(width) if k < 2 else cell.ljust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=False))
            ).rstrip()
            for row in table
        ]
        return "\n".join([*lines, f"padded / needed: {self.ratio:.2f}"])


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
        return RaggedReport(ops, sum(each.needed for each in ops), sum(each.padded for each in ops))

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
            raise ShloDiscError(f"found lengths of {_listed(given)}, expected those of {_listed(names)}")
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
            raise ShloDiscError(f"found a size {_listed(unknown)}, expected {_listed(program.sizes)}")
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
                raise ShloDiscError(
                    f"expected the size {_listed(map(str, missing))} among sizes, found {_listed(given)}"
                )
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


def analyse_ragged(
    program: Any, ragged: Mapping[str, str | int], *, shapes: Any = None, constraints: Sequence[str] = ()
) -> RaggedAnalysis:
    """Find out whether results of a padded program, within given lengths, are independent of the padding.

    In `{"s": "lengths"}`, arguments that have the size `s`, and the size of `lengths`, are padded: in row `b`, the
    elements from `lengths[b]` on along `s`. The program is analysed as it is, and neither compiled nor run
    (docs/explanation/ragged.md).

    Args:
        program: a function of JAX, with `shapes`; a `jax.export.Exported`, what its `serialize` returns, StableHLO
            text, MLIR bytecode, a path to any of these, or a `Module`.
        ragged: for each ragged size, by name, the argument that says its lengths, by name or flat number: integers
            [b], or a mask [b, s] whose rows are 1 (or true) up to the length, and 0 from there on.
        shapes: of a function's arguments, as for `compile`.
        constraints: on sizes, as for `compile`.

    Returns:
        What is proven, with the reasons, and the work that is needed.

    Raises:
        ParseError: the text is not StableHLO.
        VerifyError: an op breaks a rule of the specification.
        UnsupportedOpError: an op that shlo_disc does not have.
        ShloDiscError: a name is unknown, or an argument is not one that can say lengths.
    """
    if callable(program):
        program, constraints = export_function(program, shapes, constraints, HOST), ()
    watch = Stopwatch()
    text, file, signature = read_source(program, HOST)
    request = Request(signature=signature, hints=Hints(constraints=tuple(constraints)))
    module = parse_text(text, file, request, watch)
    verify_module(module, watch)
    with naming_origins(module):
        unit = legalize_module(module, request, watch)
    names = _argument_names(module, unit.program, unit.names)
    sizes = [_ragged_size(unit.program, names, *item) for item in ragged.items()]
    if not sizes:
        raise ShloDiscError("found no ragged size, expected one, as in {'s': 'lengths'}")
    analysis = analyse_program(unit.program, sizes)
    spans = spans_of(analysis) | {op.span for op in unit.program.body.walk()}
    return RaggedAnalysis(analysis, [each[0] for each in names], find_origins(module, spans))


def _argument_names(module: Module, program: Program, given: Sequence[str]) -> list[list[str]]:
    """The names of each argument, the best one first: of the function's parameters, of the export, of the text."""
    found = [[one.tensor.name, name] for name, one in zip(given, program.parameters, strict=True)]
    main = module.functions.get("main")
    if main is None or len(main.body.arguments) != len(found):
        return found
    numbers = {value: number for number, value in enumerate(main.body.arguments)}
    for op in main.walk():
        for attribute in op.attributes.values():
            called = module.functions.get(attribute.name) if isinstance(attribute, SymbolAttr) else None
            if called is None or len(called.body.arguments) != len(op.operands):
                continue
            for operand, argument in zip(op.operands, called.body.arguments, strict=True):
                location = argument.location
                if isinstance(location, AliasLocation):
                    location = module.location_aliases.get(location.name)
                if operand in numbers and isinstance(location, NameLocation):
                    found[numbers[operand]].insert(0, location.name)
    return found


def _ragged_size(program: Program, names: Sequence[Sequence[str]], name: str, argument: str | int) -> RaggedSize:
    if name not in program.sizes:
        raise ShloDiscError(f"found the ragged size '{one_line(name)}', expected one of {_listed(program.sizes)}")
    number = _number(names, argument)
    parameter, size = program.parameters[number], program.facts.canonical(program.sizes[name])
    shape = parameter.tensor.shape
    if len(shape) == 1 and parameter.tensor.dtype.is_integer:
        if shape[0] == size:
            raise ShloDiscError(f"found lengths along {name} itself, expected a length for each row, of another size")
        return _of_rows(RaggedSize(name, size, shape[0], number), program, names)
    if len(shape) == 2 and size in shape and shape[0] != shape[1] and not parameter.tensor.dtype.is_complex:
        batch = shape[1] if shape[0] == size else shape[0]
        return _of_rows(RaggedSize(name, size, batch, number, is_mask=True), program, names)
    raise ShloDiscError(
        f"found the argument {one_line(names[number][0])} of type {_type(parameter)}, "
        f"expected the lengths, integers [rows], or a mask [rows, {name}]"
    )


def _of_rows(found: RaggedSize, program: Program, names: Sequence[Sequence[str]]) -> RaggedSize:
    """The ragged size, if in each argument that has it one dim counts rows at most."""
    if found.batch.constant == 1:
        raise ShloDiscError(
            f"found one row in {one_line(names[found.argument][0])}, expected a size other than 1\n"
            "  help: give the rows a name, as in 'f32[b, s], i32[b]'"
        )
    for parameter, known in zip(program.parameters, names, strict=True):
        shape = parameter.tensor.shape
        if found.size in shape and shape.count(found.batch) > 1:
            raise ShloDiscError(
                f"found the argument {one_line(known[0])} of type {_type(parameter)}, expected one dim of the size "
                f"{found.batch} in an argument with the ragged size {found.name}"
            )
    return found


def _type(parameter: Parameter) -> str:
    tensor = parameter.tensor
    return f"{tensor.dtype.value}[{', '.join(map(str, tensor.shape))}]"


def _number(names: Sequence[Sequence[str]], argument: str | int) -> int:
    if isinstance(argument, str):
        found = [number for number, known in enumerate(names) if argument in known]
        if len(found) == 1:
            return found[0]
        raise ShloDiscError(
            f"found the argument '{one_line(argument)}', expected one of {_listed([each[0] for each in names])}"
        )
    number = whole_number(argument, "the number of an argument")
    if not 0 <= number < len(names):
        raise ShloDiscError(f"found the argument number {number}, expected one from 0 to {len(names) - 1}")
    return number


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(one_line(name) for name in names)) or "none"
