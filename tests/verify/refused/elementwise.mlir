// $rounding = ceil floor round_nearest_afz round_nearest_even
// $analytic = cbrt cosine exponential exponential_minus_one log log_plus_one logistic rsqrt sine sqrt tan tanh
// $rounding I1 | %x: tensor<2xcomplex<f32>>
%0 = "stablehlo.{op}"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xf32>
// -----
// $rounding C1 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xf32>) -> tensor<3xf32>
// -----
// $rounding C1 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xf32>) -> tensor<2xf64>
// -----
// $analytic I1 | %x: tensor<2xi32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xi32>) -> tensor<2xf32>
// -----
// $analytic C1 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xf32>) -> tensor<3xf32>
// -----
// $analytic C1 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xf32>) -> tensor<2xcomplex<f32>>
// -----
// $analytic I2 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) <{result_accuracy = 1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// $analytic C2 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) <{result_accuracy = #stablehlo.result_accuracy<atol = -1.0, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// tanh C2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = 0.0, ulps = 3, mode = #stablehlo.result_accuracy_mode<HIGHEST>>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// count_leading_zeros popcnt I1 | %x: tensor<2xi1>
%0 = "stablehlo.{op}"(%x) : (tensor<2xi1>) -> tensor<2xi32>
// -----
// count_leading_zeros popcnt C1 | %x: tensor<2xi64>
%0 = "stablehlo.{op}"(%x) : (tensor<2xi64>) -> tensor<2xi32>
// -----
// negate I1 | %x: tensor<2xi1>
%0 = "stablehlo.negate"(%x) : (tensor<2xi1>) -> tensor<2xi32>
// -----
// sign I1 | %x: tensor<2xui32>
%0 = "stablehlo.sign"(%x) : (tensor<2xui32>) -> tensor<2xi32>
// -----
// negate not sign C1 | %x: tensor<2xi32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xi32>) -> tensor<3xi32>
// -----
// not I1 | %x: tensor<2xf32>
%0 = "stablehlo.not"(%x) : (tensor<2xf32>) -> tensor<2xi32>
// -----
// abs I1 | %x: tensor<2xui32>
%0 = "stablehlo.abs"(%x) : (tensor<2xui32>) -> tensor<2xi32>
// -----
// imag real I1 | %x: tensor<2xi32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xi32>) -> tensor<2xf32>
// -----
// abs imag real C1 | %x: tensor<2xf32>
%0 = "stablehlo.{op}"(%x) : (tensor<2xf32>) -> tensor<3xf32>
// -----
// abs imag real C2 | %x: tensor<2xcomplex<f32>>
%0 = "stablehlo.{op}"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
// -----
// is_finite I1 | %x: tensor<2xcomplex<f32>>
%0 = "stablehlo.is_finite"(%x) : (tensor<2xcomplex<f32>>) -> tensor<2xi1>
// -----
// is_finite C1 | %x: tensor<2xf32>
%0 = "stablehlo.is_finite"(%x) : (tensor<2xf32>) -> tensor<3xi1>
// -----
// convert I1 | %x: !stablehlo.token
%0 = "stablehlo.convert"(%x) : (!stablehlo.token) -> tensor<f32>
// -----
// convert C1 | %x: tensor<2x?xf32>
%0 = "stablehlo.convert"(%x) : (tensor<2x?xf32>) -> tensor<3x?xf64>
// -----
// reduce_precision I1 | %x: tensor<2xi32>
%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i32}> : (tensor<2xi32>) -> tensor<2xi32>
// -----
// reduce_precision I2 | %x: tensor<2xf32>
%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i64, mantissa_bits = 2 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// reduce_precision I3 | %x: tensor<2xf32>
%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i64}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// reduce_precision C1 | %x: tensor<2xf32>
%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = 2 : i32}> : (tensor<2xf32>) -> tensor<2xf16>
// -----
// reduce_precision C2 | %x: tensor<2xf32>
%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 0 : i32, mantissa_bits = 2 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// reduce_precision C3 | %x: tensor<2xf32>
%0 = "stablehlo.reduce_precision"(%x) <{exponent_bits = 5 : i32, mantissa_bits = -1 : i32}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// and or xor I1 | %x: tensor<2xf32>, %y: tensor<2xi32>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xi32>
// -----
// and or xor I2 | %x: tensor<2xi32>, %y: tensor<2xf32>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xi32>
// -----
// shift_left shift_right_arithmetic shift_right_logical I1 | %x: tensor<2xi1>, %y: tensor<2xi32>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xi1>, tensor<2xi32>) -> tensor<2xi32>
// -----
// shift_left shift_right_arithmetic shift_right_logical I2 | %x: tensor<2xi32>, %y: tensor<2xi1>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xi32>, tensor<2xi1>) -> tensor<2xi32>
// -----
// and or xor shift_left shift_right_arithmetic shift_right_logical C1 | %x: tensor<2xi32>, %y: tensor<2xui32>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xi32>, tensor<2xui32>) -> tensor<2xi32>
// -----
// atan2 I1 | %x: tensor<2xi32>, %y: tensor<2xf32>
%0 = "stablehlo.atan2"(%x, %y) : (tensor<2xi32>, tensor<2xf32>) -> tensor<2xf32>
// -----
// atan2 I2 | %x: tensor<2xf32>, %y: tensor<2xi32>
%0 = "stablehlo.atan2"(%x, %y) : (tensor<2xf32>, tensor<2xi32>) -> tensor<2xf32>
// -----
// divide power remainder subtract I1 | %x: tensor<2xi1>, %y: tensor<2xi32>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xi1>, tensor<2xi32>) -> tensor<2xi32>
// -----
// divide power remainder subtract I2 | %x: tensor<2xi32>, %y: tensor<2xi1>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xi32>, tensor<2xi1>) -> tensor<2xi32>
// -----
// add maximum minimum multiply I1 | %x: !stablehlo.token, %y: tensor<2xf32>
%0 = "stablehlo.{op}"(%x, %y) : (!stablehlo.token, tensor<2xf32>) -> tensor<2xf32>
// -----
// add maximum minimum multiply I2 | %x: tensor<2xf32>, %y: !stablehlo.token
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xf32>, !stablehlo.token) -> tensor<2xf32>
// -----
// add atan2 divide maximum minimum multiply power remainder subtract C1 | %x: tensor<2xf32>, %y: tensor<3xf32>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
// -----
// add atan2 divide maximum minimum multiply power remainder subtract C1 | %x: tensor<2xf32>, %y: tensor<2xf64>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xf32>
// -----
// subtract C1 | %x: tensor<?xf32>, %y: tensor<2xf32>
%0 = "stablehlo.subtract"(%x, %y) : (tensor<?xf32>, tensor<2xf32>) -> tensor<3xf32>
// -----
// add C2 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2xf32>
%0 = "stablehlo.add"(%x, %y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// add C3 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2x!quant.uniform<i16:f32, 0.5>>
%0 = "stablehlo.add"(%x, %y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i16:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// add C4 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.add"(%x, %y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f16, 0.5>>
// -----
// add C5 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.add"(%x, %y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// -----
// add C6 | %x: tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, %y: tensor<2x2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.add"(%x, %y) : (tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
// -----
// add C7 | %x: tensor<2x2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>
%0 = "stablehlo.add"(%x, %y) : (tensor<2x2x!quant.uniform<i8:f32, 0.5>>, tensor<2x2x!quant.uniform<i8:f32:1, {0.5, 0.25}>>) -> tensor<2x2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
// -----
// clamp I1 | %a: !stablehlo.token, %x: tensor<2xf32>, %b: tensor<f32>
%0 = "stablehlo.clamp"(%a, %x, %b) : (!stablehlo.token, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// -----
// clamp I2 | %a: tensor<f32>, %x: !stablehlo.token, %b: tensor<f32>
%0 = "stablehlo.clamp"(%a, %x, %b) : (tensor<f32>, !stablehlo.token, tensor<f32>) -> tensor<f32>
// -----
// clamp I3 | %a: tensor<f32>, %x: tensor<2xf32>, %b: !stablehlo.token
%0 = "stablehlo.clamp"(%a, %x, %b) : (tensor<f32>, tensor<2xf32>, !stablehlo.token) -> tensor<2xf32>
// -----
// clamp C1 | %a: tensor<1xf32>, %x: tensor<2xf32>, %b: tensor<f32>
%0 = stablehlo.clamp %a, %x, %b : (tensor<1xf32>, tensor<2xf32>, tensor<f32>) -> tensor<2xf32>
// -----
// clamp C2 | %a: tensor<f32>, %x: tensor<2xf32>, %b: tensor<2x2xf32>
%0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<2xf32>, tensor<2x2xf32>) -> tensor<2xf32>
// -----
// clamp C3 | %a: tensor<f32>, %x: tensor<2xf32>, %b: tensor<f64>
%0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<2xf32>, tensor<f64>) -> tensor<2xf32>
// -----
// clamp C4 | %a: tensor<f32>, %x: tensor<2xf32>, %b: tensor<f32>
%0 = stablehlo.clamp %a, %x, %b : (tensor<f32>, tensor<2xf32>, tensor<f32>) -> tensor<3xf32>
// -----
// compare I1 | %x: !stablehlo.token, %y: tensor<2xf32>
%0 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (!stablehlo.token, tensor<2xf32>) -> tensor<2xi1>
// -----
// compare I2 | %x: tensor<2xf32>, %y: !stablehlo.token
%0 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, !stablehlo.token) -> tensor<2xi1>
// -----
// compare I3 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_type FLOAT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// compare I4 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "stablehlo.compare"(%x, %y) <{comparison_direction = #stablehlo<comparison_direction LT>, compare_type = #stablehlo<comparison_direction LT>}> : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// compare C1 | %x: tensor<2xf32>, %y: tensor<2xf64>
%0 = stablehlo.compare LT, %x, %y : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xi1>
// -----
// compare C2 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = stablehlo.compare LT, %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xi1>
// -----
// compare C3 (jaxlib accepts) | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
// -----
// compare C3 (jaxlib accepts) | %x: tensor<2xui8>, %y: tensor<2xui8>
%0 = stablehlo.compare LT, %x, %y, SIGNED : (tensor<2xui8>, tensor<2xui8>) -> tensor<2xi1>
// -----
// compare C3 (jaxlib accepts) | %x: tensor<2xcomplex<f32>>, %y: tensor<2xcomplex<f32>>
%0 = stablehlo.compare EQ, %x, %y, TOTALORDER : (tensor<2xcomplex<f32>>, tensor<2xcomplex<f32>>) -> tensor<2xi1>
// -----
// complex I1 | %x: tensor<2xf16>, %y: tensor<2xf32>
%0 = "stablehlo.complex"(%x, %y) : (tensor<2xf16>, tensor<2xf32>) -> tensor<2xcomplex<f32>>
// -----
// complex I2 | %x: tensor<2xf32>, %y: tensor<2xf16>
%0 = "stablehlo.complex"(%x, %y) : (tensor<2xf32>, tensor<2xf16>) -> tensor<2xcomplex<f32>>
// -----
// complex C1 | %x: tensor<2xf32>, %y: tensor<2xf64>
%0 = "stablehlo.complex"(%x, %y) : (tensor<2xf32>, tensor<2xf64>) -> tensor<2xcomplex<f32>>
// -----
// complex C2 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "stablehlo.complex"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<3xcomplex<f32>>
// -----
// complex C3 | %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "stablehlo.complex"(%x, %y) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xcomplex<f64>>
// -----
// select I1 | %p: tensor<2xi8>, %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = "stablehlo.select"(%p, %x, %y) : (tensor<2xi8>, tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
// -----
// select I2 | %p: tensor<2xi1>, %x: !stablehlo.token, %y: tensor<2xf32>
%0 = "stablehlo.select"(%p, %x, %y) : (tensor<2xi1>, !stablehlo.token, tensor<2xf32>) -> tensor<2xf32>
// -----
// select I3 | %p: tensor<2xi1>, %x: tensor<2xf32>, %y: !stablehlo.token
%0 = "stablehlo.select"(%p, %x, %y) : (tensor<2xi1>, tensor<2xf32>, !stablehlo.token) -> tensor<2xf32>
// -----
// select C1 | %p: tensor<3xi1>, %x: tensor<2xf32>, %y: tensor<2xf32>
%0 = stablehlo.select %p, %x, %y : tensor<3xi1>, tensor<2xf32>
// -----
// select C2 | %p: tensor<i1>, %x: tensor<2xf32>, %y: tensor<3xf32>
%0 = stablehlo.select %p, %x, %y : (tensor<i1>, tensor<2xf32>, tensor<3xf32>) -> tensor<2xf32>
// -----
// bitcast_convert I1 | %x: !stablehlo.token
%0 = "stablehlo.bitcast_convert"(%x) : (!stablehlo.token) -> tensor<i32>
// -----
// bitcast_convert C1 | %x: tensor<2xf32>
%0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<3xi32>
// -----
// bitcast_convert C1 | %x: tensor<2xf32>
%0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x2xi8>
// -----
// bitcast_convert C1 | %x: tensor<2x4xi8>
%0 = stablehlo.bitcast_convert %x : (tensor<2x4xi8>) -> tensor<2x4xf32>
// -----
// bitcast_convert C2 | %x: tensor<2xcomplex<f32>>
%0 = stablehlo.bitcast_convert %x : (tensor<2xcomplex<f32>>) -> tensor<2xf64>
// -----
// tanh I1 | %x: tensor<*xf32>
%0 = "stablehlo.tanh"(%x) : (tensor<*xf32>) -> tensor<*xf32>
// -----
// tanh I2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.channel_handle<handle = 1, type = 1>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// tanh C2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<BEST>>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// bitcast_convert C1 (jaxlib accepts) | %x: tensor<2xf32>
%0 = stablehlo.bitcast_convert %x : (tensor<2xf32>) -> tensor<2x1xi32>
// -----
// $analytic I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = "stablehlo.{op}"(%x) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// $rounding I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = "stablehlo.{op}"(%x) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// abs negate sign I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = "stablehlo.{op}"(%x) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// atan2 divide maximum minimum multiply power remainder subtract I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = "stablehlo.{op}"(%x, %x) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// select I2 | %p: tensor<i1>, %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = "stablehlo.select"(%p, %x, %x) : (tensor<i1>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// clamp I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = "stablehlo.clamp"(%x, %x, %x) : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// compare I1 | %x: tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>
%0 = stablehlo.compare LT, %x, %x : (tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>, tensor<2x!quant.uniform<i8:f32:0, {0.5, 0.25}>>) -> tensor<2xi1>
// -----
// convert count_leading_zeros imag not popcnt real I1 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>
%0 = "stablehlo.{op}"(%x) : (tensor<2x!quant.uniform<i8:f32, 0.5>>) -> tensor<2xi32>
// -----
// and or xor shift_left shift_right_arithmetic shift_right_logical I1 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2xi8>
%0 = "stablehlo.{op}"(%x, %y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2xi8>) -> tensor<2xi8>
// -----
// multiply C1 | %x: tensor<2x!quant.uniform<i8:f32, 0.5>>, %y: tensor<2x!quant.uniform<i8<-9:9>:f32, 0.5>>
%0 = "stablehlo.multiply"(%x, %y) : (tensor<2x!quant.uniform<i8:f32, 0.5>>, tensor<2x!quant.uniform<i8<-9:9>:f32, 0.5>>) -> tensor<2x!quant.uniform<i8:f32, 0.5>>
// -----
// tanh C2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// tanh C2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<atol = 1, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// tanh C2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0 : f64, rtol = 0.0, ulps = 0, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2xf32>) -> tensor<2xf32>
// -----
// tanh C2 | %x: tensor<2xf32>
%0 = "stablehlo.tanh"(%x) <{result_accuracy = #stablehlo.result_accuracy<atol = 1.0, rtol = 0.0, ulps = 1.5, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<2xf32>) -> tensor<2xf32>
