"""Programs of every elementwise op on one element type, of arguments, of constants, and in regions."""

from __future__ import annotations

from collections.abc import Iterator

from shlo_disc.diagnostics import CompileError
from shlo_disc.functions.table import FUNCTIONS
from shlo_disc.ir.dtypes import DType
from shlo_disc.legalize import rules_broadcasting, rules_elementwise
from shlo_disc.legalize.legalize import legalize
from shlo_disc.parse.parser import parse_module
from shlo_disc.verify.ops import verify


def _plain_name(name: str) -> str:
    return name.split(".")[1].removeprefix("broadcast_")


_OTHER_FORMS = {"constant", "constant_like", "convert", "select", "clamp", "compare", "reduce_precision", "complex",
                "bitcast_convert", "get_dimension_size"}  # fmt: skip
_TWO = {function.name for function in FUNCTIONS if function.arity == 2}
NAMES = sorted(
    name for name in (*rules_elementwise.RULES, *rules_broadcasting.RULES) if _plain_name(name) not in _OTHER_FORMS
)


def _spelled(name: str, dtype: DType, x: str, y: str, type_: str) -> Iterator[str]:
    """The op with results of the operands' type, of a truth, or of a complex number's part."""
    operands = (x, y) if _plain_name(name) in _TWO else (x,)
    result = type_.removesuffix(f"{dtype.value}>")
    for kind in dict.fromkeys((dtype.value, "i1", dtype.part.value)):
        types = ", ".join([type_] * len(operands))
        yield f'"{name}"({", ".join(operands)}) : ({types}) -> {result}{kind}>'


def main(dtype: DType, ops: list[str], shape: str = "3x") -> str:
    """A function of `%x` and `%y` that returns the results of ops, by number."""
    lines, types = [f"  %{k} = {op}" for k, op in enumerate(ops)], [op.rpartition("-> ")[2] for op in ops]
    x, results = f"tensor<{shape}{dtype.value}>", ", ".join(types)
    constant = f'  %c = "stablehlo.constant"() <{{value = dense<{_one(dtype)}> : {x}}}> : () -> {x}'
    scalar = f"tensor<{dtype.value}>"
    start = f'  %s = "stablehlo.constant"() <{{value = dense<{_one(dtype)}> : {scalar}}}> : () -> {scalar}'
    back = f"  return {', '.join(f'%{k}' for k in range(len(ops)))} : {results}"
    return "\n".join([f"func.func @main(%x: {x}, %y: {x}) -> ({results}) {{", constant, start, *lines, back, "}"])


def _one(dtype: DType) -> str:
    if dtype.is_bool:
        return "true"
    return "(1.0, 0.0)" if dtype.is_complex else "1.0" if dtype.is_float else "1"


def _in_region(name: str, dtype: DType) -> Iterator[str]:
    """The op as what a reduction, and a scan, combine by."""
    scalar, x = f"tensor<{dtype.value}>", f"tensor<3x{dtype.value}>"
    if _plain_name(name) not in _TWO:
        return
    body = f'^bb0(%a: {scalar}, %b: {scalar}):\n    %r = "{name}"(%a, %b) : ({scalar}, {scalar}) -> {scalar}'
    region = f'({{\n  {body}\n    "stablehlo.return"(%r) : ({scalar}) -> ()\n  }})'
    yield f'"stablehlo.reduce"(%x, %s) <{{dimensions = array<i64: 0>}}> {region} : ({x}, {scalar}) -> {scalar}'
    window = "padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>"
    yield f'"stablehlo.reduce_window"(%x, %s) <{{{window}}}> {region} : ({x}, {scalar}) -> {x}'


def _is_accepted(dtype: DType, op: str, shape: str = "3x") -> bool:
    try:
        module = parse_module(main(dtype, [op], shape))
        verify(module)
        legalize(module)
    except CompileError:
        return False
    return True


def accepted(dtype: DType) -> list[str]:
    """The ops that are not refused, in all forms."""
    type_ = f"tensor<3x{dtype.value}>"
    texts = [
        text
        for name in NAMES
        for text in (
            *_spelled(name, dtype, "%x", "%y", type_),
            *_spelled(name, dtype, "%c", "%c", type_),
            *_in_region(name, dtype),
        )
    ]
    return [text for text in texts if _is_accepted(dtype, text)]


def accepted_of_scalars(dtype: DType) -> list[str]:
    """The ops of arguments that are not refused, of rank 0."""
    texts = [text for name in NAMES for text in _spelled(name, dtype, "%x", "%y", f"tensor<{dtype.value}>")]
    return [text for text in texts if _is_accepted(dtype, text, "")]
