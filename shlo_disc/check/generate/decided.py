"""Op families with unbacked sizes, which XLA cannot run: counts, filters, loops and branches that change sizes."""

from __future__ import annotations

from collections.abc import Sequence

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, spell
from shlo_disc.check.generate.choices import pick
from shlo_disc.expr.dim import Dim, const, symbol
from shlo_disc.ir.dtypes import DType

_MOST = 6  # of a size that data decides


def _decided(b: ProgramBuilder) -> Dim:
    """A new unbacked size."""
    return symbol(f"d{b.fresh()[1:]}")


def _count(b: ProgramBuilder) -> ProgramValue:
    """A scalar from 0 to `_MOST`, computed from any integers there are, to be used as a size."""
    found = b.pick(lambda v: v.dtype is DType.I32 and not v.shape)
    if found is None:
        of = b.pick(lambda v: v.dtype is DType.I32 and len(v.shape) >= 1)
        found = b.splat("3", DType.I32) if of is None else _summed(b, of)
    bounds = [b.splat(str(number), DType.I32) for number in (0, _MOST)]
    text = f"stablehlo.clamp {bounds[0].name}, {found.name}, {bounds[1].name} : tensor<i32>"
    return b.quiet(text, (), DType.I32)


def _summed(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    zero = b.splat("0", x.dtype)
    text = (
        f"stablehlo.reduce({x.name} init: {zero.name}) applies stablehlo.add across dimensions = "
        f"{list(range(len(x.shape)))} : ({x.type}, {zero.type}) -> {spell((), x.dtype)}"
    )
    return b.quiet(text, (), x.dtype)


def _vector(b: ProgramBuilder, sizes: Sequence[ProgramValue]) -> ProgramValue:
    ones = [b.quiet(f"stablehlo.reshape {x.name} : ({x.type}) -> tensor<1xi32>", (const(1),), DType.I32) for x in sizes]
    names, types = ", ".join(x.name for x in ones), ", ".join(x.type for x in ones)
    shape = (const(len(ones)),)
    text = f"stablehlo.concatenate {names}, dim = 0 : ({types}) -> {spell(shape, DType.I32)}"
    return b.quiet(text, shape, DType.I32)


def counted(b: ProgramBuilder) -> bool:
    """An iota, broadcast, pad or slice, with a computed number as its size."""
    size, number = _decided(b), _count(b)
    x = b.pick(lambda v: len(v.shape) == 1 and not v.dtype.is_bool)
    kind = pick(b.choices, ("iota", "broadcast", "pad", "slice"))
    if kind == "iota" or x is None:
        dtype = pick(b.choices, (DType.I32, DType.F32, DType.I64))
        sizes, shape = _vector(b, [number, b.splat("2", DType.I32)]), (size, const(2))
        text = f"stablehlo.dynamic_iota {sizes.name}, dim = {b.choices.below(2)} : ({sizes.type}) -> "
        b.op(text + spell(shape, dtype), shape, dtype)
    elif kind == "broadcast":
        shape = (size, *x.shape)
        sizes = _vector(b, [number, b.size(x.shape[0])])
        text = f"stablehlo.dynamic_broadcast_in_dim {x.name}, {sizes.name}, dims = [1] : ({x.type}, {sizes.type}) -> "
        b.op(text + spell(shape, x.dtype), shape, x.dtype)
    elif kind == "pad":
        value = b.splat("(0.0, 0.0)" if x.dtype.is_complex else "0" if x.dtype.is_integer else "0.0", x.dtype)
        zero = b.splat("0", DType.I32)
        given = [x, value, *[_vector(b, [n]) for n in (number, zero, zero)]]
        _named(b, "dynamic_pad", given, (size,), x.dtype)
    else:
        zero, one = (_vector(b, [b.splat(n, DType.I32)]) for n in ("0", "1"))
        length = b.size(x.shape[0])
        least = b.quiet(f"stablehlo.minimum {number.name}, {length.name} : tensor<i32>", (), DType.I32)
        _named(b, "real_dynamic_slice", [x, zero, _vector(b, [least]), one], (size,), x.dtype)
    return True


def _named(b: ProgramBuilder, name: str, operands: Sequence[ProgramValue], shape: Shape, dtype: DType) -> ProgramValue:
    names, types = ", ".join(x.name for x in operands), ", ".join(x.type for x in operands)
    return b.op(f"stablehlo.{name} {names} : ({types}) -> {spell(shape, dtype)}", shape, dtype)


def filtered(b: ProgramBuilder) -> bool:
    """The elements of a vector that exceed a constant, in their order."""
    x = b.pick(lambda v: len(v.shape) == 1 and (v.dtype.is_float or v.dtype.is_integer) and v.dtype.bits >= 8)
    if x is None:
        return False
    least = b.splat("0" if x.dtype.is_integer else "1.000000e+00", x.dtype, x.shape)
    truth = spell(x.shape, DType.I1)
    text = f"stablehlo.compare GT, {x.name}, {least.name} : ({x.type}, {least.type}) -> {truth}"
    kept = b.quiet(text, x.shape, DType.I1)
    count = _true_ones(b, kept)
    made, scalar, n = b.fresh(), spell((), x.dtype), [b.fresh() for _ in range(5)]
    b.line(
        f'{made}:2 = "stablehlo.sort"({kept.name}, {x.name}) <{{dimension = 0 : i64, is_stable = true}}> ({{\n'
        f"^bb0({n[0]}: tensor<i1>, {n[1]}: tensor<i1>, {n[2]}: {scalar}, {n[3]}: {scalar}):\n"
        f"  {n[4]} = stablehlo.compare GT, {n[0]}, {n[1]} : (tensor<i1>, tensor<i1>) -> tensor<i1>\n"
        f"  stablehlo.return {n[4]} : tensor<i1>\n"
        f"}}) : ({truth}, {x.type}) -> ({truth}, {x.type})"
    )
    ordered = ProgramValue(f"{made}#1", x.shape, x.dtype)
    zero, one = (_vector(b, [b.splat(number, DType.I32)]) for number in ("0", "1"))
    _named(b, "real_dynamic_slice", [ordered, zero, _vector(b, [count]), one], (_decided(b),), x.dtype)
    return True


def _true_ones(b: ProgramBuilder, x: ProgramValue) -> ProgramValue:
    text = f"stablehlo.convert {x.name} : ({x.type}) -> {spell(x.shape, DType.I32)}"
    return _summed(b, b.quiet(text, x.shape, DType.I32))


def tied(b: ProgramBuilder) -> bool:
    """An unbacked size that has to equal an argument's, or to fit into twice of it; NaNs make it smaller."""
    x = b.pick(lambda v: len(v.shape) == 1 and v.dtype.is_float and v.shape[0].constant is None)
    if x is None:
        return False
    truth = spell(x.shape, DType.I1)
    count = _true_ones(
        b, b.quiet(f"stablehlo.compare EQ, {x.name}, {x.name} : ({x.type}, {x.type}) -> {truth}", x.shape, DType.I1)
    )
    twice, size = (x.shape[0] * 2,), _decided(b)
    text = f"stablehlo.concatenate {x.name}, {x.name}, dim = 0 : ({x.type}, {x.type}) -> {spell(twice, x.dtype)}"
    longer = b.quiet(text, twice, x.dtype)
    zero, one, limit = (_vector(b, [n]) for n in (b.splat("0", DType.I32), b.splat("1", DType.I32), count))
    part = _named(b, "real_dynamic_slice", [longer, zero, limit, one], (size,), x.dtype)
    if pick(b.choices, (True, False)):
        b.op(f"stablehlo.add {part.name}, {x.name} : {x.type}", x.shape, x.dtype)
    else:
        double = b.quiet(f"stablehlo.add {limit.name}, {limit.name} : {limit.type}", limit.shape, limit.dtype)
        _named(b, "real_dynamic_slice", [longer, limit, double, one], (size,), x.dtype)
    return True


def growing(b: ProgramBuilder) -> bool:
    """A loop that carries a vector, and makes it longer, or shorter, in each iteration."""
    x = b.pick(lambda v: len(v.shape) == 1 and v.dtype.is_float and v.dtype.bits >= 16)
    if x is None:
        return False
    start, one, turns = b.splat("0", DType.I32), b.splat("1", DType.I32), _count(b)
    zero, ones, two = (_vector(b, [b.splat(number, DType.I32)]) for number in ("0", "1", "2"))
    size = _decided(b)
    open_, made = spell((size,), x.dtype), b.fresh()
    count, value, more, next_, n, changed, length, upper = (b.fresh() for _ in range(8))
    if pick(b.choices, (True, False)):
        step = f"  {changed} = stablehlo.concatenate {value}, {x.name}, dim = 0 : ({open_}, {x.type}) -> {open_}\n"
    else:
        step = (
            f"  {n} = stablehlo.get_dimension_size {value}, dim = 0 : ({open_}) -> tensor<i32>\n"
            f"  {length} = stablehlo.reshape {n} : (tensor<i32>) -> tensor<1xi32>\n"
            f"  {upper} = stablehlo.divide {length}, {two.name} : tensor<1xi32>\n"
            f"  {changed} = stablehlo.real_dynamic_slice {value}, {zero.name}, {upper}, {ones.name} : "
            f"({open_}, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> {open_}\n"
        )
    before = b.quiet(f"stablehlo.convert {x.name} : ({x.type}) -> {open_}", (size,), x.dtype)
    b.line(
        f"{made}:2 = stablehlo.while({count} = {start.name}, {value} = {before.name}) : tensor<i32>, {open_}\n"
        f"cond {{\n"
        f"  {more} = stablehlo.compare LT, {count}, {turns.name} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"  stablehlo.return {more} : tensor<i1>\n"
        f"}} do {{\n"
        f"  {next_} = stablehlo.add {count}, {one.name} : tensor<i32>\n"
        f"{step}"
        f"  stablehlo.return {next_}, {changed} : tensor<i32>, {open_}\n"
        f"}}"
    )
    b.values.append(ProgramValue(f"{made}#1", (size,), x.dtype))
    return True


def either(b: ProgramBuilder) -> bool:
    """A case whose two branches give vectors of different sizes."""
    x = b.pick(lambda v: len(v.shape) == 1)
    if x is None:
        return False
    index = _count(b)
    size = _decided(b)
    open_, made, first, second = spell((size,), x.dtype), b.fresh(), b.fresh(), b.fresh()
    b.line(
        f'{made} = "stablehlo.case"({index.name}) ({{\n'
        f"  {first} = stablehlo.concatenate {x.name}, {x.name}, dim = 0 : ({x.type}, {x.type}) -> {open_}\n"
        f"  stablehlo.return {first} : {open_}\n"
        f"}}, {{\n"
        f"  {second} = stablehlo.convert {x.name} : ({x.type}) -> {open_}\n"
        f"  stablehlo.return {second} : {open_}\n"
        f"}}) : (tensor<i32>) -> {open_}"
    )
    b.values.append(ProgramValue(made, (size,), x.dtype))
    return True


FAMILIES = (counted, counted, filtered, tied, tied, growing, either)
