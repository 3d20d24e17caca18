// batches, in gather and in scatter
func.func @main(%x: tensor<2x3x4x2xi64>, %i: tensor<2x2x3x2xi64>, %u: tensor<2x2x3x2x2xi64>, %n: tensor<4xi32>) {
  %0 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [3, 4], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [2, 1], index_vector_dim = 3>,
    slice_sizes = array<i64: 1, 1, 2, 2>
  }> : (tensor<2x3x4x2xi64>, tensor<2x2x3x2xi64>) -> tensor<2x2x3x2x2xi64>
  %1 = "stablehlo.dynamic_gather"(%x, %i, %n) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [3, 4], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [2, 1], index_vector_dim = 3>
  }> : (tensor<2x3x4x2xi64>, tensor<2x2x3x2xi64>, tensor<4xi32>) -> tensor<2x2x3x?x2xi64>
  %2 = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [3, 4], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], scatter_dims_to_operand_dims = [2, 1], index_vector_dim = 3>
  }> ({
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    stablehlo.return %b : tensor<i64>
  }) : (tensor<2x3x4x2xi64>, tensor<2x2x3x2xi64>, tensor<2x2x3x2x2xi64>) -> tensor<2x3x4x2xi64>
  return
}
// -----
// indices that are numbers, windows of nothing, sizes that are not known
func.func @main(%x: tensor<?xf32>, %i: tensor<?xui8>, %s: tensor<i32>, %e: tensor<0xi32>, %c: tensor<f32>) {
  %0 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
    slice_sizes = array<i64: 1>
  }> : (tensor<?xf32>, tensor<?xui8>) -> tensor<?xf32>
  %1 = "stablehlo.gather"(%x, %s) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>,
    slice_sizes = array<i64: 7>
  }> : (tensor<?xf32>, tensor<i32>) -> tensor<7xf32>
  %2 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<offset_dims = [0], start_index_map = [0]>,
    slice_sizes = array<i64: 0>
  }> : (tensor<?xf32>, tensor<?xui8>) -> tensor<0xf32>
  %3 = "stablehlo.gather"(%c, %e) <{
    dimension_numbers = #stablehlo.gather<>,
    slice_sizes = array<i64>
  }> : (tensor<f32>, tensor<0xi32>) -> tensor<f32>
  return
}
// -----
// several inputs, and indices of the type index
func.func @main(%x: tensor<?x3xf32>, %y: tensor<4x3xi8>, %i: tensor<2x1xindex>, %u: tensor<2x2xf32>, %v: tensor<2x?xi8>) {
  %0:2 = "stablehlo.scatter"(%x, %y, %i, %u, %v) <{
    scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>,
    indices_are_sorted = true, unique_indices = true
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<i8>, %c: tensor<f32>, %d: tensor<i8>):
    stablehlo.return %c, %b : tensor<f32>, tensor<i8>
  }) : (tensor<?x3xf32>, tensor<4x3xi8>, tensor<2x1xindex>, tensor<2x2xf32>, tensor<2x?xi8>) -> (tensor<?x3xf32>, tensor<4x3xi8>)
  return
}
// -----
// a sum that is wider than what is added
func.func @main(%x: tensor<4xf16>, %i: tensor<1xi32>, %u: tensor<f16>) {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0]>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<4xf16>, tensor<1xi32>, tensor<f16>) -> tensor<4xf32>
  return
}
// -----
// numbers of an index along the first dimension
func.func @main(%x: tensor<3x4xf32>, %i: tensor<2x5x6xi32>, %u: tensor<5x6xf32>) {
  %0 = "stablehlo.gather"(%x, %i) <{
    dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0, 1], start_index_map = [1, 0]>,
    slice_sizes = array<i64: 1, 1>
  }> : (tensor<3x4xf32>, tensor<2x5x6xi32>) -> tensor<5x6xf32>
  %1 = "stablehlo.scatter"(%x, %i, %u) <{
    scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0]>
  }> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    stablehlo.return %b : tensor<f32>
  }) : (tensor<3x4xf32>, tensor<2x5x6xi32>, tensor<5x6xf32>) -> tensor<3x4xf32>
  return
}
