"""Op families of reductions and windows with general regions: two operands, formulas instead of one op, all dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, Shape, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.expr.dim import Dim, const
from shlo_disc.ir.dtypes import DType
from shlo_disc.records import record

_Body = Callable[[ProgramBuilder, Sequence[str], Sequence[str], str], tuple[list[str], list[str]]]

_DTYPES = (DType.F32, DType.F64, DType.I32, DType.C64, DType.BF16)


def _line(b: ProgramBuilder, lines: list[str], op: str, x: str, y: str, type_: str) -> str:
    name = b.fresh()
    lines.append(f"{name} = stablehlo.{op} {x}, {y} : {type_}")
    return name


def _sums(b: ProgramBuilder, a: Sequence[str], c: Sequence[str], type_: str) -> tuple[list[str], list[str]]:
    """Two sums."""
    lines = list[str]()
    return lines, [_line(b, lines, "add", p, q, type_) for p, q in zip(a, c, strict=True)]


def _recurrence(b: ProgramBuilder, a: Sequence[str], c: Sequence[str], type_: str) -> tuple[list[str], list[str]]:
    """Compose affine maps `x -> m x + n`, the left one first: a linear recurrence, in which order matters."""
    lines = list[str]()
    slope = _line(b, lines, "multiply", a[0], c[0], type_)
    moved = _line(b, lines, "multiply", c[0], a[1], type_)
    return lines, [slope, _line(b, lines, "add", moved, c[1], type_)]


def _extremes(b: ProgramBuilder, a: Sequence[str], c: Sequence[str], type_: str) -> tuple[list[str], list[str]]:
    """A minimum and a maximum."""
    lines = list[str]()
    least = _line(b, lines, "minimum", a[0], c[0], type_)
    return lines, [least, _line(b, lines, "maximum", a[1], c[1], type_)]


@record
class _Combiner:
    """How pairs of values are combined, and the initial values."""

    combine: _Body
    start: tuple[str, str]


def _choose(b: ProgramBuilder, dtype: DType) -> _Combiner:
    zero, one = ("0", "1") if dtype.is_integer else ("0.000000e+00", "1.000000e+00")
    if dtype.is_complex:
        zero, one = "(0.0, 0.0)", "(1.0, 0.0)"
    choices = [_Combiner(_sums, (zero, zero))]
    if dtype.is_integer:
        least, greatest = map(str, dtype.integer_bounds)
        choices += [_Combiner(_recurrence, (one, zero)), _Combiner(_extremes, (greatest, least))]
    return pick(b.choices, choices)


def _body(b: ProgramBuilder, combine: _Body, type_: str) -> str:
    """Spell a region of two pairs of scalars."""
    left, right = ([b.fresh() for _ in range(2)] for _ in range(2))
    lines, results = combine(b, left, right, type_)
    arguments = ", ".join(f"{name}: {type_}" for name in (*left, *right))
    body = "".join(f"  {line}\n" for line in lines)
    types = ", ".join([type_] * len(results))
    return f"({{\n^bb0({arguments}):\n{body}  stablehlo.return {', '.join(results)} : {types}\n}})"


def reduced(b: ProgramBuilder) -> bool:
    """A reduction of two values together."""
    x = b.pick(lambda v: len(v.shape) >= 1 and v.dtype in _DTYPES)
    if x is None:
        return False
    y = b.pick(lambda v: v.shape == x.shape and v.dtype is x.dtype) or x
    dims = [k for k in range(len(x.shape)) if b.choices.below(2)] or [0]
    shape = tuple([dim for k, dim in enumerate(x.shape) if k not in dims])
    _emit(b, "reduce", f"dimensions = array<i64: {', '.join(map(str, dims))}>", (x, y), shape)
    return True


def windowed(b: ProgramBuilder) -> bool:
    """Windows over all dims, with strides and dilation; of one value or two."""
    x = b.pick(lambda v: 1 <= len(v.shape) <= 3 and v.dtype in _DTYPES)
    if x is None:
        return False
    rank = len(x.shape)
    window, strides, holes, spread = ([1] * rank for _ in range(4))
    padding, shape = [(0, 0)] * rank, list[Dim](x.shape)
    for axis, dim in enumerate(x.shape):
        if chance(b.choices, 3):
            continue
        window[axis], holes[axis] = 1 + b.choices.below(3), 1 + chance(b.choices, 4)
        reach = (window[axis] - 1) * holes[axis]
        if dim.constant is None:  # the axis keeps its size
            low = b.choices.below(reach + 1)
            padding[axis] = (low, reach - low)
            continue
        strides[axis], spread[axis] = 1 + b.choices.below(2), 1 + chance(b.choices, 4)
        padding[axis] = (b.choices.below(2), reach)
        whole = (dim.constant - 1) * spread[axis] + 1 if dim.constant else 0
        shape[axis] = const(max(0, (whole + sum(padding[axis]) - reach - 1) // strides[axis] + 1))
    y = b.pick(lambda v: v.shape == x.shape and v.dtype is x.dtype) or x
    pairs = ", ".join(f"[{low}, {high}]" for low, high in padding)
    arrays = {
        "base_dilations": spread, "window_dilations": holes, "window_dimensions": window, "window_strides": strides,
    }  # fmt: skip
    options = ", ".join(f"{name} = array<i64: {', '.join(map(str, sizes))}>" for name, sizes in arrays.items())
    options += f", padding = dense<[{pairs}]> : tensor<{rank}x2xi64>"
    _emit(b, "reduce_window", options, (x, y), tuple(shape))
    return True


def _emit(b: ProgramBuilder, name: str, options: str, values: tuple[ProgramValue, ProgramValue], shape: Shape) -> None:
    dtype = values[0].dtype
    region = _choose(b, dtype)
    operands = [*values, *[b.splat(number, dtype) for number in region.start]]
    results, made = ", ".join([spell(shape, dtype)] * 2), b.fresh()
    b.line(
        f'{made}:2 = "stablehlo.{name}"({", ".join(v.name for v in operands)}) <{{{options}}}> '
        f"{_body(b, region.combine, spell((), dtype))} : ({', '.join(v.type for v in operands)}) -> ({results})"
    )
    b.values += [ProgramValue(f"{made}#{k}", shape, dtype) for k in range(2)]


FAMILIES = (reduced, windowed)
