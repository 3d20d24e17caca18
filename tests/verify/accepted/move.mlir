func.func @main(%x: tensor<2x?xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x?xf32>) -> tensor<?x?xf32>
  return
}
