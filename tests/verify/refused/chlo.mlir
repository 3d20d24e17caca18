// $analytic = chlo.acos chlo.acosh chlo.asin chlo.asinh chlo.atan chlo.atanh chlo.bessel_i1e chlo.conj chlo.cosh chlo.sinh chlo.square chlo.tan
// $special = chlo.digamma chlo.erf chlo.erf_inv chlo.erfc chlo.lgamma
// $predicates = chlo.is_inf chlo.is_neg_inf chlo.is_pos_inf
// $broadcasts = chlo.broadcast_add chlo.broadcast_atan2 chlo.broadcast_divide chlo.broadcast_maximum chlo.broadcast_minimum chlo.broadcast_multiply chlo.broadcast_next_after chlo.broadcast_polygamma chlo.broadcast_power chlo.broadcast_remainder chlo.broadcast_shift_left chlo.broadcast_shift_right_arithmetic chlo.broadcast_shift_right_logical chlo.broadcast_subtract chlo.broadcast_zeta
// $bits = chlo.broadcast_and chlo.broadcast_or chlo.broadcast_xor
// chlo._asin_acos_kernel I1 | %x: tensor<2xf32>
%0 = "{op}"(%x) : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
// -----
// chlo._asin_acos_kernel C1 | %x: tensor<2xcomplex<f32>>
%0 = "{op}"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f64>>
// -----
// $analytic I1 | %x: tensor<2xi32>
%0 = "{op}"(%x) : (tensor<2xi32>) -> tensor<2xf32>
// -----
// $analytic C1 | %x: tensor<2xcomplex<f32>>
%0 = "{op}"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
// -----
// $special I1 | %x: tensor<2xcomplex<f32>>
%0 = "{op}"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
// -----
// $special C1 | %x: tensor<2xf32>
%0 = "{op}"(%x) : (tensor<2xf32>) -> tensor<3xf32>
// -----
// $predicates I1 | %x: tensor<2xi32>
%0 = "{op}"(%x) : (tensor<2xi32>) -> tensor<2xi1>
// -----
// $predicates C1 | %x: tensor<2xf32>
%0 = "{op}"(%x) : (tensor<2xf32>) -> tensor<3xi1>
// -----
// chlo.mulhi I1 | %x: tensor<2xf32>, %y: tensor<2xi32>
%0 = "{op}"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi32>
// -----
// chlo.mulhi I2 | %x: tensor<2xi32>, %y: tensor<2xf32>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
// -----
// chlo.mulhi C1 | %x: tensor<2xi32>, %y: tensor<2xui32>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<2xui32>) -> tensor<2xi32>
// -----
// chlo.next_after chlo.polygamma chlo.zeta I1 | %x: tensor<2xi32>, %y: tensor<2xf32>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
// -----
// chlo.next_after chlo.polygamma chlo.zeta I2 | %x: tensor<2xf32>, %y: tensor<2xi32>
%0 = "{op}"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
// -----
// chlo.next_after chlo.polygamma chlo.zeta C1 | %x: tensor<2xf32>, %y: tensor<3xf32>
%0 = "{op}"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
// -----
// $broadcasts I1 | %x: !stablehlo.token, %y: tensor<2xf32>
%0 = "{op}"(%x, %y) : (!stablehlo.token, tensor<2xf32>) -> tensor<2xf32>
// -----
// $broadcasts I2 | %x: tensor<2xf32>, %y: !stablehlo.token
%0 = "{op}"(%x, %y) : (tensor<2xf32>, !stablehlo.token) -> tensor<2xf32>
// -----
// $broadcasts I3 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "{op}"(%x, %y) <{broadcast_dimensions = array<i32: 0>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// -----
// $broadcasts C1 (jaxlib accepts) | %x: tensor<2xf32>, %y: tensor<3x2xf32>
%0 = "{op}"(%x, %y) <{broadcast_dimensions = array<i64: 2>}> : (tensor<2xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
// -----
// $broadcasts C2 (jaxlib accepts) | %x: tensor<2xf32>, %y: tensor<3x4xf32>
%0 = "{op}"(%x, %y) : (tensor<2xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
// -----
// $broadcasts C3 | %x: tensor<1xf32>, %y: tensor<3x4xf32>
%0 = "{op}"(%x, %y) : (tensor<1xf32>, tensor<3x4xf32>) -> tensor<3x1xf32>
// -----
// $broadcasts C4 | %x: tensor<2xf32>, %y: tensor<2xf64>
%0 = "{op}"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
// -----
// $bits I1 | %x: tensor<2xf32>, %y: tensor<2xi32>
%0 = "{op}"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi32>
// -----
// $bits I2 | %x: tensor<2xi32>, %y: tensor<2xf32>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
// -----
// $bits I3 | %x: tensor<2xi32>, %y: tensor<2xi32>
%0 = "{op}"(%x, %y) <{broadcast_dimensions = array<i32: 0>}> : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
// -----
// $bits C1 (jaxlib accepts) | %x: tensor<2xi32>, %y: tensor<3x2xi32>
%0 = "{op}"(%x, %y) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2xi32>, tensor<3x2xi32>) -> tensor<3x2xi32>
// -----
// $bits C2 (jaxlib accepts) | %x: tensor<2xi32>, %y: tensor<3xi32>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<3xi32>) -> tensor<3xi32>
// -----
// $bits C3 | %x: tensor<2xi32>, %y: tensor<3x2xi32>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<3x2xi32>) -> tensor<2xi32>
// -----
// $bits C4 | %x: tensor<2xi32>, %y: tensor<2xi1>
%0 = "{op}"(%x, %y) : (tensor<2xi32>, tensor<2xi1>) -> tensor<2xi32>
// -----
// chlo.broadcast_compare I1 | %x: !stablehlo.token, %y: tensor<2xf32>
%0 = "chlo.broadcast_compare"(%x, %y) <{comparison_direction = #chlo<comparison_direction LT>}> : (!stablehlo.token, tensor<2xf32>) -> tensor<2xi1>
// -----
// chlo.broadcast_compare I2 | %x: tensor<2xf32>, %y: !stablehlo.token
%0 = "chlo.broadcast_compare"(%x, %y) <{comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2xf32>, !stablehlo.token) -> tensor<2xi1>
// -----
// chlo.broadcast_compare I3 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_compare"(%x, %y) <{broadcast_dimensions = array<i32: 0>, comparison_direction = #chlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// chlo.broadcast_compare I4 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_compare"(%x, %y) <{comparison_direction = #chlo<comparison_type FLOAT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// chlo.broadcast_compare I5 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_compare"(%x, %y) <{comparison_direction = #chlo<comparison_direction LT>, compare_type = #chlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// chlo.broadcast_compare C1 (jaxlib accepts) | %x: tensor<2x3xf32>, %y: tensor<3x2xf32>
%0 = chlo.broadcast_compare %x, %y {broadcast_dimensions = array<i64: 1, 0>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2x3xf32>, tensor<3x2xf32>) -> tensor<3x2xi1>
// -----
// chlo.broadcast_compare C2 (jaxlib accepts) | %x: tensor<2xf32>, %y: tensor<3xf32>
%0 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xi1>
// -----
// chlo.broadcast_compare C3 | %x: tensor<2xf32>, %y: tensor<f32>
%0 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2xf32>, tensor<f32>) -> tensor<i1>
// -----
// chlo.broadcast_compare C4 | %x: tensor<2xf32>, %y: tensor<2xf64>
%0 = chlo.broadcast_compare %x, %y {comparison_direction = #chlo<comparison_direction LT>} : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xi1>
// -----
// chlo.broadcast_compare C5 (jaxlib accepts) | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = chlo.broadcast_compare %x, %y {compare_type = #chlo<comparison_type SIGNED>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// chlo.broadcast_complex I1 | %x: tensor<2xf16>, %y: tensor<2xf32>
%0 = "chlo.broadcast_complex"(%x, %y) : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
// -----
// chlo.broadcast_complex I2 | %x: tensor<2xf32>, %y: tensor<2xi32>
%0 = "chlo.broadcast_complex"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xcomplex<f32>>
// -----
// chlo.broadcast_complex I3 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_complex"(%x, %y) <{broadcast_dimensions = array<i32: 0>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
// -----
// chlo.broadcast_complex C1 (jaxlib accepts) | %x: tensor<2x2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_complex"(%x, %y) <{broadcast_dimensions = array<i64: 0, 1>}> : (tensor<2x2xf32>, tensor<2xf32>) -> tensor<2x2xcomplex<f32>>
// -----
// chlo.broadcast_complex C2 (jaxlib accepts) | %x: tensor<2xf32>, %y: tensor<3xf32>
%0 = "chlo.broadcast_complex"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<3xcomplex<f32>>
// -----
// chlo.broadcast_complex C3 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_complex"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xcomplex<f32>>
// -----
// chlo.broadcast_complex C4 | %x: tensor<2xf32>, %y: tensor<2xf64>
%0 = "chlo.broadcast_complex"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
// -----
// chlo.broadcast_complex C5 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "chlo.broadcast_complex"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
// -----
// chlo.broadcast_select I1 | %p: tensor<2xi8>, %x: tensor<2xf32>, %y: tensor<f32>
%0 = chlo.broadcast_select %p, %x, %y : (tensor<2xi8>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// -----
// chlo.broadcast_select I2 | %p: tensor<2xi1>, %x: !stablehlo.token, %y: tensor<f32>
%0 = chlo.broadcast_select %p, %x, %y : (tensor<2xi1>, !stablehlo.token, tensor<f32>) -> tensor<2xf32>
// -----
// chlo.broadcast_select I3 | %p: tensor<2xi1>, %x: tensor<f32>, %y: !stablehlo.token
%0 = chlo.broadcast_select %p, %x, %y : (tensor<2xi1>, tensor<f32>, !stablehlo.token) -> tensor<2xf32>
// -----
// chlo.broadcast_select C1 | %p: tensor<2xi1>, %x: tensor<2xf32>, %y: tensor<f64>
%0 = chlo.broadcast_select %p, %x, %y : (tensor<2xi1>, tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
// -----
// chlo.broadcast_select C2 (jaxlib accepts) | %p: tensor<2xi1>, %x: tensor<3xf32>, %y: tensor<f32>
%0 = chlo.broadcast_select %p, %x, %y : (tensor<2xi1>, tensor<3xf32>, tensor<f32>) -> tensor<2xf32>
// -----
// chlo.broadcast_select C3 | %p: tensor<2xi1>, %x: tensor<3x1xf32>, %y: tensor<f32>
%0 = chlo.broadcast_select %p, %x, %y : (tensor<2xi1>, tensor<3x1xf32>, tensor<f32>) -> tensor<3x1xf32>
// -----
// chlo.constant I1 |
%0 = "chlo.constant"() <{value = 1 : i32}> : () -> tensor<i32>
// -----
// chlo.constant C1 |
%0 = "chlo.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi64>
// -----
// chlo.constant_like I1 | %x: !stablehlo.token
%0 = "chlo.constant_like"(%x) <{value = 1.0 : f32}> : (!stablehlo.token) -> tensor<f32>
// -----
// chlo.constant_like I2 | %x: tensor<2xf32>
%0 = "chlo.constant_like"(%x) <{value = "1.0"}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// chlo.constant_like C1 | %x: tensor<2xf32>
%0 = "chlo.constant_like"(%x) <{value = 1.0 : f32}> : (tensor<2xf32>) -> tensor<3xf32>
// -----
// chlo.constant_like C2 | %x: tensor<2xf32>
%0 = "chlo.constant_like"(%x) <{value = 1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// chlo.constant_like C2 | %x: tensor<2xcomplex<f32>>
%0 = "chlo.constant_like"(%x) <{value = #complex.number<:f64 1.0, 0.0>}> : (tensor<2xcomplex<f32>>) -> tensor<2xcomplex<f32>>
// -----
// chlo.top_k I1 | %x: !stablehlo.token
%0:2 = "chlo.top_k"(%x) <{k = 2 : i64}> : (!stablehlo.token) -> (tensor<2xf32>, tensor<2xi32>)
// -----
// chlo.top_k I2 | %x: tensor<4xf32>
%0:2 = "chlo.top_k"(%x) <{k = 2 : i32}> : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
// -----
// chlo.top_k I3 (jaxlib accepts) | %x: tensor<4xf32>
%0:2 = "chlo.top_k"(%x) <{k = 2 : i64, is_stable = 1 : i32}> : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
// -----
// chlo.top_k C1 | %x: tensor<f32>
%0:2 = chlo.top_k(%x, k = 1) : tensor<f32> -> (tensor<1xf32>, tensor<1xi32>)
// -----
// chlo.top_k C2 | %x: tensor<3x4xf32>
%0:2 = chlo.top_k(%x, k = 5) : tensor<3x4xf32> -> (tensor<3x5xf32>, tensor<3x5xi32>)
// -----
// chlo.top_k C3 | %x: tensor<3x4xf32>
%0:2 = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x4xf32>, tensor<3x2xi32>)
// -----
// chlo.top_k C4 | %x: tensor<3x4xf32>
%0:2 = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<2xi32>)
// -----
// chlo.top_k C5 | %x: tensor<3x4xf32>
%0:2 = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf16>, tensor<3x2xi32>)
// -----
// chlo.top_k C6 | %x: tensor<3x4xf32>
%0:2 = chlo.top_k(%x, k = 2) : tensor<3x4xf32> -> (tensor<3x2xf32>, tensor<3x2xi64>)
// -----
// chlo.broadcast_select C1 (jaxlib accepts) | %p: tensor<3xi1>, %x: tensor<3xi64>
%0 = "chlo.broadcast_select"(%p, %x, %x) : (tensor<3xi1>, tensor<3xi64>, tensor<3xi64>) -> tensor<3xi8>
// -----
// $broadcasts C3 (jaxlib accepts) | %x: tensor<0xf32>, %y: tensor<?xf32>
%0 = "{op}"(%x, %y) : (tensor<0xf32>, tensor<?xf32>) -> tensor<2xf32>
// -----
// chlo.broadcast_select C3 (jaxlib accepts) | %p: tensor<?xi1>, %x: tensor<0xf32>
%0 = "chlo.broadcast_select"(%p, %x, %x) : (tensor<?xi1>, tensor<0xf32>, tensor<0xf32>) -> tensor<2xf32>
