"""The analysis as text: verdicts, chains of ops, assumptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shlo_disc.diagnostics import Span, one_line
from shlo_disc.ragged.program import ProgramAnalysis, RaggedSize
from shlo_disc.ragged.states import Cause

_SHOWN = 3  # ops of a chain on each side of the one that leaks

Origin = Callable[[Span], str]  # the user's line of a place in the program, or the place itself


def chain_of(cause: Cause) -> list[Cause]:
    """The causes from the padding of an argument to a result."""
    found = [cause]
    while (before := found[-1].before) is not None:
        found.append(before)
    return found[::-1]


def spans_of(analysis: ProgramAnalysis) -> set[Span]:
    """The places that `explained` names."""
    chains = [chain_of(verdict.cause) for verdict in analysis.verdicts if verdict.cause is not None]
    found = {cause.span for chain in chains for cause in chain}
    return found | {each.op.span for each in analysis.assumptions}


def error_text(number: int, cause: Cause, names: Sequence[str], origin: Origin) -> str:
    """Why a result is not proven: the chain of ops from the padding to it."""
    chain = chain_of(cause)
    leak = next((k for k, each in enumerate(chain) if each.leaks), len(chain) - 1)
    lines = [f"result {number}: elements within the lengths may depend on the padding"]
    for at, each in enumerate(chain):
        if at not in (0, leak, len(chain) - 1) and not leak - _SHOWN < at < leak + _SHOWN:
            if lines[-1] != "  ...":
                lines.append("  ...")
            continue
        lines.append(f"  {origin(each.span)}: {_said(each, names, is_leak=each.leaks and at == leak)}")
    lines.append("  help: mask what the marked op reads: select 0 before a sum, -inf before a maximum or a softmax,")
    lines.append("  with `position < length` as the condition")
    return "\n".join(lines)


def _said(cause: Cause, names: Sequence[str], *, is_leak: bool) -> str:
    if cause.before is None:
        number = int(cause.what.rpartition(" ")[2])
        return f"the padding of argument {one_line(names[number])}"
    return f"{cause.what}: elements within the lengths read elements beyond them  <---" if is_leak else cause.what


def explained(analysis: ProgramAnalysis, names: Sequence[str], origin: Origin) -> str:
    """What is proven, on which assumptions, and what is not."""
    lines = [size_text(each, names) for each in analysis.sizes]
    if analysis.least and analysis.is_proven:
        lines.append(f"holds for lengths of at least {analysis.least}")
    for number, verdict in enumerate(analysis.verdicts):
        if verdict.cause is None:
            lines.append(f"result {number}: elements within the lengths are independent of the padding")
        else:
            lines.append(error_text(number, verdict.cause, names, origin))
    return "\n".join([*lines, *assumption_texts(analysis, origin)])


def assumption_texts(analysis: ProgramAnalysis, origin: Origin) -> Iterator[str]:
    """The assumptions of the proof about elements."""
    for each in analysis.assumptions:
        what = each.op.name.removeprefix("d_")
        limit = -each.least / 4
        yield (
            f"assumes at {origin(each.op.span)}, {what}: without the mask {each.least:.6g}, the elements that it "
            f"masks, and the greatest element of each row, are from {-limit:.3g} to {limit:.3g}"
        )


def size_text(size: RaggedSize, names: Sequence[str]) -> str:
    """Which size is ragged, and where its lengths are."""
    name = one_line(names[size.argument])
    said = f"ones of {name}" if size.is_mask else name
    return f"ragged: {size.name} is as long as {said} says in each row of {size.batch}"
