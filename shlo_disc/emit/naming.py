"""The names of kernels, and the comments above them."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Generator
from contextlib import contextmanager

from shlo_disc.diagnostics import InternalError, UnsupportedOpError
from shlo_disc.dynamic_ops.program import Program
from shlo_disc.emit.remarks import remark
from shlo_disc.ir.dtypes import DType
from shlo_disc.kernels.groups import Group, GroupKind

NAME = "@name"  # placeholder for a kernel's name, until its text is known to be new


def title(group: Group) -> str:
    """A kernel is named after the op it is built around, or the op of its first result."""
    if group.kind in (GroupKind.ATTENTION, GroupKind.ATTENTION_BACKWARD, GroupKind.PARALLEL):
        return group.kind.value.replace(", ", "_")
    named = group.anchor or next(op for op in reversed(group.ops) if group.roots[0] in op.results)
    return named.name.removeprefix("d_")


@contextmanager
def blamed_on(group: Group) -> Generator[None]:
    """Add the kernel's title and results to an internal error that is raised inside."""
    try:
        yield
    except InternalError as error:
        results = ", ".join(map(repr, group.roots))
        raise InternalError(f"kernel {title(group)} -> {results}: {error}") from error


def comment(group: Group, *, packs: bool = False) -> str:
    """The comment above a kernel: what it computes, or the kernel whose operand it packs."""
    rows = "" if group.rows is None else f", one row per [{', '.join(map(str, group.rows))}]"
    made = f"{remark(group.kind.value + rows)} -> {', '.join(map(remark, group.roots))}"
    if packs:
        return "// packs an operand of: " + made
    head = "// " + made
    ops = textwrap.wrap(" ".join(op.name for op in group.ops), 110)
    return "\n".join([head, *(f"//   {remark(line)}" for line in ops)])


def require_types(program: Program, known: Collection[DType], target: str) -> None:
    """Refuse a program with an element type that the generated code of `target` cannot hold yet."""
    made = [(t, op.span) for op in program.body.walk() for t in op.results]
    for tensor, span in [*((p.tensor, p.tensor.span) for p in program.parameters), *made]:
        if tensor.dtype not in known:
            raise UnsupportedOpError(
                f"found elements of type {tensor.dtype.value}, expected one of those the {target} target has",
                span,
                hint=f"convert to one of {', '.join(d.value for d in known)}",
            )
