// chlo.ragged_dot I1 | %x: !stablehlo.token, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (!stablehlo.token, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I2 | %x: tensor<4x3xf32>, %y: !stablehlo.token, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, !stablehlo.token, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I3 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xf32>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xf32>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I4 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo<precision DEFAULT>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I5 | %x: tensor<2x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0 : i32], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<2x2x5xf32>
// -----
// chlo.ragged_dot I6 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1 : i32], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I7 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1 : i32], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I8 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0 : i32], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I9 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0 : i32]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot I10 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = 1 : i32}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C1 | %x: tensor<2x3xf32>, %y: tensor<3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}> : (tensor<2x3xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<2x2x5xf32>
// -----
// chlo.ragged_dot C2 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1, 2], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C3 | %x: tensor<4x3xf32>, %y: tensor<3x3x5xf32>, %n: tensor<5xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [1], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [2]>}> : (tensor<4x3xf32>, tensor<3x3x5xf32>, tensor<5xi64>) -> tensor<3x4xf32>
// -----
// chlo.ragged_dot C4 | %x: tensor<3x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1]>}> : (tensor<3x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<2x3x2x5xf32>
// -----
// chlo.ragged_dot C5 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [2], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [2]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C6 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C7 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [3], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C8 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [3], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C9 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<2x4x5xf32>
// -----
// chlo.ragged_dot C10 | %x: tensor<4x2xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C11 (jaxlib accepts) | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>, precision_config = [#chlo<precision DEFAULT>]}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C12 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C12 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0, 1], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C13 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [2]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x2x5xf32>
// -----
// chlo.ragged_dot C14 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [3]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C15 | %x: tensor<7x4x3xf32>, %y: tensor<7x3x5xf32>, %n: tensor<7xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<7x4x3xf32>, tensor<7x3x5xf32>, tensor<7xi64>) -> tensor<7x4x5xf32>
// -----
// chlo.ragged_dot C16 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<3xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [1]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<3xi64>) -> tensor<4x2x5xf32>
// -----
// chlo.ragged_dot C17 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<4x2x5xf32>
// -----
// chlo.ragged_dot C17 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<2x4x5xf32>
// -----
// chlo.ragged_dot C18 | %x: tensor<7x4x3xf32>, %y: tensor<2x7x3x5xf32>, %n: tensor<6x2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<7x4x3xf32>, tensor<2x7x3x5xf32>, tensor<6x2xi64>) -> tensor<7x4x5xf32>
// -----
// chlo.ragged_dot C18 | %x: tensor<7x4x3xf32>, %y: tensor<2x7x3x5xf32>, %n: tensor<7x1x2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<7x4x3xf32>, tensor<2x7x3x5xf32>, tensor<7x1x2xi64>) -> tensor<7x4x5xf32>
// -----
// chlo.ragged_dot C19 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<3xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<3xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C20 | %x: tensor<4x3xf32>, %y: tensor<2x3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<4x3xf32>, tensor<2x3x5xf32>, tensor<2xi64>) -> tensor<2x4x5xf32>
// -----
// chlo.ragged_dot C20 | %x: tensor<4x3xf32>, %y: tensor<3x5xf32>, %n: tensor<2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %n) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], lhs_ragged_dimensions = [1]>}> : (tensor<4x3xf32>, tensor<3x5xf32>, tensor<2xi64>) -> tensor<4x5xf32>
// -----
// chlo.ragged_dot C18 | %x: tensor<7x4x3xf32>, %y: tensor<2x7x3x5xf32>, %g: tensor<?x2xi64>
%0 = "chlo.ragged_dot"(%x, %y, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [1], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2], lhs_ragged_dimensions = [1], rhs_group_dimensions = [0]>}> : (tensor<7x4x3xf32>, tensor<2x7x3x5xf32>, tensor<?x2xi64>) -> tensor<7x4x5xf32>
