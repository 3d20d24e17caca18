"""Families of programs that grow: what should take twice the work if it is twice as long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

F, V, M = "tensor<f32>", "tensor<?xf32>", "tensor<?x?xf32>"

Family = Callable[[int], str]


def function(arguments: Sequence[str], lines: Iterable[str], results: Sequence[str], kind: str) -> str:
    """A module of one function whose results are all of one type."""
    kinds = ", ".join([kind] * len(results))
    body = "\n  ".join([*lines, f"return {', '.join(results)} : {kinds}"])
    return f"func.func @main({', '.join(arguments)}) -> ({kinds}) {{\n  {body}\n}}\n"


def chain(op: str, kind: str, arguments: Sequence[str], before: Sequence[str] = ()) -> Family:
    """The same line again and again: `{k}` reads, `{next}` is what it makes."""

    def text(count: int) -> str:
        lines = [op.replace("{k}", str(k)).replace("{next}", str(k + 1)) for k in range(count)]
        return function(arguments, [*before, *lines], [f"%r{count}"], kind)

    return text


def nested_loops(depth: int) -> str:
    """A loop in a loop in a loop."""
    lines = ["%three = stablehlo.constant dense<3> : tensor<i32>", "%one = stablehlo.constant dense<1> : tensor<i32>"]
    for k in range(depth):
        lines += [
            f"%w{k} = stablehlo.while(%i{k} = {'%r0' if k == 0 else f'%i{k - 1}'}) : tensor<i32> cond {{",
            f"%p{k} = stablehlo.compare LT, %i{k}, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"stablehlo.return %p{k} : tensor<i1>",
            "} do {",
        ]
    inner = f"%i{depth - 1}"
    for k in reversed(range(depth)):
        lines += [f"%n{k} = stablehlo.add {inner}, %one : tensor<i32>", f"stablehlo.return %n{k} : tensor<i32>", "}"]
        inner = f"%w{k}"
    return function(["%r0: tensor<i32>"], lines, ["%w0"], "tensor<i32>")


def nested_branches(depth: int) -> str:
    """An `if` in an `if` in an `if`."""
    lines = list[str]()
    for k in range(depth):
        lines.append(f'%c{k} = "stablehlo.if"(%p) ({{')
    lines.append(f"%t = stablehlo.tanh %x : {V}")
    inner = "%t"
    for k in reversed(range(depth)):
        lines += [
            f"stablehlo.return {inner} : {V}",
            "}, {",
            f"stablehlo.return %x : {V}",
            f"}}) : (tensor<i1>) -> {V}",
        ]
        inner = f"%c{k}"
    return function([f"%x: {V}", "%p: tensor<i1>"], lines, ["%c0"], V)


def loops(count: int) -> str:
    """One loop after the other."""
    lines = ["%three = stablehlo.constant dense<3> : tensor<i32>", "%one = stablehlo.constant dense<1> : tensor<i32>"]
    for k in range(count):
        lines += [
            f"%r{k + 1}:2 = stablehlo.while(%i = %three, %v = %r{k}{'#1' if k else ''}) : tensor<i32>, {V} cond {{",
            "%p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            "stablehlo.return %p : tensor<i1>",
            "} do {",
            "%n = stablehlo.add %i, %one : tensor<i32>",
            f"%u = stablehlo.tanh %v : {V}",
            f"stablehlo.return %n, %u : tensor<i32>, {V}",
            "}",
        ]
    return function([f"%r0: {V}"], lines, [f"%r{count}#1"], V)


def loop_of_many_ops(count: int) -> str:
    """A loop with a long body."""
    lines = [
        "%three = stablehlo.constant dense<3> : tensor<i32>",
        "%one = stablehlo.constant dense<1> : tensor<i32>",
        f"%w:2 = stablehlo.while(%i = %three, %v0 = %r0) : tensor<i32>, {V} cond {{",
        "%p = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "stablehlo.return %p : tensor<i1>",
        "} do {",
        "%n = stablehlo.add %i, %one : tensor<i32>",
        *(f"%v{k + 1} = stablehlo.tanh %v{k} : {V}" for k in range(count)),
        f"stablehlo.return %n, %v{count} : tensor<i32>, {V}",
        "}",
    ]
    return function([f"%r0: {V}"], lines, ["%w#1"], V)


def loop_of_many_values(count: int) -> str:
    """A loop that carries many values."""
    kinds = ", ".join(["tensor<i32>", *([V] * count)])
    carried = ", ".join(["%i = %zero", *(f"%v{k} = %x" for k in range(count))])
    lines = [
        "%zero = stablehlo.constant dense<0> : tensor<i32>",
        "%one = stablehlo.constant dense<1> : tensor<i32>",
        f"%w:{count + 1} = stablehlo.while({carried}) : {kinds} cond {{",
        "%p = stablehlo.compare LT, %i, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>",
        "stablehlo.return %p : tensor<i1>",
        "} do {",
        "%n = stablehlo.add %i, %one : tensor<i32>",
        *(f"%u{k} = stablehlo.tanh %v{k} : {V}" for k in range(count)),
        f"stablehlo.return %n, {', '.join(f'%u{k}' for k in range(count))} : {kinds}",
        "}",
    ]
    return function([f"%x: {V}"], lines, [f"%w#{k + 1}" for k in range(count)], V)


def calls_in_a_row(count: int) -> str:
    """One function, called again and again."""
    lines = [f"%r{k + 1} = call @f(%r{k}) : ({V}) -> {V}" for k in range(count)]
    callee = f"func.func private @f(%x: {V}) -> {V} {{ %y = stablehlo.tanh %x : {V}\n return %y : {V} }}\n"
    return "module {\n" + function([f"%r0: {V}"], lines, [f"%r{count}"], V) + callee + "}"


def calls_in_calls(depth: int) -> str:
    """Every function calls the next one."""
    text = "module {\n" + function([f"%x: {V}"], [f"%y = call @f0(%x) : ({V}) -> {V}"], ["%y"], V)
    for k in range(depth):
        inner = f"call @f{k + 1}(%x) : ({V}) -> {V}" if k + 1 < depth else f"stablehlo.tanh %x : {V}"
        text += f"func.func private @f{k}(%x: {V}) -> {V} {{ %y = {inner}\n return %y : {V} }}\n"
    return text + "}"


def calls_that_double(depth: int) -> str:
    """Every function calls the next one twice."""
    text = "module {\n" + function([f"%x: {V}"], [f"%y = call @f0(%x) : ({V}) -> {V}"], ["%y"], V)
    for k in range(depth):
        inner = f"call @f{k + 1}" if k + 1 < depth else "stablehlo.tanh"
        kind = f"({V}) -> {V}" if k + 1 < depth else V
        first, second = (f"{inner}({x})" if k + 1 < depth else f"{inner} {x}" for x in ("%x", "%y"))
        text += f"func.func private @f{k}(%x: {V}) -> {V} {{ %y = {first} : {kind}\n %z = {second} : {kind}\n"
        text += f" return %z : {V} }}\n"
    return text + "}"


def layers(count: int) -> str:
    """Layers as of a model: a product, a bias, an activation, a normalization by a sum of the rows."""
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    for k in range(count):
        lines += [
            f"%p{k} = stablehlo.dot_general %r{k}, %w, contracting_dims = [1] x [0]"
            " : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>",
            f"%n{k} = stablehlo.get_dimension_size %p{k}, dim = 0 : (tensor<?x8xf32>) -> tensor<i32>",
            f"%m{k} = stablehlo.reshape %n{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%e{k} = stablehlo.constant dense<8> : tensor<1xi32>",
            f"%s{k} = stablehlo.concatenate %m{k}, %e{k}, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
            f"%b{k} = stablehlo.dynamic_broadcast_in_dim %b, %s{k}, dims = [1] : (tensor<8xf32>, tensor<2xi32>)"
            " -> tensor<?x8xf32>",
            f"%a{k} = stablehlo.add %p{k}, %b{k} : tensor<?x8xf32>",
            f"%t{k} = stablehlo.tanh %a{k} : tensor<?x8xf32>",
            f"%u{k} = stablehlo.reduce(%t{k} init: %zero) applies stablehlo.add across dimensions = [1]"
            " : (tensor<?x8xf32>, tensor<f32>) -> tensor<?xf32>",
            f"%d{k} = stablehlo.dynamic_broadcast_in_dim %u{k}, %s{k}, dims = [0] : (tensor<?xf32>, tensor<2xi32>)"
            " -> tensor<?x8xf32>",
            f"%q{k} = stablehlo.divide %t{k}, %d{k} : tensor<?x8xf32>",
            f"%r{k + 1} = stablehlo.add %q{k}, %r{k} : tensor<?x8xf32>",
        ]
    arguments = ["%r0: tensor<?x8xf32>", "%w: tensor<8x8xf32>", "%b: tensor<8xf32>"]
    return function(arguments, lines, [f"%r{count}"], "tensor<?x8xf32>")


def softmaxes(count: int) -> str:
    """Reductions of rows, one after the other."""
    lines = ["%zero = stablehlo.constant dense<0.0> : tensor<f32>"]
    for k in range(count):
        lines += [
            f"%n{k} = stablehlo.get_dimension_size %r{k}, dim = 0 : ({M}) -> tensor<i32>",
            f"%m{k} = stablehlo.get_dimension_size %r{k}, dim = 1 : ({M}) -> tensor<i32>",
            f"%u{k}x = stablehlo.reshape %n{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%v{k}x = stablehlo.reshape %m{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%s{k} = stablehlo.concatenate %u{k}x, %v{k}x, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
            f"%x{k} = stablehlo.exponential %r{k} : {M}",
            f"%u{k} = stablehlo.reduce(%x{k} init: %zero) applies stablehlo.add across dimensions = [1]"
            f" : ({M}, tensor<f32>) -> {V}",
            f"%d{k} = stablehlo.dynamic_broadcast_in_dim %u{k}, %s{k}, dims = [0] : ({V}, tensor<2xi32>) -> {M}",
            f"%r{k + 1} = stablehlo.divide %x{k}, %d{k} : {M}",
        ]
    return function([f"%r0: {M}"], lines, [f"%r{count}"], M)


def sums_of_arguments(count: int) -> str:
    """Many arguments of one size, which no type says."""
    names = [f"%a{k}" for k in range(count + 1)]
    lines = [f"%s{k} = stablehlo.add %{'s' if k > 1 else 'a'}{k - 1}, %a{k} : {V}" for k in range(1, count + 1)]
    return function([f"{name}: {V}" for name in names], lines, [f"%s{count}"], V)


def separate_arguments(count: int) -> str:
    """Many arguments, each of sizes of its own, with a result each."""
    lines = [f"%r{k} = stablehlo.tanh %a{k} : {V}" for k in range(count)]
    return function([f"%a{k}: {V}" for k in range(count)], lines, [f"%r{k}" for k in range(count)], V)


def unused_arguments(count: int) -> str:
    """Arguments that nothing reads."""
    return function([f"%a{k}: {V}" for k in range(count + 1)], [f"%r = stablehlo.tanh %a0 : {V}"], ["%r"], V)


def returned_arguments(count: int) -> str:
    """The same result many times."""
    return function([f"%x: {V}"], [f"%y = stablehlo.tanh %x : {V}"], ["%y"] * count, V)


def results(count: int) -> str:
    """Many results of one argument."""
    lines = [f"%r{k + 1} = stablehlo.tanh %r{k} : {V}" for k in range(count)]
    return function([f"%r0: {V}"], lines, [f"%r{k + 1}" for k in range(count)], V)


def constants(count: int) -> str:
    """Many different literals."""
    lines = list[str]()
    for k in range(count):
        literal = ", ".join(f"{k}.{j}" for j in range(1, 5))
        lines += [
            f"%c{k} = stablehlo.constant dense<[{literal}]> : tensor<4xf32>",
            f"%r{k + 1} = stablehlo.multiply %r{k}, %c{k} : tensor<4xf32>",
        ]
    return function(["%r0: tensor<4xf32>"], lines, [f"%r{count}"], "tensor<4xf32>")


def large_literal(count: int) -> str:
    """One literal of many elements, as text."""
    literal = ", ".join(f"{k}.5" for k in range(count * 64))
    kind = f"tensor<{count * 64}xf32>"
    lines = [f"%c = stablehlo.constant dense<[{literal}]> : {kind}", f"%y = stablehlo.multiply %x, %c : {kind}"]
    return function([f"%x: {kind}"], lines, ["%y"], kind)


def concatenated(count: int) -> str:
    """One concatenation of many operands."""
    names = [f"%a{k}" for k in range(count)]
    kinds = ", ".join([V] * count)
    lines = [f"%y = stablehlo.concatenate {', '.join(names)}, dim = 0 : ({kinds}) -> {V}"]
    return function([f"{name}: {V}" for name in names], lines, ["%y"], V)


def barrier(count: int) -> str:
    """One barrier of many values."""
    names, kinds = ", ".join(["%x"] * count), ", ".join([V] * count)
    lines = [f"%y:{count} = stablehlo.optimization_barrier {names} : {kinds}"]
    lines += [f"%r{k} = stablehlo.tanh %y#{k} : {V}" for k in range(count)]
    return function([f"%x: {V}"], lines, [f"%r{k}" for k in range(count)], V)


def tuple_of_many(count: int) -> str:
    """A wide tuple, taken apart."""
    inner = ", ".join([V] * count)
    lines = [f"%t = stablehlo.tuple {', '.join(['%x'] * count)} : tuple<{inner}>"]
    lines.append(f"%e = stablehlo.get_tuple_element %t[{count - 1}] : (tuple<{inner}>) -> {V}")
    return function([f"%x: {V}"], lines, ["%e"], V)


def reduced_together(count: int) -> str:
    """One reduction of many operands."""
    zeros, kinds = ", ".join(["%zero"] * count), ", ".join([V] * count)
    scalars = ", ".join([F] * count)
    left, right = ([f"%{side}{k}" for k in range(count)] for side in "lr")
    head = ", ".join(f"{name}: {F}" for name in (*left, *right))
    lines = [
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
        f'%y:{count} = "stablehlo.reduce"({", ".join(["%x"] * count)}, {zeros}) <{{dimensions = array<i64: 0>}}> ({{',
        f"^bb0({head}):",
        *(f"%s{k} = stablehlo.add %l{k}, %r{k} : {F}" for k in range(count)),
        f"stablehlo.return {', '.join(f'%s{k}' for k in range(count))} : {scalars}",
        f"}}) : ({kinds}, {scalars}) -> ({scalars})",
    ]
    return function([f"%x: {V}"], lines, [f"%y#{k}" for k in range(count)], F)


def reduction_of_many_ops(count: int) -> str:
    """One reduction whose region is long."""
    lines = [
        "%zero = stablehlo.constant dense<0.0> : tensor<f32>",
        '%y = "stablehlo.reduce"(%x, %zero) <{dimensions = array<i64: 0>}> ({',
        f"^bb0(%l: {F}, %v0: {F}):",
        *(f"%v{k + 1} = stablehlo.tanh %v{k} : {F}" for k in range(count)),
        f"%s = stablehlo.add %l, %v{count} : {F}",
        f"stablehlo.return %s : {F}",
        f"}}) : ({V}, {F}) -> {F}",
    ]
    return function([f"%x: {V}"], lines, ["%y"], F)


def size_sums(count: int) -> str:
    """Integers computed from sizes, one after the other, which become the size of a result."""
    lines = [
        "%one = stablehlo.constant dense<1> : tensor<i32>",
        "%n0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
        *(f"%n{k + 1} = stablehlo.add %n{k}, %one : tensor<i32>" for k in range(count)),
        f"%s = stablehlo.reshape %n{count} : (tensor<i32>) -> tensor<1xi32>",
        f"%y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> {V}",
    ]
    return function([f"%x: {V}"], lines, ["%y"], V)


def size_powers(count: int) -> str:
    """A size, squared again and again."""
    lines = [
        "%n0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
        *(f"%n{k + 1} = stablehlo.multiply %n{k}, %n{k} : tensor<i32>" for k in range(count)),
        f"%s = stablehlo.reshape %n{count} : (tensor<i32>) -> tensor<1xi32>",
        f"%y = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> {V}",
    ]
    return function([f"%x: {V}"], lines, ["%y"], V)


def size_quotients(count: int) -> str:
    """A size, halved and increased again and again."""
    lines = [
        "%n0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
        "%m = stablehlo.get_dimension_size %y, dim = 0 : (tensor<?xf32>) -> tensor<i32>",
        "%two = stablehlo.constant dense<2> : tensor<i32>",
    ]
    for k in range(count):
        lines += [
            f"%p{k} = stablehlo.add %n{k}, %m : tensor<i32>",
            f"%n{k + 1} = stablehlo.divide %p{k}, %two : tensor<i32>",
        ]
    lines += [
        f"%s = stablehlo.reshape %n{count} : (tensor<i32>) -> tensor<1xi32>",
        f"%z = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> {V}",
    ]
    return function([f"%x: {V}", f"%y: {V}"], lines, ["%z"], V)


def reshapes(count: int) -> str:
    """Rows are taken apart and joined, by shapes that are computed."""
    lines = list[str]()
    for k in range(count):
        lines += [
            f"%n{k} = stablehlo.get_dimension_size %r{k}, dim = 0 : ({M}) -> tensor<i32>",
            f"%m{k} = stablehlo.get_dimension_size %r{k}, dim = 1 : ({M}) -> tensor<i32>",
            f"%p{k} = stablehlo.multiply %n{k}, %m{k} : tensor<i32>",
            f"%w{k}x = stablehlo.reshape %p{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%u{k}x = stablehlo.reshape %n{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%v{k}x = stablehlo.reshape %m{k} : (tensor<i32>) -> tensor<1xi32>",
            f"%f{k} = stablehlo.dynamic_reshape %r{k}, %w{k}x : ({M}, tensor<1xi32>) -> {V}",
            f"%g{k} = stablehlo.tanh %f{k} : {V}",
            f"%s{k} = stablehlo.concatenate %v{k}x, %u{k}x, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>",
            f"%r{k + 1} = stablehlo.dynamic_reshape %g{k}, %s{k} : ({V}, tensor<2xi32>) -> {M}",
        ]
    return function([f"%r0: {M}"], lines, [f"%r{count}"], M)


def assertions(count: int) -> str:
    """Many sizes, with a constraint each."""
    lines = ["%one = stablehlo.constant dense<1> : tensor<i32>"]
    for k in range(count):
        lines += [
            f"%n{k} = stablehlo.get_dimension_size %a{k}, dim = 0 : ({V}) -> tensor<i32>",
            f"%p{k} = stablehlo.compare GE, %n{k}, %{'one' if k == 0 else f'n{k - 1}'}, SIGNED"
            " : (tensor<i32>, tensor<i32>) -> tensor<i1>",
            f"stablehlo.custom_call @shape_assertion(%p{k}, %n{k}) {{api_version = 2 : i32, "
            'error_message = "size {0}",'
            " has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()",
            f"%r{k} = stablehlo.tanh %a{k} : {V}",
        ]
    return function([f"%a{k}: {V}" for k in range(count)], lines, [f"%r{k}" for k in range(count)], V)


def fan(count: int) -> str:
    """Many ops read one value, and one sum reads them all."""
    lines = [f"%c{k} = stablehlo.constant dense<{k}.5> : tensor<8xf32>" for k in range(count)]
    lines += [f"%t{k} = stablehlo.multiply %x, %c{k} : tensor<8xf32>" for k in range(count)]
    lines += [f"%s{k} = stablehlo.add %{'s' if k > 1 else 't'}{k - 1}, %t{k} : tensor<8xf32>" for k in range(1, count)]
    return function(["%x: tensor<8xf32>"], lines, [f"%s{count - 1}"], "tensor<8xf32>")


def unused_functions(count: int) -> str:
    """Functions that nothing calls."""
    text = "module {\n" + function([f"%x: {V}"], [f"%y = stablehlo.tanh %x : {V}"], ["%y"], V)
    for k in range(count):
        text += f"func.func private @f{k}(%x: {V}) -> {V} {{ %y = stablehlo.tanh %x : {V}\n return %y : {V} }}\n"
    return text + "}"


def sorted_together(count: int) -> str:
    """One sort of many operands."""
    kinds = ", ".join([V] * count)
    head = ", ".join(f"%l{k}: {F}, %r{k}: {F}" for k in range(count))
    lines = [
        f'%y:{count} = "stablehlo.sort"({", ".join(["%x"] * count)}) <{{dimension = 0 : i64, is_stable = true}}> ({{',
        f"^bb0({head}):",
        f"%p = stablehlo.compare LT, %l0, %r0 : ({F}, {F}) -> tensor<i1>",
        "stablehlo.return %p : tensor<i1>",
        f"}}) : ({kinds}) -> ({kinds})",
    ]
    return function([f"%x: {V}"], lines, [f"%y#{k}" for k in range(count)], V)
