"""Op families with regions of whole tensors: loops, branches, calls."""

from __future__ import annotations

from shlo_disc.check.generate.builder import ProgramBuilder, ProgramValue, spell
from shlo_disc.check.generate.choices import chance, pick
from shlo_disc.check.generate.elements import is_float, partner
from shlo_disc.ir.dtypes import DType


def loop(b: ProgramBuilder) -> bool:
    """A loop of a few iterations that carries a value, and reads another from outside."""
    x = b.pick(is_float)
    if x is None:
        return False
    y, half = partner(b, x), b.splat("5.000000e-01", x.dtype, x.shape)
    zero, one = b.splat("0", DType.I32), b.splat("1", DType.I32)
    turns = b.splat(pick(b.choices, ("2", "0", "3")), DType.I32)
    made, count, value = b.fresh(), b.fresh(), b.fresh()
    more, next_, bent, less, sum_ = (b.fresh() for _ in range(5))
    b.line(
        f"{made}:2 = stablehlo.while({count} = {zero.name}, {value} = {x.name}) : tensor<i32>, {x.type}\n"
        f"cond {{\n"
        f"  {more} = stablehlo.compare LT, {count}, {turns.name} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"  stablehlo.return {more} : tensor<i1>\n"
        f"}} do {{\n"
        f"  {next_} = stablehlo.add {count}, {one.name} : tensor<i32>\n"
        f"  {bent} = stablehlo.{pick(b.choices, ('tanh', 'abs', 'negate'))} {value} : {x.type}\n"
        f"  {less} = stablehlo.multiply {bent}, {half.name} : {x.type}\n"
        f"  {sum_} = stablehlo.{pick(b.choices, ('add', 'subtract'))} {less}, {y.name} : {x.type}\n"
        f"  stablehlo.return {next_}, {sum_} : tensor<i32>, {x.type}\n"
        f"}}"
    )
    b.values.append(ProgramValue(f"{made}#1", x.shape, x.dtype))
    return True


def search(b: ProgramBuilder) -> bool:
    """A loop with a condition on data: while a tensor has an element below 2, at most 3 times."""
    x = b.pick(lambda v: v.dtype is DType.F32 and len(v.shape) >= 1)
    if x is None:
        return False
    dims = list(range(len(x.shape)))
    start, one, most = b.splat("0", DType.I32), b.splat("1", DType.I32), b.splat("3", DType.I32)
    high, false = b.splat("2.000000e+00", x.dtype, x.shape), b.splat("false", DType.I1)
    truth = spell(x.shape, DType.I1)
    made, count, value, total = b.fresh(), b.fresh(), b.fresh(), b.fresh()
    below, some, few, more, next_, grown, sum_ = (b.fresh() for _ in range(7))
    b.line(
        f"{made}:3 = stablehlo.while({count} = {start.name}, {value} = {x.name}, {total} = {x.name}) : "
        f"tensor<i32>, {x.type}, {x.type}\n"
        f"cond {{\n"
        f"  {below} = stablehlo.compare LT, {value}, {high.name} : ({x.type}, {x.type}) -> {truth}\n"
        f"  {some} = stablehlo.reduce({below} init: {false.name}) applies stablehlo.or across dimensions = {dims} : "
        f"({truth}, tensor<i1>) -> tensor<i1>\n"
        f"  {few} = stablehlo.compare LT, {count}, {most.name} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"  {more} = stablehlo.and {some}, {few} : tensor<i1>\n"
        f"  stablehlo.return {more} : tensor<i1>\n"
        f"}} do {{\n"
        f"  {next_} = stablehlo.add {count}, {one.name} : tensor<i32>\n"
        f"  {grown} = stablehlo.add {value}, {high.name} : {x.type}\n"
        f"  {sum_} = stablehlo.maximum {total}, {grown} : {x.type}\n"
        f"  stablehlo.return {next_}, {grown}, {sum_} : tensor<i32>, {x.type}, {x.type}\n"
        f"}}"
    )
    b.values += [ProgramValue(f"{made}#0", (), DType.I32), ProgramValue(f"{made}#1", x.shape, x.dtype)]
    b.values.append(ProgramValue(f"{made}#2", x.shape, x.dtype))
    return True


def case(b: ProgramBuilder) -> bool:
    """A case of two branches, with an index that may be out of range."""
    x = b.pick(is_float)
    if x is None:
        return False
    y = partner(b, x)
    index = b.pick(lambda v: v.dtype is DType.I32 and not v.shape)
    index = index or b.splat(pick(b.choices, ("0", "1", "7")), DType.I32)
    made, first, second = b.fresh(), b.fresh(), b.fresh()
    b.line(
        f'{made} = "stablehlo.case"({index.name}) ({{\n'
        f"  {first} = stablehlo.tanh {x.name} : {x.type}\n"
        f"  stablehlo.return {first} : {x.type}\n"
        f"}}, {{\n"
        f"  {second} = stablehlo.add {x.name}, {y.name} : {x.type}\n"
        f"  stablehlo.return {second} : {x.type}\n"
        f"}}) : (tensor<i32>) -> {x.type}"
    )
    b.values.append(ProgramValue(made, x.shape, x.dtype))
    return True


def call(b: ProgramBuilder) -> bool:
    """A call of another function, or a composite op that it decomposes."""
    x = b.pick(is_float)
    if x is None:
        return False
    name = f"f{len(b.functions)}"
    b.functions.append(
        f"  func.func private @{name}(%x: {x.type}) -> {x.type} {{\n"
        f"    %0 = stablehlo.logistic %x : {x.type}\n"
        f"    %1 = stablehlo.multiply %0, %x : {x.type}\n"
        f"    return %1 : {x.type}\n"
        f"  }}\n"
    )
    if chance(b.choices, 2):
        text = f'stablehlo.composite "my.silu" {x.name} {{decomposition = @{name}}} : ({x.type}) -> {x.type}'
    else:
        text = f"func.call @{name}({x.name}) : ({x.type}) -> {x.type}"
    b.op(text, x.shape, x.dtype)
    return True


FAMILIES = (loop, search, case, call)
