"""The profile of a call: plain data, and what follows from it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from shlo_disc.records import record
from shlo_disc.runtime.machine_rates import MachineRates
from shlo_disc.runtime.selection import SelectionTrace


@record
class Seconds:
    """The least and the median of several measurements, in seconds."""

    least: float
    median: float


@record
class MemberProfile:
    """A launch of a launch group: its kernel, its group and that one's lines.

    `seconds`: in one call in which each launch of the group runs alone, the least.
    """

    kernel: str
    group: int
    lines: tuple[str, ...]
    seconds: float


@record
class StepProfile:
    """One step of the host program: a launch, launches by rows, a host call or a copy.

    Attributes:
        part: the partition that it belongs to; empty for a program that is one.
        number: of the step, as in the report and in `explain`.
        kind: "kernel", "product", "packing", "launch group", "host call" or "copy".
        name: the kernels, or the function.
        groups: the numbers of the groups that it computes.
        lines: the user's lines, of Python where the program has locations, else of its text; that of the result last.
        runs: how often a call runs it.
        seconds: of all its runs in one call.
        bytes_read: of all its runs in one call: each buffer once a run, whole, or what slices and gathers read of it.
        bytes_written: the same for what it writes.
        flops: floating-point operations of all its runs in one call, estimated; 0 where they are not counted.
        precision: "f64" if it computes in that type, else "f32".
        threads: how many may share it.
        selections: how each product, or variant of a kernel, was chosen.
        members: the launches of a launch group.
    """

    part: str
    number: int
    kind: str
    name: str
    groups: tuple[int, ...]
    lines: tuple[str, ...]
    runs: int
    seconds: Seconds
    bytes_read: int
    bytes_written: int
    flops: int
    precision: str
    threads: int
    selections: tuple[SelectionTrace, ...] = ()
    members: tuple[MemberProfile, ...] = ()

    @property
    def moved(self) -> int:
        """The bytes that it reads and writes."""
        return self.bytes_read + self.bytes_written

    @property
    def bytes_per_second(self) -> float:
        """The rate at which it moves bytes, by the least time."""
        return self.moved / self.seconds.least if self.seconds.least else 0.0

    @property
    def flops_per_second(self) -> float:
        """The rate at which it computes, by the least time."""
        return self.flops / self.seconds.least if self.seconds.least else 0.0

    @property
    def line(self) -> str:
        """The line of its result."""
        return self.lines[-1] if self.lines else ""


@record
class Event:
    """One run of a step in the call that is shown in traces: its position in `steps`, seconds from the first step."""

    step: int
    began: float
    ended: float


@record
class Profile:
    """Where the calls of a program with these arguments spend their time.

    `print(profile)` shows a table, a notebook shows it as HTML, `profile.save(path)` writes it as .json, .html or, with
    the suffix .trace.json, for Perfetto and chrome://tracing.

    Attributes:
        program: its name.
        device: the target that it is compiled for.
        machine: the processor.
        threads: of the pool.
        repeat: how many calls were measured.
        sizes: that are independent, by name: those of arguments, and those that the program finds in data.
        steps: in the order of the host program; those that did not run in these calls are left out.
        whole: seconds of a call through the ordinary entry, without a clock in it.
        events: the runs of the steps of the call that took the least time, in order.
        rates: what the machine can do; None where that is not measured.
    """

    program: str
    device: str
    machine: str
    threads: int
    repeat: int
    sizes: Mapping[str, int]
    steps: tuple[StepProfile, ...]
    whole: Seconds
    events: tuple[Event, ...]
    rates: MachineRates | None

    @property
    def seconds(self) -> float:
        """The least seconds of all steps together."""
        return sum(step.seconds.least for step in self.steps)

    def share(self, step: StepProfile) -> float:
        """The part of the time of all steps that one takes, from 0 to 1.

        Args:
            step: one of `steps`.

        Returns:
            The part.
        """
        total = self.seconds
        return step.seconds.least / total if total else 0.0

    def of_limit(self, step: StepProfile) -> float | None:
        """The least time that the machine's limits allow a step, relative to its time (its place under the roofline).

        Args:
            step: one of `steps`.

        Returns:
            1 where it runs at the limit; None if the limits are not known, or the step moves and computes nothing.
        """
        return (
            None
            if self.rates is None
            else self.rates.fraction(step.moved, step.flops, step.precision, step.seconds.least)
        )

    def bound(self, step: StepProfile) -> str:
        """What limits a step: "memory", "arithmetic", or nothing that is known.

        Args:
            step: one of `steps`.

        Returns:
            The word; empty if the limits are not known.
        """
        return "" if self.rates is None else self.rates.bound(step.moved, step.flops, step.precision)

    def __str__(self) -> str:
        from shlo_disc.profiling.text import table  # noqa: PLC0415  as below: each form loads what it needs

        return table(self)

    def _repr_html_(self) -> str:
        """What notebooks show."""
        from shlo_disc.profiling.html import fragment  # noqa: PLC0415

        return fragment(self)

    def html(self) -> str:
        """A page for a browser, which loads nothing.

        Returns:
            HTML.
        """
        from shlo_disc.profiling.html import page  # noqa: PLC0415

        return page(self)

    def to_json(self) -> str:
        """All of it, for other programs; the fields are described in docs/how-to/profile.md.

        Returns:
            A JSON object.
        """
        from shlo_disc.profiling.data import as_json  # noqa: PLC0415

        return as_json(self)

    def chrome_trace(self) -> str:
        """One call as a trace, in the Trace Event Format that Perfetto and chrome://tracing read.

        Returns:
            A JSON object.
        """
        from shlo_disc.profiling.trace import chrome_trace  # noqa: PLC0415

        return chrome_trace(self)

    def selection_trace(self) -> str:
        """How each product, or variant of a kernel, was chosen: the candidates, and what was predicted and measured.

        Returns:
            Lines of text for a terminal.
        """
        from shlo_disc.profiling.text import selections  # noqa: PLC0415

        return selections(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, in the form that the name asks for.

        Args:
            path: the file: `.html`, `.trace.json` or `.json`.

        Raises:
            ShloDiscError: another suffix.
            OSError: it cannot be written.
        """
        from shlo_disc.profiling.data import text_for  # noqa: PLC0415

        path = Path(path)
        path.write_text(text_for(self, path.name), encoding="utf-8", errors="backslashreplace")
