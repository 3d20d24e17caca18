// defaults left out; sizes that are not known
func.func @main(%x: tensor<?x8x?x4xf32>, %k: tensor<3x2x4x6xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x8x?x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x?x6xf32>
  return
}
// -----
// other places of the dimensions; padding, strides, dilations, reversal
func.func @main(%x: tensor<4x2x8x9xf32>, %k: tensor<6x3x4x2xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [f, b, 1, 0]x[o, 0, i, 1]->[1, f, 0, b], window = {stride = [2, 1], pad = [[1, 0], [-1, 2]], lhs_dilate = [1, 2], rhs_dilate = [2, 3], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<4x2x8x9xf32>, tensor<6x3x4x2xf32>) -> tensor<13x6x3x2xf32>
  return
}
// -----
// groups of features, of batches
func.func @main(%x: tensor<4x8x6xf32>, %k: tensor<3x2x9xf32>, %l: tensor<3x6x4xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 3 : i64} : (tensor<4x8x6xf32>, tensor<3x2x9xf32>) -> tensor<4x6x9xf32>
  %1 = stablehlo.convolution(%x, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 1 : i64} : (tensor<4x8x6xf32>, tensor<3x6x4xf32>) -> tensor<2x6x4xf32>
  return
}
// -----
// no spatial dimension; a window that fits nowhere; no elements
func.func @main(%x: tensor<4x6xf32>, %k: tensor<6x5xf32>, %y: tensor<4x2x6xf32>, %l: tensor<3x6x4xf32>, %z: tensor<0x8x6xf32>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6xf32>, tensor<6x5xf32>) -> tensor<5x4xf32>
  %1 = stablehlo.convolution(%y, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x2x6xf32>, tensor<3x6x4xf32>) -> tensor<4x0x4xf32>
  %2 = stablehlo.convolution(%z, %l) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<0x8x6xf32>, tensor<3x6x4xf32>) -> tensor<0x6x4xf32>
  return
}
// -----
// wider elements of the result
func.func @main(%x: tensor<4x6xi8>, %k: tensor<6x5xi8>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6xi8>, tensor<6x5xi8>) -> tensor<4x5xi32>
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6xi8>, tensor<6x5xi8>) -> tensor<4x5xbf16>
  return
}
// -----
// quantized weights, along their output features
func.func @main(%x: tensor<4x6xf32>, %y: tensor<4x6x!quant.uniform<i8:f32, 0.1:3>>, %k: tensor<6x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) {
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, f]x[i, o]->[b, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6xf32>, tensor<6x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<4x2xf32>
  %1 = stablehlo.convolution(%y, %k) dim_numbers = [b, f]x[i, o]->[f, b], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4x6x!quant.uniform<i8:f32, 0.1:3>>, tensor<6x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<2x4x!quant.uniform<i32:f32:0, {0.3, 0.4}>>
  return
}
// -----
// a padding that only the run tells, and one that is known
func.func @main(%x: tensor<4x8x6xf32>, %k: tensor<3x6x4xf32>, %p: tensor<1x2xi32>) {
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x8x6xf32>, tensor<3x6x4xf32>, tensor<1x2xi32>) -> tensor<4x7x4xf32>
  %q = stablehlo.constant dense<[[2, -1]]> : tensor<1x2xi32>
  %1 = "stablehlo.dynamic_conv"(%x, %k, %q) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x8x6xf32>, tensor<3x6x4xf32>, tensor<1x2xi32>) -> tensor<4x7x4xf32>
  return
}
// -----
// more strides than dimensions
func.func @main(%x: tensor<4x8x6xf32>, %k: tensor<3x6x4xf32>, %p: tensor<1x2xi32>) {
  %0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 2>}> : (tensor<4x8x6xf32>, tensor<3x6x4xf32>, tensor<1x2xi32>) -> tensor<4x?x4xf32>
  return
}
