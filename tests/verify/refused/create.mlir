// constant I1 |
%0 = "stablehlo.constant"() <{value = 1 : i32}> : () -> tensor<i32>
// -----
// constant C1 |
%0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi64>
// -----
// constant C1 |
%0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<3xi32>
// -----
// constant C1 |
%0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xui8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// constant C1 |
%0 = "stablehlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<?xi32>
// -----
// iota I1 |
%0 = "stablehlo.iota"() <{iota_dimension = 0 : i32}> : () -> tensor<2xi32>
// -----
// iota C1 |
%0 = stablehlo.iota dim = 1 : tensor<2xi32>
// -----
// iota C1 |
%0 = stablehlo.iota dim = 0 : tensor<i32>
// -----
// iota C2 |
%0 = stablehlo.iota dim = 0 : tensor<?xi32>
