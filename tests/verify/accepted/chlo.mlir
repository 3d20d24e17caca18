func.func @main(%x: tensor<*xf32>, %y: tensor<2xf32>) {
  %0 = chlo.acos %x : tensor<*xf32> -> tensor<*xf32>
  %1 = chlo.broadcast_add %x, %y : (tensor<*xf32>, tensor<2xf32>) -> tensor<*xf32>
  %2 = "chlo.is_inf"(%x) : (tensor<*xf32>) -> tensor<*xi1>
  return
}
// -----
func.func @main(%x: tensor<?xf32>, %y: tensor<2xf32>, %z: tensor<3x1xf32>, %p: tensor<?x1xi1>) {
  %0 = chlo.broadcast_add %x, %y : (tensor<?xf32>, tensor<2xf32>) -> tensor<?xf32>
  %1 = chlo.broadcast_add %y, %x : (tensor<2xf32>, tensor<?xf32>) -> tensor<2xf32>
  %2 = chlo.broadcast_multiply %y, %z : (tensor<2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %3 = chlo.broadcast_subtract %x, %z {broadcast_dimensions = array<i64: 0>} : (tensor<?xf32>, tensor<3x1xf32>) -> tensor<3x1xf32>
  %4 = chlo.broadcast_select %p, %y, %z : (tensor<?x1xi1>, tensor<2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  return
}
// -----
func.func @main(%x: tensor<2x?xf32>, %y: tensor<2xcomplex<f32>>, %p: tensor<i1>) {
  %0 = "chlo.constant_like"(%x) <{value = 1 : i64}> : (tensor<2x?xf32>) -> tensor<2x?xi64>
  %1 = "chlo.constant_like"(%y) <{value = #complex.number<:f32 1.0, 0.0>}> : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
  %2 = "chlo.constant_like"(%p) <{value = true}> : (tensor<i1>) -> tensor<i1>
  %3 = "chlo.constant_like"(%p) <{value = 1}> : (tensor<i1>) -> tensor<i64>
  %4:2 = chlo.top_k(%x, k = 2) : tensor<2x?xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
  return
}
