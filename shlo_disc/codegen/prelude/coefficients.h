// Polynomials in double, the constant coefficient first. Written by tools/fit_functions.py.
#pragma once

// (exp(r) - 1 - r) / r^2: degree 11, relative error 3.7e-20
#define SHLO_EXP \
    0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.5555555555557p-5, 0x1.1111111111111p-7, \
    0x1.6c16c16c15a6bp-10, 0x1.a01a01a0196aep-13, 0x1.a01a01a9e8574p-16, 0x1.71de3a5aa713cp-19, \
    0x1.27e4d41cb06bfp-22, 0x1.ae642c86649d1p-26, 0x1.1f7f21622928fp-29, 0x1.61bfa3a67e590p-33

// (log((1 + s) / (1 - s)) - 2 s) / s^3 of s^2: degree 7, relative error 3.0e-18
#define SHLO_LOG \
    0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476c8bp-2, 0x1.c71c720160332p-3, \
    0x1.745cf90196560p-3, 0x1.3b1c35fbecd93p-3, 0x1.0fbe84f5caccap-3, 0x1.0c044ccf380aap-3

// (sin(r) - r) / r^3 of r^2: degree 6, relative error 7.1e-20
#define SHLO_SIN \
    -0x1.5555555555555p-3, 0x1.1111111111110p-7, -0x1.a01a01a019937p-13, 0x1.71de3a54607fap-19, \
    -0x1.ae6454129f078p-26, 0x1.61217eed1c04ap-33, -0x1.ab17c21adf462p-41

// (cos(r) - 1 + r^2 / 2) / r^4 of r^2: degree 5, relative error 3.1e-17
#define SHLO_COS \
    0x1.5555555555555p-5, -0x1.6c16c16c16967p-10, 0x1.a01a019f4e9f4p-16, -0x1.27e4fa17c44e0p-22, \
    0x1.1eeb68d2958ddp-29, -0x1.907d9316a965fp-37

// (atan(x) - x) / x^3 of x^2: degree 11, relative error 1.2e-17
#define SHLO_ATAN \
    -0x1.5555555555555p-2, 0x1.99999999998c4p-3, -0x1.2492492485417p-3, 0x1.c71c71bd21787p-4, \
    -0x1.745d154ac3da3p-4, 0x1.3b1375a0eb258p-4, -0x1.110c9a0c8644ap-4, 0x1.e1704532a7e28p-5, \
    -0x1.ab582fd05ec97p-5, 0x1.6ffb4e901f5dbp-5, -0x1.0f54730d6c30ep-5, 0x1.e3ddb8d3850abp-7

// (asin(x) - x) / x^3 of x^2: degree 13, relative error 5.1e-18
#define SHLO_ASIN \
    0x1.5555555555555p-3, 0x1.3333333333388p-4, 0x1.6db6db6dac1e0p-5, 0x1.f1c71c7a52ba3p-6, \
    0x1.6e8ba123e494cp-6, 0x1.1c4efce23019fp-6, 0x1.c990ad3d8fdcap-7, 0x1.7b027ee1dd585p-7, \
    0x1.3b49de7121487p-7, 0x1.31622469ce5adp-7, 0x1.8f193743418ffp-9, 0x1.406192d124629p-6, \
    -0x1.3b416bb7d9257p-6, 0x1.e529c6fce9bb4p-6

// (sinh(x) - x) / x^3 of x^2: degree 6, relative error 2.1e-18
#define SHLO_SINH \
    0x1.5555555555555p-3, 0x1.11111111110fdp-7, 0x1.a01a01a01ee70p-13, 0x1.71de3a4e14f40p-19, \
    0x1.ae6460fae3728p-26, 0x1.611cb330c1fe8p-33, 0x1.b41232cf9950fp-41

// (tanh(x) - x) / x^3 of x^2: degree 10, relative error 2.1e-17
#define SHLO_TANH \
    -0x1.5555555555555p-2, 0x1.1111111111043p-3, -0x1.ba1ba1ba00b8dp-5, 0x1.664f4877c51e3p-6, \
    -0x1.226e33103de13p-7, 0x1.d6d33fdc36c3cp-9, -0x1.7d983abf272d1p-10, 0x1.34c9cb59c7e11p-11, \
    -0x1.ec41e4dd36ba3p-13, 0x1.659fee1a1f861p-14, -0x1.5b6d792f1839dp-16

// erf(x) / x of x^2: degree 12, relative error 1.4e-19
#define SHLO_ERF \
    0x1.20dd750429b6dp+0, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b30p-4, -0x1.b82ce31284e00p-6, \
    0x1.565bcd0dbaa38p-8, -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17, \
    0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30, \
    0x1.05ffd737fb32ep-34

// erfc(x) exp(x^2) (1 + 2 x) of (x - 4) / (x + 4), 1/2 <= x <= 28.2: degree 21, relative error 3.3e-18
#define SHLO_ERFC \
    0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a28fp-3, 0x1.f7f5df66fd55bp-7, 0x1.16ecefcfa5476p-4, \
    -0x1.9ddb23c3e7c29p-4, 0x1.7fee004e10868p-4, -0x1.0fb06dfe6c5ccp-4, 0x1.3079edf6b4bb9p-5, \
    -0x1.0962387d70b5dp-6, 0x1.49c6727c54225p-8, -0x1.8d4aa1a50607fp-11, -0x1.a1df236cec822p-13, \
    0x1.3be0d99dcce93p-13, -0x1.9958ad59a1875p-16, -0x1.78a44b7f44ffap-17, 0x1.7f1819d16a6c5p-18, \
    0x1.41c3421a16f07p-22, -0x1.b9877426c9dddp-21, 0x1.1f772e597d4abp-24, 0x1.c55923044c1dep-24, \
    -0x1.a2d1934b32972p-27, -0x1.66614ab16d085p-27

// the same, x <= 10.3: degree 9, relative error 4.6e-9
#define SHLO_ERFC_SINGLE \
    0x1.3ba5917010450p+0, -0x1.1df1ac00b4562p-3, 0x1.f7f5c0d5acd76p-7, 0x1.16ebe1d83834fp-4, \
    -0x1.9ddc03008b4b1p-4, 0x1.80052d85a4d66p-4, -0x1.0f92272045680p-4, 0x1.2f327753a521ep-5, \
    -0x1.0dbc119965676p-6, 0x1.5e41dad08c4c1p-8

// erf_inv(x) / x of w - 3, w = -log(1 - x^2) <= 6: degree 23, relative error 6.7e-18
#define SHLO_ERF_INV_CENTER \
    0x1.9fa072ed72dbbp+0, 0x1.eedbebdce73e6p-3, -0x1.780def1d3f3ffp-8, -0x1.b6666b152b661p-11, \
    0x1.9912c04a501f2p-13, -0x1.aab13d1c2749ep-17, -0x1.d539ca175ac91p-20, 0x1.e32b0d49a4fdfp-22, \
    -0x1.96f81eb1e4c7fp-26, -0x1.77b3a13c70ca6p-28, 0x1.31556b71e4d10p-30, -0x1.146c0ceeb112fp-35, \
    -0x1.30d8ccf28c4eap-36, 0x1.7bd8787070135p-39, 0x1.be17c2f60be00p-48, -0x1.dcbfa03933bc4p-45, \
    0x1.c8c5f47132742p-48, 0x1.3bf80cf783e3dp-52, -0x1.76cf01ba6594bp-53, 0x1.dafb4fe02a26cp-57, \
    0x1.2d37ac45dfdd5p-59, -0x1.ce564b0e47e8ep-62, -0x1.81ab51d514e6cp-67, 0x1.47a851c2cf954p-68

// the same of sqrt(w) - 3.25, w <= 16: degree 20, relative error 1.7e-18
#define SHLO_ERF_INV_SIDE \
    0x1.8abcc380d5a48p+1, 0x1.0158a6d641d55p+0, 0x1.5ffcfe5b6c812p-8, -0x1.ebadabba02368p-9, \
    0x1.468eeca96998cp-9, -0x1.ba9240d89b159p-10, 0x1.f3cc5450cf437p-11, -0x1.7448bcc0311f2p-12, \
    0x1.932ea1f3f3498p-16, 0x1.1e6abacab6f7fp-14, -0x1.8cf49e64abecep-15, 0x1.a241f0c549badp-17, \
    0x1.89a950370b42fp-19, -0x1.0b7ad45fc48e0p-18, 0x1.8d6e34c8a34e6p-20, -0x1.d8ebea4b08bb4p-26, \
    -0x1.05e9b6d962e10p-22, 0x1.1a67ee6004ccbp-23, -0x1.7daa4c572d9c3p-26, -0x1.066a5adf3640fp-26, \
    0x1.17a1d1adc408ap-27

// the same of sqrt(w) - 5, w <= 36.1: degree 19, relative error 3.9e-19
#define SHLO_ERF_INV_END \
    0x1.3664ddd1ad7fbp+2, 0x1.02a30d1fba10bp+0, -0x1.22ea5df1cb7b5p-13, -0x1.c2f36aa151704p-13, \
    0x1.3ebf4efb0c842p-14, -0x1.4a34904967f5dp-16, 0x1.2fbcfd8a29235p-18, -0x1.0a9031119a9dbp-20, \
    0x1.ebe31e8f92075p-23, -0x1.22390bea9302bp-24, 0x1.f289002890e0ap-26, -0x1.055e3c26f47d7p-26, \
    0x1.0cc08a050515dp-27, -0x1.e5b9e1629d62bp-29, 0x1.69a0199fa9d7bp-30, -0x1.a2c3e372a4c04p-32, \
    0x1.3330e3808e60ap-34, 0x1.0476f7fb20a6cp-36, -0x1.680510eb4705ep-36, 0x1.9c53c7bd2a891p-38

// lgamma(x) / ((x - 1) (x - 2)) of x - 3/2, 1 <= x <= 2: degree 21, relative error 1.4e-18
#define SHLO_LGAMMA \
    0x1.eeb95b094c191p-2, -0x1.2aed059bd608ap-3, 0x1.01af62a2929c0p-4, -0x1.007aa83cee1acp-5, \
    0x1.133423527f1f2p-6, -0x1.34dbda14971e2p-7, 0x1.64f0664c4f943p-8, -0x1.a5035232a7d25p-9, \
    0x1.f814bab49d011p-10, -0x1.313e8a3ddad6fp-10, 0x1.750a7900f071ep-11, -0x1.cb44dee9fac00p-12, \
    0x1.1c7e3a261c9ebp-12, -0x1.623f109df00eep-13, 0x1.b9e43433855c2p-14, -0x1.156abea920aefp-14, \
    0x1.68f13e0fbb796p-15, -0x1.c85e4bc95846cp-16, 0x1.ba730a9784e07p-17, -0x1.18598e23bb974p-17, \
    0x1.9759e019683d0p-17, -0x1.0467902760469p-17

// (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x of 1 / x^2, x >= 8: degree 6, relative error 7.2e-18
#define SHLO_STIRLING \
    0x1.5555555555555p-4, -0x1.6c16c16c149f4p-9, 0x1.a01a017dcf9e1p-11, -0x1.38134d4f8896fp-11, \
    0x1.b92c33f9445e5p-11, -0x1.ef8d748aeb0f2p-10, 0x1.4bffc9d8b455bp-8

// digamma(x) / (x - root) of x - 3/2, 1 <= x <= 2: degree 22, relative error 2.7e-18
#define SHLO_DIGAMMA \
    0x1.e6f0cbb873616p-1, -0x1.b1cb63005ee98p-2, 0x1.eca189b8e6f6dp-3, -0x1.2feeeb98a78eap-3, \
    0x1.8512e5903903ep-4, -0x1.fb44202a2306bp-5, 0x1.4de9aa1779d23p-5, -0x1.b9f8b11bfd3d0p-6, \
    0x1.2564717896ec6p-6, -0x1.863563f44f303p-7, 0x1.03c0adafa529cp-7, -0x1.5a06a5d662cb4p-8, \
    0x1.cd2011454fd05p-9, -0x1.336dbe66757c8p-9, 0x1.99d3f5c0cad5ep-10, -0x1.0fb38d217b800p-10, \
    0x1.6a3e76070c135p-11, -0x1.fd8e50abf2196p-12, 0x1.53b23429da21bp-12, -0x1.2fae5cb379bf2p-13, \
    0x1.94e73cc9821e1p-14, -0x1.75c084e78a4cdp-13, 0x1.f255c4568ac4dp-14

// (log x - 1 / (2 x) - digamma(x)) x^2 of 1 / x^2, x >= 10: degree 5, relative error 4.2e-16
#define SHLO_DIGAMMA_TAIL \
    0x1.5555555555553p-4, -0x1.11111110eda31p-7, 0x1.04103fbff493dp-8, -0x1.110ef0c7a9466p-8, \
    0x1.eedc14c2d6c94p-8, -0x1.3453e6382a31ap-6

// exp(-x) I1(x) / x of x / 4 - 1, 0 <= x <= 8: degree 29, relative error 2.0e-18
#define SHLO_BESSEL_I1E_SMALL \
    0x1.6e14eb8e5d319p-5, -0x1.f4bb071a7752bp-5, 0x1.16c390ddb08ecp-4, -0x1.1881379ffb5c2p-4, \
    0x1.0530f817ffa4ap-4, -0x1.c4daa51341c6dp-5, 0x1.6df95e8bdfc8fp-5, -0x1.13d5f358a4edap-5, \
    0x1.84125b0d2de85p-6, -0x1.fe3d9c01a6736p-7, 0x1.3a0c1a007877fp-7, -0x1.6ab6a3876ed57p-8, \
    0x1.89f8a69545405p-9, -0x1.93682690e9b9ap-10, 0x1.8656c1654765cp-11, -0x1.65bf65dd72f08p-12, \
    0x1.37430c18eefeap-13, -0x1.01a43775d9f1cp-14, 0x1.969330fb70d0ep-16, -0x1.3269f669d578fp-17, \
    0x1.ba196041625d2p-19, -0x1.317ffb356f636p-20, 0x1.93a99c550319ep-22, -0x1.01b4b419a1fcbp-23, \
    0x1.46a890c79f1e3p-25, -0x1.80875810a1429p-27, 0x1.65dc717d15110p-29, -0x1.95ae4a3a5ec82p-31, \
    0x1.99db77e00f02dp-32, -0x1.9be8fdf579908p-34

// exp(-x) I1(x) sqrt(x) of 16 / x - 1, x >= 8: degree 25, relative error 4.8e-18
#define SHLO_BESSEL_I1E_LARGE \
    0x1.8ebe783a84030p-2, -0x1.3f796198ee63fp-7, -0x1.cbc54df1e894cp-13, -0x1.f89c230446f74p-17, \
    -0x1.ec8e107bd7eaap-20, -0x1.7613865ea6e9ap-22, -0x1.ad8d43e5d60bep-24, -0x1.727702ec186d3p-25, \
    -0x1.9191ff33370adp-26, -0x1.21f47a4eb566bp-27, 0x1.ceff3cea7c3a4p-28, 0x1.e413f0678e137p-27, \
    0x1.99d190fe908dap-28, -0x1.0c96c7afcb02cp-27, -0x1.0e2bb88351649p-27, 0x1.05656ba38c1b6p-28, \
    0x1.aa440cf09ce30p-28, -0x1.11c9f66d690fcp-29, -0x1.01ef463d9c576p-28, 0x1.268bd450a314cp-30, \
    0x1.c7aed1ee533f7p-30, -0x1.07d06c81c1d24p-31, -0x1.fff33f3b3e75ap-32, 0x1.37bea5c8dbcccp-33, \
    0x1.0ddc7620a9205p-34, -0x1.5a29b473f1663p-36
