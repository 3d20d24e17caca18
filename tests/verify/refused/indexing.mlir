// gather I1 | %x: !stablehlo.token, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (!stablehlo.token, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xf32>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xf32>) -> tensor<2x5x4xf32>
// -----
// gather I3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = 2, collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1]>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = ["a"], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I5 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = 0, start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I6 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [true], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I7 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1 : i32], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I8 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = [2]>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I9 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i32: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather I10 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>, indices_are_sorted = "yes"}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C1 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 4>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = -1>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5xi64>) -> tensor<2x5x4xf32>
// -----
// gather C4 | %x: tensor<2x3x4x6xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [3, 2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4, 6>}> : (tensor<2x3x4x6xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4x6xf32>
// -----
// gather C4 | %x: tensor<2x3x4x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4, 4>}> : (tensor<2x3x4x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4x4xf32>
// -----
// gather C5 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [3], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C6 | %x: tensor<3x4xf32>, %i: tensor<3x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<3x4xf32>, tensor<3x5x1xi64>) -> tensor<3x5xf32>
// -----
// gather C7 | %x: tensor<2x3x4x6xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2, 1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1, 6>}> : (tensor<2x3x4x6xf32>, tensor<2x5x1xi64>) -> tensor<2x5x6xf32>
// -----
// gather C8 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C9 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 2, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C10 | %x: tensor<2x5x3xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x5x3xf32>, tensor<2x5x1xi64>) -> tensor<2x5xf32>
// -----
// gather C11 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [3], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C12 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 2, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C13 | %x: tensor<2x2x3xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<2x2x3xf32>, tensor<2x5x1xi64>) -> tensor<2x5xf32>
// -----
// gather C14 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C15 | %x: tensor<1x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<1x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C16 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C17 | %x: tensor<3x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<3x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C18 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C18 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x2xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x2xi64>) -> tensor<2x5x4xf32>
// -----
// gather C19 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [3], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C20 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf32>
// -----
// gather C21 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 5>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x5xf32>
// -----
// gather C21 | %x: tensor<2x3x?xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, -1>}> : (tensor<2x3x?xf32>, tensor<2x5x1xi64>) -> tensor<2x5x?xf32>
// -----
// gather C22 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x3xf32>
// -----
// gather C22 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4x1xf32>
// -----
// gather C22 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x6x4xf32>
// -----
// gather C23 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>) -> tensor<2x5x4xf64>
// -----
// dynamic_gather I1 | %x: !stablehlo.token, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (!stablehlo.token, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xf32>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xf32>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xf32>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xf32>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<1x3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<1x3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = 2, collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.scatter<update_window_dims = [2]>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I5 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = 1, operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I6 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = 1, index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I7 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = [2]>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I8 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = 1 : i64}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I9 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = 0, start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather I10 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = 0, start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C1 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 4>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 2], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C4 | %x: tensor<2x3x4x6xf32>, %i: tensor<2x5x1xi64>, %s: tensor<4xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [3, 2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4x6xf32>, tensor<2x5x1xi64>, tensor<4xi64>) -> tensor<2x5x?x?xf32>
// -----
// dynamic_gather C4 | %x: tensor<2x3x4x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<4xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2, 2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4x4xf32>, tensor<2x5x1xi64>, tensor<4xi64>) -> tensor<2x5x?x?xf32>
// -----
// dynamic_gather C5 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [3], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C6 | %x: tensor<2x3x4x6xf32>, %i: tensor<2x5x1xi64>, %s: tensor<4xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [2, 1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4x6xf32>, tensor<2x5x1xi64>, tensor<4xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C6 | %x: tensor<2x3xf32>, %i: tensor<2x5x1xi64>, %s: tensor<2xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [1, 1], operand_batching_dims = [], start_indices_batching_dims = [], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3xf32>, tensor<2x5x1xi64>, tensor<2xi64>) -> tensor<2x5xf32>
// -----
// dynamic_gather C7 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [3], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C8 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%s = stablehlo.constant dense<[1, 2, 4]> : tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C9 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x2xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1, 1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x2xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C10 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [3], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C11 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<2xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C12 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%s = stablehlo.constant dense<[1, 1, 5]> : tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C13 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x6x?xf32>
// -----
// dynamic_gather C13 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%s = stablehlo.constant dense<[1, 1, 3]> : tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x4xf32>
// -----
// dynamic_gather C14 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf64>
// -----
// dynamic_gather C15 | %x: tensor<3x4xf32>, %i: tensor<3x5x1xi64>, %s: tensor<2xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [0], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<3x4xf32>, tensor<3x5x1xi64>, tensor<2xi64>) -> tensor<3x5xf32>
// -----
// dynamic_gather C16 | %x: tensor<2x5x3xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [2], operand_batching_dims = [1, 0], start_indices_batching_dims = [1, 0], start_index_map = [2], index_vector_dim = 2>}> : (tensor<2x5x3xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5xf32>
// -----
// dynamic_gather C17 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [3], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C18 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>
%s = stablehlo.constant dense<[2, 1, 4]> : tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C19 | %x: tensor<2x2x3xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [], collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 0], start_index_map = [2], index_vector_dim = 2>}> : (tensor<2x2x3xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5xf32>
// -----
// dynamic_gather C20 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [3], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C21 | %x: tensor<1x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [2], start_index_map = [1], index_vector_dim = 2>}> : (tensor<1x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C22 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0, 1], start_index_map = [1], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C23 | %x: tensor<3x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>}> : (tensor<3x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// dynamic_gather C24 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %s: tensor<3xi64>
%0 = "stablehlo.dynamic_gather"(%x, %i, %s) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [0], index_vector_dim = 2>}> : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<3xi64>) -> tensor<2x5x?xf32>
// -----
// scatter I1 | %x: tensor<2x3x4x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4x!quant.uniform<i8:f32:1, {0.5, 0.25, 1.0}>>
// -----
// scatter I2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xf32>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xf32>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I3 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: !stablehlo.token
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, !stablehlo.token) -> tensor<2x3x4xf32>
// -----
// scatter I4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = 2, inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.gather<offset_dims = [2]>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I5 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = 1, input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I6 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = 0, scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I7 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = 0, scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I8 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = 1, index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I9 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = [2]>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I10 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, indices_are_sorted = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter I11 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C1 | %x0: tensor<2x3x4xf32>, %x1: tensor<2x3x5xf32>, %i: tensor<2x5x1xi64>, %u0: tensor<2x5x4xf32>, %u1: tensor<2x5x4xf32>
%0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x3x5xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>, tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x5xf32>)
// -----
// scatter C2 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C3 | %x0: tensor<2x3x4xf32>, %x1: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u0: tensor<2x5x4xf32>, %u1: tensor<2x5x3xf32>
%0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u0, %u1) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>, tensor<2x5x3xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
// -----
// scatter C4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x6x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x6x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x5xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x5xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C4 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4x1xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4x1xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C5 | %x0: tensor<2x3x4xf32>, %x1: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0:2 = "stablehlo.scatter"(%x0, %x1, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
// -----
// scatter C6 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xi32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xi32>) -> tensor<2x3x4xf32>
// -----
// scatter C6 (jaxlib accepts) | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf64>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf64>) -> tensor<2x3x4xf32>
// -----
// scatter C7 | %x: tensor<2x3x4x6xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [3, 2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4x6xf32>, tensor<2x5x1xi64>, tensor<2x5x4x4xf32>) -> tensor<2x3x4x6xf32>
// -----
// scatter C7 | %x: tensor<2x3x4x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2, 2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4x4xf32>) -> tensor<2x3x4x4xf32>
// -----
// scatter C8 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [3], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C9 | %x: tensor<3x4xf32>, %i: tensor<3x5x1xi64>, %u: tensor<3x5xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [0], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<3x4xf32>, tensor<3x5x1xi64>, tensor<3x5xf32>) -> tensor<3x4xf32>
// -----
// scatter C10 | %x: tensor<2x3x4x6xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x6xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [2, 1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4x6xf32>, tensor<2x5x1xi64>, tensor<2x5x6xf32>) -> tensor<2x3x4x6xf32>
// -----
// scatter C11 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [3], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C12 | %x: tensor<2x5x3xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [2], input_batching_dims = [1, 0], scatter_indices_batching_dims = [1, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x5x3xf32>, tensor<2x5x1xi64>, tensor<2x5xf32>) -> tensor<2x5x3xf32>
// -----
// scatter C13 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [3], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C14 | %x: tensor<2x2x3xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [], inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 0], scatter_dims_to_operand_dims = [2], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x2x3xf32>, tensor<2x5x1xi64>, tensor<2x5xf32>) -> tensor<2x2x3xf32>
// -----
// scatter C15 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [3], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C16 | %x: tensor<1x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [2], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<1x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<1x3x4xf32>
// -----
// scatter C17 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C18 | %x: tensor<3x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<3x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<3x3x4xf32>
// -----
// scatter C19 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 2], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C19 | %x: tensor<2x3x4xf32>, %i: tensor<2x5xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C20 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C20 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x2xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1, 1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x2xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C21 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [3], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C22 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 4>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C23 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C23 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a, %b : tensor<f32>, tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C23 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<1xf32>, %b: tensor<1xf32>):
  stablehlo.return %a : tensor<1xf32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf32>
// -----
// scatter C23 (jaxlib accepts) | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f16>, %b: tensor<f16>):
  stablehlo.return %a : tensor<f16>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf16>
// -----
// scatter C23 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  stablehlo.return %a : tensor<i32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xi32>
// -----
// scatter C24 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x5xf32>
// -----
// scatter C24 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0:2 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> (tensor<2x3x4xf32>, tensor<2x3x4xf32>)
// -----
// scatter C25 | %x: tensor<2x3x4xf32>, %i: tensor<2x5x1xi64>, %u: tensor<2x5x4xf32>
%0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<2x3x4xf32>, tensor<2x5x1xi64>, tensor<2x5x4xf32>) -> tensor<2x3x4xf64>
// -----
// scatter C5 (jaxlib accepts) | %x: tensor<4xf32>, %i: tensor<2x1xi32>, %u: tensor<2xf32>
%0 = "stablehlo.scatter"(%x, %i, %u, %u) <{scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4xf32>, tensor<2x1xi32>, tensor<2xf32>, tensor<2xf32>) -> tensor<4xf32>
