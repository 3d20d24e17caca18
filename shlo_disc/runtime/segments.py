"""A program of which sizes become known during a call: its segments run one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from shlo_disc.artifact import Artifact
from shlo_disc.runtime.arguments import check_count
from shlo_disc.runtime.executable import Executable, Stats
from shlo_disc.runtime.gpu_executable import GpuExecutable
from shlo_disc.runtime.interop import dtype_of
from shlo_disc.runtime.steps import Observer

Part: TypeAlias = Executable | GpuExecutable
P = TypeVar("P", Executable, GpuExecutable)
_Visit: TypeAlias = Callable[[Part, Sequence[Any]], tuple[Any, ...]]


class SegmentedExecutable:
    """Runs the segments of one artifact at any sizes. May be called from several threads at once.

    What a segment stores for others is an array; it is let go, or overwritten, where the last one takes it. A size that
    a segment computes is read where the next one binds its arguments: on a GPU that waits for the stream.
    """

    def __init__(self, artifact: Artifact, parts: Sequence[Part]) -> None:
        self.artifact = artifact
        self.parts = tuple(parts)
        self.seconds: Mapping[str, float] = _total([part.seconds for part in parts])
        self.notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))

    def __call__(self, arrays: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program on `arrays`, in the order of `artifact.arguments`; see the executables of the segments."""
        return self._run(arrays, lambda part, inputs: part(inputs))

    def mirror(self, arrays: Sequence[Any]) -> tuple[object, ...]:
        """Run, and return arrays of the library that the arguments came from."""
        return self.parts[0].mirror(arrays, self)

    def trace(self, arrays: Sequence[Any], observe: Observer) -> tuple[Any, ...]:
        """Run on the VM; `observe` gets each step of each segment after it ran, and the buffers of that segment."""
        return self._run(arrays, lambda part, inputs: part.trace(inputs, observe))

    def arena_bytes(self, arrays: Sequence[Any]) -> int:
        """Bytes of temporaries that a call with these arrays needs. To know them, it is made."""
        peak, carried = 0, dict[int, int]()

        def visit(part: Part, inputs: Sequence[Any]) -> tuple[Any, ...]:
            nonlocal peak
            segment = self.artifact.segments[self.parts.index(part)]
            found, arena = part(inputs), part.arena_bytes(inputs)
            start = len(self.artifact.arguments) + sum(len(each.artifact.results) for each in before(part))
            carried.update({start + k: _bytes(result) for k, result in enumerate(found) if start + k in handed})
            peak = max(peak, arena + sum(carried.values()))
            for number in segment.last:
                del carried[number]
            return found

        def before(part: Part) -> Sequence[Any]:
            return self.artifact.segments[: self.parts.index(part)]

        handed = {number for segment in self.artifact.segments for number in segment.last}
        self._run(arrays, visit)
        return peak

    @property
    def stats(self) -> Stats:
        """Calls and what compiling took; signatures, graphs and replays are those of all segments together."""
        each = [part.stats for part in self.parts]
        return Stats(
            1, each[0].calls, max(one.signatures for one in each), self.seconds, each[0].driver,
            sum(one.graphs for one in each), sum(one.replays for one in each),
        )  # fmt: skip

    def _run(self, arrays: Sequence[Any], visit: _Visit) -> tuple[Any, ...]:
        check_count(self.artifact, arrays)
        values = dict[int, Any](enumerate(arrays))
        for part, segment in zip(self.parts, self.artifact.segments, strict=True):
            start = len(self.artifact.arguments) + len(values) - len(arrays)
            inputs = [values[number] for number in segment.inputs]
            values.update(enumerate(visit(part, inputs), start=start))
            del inputs
            values.update(dict.fromkeys(segment.last))  # nothing needs them any more
        return tuple([values[number] for number in self.artifact.returned])


def load(artifact: Artifact, build: Callable[[Artifact], P]) -> P | SegmentedExecutable:
    """Build an artifact, or its segments, to run it."""
    parts = [build(part) for part in artifact.parts]
    return SegmentedExecutable(artifact, parts) if artifact.segments else parts[0]


def _total(seconds: Sequence[Mapping[str, float]]) -> Mapping[str, float]:
    """Stages of the compiler count once, what was done per segment is added up."""
    found = dict(seconds[0])
    for name in ("build", "load"):
        found[name] = sum(each[name] for each in seconds)
    return found


def _bytes(array: Any) -> int:
    return math.prod(array.shape) * dtype_of(str(array.dtype)).itemsize
