// sizes that are not known
func.func @main(%x: tensor<?x?xf32>, %s: tensor<3xf32>, %g: tensor<2x?xf32>) {
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<?x?xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x?xf32>, tensor<?xf32>, tensor<3xf32>)
  %1 = "stablehlo.batch_norm_inference"(%x, %s, %s, %0#1, %0#2) <{epsilon = 0.000000e+00 : f32, feature_index = 1 : i64}> : (tensor<?x?xf32>, tensor<3xf32>, tensor<3xf32>, tensor<?xf32>, tensor<3xf32>) -> tensor<?x3xf32>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %0#1, %0#2, %g) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<?x?xf32>, tensor<3xf32>, tensor<?xf32>, tensor<3xf32>, tensor<2x?xf32>) -> (tensor<?x3xf32>, tensor<3xf32>, tensor<3xf32>)
  return
}
// -----
// quantized elements, with other scales
func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32, 0.1:4>>, %s: tensor<3x!quant.uniform<i8:f32, 0.2>>) {
  %0 = "stablehlo.batch_norm_inference"(%x, %s, %s, %s, %s) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x!quant.uniform<i8:f32, 0.1:4>>, tensor<3x!quant.uniform<i8:f32, 0.2>>, tensor<3x!quant.uniform<i8:f32, 0.2>>, tensor<3x!quant.uniform<i8:f32, 0.2>>, tensor<3x!quant.uniform<i8:f32, 0.2>>) -> tensor<2x3x!quant.uniform<i8:f32, 0.3>>
  return
}
