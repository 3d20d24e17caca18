func.func @main(%x: tensor<2x?xf32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x?xf32>) -> tensor<?x?xf32>
  return
}
// -----
// axes that move with their dimensions
func.func @main(%x: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25:3}>>, %y: tensor<1x!quant.uniform<i8:f32:0, {0.5:3}>>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25:3}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25:3}>>
  %1 = stablehlo.reshape %0 : (tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25:3}>>) -> tensor<1x3x2x!quant.uniform<i8:f32:2, {0.5, 0.25:3}>>
  %2 = stablehlo.broadcast_in_dim %x, dims = [2, 1] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25:3}>>) -> tensor<4x3x2x!quant.uniform<i8:f32:2, {0.5, 0.25:3}>>
  %3 = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<1x!quant.uniform<i8:f32:0, {0.5:3}>>) -> tensor<4x2x!quant.uniform<i8:f32:1, {0.5:3, 0.5:3}>>
  return
}
// -----
// scalars and empty tensors
func.func @main(%x: tensor<f32>, %e: tensor<0x3xi8>, %n: tensor<i32>) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [] : (tensor<f32>) -> tensor<2x0xf32>
  %1 = stablehlo.transpose %x, dims = [] : (tensor<f32>) -> tensor<f32>
  %2 = stablehlo.reshape %x : (tensor<f32>) -> tensor<1x1xf32>
  %3 = "stablehlo.slice"(%x) <{start_indices = array<i64>, limit_indices = array<i64>, strides = array<i64>}> : (tensor<f32>) -> tensor<f32>
  %4 = "stablehlo.pad"(%x, %x) <{edge_padding_low = array<i64>, edge_padding_high = array<i64>, interior_padding = array<i64>}> : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %5 = "stablehlo.dynamic_slice"(%x) <{slice_sizes = array<i64>}> : (tensor<f32>) -> tensor<f32>
  %6 = stablehlo.dynamic_update_slice %x, %x : (tensor<f32>, tensor<f32>) -> tensor<f32>
  %7 = "stablehlo.reverse"(%e) <{dimensions = array<i64>}> : (tensor<0x3xi8>) -> tensor<0x3xi8>
  %8 = stablehlo.slice %e [0:0:5, 1:2] : (tensor<0x3xi8>) -> tensor<0x1xi8>
  %9 = stablehlo.concatenate %e, %e, dim = 0 : (tensor<0x3xi8>, tensor<0x3xi8>) -> tensor<0x3xi8>
  %10 = stablehlo.reshape %e : (tensor<0x3xi8>) -> tensor<7x0xi8>
  %11 = stablehlo.dynamic_slice %e, %n, %n, sizes = [0, 3] : (tensor<0x3xi8>, tensor<i32>, tensor<i32>) -> tensor<0x3xi8>
  return
}
// -----
// sizes that are known on one side only
func.func @main(%x: tensor<?x3xf32>, %y: tensor<2x?xf32>, %p: tensor<f32>, %i: tensor<i64>) {
  %0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<?x3xf32>
  %1 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<?x3xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  %2 = stablehlo.pad %x, %p, low = [-9, -3], high = [0, 0], interior = [1, 0] : (tensor<?x3xf32>, tensor<f32>) -> tensor<?x0xf32>
  %3 = stablehlo.slice %x [2:9:2, 0:3] : (tensor<?x3xf32>) -> tensor<4x3xf32>
  %4 = stablehlo.reverse %x, dims = [1, 0] : tensor<?x3xf32>
  %5 = stablehlo.dynamic_update_slice %x, %y, %i, %i : (tensor<?x3xf32>, tensor<2x?xf32>, tensor<i64>, tensor<i64>) -> tensor<?x3xf32>
  %6 = stablehlo.reshape %x : (tensor<?x3xf32>) -> tensor<3x5xf32>
  %7 = stablehlo.broadcast_in_dim %x, dims = [0, 2] : (tensor<?x3xf32>) -> tensor<4x5x3xf32>
  %8 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x3xf32>) -> tensor<3x2xf32>
  return
}
// -----
// bounds of sizes
func.func @main(%x: tensor<?x3xf32, #stablehlo.bounds<5, ?>>, %p: tensor<f32>) {
  %0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<3x?xf32, #stablehlo.bounds<?, 5>>
  %1 = stablehlo.slice %x [1:2, 0:3] : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<1x3xf32>
  %2 = stablehlo.concatenate %x, %x, dim = 0 : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>, tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<?x3xf32, #stablehlo.bounds<10, ?>>
  %3 = stablehlo.pad %x, %p, low = [1, 0], high = [0, 0], interior = [0, 0] : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>, tensor<f32>) -> tensor<?x3xf32, #stablehlo.bounds<6, ?>>
  %4 = stablehlo.broadcast_in_dim %p, dims = [] : (tensor<f32>) -> tensor<?x3xf32, #stablehlo.bounds<5, ?>>
  %5 = stablehlo.reshape %x : (tensor<?x3xf32, #stablehlo.bounds<5, ?>>) -> tensor<?xf32, #stablehlo.bounds<15>>
  return
}
// -----
func.func @main(%x: tensor<2x5x3xf32>, %i: tensor<2x4xui8>, %s: tensor<i32>) {
  %0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<2x5x3xf32>, tensor<2x4xui8>) -> tensor<2x4x3xf32>
  %1 = "stablehlo.torch_index_select"(%x, %s) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<2x5x3xf32>, tensor<i32>) -> tensor<5x3xf32>
  %2 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64>}> : (tensor<2x5x3xf32>) -> tensor<2x5x3xf32>
  return
}
// -----
// sizes that are computed
func.func @main(%x: tensor<3x4x0xf32>, %y: tensor<5x4x0xf32>, %p: tensor<f32>) {
  %0 = stablehlo.pad %x, %p, low = [1, -2, 1], high = [2, 1, 1], interior = [3, 0, 7] : (tensor<3x4x0xf32>, tensor<f32>) -> tensor<12x3x2xf32>
  %1 = stablehlo.concatenate %x, %y, %x, dim = 0 : (tensor<3x4x0xf32>, tensor<5x4x0xf32>, tensor<3x4x0xf32>) -> tensor<11x4x0xf32>
  %2 = stablehlo.slice %y [1:5:3, 4:4, 0:0] : (tensor<5x4x0xf32>) -> tensor<2x0x0xf32>
  %3 = "stablehlo.broadcast"(%p) <{broadcast_sizes = array<i64: 0, 2>}> : (tensor<f32>) -> tensor<0x2xf32>
  return
}
