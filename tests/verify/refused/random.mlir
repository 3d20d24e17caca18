// rng I1 | %a: tensor<1xf32>, %b: tensor<f32>, %n: tensor<1xi64>
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<1xf32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
// -----
// rng I2 | %a: tensor<f32>, %b: tensor<1xf32>, %n: tensor<1xi64>
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<1xf32>, tensor<1xi64>) -> tensor<?xf32>
// -----
// rng I3 | %a: tensor<f32>, %b: tensor<f32>, %n: tensor<i64>
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<i64>) -> tensor<?xf32>
// -----
// rng I4 | %a: tensor<f32>, %b: tensor<f32>, %n: tensor<1xi64>
%0 = "stablehlo.rng"(%a, %b, %n) <{rng_distribution = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf32>
// -----
// rng C1 | %a: tensor<f32>, %b: tensor<f32>, %n: tensor<1xi64>
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<?xf64>
// -----
// rng C2 | %a: tensor<i32>, %b: tensor<i32>, %n: tensor<1xi64>
%0 = stablehlo.rng %a, %b, %n, distribution = NORMAL : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<?xi32>
// -----
// rng C3 | %a: tensor<f32>, %b: tensor<f32>, %n: tensor<2xi64>
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<?xf32>
// -----
// rng C3 | %a: tensor<f32>, %b: tensor<f32>
%n = stablehlo.constant dense<[2, 3]> : tensor<2xi64>
%0 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<2x4xf32>
// -----
// rng_bit_generator I1 | %state: tensor<2xui64>
%0:2 = "stablehlo.rng_bit_generator"(%state) <{rng_algorithm = #stablehlo<rng_distribution UNIFORM>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
// -----
// rng_bit_generator I2 (jaxlib accepts) | %state: tensor<2x2xui64>
%0:2 = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<2x2xui64>) -> (tensor<2x2xui64>, tensor<4xui32>)
// -----
// rng_bit_generator I2 (jaxlib accepts) | %state: tensor<2xui32>
%0:2 = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<2xui32>) -> (tensor<2xui32>, tensor<4xui32>)
// -----
// rng_bit_generator C1 | %state: tensor<2xui64>
%0:2 = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<3xui64>, tensor<4xui32>)
// -----
// rng_bit_generator C2 (jaxlib accepts) | %state: tensor<3xui64>
%0:2 = stablehlo.rng_bit_generator %state, algorithm = THREE_FRY : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
// -----
// rng_bit_generator C2 (jaxlib accepts) | %state: tensor<4xui64>
%0:2 = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<4xui64>) -> (tensor<4xui64>, tensor<4xui32>)
// -----
// rng_bit_generator C3 | %state: tensor<2xui64>
%0:2 = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<?xui32>)
// -----
// rng I3 | %x: tensor<f32>, %s: tensor<?xi32>
%0 = stablehlo.rng %x, %x, %s, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<?xi32>) -> tensor<?x?xf32>
// -----
// rng_bit_generator C1 (jaxlib accepts) | %x: tensor<2xui64>
%0:2 = stablehlo.rng_bit_generator %x, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui32>, tensor<3xui32>)
