"""Op families of rare forms: deprecated ops, CHLO's broadcasting ops, tuples, collectives of one participant."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, is_fixed, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.check.generate.elements import is_float, literal, partner
from shlo_disc.expr.dim import const
from shlo_disc.ir.dtypes import DType

_FLOAT = ("add", "subtract", "multiply", "divide", "maximum", "minimum", "atan2")
_INTEGER = (
    "add", "subtract", "multiply", "divide", "remainder", "maximum", "minimum", "and", "or", "xor", "shift_left",
    "shift_right_arithmetic", "shift_right_logical",
)  # fmt: skip


def broadcasting(b: ProgramBuilder) -> bool:
    """A binary CHLO op that broadcasts values of different ranks, or a comparison and a select."""
    x = b.pick(lambda v: len(v.shape) >= 1 and (is_float(v) or (v.dtype.is_integer and v.dtype.bits >= 8)))
    if x is None:
        return False
    y = b.pick(lambda v: v.dtype is x.dtype and v.shape == x.shape[len(x.shape) - len(v.shape) :])
    if y is None or y is x:
        y = b.splat(literal(b, x.dtype), x.dtype)
    truth = spell(x.shape, DType.I1)
    if chance(b.choices, 3):
        direction = pick(b.choices, ("LT", "NE", "GE"))
        text = f"chlo.broadcast_compare {x.name}, {y.name} {{comparison_direction = #chlo<comparison_direction "
        found = b.op(f"{text}{direction}>}} : ({x.type}, {y.type}) -> {truth}", x.shape, DType.I1)
        types = f"({found.type}, {x.type}, {y.type}) -> {x.type}"
        b.op(f"chlo.broadcast_select {found.name}, {x.name}, {y.name} : {types}", x.shape, x.dtype)
        return True
    name = pick(b.choices, _FLOAT if x.dtype.is_float else _INTEGER)
    b.op(f"chlo.broadcast_{name} {x.name}, {y.name} : ({x.type}, {y.type}) -> {x.type}", x.shape, x.dtype)
    return True


def like(b: ProgramBuilder) -> bool:
    """A constant of the shape of another value."""
    x = b.pick(lambda v: v.dtype in (DType.F32, DType.F64, DType.I32))
    if x is None:
        return False
    number = f"3 : {x.dtype.value}" if x.dtype.is_integer else f"2.500000e-01 : {x.dtype.value}"
    same = b.quiet(f'"chlo.constant_like"({x.name}) <{{value = {number}}}> : ({x.type}) -> {x.type}', x.shape, x.dtype)
    b.op(f"stablehlo.add {same.name}, {x.name} : {x.type}", x.shape, x.dtype)
    return True


def fenced(b: ProgramBuilder) -> bool:
    """Two values behind an optimization barrier."""
    x, y = (b.pick(lambda _: True) for _ in range(2))
    if x is None or y is None:
        return False
    made = b.fresh()
    b.line(f"{made}:2 = stablehlo.optimization_barrier {x.name}, {y.name} : {x.type}, {y.type}")
    b.values += [ProgramValue(f"{made}#{k}", v.shape, v.dtype) for k, v in enumerate((x, y))]
    return True


def packed(b: ProgramBuilder) -> bool:
    """A value put into a tuple, and taken out."""
    x, y = (b.pick(lambda _: True) for _ in range(2))
    if x is None or y is None:
        return False
    pair = b.fresh()
    types = f"tuple<{x.type}, {y.type}>"
    b.line(f"{pair} = stablehlo.tuple {x.name}, {y.name} : {types}")
    number = b.choices.below(2)
    taken = (x, y)[number]
    b.op(f"stablehlo.get_tuple_element {pair}[{number}] : ({types}) -> {taken.type}", taken.shape, taken.dtype)
    return True


def _has_known_form(b: ProgramBuilder, x: ProgramValue) -> bool:
    """Whether an op without a dynamic form may take a value: XLA infers its shape only if sizes are fixed."""
    return b.beyond_xla or is_fixed(x.shape)


def selected(b: ProgramBuilder) -> bool:
    """A torch_index_select."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 3 and bool(v.shape[0].constant) and _has_known_form(b, v))
    if x is None:
        return False
    rows = b.pick(lambda v: v.dtype in (DType.I32, DType.I64) and len(v.shape) == 1 and _has_known_form(b, v))
    if rows is None:
        rows = b.quiet("stablehlo.constant dense<[1, 0, 2]> : tensor<3xi32>", (const(3),), DType.I32)
    zero, most = (b.splat(str(n), rows.dtype) for n in (0, (x.shape[0].constant or 1) - 1))
    types = f"({zero.type}, {rows.type}, {most.type}) -> {rows.type}"
    rows = b.quiet(f"stablehlo.clamp {zero.name}, {rows.name}, {most.name} : {types}", rows.shape, rows.dtype)
    shape = (*rows.shape, *x.shape[1:])
    b.op(
        f'"stablehlo.torch_index_select"({x.name}, {rows.name}) <{{batch_dims = 0 : i64, dim = 0 : i64}}> : '
        f"({x.type}, {rows.type}) -> {spell(shape, x.dtype)}",
        shape,
        x.dtype,
    )
    return True


def einsum(b: ProgramBuilder) -> bool:
    """An einsum of two operands, or of one: a sum or a transposition."""
    x = b.pick(lambda v: len(v.shape) == 2 and v.dtype in (DType.F32, DType.F64) and _has_known_form(b, v))
    if x is None:
        return False
    m, k = x.shape
    y = b.pick(lambda v: len(v.shape) == 2 and v.dtype is x.dtype and v.shape[0] == k and _has_known_form(b, v))
    if y is None or chance(b.choices, 3):
        shape, config = pick(b.choices, (((k, m), "ab->ba"), ((k,), "ab->b"), ((m,), "ab->a")))
        text = f'"stablehlo.unary_einsum"({x.name}) <{{einsum_config = "{config}"}}> : ({x.type}) -> '
    else:
        n = y.shape[1]
        shape, config = pick(b.choices, (((m, n), "ab,bc->ac"), ((n, m), "ab,bc->ca")))
        text = f'"stablehlo.einsum"({x.name}, {y.name}) <{{einsum_config = "{config}"}}> : ({x.type}, {y.type}) -> '
    b.op(text + spell(shape, x.dtype), shape, x.dtype)
    return True


def older(b: ProgramBuilder) -> bool:
    """A deprecated dot or broadcast, or an if."""
    kind = pick(b.choices, ("dot", "broadcast", "if"))
    if kind == "dot":
        x = b.pick(lambda v: len(v.shape) == 2 and v.dtype in (DType.F32, DType.F64))
        if x is None:
            return False
        y = b.pick(lambda v: len(v.shape) <= 2 and v.dtype is x.dtype and v.shape[:1] == x.shape[1:])
        if y is None:
            return False
        shape = (x.shape[0], *y.shape[1:])
        text = f"stablehlo.dot {x.name}, {y.name} : ({x.type}, {y.type}) -> {spell(shape, x.dtype)}"
        b.op(text, shape, x.dtype)
        return True
    if kind == "broadcast":
        x = b.pick(lambda v: len(v.shape) <= 2)
        if x is None:
            return False
        shape = (const(2), *x.shape)
        b.op(f"stablehlo.broadcast {x.name}, sizes = [2] : ({x.type}) -> {spell(shape, x.dtype)}", shape, x.dtype)
        return True
    x = b.pick(lambda v: is_float(v) and _has_known_form(b, v))
    if x is None:
        return False
    truth = b.pick(lambda v: v.dtype.is_bool and not v.shape) or b.splat(literal(b, DType.I1), DType.I1)
    y, made, first = partner(b, x), b.fresh(), b.fresh()
    b.line(
        f'{made} = "stablehlo.if"({truth.name}) ({{\n'
        f"  {first} = stablehlo.abs {x.name} : {x.type}\n"
        f"  stablehlo.return {first} : {x.type}\n"
        f"}}, {{\n"
        f"  stablehlo.return {y.name} : {x.type}\n"
        f"}}) : (tensor<i1>) -> {x.type}"
    )
    b.values.append(ProgramValue(made, x.shape, x.dtype))
    return True


def alone(b: ProgramBuilder) -> bool:
    """An all_reduce over the only participant, or its replica or partition id."""
    x = b.pick(lambda v: v.dtype in (DType.F32, DType.I32))
    if x is None:
        return False
    if chance(b.choices, 3):
        b.op(f"stablehlo.{pick(b.choices, ('replica_id', 'partition_id'))} : tensor<ui32>", (), DType.UI32)
        return True
    scalar, n = spell((), x.dtype), [b.fresh() for _ in range(3)]
    b.op(
        f'"stablehlo.all_reduce"({x.name}) <{{replica_groups = dense<0> : tensor<1x1xi64>}}> ({{\n'
        f"^bb0({n[0]}: {scalar}, {n[1]}: {scalar}):\n"
        f"  {n[2]} = stablehlo.add {n[0]}, {n[1]} : {scalar}\n"
        f"  stablehlo.return {n[2]} : {scalar}\n"
        f"}}) : ({x.type}) -> {x.type}",
        x.shape,
        x.dtype,
    )
    return True


FAMILIES = (broadcasting, broadcasting, like, fenced, packed, selected, einsum, older, alone)
