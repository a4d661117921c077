// RUN: gradc opt %s --allow-unregistered-dialect | filecheck %s
// RUN: gradc opt %s --allow-unregistered-dialect --pretty | filecheck %s --check-prefix=PRETTY

// CHECK:      "test.numbers"() {a = 3 : i64, b = -1 : i64, c = 1.5 : f64, d = 1.0e+30 : f64, e = true, f = 4 : index, g = 0.1 : f32, h = -7 : i8}
// PRETTY:     test.numbers {a = 3, b = -1, c = 1.5, d = 1e+30, e = true, f = 4, g = 0.1, h = -7}
"test.numbers"() {a = 3, b = -1 : i64, c = 1.5, d = 1.0e30 : f64, e = true, f = 4 : index, g = 0.1 : f32, h = 249 : i8} : () -> ()

// CHECK-NEXT: "test.not_finite"() {a = 0x7F800000 : f32, b = 0xFFF0000000000000 : f64, c = 0x7FF8000000000000 : f64, d = 0x7C00 : f16, e = 0x7FC0 : bf16}
// PRETTY-NEXT: test.not_finite {a = inf, b = -inf, c = nan, d = inf, e = nan}
"test.not_finite"() {a = 0x7F800000 : f32, b = 0xFFF0000000000000 : f64, c = 0x7FF8000000000000 : f64, d = 0x7C00 : f16, e = 0x7FC0 : bf16} : () -> ()

// CHECK-NEXT: "test.others"() {flag, list = [1 : i64, "a\22b\0A", unit, [true]], map = {x = f32, "a key" = @symbol}, z = #gradc.complex<1.0, nan>, big = #gradc.int<"18446744073709551616">, size = #gradc.dim<"n0">}
// PRETTY-NEXT: test.others {flag = none, list = [1, "a\22b\0A", none, [true]], map = {x = f32, a key = @symbol}, z = (1+nanj), big = 18446744073709551616, size = ?n0}
"test.others"() {flag, list = [1, "a\"b\n", unit, [true]], map = {x = f32, "a key" = @symbol}, z = #gradc.complex<1.0, nan>, big = #gradc.int<"18446744073709551616">, size = #gradc.dim<"n0">} : () -> ()

// CHECK-NEXT: "test.arrays"() {a = dense<[1.0, 0.1]> : tensor<2xf32>, b = dense<true> : tensor<2x2xi1>, c = dense<> : tensor<0x3xi64>, d = #gradc.dense<[nan, 1.0] : tensor<2xf64>>, e = #gradc.dense<(1.0, -0.0) : tensor<complex<f32>>>}
"test.arrays"() {a = dense<[1.0, 0.1]> : tensor<2xf32>, b = dense<[[true, true], [true, true]]> : tensor<2x2xi1>, c = dense<> : tensor<0x3xi64>, d = #gradc.dense<[nan, 1.0] : tensor<2xf64>>, e = #gradc.dense<(1.0, -0.0) : tensor<complex<f32>>>} : () -> ()

// CHECK-NEXT: "test.types"() {a = (tensor<?x4xf32, ["n0"]>) -> index, b = memref<4x2xf32, strided<[1, 4]>>, c = complex<f64>, d = !other.type<1, "x">, e = #other.attribute<[1, 2]>, f = array<i32: 1, 2>, g = affine_map<(d0, d1)[s0] -> (d0 * 2 + s0 + -1, d1)>}
"test.types"() {a = (tensor<?x4xf32, ["n0"]>) -> index, b = memref<4x2xf32, strided<[1, 4]>>, c = complex<f64>, d = !other.type<1, "x">, e = #other.attribute<[1, 2]>, f = array<i32: 1, 2>, g = affine_map<(d0, d1)[s0] -> (2 * d0 + s0 - 1, d1)>} : () -> ()
