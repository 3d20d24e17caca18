func.func @main(%x: tensor<2x?xf32>, %y: tensor<2x4xbf16>) {
  %0:2 = "stablehlo.all_gather"(%x, %y) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2], [3, 1]]> : tensor<2x2xi64>}> : (tensor<2x?xf32>, tensor<2x4xbf16>) -> (tensor<4x?xf32>, tensor<4x4xbf16>)
  %1 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<> : tensor<0x0xi64>}> : (tensor<2x?xf32>) -> tensor<6x5xf32>
  %2 = "stablehlo.all_gather"(%x) <{all_gather_dim = 0 : i64, replica_groups = dense<0> : tensor<1x1xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2x?xf32>) -> tensor<8x5xf32>
  %3 = "stablehlo.all_gather"(%y) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> : (tensor<2x4xbf16>) -> tensor<2x8xbf16>
  return
}
// -----
func.func @main(%x: tensor<?xf16>, %y: tensor<4xf32>) {
  %0:2 = "stablehlo.all_reduce"(%x, %y) <{replica_groups = dense<[[0, 1], [2, -1]]> : tensor<2x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.maximum %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<?xf16>, tensor<4xf32>) -> (tensor<5xf32>, tensor<4xf32>)
  %2 = "stablehlo.reduce_scatter"(%y) <{scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %3 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %3 : tensor<f32>
  }) : (tensor<4xf32>) -> tensor<2xf32>
  return
}
// -----
func.func @main(%x: tensor<2x4xf32>, %y: tensor<?x4xi8>) {
  %0 = "stablehlo.all_to_all"(%x) <{split_dimension = 1 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %1:2 = "stablehlo.all_to_all"(%y, %x) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[1, 0]]> : tensor<1x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}> : (tensor<?x4xi8>, tensor<2x4xf32>) -> (tensor<?x8xi8>, tensor<1x8xf32>)
  %2 = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<[[0, 1], [7, 0]]> : tensor<2x2xi64>}> : (tensor<?x4xi8>) -> tensor<3x4xi8>
  %3 = "stablehlo.collective_permute"(%y) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<?x4xi8>) -> tensor<?x4xi8>
  %4 = "stablehlo.collective_broadcast"(%y) <{replica_groups = dense<[[5, 7]]> : tensor<1x2xi64>}> : (tensor<?x4xi8>) -> tensor<?x4xi8>
  %5 = "stablehlo.cross-replica-sum"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = stablehlo.replica_id : tensor<ui32>
  %7 = stablehlo.partition_id : tensor<ui32>
  return
}
// -----
func.func @main(%x: tensor<4x2xf32>, %i: tensor<i64>) {
  %0 = "stablehlo.async_start"(%x, %i) ({
  ^bb0(%a: tensor<4x2xf32>, %b: tensor<i64>):
    %1 = stablehlo.dynamic_slice %a, %b, %b, sizes = [1, 2] : (tensor<4x2xf32>, tensor<i64>, tensor<i64>) -> tensor<1x2xf32>
    stablehlo.return %1 : tensor<1x2xf32>
  }) : (tensor<4x2xf32>, tensor<i64>) -> !stablehlo.future<tensor<1x2xf32>>
  %2 = "stablehlo.async_done"(%0) : (!stablehlo.future<tensor<1x2xf32>>) -> tensor<1x2xf32>
  return
}
// -----
func.func @main(%x: tensor<4x?xf32>, %t: !stablehlo.token) {
  %0:3 = "stablehlo.infeed"(%t) <{layout = [[0, 1], []]}> : (!stablehlo.token) -> (tensor<3x3xi32>, tensor<i1>, !stablehlo.token)
  %1 = "stablehlo.infeed"(%t) <{infeed_config = "a"}> : (!stablehlo.token) -> !stablehlo.token
  %2 = "stablehlo.outfeed"(%x, %x, %t) : (tensor<4x?xf32>, tensor<4x?xf32>, !stablehlo.token) -> !stablehlo.token
  %3 = "stablehlo.send"(%x, %t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4x?xf32>, !stablehlo.token) -> !stablehlo.token
  %4 = "stablehlo.send"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (!stablehlo.token) -> !stablehlo.token
  %5:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}
