// a body of wider elements than the inputs
func.func @main(%x: tensor<2x3xbf16>, %i: tensor<bf16>) {
  %0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<2x3xbf16>, tensor<bf16>) -> tensor<2xf32>
  return
}
// -----
// several inputs of several types; sizes known of one only
func.func @main(%x: tensor<2x?xi1>, %y: tensor<?x3xcomplex<f32>>, %i: tensor<i1>, %j: tensor<complex<f32>>) {
  %0:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [1] : (tensor<2x?xi1>, tensor<?x3xcomplex<f32>>, tensor<i1>, tensor<complex<f32>>) -> (tensor<2xi1>, tensor<?xcomplex<f32>>)
   reducer(%a: tensor<i1>, %b: tensor<i1>) (%c: tensor<complex<f32>>, %d: tensor<complex<f32>>) {
    stablehlo.return %a, %d : tensor<i1>, tensor<complex<f32>>
  }
  return
}
// -----
// no dimension reduced; a scalar; a size that is bounded
func.func @main(%x: tensor<3x?xf32, #stablehlo.bounds<?, 5>>, %y: tensor<f32>) {
  %0 = stablehlo.reduce(%x init: %y) applies stablehlo.maximum across dimensions = [] : (tensor<3x?xf32, #stablehlo.bounds<?, 5>>, tensor<f32>) -> tensor<3x?xf32, #stablehlo.bounds<?, 5>>
  %1 = stablehlo.reduce(%y init: %y) applies stablehlo.maximum across dimensions = [] : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reduce(%0 init: %y) applies stablehlo.add across dimensions = [1, 0] : (tensor<3x?xf32, #stablehlo.bounds<?, 5>>, tensor<f32>) -> tensor<f32>
  return
}
// -----
// quantized elements, stored wider in the body
func.func @main(%x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %i: tensor<!quant.uniform<i8:f32, 0.1>>) {
  %0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%a: tensor<!quant.uniform<i32:f32, 0.2>>, %b: tensor<!quant.uniform<i32:f32, 0.2>>):
    stablehlo.return %a : tensor<!quant.uniform<i32:f32, 0.2>>
  }) : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<!quant.uniform<i32:f32, 0.2>>
  return
}
// -----
// windows with gaps over an input with gaps and a negative padding; windows that do not fit; no elements
func.func @main(%x: tensor<5x4x?xf32>, %y: tensor<0xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%x, %i) <{base_dilations = array<i64: 2, 1, 1>, padding = dense<[[-1, 2], [0, 0], [1, 1]]> : tensor<3x2xi64>, window_dilations = array<i64: 3, 1, 1>, window_dimensions = array<i64: 3, 5, 2>, window_strides = array<i64: 2, 1, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<5x4x?xf32>, tensor<f32>) -> tensor<2x0x7xf32>
  %1 = "stablehlo.reduce_window"(%y, %i) <{base_dilations = array<i64: 3>, padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<0xf32>, tensor<f32>) -> tensor<1xf32>
  return
}
// -----
// a scalar has one window
func.func @main(%x: tensor<f32>) {
  %0 = "stablehlo.reduce_window"(%x, %x) <{window_dimensions = array<i64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %a : tensor<f32>
  }) : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return
}
// -----
// a scatter of wider elements
func.func @main(%x: tensor<4x?xf32>, %s: tensor<2x?xf32>, %i: tensor<f32>) {
  %0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 3, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }, {
  ^bb0(%a: tensor<f64>, %b: tensor<f64>):
    stablehlo.return %a : tensor<f64>
  }) : (tensor<4x?xf32>, tensor<2x?xf32>, tensor<f32>) -> tensor<?x3xf64>
  return
}
// -----
// another element type, and outer values, in the function of a map
func.func @main(%x: tensor<?x3xf32>, %y: tensor<2x?xi32>, %z: tensor<i1>) {
  %0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i32>):
    stablehlo.return %z : tensor<i1>
  }) : (tensor<?x3xf32>, tensor<2x?xi32>) -> tensor<2x3xi1>
  return
}
