// uniform_quantize I1 | %x: tensor<2xi32>
%0 = "stablehlo.uniform_quantize"(%x) : (tensor<2xi32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// uniform_quantize C1 | %x: tensor<2xf32>
%0 = "stablehlo.uniform_quantize"(%x) : (tensor<2xf32>) -> tensor<3x!quant.uniform<i8:f32, 0.5>>
// -----
// uniform_quantize C2 | %x: tensor<2xf32>
%0 = "stablehlo.uniform_quantize"(%x) : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f16, 0.5>>
// -----
// uniform_quantize C2 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.uniform_quantize"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f16, 0.5>>
// -----
// uniform_dequantize I1 | %x: tensor<2xi8>
%0 = "stablehlo.uniform_dequantize"(%x) : (tensor<2xi8>) -> tensor<2xf32>
// -----
// uniform_dequantize C1 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.uniform_dequantize"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<3xf32>
// -----
// uniform_dequantize C2 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.uniform_dequantize"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xf64>
// -----
// quantized type C3 | %x: tensor<2x!quant.uniform<i8<5:5>:f32, 0.5:5>>
// -----
// quantized type C3 | %x: tensor<2x!quant.uniform<u8<-1:9>:f32, 0.5>>
// -----
// quantized type C4 | %x: tensor<2x!quant.uniform<i8:f16, 1.0e6>>
// -----
// quantized type C4 | %x: tensor<2x!quant.uniform<i8:f32, 1.0e-60>>
// -----
// quantized type C5 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.0}>>
// -----
// quantized type C6 | %x: tensor<2x!quant.uniform<i8:f32, 1.0e999>>
// -----
// quantized type C7 | %x: tensor<2x!quant.uniform<i8<0:9>:f32, 0.5:10>>
// -----
// quantized type C11 | %x: tensor<2x!quant.uniform<i8:f32:-1, {0.5, 0.25}>>
// -----
// quantized type C12 | %x: tensor<2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// quantized type C13 | %x: tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// quantized type C13 | %x: tuple<tensor<f32>, tensor<2x3x!quant.uniform<i8:f32:1, {0.5, 0.25}>>>
