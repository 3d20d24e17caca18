// transpose I1 | %x: !stablehlo.token
%0 = "stablehlo.transpose"(%x) <{permutation = array<i64>}> : (!stablehlo.token) -> tensor<f32>
// -----
// transpose C1 | %x: tensor<2x3xf32>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf16>
// -----
// transpose C2 | %x: tensor<2x3xf32>
%0 = stablehlo.transpose %x, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
// -----
// transpose C3 | %x: tensor<2x?xf32>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x?xf32>) -> tensor<?x3xf32>
