func.func @main(%a: tensor<f32>, %b: tensor<f32>, %n: tensor<2xindex>, %state: tensor<3xui64>, %p: tensor<i1>) {
  %shape = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %0 = stablehlo.rng %a, %b, %n, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xindex>) -> tensor<?x?xf32>
  %1 = stablehlo.rng %a, %b, %shape, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<2xi32>) -> tensor<2x?xf32>
  %2 = stablehlo.rng %p, %p, %n, distribution = UNIFORM : (tensor<i1>, tensor<i1>, tensor<2xindex>) -> tensor<2x3xi1>
  %3:2 = stablehlo.rng_bit_generator %state, algorithm = PHILOX : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xui32>)
  %4:2 = stablehlo.rng_bit_generator %state, algorithm = DEFAULT : (tensor<3xui64>) -> (tensor<3xui64>, tensor<4xf32>)
  return
}
