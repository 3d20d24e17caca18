"""All families of programs that grow, by name."""

from __future__ import annotations

from tests.pipeline import growing
from tests.pipeline.growing import F, Family, M, V, chain, function


def jax_like(count: int) -> str:
    """Unary and binary ops over two values in turn, with sums of rows between, as traces of numeric code are."""
    lines = list[str]()
    for k in range(count):
        fn = ("tanh", "exponential", "sine", "negate", "logistic")[k % 5]
        lines += [
            f"%t{k} = stablehlo.{fn} %r{k} : {M}",
            f"%r{k + 1} = stablehlo.{('add', 'multiply', 'subtract')[k % 3]} %t{k}, %r{max(0, k - 7)} : {M}",
        ]
    return function([f"%r0: {M}"], lines, [f"%r{count}"], M)


doubled_sizes = chain(
    f"%r{{next}} = stablehlo.concatenate %r{{k}}, %r{{k}}, dim = 0 : ({V}, {V}) -> {V}", V, [f"%r0: {V}"]
)
_PROGRAMS = (
    growing.nested_loops,
    growing.nested_branches,
    growing.loops,
    growing.loop_of_many_ops,
    growing.loop_of_many_values,
    growing.calls_in_a_row,
    growing.calls_in_calls,
    growing.layers,
    growing.softmaxes,
    growing.sums_of_arguments,
    growing.separate_arguments,
    growing.unused_arguments,
    growing.returned_arguments,
    growing.results,
    growing.constants,
    growing.large_literal,
    growing.concatenated,
    growing.barrier,
    growing.tuple_of_many,
    growing.reduced_together,
    growing.reduction_of_many_ops,
    growing.size_sums,
    growing.size_powers,
    growing.size_quotients,
    growing.reshapes,
    growing.assertions,
    growing.fan,
    growing.unused_functions,
    growing.sorted_together,
    jax_like,
)

_UPDATE = f"%r{{next}} = stablehlo.dynamic_update_slice %r{{k}}, %one, %at : ({V}, tensor<1xf32>, tensor<i32>) -> {V}"
FAMILIES: dict[str, Family] = {
    "scalar_chain": chain(f"%r{{next}} = stablehlo.tanh %r{{k}} : {F}", F, [f"%r0: {F}"]),
    "matrix_chain": chain(f"%r{{next}} = stablehlo.tanh %r{{k}} : {M}", M, [f"%r0: {M}"]),
    "scalar_integers": chain("%r{next} = stablehlo.add %r{k}, %r0 : tensor<i32>", "tensor<i32>", ["%r0: tensor<i32>"]),
    "doubled_scalar": chain(f"%r{{next}} = stablehlo.add %r{{k}}, %r{{k}} : {F}", F, [f"%r0: {F}"]),
    "doubled_integer": chain(
        "%r{next} = stablehlo.add %r{k}, %r{k} : tensor<i32>", "tensor<i32>", ["%r0: tensor<i32>"]
    ),
    "doubled": chain(f"%r{{next}} = stablehlo.add %r{{k}}, %r{{k}} : {V}", V, [f"%r0: {V}"]),
    "transposes": chain(f"%r{{next}} = stablehlo.transpose %r{{k}}, dims = [1, 0] : ({M}) -> {M}", M, [f"%r0: {M}"]),
    "reversals": chain(f"%r{{next}} = stablehlo.reverse %r{{k}}, dims = [0] : {V}", V, [f"%r0: {V}"]),
    "converts": chain(
        f"%h{{next}} = stablehlo.convert %r{{k}} : ({V}) -> tensor<?xf16>\n"
        f"%r{{next}} = stablehlo.convert %h{{next}} : (tensor<?xf16>) -> {V}",
        V,
        [f"%r0: {V}"],
    ),
    "products": chain(
        "%r{next} = stablehlo.dot_general %r{k}, %w, contracting_dims = [1] x [0]"
        " : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>",
        "tensor<?x8xf32>",
        ["%r0: tensor<?x8xf32>", "%w: tensor<8x8xf32>"],
    ),
    "updates": chain(_UPDATE, V, [f"%r0: {V}", "%one: tensor<1xf32>", "%at: tensor<i32>"]),
    "dynamic_slices": chain(
        "%r{next} = stablehlo.dynamic_slice %r{k}, %at, sizes = [8] : (tensor<8xf32>, tensor<i32>) -> tensor<8xf32>",
        "tensor<8xf32>",
        ["%r0: tensor<8xf32>", "%at: tensor<i32>"],
    ),
    "gathers": chain(
        '%r{next} = "stablehlo.gather"(%x, %r{k}) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],'
        " start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1>}>"
        " : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi32>",
        "tensor<8xi32>",
        ["%r0: tensor<8xi32>", "%x: tensor<8xi32>"],
    ),
    "selects": chain(
        f"%p{{k}} = stablehlo.compare LT, %r{{k}}, %r0 : ({V}, {V}) -> tensor<?xi1>\n"
        f"%r{{next}} = stablehlo.select %p{{k}}, %r{{k}}, %y : tensor<?xi1>, {V}",
        V,
        [f"%r0: {V}", f"%y: {V}"],
    ),
    "pads": chain(
        f"%r{{next}} = stablehlo.pad %r{{k}}, %zero, low = [1], high = [0], interior = [0] : ({V}, {F}) -> {V}",
        V,
        [f"%r0: {V}", f"%zero: {F}"],
    ),
    "slices": chain(
        f"%q{{k}} = stablehlo.pad %r{{k}}, %zero, low = [1], high = [0], interior = [0] : (tensor<8xf32>, {F})"
        " -> tensor<9xf32>\n"
        "%r{next} = stablehlo.slice %q{k} [1:9] : (tensor<9xf32>) -> tensor<8xf32>",
        "tensor<8xf32>",
        ["%r0: tensor<8xf32>", f"%zero: {F}"],
    ),
    "concatenations": chain(
        f"%r{{next}} = stablehlo.concatenate %r{{k}}, %r0, dim = 0 : ({V}, {V}) -> {V}", V, [f"%r0: {V}"]
    ),
    "library_calls": chain(
        '%r{next} = "stablehlo.cholesky"(%r{k}) <{lower = true}> : (tensor<8x8xf32>) -> tensor<8x8xf32>',
        "tensor<8x8xf32>",
        ["%r0: tensor<8x8xf32>"],
    ),
    "cumulative_sums": chain(
        '%r{next} = "stablehlo.reduce_window"(%r{k}, %zero) <{window_dimensions = array<i64: 8>, '
        "padding = dense<[[7, 0]]> : tensor<1x2xi64>}> ({\n"
        f"^bb0(%a: {F}, %b: {F}):\n%s = stablehlo.add %a, %b : {F}\nstablehlo.return %s : {F}\n}})"
        f" : (tensor<8xf32>, {F}) -> tensor<8xf32>",
        "tensor<8xf32>",
        ["%r0: tensor<8xf32>", f"%zero: {F}"],
    ),
    "sorts": chain(
        '%r{next} = "stablehlo.sort"(%r{k}) <{dimension = 0 : i64, is_stable = true}> ({\n'
        f"^bb0(%a: {F}, %b: {F}):\n%s = stablehlo.compare LT, %a, %b : ({F}, {F}) -> tensor<i1>\n"
        f"stablehlo.return %s : tensor<i1>\n}}) : ({V}) -> {V}",
        V,
        [f"%r0: {V}"],
    ),
    "scatters": chain(
        '%r{next} = "stablehlo.scatter"(%r{k}, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<'
        "inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({\n"
        f"^bb0(%a: {F}, %b: {F}):\n%s = stablehlo.add %a, %b : {F}\nstablehlo.return %s : {F}\n}})"
        f" : ({V}, tensor<?xi32>, {V}) -> {V}",
        V,
        [f"%r0: {V}", "%i: tensor<?xi32>", f"%u: {V}"],
    ),
    **{family.__name__: family for family in _PROGRAMS},
}
