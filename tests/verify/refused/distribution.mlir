// all_gather I1 | %x: !stablehlo.token
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> !stablehlo.token
// -----
// all_gather I2 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i32, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather I3 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather I3 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather I3 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather I4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather I5 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C1 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C1 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = -1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C2 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 0]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C3 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C5 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = -1, type = 1>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C5 (jaxlib accepts) | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_gather C6 (jaxlib accepts) | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<6x4xf32>
// -----
// all_gather C6 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x5xf32>
// -----
// all_gather C6 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x4xf32>) -> tensor<5x4xf32>
// -----
// all_gather C6 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4x1xf32>
// -----
// all_gather C6 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x4xf16>
// -----
// all_gather C6 | %x: tensor<0x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<0x4xf32>) -> tensor<0x4xf32>
// -----
// all_gather C6 (jaxlib accepts)
module attributes {mhlo.num_partitions = 2 : i32} {
  func.func @main(%x: tensor<2x4xf32>) {
    %0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
    return
  }
}
// -----
// all_reduce I1 | %x: !stablehlo.token
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (!stablehlo.token) -> !stablehlo.token
// -----
// all_reduce I2 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce I2 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce I3 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce I4 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C1 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<0> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C2 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<> : tensor<0x0xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C3 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[1, 2]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C4 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C4 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C5 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  %1 = stablehlo.add %a, %b : tensor<i32>
  stablehlo.return %1 : tensor<i32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C5 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C5 (jaxlib accepts) | %x: tensor<4xf64>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf64>) -> tensor<4xf32>
// -----
// all_reduce C5 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_reduce C6 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<3xf32>
// -----
// all_reduce C6 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2x1xf32>
// -----
// all_reduce C7 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f64>, %b: tensor<f64>):
  %1 = stablehlo.add %a, %b : tensor<f64>
  stablehlo.return %1 : tensor<f64>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// reduce_scatter I1 | %x: !stablehlo.token
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (!stablehlo.token) -> !stablehlo.token
// -----
// reduce_scatter I2 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i32}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C1 (jaxlib accepts) | %x: tensor<5xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<5xf32>) -> tensor<?xf32>
// -----
// reduce_scatter C2 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C2 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = -1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter I3 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter I3 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[0, 1]> : tensor<2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter I4 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = 1 : i64, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter I5 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids = 1 : i64, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C3 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<0> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C4 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<> : tensor<0x0xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C5 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[1, 2]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C6 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C6 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids, channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C7 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  %1 = stablehlo.add %a, %b : tensor<i32>
  stablehlo.return %1 : tensor<i32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C7 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C7 (jaxlib accepts) | %x: tensor<4xf64>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf64>) -> tensor<2xf32>
// -----
// reduce_scatter C7 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// reduce_scatter C8 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<3xf32>
// -----
// reduce_scatter C8 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2x1xf32>
// -----
// reduce_scatter C8 (jaxlib accepts) | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<1xf32>
// -----
// reduce_scatter C8 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<0xf32>
// -----
// reduce_scatter C8 | %x: tensor<0xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<0xf32>) -> tensor<1xf32>
// -----
// reduce_scatter C9 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f64>, %b: tensor<f64>):
  %1 = stablehlo.add %a, %b : tensor<f64>
  stablehlo.return %1 : tensor<f64>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// all_reduce C3 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[-1, 1], [2, 3]]> : tensor<2x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// all_to_all I1 | %x: !stablehlo.token
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> !stablehlo.token
// -----
// all_to_all I2 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i32, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all I3 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i32, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all I4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i32, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all I5 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xui64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all I5 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all I6 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = 1 : i64}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C1 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 2 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C1 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = -1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C2 | %x: tensor<2x5xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x5xf32>) -> tensor<4x?xf32>
// -----
// all_to_all C3 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 2 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = -2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C5 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C7 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 3]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C8 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C9 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x3xf32>
// -----
// all_to_all C9 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<3x2xf32>
// -----
// all_to_all C9 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 0 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// all_to_all C9 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xbf16>
// -----
// collective_broadcast I1 | %x: !stablehlo.token
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> !stablehlo.token
// -----
// collective_broadcast I2 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi16>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast I2 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast I3 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = "1"}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast I4 (unknown to jaxlib) | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root = 1 : i32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast C1 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, 1], [3, 2]]> : tensor<2x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast C2 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[2, -1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast C3 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// collective_broadcast C3 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xi32>
// -----
// collective_broadcast C4 (unknown to jaxlib) | %x: tensor<2x4xf32>
"stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast C4 (unknown to jaxlib) | %x: tensor<2x4xf32>, %r: tensor<2xi32>
%0 = "stablehlo.collective_broadcast"(%x, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<2xi32>) -> tensor<2x4xf32>
// -----
// collective_broadcast C4 (unknown to jaxlib) | %x: tensor<2x4xf32>, %r: tensor<1xi64>
%0 = "stablehlo.collective_broadcast"(%x, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi64>) -> tensor<2x4xf32>
// -----
// collective_broadcast C4 (unknown to jaxlib) | %x: tensor<2x4xf32>, %r: tensor<1xi32>
%0 = "stablehlo.collective_broadcast"(%x, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x5xf32>
// -----
// collective_broadcast C5 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x, %x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_broadcast C5 (unknown to jaxlib) | %x: tensor<2x4xf32>, %r: tensor<1xi32>
%0:2 = "stablehlo.collective_broadcast"(%x, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi32>) -> (tensor<2x4xf32>, tensor<1xi32>)
// -----
// collective_broadcast C6 (unknown to jaxlib) | %x: tensor<2x4xf32>
%r = stablehlo.constant dense<2> : tensor<1xi32>
%0 = "stablehlo.collective_broadcast"(%x, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<2x4xf32>
// -----
// collective_permute I1 | %x: !stablehlo.token
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> !stablehlo.token
// -----
// collective_permute I2 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute I2 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute I3 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = 1 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute C1 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute C2 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute C3 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute C4 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, -1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_permute C5 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<3xf32>
// -----
// collective_permute C5 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf64>
// -----
// collective_reduce I1 (unknown to jaxlib) | %x: !stablehlo.token
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (!stablehlo.token) -> !stablehlo.token
// -----
// collective_reduce I2 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce I3 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce I4 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce C1 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[1, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce C2 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[-2, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce C3 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<5xf32>
// -----
// collective_reduce C3 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce C3 (unknown to jaxlib) | %x: tensor<4xf32>, %r: tensor<i32>
%0 = "stablehlo.collective_reduce"(%x, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root = true}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>, tensor<i32>) -> tensor<4xf32>
// -----
// collective_reduce C4 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  %1 = stablehlo.add %a, %b : tensor<i32>
  stablehlo.return %1 : tensor<i32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// collective_reduce C5 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
^bb0(%a: tensor<f64>, %b: tensor<f64>):
  %1 = stablehlo.add %a, %b : tensor<f64>
  stablehlo.return %1 : tensor<f64>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// cross-replica-sum I1 | %x: !stablehlo.token
%0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> !stablehlo.token
// -----
// cross-replica-sum I2 | %x: tensor<2xf32>
%0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// cross-replica-sum C1 | %x: tensor<2xf32>
%0 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2xf32>) -> tensor<3xf32>
// -----
// async_start I1 | %x: !stablehlo.token
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: !stablehlo.token):
  %1 = stablehlo.create_token : !stablehlo.token
  stablehlo.return %1 : !stablehlo.token
}) : (!stablehlo.token) -> !stablehlo.future<!stablehlo.token>
// -----
// async_start C1 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  %2 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  stablehlo.return %1 : tensor<2xf32>
}) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
// -----
// async_start C1 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  stablehlo.return %a : tensor<4xf32>
}) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
// -----
// async_start C2 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.negate %a : tensor<4xf32>
  stablehlo.return %1 : tensor<4xf32>
}) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
// -----
// async_start C3 | %x: tensor<5xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  stablehlo.return %1 : tensor<2xf32>
}) : (tensor<5xf32>) -> !stablehlo.future<tensor<2xf32>>
// -----
// async_start C3 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x, %x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  stablehlo.return %1 : tensor<2xf32>
}) : (tensor<4xf32>, tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
// -----
// async_start C4 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  stablehlo.return %1 : tensor<2xf32>
}) : (tensor<4xf32>) -> !stablehlo.future<tensor<3xf32>>
// -----
// async_start C4 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  stablehlo.return %1 : tensor<2xf32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// async_start C4 | %x: tensor<4xf32>
%0 = "stablehlo.async_start"(%x) ({
^bb0(%a: tensor<4xf32>):
  %1 = stablehlo.slice %a [0:2] : (tensor<4xf32>) -> tensor<2xf32>
  stablehlo.return
}) : (tensor<4xf32>) -> !stablehlo.future<tensor<2xf32>>
// -----
// async_done I1 | %x: tensor<4xf32>
%0 = "stablehlo.async_done"(%x) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// async_done C1 | %x: !stablehlo.future<tensor<4xf32>>
%0 = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<4xf32>>) -> tensor<5xf32>
// -----
// async_done C1 | %x: !stablehlo.future<tensor<4xf32>, tensor<4xf32>>
%0 = "stablehlo.async_done"(%x) : (!stablehlo.future<tensor<4xf32>, tensor<4xf32>>) -> tensor<4xf32>
// -----
// infeed I1 | %t: tensor<f32>
%0 = "stablehlo.infeed"(%t) : (tensor<f32>) -> !stablehlo.token
// -----
// infeed I2 | %t: !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = 1 : i32}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// infeed I3 | %t: !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [0]}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// infeed I3 | %t: !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = []}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// infeed C2 | %t: !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
// -----
// infeed C2 | %t: !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<?xf32>, !stablehlo.token)
// -----
// infeed C3 | %t: !stablehlo.token
%0:2 = "stablehlo.infeed"(%t) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<2xf32>, tensor<2xf32>)
// -----
// outfeed I1 | %t: !stablehlo.token
%0 = "stablehlo.outfeed"(%t, %t) <{outfeed_config = ""}> : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
// -----
// outfeed I2 | %x: tensor<f32>
%0 = "stablehlo.outfeed"(%x, %x) <{outfeed_config = ""}> : (tensor<f32>, tensor<f32>) -> !stablehlo.token
// -----
// outfeed I3 | %t: !stablehlo.token
%0 = "stablehlo.outfeed"(%t) <{outfeed_config = 1 : i32}> : (!stablehlo.token) -> !stablehlo.token
// -----
// outfeed C1 | %t: !stablehlo.token
%0 = "stablehlo.outfeed"(%t) <{outfeed_config = ""}> : (!stablehlo.token) -> tensor<f32>
// -----
// send I1 | %t: !stablehlo.token
%0 = "stablehlo.send"(%t, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
// -----
// send I2 | %x: tensor<2xf32>
%0 = "stablehlo.send"(%x, %x) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (tensor<2xf32>, tensor<2xf32>) -> !stablehlo.token
// -----
// send I3 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = 1 : i64}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send I3 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{is_host_transfer = false}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send I4 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 3>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send I5 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = 0 : i32}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send I6 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi32>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send I6 (jaxlib accepts) | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[0, 1]> : tensor<2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C1 (jaxlib accepts) | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C2 (jaxlib accepts) | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C3 (jaxlib accepts) | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C4 (jaxlib accepts) | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C5 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 2>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C5 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = true}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// send C6 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (tensor<2xf32>, !stablehlo.token) -> tensor<f32>
// -----
// recv I1 | %t: tensor<f32>
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (tensor<f32>) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv I2 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = "a"}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv I3 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 2>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv I4 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = "no"}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv I5 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1]]> : tensor<1x2xui64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C1 (jaxlib accepts) | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1, 2]]> : tensor<1x3xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C2 (jaxlib accepts) | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C3 (jaxlib accepts) | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, 2], [1, 2]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C4 (jaxlib accepts) | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C5 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 3>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C5 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
// -----
// recv C6 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (!stablehlo.token) -> (tensor<2xf32>, tensor<2xf32>)
// -----
// recv C6 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 1>}> : (!stablehlo.token) -> (!stablehlo.token, !stablehlo.token)
// -----
// partition_id C1 |
%0 = "stablehlo.partition_id"() : () -> tensor<i32>
// -----
// partition_id C1 |
%0 = "stablehlo.partition_id"() : () -> tensor<1xui32>
// -----
// replica_id C1 |
%0 = "stablehlo.replica_id"() : () -> tensor<i32>
// -----
// replica_id C1 |
%0 = "stablehlo.replica_id"() : () -> tensor<1xui32>
// -----
// all_gather I4 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>}> : (tensor<2x4xf32>) -> tensor<4x4xf32>
// -----
// all_reduce I3 | %x: tensor<4xf32>
%0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// reduce_scatter I4 | %x: tensor<4xf32>
%0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>, scatter_dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<2xf32>
// -----
// all_to_all I6 | %x: tensor<2x4xf32>
%0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 0 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>}> : (tensor<2x4xf32>) -> tensor<4x2xf32>
// -----
// collective_broadcast I3 | %x: tensor<2x4xf32>
%0 = "stablehlo.collective_broadcast"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
// -----
// collective_permute I3 | %x: tensor<2xf32>
%0 = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// collective_reduce I3 (unknown to jaxlib) | %x: tensor<4xf32>
%0 = "stablehlo.collective_reduce"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1>}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  %1 = stablehlo.add %a, %b : tensor<f32>
  stablehlo.return %1 : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// send I3 | %x: tensor<2xf32>, %t: !stablehlo.token
%0 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1>}> : (tensor<2xf32>, !stablehlo.token) -> !stablehlo.token
// -----
// recv I2 | %t: !stablehlo.token
%0:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1>}> : (!stablehlo.token) -> (tensor<2xf32>, !stablehlo.token)
