// bounds C1 | %x: tensor<2x?xf32, #stablehlo.bounds<8>>
// -----
// bounds C2 | %x: tensor<2x?xf32, #stablehlo.bounds<2, 8>>
// -----
// multiply C1 | %x: tensor<2x?xf32, #stablehlo.bounds<?, 8>>, %y: tensor<2x9xf32>
%0 = stablehlo.multiply %x, %y : (tensor<2x?xf32, #stablehlo.bounds<?, 8>>, tensor<2x9xf32>) -> tensor<2x9xf32>
// -----
// real C1 | %x: tensor<2x?xf32, #stablehlo.bounds<?, 8>>
%0 = stablehlo.real %x : (tensor<2x?xf32, #stablehlo.bounds<?, 8>>) -> tensor<2x9xf32>
// -----
// bounds C1 | %n: tensor<i32>, %x: tensor<2x?xf32>
%0 = "stablehlo.case"(%n) ({
  %1 = stablehlo.abs %x : (tensor<2x?xf32>) -> tensor<2x?xf32, #stablehlo.bounds<8>>
  stablehlo.return %1 : tensor<2x?xf32, #stablehlo.bounds<8>>
}) : (tensor<i32>) -> tensor<2x3xf32>
