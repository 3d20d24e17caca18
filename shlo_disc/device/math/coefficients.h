// Polynomials, the constant coefficient first, and tables. Written by tools/fit_functions.py.
#pragma once

// (exp(r) - 1 - r) / r^2: degree 11, relative error 3.7e-20
#define SHLO_EXP \
    0x1.0000000000000p-1, 0x1.5555555555555p-3, 0x1.5555555555557p-5, 0x1.1111111111111p-7, \
    0x1.6c16c16c15a6bp-10, 0x1.a01a01a0196aep-13, 0x1.a01a01a9e8574p-16, 0x1.71de3a5aa713cp-19, \
    0x1.27e4d41cb06bfp-22, 0x1.ae642c86649d1p-26, 0x1.1f7f21622928fp-29, 0x1.61bfa3a67e590p-33

// the same: degree 7, relative error 9.7e-13
#define SHLO_EXP_SINGLE \
    0x1.fffffffffe068p-2, 0x1.5555555554f97p-3, 0x1.55555565c5d19p-5, 0x1.111111170b00dp-7, \
    0x1.6c166be5bb8e9p-10, 0x1.a019c370f2063p-13, 0x1.a136b31ea54a3p-16, 0x1.72ad3cda42d75p-19

// (log((1 + s) / (1 - s)) - 2 s) / s^3 of s^2: degree 7, relative error 3.0e-18
#define SHLO_LOG \
    0x1.5555555555555p-1, 0x1.9999999999a38p-2, 0x1.2492492476c8bp-2, 0x1.c71c720160332p-3, \
    0x1.745cf90196560p-3, 0x1.3b1c35fbecd93p-3, 0x1.0fbe84f5caccap-3, 0x1.0c044ccf380aap-3

// the same, the constant's last bits first: degree 8, relative error 2.1e-20
#define SHLO_LOG_LONG \
    0x1.55758ab211f44p-55, 0x1.5555555555555p-1, 0x1.9999999999998p-2, 0x1.249249249295ap-2, \
    0x1.c71c71c64c6e6p-3, 0x1.745d17d364797p-3, 0x1.3b137b2f2ef1bp-3, 0x1.111d282285abap-3, \
    0x1.debeb3c1b97c3p-4, 0x1.e6b13210d85a4p-4

// the same: degree 4, relative error 1.1e-11
#define SHLO_LOG_SINGLE \
    0x1.5555555564eb5p-1, 0x1.999998cae7df2p-2, 0x1.249323f4dad55p-2, 0x1.c67ad2107e9d4p-3, \
    0x1.8c8cac2ff1febp-3

// the same: degree 13, relative error 3.2e-31; in two parts, and the others
#define SHLO_LOG_FULL \
    0x1.5555555555555p-1, 0x1.5555555555532p-55, 0x1.999999999999ap-2, -0x1.99999998b70abp-56, \
    0x1.2492492492492p-2, 0x1.249241834e3c8p-56, 0x1.c71c71c71c71cp-3, 0x1.c7503e8d9c578p-57, \
    0x1.745d1745d1746p-3, -0x1.15e544c7b3033p-57, 0x1.3b13b13b13b2cp-3, -0x1.b175b0899ef9bp-64, \
    0x1.1111111110063p-3, 0x1.af5818bab0759p-58, 0x1.e1e1e1e2da495p-4, -0x1.2c3279c7cc58ap-60, \
    0x1.af286b79a1256p-4, 0x1.01e9b70e6a669p-58, 0x1.861873dca0005p-4, -0x1.73328c3954385p-58
#define SHLO_LOG_FULL_END \
    0x1.6429989f60bb4p-4, 0x1.47ffd3c787dbap-4, 0x1.299d45306ee7cp-4, 0x1.5744beb74adfbp-4

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

// (exp(2 u) - 1) / u, |u| <= log(2) / 64: degree 5, relative error 6.4e-16
#define SHLO_EXP_STEP \
    0x1.0000000000003p+1, 0x1.0000000000001p+1, 0x1.555555547d337p+0, 0x1.55555554e9447p-1, \
    0x1.11123cf4b2974p-2, 0x1.6c17ed4f9b765p-4

// erf(x) / x of x^2: degree 12, relative error 1.4e-19
#define SHLO_ERF \
    0x1.20dd750429b6dp+0, -0x1.812746b0379e6p-2, 0x1.ce2f21a042b30p-4, -0x1.b82ce31284e00p-6, \
    0x1.565bcd0dbaa38p-8, -0x1.c02db3dac435fp-11, 0x1.f9a321d5b8e1ep-14, -0x1.f4d1e3183f7aep-17, \
    0x1.b9df224ca4b97p-20, -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27, -0x1.389d4f2641625p-30, \
    0x1.05ffd737fb32ep-34

// erfc(x) exp(x^2) (1 + 2 x) of (x - 4) / (x + 4), 0.45 <= x <= 28.2, the constant's last bits first: degree 21, relative error 4.0e-18
#define SHLO_ERFC \
    -0x1.94ef3ea75e67dp-55, 0x1.3ba5916e9fd7fp+0, -0x1.1df1ad154a290p-3, 0x1.f7f5df66fd580p-7, \
    0x1.16ecefcfa5542p-4, -0x1.9ddb23c3e7d50p-4, 0x1.7fee004e0eab7p-4, -0x1.0fb06dfe6a973p-4, \
    0x1.3079edf6f41bfp-5, -0x1.0962387dc86a8p-6, 0x1.49c67269bc7c1p-8, -0x1.8d4aa157b031ap-11, \
    -0x1.a1df164eb489fp-13, 0x1.3be0d47626163p-13, -0x1.995a20bde659cp-16, -0x1.78a372fde8f22p-17, \
    0x1.7f2512a5dbf6fp-18, 0x1.41988c0bd3530p-22, -0x1.ba15bdb422271p-21, 0x1.200bc81707dbcp-24, \
    0x1.c8c3084871416p-24, -0x1.a4874403f2dabp-27, -0x1.6f5eb79fdd735p-27

// the same, x <= 10.3: degree 9, relative error 4.6e-9
#define SHLO_ERFC_SINGLE \
    0x1.3ba5917010450p+0, -0x1.1df1ac00b4562p-3, 0x1.f7f5c0d5acd76p-7, 0x1.16ebe1d83834fp-4, \
    -0x1.9ddc03008b4b1p-4, 0x1.80052d85a4d66p-4, -0x1.0f92272045680p-4, 0x1.2f327753a521ep-5, \
    -0x1.0dbc119965676p-6, 0x1.5e41dad08c4c1p-8

// erf_inv(x) / x of w - 3, w = -log(1 - x^2) <= 6, the constant's last bits first: degree 23, relative error 6.7e-18
#define SHLO_ERF_INV_CENTER \
    0x1.c9b80c7bda8a2p-54, 0x1.9fa072ed72dbbp+0, 0x1.eedbebdce73e6p-3, -0x1.780def1d3f3ffp-8, \
    -0x1.b6666b152b661p-11, 0x1.9912c04a501f2p-13, -0x1.aab13d1c2749ep-17, -0x1.d539ca175ac91p-20, \
    0x1.e32b0d49a4fdfp-22, -0x1.96f81eb1e4c7fp-26, -0x1.77b3a13c70ca6p-28, 0x1.31556b71e4d10p-30, \
    -0x1.146c0ceeb112fp-35, -0x1.30d8ccf28c4eap-36, 0x1.7bd8787070135p-39, 0x1.be17c2f60be00p-48, \
    -0x1.dcbfa03933bc4p-45, 0x1.c8c5f47132742p-48, 0x1.3bf80cf783e3dp-52, -0x1.76cf01ba6594bp-53, \
    0x1.dafb4fe02a26cp-57, 0x1.2d37ac45dfdd5p-59, -0x1.ce564b0e47e8ep-62, -0x1.81ab51d514e6cp-67, \
    0x1.47a851c2cf954p-68

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

// lgamma(x) / ((x - 1) (x - 2)) of x - 2, 1 <= x <= 3, the constant's last bits first: degree 28, relative error 2.4e-18
#define SHLO_LGAMMA \
    0x1.6cb90701fbfabp-58, 0x1.b0ee6072093cep-2, -0x1.9ae6509ea109ep-4, 0x1.0e0c9df293530p-5, \
    -0x1.95ce223a9d24ap-7, 0x1.47974853aa7eap-8, -0x1.145121f959a87p-9, 0x1.dfebcf8e001b7p-11, \
    -0x1.a96a403976f3ap-12, 0x1.7ed733d21cbf4p-13, -0x1.5c86af6d06700p-14, 0x1.402f0a28deda1p-15, \
    -0x1.285110f192ea9p-16, 0x1.13e4c880cb9a3p-17, -0x1.022302a40660bp-18, 0x1.e541e1a32fbd5p-20, \
    -0x1.cb3ff70f30455p-21, 0x1.b2c54c428c424p-22, -0x1.8ff67cc7ad32ep-23, 0x1.7c7b8a89c3cd7p-24, \
    -0x1.bdb9f4ce42d8dp-25, 0x1.ab61d22cc9788p-26, -0x1.f849c85b95e9dp-31, 0x1.a42ed3de5b793p-32, \
    -0x1.3103f029c7ba0p-27, 0x1.27da3df040450p-28, 0x1.4ff438323b2c8p-29, -0x1.47270e5e1fb65p-30, \
    -0x1.c035341ec058fp-31, 0x1.b3541ab65bdbfp-32

// lgamma(x) / ((x - 1) (x - 2)) of x - 3/2, 1 <= x <= 2: degree 39, relative error 1.4e-32; in two parts, and the others
#define SHLO_LGAMMA_LONG \
    0x1.eeb95b094c191p-2, 0x1.346863f58b073p-56, -0x1.2aed059bd608ap-3, -0x1.cd3d2ca77b616p-61, \
    0x1.01af62a2929e8p-4, -0x1.4f325bddaa3f2p-58, -0x1.007aa83cee1dfp-5, 0x1.125d1c9016e11p-60, \
    0x1.1334235278fadp-6, 0x1.d9d861e83270dp-60, -0x1.34dbda148f3d6p-7, 0x1.9911a6f8fc05bp-61, \
    0x1.64f06652465f7p-8, 0x1.cac369ff5c8f6p-62, -0x1.a503523a4e3e4p-9, 0x1.630e237cc7e18p-63, \
    0x1.f814b7bdfbbccp-10, -0x1.82d02dbdc4bdfp-67, -0x1.313e885750bacp-10, 0x1.17e285db74662p-65, \
    0x1.750ae6a104859p-11, -0x1.da95eae4108c1p-66, -0x1.cb456b8645730p-12, 0x1.d2579aa3e7a99p-66, \
    0x1.1c74645c54a3cp-12, -0x1.1e46c596cb2d7p-66, -0x1.6232734dccb5ap-13, -0x1.84768db4167f4p-68, \
    0x1.bb048486fe8cfp-14, -0x1.70e12cc0ef828p-68, -0x1.1623a15905139p-14, -0x1.78a0fb20ae86dp-68, \
    0x1.5e7359972594ep-15, 0x1.480157629737ep-72, -0x1.bae9d8ab51f22p-16, -0x1.e6b2a4380a131p-70, \
    0x1.18a72d2fba8c0p-16, -0x1.b9b1c823c5727p-70, -0x1.648d2156920afp-17, -0x1.d2bf65055b333p-72, \
    0x1.c5fd30a996c04p-18, -0x1.b27faec9fd2b1p-72, -0x1.219dce5002916p-18, 0x1.dfcf9ade3b61dp-73, \
    0x1.723411b15904ep-19, 0x1.02767d319d35dp-73, -0x1.da0638b90e18ap-20, 0x1.349e65a5e87dfp-75, \
    0x1.2ff4fa6ad9dfep-20, -0x1.96a94fc30c237p-77, -0x1.8662066a6bd1dp-21, -0x1.40144982d6c11p-75, \
    0x1.f620fd0caaf1dp-22, 0x1.70383481d4103p-76, -0x1.434b7db40b524p-22, -0x1.6836ff8a4a9a4p-76, \
    0x1.a0237a427f9c9p-23, -0x1.f853669dcf755p-78
#define SHLO_LGAMMA_LONG_END \
    -0x1.0c88e8009505dp-23, 0x1.5fd9d6d54aed7p-24, -0x1.c70f23ebf6fe6p-25, 0x1.0abf4ded49ecdp-25, \
    -0x1.595d53bb23ca4p-26, 0x1.51e421489f60ep-26, -0x1.b7009b485cff4p-27, -0x1.22e22683a258fp-30, \
    0x1.824d1e7a4c2a9p-31, 0x1.063cabf9f67d6p-27, -0x1.5598e5a26e66cp-28

// (lgamma(x) - (x - 1/2) log x + x - log(2 pi) / 2) x of 1 / x^2, x >= 8: degree 6, relative error 7.2e-18
#define SHLO_STIRLING \
    0x1.5555555555555p-4, -0x1.6c16c16c149f4p-9, 0x1.a01a017dcf9e1p-11, -0x1.38134d4f8896fp-11, \
    0x1.b92c33f9445e5p-11, -0x1.ef8d748aeb0f2p-10, 0x1.4bffc9d8b455bp-8

// digamma(x) / (x - root) of x - 7/4, 1 <= x <= 5/2: degree 26, relative error 3.5e-18
#define SHLO_DIGAMMA \
    0x1.b763ca67112a0p-1, -0x1.4e15b17372db4p-2, 0x1.41c830a3206e6p-3, -0x1.510ab0e5485b7p-4, \
    0x1.6effaf57e5883p-5, -0x1.97cc6e10b933cp-6, 0x1.ca494722e2420p-7, -0x1.0335d246182eep-7, \
    0x1.266020d553268p-8, -0x1.4f1c2e4b85d03p-9, 0x1.7e0acc36c9201p-10, -0x1.b3f100547792ap-11, \
    0x1.f1bba20f0ecf9p-12, -0x1.1c4ac344beb50p-12, 0x1.44c73e7f8147ap-13, -0x1.72295776ffc7ep-14, \
    0x1.a6f99b2633514p-15, -0x1.ef7f4dc81652bp-16, 0x1.1b1fac9c0c930p-16, -0x1.0bff86cf217f3p-17, \
    0x1.32463b37b4b41p-18, -0x1.5c189a81430a7p-18, 0x1.8dd2557337dbcp-19, 0x1.ebcd0052a705ap-21, \
    -0x1.1907b4cc32e6cp-21, -0x1.4ed8ea2e54492p-20, 0x1.7eaeafac4b299p-21

// (digamma(w + 1/2) - log w) w^2 of 1 / w^2, w >= 2: degree 18, relative error 1.5e-16
#define SHLO_DIGAMMA_TAIL \
    0x1.5555555555554p-5, -0x1.ddddddddd8d42p-8, 0x1.f7df7de49609bp-9, -0x1.0eeee77bda554p-8, \
    0x1.ef80c75eea01dp-8, -0x1.5936d5d0981c4p-6, 0x1.52ff4b56fe8e7p-4, -0x1.b2c47dda50c1bp-2, \
    0x1.49626c49df76ep+1, -0x1.06040dd976874p+4, 0x1.8a2fb21fc36cap+6, -0x1.040a56c031b9ep+9, \
    0x1.1de1172589c2dp+11, -0x1.f7ff8e32e6f91p+12, 0x1.579a0ce3dbecfp+14, -0x1.5af6c8fe61c55p+15, \
    0x1.e6a2b4a5f37c4p+15, -0x1.a610dff09d0dep+15, 0x1.5461b15cc7b37p+14

// (digamma(w) - log w + 1 / (2 w)) w^2 of 1 / w^2, w >= 12: degree 12, relative error 1.3e-29; in two parts, and the others
#define SHLO_DIGAMMA_SERIES \
    -0x1.5555555555555p-4, -0x1.5555555554fbap-58, 0x1.1111111111111p-7, 0x1.111108bc4bee8p-63, \
    -0x1.0410410410410p-8, -0x1.038cc9f2229c8p-62, 0x1.111111111110fp-8, 0x1.e3a3f115bbc6ep-62, \
    -0x1.f07c1f07c14bap-8, 0x1.166de76b88ab0p-62, 0x1.59959958f6b93p-6, -0x1.89078d83b6aadp-60, \
    -0x1.555554f2ccd70p-4, 0x1.d25b8ffc636e4p-59, 0x1.c5e5bccb4a81fp-2, -0x1.9266a07c6686ep-56
#define SHLO_DIGAMMA_SERIES_END \
    -0x1.86e212ddd3983p+1, 0x1.a6b65169a757dp+4, -0x1.1453876dd6606p+8, 0x1.870ae0ee24b68p+11, \
    -0x1.9ed7b7cf59849p+14

// (1 - pi f / tan(pi f)) / f^2 of f^2 - 1/8, f <= 1/2: degree 16, relative error 4.8e-20; in two parts, and the others
#define SHLO_COTANGENT \
    0x1.cc615fd0080e4p+1, 0x1.f33a6c1f21102p-53, 0x1.649a615b41a87p+1, 0x1.f14b0d6c0df49p-53, \
    0x1.82fd92cad1988p+1, 0x1.6766e415c2401p-55, 0x1.b5e80324d1895p+1, 0x1.5254c05a7f575p-54
#define SHLO_COTANGENT_END \
    0x1.f3697157b12adp+1, 0x1.1d3efcc1ce60cp+2, 0x1.45f6351f2549cp+2, 0x1.7484e074bf6b7p+2, \
    0x1.a9bbdc01cb1d2p+2, 0x1.e68d51f8bd87ap+2, 0x1.160797b12fe51p+3, 0x1.3dc4bd9a2b7b5p+3, \
    0x1.6b29fcef96d90p+3, 0x1.9da43e321cd17p+3, 0x1.d8bbb4c60987ep+3, 0x1.27c9d3c9c5a6dp+4, \
    0x1.520b3b2f8e0d8p+4

// the same: degree 27, relative error 1.2e-32; in two parts, and the others
#define SHLO_COTANGENT_LONG \
    0x1.cc615fd0080e4p+1, 0x1.f33a6c1f21100p-53, 0x1.649a615b41a88p+1, -0x1.db65874f04f5fp-53, \
    0x1.82fd92cad1988p+1, 0x1.28fb42a88127dp-54, 0x1.b5e80324d17fbp+1, 0x1.33279c45bbf9fp-53, \
    0x1.f3697157b11fdp+1, 0x1.000a2272db462p-53, 0x1.1d3efcc1df309p+2, -0x1.63b3af50f11b1p-53, \
    0x1.45f6351f38805p+2, 0x1.957ab132d46fdp-52, 0x1.7484e05a606d6p+2, -0x1.b7ad7961b7cd4p-54, \
    0x1.a9bbdbe3a7b1bp+2, -0x1.01cff43cee734p-52, 0x1.e68d67e26bffep+2, -0x1.da184b749223cp-52, \
    0x1.1607a436b829ep+3, -0x1.9dbb1f8bc7bc2p-53, 0x1.3dbf95d8bda54p+3, 0x1.956fc9e546020p-51, \
    0x1.6b2418a4d0084p+3, -0x1.8760883742e26p-51, 0x1.9f04ae5dd2f0cp+3, 0x1.f33a4b2a48fe8p-53, \
    0x1.da4e7e1cb1573p+3, -0x1.41cb9b46e8112p-51, 0x1.0f08480faeffdp+4, -0x1.41ebde14c9e97p-50, \
    0x1.35c05250d4adcp+4, 0x1.39e2351f10fe1p-57, 0x1.62005e13300fap+4, 0x1.3f0fa2871dbbep-52
#define SHLO_COTANGENT_LONG_END \
    0x1.9492b8fe4cce4p+4, 0x1.ce5e8a473265dp+4, 0x1.08355de5dc74ap+5, 0x1.2df3d906b2c79p+5, \
    0x1.5939964d0c4edp+5, 0x1.8a8af4ea57351p+5, 0x1.be29e6536bc57p+5, 0x1.fde6be1632062p+5, \
    0x1.53ef296421597p+6, 0x1.847f0abb93d3fp+6

// exp(-x) I1(x) / x (1 + x + 5 x^2 / 16) of x / 4 - 1, 0 <= x <= 8, the constant's last bits first: degree 29, relative error 3.9e-18
#define SHLO_BESSEL_I1E_SMALL \
    -0x1.c2e23016b6f38p-57, 0x1.c99a2671f47dfp-2, 0x1.d75a6b01bde9ep-7, 0x1.8b7587a716948p-5, \
    -0x1.345ba3c4a82f9p-5, 0x1.3aa9ea12c3283p-6, -0x1.43b7c606e63a1p-9, -0x1.1136929c09ca0p-7, \
    0x1.9409c33e84d83p-7, -0x1.6de2bb665d433p-7, 0x1.edc5b4d89e46dp-8, -0x1.e8b7d77b965cdp-9, \
    0x1.fe42e9d36b367p-11, 0x1.02babaa1fa691p-11, -0x1.01241ccd2f52ep-10, 0x1.e76bdb6ec8fdap-11, \
    -0x1.660f8063a38dfp-11, 0x1.c33e1d8006ddep-12, -0x1.fc094ebc2a218p-13, 0x1.04fd85cea4848p-13, \
    -0x1.f0436d24b56e4p-15, 0x1.b92db69f42351p-16, -0x1.6f936cc3d41dbp-17, 0x1.1dc9cba501e23p-18, \
    -0x1.ac57bcc0834a5p-20, 0x1.4669c2ad0f516p-21, -0x1.b49f729419c2cp-23, 0x1.86f318f900947p-25, \
    -0x1.0232acb33ffdcp-26, 0x1.6ad7b2867ff5dp-27, -0x1.9147a3f93ca7bp-29

// exp(-x) I1(x) sqrt(x) of 16 / x - 1, x >= 8: degree 25, relative error 4.8e-18
#define SHLO_BESSEL_I1E_LARGE \
    0x1.8ebe783a84030p-2, -0x1.3f796198ee63fp-7, -0x1.cbc54df1e894cp-13, -0x1.f89c230446f74p-17, \
    -0x1.ec8e107bd7eaap-20, -0x1.7613865ea6e9ap-22, -0x1.ad8d43e5d60bep-24, -0x1.727702ec186d3p-25, \
    -0x1.9191ff33370adp-26, -0x1.21f47a4eb566bp-27, 0x1.ceff3cea7c3a4p-28, 0x1.e413f0678e137p-27, \
    0x1.99d190fe908dap-28, -0x1.0c96c7afcb02cp-27, -0x1.0e2bb88351649p-27, 0x1.05656ba38c1b6p-28, \
    0x1.aa440cf09ce30p-28, -0x1.11c9f66d690fcp-29, -0x1.01ef463d9c576p-28, 0x1.268bd450a314cp-30, \
    0x1.c7aed1ee533f7p-30, -0x1.07d06c81c1d24p-31, -0x1.fff33f3b3e75ap-32, 0x1.37bea5c8dbcccp-33, \
    0x1.0ddc7620a9205p-34, -0x1.5a29b473f1663p-36

// (tanh(x) - x) / x^3 of x^2: degrees 2 and 3, relative error 1.9e-17
#define SHLO_TANH_OVER \
    -0x1.937c3e9ef0071p+10, -0x1.8d019e1c5db71p+6, -0x1.edc3dfbe1571ep-1
#define SHLO_TANH_UNDER \
    0x1.2e9d2ef734055p+12, 0x1.174f7f986bfe5p+11, 0x1.c31711cfcd676p+6, 0x1.0000000000000p+0

// 2^(j / 16), j = 0 .. 15, as bits, less j 2^48
#define SHLO_POWERS \
    0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238, \
    0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429, \
    0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090, \
    0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da

// erf(j step + t), |t| <= step / 2, j = 0 .. 15, in float: the factors of 1, t .. t^5; j = 0: erf(t) - t
#define SHLO_ERF_STEP 0x1.0b60000000000p-2f
#define SHLO_ERF_PIECES_0 \
    0x0.0p+0f, 0x1.26fb620000000p-2f, 0x1.1461580000000p-1f, 0x1.76cee00000000p-1f, \
    0x1.b87e440000000p-1f, 0x1.decc720000000p-1f, 0x1.f251b40000000p-1f, 0x1.fb030c0000000p-1f, \
    0x1.fe64fc0000000p-1f, 0x1.ff8b6e0000000p-1f, 0x1.ffe2e80000000p-1f, 0x1.fff99e0000000p-1f, \
    0x1.fffec60000000p-1f, 0x1.ffffca0000000p-1f, 0x1.fffff80000000p-1f, 0x1.0000000000000p+0f
#define SHLO_ERF_PIECES_1 \
    0x1.06eba80000000p-3f, 0x1.0dd3ca0000000p+0f, 0x1.b7d5680000000p-1f, 0x1.38c85c0000000p-1f, \
    0x1.8428740000000p-2f, 0x1.a44c000000000p-3f, 0x1.8d163a0000000p-4f, 0x1.47568a0000000p-5f, \
    0x1.d6e3c00000000p-7f, 0x1.2786480000000p-8f, 0x1.43a72c0000000p-10f, 0x1.3546e40000000p-12f, \
    0x1.01de280000000p-14f, 0x1.7732420000000p-17f, 0x1.dc52c60000000p-20f, 0x1.07d0460000000p-22f
#define SHLO_ERF_PIECES_2 \
    0x0.0p+0f, -0x1.19cf4c0000000p-2f, -0x1.cb5e6a0000000p-2f, -0x1.ea046c0000000p-2f, \
    -0x1.9568220000000p-2f, -0x1.125c800000000p-2f, -0x1.370dc20000000p-3f, -0x1.2b26c20000000p-4f, \
    -0x1.ebcf420000000p-6f, -0x1.5b38980000000p-7f, -0x1.a67e380000000p-9f, -0x1.bc0d6c0000000p-11f, \
    -0x1.93d6760000000p-13f, -0x1.3e35360000000p-15f, -0x1.b2ee600000000p-18f, -0x1.0201080000000p-20f
#define SHLO_ERF_PIECES_3 \
    -0x1.8126220000000p-2f, -0x1.36b5f00000000p-2f, -0x1.0a96880000000p-3f, 0x1.7afa800000000p-5f, \
    0x1.31c8340000000p-3f, 0x1.517b2c0000000p-3f, 0x1.02b09c0000000p-3f, 0x1.35f5d40000000p-4f, \
    0x1.2f34ce0000000p-5f, 0x1.eebf000000000p-7f, 0x1.54c9540000000p-8f, 0x1.8f6ef80000000p-10f, \
    0x1.9067d60000000p-12f, 0x1.588d940000000p-14f, 0x1.fe6bd60000000p-17f, 0x1.461b960000000p-19f
#define SHLO_ERF_PIECES_4 \
    0x0.0p+0f, 0x1.0ad4cc0000000p-3f, 0x1.754cb40000000p-3f, 0x1.2064860000000p-3f, \
    0x1.bc34f60000000p-5f, -0x1.21df820000000p-6f, -0x1.884a580000000p-5f, -0x1.6ddeca0000000p-5f, \
    -0x1.d5f1ee0000000p-6f, -0x1.d42e840000000p-7f, -0x1.7a5ec80000000p-8f, -0x1.fb5c440000000p-10f, \
    -0x1.1de7400000000p-11f, -0x1.1119760000000p-13f, -0x1.bcc04e0000000p-16f, -0x1.35fd5c0000000p-18f
#define SHLO_ERF_PIECES_5 \
    0x1.cb61920000000p-4f, 0x1.3b11320000000p-4f, 0x1.d5eb260000000p-11f, -0x1.d8af300000000p-5f, \
    -0x1.1279c20000000p-4f, -0x1.469c5e0000000p-5f, -0x1.fc9f620000000p-8f, 0x1.4518780000000p-7f, \
    0x1.a2acb40000000p-7f, 0x1.2134100000000p-7f, 0x1.2206ac0000000p-8f, 0x1.c9bd6c0000000p-10f, \
    0x1.265d240000000p-11f, 0x1.3a68e80000000p-13f, 0x1.1a21e40000000p-15f, 0x1.acaf160000000p-18f
