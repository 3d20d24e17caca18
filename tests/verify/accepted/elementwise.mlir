func.func @main(%x: tensor<2x?xf32>, %y: tensor<?x3xf32>, %p: tensor<i1>, %q: tensor<2x?xi1>, %s: tensor<f32>) {
  %0 = stablehlo.add %x, %y : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xf32>
  %1 = stablehlo.select %p, %x, %y : (tensor<i1>, tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<?x?xf32>
  %2 = stablehlo.select %q, %x, %y : (tensor<2x?xi1>, tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<?x?xf32>
  %3 = stablehlo.clamp %s, %x, %y : (tensor<f32>, tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x?xf32>
  %4 = stablehlo.real %x : tensor<2x?xf32>
  %5 = stablehlo.add %q, %q : tensor<2x?xi1>
  %6 = stablehlo.compare EQ, %q, %q, UNSIGNED : (tensor<2x?xi1>, tensor<2x?xi1>) -> tensor<2x?xi1>
  %7 = stablehlo.compare LT, %x, %x, TOTALORDER : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xi1>
  %8 = stablehlo.compare NE, %x, %y : (tensor<2x?xf32>, tensor<?x3xf32>) -> tensor<2x3xi1>
  return
}
// -----
func.func @main(%x: tensor<2x?xcomplex<f32>>, %n: tensor<2xf4E2M1FN>, %m: tensor<2xf8E4M3FN>, %i: tensor<2xui2>) {
  %0 = stablehlo.abs %x : (tensor<2x?xcomplex<f32>>) -> tensor<2x?xf32>
  %1 = stablehlo.negate %n : tensor<2xf4E2M1FN>
  %2 = stablehlo.exponential %m : tensor<2xf8E4M3FN>
  %3 = stablehlo.popcnt %i : tensor<2xui2>
  %4 = stablehlo.convert %n : (tensor<2xf4E2M1FN>) -> tensor<2xcomplex<f64>>
  %5 = stablehlo.reduce_precision %m, format = e8m0 : tensor<2xf8E4M3FN>
  return
}
// -----
func.func @main(%x: tensor<?x4xi8>, %y: tensor<?xf32>, %z: tensor<2x?xi1>, %c: tensor<complex<f64>>) {
  %0 = stablehlo.bitcast_convert %x : (tensor<?x4xi8>) -> tensor<?xf32>
  %1 = stablehlo.bitcast_convert %y : (tensor<?xf32>) -> tensor<?x8xi4>
  %2 = stablehlo.bitcast_convert %z : (tensor<2x?xi1>) -> tensor<2xi8>
  %3 = stablehlo.bitcast_convert %c : (tensor<complex<f64>>) -> tensor<2xcomplex<f32>>
  return
}
// -----
func.func @main(%x: tensor<2x?xf32, #stablehlo.bounds<?, 8>>, %y: tensor<2x5xf32>) {
  %0 = stablehlo.multiply %x, %y : (tensor<2x?xf32, #stablehlo.bounds<?, 8>>, tensor<2x5xf32>) -> tensor<2x5xf32>
  %1 = stablehlo.tanh %x : (tensor<2x?xf32, #stablehlo.bounds<?, 8>>) -> tensor<2x?xf32>
  %2 = "stablehlo.exponential"(%y) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
  %3 = "stablehlo.tan"(%y) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-5, ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2x5xf32>) -> tensor<2x5xf32>
  return
}
// -----
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.5:3>>, %y: tensor<2x!quant.uniform<i8:f32, 0.25>>, %z: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) {
  %0 = stablehlo.multiply %x, %y : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x!quant.uniform<i8:f32, 0.25>>) -> tensor<2x!quant.uniform<i8:f32, 2.0>>
  %1 = stablehlo.add %x, %z : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32:0, {1.5, 1.25}>>
  %2 = stablehlo.compare LT, %x, %y, FLOAT : (tensor<2x!quant.uniform<i8:f32, 0.5:3>>, tensor<2x!quant.uniform<i8:f32, 0.25>>) -> tensor<2xi1>
  %3 = stablehlo.bitcast_convert %z : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2xi8>
  %4 = "stablehlo.constant"() <{value = dense<[1, 2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  %5 = stablehlo.iota dim = 0 : tensor<2x!quant.uniform<i8:f32, 0.5:3>>
  return
}
