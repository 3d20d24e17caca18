func.func @main(%x: tensor<2x?xf16>, %y: tensor<2x?x!quant.uniform<u4<1:9>:f16:1, {0.5:3, 0.25:9}>>) {
  %0 = stablehlo.uniform_quantize %x : (tensor<2x?xf16>) -> tensor<2x?x!quant.uniform<i8:f16, 0.5:-128>>
  %1 = stablehlo.uniform_quantize %y : (tensor<2x?x!quant.uniform<u4<1:9>:f16:1, {0.5:3, 0.25:9}>>) -> tensor<2x?x!quant.uniform<i32:f16, 0.5>>
  %2 = stablehlo.uniform_dequantize %y : (tensor<2x?x!quant.uniform<u4<1:9>:f16:1, {0.5:3, 0.25:9}>>) -> tensor<2x2xf16>
  return
}
