"""Arguments, results and size checks of a program: the part of an artifact that callers see."""

from __future__ import annotations

from shlo_disc.records import record
from shlo_disc.size_expr import SizeExpr


@record
class Argument:
    """One array the program takes. `shape` has an int per static dim and the name of a raw symbol per dynamic one."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]


@record
class Result:
    """One array the program returns."""

    dtype: str
    shape: tuple[SizeExpr, ...]


@record
class UnbackedSize:
    """An element (row-major) of an integer argument whose value decides sizes."""

    argument: int
    element: int


@record
class Donation:
    """An argument whose memory a call overwrites, and the result that it holds in the end, if any."""

    argument: int
    result: int | None = None


@record
class CheckText:
    """A check of sizes. `message` may hold placeholders `{0}` … for `values`; `where` is the demanding line."""

    lhs: SizeExpr
    relation: str
    rhs: SizeExpr
    message: str
    values: tuple[SizeExpr, ...]
    where: str


@record
class SizeLimit:
    """The product of `dims` (those of size 0 left out) and `unit` has to be at most 2**63 - 1.

    `what` names the value that has these dims, `where` is the line that computes it.
    """

    dims: tuple[SizeExpr, ...]
    unit: int
    what: str
    where: str
