// chlo.scan I1 |
%a = stablehlo.constant dense<0> : tensor<i32>
%t = stablehlo.create_token : !stablehlo.token
%0:2 = chlo.scan(%t) inits(%a) dimension=0 {
^bb0(%x: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %x, %c : tensor<i32>, tensor<i32>
} : (!stablehlo.token, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I2 | %x: tensor<4xi32>
%t = stablehlo.create_token : !stablehlo.token
%0:2 = chlo.scan(%x) inits(%t) dimension=0 {
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
} : (tensor<4xi32>, !stablehlo.token) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I3 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = "chlo.scan"(%x, %a) <{dimension = 0 : i32, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
}) : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I4 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x) inits(%a) dimension=0 attributes {scan_dim_size = true} {
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
} : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I5 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = "chlo.scan"(%x, %a) <{dimension = 0 : i64, is_reverse = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
}) : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I6 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = "chlo.scan"(%x, %a) <{dimension = 0 : i64, is_associative = 1 : i64, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
}) : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I7 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = "chlo.scan"(%x, %a) <{dimension = 0 : i64, resultSegmentSizes = array<i32: 1, 1>}> ({
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
}) : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan I8 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = "chlo.scan"(%x, %a) <{dimension = 0 : i64, operandSegmentSizes = array<i32: 1, 1>}> ({
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
}) : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan C1 | %a: tensor<i32>
%0 = chlo.scan() inits(%a) dimension=0 {
^bb0(%c: tensor<i32>):
  stablehlo.return %c : tensor<i32>
} : (tensor<i32>) -> tensor<i32>
// -----
// chlo.scan C2 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x) inits(%a) dimension=1 {
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
} : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan C3 | %x: tensor<4xi32>, %y: tensor<5xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x, %y) inits(%a) dimension=0 {
^bb0(%e: tensor<i32>, %f: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
} : (tensor<4xi32>, tensor<5xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan C3 | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x) inits(%a) dimension=0 attributes {scan_dim_size = 5 : i64} {
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<i32>, tensor<i32>
} : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i32>)
// -----
// chlo.scan C4 | %x: tensor<3x4xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x) inits(%a) dimension=0 {
^bb0(%e: tensor<3xi32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<3xi32>, tensor<i32>
} : (tensor<3x4xi32>, tensor<i32>) -> (tensor<3x3xi32>, tensor<i32>)
// -----
// chlo.scan C4 | %x: tensor<3x4xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x) inits(%a) dimension=0 {
^bb0(%e: tensor<4xi32>, %c: tensor<i32>):
  stablehlo.return %e, %c : tensor<4xi32>, tensor<i32>
} : (tensor<3x4xi32>, tensor<i32>) -> (tensor<3x5xi32>, tensor<i32>)
// -----
// chlo.scan C5 (jaxlib accepts) | %x: tensor<4xi32>, %a: tensor<i32>
%0:2 = chlo.scan(%x) inits(%a) dimension=0 {
^bb0(%e: tensor<i32>, %c: tensor<i32>):
  %1 = stablehlo.convert %c : (tensor<i32>) -> tensor<i64>
  stablehlo.return %e, %1 : tensor<i32>, tensor<i64>
} : (tensor<4xi32>, tensor<i32>) -> (tensor<4xi32>, tensor<i64>)
// -----
// chlo.scan C4 (jaxlib accepts) | %x: tensor<3x4xf32>
%0 = "chlo.scan"(%x) <{dimension = 1 : i64, operandSegmentSizes = array<i32: 1, 0>, resultSegmentSizes = array<i32: 1, 0>}> ({
^bb0(%a: tensor<3xf32>):
  stablehlo.return %a : tensor<3xf32>
}) : (tensor<3x4xf32>) -> tensor<3x4xui8>
