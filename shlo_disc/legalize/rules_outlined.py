"""StableHLO to DHLO: loops and branches whose regions are separate programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.program import Program, Tensor
from shlo_disc.dynamic_ops.size_values import KnownElements
from shlo_disc.expr.dim import Dim, Sym, const, of
from shlo_disc.ir import core as ir
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize.builder import FirstOp, tensor_type
from shlo_disc.legalize.frame import Frame
from shlo_disc.legalize.outline import NextIteration, Outline, size_of


def outlined_while(frame: Frame, op: ir.Op, varies: Sequence[bool]) -> tuple[Tensor, ...]:
    """The varying results of a loop; loop invariants are bound in its regions already, and captured."""
    condition, body = (region.block for region in op.regions)
    following = NextIteration(condition, tuple(varies))
    capture = _Capture(frame, op, [frame.tensor(x) for x in following.of(op.operands)])
    capture.add(0, "condition", condition, following.of(condition.arguments))
    capture.add(1, "body", body, following.of(body.arguments), next_iteration=following)
    programs = capture.programs()
    results = _ResultShapes(frame, op, following.of(op.results))
    for k, (carry, before, after) in enumerate(
        zip(capture.operands, programs[1].parameters, programs[1].returned[:-1], strict=False)
    ):
        facts = programs[1].facts
        kept = [facts.equal(a, b).is_true for a, b in zip(before.tensor.shape, after.shape, strict=True)]
        results.add(k, [size if same else None for size, same in zip(carry.shape, kept, strict=True)])
    return results.emit("d_outlined_while", capture, programs)


def outlined_case(
    frame: Frame, op: ir.Op, selector: Tensor, regions: Sequence[ir.Region], *, is_guard: bool = False
) -> tuple[Tensor, ...]:
    """The results of branches; the demands of a branch apply only if it runs."""
    capture = _Capture(frame, op, [selector])
    for number, region in enumerate(regions):
        capture.add(number, f"branch{number}", region.block, ())
    programs = capture.programs()
    results = _ResultShapes(frame, op, op.results)
    for k, value in enumerate(op.results):
        columns = [capture.sizes_of(number, program, k) for number, program in enumerate(programs)]
        rank = len(tensor_type(value.type, op.span).shape)
        results.add(k, [_common(frame, [column[axis] for column in columns]) for axis in range(rank)])
    return results.emit("d_outlined_case", capture, programs, is_guard=is_guard)


def _common(frame: Frame, sizes: Sequence[Dim | None]) -> Dim | None:
    """The size that all of these provably equal, else None."""
    first = sizes[0]
    if first is None or not all(size is not None and frame.build.facts.equal(first, size).is_true for size in sizes):
        return None
    return first


@dataclass(slots=True)
class _Capture:
    """The operands of an op that runs programs: its own, then the values that its regions capture."""

    frame: Frame
    op: ir.Op
    operands: list[Tensor]
    outlines: list[Outline] = field(default_factory=list[Outline])
    takes: list[tuple[int, ...]] = field(default_factory=list[tuple[int, ...]])
    _places: dict[Tensor, int] = field(default_factory=dict[Tensor, int])

    def __post_init__(self) -> None:
        build = self.frame.build
        if build.sizes_only:
            raise FirstOp
        self.frame.legalizer.unbacked_dims.demand_outermost(self.op)

    def add(
        self,
        number: int,
        name: str,
        block: ir.Block,
        own: Sequence[ir.Value],
        *,
        next_iteration: NextIteration | None = None,
    ) -> None:
        """Add a region whose `own` arguments are the first operands."""
        used = _free([block], own)
        if next_iteration is not None:
            condition = next_iteration.condition
            used = _free([block, condition], [*own, *next_iteration.of(condition.arguments)])
        values = [(value, self.frame.bound(value)) for value in used]
        taken = [(value, bound) for value, bound in values if isinstance(bound, Tensor)]
        known = dict[ir.Value, KnownElements]()
        sizes = _sizes(len(own), taken)
        for value, bound in values:
            if not isinstance(bound, KnownElements):
                continue
            if bound.steps:
                taken.append((value, self.frame.tensor(value)))
                continue
            dims = tuple(map(self.frame.build.facts.canonical, bound.dims))
            if {symbol for dim in dims for symbol in dim.symbols()} <= sizes.keys():
                dims = tuple([dim.substitute(sizes) for dim in dims])
                known[value] = KnownElements(dims, bound.shape, bound.dtype)
            else:
                taken.append((value, self.frame.tensor(value)))
        arguments = (*own, *(value for value, _ in taken))
        self.outlines.append(Outline(self.op, block, number, name, arguments, tuple(known.items()), next_iteration))
        self.takes.append((*range(len(own)), *(self._place(tensor) for _, tensor in taken)))

    def _place(self, tensor: Tensor) -> int:
        if tensor not in self._places:
            self._places[tensor] = len(self.operands)
            self.operands.append(tensor)
        return self._places[tensor]

    def programs(self) -> tuple[Program, ...]:
        """The legalized regions."""
        return tuple(map(self.frame.legalizer.outliner.program, self.outlines))

    def sizes_of(self, number: int, program: Program, result: int) -> Sequence[Dim | None]:
        """The sizes of a program's result that follow from sizes of its arguments; None for others."""
        takes = self.takes[number]
        given = {raw.symbol: self.operands[takes[raw.argument]].shape[raw.axis] for raw in program.raw_dims}
        shape = program.returned[result].shape
        return [size.substitute(given) if size.symbols() <= given.keys() else None for size in shape]


def _sizes(first: int, taken: Sequence[tuple[ir.Value, Tensor]]) -> dict[Sym, Dim]:
    """Sizes outside an op in terms of its outline: as sizes of captured tensors."""
    found = dict[Sym, Dim]()
    for number, (value, tensor) in enumerate(taken, start=first):
        for axis, (size, text) in enumerate(zip(tensor.shape, tensor_type(value.type, value.span).shape, strict=True)):
            if text is None and isinstance(size.atom, Sym):
                found.setdefault(size.atom, of(size_of(number, axis)))
    return found


def _free(blocks: Sequence[ir.Block], own: Sequence[ir.Value]) -> Sequence[ir.Value]:
    """The free values of blocks: used, but neither computed inside nor among the `own` arguments."""
    made, used = set(own), dict[ir.Value, None]()

    def walk(inner: ir.Block) -> Iterator[ir.Op]:
        for op in inner.ops:
            yield op
            for region in op.regions:
                made.update(region.block.arguments)
                yield from walk(region.block)

    for op in chain.from_iterable(map(walk, blocks)):
        used.update(dict.fromkeys(op.operands))
        made.update(op.results)
    return [value for value in used if value not in made]


@dataclass(slots=True)
class _ResultShapes:
    """The shapes of the results: sizes that the text states, that are known before the op, or symbols read after it."""

    frame: Frame
    op: ir.Op
    values: Sequence[ir.Value]
    _types: list[Sequence[Dim]] = field(default_factory=list[Sequence[Dim]])
    _symbols: list[Sym] = field(default_factory=list[Sym])
    _sized: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def add(self, number: int, sizes: Sequence[Dim | None]) -> None:
        """Add the next result; None stands for unknown sizes."""
        shape = list[Dim]()
        for axis, (size, text) in enumerate(zip(sizes, self._type(number).shape, strict=True)):
            if text is not None:
                shape.append(const(text))
            elif size is not None:
                shape.append(size)
            else:
                symbol = self.frame.legalizer.unbacked_dims.size_after(self.op, self.frame.calls, number, axis)
                self._symbols.append(symbol)
                self._sized.append((number, axis))
                shape.append(of(symbol))
        self._types.append(shape)

    def _type(self, number: int) -> ir.TensorType:
        return tensor_type(self.values[number].type, self.op.span)

    def emit(
        self, name: str, capture: _Capture, programs: tuple[Program, ...], *, is_guard: bool = False
    ) -> tuple[Tensor, ...]:
        """Append the op; return its results without the last one, from which sizes are read."""
        attrs = OutlinedAttrs(programs, tuple(capture.takes), tuple(self._sized), is_guard)
        dtypes = [result.dtype for result in programs[-1].returned[: len(self._types)]]
        types = [*zip(self._types, dtypes, strict=True), ((const(len(self._symbols)),), DType.I64)]
        *results, sizes = self.frame.build.emit(name, capture.operands, attrs, types, self.op.span)
        self.frame.legalizer.unbacked_dims.read_after(sizes, self._symbols)
        return tuple(results)
