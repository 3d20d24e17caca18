"""A program in segments as one artifact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from shlo_disc import artifact as plain
from shlo_disc.codegen.host import HostProgram
from shlo_disc.dynamic_ops.program import LateReading, Program, Tensor
from shlo_disc.expr.dim import Dim, maximum, product
from shlo_disc.passes.segments import Segmented


def value_names(program: Program, cut: Segmented, arguments: Sequence[str]) -> Sequence[str]:
    """What people call the values that segments hand on, by number."""
    stored = [tensor for segment in cut.segments for tensor in segment.program.body.results]
    return [*arguments, *(_name(program, tensor) for tensor in stored)]


def peak(program: Program, cut: Segmented, hosts: Sequence[HostProgram]) -> Dim:
    """The most bytes of temporaries at a time: the arena of a segment, and what is carried past it or into it."""
    start = len(program.parameters)
    made = dict[int, tuple[int, Tensor]]()
    for k, segment in enumerate(cut.segments):
        for tensor in segment.program.body.results:
            made[start + len(made)] = k, tensor
    last = {number: k for k, segment in enumerate(cut.segments) for number in segment.last}
    peaks = list[Dim]()
    for k, host in enumerate(hosts):
        carried = [tensor for number, (first, tensor) in made.items() if first <= k <= last.get(number, -1)]
        peaks.append(sum((product(x.shape) * x.dtype.bytes for x in carried), _arena(host)))
    return maximum(*peaks)


def _arena(host: HostProgram) -> Dim:
    """The size of an arena in symbols of the program alone."""
    found = host.arena_bytes
    for symbol, dim in reversed(host.definitions):
        found = found.substitute({symbol: dim})
    return found


def join(whole: plain.Artifact, program: Program, cut: Segmented, parts: Iterable[plain.Artifact]) -> plain.Artifact:
    """The artifact of a program with those of its segments."""
    segments = zip(cut.segments, parts, strict=True)
    return replace(
        whole,
        late=tuple(_place(program, each) for each in program.late),
        segments=tuple(plain.Segment(part, segment.inputs, segment.last) for segment, part in segments),
        returned=cut.results,
    )


def _place(program: Program, reading: LateReading) -> str:
    tensor = program.body.results[reading.result]
    name = _name(program, tensor)
    return f"element {reading.element} of {name}" if tensor.shape else f"the value of {name}"


def _name(program: Program, tensor: Tensor) -> str:
    return f"%{program.names.get(tensor, tensor.name)}"
