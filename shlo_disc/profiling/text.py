"""A profile as a table for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from shlo_disc.diagnostics import counted, one_line, printable
from shlo_disc.profiling.profile import Profile, StepProfile
from shlo_disc.runtime.selection import SelectionTrace

TITLES = (
    "step",
    "kind",
    "us",
    "share",
    "runs",
    "threads",
    "bytes",
    "GB/s",
    "MFLOP",
    "GFLOP/s",
    "of limit",
    "kernel",
    "line",
)
_WORDS = (1, len(TITLES) - 2, len(TITLES) - 1)  # columns that are aligned to the left
_LONGEST = 40  # of the name of a kernel


def table(profile: Profile) -> str:
    """The steps in the order of the program, below the sizes and above the sums."""
    steps = [(step.part, [tuple(row(profile, step)), *_alone(step)]) for step in profile.steps]
    every = [TITLES, *(cells for _, rows in steps for cells in rows)]
    widths = [max(len(cells[k]) for cells in every) for k in range(len(TITLES))]
    lines, last = ["  ".join(_aligned(TITLES, widths)).rstrip()], ""
    for part, rows in steps:
        lines += [] if part == last else [one_line(part)]
        lines += ["  ".join(_aligned(cells, widths)).rstrip() for cells in rows]
        last = part
    return printable("\n".join([*heading(profile), "", *lines, "", *sums(profile)]))


def heading(profile: Profile) -> Iterator[str]:
    """What was measured where."""
    sizes = ", ".join(f"{name}={value}" for name, value in profile.sizes.items()) or "constant sizes"
    where = f"{profile.machine}, {counted(profile.threads, 'thread')}"
    yield f"{one_line(profile.program)} at {sizes}: {counted(profile.repeat, 'call')} on {where}"


def row(profile: Profile, step: StepProfile) -> Iterator[str]:
    """A cell for each of `TITLES`."""
    yield str(step.number)
    yield step.kind
    yield f"{step.seconds.least * 1e6:.2f}"
    yield f"{profile.share(step):.1%}"
    yield str(step.runs)
    yield str(step.threads)
    yield str(step.moved) if step.moved else "-"
    yield f"{step.bytes_per_second * 1e-9:.2f}" if step.moved else "-"
    yield f"{step.flops * 1e-6:.3g}" if step.flops else "-"
    yield f"{step.flops_per_second * 1e-9:.2f}" if step.flops else "-"
    limit = profile.of_limit(step)
    yield "-" if limit is None else f"{limit:.0%} {profile.bound(step)}"
    yield step.name if len(step.name) <= _LONGEST else f"{step.name[: _LONGEST - 3]}..."
    more = f" and {len(step.lines) - 1} more" if len(step.lines) > 1 else ""
    yield f"{one_line(step.line)}{more}"


def _alone(step: StepProfile) -> Iterator[tuple[str, ...]]:
    """A row for each launch of a launch group, with its time alone."""
    for member in step.members:
        cells = ["", "  alone", f"{member.seconds * 1e6:.2f}", *[""] * (len(TITLES) - 5)]
        yield (*cells, f"  {member.kernel}", one_line(member.lines[-1]) if member.lines else "")


def sums(profile: Profile) -> Iterator[str]:
    """All steps together, the whole call, and the limits of the machine."""
    whole = profile.whole
    times = f"{whole.least * 1e6:.2f} us at least, {whole.median * 1e6:.2f} us in the median"
    yield f"steps {profile.seconds * 1e6:.2f} us; a call {times}"
    if (rates := profile.rates) is not None:
        copies = ", ".join(f"{rate * 1e-9:.0f} GB/s within {size >> 10} KiB" for size, rate in rates.copies)
        yield f"limits of {counted(rates.threads, 'thread')}: copies {copies}"
        flops = ", ".join(f"{rate * 1e-9:.0f} GFLOP/s in {name}" for name, rate in rates.flops.items())
        yield f"  multiply-adds {flops}"


def selections(profile: Profile) -> str:
    """How each product, or variant of a kernel, was chosen."""
    found = [line for step in profile.steps for one in step.selections for line in _selection(step, one)]
    return printable("\n".join(found or ["no step had a choice"]))


def _selection(step: StepProfile, one: SelectionTrace) -> Iterator[str]:
    m, n, k, batch = one.sizes or (0, 0, 0, 0)
    shape = f": {f'{batch} times ' if batch != 1 else ''}{m} x {n} x {k}" if one.sizes else ""
    yield f"step {step.number}, {one.what}{shape}"
    yield f"  {one.chosen or 'the prelude chose'}, {one.why}"
    shares = [f"padding {one.padding:.1%}"] if one.padding is not None else []
    shares += [f"occupancy {one.occupancy:.0%}"] if one.occupancy is not None else []
    shares += [f"predicted {_predicted(one, one.predicted)}"] if one.predicted is not None else []
    each = step.seconds.least / max(1, step.runs)
    several = f" with the {len(step.selections)} of its launch" if len(step.selections) > 1 else ""
    yield "  " + ", ".join([*shares, f"measured {each * 1e6:.2f} us{several}"])
    for option in one.options:
        told = option.refusal if option.predicted is None else _predicted(one, option.predicted)
        yield f"    {'*' if option.name == one.chosen else ' '} {option.name}: {told}"


def _predicted(one: SelectionTrace, value: float) -> str:
    return f"{value * 1e6:.2f} us" if one.unit == "s" else f"{value:.0f} {one.unit}"


def _aligned(row: Sequence[str], widths: Sequence[int]) -> Iterator[str]:
    for k, (cell, width) in enumerate(zip(row, widths, strict=True)):
        yield cell.ljust(width) if k in _WORDS else cell.rjust(width)
