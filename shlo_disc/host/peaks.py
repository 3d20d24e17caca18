"""The peak memory of a program in partitions, as a formula.

What an iteration of a loop or a branch needs depends on sizes that become known there. These are symbols of their
own in the formula of the whole program: it gives the need of the worst iteration, in terms of its sizes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from shlo_disc.dynamic_ops import control
from shlo_disc.dynamic_ops.control import OutlinedAttrs
from shlo_disc.dynamic_ops.program import LateUnbackedDim, Op, Program, Tensor, UnbackedDim
from shlo_disc.expr.dim import ZERO, Dim, Sym, maximum, of, product
from shlo_disc.host.partitions import late_place
from shlo_disc.host.program import HostProgram
from shlo_disc.passes.partitions import PartitionedProgram
from shlo_disc.records import record

IterationSizes = tuple[tuple[Sym, str], ...]  # each with its place, for people


@record
class Need:
    """Peak bytes of temporaries, in terms of the sizes of a program and of `iterations`."""

    bytes: Dim = ZERO
    iterations: IterationSizes = ()


def iteration_size_names(program: Program) -> Iterator[Sym]:
    """Fresh names for sizes that iterations and branches compute."""
    taken = {*program.sizes, *(symbol.name for symbol in program.given), *(s.name for s, _ in program.definitions)}
    prefix = "t"
    while any(name.startswith(prefix) for name in taken):
        prefix = f"z{prefix}"
    return (Sym(f"{prefix}{k}") for k in count())


def need_of_part(host: HostProgram) -> Need:
    """The need of a program without late sizes."""
    return Need(_substituted(host.arena_bytes, host.definitions))


def with_results(program: Program, need: Need) -> Need:
    """Add the results to a need: in what a loop or a branch runs, they are temporaries."""
    return Need(need.bytes + _bytes(program.returned), need.iterations)


def peak(program: Program, cut: PartitionedProgram, needs: Sequence[Need], *, is_inner: bool) -> Need:
    """The need of a program in partitions: the largest sum of a partition's need and the values live while it runs.

    The results of an inner program (of a loop or a branch) are temporaries.
    """
    start = len(program.parameters)
    made = dict[int, tuple[int, Tensor]]()
    for k, partition in enumerate(cut.partitions):
        for tensor in partition.outputs:
            made[start + len(made)] = k, tensor
    last = {number: k for k, partition in enumerate(cut.partitions) for number in partition.last}
    if is_inner:
        last |= dict.fromkeys(cut.results, len(cut.partitions))
    peaks = list[Dim]()
    for k, need in enumerate(needs):
        carried = [(first, x) for number, (first, x) in made.items() if first <= k <= last.get(number, -1)]
        everything = _bytes([x for _, x in carried])
        if isinstance(cut.partitions[k].runs, Program):
            peaks.append(everything + need.bytes)
        else:  # the need of a loop or of branches includes their results
            peaks += [everything, _bytes([x for first, x in carried if first < k]) + need.bytes]
    return Need(maximum(*peaks), tuple([one for need in needs for one in need.iterations]))


def need_of_control(op: Op[OutlinedAttrs], needs: Sequence[Need], names: Iterator[Sym]) -> Need:
    """The need of a loop or branches in sizes of the enclosing program: that of the largest program's worst iteration.

    `needs` are those of its programs, including their results.
    """
    sizes = _SizesAround(op, names)
    found, iterations = list[Dim](), list[tuple[Sym, str]]()
    for number, need in enumerate(needs):
        program, is_body = op.attrs.programs[number], sizes.carried > 0 and number == 1
        before = [parameter.tensor for parameter in program.parameters[: sizes.carried]] if is_body else ()
        found.append(sizes.outside(number, need.bytes + _bytes(before)))
        iterations += need.iterations
    return Need(maximum(*found), (*iterations, *sizes.iterations))


@dataclass(slots=True)
class _SizesAround:
    """Translates sizes of an op's programs to the enclosing program; those unknown there get names."""

    op: Op[OutlinedAttrs]
    names: Iterator[Sym]
    iterations: list[tuple[Sym, str]] = field(default_factory=list[tuple[Sym, str]])
    _named: dict[object, Sym] = field(default_factory=dict[object, Sym])

    @property
    def carried(self) -> int:
        """How many values a loop carries; 0 for branches."""
        return len(self.op.results) - 1 if control.OUTLINED_WHILE.defines(self.op) else 0

    def outside(self, number: int, size: Dim) -> Dim:
        """Express a size of program `number` in sizes of the enclosing program."""
        op, program = self.op, self.op.attrs.programs[number]
        size = _substituted(size, program.definitions)
        used = size.symbols()
        meaning = dict[Sym, Dim]()
        for raw in program.raw_dims:
            if raw.symbol not in used:
                continue
            operand, tensor = op.attrs.takes[number][raw.argument], program.parameters[raw.argument].tensor
            known = op.operands[operand].shape[raw.axis]
            if operand < self.carried and op.results[operand].shape[raw.axis] != known:
                known = self._name((operand, raw.axis), f"dimension {raw.axis} of %{tensor.name}")
            meaning[raw.symbol] = known
        for each in (*program.unbacked_dims, *program.late):
            if each.symbol in used:
                what = late_place(program, each) if isinstance(each, LateUnbackedDim) else _read(program, each)
                meaning[each.symbol] = self._name((number, each.symbol), what)
        return size.substitute(meaning)

    def _name(self, key: object, what: str) -> Dim:
        if key not in self._named:
            symbol = self._named[key] = next(self.names)
            where = "an iteration of the loop" if self.carried else "a branch"
            self.iterations.append((symbol, f"{what} in {where} at {self.op.span.where()}"))
        return of(self._named[key])


def _read(program: Program, dim: UnbackedDim) -> str:
    tensor = program.parameters[dim.argument].tensor
    return f"element {dim.element} of %{tensor.name}" if tensor.shape else f"the value of %{tensor.name}"


def _bytes(tensors: Iterable[Tensor]) -> Dim:
    return sum((product(x.shape) * x.dtype.bytes for x in tensors), ZERO)


def _substituted(dim: Dim, definitions: Sequence[tuple[Sym, Dim]]) -> Dim:
    """Replace defined symbols in a size; each is defined in terms of those before it."""
    for symbol, definition in reversed(definitions):
        dim = dim.substitute({symbol: definition})
    return dim
