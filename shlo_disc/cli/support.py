"""Which ops of a program run on which target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from shlo_disc.diagnostics import CompileError
from shlo_disc.ir.attributes import (
    SHAPE,
    SIZE,
    WITNESS,
    QuantizedTensorType,
    ScalarType,
    TensorType,
    TokenType,
    TupleType,
    Type,
)
from shlo_disc.ir.core import Module, Op
from shlo_disc.ir.dtypes import DType
from shlo_disc.ir.spelling import spell_type
from shlo_disc.ir.verify import TERMINATORS
from shlo_disc.legalize.legalize import missing_rule
from shlo_disc.pipeline import Request, Stopwatch, compile_module
from shlo_disc.records import record
from shlo_disc.targets import target_named


@record
class Support:
    """Whether one target compiles a program, or the error with which it refuses that."""

    error: CompileError | None
    obstacles: Mapping[Op, str]  # why an op does not run


def find_support(module: Module, target: str) -> Support:
    """Compile a program for a target up to generated text, which needs neither a compiler nor a device.

    If that succeeds, all of its ops run. If not, those ops do not run that have no rule, or types that the target
    lacks, and the one that the error is about; of the others it is only known that nothing is missing for them.
    """
    try:
        compile_module(module, Request(target), Stopwatch())
    except CompileError as error:
        refused = {op: error.message for op in module.walk() if op.span == error.span}
        return Support(error, refused | dict(_obstacles(module, target)))
    return Support(None, {})


def _element_types(type_: Type) -> frozenset[DType | None]:
    """The dtypes of a value's elements; for a quantized tensor, of the stored and of the expressed numbers."""
    match type_:
        case TensorType():
            return frozenset({type_.dtype})
        case QuantizedTensorType():
            return frozenset({type_.element.storage, type_.element.expressed})
        case TupleType():
            return frozenset(one for member in type_.members for one in _element_types(member))
        case TokenType():
            return frozenset()
        case ScalarType(dtype):
            return frozenset({dtype})
        case _ if type_ in (SHAPE, SIZE, WITNESS):
            return frozenset()
        case _:
            return frozenset({None})


def _obstacles(module: Module, target: str) -> Iterator[tuple[Op, str]]:
    spelling = target_named(target).generator().spelling
    known = {*spelling.memory, DType.INDEX}  # sizes are computed before code is generated
    for op in module.walk():
        if op.name in TERMINATORS:
            continue
        types = [value.type for value in (*op.operands, *op.results)]
        strange = [type_ for type_ in types if not _element_types(type_) <= known]
        if reason := missing_rule(op):
            yield op, reason
        elif strange:
            yield op, f"no values of type {spell_type(strange[0])}"
