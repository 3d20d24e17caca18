// a triangle left out counts as the upper one; sizes that are not known
func.func @main(%x: tensor<?x3x?xcomplex<f64>>) {
  %0 = "stablehlo.cholesky"(%x) : (tensor<?x3x?xcomplex<f64>>) -> tensor<2x3x3xcomplex<f64>>
  return
}
// -----
// quantized elements, with another scale
func.func @main(%x: tensor<3x3x!quant.uniform<i8:f32, 0.1>>) {
  %0 = "stablehlo.cholesky"(%x) <{lower = true}> : (tensor<3x3x!quant.uniform<i8:f32, 0.1>>) -> tensor<3x3x!quant.uniform<i8:f32, 0.2>>
  return
}
// -----
// unknowns on the left and on the right
func.func @main(%a: tensor<2x3x?xf32>, %b: tensor<?x4x3xf32>, %c: tensor<?x?x1xf32>) {
  %0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<2x3x?xf32>, tensor<?x4x3xf32>) -> tensor<2x4x3xf32>
  %1 = "stablehlo.triangular_solve"(%a, %c) <{left_side = true, lower = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x?xf32>, tensor<?x?x1xf32>) -> tensor<?x3x1xf32>
  return
}
// -----
// a length of complex numbers counts for nothing; odd and even lengths of floats; no elements
func.func @main(%x: tensor<?x8xcomplex<f32>>, %y: tensor<?x?xf64>, %z: tensor<5x?xcomplex<f64>>, %e: tensor<2x0xf32>) {
  %0 = stablehlo.fft %x, type = IFFT, length = [3] : (tensor<?x8xcomplex<f32>>) -> tensor<?x8xcomplex<f32>>
  %1 = stablehlo.fft %y, type = RFFT, length = [5, 7] : (tensor<?x?xf64>) -> tensor<5x4xcomplex<f64>>
  %2 = stablehlo.fft %z, type = IRFFT, length = [5, 6] : (tensor<5x?xcomplex<f64>>) -> tensor<5x6xf64>
  %3 = stablehlo.fft %e, type = RFFT, length = [0] : (tensor<2x0xf32>) -> tensor<2x0xcomplex<f32>>
  return
}
