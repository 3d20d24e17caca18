// reduce I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0] : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// reduce I2 (jaxlib accepts) | %x: tensor<2x3xf32>, %i: tensor<3xf32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
  stablehlo.return %a : tensor<3xf32>
}) : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// reduce I3 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i32: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C1 | %x: tensor<2x3xf32>, %y: tensor<2x4xi32>, %i: tensor<f32>, %j: tensor<i32>
%0:2 = stablehlo.reduce(%x init: %i), (%y init: %j) across dimensions = [0] : (tensor<2x3xf32>, tensor<2x4xi32>, tensor<f32>, tensor<i32>) -> (tensor<?xf32>, tensor<?xi32>)
 reducer(%a: tensor<f32>, %b: tensor<f32>) (%c: tensor<i32>, %d: tensor<i32>) {
  stablehlo.return %a, %c : tensor<f32>, tensor<i32>
}
// -----
// reduce C2 (jaxlib accepts) | %x: tensor<2x3xf32>, %i: tensor<f16>
%0 = stablehlo.reduce(%x init: %i) across dimensions = [0] : (tensor<2x3xf32>, tensor<f16>) -> tensor<3xf32>
 reducer(%a: tensor<f32>, %b: tensor<f32>) {
  stablehlo.return %a : tensor<f32>
}
// -----
// reduce C3 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %y, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C3 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0:2 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> (tensor<3xf32>, tensor<3xf32>)
// -----
// reduce C4 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [2] : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
// -----
// reduce C5 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [0, 0] : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C6 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C6 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C6 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C6 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<i32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xi32>
// -----
// reduce C6 (jaxlib accepts) | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f64>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C6 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<3xf32>, %b: tensor<3xf32>):
  stablehlo.return %a : tensor<3xf32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// reduce C6 (jaxlib accepts) | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f16>, %b: tensor<f16>):
  stablehlo.return %a : tensor<f16>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf16>
// -----
// reduce C7 | %x: tensor<2x?x4xf32>, %i: tensor<f32>
%0 = stablehlo.reduce(%x init: %i) applies stablehlo.add across dimensions = [1] : (tensor<2x?x4xf32>, tensor<f32>) -> tensor<4x2xf32>
// -----
// reduce C8 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xi32>
// -----
// reduce C8 | %x: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce"(%x, %i) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf64>
// -----
// reduce_window I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %i: tensor<!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>}> ({
^bb0(%a: tensor<!quant.uniform<i8:f32, 0.1>>, %b: tensor<!quant.uniform<i8:f32, 0.1>>):
  stablehlo.return %a : tensor<!quant.uniform<i8:f32, 0.1>>
}) : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<1x!quant.uniform<i8:f32, 0.1>>
// -----
// reduce_window I2 | %x: tensor<4x6xf32>, %i: tensor<1xf32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
  stablehlo.return %a : tensor<1xf32>
}) : (tensor<4x6xf32>, tensor<1xf32>) -> tensor<3x5xf32>
// -----
// reduce_window I3 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i32: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window I4 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i32: 1, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window I5 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, base_dilations = 1}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window I6 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_dilations = [1, 1]}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window I7 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, padding = array<i64: 0, 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window I7 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window I7 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<2x2xi32>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window C1 | %x: tensor<4x6xf32>, %y: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %y, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window C1 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0:2 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
// -----
// reduce_window C2 | %x: tensor<4x6xf32>, %y: tensor<4x7xf32>, %i: tensor<f32>, %j: tensor<f32>
%0:2 = "stablehlo.reduce_window"(%x, %y, %i, %j) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x7xf32>, tensor<f32>, tensor<f32>) -> (tensor<3x5xf32>, tensor<3x5xf32>)
// -----
// reduce_window C3 (jaxlib accepts) | %x: tensor<4x6xf32>, %i: tensor<f16>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f16>) -> tensor<3x5xf32>
// -----
// reduce_window C4 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xf32>
// -----
// reduce_window C5 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 0, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C6 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C7 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C8 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, 1, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C9 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C10 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 1, 1, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C11 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, window_dilations = array<i64: 1, -1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C12 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<3x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C12 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<2x3xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<?x?xf32>
// -----
// reduce_window C13 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<i32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xi32>
// -----
// reduce_window C14 (jaxlib accepts) | %x: tensor<?x6xf32>, %y: tensor<?x6xf32>, %i: tensor<f32>, %j: tensor<f32>
%0:2 = "stablehlo.reduce_window"(%x, %y, %i, %j) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<?x6xf32>, tensor<?x6xf32>, tensor<f32>, tensor<f32>) -> (tensor<3x5xf32>, tensor<4x5xf32>)
// -----
// reduce_window C15 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, base_dilations = array<i64: 1, 2>, padding = dense<[[1, 0], [0, 0]]> : tensor<2x2xi64>, window_dilations = array<i64: 3, 1>, window_strides = array<i64: 1, 3>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<2x3xf32>
// -----
// reduce_window C15 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 7>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x1xf32>
// -----
// reduce_window C15 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<-4> : tensor<2x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<1x0xf32>
// -----
// reduce_window C16 | %x: tensor<4x6xf32>, %i: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<f32>) -> tensor<3x5xi32>
// -----
// select_and_scatter I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %s: tensor<1x!quant.uniform<i8:f32, 0.1>>, %i: tensor<!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>}> ({
^bb0(%a: tensor<!quant.uniform<i8:f32, 0.1>>, %b: tensor<!quant.uniform<i8:f32, 0.1>>):
  %c = stablehlo.compare GE, %a, %b : (tensor<!quant.uniform<i8:f32, 0.1>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<!quant.uniform<i8:f32, 0.1>>, %b: tensor<!quant.uniform<i8:f32, 0.1>>):
  stablehlo.return %a : tensor<!quant.uniform<i8:f32, 0.1>>
}) : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<1x!quant.uniform<i8:f32, 0.1>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
// -----
// select_and_scatter I2 | %x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %s: tensor<1x!quant.uniform<i8:f32:0, {0.1}>>, %i: tensor<!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>}> ({
^bb0(%a: tensor<!quant.uniform<i8:f32, 0.1>>, %b: tensor<!quant.uniform<i8:f32, 0.1>>):
  %c = stablehlo.compare GE, %a, %b : (tensor<!quant.uniform<i8:f32, 0.1>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<!quant.uniform<i8:f32, 0.1>>, %b: tensor<!quant.uniform<i8:f32, 0.1>>):
  stablehlo.return %a : tensor<!quant.uniform<i8:f32, 0.1>>
}) : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<1x!quant.uniform<i8:f32:0, {0.1}>>, tensor<!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
// -----
// select_and_scatter I3 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<1xf32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
  stablehlo.return %a : tensor<1xf32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<1xf32>) -> tensor<4x6xf32>
// -----
// select_and_scatter I4 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i32: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter I5 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = 2}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter I6 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, padding = [[0, 0], [0, 0]], window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter I6 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<2xi64>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C1 (jaxlib accepts) | %x: tensor<4x6xf32>, %s: tensor<2x3xf16>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf16>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C2 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C2 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<[[0, 0], [0, 2]]> : tensor<2x2xi64>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C3 (jaxlib accepts) | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f16>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f16>) -> tensor<4x6xf32>
// -----
// select_and_scatter C4 | %x: tensor<4x6xf32>, %s: tensor<?x?xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<?x?xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C5 | %x: tensor<4x6xf32>, %s: tensor<?x?xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 0>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<?x?xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C6 | %x: tensor<4x6xf32>, %s: tensor<?x?xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<?x?xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C7 | %x: tensor<4x6xf32>, %s: tensor<?x?xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: -2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<?x?xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C8 | %x: tensor<4x6xf32>, %s: tensor<?x?xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, padding = dense<0> : tensor<1x2xi64>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<?x?xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C9 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C9 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>):
  %d = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %d : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C9 (jaxlib accepts) | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f64>, %b: tensor<f64>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f64>, tensor<f64>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xf32>
// -----
// select_and_scatter C10 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xi1>
// -----
// select_and_scatter C11 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x7xf32>
// -----
// select_and_scatter C12 | %x: tensor<4x6xf32>, %s: tensor<2x3xf32>, %i: tensor<f32>
%0 = "stablehlo.select_and_scatter"(%x, %s, %i) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.compare GE, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  stablehlo.return %c : tensor<i1>
}, {
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %c = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %c : tensor<f32>
}) : (tensor<4x6xf32>, tensor<2x3xf32>, tensor<f32>) -> tensor<4x6xi32>
// -----
// map I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
%0 = "stablehlo.map"(%x) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<!quant.uniform<i8:f32, 0.1>>):
  stablehlo.return %a : tensor<!quant.uniform<i8:f32, 0.1>>
}) : (tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<2x!quant.uniform<i8:f32, 0.1>>
// -----
// map I2 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i32: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
// -----
// map C1 | %x: tensor<4x6xf32>, %y: tensor<4x7xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x7xi32>) -> tensor<4x6xf32>
// -----
// map C1 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x7xf32>
// -----
// map C3 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 1, 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
// -----
// map C3 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
// -----
// map C4 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
// -----
// map C4 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
// -----
// map C4 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<i32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf32>
// -----
// map C4 | %x: tensor<4x6xf32>, %y: tensor<4x6xi32>
%0 = "stablehlo.map"(%x, %y) <{dimensions = array<i64: 0, 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4x6xf32>, tensor<4x6xi32>) -> tensor<4x6xf64>
// -----
// reduce C3 (jaxlib accepts) | %x: tensor<2xf32>, %a: tensor<f32>
%0 = "stablehlo.reduce"(%x, %a, %a) <{dimensions = array<i64: 0>}> ({
^bb0(%l: tensor<f32>, %r: tensor<f32>):
  stablehlo.return %l : tensor<f32>
}) : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> tensor<f32>
// -----
// reduce_window C1 (jaxlib accepts) | %x: tensor<2xf32>, %a: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %a, %a) <{window_dimensions = array<i64: 1>}> ({
^bb0(%l: tensor<f32>, %r: tensor<f32>):
  stablehlo.return %l : tensor<f32>
}) : (tensor<2xf32>, tensor<f32>, tensor<f32>) -> tensor<2xf32>
// -----
// reduce C7 (jaxlib accepts) | %x: tensor<2x?xi1>, %y: tensor<?x3xf32>, %a: tensor<i1>, %b: tensor<f32>
%0:2 = "stablehlo.reduce"(%x, %y, %a, %b) <{dimensions = array<i64: 0>}> ({
^bb0(%c: tensor<i1>, %d: tensor<f32>, %e: tensor<i1>, %f: tensor<f32>):
  stablehlo.return %c, %d : tensor<i1>, tensor<f32>
}) : (tensor<2x?xi1>, tensor<?x3xf32>, tensor<i1>, tensor<f32>) -> (tensor<2xi1>, tensor<?xf32>)
// -----
// reduce_window C13 (jaxlib accepts) | %x: tensor<4xf32>, %v: tensor<f32>
%0 = "stablehlo.reduce_window"(%x, %v) <{window_dimensions = array<i64: 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<bf16>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4xf32>, tensor<f32>) -> tensor<3xf32>
