// batch_norm_grad I1 | %operand: tensor<2x3x3xi32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad I2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3x1xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad I3 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3x1xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad I4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3x1xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad I5 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xi32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xi32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad I6 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f64, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad I7 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i32}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C1 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 3 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C1 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = -1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf64>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf64>)
// -----
// batch_norm_inference I1 | %operand: tensor<2x3x3xi32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xi32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference I2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3x1xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference I3 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3x1xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference I4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3x1xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference I5 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3x1xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference I6 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f64, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference I7 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i32}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C1 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 3 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C1 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = -1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf64>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf64>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf64>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf64>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_training I1 | %operand: tensor<2x3x3xi32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xi32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training I2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3x1xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3x1xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training I3 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3x1xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3x1xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training I4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f64, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training I5 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i32}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training C1 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 3 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training C1 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = -1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training C2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf64>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf64>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training C2 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf64>)
// -----
// batch_norm_grad C3 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x5xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x5xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C3 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<4xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_grad C4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<4xf32>)
// -----
// batch_norm_grad C5 | %operand: tensor<2x3x3xf32>, %scale: tensor<4xf32>, %mean: tensor<4xf32>, %variance: tensor<4xf32>, %grad_output: tensor<2x3x3xf32>
%0:3 = "stablehlo.batch_norm_grad"(%operand, %scale, %mean, %variance, %grad_output) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2x3x3xf32>) -> (tensor<2x3x3xf32>, tensor<4xf32>, tensor<4xf32>)
// -----
// batch_norm_inference C3 | %operand: tensor<2x3x3xf32>, %scale: tensor<4xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<4xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C5 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<4xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>, tensor<3xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C6 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<4xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<2x3x3xf32>
// -----
// batch_norm_inference C7 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>, %mean: tensor<3xf32>, %variance: tensor<3xf32>
%0 = "stablehlo.batch_norm_inference"(%operand, %scale, %offset, %mean, %variance) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x5xf32>
// -----
// batch_norm_training C3 | %operand: tensor<2x3x3xf32>, %scale: tensor<4xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<4xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training C4 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<4xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<4xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_training C5 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<4xf32>, tensor<3xf32>)
// -----
// batch_norm_training C6 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x3xf32>, tensor<3xf32>, tensor<4xf32>)
// -----
// batch_norm_training C7 | %operand: tensor<2x3x3xf32>, %scale: tensor<3xf32>, %offset: tensor<3xf32>
%0:3 = "stablehlo.batch_norm_training"(%operand, %scale, %offset) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x5xf32>, tensor<3xf32>, tensor<3xf32>)
// -----
// batch_norm_inference C6 | %x: tensor<?x?xf32>, %a: tensor<3xf32>, %b: tensor<4xf32>
%0 = "stablehlo.batch_norm_inference"(%x, %a, %a, %a, %b) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<?x?xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<4xf32>) -> tensor<?x?xf32>
// -----
// batch_norm_grad C3 (jaxlib accepts) | %x: tensor<?x?xf32>, %a: tensor<?xf32>, %g: tensor<2x?xf32>
%0:3 = "stablehlo.batch_norm_grad"(%x, %a, %a, %a, %g) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<?x?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<2x?xf32>) -> (tensor<3x?xf32>, tensor<?xf32>, tensor<?xf32>)
// -----
// batch_norm_grad C4 (jaxlib accepts) | %x: tensor<?x?xf32>, %a: tensor<3xf32>, %b: tensor<?xf32>
%0:3 = "stablehlo.batch_norm_grad"(%x, %a, %b, %a, %x) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<?x?xf32>, tensor<3xf32>, tensor<?xf32>, tensor<3xf32>, tensor<?x?xf32>) -> (tensor<?x3xf32>, tensor<3xf32>, tensor<4xf32>)
