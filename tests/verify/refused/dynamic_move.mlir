// dynamic_broadcast_in_dim I1 | %x: !stablehlo.token, %s: tensor<1xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64>}> : (!stablehlo.token, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_broadcast_in_dim I2 | %x: tensor<3xf32>, %s: tensor<2xf32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xf32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim I2 | %x: tensor<f32>, %s: tensor<i32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [] : (tensor<f32>, tensor<i32>) -> tensor<?xf32>
// -----
// dynamic_broadcast_in_dim I3 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i32: 1>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim I4 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i32: 0>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim I5 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64: 1>, known_nonexpanding_dimensions = array<i32: 0>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C1 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf64>
// -----
// dynamic_broadcast_in_dim C2 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C3 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [2] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C4 | %x: tensor<3x?xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1, 1] : (tensor<3x?xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C5 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x4xf32>
// -----
// dynamic_broadcast_in_dim C5 | %x: tensor<3xf32>
%s = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x?xf32>
// -----
// dynamic_broadcast_in_dim C6 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2xi32>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// dynamic_broadcast_in_dim C7 (jaxlib accepts) | %x: tensor<3xf32>, %s: tensor<3xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<3xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C7 | %x: tensor<3xf32>
%s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [1] : (tensor<3xf32>, tensor<2xi32>) -> tensor<4x3xf32>
// -----
// dynamic_broadcast_in_dim C8 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 0>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C9 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64: 1>, known_expanding_dimensions = array<i64: 1>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_broadcast_in_dim C10 | %x: tensor<3xf32>, %s: tensor<2xi32>
%0 = "stablehlo.dynamic_broadcast_in_dim"(%x, %s) <{broadcast_dimensions = array<i64: 1>, known_nonexpanding_dimensions = array<i64: -1>}> : (tensor<3xf32>, tensor<2xi32>) -> tensor<?x3xf32>
// -----
// dynamic_reshape I1 | %x: !stablehlo.token, %s: tensor<1xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (!stablehlo.token, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_reshape I2 | %x: tensor<?xf32>, %s: tensor<1x1xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<1x1xi32>) -> tensor<?xf32>
// -----
// dynamic_reshape C1 | %x: tensor<?xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x?xi32>
// -----
// dynamic_reshape C2 | %x: tensor<6xf32>, %s: tensor<2xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi32>) -> tensor<2x4xf32>
// -----
// dynamic_reshape C2 | %x: tensor<6xf32>
%s = stablehlo.constant dense<[2, 4]> : tensor<2xi64>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<6xf32>, tensor<2xi64>) -> tensor<?x?xf32>
// -----
// dynamic_reshape C3 | %x: tensor<?x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>, %s: tensor<3xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>, tensor<3xi32>) -> tensor<?x2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// dynamic_reshape C4 | %x: tensor<?xf32>, %s: tensor<3xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<3xi32>) -> tensor<?x2xf32>
// -----
// dynamic_reshape C4 | %x: tensor<?xf32>
%s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<?xf32>, tensor<2xi32>) -> tensor<2x4xf32>
// -----
// dynamic_iota I1 | %s: tensor<2xf32>
%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xf32>) -> tensor<?x?xi32>
// -----
// dynamic_iota I2 | %s: tensor<2xi32>
%0 = "stablehlo.dynamic_iota"(%s) <{iota_dimension = 0 : i32}> : (tensor<2xi32>) -> tensor<?x?xi32>
// -----
// dynamic_iota C1 | %s: tensor<2xi32>
%0 = stablehlo.dynamic_iota %s, dim = 2 : (tensor<2xi32>) -> tensor<?x?xi32>
// -----
// dynamic_iota C2 (jaxlib accepts) | %s: tensor<2xi32>
%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?xi32>
// -----
// dynamic_iota C2
func.func @main() {
  %s = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?x4xi32>
  return
}
// -----
// dynamic_iota C2
func.func @main() {
  %s = stablehlo.constant dense<[2, -3]> : tensor<2xi32>
  %0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<2xi32>) -> tensor<?x?xi32>
  return
}
// -----
// dynamic_iota C1 | %s: tensor<1xi32>
%0 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<1xi32>) -> tensor<?xi32>
// -----
// dynamic_pad I1 | %x: !stablehlo.token, %p: tensor<f32>, %n: tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %n : (!stablehlo.token, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad I2 | %x: tensor<?xf32>, %p: tensor<1xf32>, %n: tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %n : (tensor<?xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad I3 | %x: tensor<?xf32>, %p: tensor<f32>, %n: tensor<1xi32>, %f: tensor<1xf32>
%0 = stablehlo.dynamic_pad %x, %p, %f, %n, %n : (tensor<?xf32>, tensor<f32>, tensor<1xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad I4 | %x: tensor<?xf32>, %p: tensor<f32>, %n: tensor<1xi32>, %f: tensor<1xf32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %f, %n : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad I5 | %x: tensor<?xf32>, %p: tensor<f32>, %n: tensor<1xi32>, %m: tensor<i32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %m : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<i32>) -> tensor<?xf32>
// -----
// dynamic_pad C1 | %x: tensor<?xf32>, %p: tensor<f64>, %n: tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %n : (tensor<?xf32>, tensor<f64>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad C2 | %x: tensor<?xf32>, %p: tensor<f32>, %n: tensor<2xi32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %n : (tensor<?xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?xf32>
// -----
// dynamic_pad C3 | %x: tensor<?xf32>, %p: tensor<f32>, %n: tensor<1xi32>
%c = stablehlo.constant dense<-1> : tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %c : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad C4 | %x: tensor<3xf32>, %p: tensor<f32>
%c = stablehlo.constant dense<1> : tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %p, %c, %c, %c : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<6xf32>
// -----
// dynamic_pad C4 | %x: tensor<3xf32>, %p: tensor<f32>, %n: tensor<1xi32>
%0 = stablehlo.dynamic_pad %x, %p, %n, %n, %n : (tensor<3xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?x?xf32>
// -----
// real_dynamic_slice I1 | %x: !stablehlo.token, %n: tensor<1xi32>
%0 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (!stablehlo.token, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice I2 | %x: tensor<?xf32>, %n: tensor<1xi32>, %f: tensor<1xf32>
%0 = stablehlo.real_dynamic_slice %x, %f, %n, %n : (tensor<?xf32>, tensor<1xf32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice I3 | %x: tensor<?xf32>, %n: tensor<1xi32>, %f: tensor<1xf32>
%0 = stablehlo.real_dynamic_slice %x, %n, %f, %n : (tensor<?xf32>, tensor<1xi32>, tensor<1xf32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice I4 | %x: tensor<?xf32>, %n: tensor<1xi32>, %m: tensor<i32>
%0 = stablehlo.real_dynamic_slice %x, %n, %n, %m : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<i32>) -> tensor<?xf32>
// -----
// real_dynamic_slice C1 | %x: tensor<?xf32>, %n: tensor<1xi32>
%0 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf64>
// -----
// real_dynamic_slice C2 | %x: tensor<?xf32>, %n: tensor<2xi32>
%0 = stablehlo.real_dynamic_slice %x, %n, %n, %n : (tensor<?xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice C3 (jaxlib accepts) | %x: tensor<5xf32>, %n: tensor<1xi32>
%c = stablehlo.constant dense<6> : tensor<1xi32>
%0 = stablehlo.real_dynamic_slice %x, %n, %c, %n : (tensor<5xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice C4 (jaxlib accepts) | %x: tensor<5xf32>, %n: tensor<1xi32>
%c = stablehlo.constant dense<0> : tensor<1xi32>
%0 = stablehlo.real_dynamic_slice %x, %n, %n, %c : (tensor<5xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice C5 (jaxlib accepts) | %x: tensor<?xf32>
%c = stablehlo.constant dense<1> : tensor<1xi32>
%d = stablehlo.constant dense<4> : tensor<1xi32>
%0 = stablehlo.real_dynamic_slice %x, %c, %d, %c : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<4xf32>
// -----
// real_dynamic_slice C6 | %x: tensor<?xf32>, %n: tensor<1xi32>, %m: tensor<1xi64>
%0 = stablehlo.real_dynamic_slice %x, %n, %m, %n : (tensor<?xf32>, tensor<1xi32>, tensor<1xi64>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice C6 | %x: tensor<?xf32>, %n: tensor<1xi32>, %m: tensor<1xi64>
%0 = stablehlo.real_dynamic_slice %x, %m, %n, %n : (tensor<?xf32>, tensor<1xi64>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// real_dynamic_slice C6 | %x: tensor<?xf32>, %n: tensor<1xi32>, %m: tensor<1xi64>
%0 = stablehlo.real_dynamic_slice %x, %n, %n, %m : (tensor<?xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi64>) -> tensor<?xf32>
// -----
// get_dimension_size I1 | %x: !stablehlo.token
%0 = stablehlo.get_dimension_size %x, dim = 0 : (!stablehlo.token) -> tensor<i32>
// -----
// get_dimension_size I2 | %x: tensor<?xf32>
%0 = "stablehlo.get_dimension_size"(%x) <{dimension = 0 : i32}> : (tensor<?xf32>) -> tensor<i32>
// -----
// get_dimension_size C1 | %x: tensor<?xf32>
%0 = stablehlo.get_dimension_size %x, dim = 1 : (tensor<?xf32>) -> tensor<i32>
// -----
// set_dimension_size I1 | %x: !stablehlo.token, %n: tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (!stablehlo.token, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
// -----
// set_dimension_size I2 | %x: tensor<5xf32>, %n: tensor<i64>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<5xf32>, tensor<i64>) -> tensor<?xf32, #stablehlo.bounds<5>>
// -----
// set_dimension_size I3 | %x: tensor<5xf32>, %n: tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i32}> : (tensor<5xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
// -----
// set_dimension_size C1 | %x: tensor<5xf32>, %n: tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 1 : i64}> : (tensor<5xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
// -----
// set_dimension_size C2 | %x: tensor<5xf32>, %n: tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<5xf32>, tensor<i32>) -> tensor<?xf64, #stablehlo.bounds<5>>
// -----
// set_dimension_size C3 | %x: tensor<5x3xf32>, %n: tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<5x3xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<5, ?>>
// -----
// set_dimension_size C4 (jaxlib accepts) | %x: tensor<5xf32>
%n = stablehlo.constant dense<6> : tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<5xf32>, tensor<i32>) -> tensor<?xf32, #stablehlo.bounds<5>>
// -----
// set_dimension_size C5 | %x: tensor<5xf32>, %n: tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 0 : i64}> : (tensor<5xf32>, tensor<i32>) -> tensor<6xf32>
// -----
// dynamic_broadcast_in_dim I2 | %x: tensor<2xf32>, %s: tensor<?xi32>
%0 = stablehlo.dynamic_broadcast_in_dim %x, %s, dims = [0] : (tensor<2xf32>, tensor<?xi32>) -> tensor<2x?xf32>
// -----
// dynamic_reshape I2 | %x: tensor<2xf32>, %s: tensor<?xi32>
%0 = stablehlo.dynamic_reshape %x, %s : (tensor<2xf32>, tensor<?xi32>) -> tensor<?x?xf32>
// -----
// dynamic_iota I1 | %s: tensor<?xi32>
%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<?xi32>) -> tensor<?x?xf32>
// -----
// dynamic_pad I3 | %x: tensor<?xf32>, %v: tensor<f32>, %a: tensor<1xi32>, %b: tensor<?xi32>
%0 = stablehlo.dynamic_pad %x, %v, %b, %a, %a : (tensor<?xf32>, tensor<f32>, tensor<?xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad I4 | %x: tensor<?xf32>, %v: tensor<f32>, %a: tensor<1xi32>, %b: tensor<?xi32>
%0 = stablehlo.dynamic_pad %x, %v, %a, %b, %a : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<?xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_pad I5 | %x: tensor<?xf32>, %v: tensor<f32>, %a: tensor<1xi32>, %b: tensor<?xi32>
%0 = stablehlo.dynamic_pad %x, %v, %a, %a, %b : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<?xi32>) -> tensor<?xf32>
// -----
// dynamic_pad C5 | %x: tensor<?xf32>, %v: tensor<f32>, %a: tensor<1xi32>, %b: tensor<1xi64>
%0 = stablehlo.dynamic_pad %x, %v, %a, %a, %b : (tensor<?xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi64>) -> tensor<?xf32>
// -----
// real_dynamic_slice I3 | %x: tensor<?xf32>, %a: tensor<1xi32>, %b: tensor<?xi32>
%0 = stablehlo.real_dynamic_slice %x, %a, %b, %a : (tensor<?xf32>, tensor<1xi32>, tensor<?xi32>, tensor<1xi32>) -> tensor<?xf32>
// -----
// dynamic_iota C2 (jaxlib accepts) | %s: tensor<0xi32>
%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<0xi32>) -> tensor<?xf32>
// -----
// set_dimension_size C3 (jaxlib accepts) | %x: tensor<5x3xf32>
%n = stablehlo.constant dense<0> : tensor<i32>
%0 = "stablehlo.set_dimension_size"(%x, %n) <{dimension = 1 : i64}> : (tensor<5x3xf32>, tensor<i32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>>
// -----
// dynamic_iota C3 (jaxlib accepts) | %s: tensor<1xi32>
%0 = stablehlo.dynamic_iota %s, dim = 0 : (tensor<1xi32>) -> tensor<?xi1>
