module {
  func.func @main(%arg0: tensor<8x40xf32>, %arg1: tensor<f32>) -> tensor<10x40xcomplex<f32>> {
    %0 = stablehlo.constant dense<5.000000e-01> : tensor<f32>
    %1 = stablehlo.pad %arg0, %0, low = [2, 0], high = [0, 0], interior = [0, 0] : (tensor<8x40xf32>, tensor<f32>) -> tensor<10x40xf32>
    %2 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<10x40xf32>
    %3 = stablehlo.complex %1, %2 : tensor<10x40xcomplex<f32>>
    return %3 : tensor<10x40xcomplex<f32>>
  }
}
