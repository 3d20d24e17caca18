"""The artifact of a program in partitions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shlo_disc import artifact as plain
from shlo_disc.dynamic_ops.control import OUTLINED_WHILE, OutlinedAttrs
from shlo_disc.dynamic_ops.program import LateUnbackedDim, Op, Program, Tensor
from shlo_disc.expr.dim import Sym
from shlo_disc.passes.partitions import PartitionedProgram


def value_names(program: Program, cut: PartitionedProgram, arguments: Sequence[str]) -> Sequence[str]:
    """The names, for people, of the values that partitions pass on, by number."""
    stored = [tensor for partition in cut.partitions for tensor in partition.outputs]
    return [*arguments, *(_name(program, tensor) for tensor in stored)]


def control(op: Op[OutlinedAttrs], programs: Sequence[plain.Artifact]) -> plain.Loop | plain.Branches:
    """A loop or branches with the artifacts of its programs."""
    attrs, place, is_loop = op.attrs, op.span.where(), OUTLINED_WHILE.defines(op)
    roles = [f"branch {k}" for k in range(len(programs))]
    if is_loop or attrs.is_guard:
        roles = ["condition of the loop", "body of the loop"] if is_loop else ["no iteration of the loop", "the loop"]
    names = [f"{role} at {place}" for role in roles]
    callees = tuple([plain.Callee(*one) for one in zip(programs, attrs.takes, names, strict=True)])
    if is_loop:
        condition, body = callees
        return plain.Loop(condition, body, attrs.sized, place)
    return plain.Branches(callees, attrs.sized)


def join(
    whole: plain.Artifact,
    program: Program,
    cut: PartitionedProgram,
    parts: Iterable[plain.Artifact | plain.Loop | plain.Branches],
    iterations: Sequence[tuple[Sym, str]],
) -> plain.Artifact:
    """Add the artifacts of partitions to that of their program. Sizes of iterations and branches are late, too."""
    partitions = zip(cut.partitions, parts, strict=True)
    named = tuple([symbol.name for symbol, _ in iterations])
    given, sizes = whole.given + len(program.late), whole.report.sizes
    shown = replace(
        sizes,
        names=(*sizes.names, *named),
        raw=(*sizes.raw, *named),
        points=tuple([(*point, *[max(point, default=1)] * len(named)) for point in sizes.points]),
    )
    return replace(
        whole,
        symbols=(*whole.symbols[:given], *named, *whole.symbols[given:]),
        free=(*whole.free, *named),
        raw_sizes=(*whole.raw_sizes, *named),
        report=replace(whole.report, sizes=shown),
        late=(*(late_place(program, each) for each in program.late), *(place for _, place in iterations)),
        partitions=tuple(plain.Partition(part, partition.inputs, partition.last) for partition, part in partitions),
        returned=cut.results,
    )


def late_place(program: Program, dim: LateUnbackedDim) -> str:
    """The source of a late size, for people."""
    tensor = program.body.results[dim.result]
    made = next((op for op in program.body.ops if tensor in op.results), None)
    if made is not None and isinstance(made.attrs, OutlinedAttrs) and tensor is made.results[-1]:
        result, axis = made.attrs.sized[dim.element]
        return f"dimension {axis} of {_name(program, made.results[result])}"
    name = _name(program, tensor)
    return f"element {dim.element} of {name}" if tensor.shape else f"the value of {name}"


def _name(program: Program, tensor: Tensor) -> str:
    return f"%{program.names.get(tensor, tensor.name)}"
