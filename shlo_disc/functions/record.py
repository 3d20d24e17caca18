"""The definition of an elementwise function as one frozen record."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY
from enum import StrEnum

from shlo_disc.functions.references.reference import Reference
from shlo_disc.ir.dtypes import Array
from shlo_disc.ir.type_kind import TypeKind
from shlo_disc.records import record

# The kinds of elements that StableHLO's specification groups for these functions.
BITS = TypeKind.BOOL | TypeKind.INTEGER
REALS = TypeKind.FLOAT | TypeKind.PER_TENSOR
ANALYTIC = REALS | TypeKind.COMPLEX
SIGNED = ANALYTIC | TypeKind.SIGNED
NUMBERS = ANALYTIC | TypeKind.INTEGER
FLOAT_OR_COMPLEX = TypeKind.FLOAT | TypeKind.COMPLEX


class Prefix(StrEnum):
    """The prefix of a function's name in the name of an op."""

    STABLEHLO = "stablehlo."
    CHLO = "chlo."
    BROADCASTING = "chlo.broadcast_"


@record(kw_only=True)
class DialectOp:
    """An op of a dialect that computes a function.

    `prefix` and the function's name are its name. `takes`: the kinds of all operands; `gives`: those of the result,
    which has the operands' type if it is None. `operands`, `result`: their names in errors; by default operands are
    `operand`, or `lhs` and `rhs`. `accuracy`: a program may request a `result_accuracy`.
    """

    prefix: Prefix
    takes: TypeKind
    gives: TypeKind | None = None
    operands: tuple[str, ...] = ()
    result: str = "result"
    accuracy: bool = False


def stablehlo(
    takes: TypeKind,
    *,
    gives: TypeKind | None = None,
    operands: tuple[str, ...] = (),
    result: str = "result",
    accuracy: bool = False,
) -> DialectOp:
    """Declare the op of StableHLO."""
    return DialectOp(
        prefix=Prefix.STABLEHLO, takes=takes, gives=gives, operands=operands, result=result, accuracy=accuracy
    )


def chlo(takes: TypeKind, *, gives: TypeKind | None = None, operands: tuple[str, ...] = ()) -> DialectOp:
    """Declare the op of CHLO."""
    return DialectOp(prefix=Prefix.CHLO, takes=takes, gives=gives, operands=operands)


def broadcasting(takes: TypeKind, *, gives: TypeKind | None = None) -> DialectOp:
    """Declare the op of CHLO that broadcasts its two operands first."""
    return DialectOp(prefix=Prefix.BROADCASTING, takes=takes, gives=gives)


@record(eq=False)
class Elementwise:
    """A function of the elements at one index.

    `arity`: how many elements it takes, 1 or 2. `ops` are those of the dialects that compute it. `reference` is written
    independently of the function's element rule and of `evaluate`: the oracle; it also determines for which kinds of
    elements the function is defined. `exact`: nothing is rounded, in any implementation. `cost`: of an element,
    relative to an addition in a CPU's vector unit; approximate, only their order matters.
    """

    name: str
    _: KW_ONLY
    ops: tuple[DialectOp, ...]
    reference: Reference
    arity: int = 1
    exact: bool = False
    cost: float = 1.0


@record(eq=False)
class ElementFunction(Elementwise):
    """An elementwise function that is a node of element formulas.

    `code` is the function of the device headers (`device/math`, `device/values`) that generated code calls, overloaded
    by type. `evaluate` computes it with NumPy, of arrays of one type; its result may be wider than the op's.
    """

    code: str
    evaluate: Callable[..., Array]
