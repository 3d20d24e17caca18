"""Ops in the spelling in which MLIR prints them, one sample per form."""

from __future__ import annotations

F = "tensor<?x4xf32>"
ARGUMENTS = {
    "a": F,
    "b": F,
    "p": "tensor<?x4xi1>",
    "i": "tensor<4xi32>",
    "s": "tensor<2xi32>",
    "x": "tensor<f32>",
    "n": "tensor<i32>",
    "z": "tensor<?xcomplex<f32>>",
    "v": "tensor<?xf32>",
    "m": "tensor<4x5xf32>",
    "g": "tensor<1x8x3xf32>",
    "k": "tensor<2x3x6xf32>",
    "w": "tensor<2xi64>",
    "t": "!stablehlo.token",
    "u": "tensor<2xui64>",
    "l": "tensor<i1>",
    "r": "tensor<4x4xf32>",
    "o": "tuple<tensor<f32>, tensor<i32>>",
}

PRETTY = (
    f"%0 = stablehlo.add %a, %b : {F}",
    f"%0 = stablehlo.tanh %a : {F}",
    f'%0 = stablehlo.exponential %a {{mhlo.frontend_attributes = {{stream = "0"}}, '
    f"result_accuracy = #stablehlo.result_accuracy<mode = "
    f"#stablehlo.result_accuracy_mode<HIGHEST>>}} : {F}",
    f"%0 = stablehlo.convert %a : ({F}) -> tensor<?x4xbf16>",
    f"%0 = stablehlo.select %p, %a, %b : tensor<?x4xi1>, {F}",
    f"%0 = stablehlo.clamp %x, %a, %x : (tensor<f32>, {F}, tensor<f32>) -> {F}",
    "%0 = stablehlo.complex %v, %v : tensor<?xcomplex<f32>>",
    "%0 = stablehlo.real %z : (tensor<?xcomplex<f32>>) -> tensor<?xf32>",
    f"%0 = stablehlo.compare LT, %a, %b, FLOAT : ({F}, {F}) -> tensor<?x4xi1>",
    f"%0 = stablehlo.compare EQ, %a, %b : ({F}, {F}) -> tensor<?x4xi1>",
    "%0 = stablehlo.constant dense<[1.500000e+00, 0xFF800000]> : tensor<2xf32>",
    "%0 = stablehlo.constant dense<> : tensor<0x3xi32>",
    "%0 = stablehlo.constant dense<(1.000000e+00,-2.000000e+00)> : tensor<3xcomplex<f32>>",
    "%0 = stablehlo.iota dim = 1 : tensor<4x4xi64>",
    "%0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi64>",
    "%0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<3x4xf32>",
    f"%0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : ({F}, tensor<2xi32>) -> {F}",
    f"%0 = stablehlo.transpose %a, dims = [1, 0] : ({F}) -> tensor<4x?xf32>",
    f"%0 = stablehlo.reverse %a, dims = [0] : {F}",
    "%0 = stablehlo.reshape %m : (tensor<4x5xf32>) -> tensor<20xf32>",
    f"%0 = stablehlo.dynamic_reshape %a, %s : ({F}, tensor<2xi32>) -> tensor<?x?xf32>",
    f"%0 = stablehlo.concatenate %a, %b, dim = 0 : ({F}, {F}) -> {F}",
    f"%0 = stablehlo.get_dimension_size %a, dim = 0 : ({F}) -> tensor<i32>",
    "%0 = stablehlo.slice %m [0:4:2, 1:3] : (tensor<4x5xf32>) -> tensor<2x2xf32>",
    "%0 = stablehlo.set_dimension_size %m, %n, dim = 0 : "
    "(tensor<4x5xf32>, tensor<i32>) -> tensor<?x5xf32, #stablehlo.bounds<4, ?>>",
    "%0 = stablehlo.dynamic_slice %m, %n, %n, sizes = [1, 3] : "
    "(tensor<4x5xf32>, tensor<i32>, tensor<i32>) -> tensor<1x3xf32>",
    "%0 = stablehlo.pad %m, %x, low = [0, -1], high = [1, 0], interior = [0, 2] : "
    "(tensor<4x5xf32>, tensor<f32>) -> tensor<5x12xf32>",
    f"%0 = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0], precision = [HIGH, DEFAULT] "
    f": ({F}, tensor<4x5xf32>) -> tensor<?x5xf32>",
    f"%0 = stablehlo.dot_general %a, %b, batching_dims = [0, 1] x [0, 1], contracting_dims = [] x "
    f"[] : ({F}, {F}) -> {F}",
    f"%0 = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0], algorithm = "
    f"<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, "
    f"lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, "
    f"allow_imprecise_accumulation = false> : ({F}, tensor<4x5xf32>) -> tensor<?x5xf32>",
    "%0 = stablehlo.convolution(%g, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], "
    "window = {stride = [2], pad = [[1, 2]], lhs_dilate = [2], rhs_dilate = [1], "
    "reverse = [true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
    "(tensor<1x8x3xf32>, tensor<2x3x6xf32>) -> tensor<1x9x6xf32>",
    f"%0 = stablehlo.reduce(%a init: %x) applies stablehlo.add across dimensions = [1] : "
    f"({F}, tensor<f32>) -> tensor<?xf32>",
    f"""%0:2 = stablehlo.reduce(%a init: %x), (%a init: %x) across dimensions = [0] : \
({F}, {F}, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>)
     reducer(%c: tensor<f32>, %e: tensor<f32>) (%d: tensor<f32>, %f: tensor<f32>)  {{
      %1 = stablehlo.maximum %c, %e : tensor<f32>
      stablehlo.return %1, %f : tensor<f32>, tensor<f32>
    }}""",
    """%0:2 = stablehlo.while(%iterArg = %n, %iterArg_0 = %a) : tensor<i32>, tensor<?x4xf32>
    cond {
      %1 = stablehlo.compare LT, %iterArg, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1 = func.call @f(%iterArg_0) : (tensor<?x4xf32>) -> tensor<?x4xf32>
      stablehlo.return %iterArg, %1 : tensor<i32>, tensor<?x4xf32>
    }""",
    "stablehlo.custom_call @shape_assertion(%n) {api_version = 2 : i32, error_message = "
    '"a \\22b\\22\\0A", has_side_effect = true} : (tensor<i32>) -> ()',
    f"%0 = call @f(%a) : ({F}) -> {F}",
    f'%0 = call @"<lambda>"(%a) : ({F}) -> {F}',
    f'%0 = stablehlo.composite "chlo.sinh" %a {{decomposition = @f, version = 1 : i32}} : ({F}) -> {F}',
    f"%0 = stablehlo.reduce_precision %a, format = e5m10 : {F}",
    "%0 = stablehlo.fft %m, type = RFFT, length = [5] : (tensor<4x5xf32>) -> tensor<4x3xcomplex<f32>>",
    "%output_state, %output = stablehlo.rng_bit_generator %u, algorithm = DEFAULT : "
    "(tensor<2xui64>) -> (tensor<2xui64>, tensor<20x4xui32>)",
    f"%0:2 = stablehlo.optimization_barrier %a, %x : {F}, tensor<f32>",
    "%0 = stablehlo.after_all %t, %t : !stablehlo.token",
    "%0 = stablehlo.create_token : !stablehlo.token",
    "%0 = stablehlo.tuple : tuple<>",
    "%0 = stablehlo.tuple %x, %n : tuple<tensor<f32>, tensor<i32>>",
    """%0 = stablehlo.composite "a.b" %n ({
      stablehlo.return %n : tensor<i32>
    }, {
    ^bb0(%c: tensor<i32>):
      stablehlo.return %c : tensor<i32>
    }) {decomposition = @g} : (tensor<i32>) -> tensor<i32>""",
    """stablehlo.while()
    cond {
      %0 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %0 : tensor<i1>
    } do {
      stablehlo.return
    }""",
    "stablehlo.optimization_barrier {a.b}()",
    "%0 = stablehlo.broadcast %v, sizes = [2] : (tensor<?xf32>) -> tensor<2x?xf32>",
    '%0 = stablehlo.einsum %m, %m, config = "ab,cb->ac" : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x4xf32>',
    '%0 = stablehlo.unary_einsum %m, config = "ab->a" : (tensor<4x5xf32>) -> tensor<4xf32>',
    "%0 = stablehlo.compare EQ, %n, %n, NOTYPE : (tensor<i32>, tensor<i32>) -> tensor<i1>",
    "%0 = stablehlo.cholesky %r, lower = true : tensor<4x4xf32>",
    "%0 = stablehlo.is_finite %v : (tensor<?xf32>) -> tensor<?xi1>",
    "%0 = stablehlo.imag %z : (tensor<?xcomplex<f32>>) -> tensor<?xf32>",
    "%0 = stablehlo.bitcast_convert %v : (tensor<?xf32>) -> tensor<?xi32>",
    "%0 = stablehlo.get_tuple_element %o[1] : (tuple<tensor<f32>, tensor<i32>>) -> tensor<i32>",
    "%0 = stablehlo.replica_id : tensor<ui32>",
    "%0 = stablehlo.partition_id : tensor<ui32>",
    "%0 = stablehlo.rng %x, %x, %w, distribution = NORMAL : "
    "(tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?x?xf32>",
    "%0 = stablehlo.dot %m, %v, precision = [HIGH, HIGHEST] : (tensor<4x5xf32>, tensor<?xf32>) -> tensor<4xf32>",
    "%0 = stablehlo.dot %m, %v : (tensor<4x5xf32>, tensor<?xf32>) -> tensor<4xf32>",
    "%0 = stablehlo.dynamic_pad %m, %x, %s, %s, %s : "
    "(tensor<4x5xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>",
    "%0 = stablehlo.real_dynamic_slice %m, %s, %s, %s : "
    "(tensor<4x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?x?xf32>",
    "%0 = stablehlo.dynamic_update_slice %m, %r, %n, %n : "
    "(tensor<4x5xf32>, tensor<4x4xf32>, tensor<i32>, tensor<i32>) -> tensor<4x5xf32>",
    "%0 = chlo.constant dense<3> : tensor<4xi32>",
    "%0 = chlo.mulhi %n, %n : tensor<i32>, tensor<i32> -> tensor<i32>",
    "%0 = chlo.broadcast_compare %x, %v {comparison_direction = #chlo<comparison_direction LT>} : "
    "(tensor<f32>, tensor<?xf32>) -> tensor<?xi1>",
    """%0:2 = chlo.scan(%m) inits (%v) dimension=0  {
    ^bb0(%input: tensor<5xf32>, %carry: tensor<?xf32>):
      stablehlo.return %input, %carry : tensor<5xf32>, tensor<?xf32>
    } : (tensor<4x5xf32>, tensor<?xf32>) -> (tensor<4x5xf32>, tensor<?xf32>)""",
    """%0:2 = chlo.scan(%m) inits (%v) dimension=0 attributes {is_reverse = true} {
    ^bb0(%input: tensor<5xf32>, %carry: tensor<?xf32>):
      stablehlo.return %input, %carry : tensor<5xf32>, tensor<?xf32>
    } : (tensor<4x5xf32>, tensor<?xf32>) -> (tensor<4x5xf32>, tensor<?xf32>)""",
    "%0 = chlo.lgamma %v : tensor<?xf32> -> tensor<?xf32>",
    "%0, %1 = chlo.top_k(%m, k = 4) : tensor<4x5xf32> -> (tensor<4x4xf32>, tensor<4x4xi32>)",
)
_ELEMENTWISE = (
    (
        "tensor<?xf32>",
        "%v",
        "abs cbrt ceil cosine exponential_minus_one floor log log_plus_one logistic round_nearest_afz "
        "round_nearest_even rsqrt sign sine sqrt tan",
    ),
    ("tensor<?xf32>", "%v, %v", "atan2 divide minimum multiply power remainder subtract"),
    ("tensor<i32>", "%n", "count_leading_zeros not popcnt"),
    ("tensor<i32>", "%n, %n", "and or shift_left shift_right_arithmetic shift_right_logical xor"),
)
_CHLO = (
    ("tensor<?xcomplex<f32>> -> tensor<?xcomplex<f32>>", "%z", "_asin_acos_kernel conj"),
    (
        "tensor<?xf32> -> tensor<?xf32>",
        "%v",
        "acos acosh asin asinh atan atanh bessel_i1e cosh digamma erf erf_inv erfc sinh square tan",
    ),
    ("tensor<?xf32> -> tensor<?xi1>", "%v", "is_inf is_neg_inf is_pos_inf"),
    ("tensor<?xf32>, tensor<?xf32> -> tensor<?xf32>", "%v, %v", "next_after polygamma zeta"),
    (
        "(tensor<f32>, tensor<?xf32>) -> tensor<?xf32>",
        "%x, %v",
        "broadcast_add broadcast_atan2 broadcast_divide broadcast_maximum broadcast_minimum broadcast_multiply "
        "broadcast_next_after broadcast_polygamma broadcast_power broadcast_remainder "
        "broadcast_subtract broadcast_zeta",
    ),
    ("(tensor<f32>, tensor<?xf32>) -> tensor<?xcomplex<f32>>", "%x, %v", "broadcast_complex"),
    (
        "(tensor<i32>, tensor<4xi32>) -> tensor<4xi32>",
        "%n, %i",
        "broadcast_and broadcast_or broadcast_shift_left broadcast_shift_right_arithmetic "
        "broadcast_shift_right_logical broadcast_xor",
    ),
    ("(tensor<i1>, tensor<f32>, tensor<?xf32>) -> tensor<?xf32>", "%l, %x, %v", "broadcast_select"),
)
FAMILIES = tuple(
    f"%0 = {dialect}.{name} {operands} : {types}"
    for dialect, table in (("stablehlo", _ELEMENTWISE), ("chlo", _CHLO))
    for types, operands, names in table
    for name in names.split()
)

SHARDED = (
    "sdy.sharding_group %r group_id=21 : tensor<4x4xf32>",
    '%0 = sdy.reshard %r <@mesh, [{"x"}, {"y"}]> : tensor<4x4xf32>',
    '%0 = sdy.sharding_constraint %r <@mesh, [{"x", ?}, {}]> : tensor<4x4xf32>',
    "%0 = sdy.propagation_barrier %r allowed_direction=BACKWARD : tensor<4x4xf32>",
    """%0 = sdy.named_computation<"inner">(%r) in_shardings=[<@mesh, [{"x"}, {}]>] \
out_shardings=[<@mesh, [{"x"}, {}]>] (%c: tensor<4x4xf32>) {
      sdy.return %c : tensor<4x4xf32>
    } : (tensor<4x4xf32>) -> tensor<4x4xf32>""",
    """%0 = sdy.manual_computation(%r) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] \
manual_axes={"x"} (%c: tensor<2x4xf32>) {
      %1 = stablehlo.add %c, %c : tensor<2x4xf32>
      sdy.return %1 : tensor<2x4xf32>
    } {a.b} : (tensor<4x4xf32>) -> tensor<4x4xf32>""",
    "%0 = sdy.constant dense<1.000000e+00> : tensor<4x4xf32>",
    '%0 = sdy.all_slice [{"x"}, {}] %r out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x4xf32>',
    """%0 = sdy.all_slice [{"x"}, {}] %r out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x4xf32>
    %1 = sdy.all_to_all [{"x"}: 0->1] %0 out_sharding=<@mesh, [{}, {"x"}]> : tensor<4x4xf32>
    %2 = sdy.collective_permute %1 out_sharding=<@mesh, [{}, {"y"}]> : tensor<4x4xf32>
    %3 = sdy.all_gather [{}, {"y"}] %2 out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
    %4 = sdy.reduce_scatter [{"x"}, {}] %3 out_sharding=<@mesh, [{"x"}, {}]> : tensor<4x4xf32>""",
    '%0 = sdy.all_reduce {"y"} %r out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>',
)

UNKNOWN_TO_JAXLIB = (
    """%0 = stablehlo.uniform_quantize %x : (tensor<f32>) -> tensor<!quant.uniform<i8:f32, 1.000000e+00:-30>>
    %1 = stablehlo.uniform_dequantize %0 : (tensor<!quant.uniform<i8:f32, 1.000000e+00:-30>>) -> tensor<f32>""",
    """%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>):
      %1 = stablehlo.add %c, %d : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>""",
    "check.expect_eq %a, %b : tensor<?x4xf32>",
    "check.expect_eq_const %n, dense<0> : tensor<i32>",
    "check.expect_almost_eq %a, %b, tolerance = 0.1 : tensor<?x4xf32>",
    "check.expect_almost_eq_const %x, dense<0.000000e+00> : tensor<f32>",
    "check.expect_almost_eq_const %x, dense<0.000000e+00> : tensor<f32>, tolerance = 1.000000e-03 {a.b}",
    "check.expect_close %a, %b, max_ulp_difference = 3 : tensor<?x4xf32>, tensor<?x4xf32>",
    "check.expect_close %a, %b, max_ulp_difference = 3, min_ulp_difference = 1 : tensor<?x4xf32>, tensor<?x4xf32>",
    'check.expect_serialized_eq %a, probe_id = "p", iter = 2 : tensor<?x4xf32>',
    "interpreter.print %a : tensor<?x4xf32>",
    '%0 = interpreter.probe %a, probe_id = "p" : tensor<?x4xf32>',
    '%0 = "interpreter.run_parallel"() {programs = [[@f]]} : () -> tensor<?x4xf32>',
)

GENERIC = (
    '%0 = "stablehlo.gather"(%m, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], '
    "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, "
    "indices_are_sorted = true, slice_sizes = array<i64: 1, 5>}> : "
    "(tensor<4x5xf32>, tensor<4xi32>) -> tensor<4x5xf32>",
    """%0:2 = "stablehlo.sort"(%v, %v) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%c: tensor<f32>, %d: tensor<f32>, %e: tensor<f32>, %f: tensor<f32>):
      %1 = stablehlo.compare LT, %c, %d, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }) : (tensor<?xf32>, tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>)""",
    """%0 = "stablehlo.case"(%n) ({
      stablehlo.return %a : tensor<?x4xf32>
    }, {
      %1 = stablehlo.negate %a : tensor<?x4xf32>
      stablehlo.return %1 : tensor<?x4xf32>
    }) : (tensor<i32>) -> tensor<?x4xf32>""",
    '%0 = "stablehlo.triangular_solve"(%r, %r) <{left_side = true, lower = true, transpose_a = '
    "#stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : "
    "(tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>",
    """%0 = "stablehlo.async_start"(%r) ({
    ^bb0(%c: tensor<4x4xf32>):
      %2 = "stablehlo.all_gather"(%c) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : \
tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
      stablehlo.return %2 : tensor<4x8xf32>
    }) : (tensor<4x4xf32>) -> !stablehlo.future<tensor<4x8xf32>>
    %1 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<4x8xf32>>) -> tensor<4x8xf32>""",
    '%0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<0> : tensor<1x1xi64>}> : '
    "(tensor<f32>) -> tensor<f32>",
    '%0:2 = "stablehlo.infeed"(%t) <{infeed_config = "c", layout = [[0, 1]]}> : '
    "(!stablehlo.token) -> (tensor<4x5xf32>, !stablehlo.token)",
)

GENERIC_BY_NEED = (
    '%0 = "stablehlo.iota"() : () -> tensor<4xf32>',
    '%0 = "stablehlo.iota"() <{iota_dimension = 0 : i32}> : () -> tensor<4xf32>',
    '%0 = "stablehlo.constant"() <{value = dense<0> : tensor<4xi32>}> : () -> tensor<?xi32>',
    '%0 = "stablehlo.dot"(%m, %v) <{precision_config = "HIGH"}> : (tensor<4x5xf32>, tensor<?xf32>) -> tensor<4xf32>',
    '%0 = "stablehlo.dot_general"(%m, %m) <{dot_dimension_numbers = #chlo.dot<lhs_contracting_dimensions = [0], '
    "rhs_contracting_dimensions = [0]>}> : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<5x5xf32>",
    '%0 = "stablehlo.convolution"(%g, %k) <{batch_group_count = 1 : i64, dimension_numbers = '
    "#stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, "
    "window_strides = array<i32: 1>}> : "
    "(tensor<1x8x3xf32>, tensor<2x3x6xf32>) -> tensor<1x10x6xf32>",
    """%0 = "stablehlo.while"(%n) ({
    ^bb0(%c: tensor<i32>):
      %1 = stablehlo.constant dense<true> : tensor<i1>
      stablehlo.return %1 : tensor<i1>
    }, {
    ^bb0(%c: tensor<?xi32>):
      stablehlo.return %n : tensor<i32>
    }) : (tensor<i32>) -> tensor<i32>""",
    '%0 = "sdy.propagation_barrier"(%r) <{allowed_direction = 7 : i32}> : (tensor<4x4xf32>) -> tensor<4x4xf32>',
    '%0 = "stablehlo.cholesky"(%m) <{lower = 1 : i32}> : (tensor<4x5xf32>) -> tensor<4x5xf32>',
)

CALLEES = f"""
  func.func private @f(%arg0: {F}) -> {F} {{
    return %arg0 : {F}
  }}
  func.func private @g(tensor<i32>) -> tensor<i32>
  func.func private @"<lambda>"(%arg0: {F}) -> {F} {{
    return %arg0 : {F}
  }}
"""


def program(op: str) -> str:
    """Give a module whose `@main` consists of `op`."""
    arguments = ", ".join(f"%{name}: {type_}" for name, type_ in ARGUMENTS.items())
    return (
        f"module @m attributes {{mhlo.num_replicas = 1 : i32}} {{\n"
        f'  sdy.mesh @mesh = <["x"=2, "y"=2]> {{a.b}}\n'
        f"  func.func public @main({arguments}) {{\n    {op}\n    return\n  }}{CALLEES}}}\n"
    )
