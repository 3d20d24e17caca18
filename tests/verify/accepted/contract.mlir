// elements of the result wider than those of the operands
func.func @main(%x: tensor<2x3xi8>, %y: tensor<3x?xi8>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x3xi8>, tensor<3x?xi8>) -> tensor<2x?xi32>
  return
}
// -----
// two kinds of eight bits
func.func @main(%x: tensor<3xf8E4M3FN>, %y: tensor<3xf8E5M2>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf8E4M3FN>, tensor<3xf8E5M2>) -> tensor<f32>
  return
}
// -----
// floats of which the result holds all, as gradients of attention in bf16 have them
func.func @main(%x: tensor<3xf32>, %y: tensor<3xbf16>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xbf16>) -> tensor<f32>
  return
}
// -----
// nothing contracted; an empty list of precisions
func.func @main(%x: tensor<2xi1>, %y: tensor<?xi1>) {
  %0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<>, precision_config = []}> : (tensor<2xi1>, tensor<?xi1>) -> tensor<2x?xi1>
  return
}
// -----
// default precisions beside an algorithm
func.func @main(%x: tensor<3xf32>) {
  %0 = stablehlo.dot_general %x, %x, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}
// -----
// sizes that are bounded
func.func @main(%x: tensor<2x?xf32, #stablehlo.bounds<?, 5>>, %y: tensor<?x3xf32, #stablehlo.bounds<5, ?>>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x?xf32, #stablehlo.bounds<?, 5>>, tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<2x3xf32>
  return
}
// -----
// plain operand, quantized weights, along a dimension that stays
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<2x2xf32>
  return
}
// -----
// both quantized, with other scales
func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.1:4>>, %y: tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32, 0.1:4>>, tensor<3x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<2x2x!quant.uniform<i32:f32:1, {0.3, 0.4}>>
  return
}
// -----
func.func @main(%x: tensor<2x3xf32>, %y: tensor<3xf32>) {
  %0 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<?xf32>
  %1 = stablehlo.dot %y, %y : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
  return
}
// -----
// dimensions without letters
func.func @main(%x: tensor<7x2x3xf32>, %y: tensor<3x4xf32>) {
  %0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "...ab, bc -> ...ac"}> : (tensor<7x2x3xf32>, tensor<3x4xf32>) -> tensor<7x2x4xf32>
  return
}
