func.func @main(%x: tensor<3x?xi32>, %y: tensor<3x4xf32>, %a: tensor<?xi32>) {
  %0:3 = chlo.scan(%x, %y) inits(%a) dimension=0 {
  ^bb0(%e: tensor<?xi32>, %f: tensor<4xf32>, %c: tensor<?xi32>):
    stablehlo.return %f, %e, %c : tensor<4xf32>, tensor<?xi32>, tensor<?xi32>
  } : (tensor<3x?xi32>, tensor<3x4xf32>, tensor<?xi32>) -> (tensor<3x4xf32>, tensor<3x5xi32>, tensor<?xi32>)
  %1:2 = chlo.scan() inits(%a) dimension=1 attributes {scan_dim_size = 6 : i64, is_reverse = true} {
  ^bb0(%c: tensor<?xi32>):
    stablehlo.return %c, %c : tensor<?xi32>, tensor<?xi32>
  } : (tensor<?xi32>) -> (tensor<?x6xi32>, tensor<?xi32>)
  %2 = chlo.scan(%y) inits() dimension=1 {
  ^bb0(%f: tensor<3xf32>):
    stablehlo.return %f : tensor<3xf32>
  } : (tensor<3x4xf32>) -> tensor<3x4xf32>
  return
}
