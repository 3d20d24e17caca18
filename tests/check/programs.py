"""A program of many ops, to put bugs into the compiler for."""

ATTENTION = """\
func.func private @scaled(%x: tensor<?x4x?x8xf32>, %by: tensor<f32>) -> tensor<?x4x?x8xf32> {
  %0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
  %1 = stablehlo.subtract %by, %0 : tensor<f32>
  %11 = stablehlo.exponential %1 : tensor<f32>
  %2 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4x?x8xf32>) -> tensor<i32>
  %3 = stablehlo.get_dimension_size %x, dim = 2 : (tensor<?x4x?x8xf32>) -> tensor<i32>
  %4 = stablehlo.reshape %2 : (tensor<i32>) -> tensor<1xi32>
  %5 = stablehlo.reshape %3 : (tensor<i32>) -> tensor<1xi32>
  %6 = stablehlo.constant dense<4> : tensor<1xi32>
  %7 = stablehlo.constant dense<8> : tensor<1xi32>
  %8 = stablehlo.concatenate %4, %6, %5, %7, dim = 0
    : (tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xi32>
  %9 = stablehlo.dynamic_broadcast_in_dim %11, %8, dims = [] : (tensor<f32>, tensor<4xi32>) -> tensor<?x4x?x8xf32>
  %10 = stablehlo.multiply %x, %9 : tensor<?x4x?x8xf32>
  return %10 : tensor<?x4x?x8xf32>
}
func.func @main(%x: tensor<?x?x4x8xf32>, %at: tensor<i32>, %by: tensor<f32>)
    -> (tensor<?x4x?xf32>, tensor<?x?x4x2xf32>) {
  %q = stablehlo.transpose %x, dims = [0, 2, 1, 3] : (tensor<?x?x4x8xf32>) -> tensor<?x4x?x8xf32>
  %k = call @scaled(%q, %by) : (tensor<?x4x?x8xf32>, tensor<f32>) -> tensor<?x4x?x8xf32>
  %s = stablehlo.dot_general %q, %k, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3]
    : (tensor<?x4x?x8xf32>, tensor<?x4x?x8xf32>) -> tensor<?x4x?x?xf32>
  %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %u = stablehlo.abs %s : tensor<?x4x?x?xf32>
  %n = stablehlo.negate %u : tensor<?x4x?x?xf32>
  %m = stablehlo.reduce(%n init: %lowest) applies stablehlo.maximum across dimensions = [3]
    : (tensor<?x4x?x?xf32>, tensor<f32>) -> tensor<?x4x?xf32>
  %t = stablehlo.tanh %m : tensor<?x4x?xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %d0 = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x?x4x8xf32>) -> tensor<i32>
  %d1 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?x?x4x8xf32>) -> tensor<i32>
  %e0 = stablehlo.reshape %d0 : (tensor<i32>) -> tensor<1xi32>
  %e1 = stablehlo.reshape %d1 : (tensor<i32>) -> tensor<1xi32>
  %r = stablehlo.reverse %x, dims = [1] : tensor<?x?x4x8xf32>
  %y = stablehlo.abs %r : tensor<?x?x4x8xf32>
  %e2 = stablehlo.constant dense<[4, 2]> : tensor<2xi32>
  %shape = stablehlo.concatenate %e0, %e1, %e2, dim = 0 : (tensor<1xi32>, tensor<1xi32>, tensor<2xi32>) -> tensor<4xi32>
  %p = stablehlo.transpose %y, dims = [3, 2, 0, 1] : (tensor<?x?x4x8xf32>) -> tensor<8x4x?x?xf32>
  %w = stablehlo.transpose %p, dims = [2, 3, 1, 0] : (tensor<8x4x?x?xf32>) -> tensor<?x?x4x8xf32>
  %o = stablehlo.slice %w [0:1, 0:1, 0:4, 0:8] : (tensor<?x?x4x8xf32>) -> tensor<1x1x4x8xf32>
  %h = stablehlo.reshape %o : (tensor<1x1x4x8xf32>) -> tensor<4x8xf32>
  %z = stablehlo.dynamic_slice %h, %c, %at, sizes = [4, 2] : (tensor<4x8xf32>, tensor<i32>, tensor<i32>)
    -> tensor<4x2xf32>
  %b = stablehlo.dynamic_broadcast_in_dim %z, %shape, dims = [2, 3]
    : (tensor<4x2xf32>, tensor<4xi32>) -> tensor<?x?x4x2xf32>
  return %t, %b : tensor<?x4x?xf32>, tensor<?x?x4x2xf32>
}
"""
