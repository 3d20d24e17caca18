// transpose I1 | %x: !stablehlo.token
%0 = "stablehlo.transpose"(%x) <{permutation = array<i64>}> : (!stablehlo.token) -> tensor<f32>
// -----
// transpose I2 | %x: tensor<2x3xf32>
%0 = "stablehlo.transpose"(%x) <{permutation = array<i32: 1, 0>}> : (tensor<2x3xf32>) -> tensor<3x2xf32>
// -----
// transpose C1 | %x: tensor<2x3xf32>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf16>
// -----
// transpose C1 | %x: tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.75}>>
// -----
// transpose C1 | %x: tensor<2x2xf32>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2xf32>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// -----
// transpose C1 | %x: tensor<2x2x!quant.uniform<i8:f32, 0.5>>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.5}>>
// -----
// transpose C2 | %x: tensor<2x3xf32>
%0 = stablehlo.transpose %x, dims = [0, 0] : (tensor<2x3xf32>) -> tensor<2x2xf32>
// -----
// transpose C3 | %x: tensor<2x?xf32>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x?xf32>) -> tensor<?x3xf32>
// -----
// transpose C4 | %x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.transpose %x, dims = [1, 0] : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// -----
// broadcast_in_dim I1 | %x: !stablehlo.token
%0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i64>}> : (!stablehlo.token) -> tensor<2xf32>
// -----
// broadcast_in_dim I2 | %x: tensor<3xf32>
%0 = "stablehlo.broadcast_in_dim"(%x) <{broadcast_dimensions = array<i32: 1>}> : (tensor<3xf32>) -> tensor<2x3xf32>
// -----
// broadcast_in_dim C1 | %x: tensor<3xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [1] : (tensor<3xf32>) -> tensor<2x3xf64>
// -----
// broadcast_in_dim C1 | %x: tensor<3x!quant.uniform<i8:f32, 0.5>>
%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3x!quant.uniform<i8:f32, 0.5>>) -> tensor<3x!quant.uniform<i8:f32, 0.25>>
// -----
// broadcast_in_dim C2 | %x: tensor<3xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3xf32>) -> tensor<3x3xf32>
// -----
// broadcast_in_dim C3 | %x: tensor<3xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [2] : (tensor<3xf32>) -> tensor<2x3xf32>
// -----
// broadcast_in_dim C3 | %x: tensor<3xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [-1] : (tensor<3xf32>) -> tensor<2x3xf32>
// -----
// broadcast_in_dim C4 | %x: tensor<3x3xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [1, 1] : (tensor<3x3xf32>) -> tensor<3x3xf32>
// -----
// broadcast_in_dim C5 | %x: tensor<3xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<3xf32>) -> tensor<2x3xf32>
// -----
// broadcast_in_dim C6 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// broadcast_in_dim C6 | %x: tensor<1x!quant.uniform<i8:f32:0, {0.5:3}>>
%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<1x!quant.uniform<i8:f32:0, {0.5:3}>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5:3, 0.5}>>
// -----
// broadcast_in_dim C6 | %x: tensor<3x1x!quant.uniform<i8:f32:1, {0.5}>>
%0 = stablehlo.broadcast_in_dim %x, dims = [0, 1] : (tensor<3x1x!quant.uniform<i8:f32:1, {0.5}>>) -> tensor<3x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// broadcast I1 | %x: !stablehlo.token
%0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: 2>}> : (!stablehlo.token) -> tensor<2xf32>
// -----
// broadcast I2 | %x: tensor<3xf32>
%0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i32: 2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
// -----
// broadcast C1 | %x: tensor<3xf32>
%0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<2x3xi32>
// -----
// broadcast C2 | %x: tensor<3xf32>
%0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: -2>}> : (tensor<3xf32>) -> tensor<2x3xf32>
// -----
// broadcast C3 | %x: tensor<3xf32>
%0 = "stablehlo.broadcast"(%x) <{broadcast_sizes = array<i64: 2>}> : (tensor<3xf32>) -> tensor<3x2xf32>
// -----
// reshape I1 | %x: !stablehlo.token
%0 = stablehlo.reshape %x : (!stablehlo.token) -> tensor<2xf32>
// -----
// reshape C1 | %x: tensor<6xf32>
%0 = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<2x3xi32>
// -----
// reshape C1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.reshape %x : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.25, 0.5}>>
// -----
// reshape C2 | %x: tensor<6xf32>
%0 = stablehlo.reshape %x : (tensor<6xf32>) -> tensor<2x4xf32>
// -----
// reshape C3 | %x: tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
%0 = stablehlo.reshape %x : (tensor<4x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// reshape C3 | %x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.reshape %x : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// reshape C3 | %x: tensor<?x2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
%0 = stablehlo.reshape %x : (tensor<?x2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<3x2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// reverse I1 | %x: !stablehlo.token
%0 = "stablehlo.reverse"(%x) <{dimensions = array<i64>}> : (!stablehlo.token) -> !stablehlo.token
// -----
// reverse I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.reverse %x, dims = [0] : tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// -----
// reverse I2 | %x: tensor<3xf32>
%0 = "stablehlo.reverse"(%x) <{dimensions = array<i32: 0>}> : (tensor<3xf32>) -> tensor<3xf32>
// -----
// reverse C1 | %x: tensor<3xf32>
%0 = "stablehlo.reverse"(%x) <{dimensions = array<i64: 0>}> : (tensor<3xf32>) -> tensor<4xf32>
// -----
// reverse C2 | %x: tensor<3xf32>
%0 = stablehlo.reverse %x, dims = [0, 0] : tensor<3xf32>
// -----
// reverse C3 | %x: tensor<3xf32>
%0 = stablehlo.reverse %x, dims = [1] : tensor<3xf32>
// -----
// slice I1 | %x: !stablehlo.token
%0 = "stablehlo.slice"(%x) <{start_indices = array<i64>, limit_indices = array<i64>, strides = array<i64>}> : (!stablehlo.token) -> tensor<f32>
// -----
// slice I2 | %x: tensor<3xf32>
%0 = "stablehlo.slice"(%x) <{start_indices = array<i32: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice I3 | %x: tensor<3xf32>
%0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i32: 2>, strides = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice I4 | %x: tensor<3xf32>
%0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i32: 1>}> : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice C1 | %x: tensor<3xf32>
%0 = stablehlo.slice %x [0:2] : (tensor<3xf32>) -> tensor<2xf16>
// -----
// slice C2 | %x: tensor<3x4xf32>
%0 = stablehlo.slice %x [0:2] : (tensor<3x4xf32>) -> tensor<2xf32>
// -----
// slice C2 | %x: tensor<3xf32>
%0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2, 2>, strides = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice C2 | %x: tensor<3xf32>
%0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0, 0>, limit_indices = array<i64: 2>, strides = array<i64: 1>}> : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice C2 | %x: tensor<3xf32>
%0 = "stablehlo.slice"(%x) <{start_indices = array<i64: 0>, limit_indices = array<i64: 2>, strides = array<i64: 1, 1>}> : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice C3 | %x: tensor<3x4xf32>
%0 = stablehlo.slice %x [0:2, 0:5] : (tensor<3x4xf32>) -> tensor<2x5xf32>
// -----
// slice C3 | %x: tensor<?xf32>
%0 = stablehlo.slice %x [3:2] : (tensor<?xf32>) -> tensor<0xf32>
// -----
// slice C3 | %x: tensor<3xf32>
%0 = stablehlo.slice %x [-1:2] : (tensor<3xf32>) -> tensor<3xf32>
// -----
// slice C4 | %x: tensor<3xf32>
%0 = stablehlo.slice %x [0:2:0] : (tensor<3xf32>) -> tensor<2xf32>
// -----
// slice C5 | %x: tensor<8xf32>
%0 = stablehlo.slice %x [0:7:2] : (tensor<8xf32>) -> tensor<3xf32>
// -----
// pad I1 | %x: !stablehlo.token, %p: tensor<f32>
%0 = "stablehlo.pad"(%x, %p) <{edge_padding_low = array<i64>, edge_padding_high = array<i64>, interior_padding = array<i64>}> : (!stablehlo.token, tensor<f32>) -> tensor<f32>
// -----
// pad I2 | %x: tensor<3xf32>, %p: tensor<1xf32>
%0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<1xf32>) -> tensor<5xf32>
// -----
// pad I3 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = "stablehlo.pad"(%x, %p) <{edge_padding_low = array<i32: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i64: 0>}> : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// pad I4 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = "stablehlo.pad"(%x, %p) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i32: 0>, interior_padding = array<i64: 0>}> : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// pad I5 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = "stablehlo.pad"(%x, %p) <{edge_padding_low = array<i64: 0>, edge_padding_high = array<i64: 0>, interior_padding = array<i32: 0>}> : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// pad C1 | %x: tensor<3xf32>, %p: tensor<f64>
%0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f64>) -> tensor<5xf32>
// -----
// pad C1 | %x: tensor<3xf64>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [0] : (tensor<3xf64>, tensor<f32>) -> tensor<5xf32>
// -----
// pad C1 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf64>
// -----
// pad C2 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1, 1], high = [1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
// -----
// pad C2 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1], high = [1, 1], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
// -----
// pad C2 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [0, 0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
// -----
// pad C2 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1, 1], high = [1, 1], interior = [0, 0] : (tensor<3xf32>, tensor<f32>) -> tensor<5xf32>
// -----
// pad C3 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [1], high = [1], interior = [-1] : (tensor<3xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// pad C4 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [-1], high = [1], interior = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<6xf32>
// -----
// pad C4 | %x: tensor<3xf32>, %p: tensor<f32>
%0 = stablehlo.pad %x, %p, low = [-5], high = [0], interior = [0] : (tensor<3xf32>, tensor<f32>) -> tensor<?xf32>
// -----
// concatenate I1 | %x: !stablehlo.token
%0 = "stablehlo.concatenate"(%x) <{dimension = 0 : i64}> : (!stablehlo.token) -> tensor<3xf32>
// -----
// concatenate I2 | %x: tensor<3xf32>
%0 = "stablehlo.concatenate"(%x) <{dimension = 0 : i32}> : (tensor<3xf32>) -> tensor<3xf32>
// -----
// concatenate C1 | %x: tensor<3xf32>, %y: tensor<3xf64>
%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3xf32>, tensor<3xf64>) -> tensor<6xf32>
// -----
// concatenate C2 | %x: tensor<3x2xf32>, %y: tensor<3x4xf32>
%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x2xf32>, tensor<3x4xf32>) -> tensor<6x2xf32>
// -----
// concatenate C2 | %x: tensor<3x2xf32>, %y: tensor<3xf32>
%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<6x2xf32>
// -----
// concatenate C2 | %x: tensor<3x2xf32>, %y: tensor<3xf32>
%0 = stablehlo.concatenate %x, %y, dim = 1 : (tensor<3x2xf32>, tensor<3xf32>) -> tensor<3x3xf32>
// -----
// concatenate C4 | %x: tensor<3xf32>
%0 = stablehlo.concatenate %x, dim = 1 : (tensor<3xf32>) -> tensor<3xf32>
// -----
// concatenate C4 | %x: tensor<f32>
%0 = stablehlo.concatenate %x, dim = 0 : (tensor<f32>) -> tensor<f32>
// -----
// concatenate C5 | %x: tensor<3xf32>
%0 = stablehlo.concatenate %x, dim = 0 : (tensor<3xf32>) -> tensor<3xi32>
// -----
// concatenate C6 | %x: tensor<3x?xf32>, %y: tensor<1x2xf32>
%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3x?xf32>, tensor<1x2xf32>) -> tensor<4x3xf32>
// -----
// concatenate C6 | %x: tensor<3xf32>, %y: tensor<4xf32>
%0 = stablehlo.concatenate %x, %y, dim = 0 : (tensor<3xf32>, tensor<4xf32>) -> tensor<8xf32>
// -----
// dynamic_slice I1 | %x: !stablehlo.token
%0 = "stablehlo.dynamic_slice"(%x) <{slice_sizes = array<i64>}> : (!stablehlo.token) -> tensor<f32>
// -----
// dynamic_slice I2 | %x: tensor<3xf32>, %i: tensor<f32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
// -----
// dynamic_slice I2 | %x: tensor<3xf32>, %i: tensor<1xi32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xf32>, tensor<1xi32>) -> tensor<2xf32>
// -----
// dynamic_slice I3 | %x: tensor<3xf32>, %i: tensor<i32>
%0 = "stablehlo.dynamic_slice"(%x, %i) <{slice_sizes = array<i32: 2>}> : (tensor<3xf32>, tensor<i32>) -> tensor<2xf32>
// -----
// dynamic_slice C1 | %x: tensor<3xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xf32>, tensor<i32>) -> tensor<2xi32>
// -----
// dynamic_slice C2 | %x: tensor<3x4xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [2, 2] : (tensor<3x4xf32>, tensor<i32>) -> tensor<2x2xf32>
// -----
// dynamic_slice C2 | %x: tensor<3xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [2, 2] : (tensor<3xf32>, tensor<i32>) -> tensor<2x2xf32>
// -----
// dynamic_slice C3 | %x: tensor<3x4xf32>, %i: tensor<i32>, %j: tensor<i64>
%0 = stablehlo.dynamic_slice %x, %i, %j, sizes = [2, 2] : (tensor<3x4xf32>, tensor<i32>, tensor<i64>) -> tensor<2x2xf32>
// -----
// dynamic_slice C4 | %x: tensor<3xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [4] : (tensor<3xf32>, tensor<i32>) -> tensor<4xf32>
// -----
// dynamic_slice C4 | %x: tensor<?xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [-1] : (tensor<?xf32>, tensor<i32>) -> tensor<?xf32>
// -----
// dynamic_slice C5 | %x: tensor<3xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_slice %x, %i, sizes = [2] : (tensor<3xf32>, tensor<i32>) -> tensor<3xf32>
// -----
// dynamic_update_slice I1 | %x: !stablehlo.token, %u: tensor<f32>
%0 = stablehlo.dynamic_update_slice %x, %u : (!stablehlo.token, tensor<f32>) -> tensor<f32>
// -----
// dynamic_update_slice I2 | %x: tensor<f32>, %u: !stablehlo.token
%0 = stablehlo.dynamic_update_slice %x, %u : (tensor<f32>, !stablehlo.token) -> tensor<f32>
// -----
// dynamic_update_slice I3 | %x: tensor<3xf32>, %u: tensor<2xf32>, %i: tensor<f32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xf32>, tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// dynamic_update_slice C1 | %x: tensor<3xf32>, %u: tensor<2xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xf32>, tensor<2xf32>, tensor<i32>) -> tensor<4xf32>
// -----
// dynamic_update_slice C2 | %x: tensor<3xf32>, %u: tensor<2xf64>, %i: tensor<i32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xf32>, tensor<2xf64>, tensor<i32>) -> tensor<3xf32>
// -----
// dynamic_update_slice C3 | %x: tensor<3xf32>, %u: tensor<1x2xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xf32>, tensor<1x2xf32>, tensor<i32>) -> tensor<3xf32>
// -----
// dynamic_update_slice C4 | %x: tensor<3xf32>, %u: tensor<2xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i, %i : (tensor<3xf32>, tensor<2xf32>, tensor<i32>, tensor<i32>) -> tensor<3xf32>
// -----
// dynamic_update_slice C5 | %x: tensor<3x3xf32>, %u: tensor<2x2xf32>, %i: tensor<i32>, %j: tensor<ui32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i, %j : (tensor<3x3xf32>, tensor<2x2xf32>, tensor<i32>, tensor<ui32>) -> tensor<3x3xf32>
// -----
// dynamic_update_slice C6 | %x: tensor<3xf32>, %u: tensor<4xf32>, %i: tensor<i32>
%0 = stablehlo.dynamic_update_slice %x, %u, %i : (tensor<3xf32>, tensor<4xf32>, tensor<i32>) -> tensor<3xf32>
// -----
// torch_index_select I1 | %x: !stablehlo.token, %i: tensor<2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (!stablehlo.token, tensor<2xi32>) -> tensor<2xf32>
// -----
// torch_index_select I2 (jaxlib accepts) | %x: tensor<5xf32>, %i: tensor<2xf32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<5xf32>, tensor<2xf32>) -> tensor<2xf32>
// -----
// torch_index_select I3 | %x: tensor<5xf32>, %i: tensor<2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i32, batch_dims = 0 : i64}> : (tensor<5xf32>, tensor<2xi32>) -> tensor<2xf32>
// -----
// torch_index_select I4 | %x: tensor<5xf32>, %i: tensor<2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i32}> : (tensor<5xf32>, tensor<2xi32>) -> tensor<2xf32>
// -----
// torch_index_select C1 (jaxlib accepts) | %x: tensor<5xf32>, %i: tensor<2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<5xf32>, tensor<2xi32>) -> tensor<2xf64>
// -----
// torch_index_select C2 (jaxlib accepts) | %x: tensor<5xf32>, %i: tensor<2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 0 : i64}> : (tensor<5xf32>, tensor<2xi32>) -> tensor<5x2xf32>
// -----
// torch_index_select C3 (jaxlib accepts) | %x: tensor<5xf32>, %i: tensor<2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 1 : i64}> : (tensor<5xf32>, tensor<2xi32>) -> tensor<2xf32>
// -----
// torch_index_select C4 (jaxlib accepts) | %x: tensor<3x5xf32>, %i: tensor<2x4xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 1 : i64, batch_dims = 1 : i64}> : (tensor<3x5xf32>, tensor<2x4xi32>) -> tensor<3x4xf32>
// -----
// torch_index_select C5 (jaxlib accepts) | %x: tensor<3x5xf32>, %i: tensor<4x2xi32>
%0 = "stablehlo.torch_index_select"(%x, %i) <{dim = 0 : i64, batch_dims = 0 : i64}> : (tensor<3x5xf32>, tensor<4x2xi32>) -> tensor<4x5xf32>
// -----
// broadcast_in_dim C7 | %x: tensor<2xf32>
%0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<2xf32>) -> tensor<2x?xf32>
// -----
// reshape C4 | %x: tensor<2x3xf32>
%0 = stablehlo.reshape %x : (tensor<2x3xf32>) -> tensor<?xf32>
// -----
// slice C3 | %x: tensor<?xf32, #stablehlo.bounds<5>>
%0 = stablehlo.slice %x [0:6] : (tensor<?xf32, #stablehlo.bounds<5>>) -> tensor<6xf32>
