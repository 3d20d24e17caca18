// cholesky I1 | %a: tensor<3x3xi32>
%0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3x3xi32>) -> tensor<3x3xi32>
// -----
// cholesky I2 | %a: tensor<5x3x3xf32>
%0 = "stablehlo.cholesky"(%a) <{lower = 1 : i64}> : (tensor<5x3x3xf32>) -> tensor<5x3x3xf32>
// -----
// cholesky C1 | %a: tensor<5x3x3xf32>
%0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<5x3x3xf32>) -> tensor<5x3x3xf64>
// -----
// cholesky C1 | %a: tensor<5x3x3xf32>
%0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<5x3x3xf32>) -> tensor<5x3x4xf32>
// -----
// cholesky C2 | %a: tensor<3xf32>
%0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3xf32>) -> tensor<3xf32>
// -----
// cholesky C3 | %a: tensor<3x4xf32>
%0 = "stablehlo.cholesky"(%a) <{lower = true}> : (tensor<3x4xf32>) -> tensor<3x4xf32>
// -----
// triangular_solve I1 | %a: tensor<5x3x3xi32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xi32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve I2 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xi32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xi32>) -> tensor<5x3x4xi32>
// -----
// triangular_solve I3 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = 1 : i64, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve I4 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = unit, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve I5 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = "false"}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve I6 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE_INVALID>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve I6 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<precision HIGH>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve C1 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf64>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf64>) -> tensor<5x3x4xf64>
// -----
// triangular_solve C2 | %a: tensor<5x3x3xf32>, %b: tensor<3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// -----
// triangular_solve C2 | %a: tensor<3xf32>, %b: tensor<3xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// triangular_solve C3 | %a: tensor<5x3x4xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x4xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve C3 | %a: tensor<5x3x3xf32>, %b: tensor<6x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<6x3x4xf32>) -> tensor<6x3x4xf32>
// -----
// triangular_solve C3 | %a: tensor<5x3x3xf32>, %b: tensor<5x4x3xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x4x3xf32>) -> tensor<5x4x3xf32>
// -----
// triangular_solve C3 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf32>
// -----
// triangular_solve C4 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x5xf32>
// -----
// triangular_solve C4 | %a: tensor<5x3x3xf32>, %b: tensor<5x3x4xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose TRANSPOSE>, unit_diagonal = false}> : (tensor<5x3x3xf32>, tensor<5x3x4xf32>) -> tensor<5x3x4xf64>
// -----
// fft I1 | %x: tensor<5x6xi32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<5x6xi32>) -> tensor<5x6xi32>
// -----
// fft I2 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<precision HIGH>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x6xcomplex<f32>>
// -----
// fft I3 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i32: 6>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x6xcomplex<f32>>
// -----
// fft C1 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 5, 6, 7>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x6xcomplex<f32>>
// -----
// fft C2 | %x: tensor<5x6xf32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<5x6xf32>) -> tensor<5x6xf32>
// -----
// fft C2 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type IFFT>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x6xf32>
// -----
// fft C2 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x4xcomplex<f32>>
// -----
// fft C2 | %x: tensor<5x6xf32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<5x6xf32>) -> tensor<5x4xcomplex<f64>>
// -----
// fft C2 | %x: tensor<5x4xf32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<5x4xf32>) -> tensor<5x6xf32>
// -----
// fft C3 | %x: tensor<2x3x3x5xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 2, 3, 4, 5>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<2x3x3x5xcomplex<f32>>) -> tensor<2x3x3x5xcomplex<f32>>
// -----
// fft C3 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x6xcomplex<f32>>
// -----
// fft C4 | %x: tensor<5x6xf32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 7>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<5x6xf32>) -> tensor<5x4xcomplex<f32>>
// -----
// fft C4 | %x: tensor<5x6xf32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 4, 6>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<5x6xf32>) -> tensor<5x4xcomplex<f32>>
// -----
// fft C4 | %x: tensor<5x4xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 7>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<5x4xcomplex<f32>>) -> tensor<5x6xf32>
// -----
// fft C5 | %x: tensor<5x6xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type FFT>}> : (tensor<5x6xcomplex<f32>>) -> tensor<5x7xcomplex<f32>>
// -----
// fft C5 | %x: tensor<5x?xf32>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<5x?xf32>) -> tensor<5x6xcomplex<f32>>
// -----
// fft C5 | %x: tensor<5x5xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<5x5xcomplex<f32>>) -> tensor<5x6xf32>
// -----
// fft C5 | %x: tensor<5x4xcomplex<f32>>
%0 = "stablehlo.fft"(%x) <{fft_length = array<i64: 6>, fft_type = #stablehlo<fft_type IRFFT>}> : (tensor<5x4xcomplex<f32>>) -> tensor<6x6xf32>
// -----
// triangular_solve C3 (jaxlib accepts) | %a: tensor<2x4x?xf32>, %b: tensor<?x4x3xf32>
%0 = "stablehlo.triangular_solve"(%a, %b) <{left_side = false, lower = true, transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = true}> : (tensor<2x4x?xf32>, tensor<?x4x3xf32>) -> tensor<2x4x3xf32>
// -----
// fft C5 (jaxlib accepts) | %x: tensor<?x?xf64>
%0 = stablehlo.fft %x, type = RFFT, length = [5, 0] : (tensor<?x?xf64>) -> tensor<5x4xcomplex<f64>>
