// convolution I1 | %x: tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, %k: tensor<2x1x!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, tensor<2x1x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x1x!quant.uniform<i8:f32, 0.1>>
// -----
// convolution I2 | %x: tensor<2x8x9x4xf32>, %k: !stablehlo.token
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, !stablehlo.token) -> tensor<2x6x8x6xf32>
// -----
// convolution I3 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i32: 1, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = array<i64: 0, 0>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<2x2xi32>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<2xi64>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I5 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = 1}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I6 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = [1, 1]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I7 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i64: 0, 0>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I8 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[0, 1, 2, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I8 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I9 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, 2]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I10 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I11 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, 2, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I12 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, 2]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I13 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 2, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I14 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[f, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I15 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, 2]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I16 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 3, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I17 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i32}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I18 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i32, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution I19 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [0, 0]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C1 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6x1xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6x1xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C2 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C3 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 0>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<3x2xi64>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<0> : tensor<2x3xi64>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C5 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C6 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x?x?x6xf32>
// -----
// convolution C7 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 1, 1, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C8 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: -1, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x?x?x6xf32>
// -----
// convolution C9 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i1: false>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C10 | %x: tensor<3x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<3x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<1x6x8x6xf32>
// -----
// convolution C11 | %x: tensor<2x8x9x5xf32>, %k: tensor<3x2x2x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x5xf32>, tensor<3x2x2x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C12 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, ?, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C13 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, ?, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C14 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x3x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x3x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C14 | %x: tensor<2x8x9x6xf32>, %k: tensor<3x2x2x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x6xf32>, tensor<3x2x2x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C15 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x5xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x5xf32>) -> tensor<1x6x8x5xf32>
// -----
// convolution C16 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x2x5xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x2x5xf32>) -> tensor<2x6x8x5xf32>
// -----
// convolution C17 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, ?, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C18 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, ?, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C19 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C20 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, ?, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C21 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C22 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 0 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C23 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x2x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x2x6xf32>) -> tensor<1x6x8x6xf32>
// -----
// convolution C24 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C24 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf32>
// -----
// convolution C25 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<3x6x8x6xf32>
// -----
// convolution C25 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x5xf32>
// -----
// convolution C25 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, padding = dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x7x8x6xf32>
// -----
// convolution C25 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 1>, lhs_dilation = array<i64: 1, 2>, rhs_dilation = array<i64: 2, 3>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x2x15x6xf32>
// -----
// convolution C26 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6x1xf32>
// -----
// convolution C27 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf16>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf16>) -> tensor<2x6x8x6xf32>
// -----
// convolution C27 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xf16>
// -----
// convolution C27 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>) -> tensor<2x6x8x6xi32>
// -----
// convolution C28 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2xf32>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2xf32>) -> tensor<1x2x!quant.uniform<i8:f32, 0.1>>
// -----
// convolution C28 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2xf32>
// -----
// convolution C29 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
// -----
// convolution C30 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1}>>
// -----
// convolution C31 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i4:f32, 0.1>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i4:f32, 0.1>>) -> tensor<1x2x!quant.uniform<i8:f32, 0.1>>
// -----
// convolution C32 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2x!quant.uniform<i8:f16, 0.1>>
// -----
// convolution C33 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
// -----
// convolution C34 | %x: tensor<1x2xf16>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>
%0 = "stablehlo.convolution"(%x, %k) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2xf16>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>) -> tensor<1x2xf16>
// -----
// dynamic_conv I1 | %x: tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, %k: tensor<2x1x!quant.uniform<i8:f32, 0.1>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, tensor<2x1x!quant.uniform<i8:f32, 0.1>>, tensor<0x2xi64>) -> tensor<1x1x!quant.uniform<i8:f32, 0.1>>
// -----
// dynamic_conv I2 | %x: tensor<2x8x9x4xf32>, %k: !stablehlo.token, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, !stablehlo.token, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I3 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xf32>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xf32>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I3 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<4xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<4xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i32: 1, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I5 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = 1}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I6 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = [1, 1]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I7 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i64: 0, 0>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I8 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[0, 1, 2, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I8 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I9 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, 2]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I10 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 0, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I11 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, 2, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I12 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, 2]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I13 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 2, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I14 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[f, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I15 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, 2]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I16 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 3, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I17 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i32}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I18 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i32, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv I19 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [0, 0]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C1 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6x1xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6x1xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C2 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C3 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 1, 0>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C4 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x3xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x3xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C5 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C6 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 0, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x?x?x6xf32>
// -----
// dynamic_conv C7 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: 1, 1, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C8 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, rhs_dilation = array<i64: -1, 1>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x?x?x6xf32>
// -----
// dynamic_conv C9 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_reversal = array<i1: false>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C10 | %x: tensor<3x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<3x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<1x6x8x6xf32>
// -----
// dynamic_conv C11 | %x: tensor<2x8x9x5xf32>, %k: tensor<3x2x2x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x5xf32>, tensor<3x2x2x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C12 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, ?, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C13 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, ?, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C14 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x3x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x3x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C14 | %x: tensor<2x8x9x6xf32>, %k: tensor<3x2x2x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x6xf32>, tensor<3x2x2x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C15 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x5xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x5xf32>, tensor<2x2xi64>) -> tensor<1x6x8x5xf32>
// -----
// dynamic_conv C16 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x2x5xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x2x5xf32>, tensor<2x2xi64>) -> tensor<2x6x8x5xf32>
// -----
// dynamic_conv C17 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, ?, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C18 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, ?, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C19 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C20 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, ?, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C21 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 0 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C22 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 0 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C23 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x2x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 2 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 2 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x2x6xf32>, tensor<2x2xi64>) -> tensor<1x6x8x6xf32>
// -----
// dynamic_conv C24 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C24 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision HIGH>, #stablehlo<precision HIGH>]}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C25 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<3x6x8x6xf32>
// -----
// dynamic_conv C25 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x5xf32>
// -----
// dynamic_conv C25 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<[[1, 1], [0, 0]]> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x7x8x6xf32>
// -----
// dynamic_conv C25 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>
%p = stablehlo.constant dense<0> : tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 1>, lhs_dilation = array<i64: 1, 2>, rhs_dilation = array<i64: 2, 3>}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x2x15x6xf32>
// -----
// dynamic_conv C26 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6x1xf32>
// -----
// dynamic_conv C27 | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf16>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf16>, tensor<2x2xi64>) -> tensor<2x6x8x6xf32>
// -----
// dynamic_conv C27 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xf16>
// -----
// dynamic_conv C27 (jaxlib accepts) | %x: tensor<2x8x9x4xf32>, %k: tensor<3x2x4x6xf32>, %p: tensor<2x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x9x4xf32>, tensor<3x2x4x6xf32>, tensor<2x2xi64>) -> tensor<2x6x8x6xi32>
// -----
// dynamic_conv C28 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2xf32>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2xf32>, tensor<0x2xi64>) -> tensor<1x2x!quant.uniform<i8:f32, 0.1>>
// -----
// dynamic_conv C28 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>, tensor<0x2xi64>) -> tensor<1x2xf32>
// -----
// dynamic_conv C29 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<0x2xi64>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
// -----
// dynamic_conv C30 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>, tensor<0x2xi64>) -> tensor<1x2x!quant.uniform<i8:f32:0, {0.1}>>
// -----
// dynamic_conv C31 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i4:f32, 0.1>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i4:f32, 0.1>>, tensor<0x2xi64>) -> tensor<1x2x!quant.uniform<i8:f32, 0.1>>
// -----
// dynamic_conv C32 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>, tensor<0x2xi64>) -> tensor<1x2x!quant.uniform<i8:f16, 0.1>>
// -----
// dynamic_conv C33 | %x: tensor<1x2x!quant.uniform<i8:f32, 0.1>>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>, tensor<0x2xi64>) -> tensor<1x2x!quant.uniform<i8:f32:1, {0.1, 0.2}>>
// -----
// dynamic_conv C34 | %x: tensor<1x2xf16>, %k: tensor<2x2x!quant.uniform<i8:f32, 0.1>>, %p: tensor<0x2xi64>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, f]x[i, o]->[b, f]>, feature_group_count = 1 : i64}> : (tensor<1x2xf16>, tensor<2x2x!quant.uniform<i8:f32, 0.1>>, tensor<0x2xi64>) -> tensor<1x2xf16>
// -----
// convolution C25 | %x: tensor<?x?x4xf32>, %k: tensor<0x4x6xf32>
%0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<?x?x4xf32>, tensor<0x4x6xf32>) -> tensor<?x?x6xf32>
// -----
// dynamic_conv C3 (jaxlib accepts) | %x: tensor<1x?x16xf32>, %k: tensor<4x16x16xf32>, %p: tensor<1x2xi32>
%0 = "stablehlo.dynamic_conv"(%x, %k, %p) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2, 0>}> : (tensor<1x?x16xf32>, tensor<4x16x16xf32>, tensor<1x2xi32>) -> tensor<1x?x16xf32>
