// dot_general I1 | %x: tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, %y: tensor<3x4x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3x!quant.uniform<i8:f32:0, {0.1, 0.2}>>, tensor<3x4x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x4x!quant.uniform<i8:f32, 0.1>>
// -----
// dot_general I2 | %x: tensor<3xf32>, %y: !stablehlo.token
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<>}> : (tensor<3xf32>, !stablehlo.token) -> tensor<3xf32>
// -----
// dot_general I3 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = 0, rhs_batching_dimensions = [0]>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// dot_general I3 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.gather<>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3x3xf32>
// -----
// dot_general I4 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0 : i32]>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// dot_general I5 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = "0", rhs_contracting_dimensions = [0]>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I6 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = true>}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I7 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot_general"(%x, %y) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]>, precision_config = ["HIGH", "HIGH"]}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I8 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = i32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I9 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I10 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = 32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I11 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = true, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I12 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = [1], num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I13 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = "1", allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general I14 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = 2> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general C1 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
// -----
// dot_general C2 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// dot_general C3 | %x: tensor<2x2xf32>, %y: tensor<2x2xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
// -----
// dot_general C4 | %x: tensor<2x2xf32>, %y: tensor<2x2xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0, 1] x [1, 1] : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
// -----
// dot_general C5 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [2] x [0], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
// -----
// dot_general C6 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [-1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// dot_general C7 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [7], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x2xf32>
// -----
// dot_general C8 | %x: tensor<2x3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
// -----
// dot_general C9 | %x: tensor<2x3xf32>, %y: tensor<1x3xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [1] x [1] : (tensor<2x3xf32>, tensor<1x3xf32>) -> tensor<2xf32>
// -----
// dot_general C10 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// dot_general C11 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [HIGH] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general C11 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [HIGH, HIGH, HIGH] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general C12 | %x: tensor<?x7x4x3xf32>, %y: tensor<?x3x5xf32>
%0 = stablehlo.dot_general %x, %y, batching_dims = [0] x [0], contracting_dims = [3] x [1] : (tensor<?x7x4x3xf32>, tensor<?x3x5xf32>) -> tensor<?x7x5x4xf32>
// -----
// dot_general C13 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xi32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xi32>) -> tensor<f32>
// -----
// dot_general C13 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xf16>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf32>, tensor<3xf16>) -> tensor<f16>
// -----
// dot_general C14 | %x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<3xf32>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// dot_general C14 | %x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %y: tensor<3x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<3x!quant.uniform<i8:f32, 0.1>>) -> tensor<f32>
// -----
// dot_general C15 | %x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %y: tensor<3x!quant.uniform<i8:f32, 0.1:5>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<3x!quant.uniform<i8:f32, 0.1:5>>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// dot_general C16 | %x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// dot_general C17 | %x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i4:f32, 0.1>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i4:f32, 0.1>>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// dot_general C18 | %x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<!quant.uniform<i8:f16, 0.1>>
// -----
// dot_general C19 | %x: tensor<2x2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<2x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
// -----
// dot_general C20 | %x: tensor<3xf16>, %y: tensor<3x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<3xf16>, tensor<3x!quant.uniform<i8:f32, 0.1>>) -> tensor<f16>
// -----
// dot_general C21 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], precision = [DEFAULT, HIGH], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general C22 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general C23 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = -1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot_general C24 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 0, allow_imprecise_accumulation = false> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot I1 | %x: !stablehlo.token, %y: tensor<3xf32>
%0 = stablehlo.dot %x, %y : (!stablehlo.token, tensor<3xf32>) -> tensor<f32>
// -----
// dot I2 | %x: tensor<3xf32>, %y: !stablehlo.token
%0 = stablehlo.dot %x, %y : (tensor<3xf32>, !stablehlo.token) -> tensor<f32>
// -----
// dot I3 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.dot"(%x, %y) <{precision_config = [0, 0]}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot C1 | %x: tensor<2x3x4xf32>, %y: tensor<4xf32>
%0 = stablehlo.dot %x, %y : (tensor<2x3x4xf32>, tensor<4xf32>) -> tensor<2x3xf32>
// -----
// dot C2 | %x: tensor<2x3xf32>, %y: tensor<2x3xf32>
%0 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
// -----
// dot C3 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = stablehlo.dot %x, %y, precision = [HIGH] : (tensor<3xf32>, tensor<3xf32>) -> tensor<f32>
// -----
// dot C4 | %x: tensor<2x3xf32>, %y: tensor<3x?xf32>
%0 = stablehlo.dot %x, %y : (tensor<2x3xf32>, tensor<3x?xf32>) -> tensor<3x?xf32>
// -----
// dot C5 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xi32>
%0 = stablehlo.dot %x, %y : (tensor<3xf32>, tensor<3xi32>) -> tensor<f32>
// -----
// dot C6 | %x: tensor<3x!quant.uniform<i8:f32, 0.1>>, %y: tensor<3xf32>
%0 = stablehlo.dot %x, %y : (tensor<3x!quant.uniform<i8:f32, 0.1>>, tensor<3xf32>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// dot C7 | %x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i4:f32, 0.1>>
%0 = stablehlo.dot %x, %y : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i4:f32, 0.1>>) -> tensor<!quant.uniform<i8:f32, 0.1>>
// -----
// dot C8 | %x: tensor<2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot %x, %y : (tensor<2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<!quant.uniform<i8:f16, 0.1>>
// -----
// dot C9 | %x: tensor<2x2x!quant.uniform<i8:f32, 0.1>>, %y: tensor<2x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot %x, %y : (tensor<2x2x!quant.uniform<i8:f32, 0.1>>, tensor<2x!quant.uniform<i8:f32, 0.1>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.1, 0.2}>>
// -----
// dot C10 | %x: tensor<3xf16>, %y: tensor<3x!quant.uniform<i8:f32, 0.1>>
%0 = stablehlo.dot %x, %y : (tensor<3xf16>, tensor<3x!quant.uniform<i8:f32, 0.1>>) -> tensor<f16>
// -----
// einsum I1 | %x: !stablehlo.token, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = ",a->a"}> : (!stablehlo.token, tensor<3xf32>) -> tensor<3xf32>
// -----
// einsum I2 | %x: tensor<3xf32>, %y: !stablehlo.token
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "a,->a"}> : (tensor<3xf32>, !stablehlo.token) -> tensor<3xf32>
// -----
// einsum I3 | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = 1 : i32}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// unary_einsum I2 | %x: tensor<3xf32>
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = 1 : i32}> : (tensor<3xf32>) -> tensor<3xf32>
// -----
// einsum C1 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "a->a"}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// einsum C1 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "a,aa"}> : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// einsum C2 (jaxlib accepts) | %x: tensor<2x3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,ab->a"}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
// -----
// einsum C2 (jaxlib accepts) | %x: tensor<2x3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab...c,c->a"}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
// -----
// einsum C3 (jaxlib accepts) | %x: tensor<2x3xf32>, %y: tensor<2xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->a"}> : (tensor<2x3xf32>, tensor<2xf32>) -> tensor<2xf32>
// -----
// einsum C3 (jaxlib accepts) | %x: tensor<2x3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->a"}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<3xf32>
// -----
// einsum C4 (jaxlib accepts) | %x: tensor<2x3xf32>, %y: tensor<3xf32>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "ab,b->c"}> : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2xf32>
// -----
// einsum C5 (jaxlib accepts) | %x: tensor<3xf32>, %y: tensor<3xf64>
%0 = "stablehlo.einsum"(%x, %y) <{einsum_config = "a,a->a"}> : (tensor<3xf32>, tensor<3xf64>) -> tensor<3xf64>
// -----
// unary_einsum I1 | %x: !stablehlo.token
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = "->"}> : (!stablehlo.token) -> tensor<f32>
// -----
// unary_einsum C1 (jaxlib accepts) | %x: tensor<3xf32>
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = "a,a->a"}> : (tensor<3xf32>) -> tensor<3xf32>
// -----
// unary_einsum C2 (jaxlib accepts) | %x: tensor<2x3xf32>
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = "a->a"}> : (tensor<2x3xf32>) -> tensor<2xf32>
// -----
// unary_einsum C3 (jaxlib accepts) | %x: tensor<2x3xf32>
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = "ab->a"}> : (tensor<2x3xf32>) -> tensor<3xf32>
// -----
// unary_einsum C4 (jaxlib accepts) | %x: tensor<2xf32>
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = "a->aa"}> : (tensor<2xf32>) -> tensor<2x2xf32>
// -----
// unary_einsum C5 (jaxlib accepts) | %x: tensor<2xf32>
%0 = "stablehlo.unary_einsum"(%x) <{einsum_config = "a->a"}> : (tensor<2xf32>) -> tensor<2xi32>
