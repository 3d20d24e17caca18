// attributes left out; sizes that only one operand knows
func.func @main(%x: tensor<3x?xf32>, %y: tensor<?x4xi64>) {
  %0:2 = "stablehlo.sort"(%x, %y) ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i64>, %d: tensor<i64>):
    %p = stablehlo.compare LT, %a, %b, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<3x?xf32>, tensor<?x4xi64>) -> (tensor<3x?xf32>, tensor<?x4xi64>)
  return
}
// -----
// a dimension counted from the end, nothing to sort
func.func @main(%x: tensor<0x4xi1>) {
  %0 = "stablehlo.sort"(%x) <{dimension = -2 : i64, is_stable = true}> ({
  ^bb0(%a: tensor<i1>, %b: tensor<i1>):
    %p = stablehlo.compare LT, %a, %b : (tensor<i1>, tensor<i1>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<0x4xi1>) -> tensor<0x4xi1>
  return
}
// -----
func.func @main(%x: tensor<4xi32>) {
  %0 = "stablehlo.sort"(%x) ({
  ^bb0(%a: tensor<i32>, %b: tensor<i32>):
    %p = stablehlo.compare GT, %a, %b : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return
}
