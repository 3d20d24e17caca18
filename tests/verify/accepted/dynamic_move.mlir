// shapes of indices, of unsigned numbers, and empty ones
func.func @main(%x: tensor<?x3xf32>, %e: tensor<0xi32>, %i: tensor<2xindex>, %u: tensor<3xui8>, %f: tensor<f32>) {
  %0 = stablehlo.dynamic_broadcast_in_dim %x, %u, dims = [2, 0] : (tensor<?x3xf32>, tensor<3xui8>) -> tensor<3x?x4xf32>
  %1 = stablehlo.dynamic_reshape %x, %i : (tensor<?x3xf32>, tensor<2xindex>) -> tensor<3x?xf32>
  %2 = stablehlo.dynamic_iota %i, dim = 1 : (tensor<2xindex>) -> tensor<?x4xcomplex<f32>>
  %3 = stablehlo.real_dynamic_slice %x, %i, %i, %i : (tensor<?x3xf32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<?x2xf32>
  %4 = stablehlo.dynamic_pad %x, %f, %i, %i, %i : (tensor<?x3xf32>, tensor<f32>, tensor<2xindex>, tensor<2xindex>, tensor<2xindex>) -> tensor<7x?xf32>
  %5 = stablehlo.dynamic_broadcast_in_dim %f, %e, dims = [] : (tensor<f32>, tensor<0xi32>) -> tensor<f32>
  %6 = stablehlo.dynamic_reshape %f, %e : (tensor<f32>, tensor<0xi32>) -> tensor<f32>
  return
}
// -----
// what constants say fits the types
func.func @main(%x: tensor<?xf32>, %y: tensor<1x3xf32>, %p: tensor<f32>, %n: tensor<1xi64>) {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
  %m = stablehlo.constant dense<-1> : tensor<1xi64>
  %0 = stablehlo.dynamic_broadcast_in_dim %y, %s, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<1x3xf32>, tensor<2xi64>) -> tensor<2x?xf32>
  %1 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi64>) -> tensor<?x3xf32>
  %2 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi64>) -> tensor<2x?xui8>
  %z = stablehlo.constant dense<[0, 3]> : tensor<2xi64>
  %z1 = stablehlo.constant dense<0> : tensor<1xi64>
  %4 = stablehlo.dynamic_iota %z, dim = 0 : (tensor<2xi64>) -> tensor<0x?xui8>
  %5 = stablehlo.real_dynamic_slice %x, %z1, %z1, %n : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  %6 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<?xf32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<4xf32>
  %3 = stablehlo.dynamic_pad %x, %p, %m, %m, %n : (tensor<?xf32>, tensor<f32>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> tensor<?xf32>
  return
}
// -----
// a size that is set, and set again
func.func @main(%x: tensor<5x3xf32>, %n: tensor<i32>) {
  %c = stablehlo.constant dense<5> : tensor<i32>
  %0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<5x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>>
  %1 = "stablehlo.set_dimension_size"(%0, %n) <{dimension = 1 : i64}> : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>, tensor<i32>) -> tensor<?x?xf32, #stablehlo.bounds<5, 3>>
  %2 = "stablehlo.set_dimension_size"(%1, %c) <{dimension = 0 : i64}> : (tensor<?x?xf32, #stablehlo.bounds<5, 3>>, tensor<i32>) -> tensor<5x?xf32, #stablehlo.bounds<?, 3>>
  %z = stablehlo.constant dense<0> : tensor<i32>
  %4 = "stablehlo.set_dimension_size"(%x, %z) <{dimension = 0 : i64}> : (tensor<5x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>>
  %3 = stablehlo.get_dimension_size %1, dim = 1 : (tensor<?x?xf32, #stablehlo.bounds<5, 3>>) -> tensor<i32>
  return
}
