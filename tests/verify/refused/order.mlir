// sort I1 | %x: !stablehlo.token, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (!stablehlo.token) -> !stablehlo.token
// -----
// sort I2 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i32}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort I3 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64, is_stable = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort C2 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xi32>
// -----
// sort C2 | %x: tensor<4xf32>, %p: tensor<i1>
%0:2 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
// -----
// sort C3 | %x: tensor<4xf32>, %y: tensor<5xi32>, %p: tensor<i1>
%0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>, tensor<5xi32>) -> (tensor<4xf32>, tensor<5xi32>)
// -----
// sort C4 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 1 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort C4 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = -2 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort C4 | %x: tensor<f32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<f32>) -> tensor<f32>
// -----
// sort C5 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort C5 | %x: tensor<4xf32>, %y: tensor<4xi32>, %p: tensor<i1>
%0:2 = "stablehlo.sort"(%x, %y) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<i32>, %c: tensor<f32>, %d: tensor<i32>):
  stablehlo.return %p : tensor<i1>
}) : (tensor<4xf32>, tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>)
// -----
// sort C5 | %x: tensor<4xf32>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %a : tensor<f32>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort C5 | %x: tensor<4xf32>, %p: tensor<1xi1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p : tensor<1xi1>
}) : (tensor<4xf32>) -> tensor<4xf32>
// -----
// sort C5 | %x: tensor<4xf32>, %p: tensor<i1>
%0 = "stablehlo.sort"(%x) <{dimension = 0 : i64}> ({
^bb0(%a: tensor<f32>, %b: tensor<f32>):
  stablehlo.return %p, %p : tensor<i1>, tensor<i1>
}) : (tensor<4xf32>) -> tensor<4xf32>
